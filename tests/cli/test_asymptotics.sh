#!/usr/bin/env bash
# The commands on asymptotics: JSON as promised, grids, checkpoints that resume to the same bytes, refusals.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
MODEL=attention:layers=1

expect "threshold prints a table" 0 'weak +0\.16666667' "$STAIR" threshold $MODEL --precision 0.05
expect "perfect recovery of one layer" 0 'perfect +0\.50000000' "$STAIR" threshold $MODEL --precision 0.05
expect "only the first step" 0 '"kind": "weak"' "$STAIR" threshold $MODEL --steps 1 --json
grep -q perfect stdout && fail "--steps 1 stops early" "$(cat stdout)"
pass "--steps 1 stops early"

expect "grids get finer where a step misses its precision" 0 'weak +0\.7196[23]' \
    "$STAIR" threshold attention:layers=2 --precision 1e-5 --steps 2

"$STAIR" threshold $MODEL --set tokens=2,3 --steps 1 --json >grid.json || fail "a grid of models"
$PYTHON - <<'PY' || fail "grid JSON" "$(cat grid.json)"
import json
r = json.load(open("grid.json"))["results"]
assert [x["learns"] for x in r] == [[1], [1]]
assert abs(r[0]["alpha"] - 1 / 6) < 1e-9 and abs(r[1]["alpha"] - 1 / 12) < 1e-9
assert "tokens=3" in r[1]["model"]
PY
pass "grid JSON"

"$STAIR" evolve $MODEL --alpha 0,0.1,0.3,0.45 --precision 0.01 --json >evolve.json || fail "evolve"
$PYTHON - <<'PY' || fail "evolve JSON" "$(cat evolve.json)"
import json
r = json.load(open("evolve.json"))["results"]
assert len(r) == 8 and {x["start"] for x in r} == {"uninformed", "informed"}
assert r[0]["Q"] == [[0.0]] and r[2]["Q"] == [[0.0]]
assert all(0 <= x["Q"][0][0] <= 1 and x["Q_error"][0][0] >= 0 for x in r)
assert set(r[0]["errors"]) >= {"bayes", "plugin", "gibbs", "weights"}
assert all(k in r[0] for k in ("alpha", "iterations", "residual", "stop"))
PY
pass "evolve JSON"

"$STAIR" entropy $MODEL --alpha 0.05,0.3 --precision 0.01 --json >entropy.json || fail "entropy"
$PYTHON - <<'PY' || fail "entropy JSON" "$(cat entropy.json)"
import json
none, r = json.load(open("entropy.json"))["results"]
assert none["entropy"] == [0, 0, 0, 0] and r["hard"] is False and len(r["entropy"]) == 4 and r["entropy"][0] > 0
assert r["information_threshold"] == r["algorithmic_threshold"] == [0.05, 0.3]
assert abs(r["bayes_Q"][0][0] - r["amp_Q"][0][0]) < 0.05
PY
pass "entropy JSON"

# The table has S itself with its error, not a norm over the starts.
# hard phases: real phase retrieval from 1 to 1.128471 (MATH.md section 7)
"$STAIR" entropy square --phases --precision 0.03 --json >phases.json || fail "hard phases" "$(cat phases.json)"
$PYTHON - <<'PY' || fail "hard phases JSON" "$(cat phases.json)"
import json
(r,) = json.load(open("phases.json"))["results"]
assert r["kind"] == "perfect" and abs(r["information"] - 1) <= 3 * r["information_error"] + 1e-9, r
assert abs(r["algorithmic"] - 1.128471) <= 3 * r["algorithmic_error"] and r["algorithmic_error"] < 0.04, r
PY
pass "hard phases"
refuse "hard phases at given alphas" "leave --alpha out" "$STAIR" entropy square --phases --alpha 1
"$STAIR" entropy $MODEL --alpha 0.3 --precision 0.01 >entropy.txt || fail "entropy table"
$PYTHON - <<'PY' || fail "entropy table" "$(cat entropy.txt)"
import json
r = json.load(open("entropy.json"))["results"][1]
head, row = [line.split() for line in open("entropy.txt") if not line.startswith("#")][:2]
assert row[5] == "%.5f" % r["entropy"][0] and abs(r["bayes_entropy"] - r["entropy"][0]) < 1e-12, row
assert abs(float(row[6]) - r["bayes_entropy_error"]) < 0.01 * r["bayes_entropy_error"], row
assert 0 < r["bayes_entropy_error"] < 0.01 and 0 < r["bayes_Q_error"][0][0] < 0.01
PY
pass "entropy table"

# What misses the precision asked for says so, and is there all the same.
ROUGH="--samples 256 --precision 1e-3"
expect "evolve misses its precision" 3 'above --precision 0.001.*raise --samples' "$STAIR" evolve attention:layers=1,tokens=3 --alpha 0.2 $ROUGH
grep -q converged stdout || fail "a rough overlap is printed" "$(cat stdout)"
expect "threshold misses its precision" 3 'above --precision 0.001.*raise --samples' "$STAIR" threshold attention:layers=2,tokens=3 --steps 1 $ROUGH
grep -q weak stdout || fail "a rough threshold is printed" "$(cat stdout)"
expect "entropy misses its precision" 3 'above --precision 0.001.*raise --samples' "$STAIR" entropy attention:layers=1,tokens=3 --alpha 0.2 $ROUGH
"$STAIR" threshold attention:layers=2,tokens=3 --set skip=1,2 --steps 1 $ROUGH --out rough.json >/dev/null 2>stderr
[ $? -eq 3 ] || fail "a rough grid" "$(cat stderr)"
grep -q '2 of 2' stderr || fail "a rough grid counts its models" "$(cat stderr)"
[ "$($PYTHON -c 'import json; print(len(json.load(open("rough.json"))["results"]))')" = 2 ] || fail "a rough grid is written whole"
[ ! -e rough.json.state ] || fail "a rough grid is done: no checkpoint"
pass "a rough grid is written whole"

# y = z^2 jumps at 1.128: many alphas are not read off a curve that would lead past it.
"$STAIR" evolve square --alpha 1,1.01,1.02,1.03,1.04,1.05,1.06,1.07,1.08,1.1,1.1162,1.19,1.2 --from uninformed --precision 0.02 --json >jump.json || fail "alphas around a jump"
$PYTHON - <<'PY' || fail "alphas around a jump" "$(cat jump.json)"
import json
for x in json.load(open("jump.json"))["results"]:
    assert (x["stop"] == "perfect") == (x["alpha"] > 1.1285), x
PY
pass "alphas around a jump"

# A run that is killed between points goes on to the same bytes.
ARGS="evolve $MODEL --alpha 0.2:0.45:0.01 --from uninformed --precision 0.005 --quiet"
"$STAIR" $ARGS --out whole.json >/dev/null || fail "the whole run"
"$STAIR" $ARGS --out cut.json >/dev/null &
victim=$!
for _ in $(seq 200); do [ -s cut.json.state ] && break; sleep 0.02; done
kill -9 $victim 2>/dev/null
wait $victim 2>/dev/null
"$STAIR" $ARGS --out cut.json --resume --force >/dev/null || fail "resume"
cmp -s whole.json cut.json || fail "resumed run differs"
[ ! -e cut.json.state ] || fail "checkpoint left behind"
pass "kill -9 and --resume give the same bytes"

refuse "negative alpha" 'alpha' "$STAIR" evolve $MODEL --alpha -1
refuse "no alpha" 'needs --alpha' "$STAIR" evolve $MODEL
refuse "unknown key in --set" 'no key' "$STAIR" threshold $MODEL --set skipp=1,2
refuse "precision out of range" 'precision' "$STAIR" threshold $MODEL --precision 0.9
refuse "unknown figure" 'did you mean staircase' "$STAIR" figure stairase
finish
