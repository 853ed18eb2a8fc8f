# Shared by ./run and ./test: what must be installed, and how a preset is built.  Sourced, not run.
# Everything printed here goes to standard error; standard output belongs to the program.

STAIR_BUILD_PACKAGES="gcc libc6-dev cmake ninja-build pkg-config libsleef-dev
  libjansson-dev libzip-dev libutf8proc-dev libcmocka-dev gnuplot-nox fonts-cmu"
# stair-mpi, the program on several ranks; nothing else needs it.
STAIR_MPI_PACKAGES="libopenmpi-dev openmpi-bin"
# The Python package: what it is built with, and what shows its results.
STAIR_PYTHON_PACKAGES="python3-dev python3-cffi python3-setuptools python3-wheel python3-pip python3-venv
  python3-numpy python3-pandas python3-matplotlib python3-nbclient python3-ipykernel"
STAIR_TEST_PACKAGES="g++ librandom123-dev clang clang-format python3 python3-numpy
  $STAIR_PYTHON_PACKAGES $STAIR_MPI_PACKAGES"
STAIR_LONG_PACKAGES="valgrind debootstrap musl-tools gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
  slurm-wlm munge iproute2"

stair_missing() { # PACKAGE...: those that are not installed
    local package
    for package in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | head -n 1)" = installed ] ||
            printf '%s ' "$package"
    done
}

stair_quietly() { # LOG COMMAND...: silent when it works, its output when it does not
    local log=$1
    shift
    "$@" >"$log" 2>&1 </dev/null && return 0
    cat "$log" >&2
    echo "failed: $*" >&2
    return 1
}

# Whether a build can do without packages that could not be installed: not without a compiler and CMake.
stair_do_without() {
    command -v cmake >/dev/null || { echo "cmake is missing, 3.25 or later" >&2; return 1; }
    command -v "${CC:-cc}" >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null ||
        { echo "a C compiler is missing: gcc or clang" >&2; return 1; }
    echo "building without them; docs/howto/slurm.md says what is left out" >&2
}

stair_install() { # PACKAGE...
    command -v dpkg-query >/dev/null || return 0 # not Debian: the build names what it misses
    local missing log as_root=
    missing=$(stair_missing "$@")
    [ -z "$missing" ] && return 0
    if [ "$(id -u)" != 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            echo "not installed, and only root may: $missing" >&2
            return 1
        fi
        as_root="sudo -n"
    fi
    echo "installing: $missing" >&2
    log=$(mktemp)
    stair_quietly "$log" $as_root apt-get -q -o DPkg::Lock::Timeout=300 update || { rm -f "$log"; return 1; }
    stair_quietly "$log" $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o DPkg::Lock::Timeout=300 install --no-install-recommends $missing || { rm -f "$log"; return 1; }
    rm -f "$log"
}

# What pages of `stair report` need beyond a C compiler: node and npm bundle their script at build time, Chromium
# tests it.  None is needed to build: without them pages have pictures in place of plots.
stair_install_web() { # FOLDER [chromium]: of the sources; what was built without node is bundled anew
    local wanted=
    command -v node >/dev/null && command -v npm >/dev/null || wanted="nodejs npm"
    [ "${2-}" != chromium ] || command -v chromium >/dev/null || wanted="$wanted chromium"
    [ -n "$wanted" ] || return 0
    if ! stair_install $wanted; then
        echo "not installed: $wanted; pages of stair report have pictures only, or are not tested" >&2
        return 0
    fi
    find "$1" -maxdepth 3 -path "$1/build*/web/script.js" -empty -delete
}

stair_build() { # PRESET FOLDER [TARGET...]: configures once, then only what changed is compiled
    local preset=$1 folder=$2
    shift 2
    if [ ! -f "$folder/build.ninja" ]; then
        echo "building $folder" >&2
        mkdir -p "$folder"
        if command -v ninja >/dev/null; then
            stair_quietly "$folder/configure.log" cmake --preset "$preset" || return 1
        elif [ ! -f "$folder/Makefile" ]; then # release is what CMake is asked for by itself
            stair_quietly "$folder/configure.log" cmake -S . -B "$folder" || return 1
        fi
    fi
    stair_quietly "$folder/build.log" cmake --build "$folder" -j "$(nproc 2>/dev/null || echo 2)" \
        ${1:+--target "$@"}
}
