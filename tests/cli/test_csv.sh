# CSV as it is, read by numpy.genfromtxt and gnuplot, with the names of NPZ and tables.
. "$(dirname "$0")/lib.sh"
need_numpy
small="--precision 0.1 --quiet"

# check NAME COMMAND...: genfromtxt finds every column of the header, a value in every cell, and what JSON says.
check() {
    local name=$1
    shift
    "$STAIR" "$@" --csv >t.csv 2>/dev/null
    case $? in 0 | 3) ;; *) fail "$name" ;; esac
    $PYTHON - <<'PY' || fail "$name" "$(head -3 t.csv)"
import numpy as np
lines = open("t.csv").read().splitlines()
head = lines[0].split(",")
table = np.atleast_1d(np.genfromtxt("t.csv", delimiter=",", names=True, dtype=None, encoding=None))
assert table.dtype.names == tuple(head) and len(set(head)) == len(head), head
assert len(table) == len(lines) - 1 and not any(c in '"#' for line in lines for c in line)
assert all(line.count(",") == len(head) - 1 for line in lines)
PY
    pass "$name"
}
check 'threshold' threshold attention --set layers=1,2 --set skip=0.5,1 $small
check 'evolve' evolve attention:layers=2 --alpha 0.15,0.5 $small
check 'entropy' entropy attention:layers=2 --alpha 0.15,0.5 $small
check 'amp' amp attention:layers=2 --dim 60 --alpha 0.5 --theory none --max-iterations 3
check 'amp --history' amp attention:layers=2 --dim 60 --alpha 0.5 --max-iterations 3 --theory trajectory --samples 128 --history
check 'amp --summary' amp attention:layers=2 --dim 60 --alpha 0.5 --seeds 2 --max-iterations 3 --summary
check 'sgd' sgd attention:layers=2 --dim 40 --alpha 2 --epochs 3
check 'channel' channel attention:layers=2 --points 3
check 'channel of many tokens' channel square:tokens=12 --points 2
check 'diagnose' diagnose square --points 10
check 'models' models
check 'models MODEL' models attention

"$STAIR" evolve attention --set layers=1,2 --alpha 0.15:0.35:0.05 --from uninformed --csv $small >e.csv || fail 'evolve'
$PYTHON - <<'PY' || fail 'columns of evolve' "$(head -2 e.csv)"
import numpy as np
t = np.genfromtxt("e.csv", delimiter=",", names=True, dtype=None, encoding=None)
for name in "layers alpha Q11 Q12 Q22 Q11_error Q12_error Q22_error bayes bayes_error plugin plugin_error weights".split():
    assert name in t.dtype.names, name
assert "Q21" not in t.dtype.names
assert list(t["alpha"]) == [0.15, 0.2, 0.25, 0.3, 0.35] * 2
one = t["layers"] == 1
for name in ("Q12", "Q22", "Q12_error", "Q22_error"): # also where all values there are are whole
    assert np.isnan(t[name][one]).all() and np.isfinite(t[name][~one]).all(), name
assert ",0.15," in open("e.csv").read() and t["model"][0].startswith("attention:layers=1;tokens=2;")
PY
pass 'missing entries are NaN, alphas as typed'

"$STAIR" threshold attention:layers=2 --csv $small >s.csv || fail 'threshold'
$PYTHON - <<'PY' || fail 'columns of threshold' "$(cat s.csv)"
import numpy as np
t = np.genfromtxt("s.csv", delimiter=",", names=True, dtype=None, encoding=None)
assert list(t["kind"]) == ["weak", "weak", "perfect"] and list(t["jump"]) == [0, 0, 0]
assert t["Q22"][1] > 0.9 and t["Q11"][1] == 0 and t["Q22_error"][1] > 0 and np.isnan(t["eigenvalue"][2])
PY
pass 'columns of threshold'

# Shortest digits that read back: the same doubles as in NPZ.
"$STAIR" evolve attention:layers=2 --alpha 0.15,0.5 $small --out e.npz >table.txt && "$STAIR" evolve attention:layers=2 --alpha 0.15,0.5 $small --csv >f.csv || fail 'evolve'
$PYTHON - <<'PY' || fail 'CSV and NPZ'
import numpy as np
a, t = np.load("e.npz"), np.genfromtxt("f.csv", delimiter=",", names=True, dtype=None, encoding=None)
assert set(a.files) == set(t.dtype.names), set(a.files) ^ set(t.dtype.names)
for name in a.files:
    assert list(a[name]) == list(t[name]), name
assert all(len(cell) <= len(repr(float(cell))) + 2 for line in open("f.csv").read().splitlines()[1:] for cell in line.split(",") if cell[0].isdigit())
PY
pass 'CSV and NPZ hold the same numbers under the same names'
sed -n 2p table.txt | grep -Eq ' Q11 +error +Q22 +error ' || fail 'a table has the same names, errors beside them' "$(sed -n 2p table.txt)"
pass 'a table has the same names'
"$STAIR" evolve norm2:indices=6 --alpha 0.01 --from uninformed --precision 0.5 --samples 64 --quiet >wide.txt 2>/dev/null
sed -n 2p wide.txt | grep -Eq ' Q55 +Q66 +error ' || fail 'many indices: one column for the largest error' "$(sed -n 2p wide.txt)"
pass 'many indices: one column for the largest error'

if ! command -v gnuplot >/dev/null; then
    echo 'skipped: gnuplot is not installed'
    finish
    exit 0
fi
plotted() { # NAME FILE X Y COUNT: how many points gnuplot finds
    gnuplot -e "set datafile separator ','; set table 'plotted.txt'; plot '$2' using \"$3\":\"$4\"" 2>gnuplot.txt || fail "$1" "$(cat gnuplot.txt)"
    got=$(grep -Ec '^ *[-0-9.e]+ +[-0-9.e]+ +i' plotted.txt)
    [ "$got" -eq "$5" ] || fail "$1" "$got points" "$(cat plotted.txt)"
    pass "$1"
}
plotted 'gnuplot: a grid' e.csv alpha Q11 10
plotted 'gnuplot: missing entries are left out' e.csv alpha Q22 5
plotted 'gnuplot: a staircase, what is not a number left out' s.csv alpha eigenvalue 2
"$STAIR" figure staircase-curve door --precision 0.1 --quiet --out fig >/dev/null || fail 'figure'
plotted 'gnuplot: the CSV of a figure' fig/staircase.csv alpha Q11_error $(($(grep -vc '^#' fig/staircase.csv) - 1))
grep -vm1 '^#' fig/staircase.csv | grep -q '^alpha,Q11,Q11_error,bayes,bayes_error,plugin,plugin_error,weights,weights_error$' || fail 'names of a figure are those of evolve'
pass 'names of a figure are those of evolve'
finish
