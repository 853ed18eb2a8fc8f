/* What ranks tell each other costs: the shortest of many times, as CSV, for bench/ranks.sh.
 *
 *   mpirun -n R mpi_rates [DOUBLES...]
 *
 * An ordered sum of `doubles` numbers of every rank, as one iteration of GAMP has when each has added up its
 * own; of 0: a headline of every rank for all. */
#include "ranks.h"
#include "core/clock.h"
#include "core/ranks.h"
#include "core/reduce.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static stair_status nothing(void *user, size_t block, int thread, stair_context *local, double *out)
{
    (void)user, (void)block, (void)thread, (void)local, (void)out;
    return STAIR_OK;
}

/* The shortest of `times`, each as long as it took the slowest rank: one that comes last waits for nobody. */
static double shortest(stair_context *context, size_t doubles, int times)
{
    stair_sum sum = {.parts = (size_t)stair_context_ranks(context), .size = doubles};
    double *room = doubles ? calloc(stair_sum_room(context, &sum), sizeof *room) : NULL;
    double *out = calloc(doubles + 1, sizeof *out), best = INFINITY;
    int ranks = stair_context_ranks(context);
    double *took = calloc((size_t)ranks, sizeof *took);
    size_t *bytes = calloc((size_t)ranks, sizeof *bytes);
    for (int r = 0; r < ranks; r++) bytes[r] = sizeof *took;
    for (int k = 0; k < times; k++) {
        stair_ranks_check(context, STAIR_OK);
        double start = stair_seconds();
        if (doubles)
            stair_sum_blocks(context, &sum, nothing, NULL, room, out);
        else
            stair_ranks_check(context, STAIR_OK);
        took[stair_context_rank(context)] = stair_seconds() - start;
        double slowest = 0;
        stair_ranks_gather(context, STAIR_OK, bytes, took, -1);
        for (int r = 0; r < ranks; r++) slowest = fmax(slowest, took[r]);
        best = fmin(best, slowest);
    }
    free(room);
    free(out);
    free(took);
    free(bytes);
    return best;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"0", "16", "1000", "10000", "100000", "1000000"};
    stair_ranks ranks;
    stair_context *context;
    if (!mpi_ranks_open(&argc, &argv, &ranks) || stair_context_create(&context) != STAIR_OK) return 1;
    stair_context_set_ranks(context, &ranks);
    stair_context_set_threads(context, 1);
    if (!ranks.rank) puts("ranks,doubles,seconds");
    int count = argc > 1 ? argc - 1 : (int)(sizeof usual / sizeof *usual);
    for (int k = 0; k < count; k++) {
        size_t doubles = (size_t)strtoull(argc > 1 ? argv[k + 1] : usual[k], NULL, 10);
        double time = shortest(context, doubles, doubles > 50000 ? 10 : 200);
        if (!ranks.rank) printf("%d,%zu,%.3e\n", ranks.size, doubles, time);
    }
    fflush(stdout);
    int signal = 0;
    stair_context_agree(context, STAIR_OK, &signal);
    stair_context_destroy(&context);
    mpi_ranks_close(&ranks);
    return 0;
}
