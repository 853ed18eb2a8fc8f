#!/usr/bin/env bash
# stair figure in seconds: what one cheap figure leaves in a folder, and its numbers; test_figure.sh has the rest.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
if ! command -v gnuplot >/dev/null; then
    echo 'skipped: gnuplot is not installed'
    finish
    exit 0
fi
CHEAP="staircase attention:layers=1 --precision 0.2 --quick --quiet"
mkdir -p a/.stair-figure-999999999-0 a/.stair-figure-999999999-1 a/.stair-figure-999999999-0x
touch a/.stair-figure-999999999-0/{plot.gp,curve63.dat} a/.stair-figure-999999999-1/mine
expect 'a figure' 0 'Written: a/staircase.png, .pdf, .svg and .csv' "$STAIR" figure $CHEAP --out a --tex
grep -q 'layer 1 is learned from alpha = 0.1667 on, and all weights are recovered exactly from alpha = 0.5 on' stdout ||
    fail 'what the figure shows, in words' "$(cat stdout)"
[ "$(ls -A a | tr '\n' ' ')" = '.stair-figure-999999999-0x .stair-figure-999999999-1 staircase.csv staircase.pdf staircase.png staircase.svg staircase.tex ' ] ||
    fail 'files' "$(ls -A a)"
pass 'five files, and what a killed run left is gone'
$PYTHON - <<'PY' || fail 'numbers of the figure' "$(cat a/staircase.csv)"
lines = open("a/staircase.csv").read().splitlines()
head = [x for x in lines if x.startswith("#")]
assert head[1] == "# stair figure staircase attention:layers=1 --quick --precision 0.2", head
rows = [x.split(",") for x in lines if not x.startswith("#")]
names, rows = rows[0], [[float(x) for x in r] for r in rows[1:]]
assert head[2] == "# parts 1 rows %d" % len(rows) and len(rows) == 27, head
marks = [x.split(",") for x in head if x.startswith("# mark,")]
assert [m[1] for m in marks] == ["weak", "perfect"] and [m[4] for m in marks] == ["1", "1"], marks
assert abs(float(marks[0][2]) - 1 / 6) < 1e-6 and abs(float(marks[1][2]) - 0.5) < 1e-6, marks
assert names == "alpha Q11 Q11_error bayes bayes_error plugin plugin_error weights weights_error".split(), names
alpha = [r[0] for r in rows]
assert alpha == sorted(alpha) and alpha[0] == 0 and alpha[-1] > 0.5, alpha
for r in rows:
    assert (r[1] == 0 if r[0] < 0.1666 else r[1] == 1 if r[0] > 0.5001 else 0 <= r[1] <= 1), r
    assert r[3] <= r[5] + 1e-9 and abs(r[7] - (1 - r[1] ** 2)) < 1e-9, r
    q, low, high = r[1], max(0, r[1] - r[2]), min(1, r[1] + r[2])
    assert abs(r[8] - max(high ** 2 - q ** 2, q ** 2 - low ** 2)) <= 0.02 * r[8], r
assert rows[0][1:] == rows[1][1:] and abs(rows[0][3] - 0.14897) < 0.002 and abs(rows[0][5] - 0.23447) < 0.002, rows[0]
PY
pass 'numbers of the figure'
[ "$(head -c 5 a/staircase.pdf)" = '%PDF-' ] && [ "$(tail -c 6 a/staircase.pdf)" = '%%EOF' ] || fail 'a PDF'
[ "$($PYTHON -c "import struct; print(*struct.unpack('>II', open('a/staircase.png','rb').read()[16:24]))")" = '990 750' ] || fail 'a PNG'
for extension in pdf svg png tex; do
    grep -aq 'stair figure staircase attention:layers=1 --quick --precision 0.2' a/staircase.$extension || fail "command in $extension"
done
pass 'pictures are whole and have their command'

refuse 'files that exist' 'staircase.csv exists; pass --force' "$STAIR" figure $CHEAP --out a
before=$(stat -c %Y.%s a/staircase.*)
expect 'resume keeps what is there' 0 '"kind": "weak"' "$STAIR" figure $CHEAP --out a --resume --json
[ "$before" = "$(stat -c %Y.%s a/staircase.*)" ] || fail 'files are kept as they are'
cp a/staircase.csv numbers.csv
rm a/staircase.svg
expect 'a picture that is missing is drawn' 0 'perfect  0.500000' "$STAIR" figure $CHEAP --out a --resume
[ -s a/staircase.svg ] || fail 'drawn again'
refuse 'resume of another request' 'is of another request; pass --force' "$STAIR" figure $CHEAP --out a --resume --seed 2
sed -i 's/^# parts 1 rows [0-9]*/&0/' a/staircase.csv
refuse 'numbers that were damaged' 'not the numbers of a figure' "$STAIR" figure $CHEAP --out a --resume
expect '--force' 0 '"kind": "perfect"' "$STAIR" figure $CHEAP --out a --force --size page --json
cmp -s a/staircase.csv numbers.csv || fail '--force replaces, and the size of pictures is not in the numbers'
[ "$($PYTHON -c "import struct; print(*struct.unpack('>II', open('a/staircase.png','rb').read()[16:24]))")" = '1950 1260' ] || fail 'the size of a page'
pass 'the size changes pictures, not numbers'

refuse 'an unknown figure' "unknown figure 'fig1'; " "$STAIR" figure fig1 --out b
refuse 'a figure with its own models' 'fig1-right has its own models' "$STAIR" figure fig1-right square --out b
refuse 'a folder below none' 'b/c: No such file' "$STAIR" figure $CHEAP --out b/c
refuse 'own questions are there' 'b/c: No such file' "$STAIR" figure fig3-right --out b/c
refuse 'questions without a vocabulary' 'go together' "$STAIR" figure fig3-right --data x --out b
refuse 'a vocabulary without questions' 'go together' "$STAIR" figure fig3-right --vocab x --out b
mkdir bad none
expect 'without gnuplot' 1 'gnuplot is needed .*install' env PATH="$folder/none" "$STAIR" figure $CHEAP --out d
[ ! -e d ] || fail 'without gnuplot nothing is left'
printf '#!/bin/sh\necho no fonts >&2\nexit 1\n' >bad/gnuplot
chmod +x bad/gnuplot
expect 'gnuplot fails' 1 'failed: no fonts' env PATH="$folder/bad" "$STAIR" figure $CHEAP --out d
[ "$(ls -A d)" = staircase.csv ] || fail 'no picture and no scratch is left' "$(ls -A d)"
printf '#!/bin/sh\nkill -9 $$\n' >bad/gnuplot
expect 'gnuplot is killed' 1 'was killed by signal 9' env PATH="$folder/bad" "$STAIR" figure $CHEAP --out d --resume
finish
