# Bad input files: exit 2, one line naming file, place and reason, nothing written, at once.
. "$(dirname "$0")/lib.sh"
here=$TESTS
MODEL=attention:layers=2

# channel OPTION FILE: good points, but FILE for one of them.
channel() {
    local option=$1 file=$2 label=(--logits good_logits.npy) omega=good_omega.npy cov=good_cov.npy
    case $option in
    omega) omega=$file ;;
    cov) cov=$file ;;
    y | logits) label=(--$option "$file") ;;
    esac
    echo "$STAIR" channel $MODEL "${label[@]}" --omega "$omega" --cov "$cov" --out r.npz
}

need_numpy
$PYTHON "$here/make_bad_input.py" >table.tsv || fail 'making bad files'
expect 'good logits' 0 'log Z' $(channel logits good_logits.npy)
rm -f r.npz
expect 'good y' 0 'log Z' $(channel y good_y.npy)
rm -f r.npz
while IFS=$'\t' read -r file option pattern; do
    refuse "$file" "$pattern" $(channel "$option" "$file")
    grep -q "$file" stderr || fail "$file is named" "$(cat stderr)"
done <table.tsv

refuse 'missing file' 'absent.npy: No such file' $(channel omega absent.npy)
mkdir directory.npy && refuse 'directory' 'directory.npy: is a directory' $(channel omega directory.npy)
mkfifo fifo.npy && refuse 'FIFO does not block' 'fifo.npy: is not a regular file' $(channel omega fifo.npy)
refuse 'device' '/dev/zero: is not a regular file' $(channel omega /dev/zero)
if [ "$(id -u)" -ne 0 ]; then
    cp good_omega.npy closed.npy && chmod 000 closed.npy
    refuse 'unreadable' 'closed.npy: Permission denied' $(channel omega closed.npy)
else
    echo 'skipped: unreadable file (root reads everything)'
fi
refuse 'missing omega' 'omega is missing' "$STAIR" channel $MODEL --logits good_logits.npy --cov good_cov.npy
refuse 'missing label' 'label is missing' "$STAIR" channel $MODEL --omega good_omega.npy --cov good_cov.npy
refuse 'two labels' 'logits and --y' "$STAIR" channel $MODEL --logits good_logits.npy --y good_y.npy --omega good_omega.npy --cov good_cov.npy
refuse 'files and random points' 'points is for random' $(channel omega good_omega.npy) --points 3

refuse 'output folder missing' 'absent/r.npz: cannot be written' "$STAIR" channel $MODEL --out absent/r.npz
refuse 'output extension' '.csv, .json or .npz' "$STAIR" channel $MODEL --out r.txt
refuse 'output without extension' '.csv, .json or .npz' "$STAIR" channel $MODEL --out r
mkdir folder.npz && refuse 'output is a directory' 'folder.npz: is a directory' "$STAIR" channel $MODEL --out folder.npz
for extension in csv json npz; do
    echo keep >r.$extension
    refuse "no overwrite: $extension" 'exists; pass --force' "$STAIR" channel $MODEL --out r.$extension
    [ "$(cat r.$extension)" = keep ] || fail "r.$extension was touched"
    refuse "no overwrite before computing: $extension" 'exists; pass --force' "$STAIR" channel $MODEL --points 1e9 --out r.$extension
done
finish
