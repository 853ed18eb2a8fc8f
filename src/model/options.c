/* Options of the random points of the channel: stair_points_draw(). */
#include "core/context.h"
#include "core/options.h"

#define ROW(name, kind, field) STAIR_OPTION(name, kind, stair_points_options, field)

static const stair_option options[] = {
    {ROW("cov-low", DOUBLE, cov_low), .value = "X", .text = "smallest eigenvalue of the random covariances",
     .low = 0, .high = 1, .above = true},
    {ROW("cov-high", DOUBLE, cov_high), .value = "X", .text = "largest eigenvalue of the random covariances",
     .low = 0, .high = 1, .above = true},
    {ROW("full", FLAG, full), .text = "random axes for the covariances, not diagonal ones"},
    {ROW("one-cov", FLAG, one_cov), .text = "one covariance for all random points"},
    {ROW("seed", UINT64, seed), .value = "N", .text = "seed of every random number"},
    {0},
};

stair_points_options stair_points_defaults(void)
{
    return (stair_points_options){.cov_low = 0.05, .cov_high = 1, .full = true, .one_cov = false, .seed = 1};
}

static void fill(void *o)
{
    *(stair_points_options *)o = stair_points_defaults();
}

const stair_options_table stair_points_table = {"points", "stair_points_options",
                                                sizeof(stair_points_options), options, fill};

stair_status stair_points_check(stair_context *context, const stair_points_options *o)
{
    STAIR_TRY(stair_options_check(context, &stair_points_table, o));
    if (o->cov_low <= o->cov_high) return STAIR_OK;
    return stair_fail(context, STAIR_BAD_INPUT,
                      "eigenvalues of V need 0 < low <= high <= 1, not low %g, high %g", o->cov_low,
                      o->cov_high);
}
