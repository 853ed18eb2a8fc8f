#!/usr/bin/env bash
# stair figure: files and their metadata, what is refused, faults, resuming.  Pictures of cheap models.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
ROOT=$(realpath "$TESTS/../..")
if ! command -v gnuplot >/dev/null; then
    echo 'skipped: gnuplot is not installed'
    finish
    exit 0
fi
MODEL=attention:layers=1,prenoise=1
CHEAP="fig2-top $MODEL --quick --quiet"

# ---- what is written ----------------------------------------------------------------------------------------
expect 'a figure' 0 '^fig2-top +[0-9]+ +NO +Figure 2' "$STAIR" figure $CHEAP --out a --tex
[ "$(ls -A a | tr '\n' ' ')" = 'fig2-top.csv fig2-top.pdf fig2-top.png fig2-top.svg fig2-top.tex ' ] ||
    fail 'files' "$(ls -A a)"
pass 'five files and nothing else'
for extension in csv pdf svg png tex; do
    grep -aq "stair figure fig2-top $MODEL --quick" a/fig2-top.$extension || fail "command in $extension"
    grep -aq "stair $("$STAIR" --version | cut -d' ' -f2)" a/fig2-top.$extension || fail "version in $extension"
done
pass 'command and version in the metadata of all files'
command=$(sed -n 's/^# stair figure/figure/p' a/fig2-top.csv)
"$STAIR" $command --out again --quiet >/dev/null || fail 'the command of a CSV runs'
cmp -s a/fig2-top.csv again/fig2-top.csv || fail 'the command of a CSV gives its bytes'
pass 'the command in a CSV gives its bytes'
[ "$(head -c 5 a/fig2-top.pdf)" = '%PDF-' ] && [ "$(tail -c 6 a/fig2-top.pdf)" = '%%EOF' ] || fail 'a PDF'
if command -v pdfinfo >/dev/null; then
    pdfinfo a/fig2-top.pdf 2>pdf.txt | grep -q '^Subject: .*stair figure fig2-top' || fail 'metadata of the PDF'
    [ ! -s pdf.txt ] || fail 'a sound PDF' "$(cat pdf.txt)"
    pass 'the PDF is sound and has its subject'
fi
$PYTHON - a/fig2-top.png a/fig2-top.svg <<'PY' || fail 'PNG and SVG are sound'
import struct, sys, xml.dom.minidom, zlib
data, at, kinds = open(sys.argv[1], "rb").read(), 8, []
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(data[at + 4:at + 8 + size])
    kinds.append(kind)
    at += 12 + size
assert kinds[0] == b"IHDR" and kinds[-1] == b"IEND" and kinds.count(b"tEXt") == 3, kinds
assert struct.unpack(">II", data[16:24]) == (990, 750)
svg = xml.dom.minidom.parse(sys.argv[2]).documentElement
assert [len([e for e in svg.childNodes if e.nodeName == n]) for n in ("title", "desc")] == [1, 1]
PY
pass 'PNG and SVG are sound'
"$STAIR" figure $CHEAP --out slide --size slide >/dev/null || fail 'a slide'
[ "$($PYTHON -c "import struct; print(*struct.unpack('>II', open('slide/fig2-top.png','rb').read()[16:24]))")" = '3000 1687' ] ||
    fail 'size of a slide'
cmp -s a/fig2-top.csv slide/fig2-top.csv || fail 'the size of pictures is not in the numbers'
pass 'the size changes pictures, not numbers'
refuse 'a size that there is not' 'size must be column, page or slide' "$STAIR" figure $CHEAP --out b --size poster
expect 'names of the columns' 0 '^figure +rows +kept' "$STAIR" figure $CHEAP --out names
expect 'the old name of the staircase' 0 'Written: old/staircase.png, .pdf, .svg and .csv' "$STAIR" figure staircase-curve attention:layers=1 --precision 0.1 --quick --out old --quiet
expect 'JSON of figures' 0 '"figure": "fig3-right".*"kept": false' "$STAIR" figure fig3-right --quick --out j --json
expect 'a model and its variant' 0 '^fig2-top-prenoise ' "$STAIR" figure fig2-top attention:layers=1 --quick --out v
[ ! -e a/fig2-top-prenoise.csv ] || fail 'a model that has prenoise has one variant'

expect 'a page of a figure' 0 'page.html' "$STAIR" report a/fig2-top.csv --out page.html
grep -q plugin_error page.html || fail 'the numbers of a figure are on a page'

# ---- refused before anything is computed ----------------------------------------------------------------------
refuse 'an unknown figure' "unknown figure 'fig1'; " "$STAIR" figure fig1 --out b
refuse 'a figure with its own models' 'fig1-right has its own models' "$STAIR" figure fig1-right square --out b
refuse 'a model that there is not' 'unknown model' "$STAIR" figure staircase squaer --out b
refuse 'a folder below none' 'b/c: No such file' "$STAIR" figure $CHEAP --out b/c
refuse 'a file for a folder' 'stdout: is not a folder' sh -c "touch stdout; '$STAIR' figure $CHEAP --out stdout; r=\$?; rm stdout; exit \$r"
refuse 'questions without a vocabulary' 'go together' "$STAIR" figure fig3-right --data x --out b
refuse 'questions that are not there' 'none: ' "$STAIR" figure fig3-right --data none --vocab none --out b
for extension in csv pdf svg png; do
    mkdir "keep_$extension" && echo old >"keep_$extension/fig2-top.$extension"
    refuse "an old $extension" "exists; pass --force" "$STAIR" figure $CHEAP --out "keep_$extension"
    [ "$(ls -A keep_$extension)" = "fig2-top.$extension" ] && [ "$(cat keep_$extension/*)" = old ] || fail "kept $extension"
done
expect '--force' 0 '^fig2-top ' "$STAIR" figure $CHEAP --out keep_png --force
cmp -s a/fig2-top.csv keep_png/fig2-top.csv || fail '--force replaces'

# ---- nothing is executed, nothing is written elsewhere ------------------------------------------------------------
for name in '|touch P;cat >x #' '< touch P; cat' '$x' '`touch P`' "a'b\"c" '-e' 'new
line'; do
    "$STAIR" figure $CHEAP --out="$name" >stdout 2>stderr || fail "folder '$name'" "$(cat stderr)"
    [ -s "./$name/fig2-top.pdf" ] && [ ! -e P ] && [ ! -e "./$name/P" ] && [ ! -e x ] || fail "folder '$name'" "$(ls)"
done
pass 'names of folders are names'
echo 'system "touch P"' >.gnuplot
HOME=$folder "$STAIR" figure $CHEAP --out home >/dev/null || fail 'figure'
[ ! -e P ] || fail "a user's .gnuplot is not read"
pass "a user's .gnuplot is not read"
mkdir link && echo mine >victim && for e in csv pdf svg png; do ln -s ../victim link/fig2-top.$e; done
refuse 'links are files that exist' 'exists; pass --force' "$STAIR" figure $CHEAP --out link
"$STAIR" figure $CHEAP --out link --force >/dev/null || fail 'through a link'
[ "$(cat victim)" = mine ] && [ -z "$(find link -type l)" ] || fail 'links are replaced, not followed'
pass 'links are replaced, not followed'

# ---- faults ------------------------------------------------------------------------------------------------------
mkdir none bad cut
expect 'without gnuplot' 1 'gnuplot is needed .*install' env PATH="$folder/none" "$STAIR" figure $CHEAP --out nognu
[ ! -e nognu ] && [ ! -s stdout ] || fail 'without gnuplot nothing is left'
printf '#!/bin/sh\necho no fonts >&2\nexit 1\n' >bad/gnuplot
printf '#!/bin/sh\nfor e in pdf svg png; do /usr/bin/head -c 300 "%s/a/fig2-top.$e" >plot.$e; done\n' "$folder" >cut/gnuplot
chmod +x bad/gnuplot cut/gnuplot
expect 'gnuplot fails' 1 'failed: no fonts' env PATH="$folder/bad" "$STAIR" figure $CHEAP --out f1
expect 'gnuplot is cut short and says nothing' 1 'pdf: gnuplot did not finish it; is the disk full' env PATH="$folder/cut" "$STAIR" figure $CHEAP --out f2
[ "$(ls -A f1 f2 | tr '\n' ' ')" = 'f1: fig2-top.csv  f2: fig2-top.csv ' ] || fail 'no picture is left' "$(ls -A f1 f2)"
pass 'no picture and no scratch is left'
expect 'drawn from the numbers that were kept' 0 'yes' "$STAIR" figure $CHEAP --out f2 --resume
[ -s f2/fig2-top.png ] || fail 'drawn again'
mkdir full
if mount -t tmpfs -o size=24k tmpfs full 2>/dev/null; then
    expect 'a full disk' 1 'stair: .*(disk full|No space left)' "$STAIR" figure $CHEAP --out full/x
    [ ! -e full/x/fig2-top.png ] && [ -z "$(find full -name '.stair*')" ] || fail 'a full disk keeps no cut picture' "$(ls -lA full/x)"
    umount full
else
    echo 'skipped: a full disk (cannot mount)'
fi
"$STAIR" figure $CHEAP --out pipe | true
[ "${PIPESTATUS[0]}" -ne 141 ] || [ -s pipe/fig2-top.png ] || fail 'a closed pipe'

# ---- what runs that were killed left ---------------------------------------------------------------------------
mkdir -p killed/.stair-figure-999999999-0 killed/.stair-figure-999999999-1 killed/.stair-figure-$$-0 killed/.stair-figure-999999999-0x
touch killed/.stair-figure-999999999-0/{plot.gp,plot.png,log,curve0.dat,curve7.dat} killed/.stair-figure-$$-0/plot.gp
touch killed/.stair-figure-999999999-1/mine killed/.stair-999999999-0.tmp
mkdir elsewhere && touch elsewhere/plot.gp && ln -s ../elsewhere killed/.stair-figure-999999998-0
mkdir killed/.stair-figure-999999997-0
(exec 9<killed/.stair-figure-999999997-0; flock -n 9; exec sleep 100) &
holder=$!
sleep 0.2
expect 'beside what was killed' 0 'fig2-top' "$STAIR" figure $CHEAP --out killed
kill $holder
for gone in .stair-figure-999999999-0 .stair-999999999-0.tmp; do
    [ ! -e killed/$gone ] || fail 'sweep' "killed/$gone is there still"
done
for other in .stair-figure-999999999-1/mine .stair-figure-$$-0/plot.gp .stair-figure-999999999-0x .stair-figure-999999997-0; do
    [ -e killed/$other ] || fail 'sweep' "killed/$other is gone"
done
[ -e elsewhere/plot.gp ] || fail 'sweep' 'a link was followed'
pass 'work folders of killed runs are removed, and no others'

# ---- resuming ----------------------------------------------------------------------------------------------------
RUNS="fig2-top-prenoise --threads 1 --quiet"
"$STAIR" figure $RUNS --out whole >/dev/null || fail 'runs'
"$STAIR" figure $RUNS --out part >/dev/null 2>stderr &
job=$!
for _ in $(seq 2000); do grep -qs '^# parts [2-7]' part/fig2-top-prenoise.state && break; sleep 0.02; done
kill -TERM $job
wait $job
got=$?
if [ $got -eq 143 ]; then
    grep -q 'resume goes on from the checkpoint' stderr || fail 'interrupted' "$(cat stderr)"
    [ "$(ls -A part)" = fig2-top-prenoise.state ] || fail 'interrupted leaves its state alone' "$(ls -A part)"
    expect 'resumed' 0 'fig2-top-prenoise' "$STAIR" figure $RUNS --out part --resume
else
    echo "skipped: interrupted too late ($got)"
fi
cmp -s whole/fig2-top-prenoise.csv part/fig2-top-prenoise.csv || fail 'resumed: the same bytes'
[ ! -e part/fig2-top-prenoise.state ] || fail 'the state is removed'
pass 'interrupted and resumed: the same bytes'
before=$(stat -c %Y.%s whole/*)
expect 'resume keeps what is there' 0 'fig2-top-prenoise +[0-9]+ +yes' "$STAIR" figure $RUNS --out whole --resume
[ "$before" = "$(stat -c %Y.%s whole/*)" ] || fail 'files are kept as they are'
refuse 'resume of another request' 'is of another request; pass --force' "$STAIR" figure $RUNS --out whole --resume --seed 2
sed -i 's/^run1,7,/run1,7,x/' whole/fig2-top-prenoise.csv
refuse 'numbers that were damaged' 'not the numbers of a figure' "$STAIR" figure $RUNS --out whole --resume

# ---- published tables --------------------------------------------------------------------------------------------
mkdir authors && printf 'alpha,Q11,Q22\n0.5,0.43210987,0.1234\n' >authors/BO_2w.csv
OVERLAPS="fig1-left $MODEL --precision 0.2 --quick --quiet"
"$STAIR" figure $OVERLAPS --out part --overlay authors --tex >/dev/null
grep -q '^0.5 0.43210987 ' part/fig1-left.tex || fail 'published points are drawn'
! grep -q 43210987 part/fig1-left.csv || fail 'published points are not among the numbers'
pass 'published points are drawn, and not among the numbers'

# ---- quick and full agree ----------------------------------------------------------------------------------------
# Cheap ones; `./test --long` compares all figures.
COMPARE="$PYTHON $ROOT/bench/figures.py"
both() { # FIGURE MODEL PRECISION-OF-QUICK PRECISION-OF-FULL
    "$STAIR" figure $1 ${2-} ${3:+--precision $3} --quick --out quick --quiet >/dev/null &&
        "$STAIR" figure $1 ${2-} ${4:+--precision $4} --out fine --quiet >/dev/null || fail "$1: quick and full"
}
both staircase attention:layers=1 0.1 0.02
both fig2-top $MODEL
both fig3-right
expect 'quick figures agree with full ones' 0 'ok: staircase: 110 ' $COMPARE quick fine
grep -q 'ok: fig3-right: [0-9][0-9][0-9]' stdout && grep -q 'ok: fig2-top: [0-9][0-9]' stdout || fail 'all compared' "$(cat stdout)"
for name in Q11 bayes weights; do
    mkdir "wrong_$name"
    awk -F, -v name=$name 'BEGIN{OFS=","} /^alpha/ {for (k=1; k<=NF; k++) if ($k==name) at=k}
        /^[0-9]/ && $1>0.2 && !n {$at+=0.1; n=1} {print}' quick/staircase.csv >wrong_$name/staircase.csv
    expect "a figure whose $name is wrong does not" 1 "errors apart: .*/alpha=0.2[0-9]* $name" $COMPARE wrong_$name fine --names staircase
done
$PYTHON - <<'PY'
import os
for folder, shift, wrong in ("line", 0, 0), ("near", 0.003, 0), ("off", 0.003, 0.01), ("far", 0.03, 0.01):
    os.mkdir(folder)
    with open(folder + "/curve.csv", "w") as out:
        print("alpha,f,f_error", file=out)
        for k in range(11):
            x = 0.1 * k + shift
            print(f"{x:.9g},{x * x + wrong:.9g},1e-6", file=out)
PY
expect 'a curve is read off between its points' 0 'ok: curve: 9 numbers, at most (0.9[0-9]|1.0[0-9]) ' $COMPARE near line
expect 'a curve that is off is seen' 1 'FAILED: curve: 9 numbers' $COMPARE off line
expect 'far from a point nothing is read off' 1 'FAILED: curve: 0 numbers' $COMPARE far line
finish
