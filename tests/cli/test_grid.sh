#!/usr/bin/env bash
# Grids over model keys: each key is a column, and rows of different models can be told apart in every format.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_numpy

"$STAIR" threshold attention:layers=2 --set prenoise=1e-3,1.25e-3 --steps 1 --out p.npz >table.txt || fail 'grid of threshold'
$PYTHON -c '
import numpy as np
p = np.load("p.npz")
assert [m.split("prenoise=")[1] for m in p["model"]] == ["1e-3", "1.25e-3"], p["model"]
assert p["prenoise"].dtype == "<f8" and list(p["prenoise"]) == [1e-3, 1.25e-3]' || fail 'models are whole in NPZ'
pass 'models are whole in NPZ'
grep -Eq '^ *prenoise +step' table.txt && grep -Eq '^1e-3 ' table.txt && grep -Eq '^1\.25e-3 ' table.txt || fail 'a table shows what differs' "$(cat table.txt)"
pass 'a table shows what differs'

small="--precision 0.05 --quiet"
for command in 'threshold --steps 1' 'evolve --alpha 0.3 --from uninformed' 'entropy --alpha 0.3'; do
    set -- $command
    name=$1
    shift
    grid() { "$STAIR" $name attention:layers=1 --set tokens=2,3 --set activation=linear,softmax "$@" $small; }
    rm -f g.npz
    grid "$@" --json >g.json && grid "$@" --csv >g.csv && grid "$@" --out g.npz >g.txt || fail "grid of $name"
    $PYTHON - <<'PY' || fail "columns of $name" "$(cat g.csv)"
import csv, json
import numpy as np
rows, lines, arrays = json.load(open("g.json"))["results"], list(csv.DictReader(open("g.csv"))), np.load("g.npz")
tokens, activation = [2, 2, 3, 3], ["linear", "softmax"] * 2
assert [r["tokens"] for r in rows] == tokens and [r["activation"] for r in rows] == activation
assert [float(r["tokens"]) for r in lines] == tokens and [r["activation"] for r in lines] == activation
assert list(arrays["tokens"]) == tokens and list(arrays["activation"]) == activation
assert all(f"tokens={t}" in m and f"activation={a}," in m for t, a, m in zip(tokens, activation, arrays["model"]))
assert open("g.txt").read().split("\n")[1].split()[:2] == ["tokens", "activation"]
PY
    pass "keys are columns: $name"
done
# Models with different numbers of indices: what a model does not have is empty, NaN, - or not there.
for command in 'threshold --steps 1' 'evolve --alpha 0.175 --from uninformed' 'entropy --alpha 0.175'; do # layer 1 of 1 has a step at 1/6
    set -- $command
    name=$1
    shift
    layers=1,2,3
    [ $name = entropy ] && layers=1,2 # three layers take it half a minute
    grid() { "$STAIR" $name attention:layers=1 --set layers=$layers "$@" --precision 0.2 --samples 256 --quiet; }
    rm -f l.npz
    for format in --json --csv '--out l.npz'; do
        grid "$@" $format >l${format%% *}.txt
        case $? in 0 | 3) ;; *) fail "layers of $name" ;; esac
    done
    $PYTHON - "$name" $layers <<'PY' || fail "layers of $name" "$(cat l--csv.txt)"
import json, sys
import numpy as np
key, flat = {"threshold": ("overlap", "Q"), "evolve": ("Q", "Q"), "entropy": ("bayes_Q", "bayes_Q")}[sys.argv[1]]
rows, arrays = json.load(open("l--json.txt"))["results"], np.load("l.npz")
table = np.genfromtxt("l--csv.txt", delimiter=",", names=True, dtype=None, encoding=None)
layers = [int(x) for x in sys.argv[2].split(",")]
assert list(table["layers"]) == layers == [r["layers"] for r in rows] == list(arrays["layers"])
lines = open("l--out.txt").read().splitlines()
columns = [c for c in lines[1].replace(" before", "").split()]
for n, row in enumerate(rows):
    q = np.array(row[key])
    assert q.shape == ((n + 1,) if key == "overlap" else (n + 1, n + 1)), q.shape
    for i in range(len(layers)):
        for name in (f"{flat}{i+1}{i+1}", f"{flat}{i+1}{i+1}_error"):
            want = np.array(row[key + name[len(flat) + 2:]])
            value = (want[i] if key == "overlap" else want[i][i]) if i <= n else np.nan
            assert np.array_equal(table[name][n], value, True) and np.array_equal(arrays[name][n], value, True), name
        cell = lines[2 + n].split()[columns.index(f"{flat}{i+1}{i+1}")]
        assert (cell == "-") == (i > n), lines
assert table.dtype[flat + "22"] == float
PY
    pass "models with different numbers of indices: $name"
done
# The same grid, killed between points.
ARGS="evolve attention:layers=1 --set layers=1,2 --alpha 0.15,0.2,0.25,0.3 --from uninformed --precision 0.03 --quiet"
"$STAIR" $ARGS --out whole.csv >/dev/null || fail 'the whole grid'
for points in 1 5; do
    "$STAIR" $ARGS --out cut.csv >/dev/null &
    victim=$!
    for _ in $(seq 500); do [ -s cut.csv.state ] && [ "$(stat -c %s cut.csv.state 2>/dev/null || echo 0)" -gt $((points * 160)) ] && break; sleep 0.01; done
    kill -9 $victim 2>/dev/null
    wait $victim 2>/dev/null
    "$STAIR" $ARGS --out cut.csv --resume --force >/dev/null || fail 'resume over layers'
    cmp -s whole.csv cut.csv || fail 'resumed over layers: other bytes'
    rm -f cut.csv
done
pass 'a grid over layers resumes to the same bytes'

"$STAIR" threshold attention:layers=1 --set tokens=3 --steps 1 --json $small | grep -q '"tokens": 3' || fail 'a grid of one'
pass 'a grid of one'
"$STAIR" threshold attention:layers=1 --set tokens=3 --set tokens=2 --steps 1 --csv $small >twice.csv
[ "$(head -1 twice.csv | grep -o tokens | wc -l)" -eq 1 ] || fail 'a key given twice is one column'
pass 'a key given twice is one column'
"$STAIR" threshold attention:layers=1 --steps 1 --csv $small | head -1 | grep -q model && fail 'no grid, no model column'
pass 'no grid, no model column'
finish
