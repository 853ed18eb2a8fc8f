/* stair_ranks of MPI. */
#ifndef STAIR_MPI_RANKS_H
#define STAIR_MPI_RANKS_H

#include "stair.h"

/* MPI_Init and what the library needs of it; false when there is no MPI to be had. */
bool mpi_ranks_open(int *argc, char ***argv, stair_ranks *ranks);
/* All ranks together; waits for the last. */
void mpi_ranks_close(const stair_ranks *ranks);

#endif
