# stair amp --data with X and Y in several files: the bytes of one file, and bad input in any of them.
. "$(dirname "$0")/lib.sh"
need_numpy
MODEL=attention:layers=1
$PYTHON - <<'END' || fail 'making data'
import numpy as np
rng = np.random.default_rng(8)
def draw(n, D):
    w = rng.standard_normal(D)
    x = rng.standard_normal((n, 2, D)).astype(np.float32)
    h = x.astype(float) @ w / np.sqrt(D)
    j = h[:, :, None] * h[:, None, :]
    return x, np.exp(j) / np.exp(j).sum(2, keepdims=True)
n = 300
x, y = draw(n, 40)
long_x, long_y = draw(1500, 200)
for name, array in (("x", x), ("y", y), ("x8", x.astype(float)), ("big", x.astype(">f4")),
                    ("long_x", long_x), ("long_y", long_y), ("long8", long_x.astype(float))):
    np.save(f"{name}.npy", array)
    for k, (lo, hi) in enumerate(((0, 1), (1, 150), (150, 150), (150, 153), (153, len(array)))):
        np.save(f"{name}.{k}.npy", array[lo:hi])
np.save("x.4f.npy", np.asfortranarray(x[153:]))
np.save("a,b.npy", x)
np.save("wide.npy", x[:5, :, :-1])
np.save("tokens.npy", x[:5, :1])
bad = x[150:153].copy()
bad[1, 0, 7] = np.nan
np.save("nan.npy", bad)
np.save("y.sum.npy", np.full((3, 2, 2), 0.7))
np.save("y.more.npy", np.concatenate((y[153:], y[:1])))
np.save("y.few.npy", y[153:-1])
np.save("y.wide.npy", np.zeros((3, 5)))
END
parts() { echo "$1.0.npy,$1.1.npy,$1.2.npy,$1.3.npy,${2:-$1.4.npy}"; }
parts x | tr , '\n' >list.txt
printf '\r\n%s\r\n\n' y.npy >one.txt
fit() { "$STAIR" amp $MODEL --data "$@" --max-iterations 200 --seed 3 --csv 2>stderr; }

fit x.npy y.npy --threads 1 >whole.csv || fail 'one file' "$(cat stderr)"
fit "$(parts x)" y.npy --threads 2 >got.csv && cmp -s whole.csv got.csv || fail 'five files of X' "$(cat stderr)"
pass 'X in five files, one of them without samples: the bytes of one'
fit "$(parts x)" "$(parts y)" >got.csv && cmp -s whole.csv got.csv || fail 'five files of Y' "$(cat stderr)"
pass 'Y in five files'
fit @list.txt @one.txt >got.csv && cmp -s whole.csv got.csv || fail 'a list of files' "$(cat stderr)"
pass 'a text file with the names'
fit a,b.npy y.npy >got.csv && cmp -s whole.csv got.csv || fail 'a comma in a name' "$(cat stderr)"
pass 'a file whose name has a comma is one file'
cp list.txt @x.npy
refuse 'a file whose name begins with @ is one file' '@x.npy: is not an NPY file' "$STAIR" amp $MODEL --data @x.npy y.npy
fit x8.npy y.npy >double.csv
fit "$(parts x8)" y.npy >got.csv && cmp -s double.csv got.csv || fail 'double precision' "$(cat stderr)"
pass 'double precision'
fit "$(parts big)" y.npy >got.csv && cmp -s double.csv got.csv || fail 'another byte order' "$(cat stderr)"
fit "$(parts x x.4f.npy)" y.npy >got.csv && cmp -s double.csv got.csv || fail 'one in Fortran order' "$(cat stderr)"
pass 'files that cannot be mapped are converted, as one file is'
for variant in full bp; do
    fit x.npy y.npy --variant $variant --max-iterations 2 >one.csv
    [ $? = 3 ] && [ -s one.csv ] || fail "$variant: one file" "$(cat stderr)"
    fit "$(parts x)" y.npy --variant $variant --max-iterations 2 >got.csv
    cmp -s one.csv got.csv || fail "$variant: several files" "$(cat stderr)"
done
pass 'variants that keep a variance for every entry'

# A checkpoint knows the samples, not the files they are in.  A run takes a second, and is stopped at its first
# checkpoint.
long="--damping 0.9 --tolerance 1e-14 --max-iterations 1000 --seed 3 --threads 1 --force"
slow() { "$STAIR" amp $MODEL --data "$@" $long >/dev/null 2>stderr; }
slow long_x.npy long_y.npy --out whole.csv
"$STAIR" amp $MODEL --data long_x.npy long_y.npy $long --out cut.csv --checkpoint-every 0.001 >/dev/null 2>stderr &
while [ ! -f cut.csv.state.0 ] && kill -0 $! 2>/dev/null; do sleep 0.01; done
kill -TERM $!
wait $!
[ $? = 143 ] && [ -f cut.csv.state.0 ] && [ ! -f cut.csv ] || fail 'stopped at a checkpoint' "$(ls; cat stderr)"
slow "$(parts long_x long8.4.npy)" long_y.npy --out cut.csv --resume && fail 'resumed with other numbers'
slow "$(parts long_x)" "$(parts long_y)" --out cut.csv --resume
cmp -s whole.csv cut.csv || fail 'one file, resumed from several' "$(cat stderr)"
pass 'a run on one file, resumed on several'
"$STAIR" amp $MODEL --data x.npy y.npy --max-iterations 200 --seed 3 --predict x.npy --out p.npz >/dev/null || fail 'predictions'
"$STAIR" amp $MODEL --data "$(parts x)" "$(parts y)" --max-iterations 200 --seed 3 --predict "$(parts x)" --out q.npz >/dev/null &&
    cmp -s p.npz q.npz || fail 'predictions at new samples in several files'
pass 'predictions at new samples in several files'

refuse 'other columns' 'wide.npy: samples need shape .n, 2, 40., not .5, 2, 39.' "$STAIR" amp $MODEL --data x.npy,wide.npy y.npy
refuse 'other tokens' 'tokens.npy: samples need shape .n, 2, 40., not .5, 1, 40.' "$STAIR" amp $MODEL --data x.npy,tokens.npy y.npy
refuse 'another kind of numbers' 'x8.0.npy: its numbers are f8 and those of x.1.npy f4' "$STAIR" amp $MODEL --data x.1.npy,x8.0.npy y.npy
refuse 'a missing file' 'absent.npy: No such file' "$STAIR" amp $MODEL --data x.0.npy,absent.npy y.npy
: >empty.npy
refuse 'an empty file' 'empty.npy: is not an NPY file .too short' "$STAIR" amp $MODEL --data x.0.npy,empty.npy y.npy
refuse 'an empty name' 'x.0.npy,,x.1.npy: an empty name' "$STAIR" amp $MODEL --data x.0.npy,,x.1.npy y.npy
refuse 'an empty last name' 'an empty name' "$STAIR" amp $MODEL --data x.0.npy, y.npy
: >empty.txt
refuse 'an empty list' 'empty.txt: a list of files without a name' "$STAIR" amp $MODEL --data @empty.txt y.npy
refuse 'a missing list' 'absent.txt: No such file' "$STAIR" amp $MODEL --data @absent.txt y.npy
refuse 'not a number' 'nan.npy: element .1, 0, 7. is nan' "$STAIR" amp $MODEL --data x.1.npy,nan.npy,x.4.npy y.npy
refuse 'fewer samples than labels' 'y.npy: labels need shape .299, 2, 2. or .299, 4., not .300, 2, 2.' "$STAIR" amp $MODEL --data x.1.npy,x.3.npy,x.4.npy y.npy
refuse 'too few labels' 'y.few.npy: the last of 4 files of labels for 299 samples, and there are 300' "$STAIR" amp $MODEL --data x.npy y.0.npy,y.1.npy,y.3.npy,y.few.npy
refuse 'too many labels' 'y.more.npy: labels of samples 153 to 300, and there are only 300' "$STAIR" amp $MODEL --data x.npy y.0.npy,y.1.npy,y.3.npy,y.more.npy
refuse 'labels of another shape' 'y.wide.npy: labels need shape .n, 2, 2. or .n, 4., not .3, 5.' "$STAIR" amp $MODEL --data x.npy y.0.npy,y.wide.npy
refuse 'labels that are none' 'y.sum.npy: sample 0' "$STAIR" amp $MODEL --data x.npy y.0.npy,y.1.npy,y.sum.npy,y.4.npy
finish
