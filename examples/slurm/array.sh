#!/bin/bash
# An array: each task has its slice of a grid, and merge.sh makes one file of all.
#   id=$(sbatch --parsable array.sh); sbatch --dependency=afterok:$id merge.sh
#SBATCH --job-name=stair-array
#SBATCH --array=0-2
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --time=01:00:00
#SBATCH --signal=USR1@120
#SBATCH --open-mode=append
STAIR=${STAIR:-stair}

slices=(0.1,0.2 0.3,0.4 0.5)
srun "$STAIR" threshold square --set noise="${slices[$SLURM_ARRAY_TASK_ID]}" --steps 1 --precision 0.1 \
    --out "part-$(printf %03d "$SLURM_ARRAY_TASK_ID").csv" --resume --force
