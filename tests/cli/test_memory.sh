# A stream of samples runs in bounded memory: 10^6 of them below 200 MB.  Takes minutes, so only with
# STAIR_LONG=1; otherwise 3 * 10^4 samples, against the memory of 10^4.
. "$(dirname "$0")/lib.sh"
need_numpy
if grep -Eq '__[at]san_init' "$STAIR"; then
    echo 'skipped: sanitizers use memory of their own'
    finish
    exit 0
fi

cat >measure.py <<'PY'
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
sys.exit(code)
PY
# L = 1 costs next to nothing, so the stream itself is what is measured.
measure() { $PYTHON measure.py "$STAIR" channel "$@" --quiet; }
samples=30000
[ "${STAIR_LONG-}" = 1 ] && samples=1000000
for model in attention:layers=1 attention:layers=2; do
    precision=1e-3
    small=$(measure $model --points 10000 --precision $precision --out small.npz) || fail "$model: 10000 samples"
    used=$(measure $model --points $samples --precision $precision --out r.npz) || fail "$model: $samples samples"
    [ "$used" -lt 200 ] || fail "$model: $samples samples" "$used MB"
    [ "$used" -le $((small + 20)) ] || fail "$model: memory grows" "$small MB, then $used MB"
    pass "$model: $samples random samples in $used MB"
    # minutes more would show nothing that L = 1 has not
    [ $samples -gt 30000 ] && [ $model != attention:layers=1 ] && continue
    $PYTHON -c '
import zipfile
z = zipfile.ZipFile("r.npz")
for name in "logits.npy", "omega.npy", "cov.npy": z.extract(name)'
    used=$(measure $model --logits logits.npy --omega omega.npy --cov cov.npy --precision $precision --out back.npz) || fail "$model: $samples samples from files"
    [ "$used" -lt 200 ] || fail "$model: $samples samples from files" "$used MB"
    pass "$model: $samples samples from files in $used MB"
    rm -f *.npz *.npy
done
finish
