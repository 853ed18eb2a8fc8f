# Source archive, wheel and virtual environment, all without network: SOURCE BUILD.  With STAIR_LONG=1 the wheel
# compiles the library itself, as `pip install .` does; else it is taken from BUILD.
set -eu
source=$1 build=$2
python=/usr/bin/python3
$python -c 'import setuptools, wheel, cffi, pip, venv' 2>/dev/null ||
    { echo "skipped: python3-setuptools, python3-wheel, python3-pip or python3-venv is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1
fail() { echo "FAILED: $*"; exit 1; }

# A copy, so that nothing is left in the tree.
mkdir "$work/tree"
(cd "$source" && tar cf - --exclude='./build*' --exclude='./.git' --exclude=node_modules .) | tar xf - -C "$work/tree"
(cd "$work/tree" && $python setup.py -q sdist -d "$work") >"$work/log" 2>&1 || { cat "$work/log"; fail "no sdist"; }
archive=$(ls "$work"/stair-*.tar.gz)
tar tzf "$archive" | sed 's|^[^/]*/||' | sort >"$work/packed"
(cd "$work/tree" && find src include cmake python/stair -type f ! -name '*.pyc' && echo CMakeLists.txt) | sort >"$work/wanted"
missing=$(comm -13 "$work/packed" "$work/wanted" | head -n 3)
[ -z "$missing" ] || fail "not in the source archive: $missing"
echo "ok: source archive"

[ "${STAIR_LONG-}" = 1 ] || export STAIR_BUILD=$build
$python -m pip wheel -q --no-build-isolation --no-deps -w "$work" "$archive" >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "no wheel"; }
wheel=$(ls "$work"/stair-*.whl)
$python -m zipfile -l "$wheel" >"$work/list"
for file in stair/libstair.so.0 stair/_stair.abi3.so stair/__init__.pyi stair/py.typed; do
    grep -q "^$file " "$work/list" || fail "$file is not in the wheel"
done
echo "ok: wheel"

$python -m venv --system-site-packages "$work/env"
"$work/env/bin/pip" install -q --no-deps "$wheel" >"$work/log" 2>&1 || { cat "$work/log"; fail "not installed"; }
cd "$work"
found=$("$work/env/bin/python" -c '
import stair
print(stair.__file__.startswith("'"$work"'/env/"), stair.threshold("square", steps=1, precision=0.1)[0].learns)')
[ "$found" = "True [1]" ] || fail "the installed package says $found"
ldd env/lib/python3*/site-packages/stair/_stair.abi3.so | grep -q "$work/env/.*libstair.so.0" ||
    fail "the module does not find the library beside it"
echo "ok: installed into a virtual environment"
