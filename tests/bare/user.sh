# Inside the bare root of without_root.sh, as an unprivileged user: user.sh nothing|alone|ranks.
set -euo pipefail
fail() { echo "FAILED: $*"; exit 1; }
cd ~/stair
[ "$(id -u)" != 0 ] || fail "this is root"

said() { grep -q -- "$1" ../err || { cat ../err; fail "nothing says '$1'"; }; }
refused() { # WORDS COMMAND...: exit 2, one line, with WORDS
    local words=$1
    shift
    set +e
    "$@" >../out 2>../err </dev/null
    local code=$?
    set -e
    [ $code = 2 ] && [ "$(wc -l <../err)" = 1 ] || { cat ../err; fail "$*: exit $code"; }
    said "$words"
    echo "ok: $(cat ../err)"
}

nothing() { # no CMake: what is missing is named, and nobody is asked for a password
    local code=0
    ./run >../out 2>../err </dev/null || code=$?
    [ $code != 0 ] || fail "./run without CMake"
    said 'not installed, and only root may: .*cmake'
    said '^cmake is missing, 3.25 or later'
    echo "ok: ./run without CMake ends with $code: $(tail -n 1 ../err)"
}

alone() { # a compiler, CMake and make: all that needs no library
    ./run threshold square --precision 0.05 >../out 2>../err </dev/null || { cat ../err; fail "./run"; }
    said 'not installed, and only root may: .*libzip-dev'
    said 'building without them'
    grep -q weak ../out || fail "./run threshold: $(cat ../out)"
    echo "ok: ./run builds and computes"
    sed 's/^/    /' ../err
    [ ! -e build/stair-mpi ] || fail "stair-mpi without MPI"
    ./run >../out 2>../err </dev/null || { cat ../err; fail "./run"; }
    said 'no gnuplot: the table without its figure'
    [ "$(grep -c weak ../out)" = 2 ] && grep -q perfect ../out || { cat ../out; fail "the staircase"; }
    echo "ok: ./run prints the staircase"
    refused jansson build/stair threshold square --json
    refused utf8proc build/stair tokenize --vocab data/vocab.txt data/questions.label
    refused libzip build/stair amp square --load W.npz --predict X.npy
    build/stair evolve square --alpha 0.6 --precision 0.1 --out ../r.npz >/dev/null 2>&1 || fail "NPZ is written"
    [ -s ../r.npz ] || fail "NPZ is written"
    echo "ok: NPZ is written"
}

ranks() { # with Open MPI, in a new folder and by CMake alone
    cmake -S . -B build-ranks -DSTAIR_MPI=ON >../out 2>&1 || { tail -n 20 ../out; fail "cmake"; }
    grep '^-- no ' ../out | sed 's/^-- /    /'
    cmake --build build-ranks -j 2 >../out 2>&1 || { tail -n 20 ../out; fail "make"; }
    for job in "threshold square --set noise=0.1,0.2,0.3 --steps 1 --precision 0.1 --csv" \
        "amp attention:layers=2 --dim 200 --alpha 1.2 --max-iterations 5 --theory none --history --csv"; do
        build-ranks/stair $job >../one 2>/dev/null || [ $? = 3 ] || fail "stair $job"
        mpirun --oversubscribe -n 3 build-ranks/stair-mpi $job >../many 2>../err || [ $? = 3 ] || { cat ../err; fail "$job"; }
        cmp ../one ../many || fail "three ranks: $job"
    done
    echo "ok: stair-mpi, three ranks, the same bytes"
}

case $1 in
nothing | alone | ranks) $1 ;;
*) fail "usage: user.sh nothing|alone|ranks" ;;
esac
