# Progress on a terminal: never backwards, a time left that makes sense, and nothing elsewhere.
. "$(dirname "$0")/lib.sh"

# shows NAME COMMAND...: percentages that never fall, at least two of them, the last below or at 100.
shows() {
    local name=$1
    shift
    $PYTHON "$TESTS/on_terminal.py" "$STAIR" "$@" >shown.txt
    case $? in 0 | 3) ;; *) fail "$name" "$(tail -3 shown.txt)" ;; esac
    $PYTHON - <<'PY' || fail "$name" "$(tr '\n' '|' <shown.txt | head -c 2000)"
import re
lines = open("shown.txt").read().splitlines()
shown = [int(m.group(1)) for m in (re.match(r" *(\d+)%  \S", line) for line in lines) if m]
assert len(shown) > 1, "nothing shown"
assert all(a <= b for a, b in zip(shown, shown[1:])), shown
assert 0 <= shown[0] and shown[-1] <= 100 and shown[-1] > shown[0], shown
PY
    pass "$name"
}
shows 'several alphas and seeds, theory after each' amp attention:layers=2 --dim 1500 --alpha 0.2,0.3 --seeds 4 --summary
shows 'a figure: staircase, then curve' figure staircase-curve attention:layers=1 --precision 0.002 --out fig
shows 'a grid of staircases' threshold attention:layers=2 --set skip=0.5,1,2,4 --steps 2 --precision 0.005
shows 'a sweep over alpha' evolve attention:layers=1,tokens=3 --alpha 0.1,0.2,0.3 --samples 16384 --precision 0.1
shows 'gradient descent, runs side by side' sgd attention:layers=2 --dim 200 --alpha 40 --epochs 500 --seeds 3
shows 'the channel in blocks' channel attention:layers=2 --points 400000 --out c.npz

# 2 s of steady work at least: what is said to be left is at most a few times what it takes.
began=$(date +%s%N)
$PYTHON "$TESTS/on_terminal.py" "$STAIR" channel attention:layers=2 --points 400000 --out d.npz >shown.txt || fail 'a longer run'
took=$((($(date +%s%N) - began) / 1000000000 + 1))
$PYTHON - $took <<'PY' || fail "time left of a run of $took s" "$(tr '\n' '|' <shown.txt | head -c 2000)"
import re, sys
left = [int(x) * (60 if unit == "min" else 1) for x, unit in re.findall(r"(\d+) (s|min) left", open("shown.txt").read())]
assert left or int(sys.argv[1]) < 4, "no time left was told"
assert all(x <= 4 * int(sys.argv[1]) for x in left), left
assert not left or left[-1] <= max(2, left[0]), left
PY
pass 'the time left makes sense'

"$STAIR" channel attention:layers=2 --points 60000 --csv >/dev/null 2>quiet.txt
[ ! -s quiet.txt ] || fail 'nothing where standard error is no terminal' "$(head -c 200 quiet.txt)"
pass 'nothing where standard error is no terminal'
$PYTHON "$TESTS/on_terminal.py" "$STAIR" channel attention:layers=2 --points 60000 --out e.npz --quiet >shown.txt
[ ! -s shown.txt ] || fail 'nothing with --quiet' "$(head -3 shown.txt)"
pass 'nothing with --quiet'
finish
