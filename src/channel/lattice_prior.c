/* The lattice of the prior: no search, no frame but that of V.
 *
 * Where the label leaves a posterior not much narrower than the prior, steps of the prior's deviation are fine enough, and the
 * prior bounds where anything can be: the exponent is at most the part of it that the free rows have. */
#include <math.h>
#include <string.h>

#include "channel/passes.h"

#define STEP   3.4  /* of the first pass, over sqrt(log(1/precision)), in deviations */
#define NARROW 7.0  /* deviations of the dependent rows that fit into a free one, over the square of the step: beyond, not worth trying */
#define LINEAR 0.2  /* deviation below which layers are nearly linear in it, and the frame of a mode is close to perfect */
#define WORTH  12000 /* nodes, beyond which a frame of the posterior is the better choice */

static bool worth_trying(const stair_integrand *f, double step)
{
    const int p = f->shape.rows;
    double most = 0;
    for (int i = f->shape.free_rows; i < p; i++) most = fmax(most, f->whiten[i * (p + 1)]);
    return f->dim == 2 && f->shape.free_rows == 1 && f->count <= STAIR_PASS_COUNT && f->lower[0] > LINEAR &&
           most * f->lower[0] < NARROW * step * step;
}

/* The largest exponent of some nodes about the prior mean: a lower bound is all that is needed. */
static void find_top(stair_passes *p, double step, const double *centre)
{
    stair_integrand *f = &p->w->f;
    for (int i = 0; i < STAIR_BLOCK; i++) {
        f->nodes.u[i] = centre[0] + step * (i % 8 - 3.5);
        f->nodes.u[STAIR_BLOCK + i] = centre[1] + step * (i / 8 - 3.5);
    }
    p->top = stair_integrand_energies(f, STAIR_BLOCK);
}

/* A block of nodes on its way into a part. */
typedef struct {
    int n;
    double x[STAIR_BLOCK + STAIR_LINE_SLACK], y[STAIR_BLOCK + STAIR_LINE_SLACK];
} node_block;

static void add_block(stair_passes *p, node_block *block, stair_moments *into)
{
    stair_integrand *f = &p->w->f;
    memcpy(f->nodes.u, block->x, sizeof(double) * STAIR_BLOCK);
    memcpy(f->nodes.u + STAIR_BLOCK, block->y, sizeof(double) * STAIR_BLOCK);
    if (block->n) stair_integrand_accumulate(f, block->n, p->cutoff, into);
    block->n = 0;
}

/* All nodes within the radius beyond which the prior lets nothing be visible, row by row, so that neighbours in a block are
 * neighbours in the plane. */
static bool sum_all(stair_passes *p)
{
    stair_integrand *f = &p->w->f;
    double step = p->step[0] * f->lower[0], centre[2] = {f->lower[0] * f->offset[0], f->lower[0] * f->offset[1]};
    double axis[2] = {step * f->fibre.outer[0], step * f->fibre.outer[1]};
    bool *known = p->user;
    if (*known)
        p->top = p->floor + 1; /* of the pass before */
    else
        find_top(p, step, centre);
    *known = true;
    double radius2 = 2 * stair_passes_left(p, 0) / (p->step[0] * p->step[0]);
    if ((double)f->visited + 6.3 * radius2 > (double)p->budget) return false;
    node_block block = {.n = 0};
    for (int half = 0; half < 2; half++) {
        stair_moments *into = &p->part[half * STAIR_HALVES];
        double shift = 0.5 * half;
        stair_integrand_begin(f, p->top, into);
        for (double r = -floor(sqrt(radius2) + shift) + shift; r * r <= radius2; r++) {
            double reach = sqrt(radius2 - r * r), q = -floor(reach + shift) + shift;
            for (int left = (int)(reach - q) + 1, many; left > 0; left -= many, q += many) {
                double from[2] = {centre[0] + axis[0] * q - axis[1] * r, centre[1] + axis[1] * q + axis[0] * r};
                many = left < STAIR_BLOCK - block.n ? left : STAIR_BLOCK - block.n;
                stair_line(many, from, axis, block.x + block.n, block.y + block.n);
                block.n += many;
                if (block.n == STAIR_BLOCK) add_block(p, &block, into);
            }
        }
        add_block(p, &block, into);
        stair_integrand_flush(f);
    }
    return true;
}

static void finish_pass(const stair_passes *p, const stair_moments *sum, double share, stair_posterior *out)
{
    double step = p->step[0] * p->w->f.lower[0];
    stair_moments_finish(&p->w->f, sum, out);
    out->logz += log(0.5 * step * step / share);
}

bool stair_lattice_prior(stair_worker *w, const stair_channel_options *options, stair_posterior *out, stair_rule_result *result)
{
    double step = STEP / sqrt(-log(fmin(options->precision, 1e-2)));
    if (!worth_trying(&w->f, step)) return false;
    bool known = false;
    stair_passes passes = {.w = w, .lattices = 1, .step = {step}, .sum = sum_all,
                           .finish = finish_pass, .user = &known, .budget = w->f.visited + WORTH};
    stair_integrand *f = &w->f;
    f->shape.brief = f->fibre.brief = stair_passes_brief(f, options->precision);
    result->error = stair_passes_run(&passes, options, out);
    f->shape.brief = f->fibre.brief = false;
    result->converged = result->error <= options->precision;
    return result->converged;
}
