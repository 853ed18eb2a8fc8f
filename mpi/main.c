/* stair-mpi: the program on several ranks.
 *
 *   mpirun -n R stair-mpi COMMAND ...
 *
 * Every rank gets the same arguments and computes its share; rank 0 prints and writes.  All end together,
 * with one exit code. */
#include "program.h"
#include "ranks.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    stair_ranks ranks;
    if (!mpi_ranks_open(&argc, &argv, &ranks)) {
        fputs("stair: this MPI has no MPI_THREAD_MULTIPLE\n", stderr);
        return 1;
    }
    int code = program_run(argc, argv, &ranks);
    mpi_ranks_close(&ranks);
    return code;
}
