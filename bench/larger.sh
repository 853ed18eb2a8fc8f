#!/usr/bin/env bash
# GAMP on samples larger than memory, beside the speed of the disk:
#
#   bench/larger.sh [BUILD] [FOLDER]     BUILD: build; FOLDER: for 4.1 GB, which are deleted at the end
#
# X (25600, 2, 20000) in float32 is mapped from its file by a process, then by two ranks, in a cgroup with half of
# that memory.  Before each run the file is put out of the cache of the system, so every pass comes from the disk.
# The same file is read by cat under the same limit.  Needs root (for the cgroup) and Python with NumPy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath "${1:-build}")
folder=$(mktemp -d "${2:-${TMPDIR:-/tmp}}/larger-XXXXXX")
samples=${STAIR_LARGER:-25600} dim=20000 iterations=${STAIR_ITERATIONS:-3}
bytes=$((samples * 2 * dim * 4))
limit=$((bytes / 2))
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# A group of version 1 or 2 of cgroups.
group=/sys/fs/cgroup/memory/stair-larger-$$ max=memory.limit_in_bytes peak=memory.max_usage_in_bytes
[ -d /sys/fs/cgroup/memory ] || group=/sys/fs/cgroup/stair-larger-$$ max=memory.max peak=memory.peak
trap 'rm -rf "$folder"; rmdir "$group" 2>/dev/null || true' EXIT
mkdir "$group" && echo $limit >"$group/$max" || { echo "no cgroup to limit memory with"; exit 77; }
cd "$folder"

/usr/bin/python3 - "$samples" $dim <<'PY'
import sys
import numpy as np
samples, dim = map(int, sys.argv[1:])
rng = np.random.default_rng(1)
w = rng.standard_normal(dim, dtype=np.float32)
np.save("w.npy", w)
x = np.lib.format.open_memmap("X.npy", "w+", np.float32, (samples, 2, dim))
logits = np.empty((samples, 2, 2))
for at in range(0, samples, 256):
    part = rng.standard_normal((min(256, samples - at), 2, dim), dtype=np.float32)
    x[at:at + 256] = part
    h = (part @ w).astype(float) / np.sqrt(dim)
    j = h[:, :, None] * h[:, None, :]
    logits[at:at + 256] = j - np.logaddexp(j[..., :1], j[..., 1:])
np.save("logits.npy", logits)
PY
sync X.npy
echo "X.npy has $bytes bytes, memory is limited to $limit, $(nproc) processors"

measure() { # NAME PASSES COMMAND...: one line, seconds on the clock and of processors
    local name=$1 passes=$2 start used
    shift 2
    dd if=X.npy iflag=nocache count=0 status=none # advises the system to forget the file
    echo 0 >"$group/$peak" 2>/dev/null || true
    start=$(date +%s%N)
    TIMEFORMAT='%U %S'
    { time bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$@" >out 2>err || [ $? = 3 ]; } 2>times ||
        { cat err; exit 1; }
    used=$(tail -n 1 times)
    awk -v name="$name" -v passes="$passes" -v bytes="$bytes" -v ns=$(($(date +%s%N) - start)) -v used="$used" \
        -v peak="$(cat "$group/$peak")" 'BEGIN {
            split(used, cpu)
            printf "%-28s %d passes in %6.1f s: %5.0f MB/s; processor %5.1f s; memory at most %.2f GB\n", name,
                passes, ns / 1e9, passes * bytes / ns * 1e3, cpu[1] + cpu[2], peak / 1e9 }'
}
job="amp attention:layers=1 --data X.npy logits.npy --logits --max-iterations $iterations --seed 2 --csv"
measure "cat" 1 cat X.npy
measure "one process, 1 thread" $((iterations + 1)) "$build/stair" $job --threads 1
cp out one.csv
measure "one process, 2 threads" $((iterations + 1)) "$build/stair" $job --threads 2
cmp out one.csv
if [ -x "$build/stair-mpi" ]; then
    measure "two ranks" $((iterations + 1)) mpirun -q --oversubscribe --bind-to none -n 2 "$build/stair-mpi" $job --threads 1
    cmp out one.csv
fi
measure "cat again" 1 cat X.npy
echo "the same bytes each time"
