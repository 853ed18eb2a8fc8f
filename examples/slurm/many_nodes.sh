#!/bin/bash
# Many nodes: ranks that share one job.  sbatch many_nodes.sh
#   One task for each socket, or for each processor; threads fill what --cpus-per-task gives.
#SBATCH --job-name=stair-mpi
#SBATCH --ntasks=2
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
# Two minutes before the time limit this script hears of it (B:) and tells the ranks; the state is kept, and the
# job goes back into the queue to go on.
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
STAIR_MPI=${STAIR_MPI:-stair-mpi}

# Open MPI of a cluster is started by srun where Slurm has its PMIx; mpirun works everywhere.
start="mpirun --bind-to none -q"
srun --mpi=list 2>&1 | grep -q pmix && [ -z "${STAIR_MPIRUN-}" ] && start="srun --mpi=pmix"

# --resume: the first time there is nothing to resume, and the job begins.
$start "$STAIR_MPI" amp attention:layers=2 --dim 400 --alpha 1.2 --seeds 4 --max-iterations 30 --theory none \
    --summary --threads "${SLURM_CPUS_PER_TASK:-1}" --checkpoint-every 60 --out many_nodes.csv --resume --force &
ranks=$!
trap 'kill -USR1 $ranks' USR1
wait $ranks # until they end, or the signal comes
wait $ranks
code=$?
[ $code != 138 ] || scontrol requeue "$SLURM_JOB_ID" # 128 + SIGUSR1: stopped, with its state kept
exit $code
