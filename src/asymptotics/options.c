/* Options of everything in the limit of large D: thresholds, overlaps, entropies, errors. */
#include "average/average.h"
#include "core/options.h"
#include "core/stats.h"

#define ROW(name, kind, field) STAIR_OPTION(name, kind, stair_asymptotics_options, field)

/* auto, then the rules there are. */
static const char *method(int number)
{
    return number ? stair_average_rule_name(number - 1) : "auto";
}

static const stair_option options[] = {
    {ROW("precision", DOUBLE, precision), .value = "X", .text = "target relative error", .low = 1e-6,
     .high = 0.5},
    {ROW("samples", INT64, points), .value = "N",
     .text = "samples of the outer expectation, 0 to follow --precision", .low = 0, .high = 1e12},
    {ROW("replicates", INT, replicates), .value = "N",
     .text = "independent parts of the average; below 8 errors are wide (Student's t)", .low = 2,
     .high = STAIR_MOST_REPLICATES},
    {ROW("widening", DOUBLE, widening), .value = "X",
     .text = "draw samples that much wider than the Gaussian", .low = 1, .high = 3},
    {ROW("inner", DOUBLE, inner), .value = "X", .text = "precision of the channel, 0 to follow --precision",
     .low = 0, .high = 1},
    {ROW("method", TEXT, method), .value = "NAME", .text = "how labels are averaged: auto, or a rule by name",
     .choice = method},
    {ROW("side", DOUBLE, side), .value = "X", .text = "side information lambda", .low = 0, .high = 1,
     .below = true},
    {ROW("tolerance", DOUBLE, tolerance), .value = "X",
     .text = "residual of log Qhat at a fixed point, 0 to follow the precision", .low = 0, .high = 1},
    {ROW("perfect", DOUBLE, perfect), .value = "X",
     .text = "eigenvalues of 1 - Q below this count as perfect recovery", .low = 0, .high = 1, .above = true,
     .below = true},
    {ROW("max-iterations", INT, max_iterations), .value = "N", .text = "most iterations", .low = 1,
     .high = 1e9},
    {ROW("patience", DOUBLE, patience), .value = "MIN",
     .text = "core-minutes a result may take at --precision 0.01, more below; 0: any", .low = 0, .high = 1e9},
    {ROW("seed", UINT64, seed), .value = "N", .text = "seed of every random number"},
    {0},
};

stair_asymptotics_options stair_asymptotics_defaults(void)
{
    return (stair_asymptotics_options){.precision = 1e-3,
                                       .points = 0,
                                       .replicates = 16,
                                       .widening = 1.2,
                                       .inner = 0,
                                       .method = "auto",
                                       .side = 0,
                                       .tolerance = 0,
                                       .perfect = 1e-8,
                                       .max_iterations = 200,
                                       .patience = 2,
                                       .seed = 1};
}

static void fill(void *o)
{
    *(stair_asymptotics_options *)o = stair_asymptotics_defaults();
}

const stair_options_table stair_asymptotics_table = {"asymptotics", "stair_asymptotics_options",
                                                     sizeof(stair_asymptotics_options), options, fill};

stair_status stair_asymptotics_check(stair_context *context, const stair_asymptotics_options *o)
{
    return stair_options_check(context, &stair_asymptotics_table, o);
}
