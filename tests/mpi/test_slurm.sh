#!/usr/bin/env bash
# docs/howto/slurm.md, line by line, and with it the scripts of examples/slurm, in a Slurm of one node of our own:
# STAIR_LONG=1 and root, for the daemons.  The node says it has 16 processors, whatever it has.
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
cat >"$etc/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/run/munge.socket,cred_expire=5
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
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=16 RealMemory=500 State=UNKNOWN
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

# ---- the page --------------------------------------------------------------------------------------------
examples=$ROOT/examples/slurm
wait_for() { # JOB: until it has left the queue
    for _ in $(seq 1200); do
        [ -z "$(squeue -h -j "$1" 2>/dev/null)" ] && return 0
        sleep 0.5
    done
    fail "job $1" "still in the queue" "$(squeue)"
}
blocks() { # those of the page that need Slurm
    awk '/^<!-- not run: needs Slurm -->$/ { wanted = 1; next }
         /^```sh$/ && wanted { inside = 1; next }
         /^```$/ { inside = wanted = 0 }
         inside' "$ROOT/docs/howto/slurm.md"
}
mkdir build
ln -s "$STAIR" build/stair
ln -s "$MPI" build/stair-mpi
ln -s "$ROOT/examples" examples
blocks >page.sh
[ "$(grep -c sbatch page.sh)" -ge 4 ] || fail "docs/howto/slurm.md has other blocks now" "$(cat page.sh)"
. ./page.sh >page.out 2>&1 || fail "a line of docs/howto/slurm.md" "$(cat page.out)"
for job in $(squeue -h -o %A | sort -u); do wait_for "$job"; done
said() { cat slurm-*.out | tail -c 1500; }
"$STAIR" threshold square --set noise=0.1,0.2,0.3 --steps 1 --precision 0.1 --csv >expected.csv 2>/dev/null
cmp -s one_node.csv expected.csv || fail "one_node.sh" "$(said)"
pass "one_node.sh: the bytes of a run by hand"
"$STAIR" amp attention:layers=2 --dim 400 --alpha 1.2 --seeds 4 --max-iterations 30 --theory none --summary --csv \
    >expected.csv 2>/dev/null
cmp -s many_nodes.csv expected.csv || fail "many_nodes.sh" "$(said)"
pass "many_nodes.sh: the bytes of a run by hand"
"$STAIR" threshold square --set noise=0.1,0.2,0.3,0.4,0.5 --steps 1 --precision 0.1 --csv >expected.csv 2>/dev/null
cmp -s whole.csv expected.csv || fail "array.sh, merge.sh" "$(said)"
pass "array.sh and merge.sh: the bytes of one run over the whole grid"

# ---- the warning before the time limit ---------------------------------------------------------------
# many_nodes.sh with a longer run and one minute: Slurm warns it, it goes back into the queue by itself, and goes on.
# As many seeds as take two ranks most of a minute on this machine, whatever else it does.
long="amp attention:layers=2 --dim 1200 --alpha 1.2 --max-iterations 300 --tolerance 1e-12"
begun=$(date +%s%N)
"$STAIR" $long --seeds 2 --theory none --threads 1 >/dev/null 2>&1
seeds=$((80 * 2000000000 / ($(date +%s%N) - begun)))
seeds=$((seeds < 2 ? 2 : seeds > 60 ? 60 : seeds))
long="$long --seeds $seeds --theory none"
"$STAIR" $long --summary --csv >expected.long 2>/dev/null
for way in pmix mpirun; do
    [ $way = mpirun ] && export STAIR_MPIRUN=1
    [ $way = pmix ] && ! srun --mpi=list 2>&1 | grep -q pmix && continue
    sed -e "s/amp attention.*--theory none/$long/" -e "s/many_nodes.csv/$way.csv/" "$examples/many_nodes.sh" >"$way.sh"
    grep -q -- "--seeds $seeds" "$way.sh" && grep -q "$way.csv" "$way.sh" || fail "many_nodes.sh has other lines now"
    job=$(sbatch --parsable --ntasks=2 --time=1 --signal=B:USR1@40 "$way.sh") || fail "sbatch"
    wait_for "$job"
    stops=$(grep -c "interrupted" "slurm-$job.out")
    cmp -s $way.csv expected.long || fail "$way: other bytes" "$(tail -n 5 "slurm-$job.out")" "$(tail -n 5 slurmctld.log)"
    [ "$stops" -gt 0 ] || fail "$way: the run ended before Slurm warned it"
    [ -z "$(ls $way.csv.state.* 2>/dev/null)" ] || fail "$way: checkpoints are left" "$(ls $way.csv.*)"
    pass "$way: warned before the time limit and back in the queue $stops times, then the same bytes"
done
unset STAIR_MPIRUN

# scancel sends SIGTERM: kept, submitted again, same bytes.
sed -e "s/amp attention.*--theory none/$long/" -e "s/many_nodes.csv/cancel.csv/" \
    -e "s/--checkpoint-every 60/--checkpoint-every 1/" "$examples/many_nodes.sh" >cancel.sh
job=$(sbatch --parsable --ntasks=2 cancel.sh) || fail "sbatch"
for _ in $(seq 300); do
    [ -f cancel.csv.state.0.0 ] && break
    sleep 0.2
done
scancel "$job"
wait_for "$job"
[ -f cancel.csv ] && fail "the run ended before it was cancelled"
[ -f cancel.csv.state.0.0 ] || fail "SIGTERM keeps a checkpoint" "$(cat "slurm-$job.out")"
job=$(sbatch --parsable --ntasks=2 cancel.sh) || fail "sbatch"
wait_for "$job"
cmp -s cancel.csv expected.long || fail "scancel, then submitted again" "$(cat "slurm-$job.out")"
pass "scancel: kept, submitted again, same bytes"
finish
