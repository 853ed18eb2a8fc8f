#!/usr/bin/env bash
# Tables as people read them: each column under its heading, with as many digits as it is worth; and what shells
# complete.  Numbers are those of models whose answers are known; their last digits may differ from machine to machine.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
E='[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?' # an error: up to three digits

# table NAME HEAD ROW COMMAND...: a line that is HEAD, and one that is ROW, blanks as many as there are
table() {
    local name=$1 head=$2 row=$3
    shift 3
    "$@" >whole 2>stderr || fail "$name: exit $?" "$(cat whole stderr)"
    tr -s ' ' <whole | sed 's/^ //; s/ $//' >table
    grep -Exq -- "$head" table || fail "$name: headings" "$(cat table stderr)"
    grep -Exq -- "$row" table || fail "$name: a row" "$(cat table stderr)"
    pass "$name"
}
table threshold 'step alpha error learns index eigenvalue Q11 before error' "weak 0\.16666667 $E 1 6\.00000 0\.0000 0" \
    "$STAIR" threshold attention:layers=1 --precision 0.05
grep -Exq "perfect 0\.50000000 $E 1 nan 1\.0000 0" table || fail 'threshold: perfect recovery' "$(cat table)"
table exponents 'index information term coefficient error leap stage generative term strength error leap stage' \
    "1 2 z1\^2 1\.41[0-9]{4} $E 2 1 2 z1\^2 0\.97[0-9]{4} $E 2 1" "$STAIR" exponents square
# the first polynomial that sees y = z^3 - 3 z is the third, of y^2 the second; the label tells of z1 at once
table 'exponents of a cubic' 'index .*' "1 3 z1\^3 2\.4[0-9]{5} $E 3 1 1 z1 0\.58[0-9]{4} $E 1 1" "$STAIR" exponents 'expr:z1^3-3*z1'
table sgd 'alpha seed batches epoch train error test error cosine1' '2 1 1 1\.00 [0-9]\.[0-9]{5} [0-9]\.[0-9]{5} 0\.[1-9][0-9]{3}' \
    "$STAIR" sgd expr:z1 --dim 20 --alpha 2 --epochs 2 --rate 0.1
table entropy 'alpha bayes_Q11 error amp_Q11 error S - S\(0\) error hard' "0\.3 0\.2[0-9]{4} $E 0\.2[0-9]{4} $E 0\.00[0-9]{3} $E NO" \
    "$STAIR" entropy attention:layers=1 --alpha 0.3 --precision 0.05
table phases 'information error message passing error step' "1\.000000 0 1\.1[0-9]{5} $E perfect" \
    "$STAIR" entropy square --phases --precision 0.1
table channel 'sample log Z \|g\| \|dg\| error nodes method' "1 -?[0-9]\.[0-9]{7} [0-9]\.[0-9]{7} [0-9]+\.[0-9]{5,7} $E 2 exact" \
    "$STAIR" channel square --points 2
table diagnose 'identity violation tolerance points resolved verdict' "forward\(fibre\(y\)\) = y 0 1e-12 20 20 holds" \
    "$STAIR" diagnose square --points 20
table 'a dry run' 'alpha samples bytes of X memory free on a card free s/iteration s in all' \
    "2 40 6\.40e\+03 [0-9]\.[0-9]{2}e\+07 [0-9]\.[0-9]{2}e\+[0-9]{2} 0\.00 0\.00 $E $E" "$STAIR" amp attention:layers=1 --dim 20 --alpha 2 --dry-run
table models 'name value default meaning' 'key prenoise 0 0 variance of Gaussian noise on Z' "$STAIR" models square
grep -Exq 'key tokens 1 1 sequence length M' table || fail 'models: the first key' "$(cat table)"
refuse 'a key that a model must have' 'formula' "$STAIR" models expr:

# The manual has the columns of a command in words.
"$STAIR" man >man.txt || fail 'the manual'
for command in 'threshold square --steps 1 --precision 0.1' 'exponents square' 'channel square --points 1' 'diagnose square --points 5' \
    'sgd expr:z1 --dim 5 --alpha 1 --epochs 1' 'models' 'evolve square --alpha 0.1 --precision 0.1' 'entropy square --alpha 0.1 --precision 0.1'; do
    "$STAIR" $command --json >columns.json 2>stderr || fail "columns of $command" "$(cat stderr)"
    $PYTHON - ${command%% *} <<'PY' || fail "the manual has the columns of ${command%% *}"
import json, re, sys
text = open("man.txt").read().replace("\\-", "-")
part = text.split("\n.SS stair %s " % sys.argv[1])[1].split("\n.SS ")[0]
said = set(re.findall(r"^\\fB(\S+)\\fR \[", part, re.M))
row = json.load(open("columns.json"))["results"][0]
names = [n + "." + m if isinstance(v, dict) else n for n, v in row.items() for m in (v if isinstance(v, dict) else [""])]
lost = [n for n in names if n not in said and not n.endswith("_error")]
assert len(names) > 3 and not lost, (lost, said)
PY
done
pass 'the manual has the columns of commands'

# Entries of matrices stand under their names, and a symmetric one has each once.
for format in csv json; do
    "$STAIR" amp attention:layers=2 --dim 20 --alpha 2 --max-iterations 3 --theory none --$format >two.$format 2>stderr
    [ $? -eq 3 ] || fail 'three iterations are too few' "$(cat stderr)"
done
$PYTHON - <<'PY' || fail 'entries of matrices' "$(cat two.csv)"
import json
names, values = [line.split(",") for line in open("two.csv").read().split()]
row, found = json.load(open("two.json"))["results"][0], dict(zip(names, values))
for name, text in ("Q", "11 12 22"), ("M", "11 12 21 22"), ("V", "11 12 22"):
    assert [n for n in names if n[0] == name] == [name + x for x in text.split()], names
    for i, j in text.split():
        assert float(found[name + i + j]) == row[name][int(i) - 1][int(j) - 1], (name, i, j)
PY
pass 'entries of matrices'

# A run that diverges is told a rate a tenth of its own.
"$STAIR" sgd expr:z1 --dim 20 --alpha 20 --epochs 5 --start 1 --rate 30 >/dev/null 2>stderr
grep -q '1 of 1 runs diverged.*try --rate 3$' stderr || fail 'diverged' "$(cat stderr)"
pass 'a run that diverges is told a rate'

# Ends of ranges
refuse 'no points' 'points' "$STAIR" channel square --points 0
refuse 'no degree' 'degree' "$STAIR" exponents square --degree 0
refuse 'threads below none' 'threads' "$STAIR" exponents square --threads -1
expect 'all threads there are' 0 '^0,' "$STAIR" channel square --points 1 --threads 0 --csv

# Standard output is whole where it is long, and a loss of it is a failure.
"$STAIR" channel square --points 2000 --csv --out long.csv >long.txt || fail 'a long table'
[ "$(wc -c <long.txt)" -gt 70000 ] && cmp -s long.txt long.csv || fail 'a long table is whole' "$(wc -c long.*)"
pass 'a long table is whole'
"$STAIR" threshold attention:layers=1 --steps 1 --precision 0.1 >/dev/full 2>stderr
[ $? -eq 1 ] && grep -q '^stair: standard output' stderr || fail 'a full disk behind standard output' "$(cat stderr)"
"$STAIR" threshold attention:layers=1 --steps 1 --precision 0.1 >&- 2>stderr
[ $? -eq 1 ] || fail 'no standard output' "$(cat stderr)"
pass 'a loss of standard output is a failure'

mkdir none
expect 'what fails is exit 1' 1 'gnuplot is needed' env PATH="$folder/none" "$STAIR" figure staircase attention:layers=1 --out d

# Every option of every command, once, in what zsh and fish read: flags that are on are offered as --no-NAME.
for shell in zsh fish; do "$STAIR" completion $shell >$shell.txt || fail "completion $shell"; done
"$STAIR" models --csv | cut -d, -f1 | sed 1d | grep -v '^#' >names.txt
$PYTHON - "$STAIR" <<'PY' || fail 'completion of zsh and fish'
import re, subprocess, sys
def run(*words):
    return subprocess.run([sys.argv[1], *words], capture_output=True, text=True).stdout
fish, zsh = open("fish.txt").read(), open("zsh.txt").read()
for command in re.findall(r"^  (\w+) ", run("--help").split("commands:")[1], re.M):
    said = set()
    for name, text in re.findall(r"^ +--([a-z0-9-]+)(.*(?:\n {15,}\S.*)*)", run(command, "--help"), re.M):
        said.add("no-" + name if "turns it off]" in text else name)
    offered = re.findall(r"__stair_in %s' .*?-l ([a-z0-9-]+)" % command, fish)
    assert len(offered) == len(set(offered)) and set(offered) | {"help"} == said | {"help"}, (command, said ^ set(offered))
for name, exclusive in ("threads", True), ("precision", True), ("device", True), ("out", False), ("json", False):
    found = [x for x in fish.splitlines() if re.search(r" -l %s( |$)" % name, x)]
    assert found and all((" -x" in x) == exclusive for x in found), (name, found[:2])
assert re.search(r"'\*--set", zsh) and not re.search(r"'\*--precision", zsh) and "'--precision" in zsh
assert re.search(r"'--json\[", zsh) and not re.search(r"--no-json", zsh + fish)
for name in open("names.txt").read().split():
    assert name in zsh and name in fish, name
assert "layers=" in zsh and "layers=" in fish
PY
pass 'completion of zsh and fish'
finish
