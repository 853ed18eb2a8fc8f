# The mathematics alone: built without threads, with no package to be found, and linked with libm and nothing else.
#   test_math_only.sh SOURCE_FOLDER C_COMPILER
set -euo pipefail
source=$1 compiler=$2
folder=$(mktemp -d "${TMPDIR:-/tmp}/stair-math.XXXXXX")
trap 'rm -rf "$folder"' EXIT

PKG_CONFIG=/nonexistent cmake -G Ninja -S "$source" -B "$folder" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_BUILD_TYPE=MinSizeRel -DSTAIR_MATH_ONLY=ON -DSTAIR_THREADS=OFF -DSTAIR_LEVELS=v2 \
    -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON -DCMAKE_DISABLE_FIND_PACKAGE_Threads=ON >"$folder/log" 2>&1 ||
    { cat "$folder/log"; exit 1; }
cmake --build "$folder" >"$folder/log" || { cat "$folder/log"; exit 1; }

if nm "$folder/libstair.a" 2>/dev/null | grep -E ' U (pthread_|zip_|utf8proc_|Sleef_|json_)'; then
    echo "FAILED: the mathematics asks for more than the C library and libm"
    exit 1
fi
"$compiler" -std=c17 -I"$source/include" "$source/tests/library/threshold.c" "$folder/libstair.a" -lm -o "$folder/threshold"
"$folder/threshold" | tee "$folder/out"
grep -q 'on 1 threads' "$folder/out"
