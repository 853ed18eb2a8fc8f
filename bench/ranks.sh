#!/usr/bin/env bash
# What ranks cost: bench/ranks.sh [--docs] [BUILD]
#
# Measures on a machine that does nothing else, in three to four minutes,
#   - two ranks of one thread against one rank of two threads, alternating, RUNS times each (3; 0: left out, as
#     where other programs run);
#   - processor time of one number of X, and time on the clock of an iteration on two ranks;
#   - what ranks tell each other, 2 to 16 of them, whatever the number of processors (tests/mpi/rates.c);
# keeps the numbers in BUILD/ranks.csv, and prints ratios and the constants of docs/scale.md; --docs writes the
# latter into that page.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
docs=
[ "${1-}" = --docs ] && docs=--docs && shift
build=${1:-build} runs=${RUNS:-3}
csv=$build/ranks.csv log=$build/ranks.log
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TIMEFORMAT='%R %U'
[ -x "$build/stair-mpi" ] && [ -x "$build/tests/mpi_rates" ] || { echo "no $build/stair-mpi or tests: build first"; exit 2; }

start() { # RANKS COMMAND...: mpirun; ranks may be more than processors
    local count=$1
    shift
    mpirun -q --oversubscribe --bind-to none -n "$count" "$@"
}
timed() { # COMMAND...: leaves `real` and `user` seconds; exit 3, not converged, is fine here
    local times
    times=$({ time { "$@" >/dev/null 2>"$log" || [ $? = 3 ]; }; } 2>&1) || { cat "$log" >&2; exit 1; }
    read -r real user <<<"$times"
}

echo "what,of,ranks,number,seconds" >"$csv"
jobs=("amp attention:layers=2 --dim 4000 --alpha 1 --regenerate --max-iterations 40 --tolerance 1e-12 --theory none --csv"
    "amp attention:layers=2 --dim 3000 --alpha 1.2 --max-iterations 120 --tolerance 1e-12 --theory none --csv"
    "evolve attention:layers=2 --alpha 0.1:0.5:0.1 --from uninformed --precision 0.0005 --csv"
    "threshold attention:layers=2 --precision 0.005 --csv")
for job in "${jobs[@]}"; do
    for k in $(seq "$runs"); do
        timed start 1 "$build/stair-mpi" $job --threads 2
        echo "efficiency,$job,1,$k,$real" >>"$csv"
        timed start 2 "$build/stair-mpi" $job --threads 1
        echo "efficiency,$job,2,$k,$real" >>"$csv"
    done
done

# Numbers of X: iterations 3 to 13, so that what is done once drops out; damped, since a run that has converged
# would stop before.
for shape in "10000 0.2" "100000 0.002"; do
    set -- $shape
    job="amp attention:layers=2 --regenerate --dim $1 --alpha $2 --damping 0.9 --tolerance 1e-12 --theory none --csv"
    for k in $(seq $((runs ? runs : 1))); do
        for count in 3 13; do
            timed "$build/stair" $job --max-iterations $count --threads 1
            echo "processor,$1,1,$count,$user" >>"$csv"
            timed start 2 "$build/stair-mpi" $job --max-iterations $count --threads 1
            echo "clock,$1,2,$count,$real" >>"$csv"
        done
    done
done

for count in 2 4 8 16; do
    start $count "$build/tests/mpi_rates" 0 16 1000 10000 20012 100000 200012 1000000 2>"$log" |
        awk -F, 'NR > 1 { print "sum,," $1 "," $2 "," $3 }' >>"$csv"
done
exec /usr/bin/python3 bench/ranks.py "$csv" $docs
