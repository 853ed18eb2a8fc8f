#!/usr/bin/env bash
# X larger than memory: mapped from its file, one process and two ranks, in a cgroup that allows for half of it.
#   STAIR_LARGER=ROWS   of 20000 numbers each (3000: 240 MB; 48000 are 4 GB)
# Exit 77 where cgroups are not ours to make.
. "$(dirname "$0")/lib.sh"
rows=${STAIR_LARGER:-0}
dim=20000
[ "$rows" -gt 0 ] || { rows=4000 dim=4000; }
bytes=$((rows * dim * 4)) half=$((rows * dim * 2))
[ $half -gt 30000000 ] || half=30000000

one=/sys/fs/cgroup/memory/stair-$$ two=/sys/fs/cgroup/stair-$$
if mkdir $one 2>/dev/null && echo $half 2>/dev/null >$one/memory.limit_in_bytes; then
    group=$one peak=$one/memory.max_usage_in_bytes
elif rmdir $one 2>/dev/null; mkdir $two 2>/dev/null && echo $half 2>/dev/null >$two/memory.max; then
    group=$two peak=$two/memory.peak
else
    rmdir $one $two 2>/dev/null
    echo "no cgroup to limit memory with"
    exit 77
fi
trap 'rmdir "$group" 2>/dev/null; rm -rf "$folder"' EXIT

$PYTHON - "$rows" "$dim" <<'PY' || exit 1
import sys
import numpy as np
rows, dim = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(1)
w = rng.standard_normal(dim).astype(np.float32)
pool = rng.standard_normal((64, 2 * dim)).astype(np.float32)  # rows are pieces of these: quick to draw
x = np.lib.format.open_memmap("X.npy", "w+", np.float32, (rows, 1, dim))
y = np.empty((rows, 1))
for i in range(rows):
    at = (i * 7919) % dim
    x[i, 0] = pool[i % 64, at:at + dim]
    y[i, 0] = float(x[i, 0] @ w) ** 2 / dim
np.save("Y.npy", y)
PY
job="amp square --data X.npy Y.npy --max-iterations 3 --threads 1 --csv"
start=$(date +%s%N)
bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$STAIR" $job >one.csv 2>stderr
[ -s one.csv ] || fail "one process" "$(head -c 300 stderr)"
seconds=$((($(date +%s%N) - start) / 1000000))
used=$(cat "$peak")
[ "$used" -le $((half + 1000000)) ] || fail "memory" "$used bytes of $half"
pass "X of $bytes bytes with $half bytes of memory: 3 iterations in $seconds ms"
bash -c 'echo $$ >"$0/cgroup.procs"; shift 0; exec "$@"' "$group" mpirun -q --oversubscribe --bind-to none -n 2 "$MPI" \
    $job >two.csv 2>stderr
if [ -s two.csv ]; then
    cmp -s one.csv two.csv || fail "two ranks" "other bytes"
    pass "two ranks share the file and the memory"
else
    grep -qi "memory\|killed" stderr && echo "skipped: MPI itself needs more memory" || fail "two ranks" "$(head -c 300 stderr)"
fi
"$STAIR" $job >free.csv 2>/dev/null
cmp -s one.csv free.csv || fail "the bytes of a run with all memory"
pass "the bytes of a run with all memory"
finish
