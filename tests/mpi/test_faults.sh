#!/usr/bin/env bash
# A rank that is signalled, killed, slow, without disk space or with other threads: all ranks end, and what is
# resumed, on another number of ranks or in one process, has the bytes of a run that nothing happened to.
#   STAIR_KILLS=N   kills at random moments (4)
. "$(dirname "$0")/lib.sh"

job="amp attention:layers=2 --dim 300 --alpha 1.2 --max-iterations 40 --theory none --test-samples 64"
job="$job --checkpoint-every 0.05 --tolerance 1e-12 --threads 1"
# Samples are shared in the first; in the second ranks take whole runs, and each keeps those it has taken.
jobs=("$job" "${job/--dim 300/--dim 120 --seeds 6}")
for k in 0 1; do
    "$STAIR" ${jobs[$k]} --out one$k.csv --quiet >/dev/null 2>&1
    [ -f one$k.csv ] || fail "a run that nothing happens to"
done
cp one0.csv one.csv

rank_pids() { # of the ranks whose mpirun is $1
    pgrep -P "$1" 2>/dev/null | while read -r pid; do
        case $(readlink "/proc/$pid/exe") in *stair-mpi*) echo "$pid" ;; *) pgrep -P "$pid" ;; esac
    done
}

begin() { # R: starts the job, waits for a checkpoint; leaves pid and ranks
    rm -f cut.csv*
    ranks_bg "$1"
    for _ in $(seq 600); do
        [ -f cut.csv.state.0.0 ] && break
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.05
    done
    mapfile -t procs < <(rank_pids "$pid")
}

ranks_bg() {
    mpirun -q --oversubscribe --bind-to none -n "$1" "$MPI" $job --out cut.csv >stdout 2>stderr &
    pid=$!
}

now() { echo $(($(date +%s%N) / 1000000)); } # milliseconds
runs() { [ -n "$(readlink "/proc/$1/exe")" ]; } # a process, and not the rest of one

# ended NAME STATUS: mpirun and all ranks within 10 s (LIMIT); `took` milliseconds.  Where a rank is killed while
# others are still being started, mpirun of Open MPI 4.1 may wait for ever for what is gone: that is counted, the
# ranks must be gone all the same, and it is ended from here.
hung=0
ended() {
    local begun got process limit=$((1000 * ${LIMIT:-10}))
    begun=$(now)
    while runs "$pid" && [ $(($(now) - begun)) -le $limit ]; do sleep 0.05; done
    took=$(($(now) - begun))
    for process in "${procs[@]}" $(rank_pids "$pid"); do
        while runs "$process"; do
            [ $(($(now) - begun)) -le $limit ] || fail "$1" "rank $process is still there"
            sleep 0.05
        done
    done
    if runs "$pid"; then
        [ -z "$2" ] || fail "$1" "mpirun is still there"
        hung=$((hung + 1)) took=0
        kill -KILL "$pid"
    fi
    wait "$pid" 2>/dev/null
    got=$?
    [ -z "$2" ] || [ "$got" = "$2" ] || fail "$1" "exit $got, not $2" "$(head -c 400 stderr)"
}

same_after_resume() { # NAME PROGRAM...
    local name=$1
    shift
    "$@" $job --out cut.csv --resume --force --quiet >/dev/null 2>stderr
    cmp -s one.csv cut.csv || fail "$name" "resumed: other bytes" "$(head -c 300 stderr)"
}

# SIGTERM and SIGUSR1 to one rank, the first or another.
for case in "TERM 0 143" "USR1 2 138"; do
    set -- $case
    begin 3
    if kill -0 "$pid" 2>/dev/null && [ ${#procs[@]} = 3 ]; then
        kill -"$1" "${procs[$2]}"
        LIMIT=60 ended "SIG$1 on rank $2" "$3"
        [ "$(grep -c interrupted stderr)" = 1 ] || fail "one message" "$(cat stderr)"
        [ "$1" = TERM ] && same_after_resume "SIGTERM, resumed on 2 ranks" ranks 2 "$MPI"
        [ "$1" = USR1 ] && same_after_resume "SIGUSR1, resumed in one process" "$STAIR"
    else
        wait "$pid"
        cmp -s one.csv cut.csv || fail "a run that was too fast for a signal"
    fi
    pass "SIG$1 on rank $2: all stop with exit $3, resumed to the same bytes"
done

# A rank killed at a random moment of a run: from before MPI is up to the last file.
whole=() longest=0 late=0 resumed=0 k=0
for k in 0 1; do
    job=${jobs[$k]}
    begun=$(now)
    ranks_bg 3
    wait "$pid"
    whole[$k]=$(($(now) - begun))
    rm -f cut.csv*
done
while [ $((k - late)) -lt "${STAIR_KILLS:-4}" ]; do
    k=$((k + 1))
    rm -f cut.csv*
    which=$((k % 2)) count=$((k / 2 % 4 + 2)) again=$(((k + 1) % 3 + 1))
    job=${jobs[$which]}
    cp one$which.csv one.csv
    ranks_bg $count
    sleep "$(awk -v s="$k$RANDOM" -v most="${whole[$which]}" 'BEGIN { srand(s); print rand() * most / 1000 }')"
    procs=() # where no rank is there yet, the first that comes
    while runs "$pid"; do
        mapfile -t procs < <(rank_pids "$pid")
        [ ${#procs[@]} -gt 0 ] && break
        sleep 0.01
    done
    [ ${#procs[@]} -gt 0 ] && kill -KILL "${procs[$((RANDOM % ${#procs[@]}))]}" 2>/dev/null || late=$((late + 1))
    ended "kill $k" ""
    [ $took -gt $longest ] && longest=$took
    ls cut.csv.state.* >/dev/null 2>&1 && resumed=$((resumed + 1))
    same_after_resume "kill $k, resumed on $again ranks" ranks $again "$MPI"
done
echo "$k runs, $late of them done before; $resumed left a checkpoint; the slowest took $longest ms to end; mpirun hung $hung times"
pass "${STAIR_KILLS:-4} kills: all ranks end within 10 s, resumed to the same bytes"
job=${jobs[0]}
cp one0.csv one.csv

# A slow rank is waited for: stopped for two seconds in the middle of a run.
for which in 0 1; do
    job=${jobs[$which]}
    begin 3
    kill -STOP "${procs[1]-none}" 2>/dev/null
    sleep 2
    kill -CONT "${procs[1]-none}" 2>/dev/null
    wait "$pid"
    cmp -s one$which.csv cut.csv || fail "a slow rank" "$(cat stderr)"
done
job=${jobs[0]}
pass "a rank that is stopped for two seconds changes nothing"

# Thread counts that differ from rank to rank.
rm -f cut.csv*
mpirun -q --oversubscribe --bind-to none -n 1 "$MPI" ${job/--threads 1/--threads 3} --out cut.csv --quiet : \
    -n 2 "$MPI" ${job/--threads 1/--threads 1} --out cut.csv --quiet >/dev/null 2>stderr
cmp -s one.csv cut.csv || fail "unequal thread counts" "$(cat stderr)"
pass "unequal thread counts"

# A rank that cannot do what the others can: a file that only some of them have.
make_data
mkdir here
cp X.npy Y.npy here
mpirun -q --oversubscribe --bind-to none -n 1 "$MPI" amp square --data here/X.npy here/Y.npy : \
    -n 2 "$MPI" amp square --data nowhere/X.npy nowhere/Y.npy >stdout 2>stderr &
pid=$! procs=()
ended "a file that one rank does not have" 2
[ "$(grep -c 'nowhere/X.npy' stderr)" = 1 ] || fail "a file that one rank does not have" "$(cat stderr)"
pass "a file that one rank does not have: one message, exit 2"

# Results that cannot be written: rank 0 alone notices, and the others do not wait for it.
ranks 3 "$MPI" channel attention:layers=2 --points 300 --out nowhere/else/full.csv >stdout 2>stderr
[ $? = 2 ] && [ "$(grep -c 'full.csv' stderr)" = 1 ] || fail "no folder for the results" "$(head -c 400 stderr)"
pass "no folder for the results: one message, exit 2"
if [ "$(id -u)" = 0 ] && mkdir full && mount -t tmpfs -o size=16k tmpfs full 2>/dev/null; then
    ranks 3 "$MPI" channel attention:layers=2 --points 300 --out full/r.csv >stdout 2>stderr
    got=$? left=$(ls -A full)
    umount full
    [ $got = 1 ] && [ -z "$left" ] && [ "$(grep -c 'r.csv' stderr)" = 1 ] ||
        fail "a full disk" "exit $got, left '$left'" "$(head -c 400 stderr)"
    pass "a full disk: one message, exit 1, nothing left behind"
    # The disk of one rank alone: it cannot keep the state of the runs that it takes.
    mkdir wide
    mount -t tmpfs -o size=4k tmpfs full
    mpirun -q --oversubscribe --bind-to none -n 1 -wdir "$folder/wide" "$MPI" ${jobs[1]} --out cut.csv : \
        -n 1 -wdir "$folder/full" "$MPI" ${jobs[1]} --out cut.csv >stdout 2>stderr &
    pid=$! procs=()
    LIMIT=60 ended "a full disk on one rank" 1
    umount full
    [ ! -e wide/cut.csv ] && [ "$(grep -c 'cut.csv.state.*No space' stderr)" = 1 ] ||
        fail "a full disk on one rank" "$(ls wide)" "$(head -c 400 stderr)"
    mv wide/cut.csv.state.* .
    job=${jobs[1]}
    cp one1.csv one.csv
    same_after_resume "a full disk on one rank, resumed on 3 ranks elsewhere" ranks 3 "$MPI"
    pass "a full disk on one rank: one message, exit 1; what the other had done is resumed"
fi
finish
