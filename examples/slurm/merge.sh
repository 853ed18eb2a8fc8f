#!/bin/bash
# The last step of array.sh: parts in the order of their numbers.
#SBATCH --job-name=stair-merge
#SBATCH --ntasks=1
#SBATCH --time=00:05:00
STAIR=${STAIR:-stair}

"$STAIR" merge part-*.csv --out whole.csv --force
