# Debian packages of BUILD, unpacked by dpkg into an empty root: SOURCE BUILD.
set -eu
build=$2
command -v dpkg-deb >/dev/null || { echo "skipped: no dpkg-deb"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
(cd "$build" && cpack -G DEB -B "$work/debs") >"$work/log" 2>&1 || { cat "$work/log"; fail "cpack"; }
mkdir -p "$work/root/var/lib/dpkg/info" "$work/root/var/lib/dpkg/updates"
touch "$work/root/var/lib/dpkg/status"
dpkg --root="$work/root" --force-not-root --force-depends --force-bad-path -i "$work"/debs/*.deb >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "dpkg"; }
usr=$work/root/usr
for file in bin/stair lib/libstair.so.0 lib/libstair.so include/stair.h lib/pkgconfig/stair.pc share/man/man1/stair.1; do
    [ -e "$usr/$file" ] || fail "$file is not installed"
done
"$usr/bin/stair" threshold square --steps 1 --precision 0.1 --quiet | grep -q weak || fail "the program"
echo "ok: stair, libstair-dev"
[ -e "$build/python/stair/_stair.abi3.so" ] || { echo "no Python package: not tested"; exit 0; }
cd "$work"
found=$(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$usr/lib/python3/dist-packages LD_LIBRARY_PATH=$usr/lib /usr/bin/python3 -c '
import stair
print(stair.__file__, stair.threshold("square", steps=1, precision=0.1)[0].learns)')
[ "$found" = "$usr/lib/python3/dist-packages/stair/__init__.py [1]" ] || fail "python3-stair: $found"
[ ! -e "$usr/lib/python3/dist-packages/stair/libstair.so.0" ] || fail "python3-stair has a library of its own"
echo "ok: python3-stair"
