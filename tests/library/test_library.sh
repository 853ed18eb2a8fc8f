# The shared library: every function of include/ and nothing else, under its soname; a program that knows the
# public header alone.
#   test_library.sh SOURCE_FOLDER C_COMPILER libstair.so
set -euo pipefail
source=$1 compiler=$2 library=$(realpath -s "$3")
folder=$(mktemp -d "${TMPDIR:-/tmp}/stair-library.XXXXXX")
trap 'rm -rf "$folder"' EXIT

nm -D --defined-only "$library" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort >"$folder/exported"
# the compiler's own list of what the headers declare
printf '#include <stair.h>\n' | "$compiler" -std=c17 -E -P -I"$source/include" - | tr '\n' ' ' | tr ';' '\n' |
    grep -v 'typedef' | grep -oE '\bstair_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u >"$folder/declared"
if ! diff "$folder/declared" "$folder/exported"; then
    echo "FAILED: what is declared (<) is not what is exported (>)"
    exit 1
fi
readelf -d "$library" | grep -q 'SONAME.*\[libstair\.so\.0\]' || { echo "FAILED: no soname libstair.so.0"; exit 1; }
if readelf -d "$library" | grep -E 'NEEDED.*(sleef|jansson)'; then
    echo "FAILED: the library needs what belongs to the program"
    exit 1
fi
"$compiler" -std=c17 -I"$source/include" "$source/tests/library/threshold.c" "$library" -lm -o "$folder/threshold"
LD_LIBRARY_PATH=$(dirname "$library") "$folder/threshold"
