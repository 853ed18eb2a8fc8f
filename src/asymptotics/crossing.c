/* Error propagation along straight lines; what they bend by is a share of the way. */
#include "asymptotics/crossing.h"

#include <math.h>

#include "core/stats.h"

static const struct {
    double slope_error; /* relative error of slopes: lines bend */
} tuning = {.slope_error = 0.3};

double stair_crossing_mean(const stair_crossing *c)
{
    double v = c->at.v * exp(fmax(-0.5, fmin(0.5, -c->at.height / c->slope)));
    return v < c->start ? v : sqrt(c->at.v * c->start);
}

void stair_crossing_slopes(int n, const stair_walk_point *point, stair_crossing *c)
{
    double x = 0, xx = 0, height = 0, alpha = 0, height_noise = 0, alpha_noise = 0;
    for (int i = 0; i < n; i++) x += log(point[i].v) / n;
    for (int i = 0; i < n; i++) {
        double away = log(point[i].v) - x;
        xx += away * away;
        height += away * point[i].height;
        alpha += away * log(point[i].alpha);
        height_noise = hypot(height_noise, away * point[i].height_noise);
        alpha_noise = hypot(alpha_noise, away * point[i].alpha_noise);
    }
    c->slope = height / xx;
    c->alpha_slope = alpha / xx;
    c->slope_noise = height_noise / xx;
    c->alpha_slope_noise = alpha_noise / xx;
}

void stair_crossing_errors(const stair_branch_point *point, stair_crossing *c)
{
    double alpha[STAIR_MOST_REPLICATES], v[STAIR_MOST_REPLICATES], shared = hypot(point->bias, point->doubt);
    double way = fabs(c->at.height / c->slope), unsure = hypot(tuning.slope_error, c->slope_noise / c->slope);
    for (int r = 0; r < point->replicates; r++) {
        double height = log(point->alpha_by_replicate[r] * fmax(1e-300, point->leading.by_replicate[r]));
        v[r] = -height / c->slope;
        alpha[r] = log(point->alpha_by_replicate[r]) + c->alpha_slope * v[r];
    }
    c->doubt = way * hypot(unsure * c->alpha_slope, c->alpha_slope_noise) + c->at.height * c->at.height;
    c->error = hypot(stair_spread_error(point->random, point->replicates, alpha), hypot(shared, c->doubt));
    c->v_error = hypot(stair_spread_error(point->random, point->replicates, v),
                       hypot(shared / c->slope, unsure * way));
}
