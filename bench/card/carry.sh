#!/bin/bash
# The program, what measures and checks its kernels, and the tests of averages on a card, for a machine that
# has a card but none of our libraries: build-card/carry, whose programs need a C library alone.
#   bench/card/carry.sh              here, with nvcc
#   there: build-card/carry/stair threshold attention:layers=2 --device cuda
#          STAIR_TEST_DEVICE=cuda build-card/carry/test_kernels_average
set -e
cd "$(dirname "$0")/../.."
cmake -S . -B build-card -G Ninja -DCMAKE_BUILD_TYPE=Release -DSTAIR_CUDA=ON -DSTAIR_MPI=OFF -DBUILD_TESTING=OFF \
    -DSTAIR_WITHOUT='zip;utf8proc;sleef' >build-card.log || { cat build-card.log; exit 1; }
rm build-card.log
ninja -C build-card stair_program gpu_check gpu_bench
mkdir -p build-card/carry
cd build-card
link=$(ninja -t commands stair_program | tail -1)
runtime=$(grep -o '[^ ]*libcudart_static.a' <<<"$link" | head -1)
static=$(find /usr/lib /usr/local/lib -name libjansson.a 2>/dev/null | head -1)
[ -z "$static" ] || link=$(sed "s#[^ ]*libjansson.so#$static#" <<<"$link")
bash -c "${link/ -o stair / -o carry/stair }"
cc -O2 -std=c17 -w -D_XOPEN_SOURCE=700 -I../tests/portable -I../tests -I../src -I../include \
    ../tests/unit/test_kernels_average.c libstair.a "$runtime" -lrt -ldl -lpthread -lm -o carry/test_kernels_average
cp gpu_check gpu_bench carry
ls -l carry
