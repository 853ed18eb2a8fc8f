/* stair: the program in one process.  mpi/main.c is the same on several ranks. */
#include "program.h"

int main(int argc, char **argv)
{
    return program_run(argc, argv, NULL);
}
