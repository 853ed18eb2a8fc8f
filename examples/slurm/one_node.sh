#!/bin/bash
# One node: a process on all processors of the task.  sbatch one_node.sh
#SBATCH --job-name=stair
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --time=01:00:00
# Two minutes before the time limit a signal, upon which the state is kept: submit again to go on.
#SBATCH --signal=USR1@120
#SBATCH --open-mode=append
STAIR=${STAIR:-stair}

srun "$STAIR" threshold square --set noise=0.1,0.2,0.3 --steps 1 --precision 0.1 --out one_node.csv --resume --force
