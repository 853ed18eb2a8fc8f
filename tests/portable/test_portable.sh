# The mathematics by another compiler, its short unit tests, and the same numbers within their errors.
#   test_portable.sh SOURCE_FOLDER BUILD_FOLDER NAME
# NAME: native, clang, unsigned (char is not signed), musl, aarch64 (under qemu), 32bit (only compiled: size_t and
# long of 32 bits).  77 where the compiler is not installed.
set -uo pipefail
source=$1 build=$2 name=$3
flags= runner= link=-static processor=x86_64
case $name in
native) compiler=gcc ;;
clang) compiler=clang link= ;;
unsigned) compiler=gcc flags=-funsigned-char ;;
musl) compiler=musl-gcc ;;
aarch64) compiler=aarch64-linux-gnu-gcc runner=qemu-aarch64 processor=aarch64 ;;
32bit) compiler=gcc flags='-m32 -msse2 -mfpmath=sse -idirafter /usr/include/x86_64-linux-gnu' link=none processor=i386 ;; # libc6-dev-i386; no libgcc: nothing links
*) echo "unknown: $name"; exit 2 ;;
esac
for program in $compiler ${runner:-true}; do
    command -v $program >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
if [ $name = 32bit ] && ! echo 'int main(void){return 0;}' | gcc -m32 -xc - -include stdlib.h -fsyntax-only 2>/dev/null; then
    echo 'skipped: no headers for 32 bits'
    exit 77
fi
mkdir -p "$build"
cmake -G Ninja -S "$source" -B "$build" -DCMAKE_C_COMPILER=$compiler -DCMAKE_C_FLAGS="$flags" \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$processor -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS_NONE=-O1 \
    $([ $link = none ] && echo -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY) \
    -DSTAIR_MATH_ONLY=ON -DSTAIR_LEVELS=v2 >"$build/log" 2>&1 || { cat "$build/log"; exit 1; }
cmake --build "$build" ${JOBS:+-j $JOBS} >"$build/log" 2>&1 || { tail -n 40 "$build/log"; exit 1; }
[ $link = none ] && { echo "compiled for $name"; exit 0; }

limit=600 failed=0
[ -z "$runner" ] || { limit=4000; export STAIR_EMULATED=1; } # test_zoo takes minutes there
make() { # SOURCE PROGRAM
    $compiler $flags -O1 -std=c17 -w -D_XOPEN_SOURCE=700 -DREPLACED=0 -I"$source/tests/portable" -I"$source/include" -I"$source/src" \
        -I"$source/tests" "$1" "$build/libstair.a" $link -lm -lpthread -o "$2" 2>"$build/log"
}
for test in matrix rng qmc stats reduce parallel text structure channel_closed_form model_attention channel_limits \
    model_square model_expr zoo exponents; do
    make "$source/tests/unit/test_$test.c" "$build/test_$test" || { echo "FAILED: test_$test does not build"; cat "$build/log"; failed=1; continue; }
    if (cd "$source" && timeout $limit $runner "$build/test_$test" >"$build/log" 2>&1); then
        echo "ok: $name: test_$test"
    else
        echo "FAILED: $name: test_$test"
        tail -n 20 "$build/log"
        failed=1
    fi
done
make "$source/tests/portable/numbers.c" "$build/numbers" && $runner "$build/numbers" >"$build/numbers.txt" ||
    { echo "FAILED: $name: numbers"; cat "$build/log"; exit 1; }
if [ $name != native ]; then
    here=$(dirname "$build")/portable-native/numbers.txt
    [ -s "$here" ] || bash "$0" "$source" "$(dirname "$build")/portable-native" native >/dev/null || { echo 'FAILED: native'; exit 1; }
    python3 "$source/tests/portable/compare.py" "$here" "$build/numbers.txt" || failed=1
fi
exit $failed
