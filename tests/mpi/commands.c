/* Many commands in one start of MPI, which costs more than they do:
 *
 *   mpirun -n R mpi_commands LIST FOLDER
 *
 * runs every line of LIST on 1 and on 2 threads, as stair-mpi would; K.T has the output of line K on T
 * threads and, as its last line, the exit code. */
#include "program.h"
#include "ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORDS = 64 };

static void run_line(const stair_ranks *ranks, const char *line, int threads, const char *path)
{
    char text[1024], number[8], *words[MOST_WORDS] = {"stair"};
    int count = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " \n"); word && count < MOST_WORDS - 3; word = strtok(NULL, " \n"))
        words[count++] = word;
    snprintf(number, sizeof number, "%d", threads);
    if (strcmp(words[1], "models")) {
        words[count++] = "--threads";
        words[count++] = number;
    }
    if (ranks->rank == 0 && !freopen(path, "w", stdout)) exit(1);
    int code = program_run(count, words, ranks);
    if (ranks->rank == 0) printf("exit %d\n", code);
}

int main(int argc, char **argv)
{
    stair_ranks ranks;
    char line[1024], path[1024];
    if (!mpi_ranks_open(&argc, &argv, &ranks) || argc != 3) return 1;
    FILE *list = fopen(argv[1], "r");
    for (int k = 1; list && fgets(line, sizeof line, list); k++)
        for (int threads = 1; threads <= 2; threads++) {
            snprintf(path, sizeof path, "%s/%d.%d", argv[2], k, threads);
            run_line(&ranks, line, threads, path);
        }
    if (list) fclose(list);
    if (ranks.rank == 0) fclose(stdout);
    mpi_ranks_close(&ranks);
    return list ? 0 : 1;
}
