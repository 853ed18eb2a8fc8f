#!/usr/bin/env bash
# What is still to be measured on a card, in one call of at most nine minutes, the most wanted first:
#
#   bench/card/carry.sh                     here, with nvcc: build-card/carry
#   tests/gpu/all.sh [PROGRAM] [FOLDER]     there; PROGRAM: build-card/carry/stair, FOLDER: $OUT or out
#
#   pass         gpu_check and gpu_bench at D = 10^5, where they lie beside PROGRAM  60 s
#   kernels      test_kernels_average, likewise                                     20 s
#   curve        three layers, 49 alphas at 1e-3; asked for: 60 s                   110 s
#   answers      commands of tests/numbers on both: the same within errors          70 s
#   phases       three layers, 200 values of c, 1e-2; two layers took 59 s          190 s
#   calibration  the short list on the card                                         60 s
#   million      GAMP, D = 10^6, alpha = 0.85, seeds 1 to SEEDS (2), 3 iterations each   60 s
#
# Each part is stopped at its time and says so.  PARTS="curve phases" runs some of them.  All parts together take
# at most 570 s.  Where MPS can be started, processes share the card at once instead of taking turns.
set -u
cd "$(dirname "$0")/../.." || exit 1
program=$(realpath "${1:-build-card/carry/stair}") folder=${2:-${OUT:-out}} device=${STAIR_DEVICE:-cuda}
[ -x "$program" ] || { echo "no $program"; exit 2; }
mkdir -p "$folder" || exit 1
export CUDA_MPS_PIPE_DIRECTORY=$folder/mps CUDA_MPS_LOG_DIRECTORY=$folder/mps
if command -v nvidia-cuda-mps-control >/dev/null && mkdir -p "$folder/mps" && nvidia-cuda-mps-control -d 2>/dev/null; then
    trap 'echo quit | nvidia-cuda-mps-control >/dev/null 2>&1; rm -rf "$folder/mps"' EXIT
    echo "MPS: on"
else
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    echo "MPS: none"
fi
nvidia-smi --query-gpu=name,driver_version,memory.used --format=csv,noheader 2>&1 | head -n 1
averages() { python3 bench/card/averages.py --program "$program" --out "$folder" --devices "$device" "$@"; }
part() { # NAME SECONDS COMMAND...
    local name=$1 most=$2 begun=$SECONDS status
    shift 2
    [[ " ${PARTS:-pass kernels curve answers phases calibration million} " == *" $name "* ]] || return 0
    echo "== $name"
    timeout -k 5 "$most" "$@"
    status=$?
    echo "$name: $((SECONDS - begun)) s of $most, exit $status" | tee -a "$folder/parts.txt"
}
export -f averages
export program folder device
[ ! -x "$(dirname "$program")/gpu_bench" ] ||
    part pass 60 bash -c 'cd "$(dirname "$program")" && ./gpu_check | grep -E "FAILED|passed" && ./gpu_bench 100000 0.9'
[ ! -x "$(dirname "$program")/test_kernels_average" ] ||
    part kernels 20 env STAIR_TEST_DEVICE="$device" "$(dirname "$program")/test_kernels_average"
part curve 110 bash -c 'averages --precision 1e-3 --limit 105 curve'
part answers 70 python3 tests/gpu/same_answers.py "$program" --device "$device" --jobs 8 --threads 2 --out "$folder/same_answers.txt"
part phases 190 bash -c 'averages --layers 3 --count "${COUNT:-200}" --limit 180 phases'
part calibration 60 bash -c 'averages --limit 55 calibration'
part million 60 "$program" amp attention:layers=2 --dim "${DIM:-1000000}" --alpha 0.85 --seeds "${SEEDS:-2}" \
    --max-iterations 3 --tolerance 1e-12 --start-overlap 0.97 --precision 1e-2 --theory none --regenerate \
    --test-samples 16 --device "$device" --quiet --csv
cat "$folder/parts.txt"
