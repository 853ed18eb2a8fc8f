# Inside the bare root of bare.sh: inside.sh pages|packages.
set -euo pipefail
fail() { echo "FAILED: $*"; exit 1; }
quietly() { "$@" >/root/log 2>&1 </dev/null || { tail -n 40 /root/log; fail "$*"; }; }

blocks() { # PAGE WHY: its blocks behind <!-- not run: WHY -->, as a script
    awk -v mark="<!-- not run: $2 -->" '$0 == mark { wanted = 1; next }
         /^```sh$/ && wanted { inside = 1; next }
         /^```$/ { inside = wanted = 0 }
         inside' "$1"
}

follow() { # PAGE WHY: as a reader types them, from the root of the clone
    blocks "$1" "$2" >/root/steps
    [ -s /root/steps ] || fail "$1 has no block of which it says: $2"
    quietly bash -euxo pipefail /root/steps
    echo "ok: $1: $2: $(grep -c . /root/steps) lines"
}

pages() {
    cd /root/stair
    quietly apt-get update
    follow docs/tutorial.md "it installs"       # ./run
    follow python/README.md "it installs"       # into ~/stair-env
    follow python/README.md "it makes packages" # in build/
    [ "$(ls build/*.deb | wc -l)" = 3 ] || fail "packages are $(ls build/*.deb)"
    # From elsewhere, so that the package is the installed one.
    local python=/root/stair-env/bin/python
    cd /
    $python -c 'import stair; assert "/stair-env/" in stair.__file__, stair.__file__'
    PATH=/root/stair-env/bin:$PATH $python /root/stair/tests/docs/check_commands.py /root/stair/build/stair
    $python /root/stair/tests/docs/check_notebooks.py /root/stair/build/stair || fail "notebooks"
}

packages() {
    cd /root
    quietly apt-get update
    quietly apt-get install ./stair_*.deb
    stair threshold square --steps 1 --precision 0.1 --quiet | grep -q weak || fail "the program"
    [ -z "$(dpkg -l gcc python3 2>/dev/null | grep '^ii' || true)" ] || fail "stair brings a compiler or Python"
    echo "ok: stair, with $(dpkg -l | grep -c '^ii') packages in all"
    quietly apt-get install ./libstair-dev_*.deb gcc libc6-dev pkg-config
    quietly gcc threshold.c -o threshold $(pkg-config --cflags --libs stair)
    ./threshold >/root/log || fail "a program that links the library"
    echo "ok: libstair-dev: a program compiles, links and runs"
    quietly apt-get install ./python3-stair_*.deb
    python3 -c 'import stair; assert stair.threshold("square", steps=1, precision=0.1)[0].learns == [1]' ||
        fail "the Python package"
    echo "ok: python3-stair"
    quietly apt-get remove stair
    ! command -v stair >/dev/null || fail "stair is still there"
    echo "ok: removed"
}

case $1 in
pages) pages ;;
packages) packages ;;
*) fail "usage: inside.sh pages|packages" ;;
esac
