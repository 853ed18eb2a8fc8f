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
"$STAIR" threshold attention:layers=1 --set tokens=3 --steps 1 --json $small | grep -q '"tokens": 3' || fail 'a grid of one'
pass 'a grid of one'
"$STAIR" threshold attention:layers=1 --set tokens=3 --set tokens=2 --steps 1 --csv $small >twice.csv
[ "$(head -1 twice.csv | grep -o tokens | wc -l)" -eq 1 ] || fail 'a key given twice is one column'
pass 'a key given twice is one column'
"$STAIR" threshold attention:layers=1 --steps 1 --csv $small | head -1 | grep -q model && fail 'no grid, no model column'
pass 'no grid, no model column'
finish
