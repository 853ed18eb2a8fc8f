#!/usr/bin/env bash
# --method forces the rule of an average: rules that share nothing agree within their errors, and one that does not
# fit says so.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

first_step() { # MODEL METHOD FILE
    "$STAIR" threshold "$1" --steps 1 --method "$2" --precision 0.02 --json >"$3" || fail "$1 by $2" "$(cat "$3")"
}

agree() { # MODEL METHOD METHOD
    first_step "$1" "$2" a.json
    first_step "$1" "$3" b.json
    $PYTHON - <<'PY' || fail "$1: $2 and $3 agree" "$(cat a.json b.json)"
import json
a, b = (json.load(open(f))["results"][0] for f in ("a.json", "b.json"))
away = abs(a["alpha"] - b["alpha"])
assert a["alpha"] != b["alpha"], "the same rule twice"
assert away < 4 * (a["error"] ** 2 + b["error"] ** 2) ** 0.5 and away < 0.05 * a["alpha"], (a, b)
PY
    pass "$1: $2 and $3 agree"
}

agree attention:layers=1,tokens=3 hermite samples
agree attention:layers=1,tokens=3,weights=untied formula samples
agree attention:layers=2 label-grid samples
agree attention:layers=2,rank=1+2 label-plane samples
agree door:width=1 label-sum samples
agree product label-line samples
first_step attention:layers=2 auto a.json
first_step attention:layers=2 label-grid b.json
$PYTHON -c 'import json; a, b = (json.load(open(f))["results"] for f in ("a.json", "b.json")); assert a == b' ||
    fail "auto takes the first rule that fits"
pass "auto takes the first rule that fits"
refuse "a rule that does not fit" "'label-grid' does not serve" "$STAIR" threshold attention:layers=2,tokens=3 --method label-grid
refuse "a rule that is not there" 'must be auto, constant, formula, hermite, label-sum, label-line, label-grid, label-plane or samples' "$STAIR" evolve attention --alpha 1 --method grid
finish
