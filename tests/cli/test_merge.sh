#!/usr/bin/env bash
# stair merge: slices of a grid or of a list of alphas, joined, have the bytes of one run over all of it.
. "$(dirname "$0")/lib.sh"

grid="threshold square --steps 1 --precision 0.1"
"$STAIR" $grid --set noise=0.1,0.2 --out a.csv >/dev/null
"$STAIR" $grid --set noise=0.3 --out b.csv >/dev/null
"$STAIR" $grid --set noise=0.1,0.2,0.3 --out all.csv >/dev/null
"$STAIR" $grid --set noise=0.1,0.2 --out a.json >/dev/null
"$STAIR" $grid --set noise=0.3 --out b.json >/dev/null
"$STAIR" $grid --set noise=0.1,0.2,0.3 --out all.json >/dev/null
"$STAIR" merge a.csv b.csv --out whole.csv || fail "CSV"
cmp -s whole.csv all.csv || fail "CSV" "$(diff whole.csv all.csv)"
pass "slices of a grid: CSV"
"$STAIR" merge a.json b.json >whole.json || fail "JSON"
cmp -s whole.json all.json || fail "JSON" "$(diff whole.json all.json)"
pass "slices of a grid: JSON, with the list of --set"

evolve="evolve linear:noise=0.5 --precision 0.3 --from informed"
"$STAIR" $evolve --alpha 0.5 --out c.json >/dev/null
"$STAIR" $evolve --alpha 0.75,1.5 --out d.json >/dev/null
"$STAIR" $evolve --alpha 0.5,0.75,1.5 --out cd.json >/dev/null
"$STAIR" merge c.json d.json --out whole.json --force || fail "alphas"
cmp -s whole.json cd.json || fail "slices of --alpha" "$(diff whole.json cd.json | head -c 400)"
pass "slices of --alpha: JSON"
"$STAIR" merge a.csv >same.csv && cmp -s same.csv a.csv || fail "one file"
pass "one file is itself"

refuse "no file" "merge needs result files" "$STAIR" merge
refuse "a file that is not there" "none.csv" "$STAIR" merge a.csv none.csv
refuse "both kinds" "all .csv, or all .json" "$STAIR" merge a.csv b.json
refuse "an NPZ file" "all .csv, or all .json" "$STAIR" merge a.npz
refuse "another ending" "must end in .csv" "$STAIR" merge a.csv b.csv --out whole.json
refuse "a file that exists" "exists" "$STAIR" merge a.csv b.csv --out whole.csv
"$STAIR" threshold square --steps 1 --precision 0.2 --set noise=0.3 --out other.json >/dev/null
refuse "another precision" "other.json: another command" "$STAIR" merge a.json other.json
"$STAIR" $evolve --alpha 0.5 --out c.csv >/dev/null
refuse "other columns" "c.csv: other columns" "$STAIR" merge a.csv c.csv
printf '{"results": [1, 2]}\n' >odd.json
refuse "another program's JSON" "odd.json: not what" "$STAIR" merge odd.json
printf 'a,b' >odd.csv
refuse "half a line" "odd.csv: not a result file" "$STAIR" merge odd.csv
finish
