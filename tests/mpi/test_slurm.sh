#!/usr/bin/env bash
# The scripts of examples/slurm in a Slurm of one node of our own: STAIR_LONG=1 and root, for the daemons.
#   Exit 77 where one is missing, or slurm-wlm and munge are.
. "$(dirname "$0")/lib.sh"
[ "${STAIR_LONG-}" = 1 ] && [ "$(id -u)" = 0 ] || { echo "needs STAIR_LONG=1 and root"; exit 77; }
for program in slurmctld slurmd munged sbatch; do
    command -v $program >/dev/null || [ -x /usr/sbin/$program ] || { echo "no $program"; exit 77; }
done

# ---- a cluster of one node, in this folder ----------------------------------------------------------
etc=$folder/etc
mkdir -p "$etc" spool state run
chmod 755 "$folder" "$etc" spool state
head -c 1024 /dev/urandom >"$etc/munge.key"
chmod 400 "$etc/munge.key"
chmod 700 run
host=$(hostname -s)
cores=$(nproc)
cat >"$etc/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/run/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cores RealMemory=500 State=UNKNOWN
PartitionName=test Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$etc/slurm.conf
munged --force --socket "$folder/run/munge.socket" --key-file "$etc/munge.key" --pid-file "$folder/run/munged.pid" \
    --log-file "$folder/run/munged.log" --seed-file "$folder/run/munge.seed" >/dev/null 2>&1
slurmctld -i -c >/dev/null 2>&1
slurmd -N "$host" >/dev/null 2>&1
down() {
    for daemon in slurmd slurmctld munged; do
        [ -f "run/$daemon.pid" ] && kill "$(cat "run/$daemon.pid")" 2>/dev/null
    done
    sleep 1
    rm -rf "$folder"
}
trap down EXIT
for _ in $(seq 100); do
    sinfo -h -o %T 2>/dev/null | grep -q idle && break
    sleep 0.3
done
sinfo -h -o %T 2>/dev/null | grep -q idle ||
    { echo "Slurm does not come up here: $(tail -n 3 slurmctld.log slurmd.log 2>&1)"; exit 77; }
pass "a Slurm of one node"

# ---- the scripts ---------------------------------------------------------------------------------------
export STAIR STAIR_MPI=$MPI
examples=$ROOT/examples/slurm
wait_for() { # JOB: until it has left the queue
    for _ in $(seq 600); do
        [ -z "$(squeue -h -j "$1" 2>/dev/null)" ] && return 0
        sleep 0.5
    done
    fail "job $1" "still in the queue" "$(squeue)"
}
submit() { sbatch --parsable --mem=100 "$@"; }

job=$(submit "$examples/one_node.sh") || fail "sbatch"
wait_for "$job"
"$STAIR" threshold square --set noise=0.1,0.2,0.3 --steps 1 --precision 0.1 --csv >expected.csv 2>/dev/null
cmp -s one_node.csv expected.csv || fail "one_node.sh" "$(cat "slurm-$job.out")"
pass "one_node.sh: the bytes of a run by hand"

job=$(submit --ntasks=$((cores < 2 ? cores : 2)) "$examples/many_nodes.sh") || fail "sbatch"
wait_for "$job"
"$STAIR" amp attention:layers=2 --dim 400 --alpha 1.2 --seeds 4 --max-iterations 30 --theory none --summary --csv \
    >expected.csv 2>/dev/null
cmp -s many_nodes.csv expected.csv || fail "many_nodes.sh" "$(cat "slurm-$job.out")"
pass "many_nodes.sh: the bytes of a run by hand"

job=$(submit "$examples/array.sh") || fail "sbatch"
last=$(submit --dependency="afterok:$job" "$examples/merge.sh") || fail "sbatch"
wait_for "$last"
"$STAIR" threshold square --set noise=0.1,0.2,0.3,0.4,0.5 --steps 1 --precision 0.1 --csv >expected.csv 2>/dev/null
cmp -s whole.csv expected.csv || fail "array.sh, merge.sh" "$(cat slurm-"$job"_*.out "slurm-$last.out")"
pass "array.sh and merge.sh: the bytes of one run over the whole grid"

# ---- the warning before the time limit ---------------------------------------------------------------
cat >long.sh <<'JOB'
#!/bin/bash
exec mpirun -q --oversubscribe --bind-to none -n 2 "$STAIR_MPI" amp attention:layers=2 --dim 600 --alpha 1.2 \
    --max-iterations 60 --tolerance 1e-12 --theory none --threads 1 --out long.csv --resume --force --quiet
JOB
job=$(submit --ntasks=1 --signal=B:USR1@60 long.sh) || fail "sbatch"
for _ in $(seq 200); do
    squeue -h -j "$job" -o %T | grep -q RUNNING && break
    sleep 0.2
done
sleep 4
scancel --batch --signal=USR1 "$job"
wait_for "$job"
if [ ! -f long.csv ]; then
    [ -f long.csv.state.0.0 ] || fail "SIGUSR1 keeps a checkpoint" "$(cat "slurm-$job.out")"
    job=$(submit --ntasks=1 long.sh) || fail "sbatch"
    wait_for "$job"
fi
"$STAIR" amp attention:layers=2 --dim 600 --alpha 1.2 --max-iterations 60 --tolerance 1e-12 --theory none --csv \
    >expected.csv 2>/dev/null
cmp -s long.csv expected.csv || fail "SIGUSR1, then submitted again" "$(cat "slurm-$job.out")"
pass "SIGUSR1 before the time limit: kept, submitted again, same bytes"
finish
