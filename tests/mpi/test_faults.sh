#!/usr/bin/env bash
# A rank that is signalled, killed, slow, without disk space or with other threads: all ranks end, and what is
# resumed, on another number of ranks or in one process, has the bytes of a run that nothing happened to.
#   STAIR_KILLS=N   kills at random moments (3)
. "$(dirname "$0")/lib.sh"

job="amp attention:layers=2 --dim 300 --alpha 1.2 --max-iterations 40 --theory none --test-samples 64"
job="$job --checkpoint-every 0.05 --tolerance 1e-12 --threads 1"
"$STAIR" $job --out one.csv --quiet >/dev/null 2>&1
[ -f one.csv ] || fail "a run that nothing happens to"

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

ended() { # NAME STATUS: within 10 s, and no rank is left
    local start=$SECONDS got
    wait "$pid"
    got=$?
    [ $((SECONDS - start)) -le "${LIMIT:-10}" ] || fail "$1" "took $((SECONDS - start)) s to end"
    [ -z "$2" ] || [ "$got" = "$2" ] || fail "$1" "exit $got, not $2" "$(head -c 400 stderr)"
    for process in "${procs[@]}"; do
        while kill -0 "$process" 2>/dev/null; do
            [ $((SECONDS - start)) -le "${LIMIT:-10}" ] || fail "$1" "rank $process is still there"
            sleep 0.1
        done
    done
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

# A rank killed at a random moment.
for k in $(seq "${STAIR_KILLS:-3}"); do
    rm -f cut.csv*
    count=$((k % 4 + 2))
    ranks_bg $count
    sleep "$(awk -v s="$k$RANDOM" 'BEGIN { srand(s); print 0.3 + 2.2 * rand() }')"
    mapfile -t procs < <(rank_pids "$pid")
    [ ${#procs[@]} -gt 0 ] && kill -KILL "${procs[$((RANDOM % ${#procs[@]}))]}" 2>/dev/null
    ended "kill $k" ""
    same_after_resume "kill $k, resumed on $(((k + 1) % 3 + 1)) ranks" ranks $(((k + 1) % 3 + 1)) "$MPI"
done
pass "${STAIR_KILLS:-3} kills: all ranks end within 10 s, resumed to the same bytes"

# A slow rank is waited for.
ranks_bg 3
sleep 0.6
mapfile -t procs < <(rank_pids "$pid")
if [ ${#procs[@]} = 3 ]; then
    kill -STOP "${procs[1]}" 2>/dev/null
    sleep 1
    kill -CONT "${procs[1]}" 2>/dev/null
fi
wait "$pid"
rm -f cut.csv
ranks 3 "$MPI" $job --out cut.csv --quiet --force >/dev/null 2>stderr
cmp -s one.csv cut.csv || fail "a slow rank" "$(cat stderr)"
pass "a slow rank changes nothing"

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
fi
finish
