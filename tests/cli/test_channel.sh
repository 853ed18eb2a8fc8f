# stair channel: one covariance for all random points, and --method, which names every rule of src/channel.
. "$(dirname "$0")/lib.sh"
SOURCE=$(realpath "$TESTS/../../src/channel")
MODEL=attention:layers=2,mixing=literal

"$STAIR" channel $MODEL --points 16 --one-cov --seed 7 --out one.npz >/dev/null && pass 'one covariance' || fail 'one covariance'
"$STAIR" channel $MODEL --points 16 --seed 7 --out many.npz >/dev/null || fail 'many covariances'
cat >arrays.py <<'PY'
import ast, struct, zipfile

def split(data):
    """Header and doubles of an NPY file of version 1."""
    start = 10 + struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:start].decode())
    return header["shape"], list(struct.unpack("<%dd" % ((len(data) - start) // 8), data[start:]))

def load(path, name):
    return split(zipfile.ZipFile(path).read(name + ".npy"))
PY
$PYTHON - <<'PY' || fail 'one covariance for all'
import zipfile
from arrays import load
(shape, one), (_, many) = load("one.npz", "cov"), load("many.npz", "cov")
assert shape == (16, 2, 2) and one == 16 * one[:4], one
assert one[:4] == many[:4] and many != 16 * many[:4]
logz = load("one.npz", "logz")[1]
assert logz[0] == load("many.npz", "logz")[1][0] and len(set(logz)) == 16
archive = zipfile.ZipFile("one.npz")
for name in "logits", "omega", "cov":
    open(name + ".npy", "wb").write(archive.read(name + ".npy"))
PY
pass 'one covariance for all'
"$STAIR" channel $MODEL --logits logits.npy --omega omega.npy --cov cov.npy --seed 7 --out again.npz >/dev/null || fail 'read back'
$PYTHON -c '
from arrays import load
assert all(load("one.npz", k) == load("again.npz", k) for k in ("logz", "g", "dg", "error"))' && pass 'read back' || fail 'read back'

# every_rule FOLDER: names what is defined as a rule there and stands in no table
every_rule() {
    local rule missing=
    for rule in $(grep -Eho '^const stair_channel_rule stair_rule_[a-z_]+' "$1"/*.c | awk '{print $3}'); do
        sed -n '/^static const stair_channel_rule \*const rules\[\]/,/^};/p' "$1"/*.c | grep -Eq "&$rule\b" || missing="$missing $rule"
    done
    echo $missing
}
[ "$(cat "$SOURCE"/*.c | grep -c '^const stair_channel_rule stair_rule_')" -ge 6 ] && pass 'rules are found' || fail 'rules are found'
[ -z "$(every_rule "$SOURCE")" ] && pass 'every rule is in the table' || fail 'every rule is in the table' "$(every_rule "$SOURCE")"
mkdir copy && cp "$SOURCE"/*.c copy && echo 'const stair_channel_rule stair_rule_lost = {.name = "lost"};' >copy/lost.c
[ "$(every_rule copy)" = stair_rule_lost ] && pass 'a rule in no table is noticed' || fail 'a rule in no table is noticed'

# --method takes the name of each
for file in $(grep -El '^const stair_channel_rule stair_rule_' "$SOURCE"/*.c); do
    name=$(sed -n '/^const stair_channel_rule/,/};/s/.*\.name = "\([a-z]*\)".*/\1/p' "$file")
    case $name in
    closed | exact) model=attention:layers=1 ;;
    layered) model=attention:layers=3 ;;
    boxes) model=committee ;;
    lines) model=product ;;
    marginal) model=attention:layers=1,readout=1,noise=0.3 ;;
    plane) model=attention:layers=2,output=sequence ;;
    *) model=attention:layers=2 ;;
    esac
    expect "--method $name" 0 "$name" "$STAIR" channel $model --points 2 --precision 0.01 --method "$name" --csv
done
expect 'a method that does not fit' 2 "method 'closed' does not fit this model" "$STAIR" channel attention:layers=2 --points 2 --method closed
refuse 'no such method' 'method must be' "$STAIR" channel attention:layers=2 --points 2 --method closd
# A finer precision that is out of reach must not give a worse answer than a coarser one.
for precision in 1e-4 1e-6; do
    "$STAIR" channel attention:layers=2,noise=1 --points 2 --precision $precision --csv --quiet > fine-$precision
done
python3 - <<'EOF' || fail "more precision, larger errors" "$(cat fine-1e-4 fine-1e-6)"
import csv, sys
errors = [[float(row["error"]) for row in csv.DictReader(line for line in open("fine-" + p) if line[0] != "#")]
          for p in ("1e-4", "1e-6")]
sys.exit(not all(fine <= coarse for coarse, fine in zip(*errors)))
EOF
pass "more precision, smaller errors"
finish
