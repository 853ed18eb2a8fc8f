/* Options of GAMP on instances, and of its state evolution iteration by iteration. */
#include "core/options.h"
#include "core/stats.h"
#include "gamp/gamp.h"

#include <string.h>

#define ROW(name, kind, field)    STAIR_OPTION(name, kind, stair_gamp_options, field)
#define THEORY(name, kind, field) STAIR_OPTION(name, kind, stair_gamp_theory_options, field)

static const char *const variants[] = {"gamp",      "full",         "bp", "no-onsager", "printed-onsager",
                                       "printed-g", "printed-side", NULL};

static const stair_option options[] = {
    {ROW("dim", INT, dim), .value = "D", .text = "dimension of a token", .low = 1,
     .high = STAIR_MOST_DATA_DIM},
    {ROW("alpha", DOUBLE, alpha), .value = "X", .text = "samples per dimension, N = alpha D", .low = 0,
     .high = 1e9},
    {ROW("seeds", INT, seeds), .value = "K", .text = "runs, with seeds N, N+1, ...", .low = 1,
     .high = 100000},
    {ROW("start", DOUBLE, start), .value = "X",
     .text = "standard deviation of random first weights, 0 for 1/sqrt(D)", .low = 0, .high = 1e6},
    {ROW("start-overlap", DOUBLE, start_overlap), .value = "X",
     .text = "start from an estimate with this overlap, then forget it", .low = 0, .high = 1, .below = true},
    {ROW("side", DOUBLE, side), .value = "X", .text = "side information lambda", .low = 0, .high = 1,
     .below = true},
    {ROW("damping", DOUBLE, damping), .value = "X", .text = "share of the old estimate in the new one",
     .low = 0, .high = 1, .below = true},
    {ROW("adaptive", FLAG, adaptive), .text = "more damping where overlap and variance differ"},
    {ROW("max-iterations", INT, max_iterations), .value = "N", .text = "most iterations", .low = 0,
     .high = 1e9},
    {ROW("tolerance", DOUBLE, tolerance), .value = "X", .text = "relative change of W at which to stop",
     .low = 0, .high = 1, .above = true, .below = true},
    {ROW("perfect", DOUBLE, perfect), .value = "X", .text = "variance below which recovery counts as perfect",
     .low = 0, .high = 1, .above = true, .below = true},
    {ROW("precision", DOUBLE, precision), .value = "X", .text = "target relative error", .low = 1e-13,
     .high = 1},
    {ROW("variant", TEXT, variant), .value = "NAME",
     .text = "gamp; full, bp to verify; no-onsager, printed-* to see them fail", .choices = variants},
    {ROW("test-samples", INT, test), .value = "N", .text = "points behind the errors on fresh data", .low = 8,
     .high = 1 << 30},
    {ROW("all-errors", FLAG, all_errors),
     .text = "errors on fresh data at every iteration, not only the last"},
    {ROW("regenerate", FLAG, regenerate), .text = "never store X: draw each tile again when it is needed"},
    {ROW("wide", FLAG, wide), .text = "keep the samples in double precision"},
    {ROW("seed", UINT64, seed), .value = "N", .text = "seed of every random number"},
    {ROW("checkpoint", PATH, checkpoint), .value = "FILE",
     .text = "keep the state of run k in FILE.k [OUT.state]", .how = true},
    {ROW("checkpoint-every", DOUBLE, checkpoint_every), .value = "S", .text = "seconds between checkpoints",
     .low = 0, .high = 1e9, .how = true},
    {ROW("resume", FLAG, resume), .text = "go on from the checkpoint, to the same result", .how = true},
    {0},
};

static const stair_option theory_options[] = {
    {THEORY("points", INT, points), .value = "N", .text = "samples of each replicate", .low = 16,
     .high = 1 << 28},
    {THEORY("replicates", INT, replicates), .value = "N",
     .text = "independent populations; their spread is the error", .low = 2, .high = STAIR_MOST_REPLICATES},
    {THEORY("seed", UINT64, seed), .value = "N", .text = "seed of every random number"},
    {0},
};

int stair_gamp_variant_of(const char *name)
{
    for (int k = 0; name && variants[k]; k++)
        if (!strcmp(name, variants[k])) return k;
    return -1;
}

bool stair_gamp_is_whole(const stair_gamp_options *how)
{
    int variant = stair_gamp_variant_of(how->variant);
    return variant == STAIR_GAMP_FULL || variant == STAIR_GAMP_BP;
}

stair_gamp_options stair_gamp_defaults(void)
{
    return (stair_gamp_options){.dim = 1000,
                                .alpha = 1,
                                .variant = "gamp",
                                .adaptive = true,
                                .max_iterations = 50,
                                .tolerance = 1e-4,
                                .perfect = 1e-10,
                                .precision = 5e-2,
                                .test = 2048,
                                .all_errors = true,
                                .seeds = 1,
                                .seed = 1,
                                .checkpoint_every = 30};
}

stair_gamp_theory_options stair_gamp_theory_defaults(void)
{
    return (stair_gamp_theory_options){.points = 1024, .replicates = 8, .seed = 1};
}

static void fill(void *o)
{
    *(stair_gamp_options *)o = stair_gamp_defaults();
}

static void fill_theory(void *o)
{
    *(stair_gamp_theory_options *)o = stair_gamp_theory_defaults();
}

const stair_options_table stair_gamp_table = {"gamp", "stair_gamp_options", sizeof(stair_gamp_options),
                                              options, fill};
const stair_options_table stair_gamp_theory_table = {"gamp-theory", "stair_gamp_theory_options",
                                                     sizeof(stair_gamp_theory_options), theory_options,
                                                     fill_theory};

static stair_status check_variant(stair_context *context, const stair_gamp_options *o)
{
    int variant = stair_gamp_variant_of(o->variant);
    double messages = o->alpha * o->dim * o->dim;
    if ((variant == STAIR_GAMP_FULL || variant == STAIR_GAMP_BP) && (o->side > 0 || o->damping > 0))
        return stair_fail(context, STAIR_BAD_INPUT, "variant %s knows neither side information nor damping",
                          o->variant);
    if (variant == STAIR_GAMP_BP && messages > STAIR_MOST_MESSAGES)
        return stair_fail(context, STAIR_BAD_INPUT, "alpha * dim^2 must be at most %g for variant bp, not %g",
                          STAIR_MOST_MESSAGES, messages);
    return STAIR_OK;
}

stair_status stair_gamp_check(stair_context *context, const stair_gamp_options *o)
{
    STAIR_TRY(stair_options_check(context, &stair_gamp_table, o));
    STAIR_TRY(check_variant(context, o));
    if (o->alpha * o->dim > STAIR_MOST_SAMPLES)
        return stair_fail(context, STAIR_BAD_INPUT, "alpha * dim must be at most %g, not %g",
                          STAIR_MOST_SAMPLES, o->alpha * o->dim);
    if (o->side > 0 && o->start_overlap > 0)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "side information gives the first estimate; start-overlap has no place beside it");
    if (o->resume && !o->checkpoint)
        return stair_fail(context, STAIR_BAD_INPUT, "resume needs a checkpoint file");
    return STAIR_OK;
}

stair_status stair_gamp_theory_check(stair_context *context, const stair_gamp_theory_options *o)
{
    return stair_options_check(context, &stair_gamp_theory_table, o);
}
