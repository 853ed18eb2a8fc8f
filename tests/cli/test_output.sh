# Output: JSON, CSV and NPZ agree, are valid, come back through the program, and do not depend on threads.
. "$(dirname "$0")/lib.sh"
MODEL=attention:layers=2
need_numpy

run() { "$STAIR" channel $MODEL --points 40 --seed 7 --full "$@"; }
run --out r.npz >table.txt && pass 'npz written' || fail 'npz written'
run --json >r.json && pass 'json' || fail 'json'
run --csv >r.csv && pass 'csv' || fail 'csv'
run --out f.json --quiet >/dev/null && cmp -s r.json f.json && pass '--out json is --json' || fail '--out json is --json'
run --out f.csv >/dev/null && cmp -s r.csv f.csv && pass '--out csv is --csv' || fail '--out csv is --csv'

$PYTHON - <<'PY' || fail 'formats agree'
import csv, json
import numpy as np
r = np.load("r.npz")
j = json.load(open("r.json"), parse_constant=lambda s: 1 / 0)
assert list(j) == ["stair", "isa", "device", "command", "model", "options", "results"], list(j)
assert j["isa"] in ("v2", "v3", "v4") and j["device"] == "cpu" and j["command"] == "channel" and j["model"].startswith("attention:layers=2,")
assert j["options"]["points"] == 40 and j["options"]["seed"] == 7 and j["options"]["full"] is True
assert "threads" not in j["options"] and len(j["results"]) == 40
for name, shape in dict(logz=(40,), g=(40, 2, 2), dg=(40, 4, 4), error=(40,), nodes=(40,), method=(40,)).items():
    assert r[name].shape == shape, (name, r[name].shape)
    assert np.array_equal(np.array([x[name] for x in j["results"]]), r[name]), name
c = list(csv.DictReader(open("r.csv")))
assert [float(x["dg42"]) for x in c] == list(r["dg"][:, 3, 1]) and [int(x["sample"]) for x in c] == list(range(40))
for name in "logits", "omega", "cov":
    np.save(name + ".npy", r[name])
np.save("y.npy", np.exp(r["logits"]))
np.save("fortran.npy", np.asfortranarray(r["omega"]))
np.save("big.npy", r["omega"].astype(">f8"))
np.save("flat.npy", r["logits"].reshape(40, 4))
np.save("single.npy", r["omega"].astype("f4"))
np.save("one.npy", np.eye(2, dtype=np.int64))
np.save("many.npy", np.eye(2)[None].repeat(40, 0))
np.save("none.npy", np.zeros((0, 2, 2)))
PY
pass 'formats agree'

same() { # NAME FILE FILE: the results, without the inputs
    $PYTHON -c '
import sys, numpy as np
a, b = np.load(sys.argv[1]), np.load(sys.argv[2])
assert all(a[k].tobytes() == b[k].tobytes() for k in ("logz", "g", "dg", "error", "nodes", "method"))' "$2" "$3" || fail "$1"
    pass "$1"
}
# The seed shifts sampling rules as well, so it is given again.
back() { local out=$1; shift; "$STAIR" channel $MODEL --seed 7 "$@" --out "$out" >/dev/null || fail "feeding back: $out"; }
back b1.npz --logits logits.npy --omega omega.npy --cov cov.npy && same 'results fed back give the same bytes' r.npz b1.npz
back b2.npz --logits flat.npy --omega fortran.npy --cov cov.npy && same 'Fortran order and (n,K) labels' r.npz b2.npz
back b3.npz --logits logits.npy --omega big.npy --cov cov.npy && same 'big-endian' r.npz b3.npz
back b4.npz --logits logits.npy --omega omega.npy --cov one.npy
back b5.npz --logits logits.npy --omega omega.npy --cov many.npy && same 'one covariance is n equal ones' b4.npz b5.npz
back b6.npz --logits logits.npy --omega single.npy --cov cov.npy && pass 'float32'
back b7.npz --y y.npy --omega omega.npy --cov cov.npy && pass 'plain y'
back b8.npz --logits none.npy --omega none.npy --cov none.npy && pass 'no samples'
$PYTHON -c '
import numpy as np
a, b, e = np.load("r.npz"), np.load("b7.npz"), np.load("b8.npz")
assert np.allclose(a["g"], b["g"], rtol=1e-4, atol=1e-4) and e["dg"].shape == (0, 4, 4)' || fail 'y is exp(logits); no samples'
pass 'y is exp(logits); no samples'

for threads in 1 2 3 7; do
    run --threads $threads --out t$threads.npz >/dev/null || fail "threads $threads"
    cmp -s t$threads.npz r.npz && pass "same bytes: $threads threads" || fail "same bytes: $threads threads"
    run --threads $threads --json | cmp -s - r.json && pass "same JSON: $threads threads" || fail "same JSON: $threads threads"
done
echo old >old.csv
run --force --out old.csv >/dev/null && cmp -s old.csv r.csv && pass '--force replaces' || fail '--force replaces'
ls -A | grep -q '\.tmp$' && fail 'temporary files are gone' || pass 'temporary files are gone'
expect 'missed precision: exit 3, results printed' 3 'miss --precision' "$STAIR" channel attention:layers=2 --points 4 --precision 1e-13 --max-nodes 256
grep -q '^ *3 ' stdout && pass 'exit 3 still prints' || fail 'exit 3 still prints'
expect 'identities that are not resolved: exit 3' 3 'not resolved' "$STAIR" diagnose attention:layers=1,tokens=4,rank=3 --points 4 --quiet --json
$PYTHON -c '
import json
rows = json.load(open("stdout"))["results"]
verdicts = {r["verdict"] for r in rows}
assert verdicts == {"holds", "not resolved"}, verdicts
assert all(r["passed"] == (r["verdict"] == "holds") for r in rows)' || fail 'not resolved is no pass'
pass 'not resolved is no pass'
expect 'models as JSON' 0 '"command": "models"' "$STAIR" models --json
$PYTHON -m json.tool <stdout >/dev/null && pass 'models JSON is valid' || fail 'models JSON is valid'
finish
