/* The lattice of the prior: no search, no frame but that of V.
 *
 * Where the label leaves a posterior not much narrower than the prior, steps of the prior's deviation are
 * fine enough, and the prior bounds where anything can be: the exponent is at most the part of it that the
 * free rows have. */
#include <math.h>
#include <string.h>

#include "channel/lattice_prior.h"
#include "channel/passes.h"
#include "core/isa.h"

#define STEP 3.4 /* of the first pass, over sqrt(log(1/precision)), in deviations */
#define NARROW                                                                                               \
    7.0 /* deviations of the dependent rows that fit into a free one, over the square of the step: beyond,   \
           not worth trying */
#define LINEAR                                                                                               \
    0.2 /* deviation below which layers are nearly linear in it, and the frame of a mode is close to perfect \
         */
#define WORTH 12000 /* nodes, beyond which a frame of the posterior is the better choice */

STAIR_HOT_TABLE(void, stair_pair_sum,
                (const stair_channel_shape *s, int n, const stair_nodes *nodes, double top, double cutoff,
                 double *most, bool brief, double *accumulators));
STAIR_HOT_TABLE(void, stair_block_line,
                (int n, const double *from, const double *step, double *x, double *y));

static bool worth_trying(const stair_integrand *f, double step)
{
    return f->dim == 2 && f->shape.rows == 2 && f->shape.free_rows == 1 && f->shape.mirrored &&
           f->lower[0] > LINEAR && f->whiten[3] * f->lower[0] < NARROW * step * step;
}

/* The largest exponent of some nodes about the prior mean: a lower bound, to begin with. */
static double first_top(stair_integrand *f, double step)
{
    for (int i = 0; i < 16; i++) {
        f->nodes.u[i] = step * (i % 4 - 1.5);
        f->nodes.u[STAIR_BLOCK + i] = step * (i / 4 - 1.5);
    }
    return stair_integrand_energies(f, 16);
}

/* Sums on their way into a part. */
typedef struct {
    _Alignas(64) double lanes[8 * STAIR_PAIR_SUMS];
    double top, cutoff, most; /* scale; what is visible; largest exponent */
    int n;                    /* nodes of a block that is not full yet */
    double x[STAIR_BLOCK + STAIR_LINE_SLACK], y[STAIR_BLOCK + STAIR_LINE_SLACK];
} prior_sums;

static void add_block(stair_integrand *f, prior_sums *s)
{
    if (!s->n) return;
    memcpy(f->nodes.u, s->x, sizeof(double) * STAIR_BLOCK);
    memcpy(f->nodes.u + STAIR_BLOCK, s->y, sizeof(double) * STAIR_BLOCK);
    stair_fibre_map(&f->fibre, f->chart, s->n, f->nodes.u, f->nodes.z, f->nodes.weight);
    stair_pair_sum_table[stair_isa()](&f->shape, s->n, &f->nodes, s->top, s->cutoff, &s->most, f->fibre.brief,
                                      s->lanes);
    f->visited += s->n;
    s->n = 0;
}

/* All nodes of one kind within the radius, row by row, so that neighbours in a block are neighbours in the
 * plane. */
static void sum_disc(stair_integrand *f, double radius2, double shift, const double *centre,
                     const double *axis, prior_sums *s)
{
    for (double r = -floor(sqrt(radius2) + shift) + shift; r * r <= radius2; r++) {
        double reach = sqrt(radius2 - r * r), q = -floor(reach + shift) + shift;
        for (int left = (int)(reach - q) + 1, many; left > 0; left -= many, q += many) {
            double from[2] = {centre[0] + axis[0] * q - axis[1] * r, centre[1] + axis[1] * q + axis[0] * r};
            many = left < STAIR_BLOCK - s->n ? left : STAIR_BLOCK - s->n;
            stair_block_line_table[stair_isa()](many, from, axis, s->x + s->n, s->y + s->n);
            s->n += many;
            if (s->n == STAIR_BLOCK) add_block(f, s);
        }
    }
    add_block(f, s);
}

static bool sum_all(stair_passes *p)
{
    stair_integrand *f = &p->w->f;
    double step = p->step[0] * f->lower[0],
           centre[2] = {f->lower[0] * f->offset[0], f->lower[0] * f->offset[1]};
    double axis[2] = {step * f->fibre.outer[0], step * f->fibre.outer[1]}, *top = p->user; /* of all passes */
    if (*top == -INFINITY) *top = first_top(f, step);
    p->top = *top;
    p->cell = 0.5 * step * step;
    double radius2 = 2 * stair_passes_left(p, 0) /
                     (p->step[0] * p->step[0]); /* beyond, the prior lets nothing be visible */
    if ((double)f->visited + 6.3 * radius2 > (double)p->budget) return false;
    prior_sums s = {.top = *top, .cutoff = p->cutoff, .most = *top};
    for (int half = 0; half < 2; half++) {
        stair_moments *into = &p->part[half * STAIR_HALVES];
        memset(s.lanes, 0, sizeof s.lanes);
        sum_disc(f, radius2, 0.5 * half, centre, axis, &s);
        into->top = s.top;
        for (int k = 0, width = stair_isa_lanes(); k < STAIR_PAIR_SUMS; k++)
            for (int i = 0; i < width; i++) into->sum[k] += s.lanes[k * width + i];
    }
    p->top = *top = s.most;
    return true;
}

bool stair_lattice_prior(stair_worker *w, const stair_channel_options *options, stair_posterior *out,
                         stair_rule_result *result)
{
    double step = STEP / sqrt(-log(fmin(options->precision, 1e-2)));
    if (!worth_trying(&w->f, step)) return false;
    double top = -INFINITY;
    stair_passes passes = {.w = w,
                           .lattices = 1,
                           .step = {step},
                           .sum = sum_all,
                           .user = &top,
                           .budget =
                               w->f.visited + (options->max_nodes < WORTH ? options->max_nodes : WORTH)};
    stair_integrand *f = &w->f;
    f->fibre.brief = stair_passes_brief(f, options->precision);
    result->error = stair_passes_run(&passes, options, out);
    f->fibre.brief = false;
    result->converged = result->error <= options->precision;
    return result->converged;
}
