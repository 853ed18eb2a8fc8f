/* Options of the channel and of its diagnosis: stair_channel_evaluate(), stair_diagnose(). */
#include "core/context.h"
#include "core/options.h"

#define CHANNEL(name, kind, field)  STAIR_OPTION(name, kind, stair_channel_options, field)
#define DIAGNOSE(name, kind, field) STAIR_OPTION(name, kind, stair_diagnose_options, field)

/* auto, then the rules there are. */
static const char *method(int number)
{
    return number ? stair_channel_method_name(number - 1) : "auto";
}

static const stair_option channel_options[] = {
    {CHANNEL("precision", DOUBLE, precision), .value = "X", .text = "target relative error", .low = 1e-13,
     .high = 1},
    {CHANNEL("noise", DOUBLE, noise), .value = "X",
     .text = "error at which random rules may stop, where halves are used; 0: precision", .low = 0,
     .high = 1},
    {CHANNEL("method", TEXT, method), .value = "NAME",
     .text = "auto, closed, exact, boxes, lines, layered, lattice, nested, plane or sampling",
     .choice = method},
    {CHANNEL("max-nodes", INT64, max_nodes), .value = "N",
     .text = "most integrand evaluations for one sample", .low = 256, .high = 1e15},
    {CHANNEL("cutoff", DOUBLE, cutoff), .value = "X", .text = "skip nodes below exp(-X) times the precision",
     .low = 0, .high = 600},
    {CHANNEL("seed", UINT64, seed), .value = "N", .text = "seed of every random number"},
    {0},
};

static const stair_option diagnose_options[] = {
    {DIAGNOSE("points", SIZE, points), .value = "N", .text = "number of random points", .low = 1,
     .high = 1e12},
    {DIAGNOSE("precision", DOUBLE, precision), .value = "X", .text = "target relative error", .low = 1e-12,
     .high = 0.1},
    {DIAGNOSE("cov-low", DOUBLE, cov_low), .value = "X",
     .text = "smallest eigenvalue of the random covariances", .low = 1e-10, .high = 1},
    {DIAGNOSE("seed", UINT64, seed), .value = "N", .text = "seed of every random number"},
    {0},
};

stair_channel_options stair_channel_defaults(void)
{
    return (stair_channel_options){
        .precision = 1e-6, .max_nodes = 1 << 20, .cutoff = 4.5, .seed = 1, .method = "auto"};
}

stair_diagnose_options stair_diagnose_defaults(void)
{
    return (stair_diagnose_options){.points = 200, .precision = 1e-8, .cov_low = 1e-2, .seed = 1};
}

static void fill_channel(void *o)
{
    *(stair_channel_options *)o = stair_channel_defaults();
}

static void fill_diagnose(void *o)
{
    *(stair_diagnose_options *)o = stair_diagnose_defaults();
}

const stair_options_table stair_channel_table = {
    "channel", "stair_channel_options", sizeof(stair_channel_options), channel_options, fill_channel};
const stair_options_table stair_diagnose_table = {
    "diagnose", "stair_diagnose_options", sizeof(stair_diagnose_options), diagnose_options, fill_diagnose};

stair_status stair_channel_check(stair_context *context, const stair_channel_options *options)
{
    return stair_options_check(context, &stair_channel_table, options);
}

stair_status stair_diagnose_check(stair_context *context, const stair_diagnose_options *options)
{
    return stair_options_check(context, &stair_diagnose_table, options);
}
