# An installation, moved to another place and used from there: files, program, and every example by pkg-config
# (shared and static) and by find_package.
#   test_install.sh SOURCE_FOLDER BUILD_FOLDER C_COMPILER
set -euo pipefail
source=$1 build=$2 compiler=$3 here=$1/tests/library
folder=$(mktemp -d "${TMPDIR:-/tmp}/stair-install.XXXXXX")
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
quietly() { "$@" >"$folder/log" 2>&1 || { cat "$folder/log"; fail "$*"; }; }

# ---- what is installed, by component ----------------------------------------------------------------
files() { (cd "$1" && find . ! -type d | sed 's|^\./||' | sort); }
mkdir -p "$folder/mpi" # where there is one
for component in runtime development mpi; do
    quietly cmake --install "$build" --prefix "$folder/$component" --component $component
done
quietly cmake --install "$build" --prefix "$folder/first"
version=$(sed -n 's/^#define STAIR_VERSION "\(.*\)"/\1/p' "$source/include/stair.h")
cat >"$folder/runtime.expected" <<END
bin/stair
lib/libstair.so.0
lib/libstair.so.$version
share/bash-completion/completions/stair
share/fish/vendor_completions.d/stair.fish
share/man/man1/stair.1
share/stair/questions.label
share/stair/vocab.txt
share/zsh/site-functions/_stair
END
files "$folder/runtime" | sed 's|^lib/[^/]*-linux-gnu[^/]*/|lib/|' | diff "$folder/runtime.expected" - || fail "runtime component"
sort -u <(files "$folder/runtime") <(files "$folder/development") <(files "$folder/mpi") | diff - <(files "$folder/first") ||
    fail "the components are not the whole"
[ -z "$(comm -12 <(files "$folder/runtime") <(files "$folder/development"))" ] || fail "a file of both components"

# ---- moved ------------------------------------------------------------------------------------------
mkdir "$folder/deeper"
mv "$folder/first" "$folder/deeper/moved"
prefix=$folder/deeper/moved
grep=-rlF
readelf -S "$prefix/bin/stair" | grep -q '\.debug_info' && grep=-rlIF # those of debug builds name their sources
for path in "$source/" "$build/" "$folder/first"; do
    ! grep $grep -- "$path" "$prefix" || fail "installed files name $path"
done
python3 "$source/tests/house/check_rooms.py" --root "$source" --only installed --prefix "$prefix"
[ "$("$prefix/bin/stair" --version)" = "$("$build/stair" --version)" ] || fail "version"
grep -q '^\.TH' "$prefix/share/man/man1/stair.1" || fail "stair.1 is no manual page"
bash -n "$prefix/share/bash-completion/completions/stair"
grep -q '^#compdef stair' "$prefix/share/zsh/site-functions/_stair" || fail "_stair is no completion"
grep -q '^complete -c stair' "$prefix/share/fish/vendor_completions.d/stair.fish" || fail "stair.fish is none"

# ---- pkg-config -------------------------------------------------------------------------------------
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name stair.pc)")
libraries=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH
mkdir "$folder/shared" "$folder/static" "$folder/examples"
cp -r "$source"/examples/*.c "$source/examples/CMakeLists.txt" "$source/examples/plugin" "$folder/examples" # nothing else of the tree
cd "$folder/examples"
pkg-config --exists 'stair >= 0.1' || fail "stair.pc"
for example in *.c; do
    name=${example%.c}
    "$compiler" -std=c17 -Wall -Wextra -Werror -O2 "$example" $(pkg-config --cflags --libs stair) -lm -o "../shared/$name"
    "$compiler" -std=c17 -O2 "$example" $(pkg-config --cflags --libs --static stair | sed 's/-lstair/-l:libstair.a/') \
        -o "../static/$name"
    readelf -d "../shared/$name" | grep -q 'NEEDED.*\[libstair\.so\.0\]' || fail "$name is not linked with libstair.so.0"
    ! readelf -d "../static/$name" | grep -q 'NEEDED.*libstair' || fail "$name is linked with libstair.so"
done
LD_LIBRARY_PATH=$libraries python3 "$here/check_examples.py" "$folder/shared" .
python3 "$here/check_examples.py" "$folder/static" . --quick >"$folder/static.out"

# ---- find_package -----------------------------------------------------------------------------------
for static in OFF ON; do
    quietly cmake -G Ninja -S . -B "$folder/cmake-$static" -DCMAKE_C_COMPILER="$compiler" -DSTATIC=$static \
        -DCMAKE_PREFIX_PATH="$prefix"
    quietly cmake --build "$folder/cmake-$static"
    python3 "$here/check_examples.py" "$folder/cmake-$static" . --quick >"$folder/cmake.out"
    diff "$folder/static.out" "$folder/cmake.out" || fail "other numbers by CMake with STATIC=$static"
done
mkdir "$folder/later"
printf 'cmake_minimum_required(VERSION 3.16)\nproject(later LANGUAGES C)\nfind_package(Stair 0.2 REQUIRED)\n' \
    >"$folder/later/CMakeLists.txt"
if cmake -S "$folder/later" -B "$folder/later/build" -DCMAKE_PREFIX_PATH="$prefix" >"$folder/log" 2>&1; then
    fail "0.1 passes for 0.2"
fi
grep -q 'version: 0\.1' "$folder/log" || { cat "$folder/log"; fail "0.2 was refused for another reason"; }
echo "installed, moved and used"
