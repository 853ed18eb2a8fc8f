#!/usr/bin/env bash
# A card, from the cheapest question to the dearest; each part by itself:
#
#   bench/gpu.sh PART [FOLDER [DIM...]]     results go into FOLDER, build-gpu-results unless given
#
#   build    cmake and ninja into build-gpu, with what libraries there are               2 minutes
#   check    kernels and small runs against the processor, the same bytes twice          1 minute
#   bench    reading, exps, normals; kernels as shares of them (D = 20000, 100000)       1 minute
#   run5     two layers, D = 10^5, alpha = 0.9, X stored, 30 iterations                  10 seconds
#   run6     two layers, D = 10^6, alpha = 0.85, X drawn again, 25 iterations            3 to 5 minutes
#   table    D = 10^3 to 10^5, several alphas and seeds, beside state evolution          3 minutes
#   table6   D = 10^3 to 10^6, or those given, for bench/card/table6.py; 10^6 draws X     8 minutes
#   memory   compute-sanitizer over check, where there is one                            5 minutes
#
# A part that fails says so and ends with 1; what it wrote before stays.
set -u
cd "$(dirname "$0")/.." || exit 1
part=${1:-} folder=${2:-build-gpu-results} build=build-gpu
mkdir -p "$folder" || exit 1
model=attention:layers=2

# timed NAME COMMAND...: standard output to FOLDER/NAME, and a line with its seconds
timed() {
    local name=$1 begun ended status
    shift
    begun=$(date +%s.%N)
    "$@" >"$folder/$name"
    status=$?
    ended=$(date +%s.%N)
    awk -v a="$begun" -v b="$ended" -v s=$status -v n="$name" -v c="$*" \
        'BEGIN {printf "%-12s %8.2f s  exit %d  %s\n", n, b - a, s, c}' | tee -a "$folder/times.txt"
    [ $status -eq 0 ] || [ $status -eq 3 ] # 3: more iterations would be needed
}

case $part in
build)
    cmake -G Ninja -S . -B $build -DCMAKE_BUILD_TYPE=Release -DSTAIR_CUDA=ON -DSTAIR_WERROR=OFF -DSTAIR_MPI=OFF \
        -DBUILD_TESTING=OFF -DSTAIR_CUDA_FLAGS="-Xptxas -v" >"$folder/build.log" 2>&1 &&
        ninja -C $build stair_program gpu_check gpu_bench >>"$folder/build.log" 2>&1
    status=$?
    grep -E "error|spill" "$folder/build.log" | grep -v " 0 bytes spill stores" | head -20
    [ $status -eq 0 ] || tail -30 "$folder/build.log"
    nvidia-smi --query-gpu=name,driver_version,memory.total,memory.used,clocks.sm --format=csv,noheader 2>&1
    ls -l $build/stair $build/gpu_check $build/gpu_bench
    exit $status
    ;;
check)
    timed check.txt $build/gpu_check
    status=$?
    grep -E "FAILED|passed" "$folder/check.txt"
    exit $status
    ;;
memory)
    compute-sanitizer --error-exitcode 9 $build/gpu_check 2>&1 | tail -40
    ;;
bench)
    timed bench.txt bash -c "$build/gpu_bench 20000 && $build/gpu_bench 100000 0.9"
    status=$?
    cat "$folder/bench.txt"
    exit $status
    ;;
run5)
    timed run5.csv $build/stair amp $model --dim 100000 --alpha 0.9 --max-iterations 30 --tolerance 1e-12 \
        --start-overlap 0.5 --precision 1e-2 --theory none --history --device cuda --quiet --csv
    status=$?
    cut -d, -f1-12,20- "$folder/run5.csv" | sed -n '1p;$p'
    exit $status
    ;;
run6)
    timed run6.csv $build/stair amp $model --dim 1000000 --alpha 0.85 --max-iterations 25 --tolerance 1e-12 \
        --start-overlap 0.5 --precision 1e-2 --theory none --regenerate --history --device cuda --quiet --csv
    status=$?
    cut -d, -f1-12,20- "$folder/run6.csv" | sed -n '1p;$p'
    exit $status
    ;;
table)
    alphas=0.3,0.6,0.68,0.72,0.76,0.8,0.85,0.9 good=0
    : >"$folder/table.csv"
    for size in "1000 32" "10000 16" "100000 4"; do
        set -- $size
        timed part.csv $build/stair amp $model --dim "$1" --alpha $alphas --seeds "$2" --max-iterations 60 \
            --tolerance 1e-5 --precision 1e-2 --start-overlap 0.5 --theory none --device cuda --quiet --csv || good=1
        if [ -s "$folder/table.csv" ]; then
            tail -n +2 "$folder/part.csv" | sed "s/^/$1,/" >>"$folder/table.csv"
        else
            sed "1s/^/dim,/; 2,\$s/^/$1,/" "$folder/part.csv" >"$folder/table.csv"
        fi
        rm -f "$folder/part.csv"
    done
    timed theory.csv $build/stair evolve $model --alpha $alphas --from uninformed --precision 1e-3 --quiet --csv
    wc -l "$folder/table.csv"
    exit $good
    ;;
table6)
    # From an overlap of 0.97, which is forgotten: runs come down to the fixed point within about 20 steps.
    # Columns are those of stair amp; one file for each D, and for 10^6 for each alpha.
    shift 2 2>/dev/null || shift $#
    [ $# -gt 0 ] || set -- 1000 10000 100000 1000000
    near=0.3,0.5,0.6,0.64,0.68,0.7,0.72,0.74,0.76,0.8,0.85,0.9 good=0
    for dim; do
        common="--dim $dim --start-overlap 0.97 --precision 1e-2 --theory none --test-samples 16 --quiet --csv"
        case $dim in
        1000) runs="--alpha $near --seeds 32 --max-iterations 100 --tolerance 1e-4" ;;
        10000) runs="--alpha $near --seeds 12 --max-iterations 100 --tolerance 1e-4" ;;
        100000)
            runs="--alpha 0.5,0.6,0.68,0.7,0.72,0.74,0.76,0.8,0.85 --seeds 3"
            runs="$runs --max-iterations 60 --tolerance 1e-4"
            ;;
        1000000)
            for pair in 0.85:20 0.72:24 0.6:12; do
                timed "table6-$dim-${pair%:*}.csv" $build/stair amp $model $common --alpha "${pair%:*}" \
                    --max-iterations "${pair#*:}" --tolerance 1e-4 --regenerate --device cuda || good=1
            done
            continue
            ;;
        *) runs="--alpha 0.6,0.72,0.85 --seeds 4 --max-iterations 60 --tolerance 1e-4" ;;
        esac
        timed "table6-$dim.csv" $build/stair amp $model $common $runs --device "${STAIR_DEVICE:-cuda}" || good=1
    done
    wc -l "$folder"/table6-*.csv
    exit $good
    ;;
*)
    sed -n '2,15p' "$0"
    exit 2
    ;;
esac
