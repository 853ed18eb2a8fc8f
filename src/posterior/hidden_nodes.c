/* A plane, a lattice, and, where a shape is all that matters, the prior of two hidden rows, (Z_1, Z_2) = h in
 * columns h_1, h_2 of R^2, in coordinates of what a softmax of h^T h sees of it.  With e = (h_1 - h_2)/d, d =
 * |h_1 - h_2|, let a_i = h_i . e and v the component of both orthogonal to e:
 *
 *   dh = d da_1 da_2 dv de,   |h|^2 = a_1^2 + a_2^2 + 2 v^2,   a_1 > a_2   (docs/channel.md, two tokens)
 *
 * so that the density of s = (a_1 + a_2)/2 and d is d exp(-s^2 - d^2/4) / (2 sqrt(pi)), and v is N(0, 1/2).
 * d = log(1 + exp t) takes the end at d = 0 to infinity, where equidistant t are exact beyond all powers. */
#include "posterior/hidden_nodes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/parallel.h"
#include "core/qmc.h"
#include "core/rng.h"

#define MOST_DIM      64   /* coordinates of a lattice */
#define LATTICE_NODES 4096 /* of one piece of work */

static const struct {
    double reach; /* standard deviations of shapes */
    int side;     /* of the squares in which places of a disc come */
    double first; /* of t: what lies below is 1e-8 */
    double turn;  /* of the plane, so that tokens do not tie in rows of nodes */
} tuning = {.reach = 6.0, .side = 4, .first = -9.0, .turn = 0.3};

static stair_status reserve(stair_context *context, int dim, size_t count, stair_hidden_nodes *nodes)
{
    nodes->blocks = (count + STAIR_BLOCK - 1) / STAIR_BLOCK;
    size_t all = nodes->blocks * STAIR_BLOCK;
    nodes->log_measure = malloc(all * sizeof(double));
    nodes->place = calloc(all * (size_t)(dim ? dim : 1), sizeof(double));
    if (!nodes->log_measure || !nodes->place) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < all; i++) nodes->log_measure[i] = -1e30;
    return STAIR_OK;
}

void stair_hidden_nodes_destroy(stair_hidden_nodes *nodes)
{
    free(nodes->log_measure);
    free(nodes->place);
    *nodes = (stair_hidden_nodes){0};
}

static void put(stair_hidden_nodes *nodes, int dim, size_t i, const double *u, double log_measure)
{
    double *block = nodes->place + i / STAIR_BLOCK * STAIR_BLOCK * (size_t)dim;
    for (int k = 0; k < dim; k++) block[k * STAIR_BLOCK + (int)(i % STAIR_BLOCK)] = u[k];
    nodes->log_measure[i] = log_measure;
}

size_t stair_hidden_disc(double radius, double step, double offset, bool paired, size_t room, double *x,
                         double *y, double *area)
{
    int squares = (int)(ceil(radius / step) / tuning.side) + 1;
    size_t n = 0;
    for (int k = 0; k < 4 * squares * squares * tuning.side * tuning.side; k++) {
        int square = k / (tuning.side * tuning.side), inside = k % (tuning.side * tuning.side);
        int i = (square / (2 * squares) - squares) * tuning.side + inside / tuning.side,
            j = (square % (2 * squares) - squares) * tuning.side + inside % tuning.side;
        double a = (i + offset) * step, b = (j + offset) * step, far = a * a + b * b;
        if (far > radius * radius || (paired && (a < 0 || (a == 0 && b < 0)))) continue;
        if (n < room) {
            x[n] = a * cos(tuning.turn) - b * sin(tuning.turn);
            y[n] = a * sin(tuning.turn) + b * cos(tuning.turn);
            area[n] = (paired && far > 0 ? 2 : 1) * step * step;
        }
        n++;
    }
    return n;
}

stair_status stair_hidden_nodes_plane(stair_context *context, double reach, double step, bool paired,
                                      int half, stair_hidden_nodes *nodes)
{
    size_t n = stair_hidden_disc(reach, step, 0.5 * half, paired, 0, NULL, NULL, NULL);
    double *x = malloc(3 * n * sizeof(double)), *y = x + n, *area = y + n;
    stair_status status =
        x ? reserve(context, 2, n, nodes) : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) stair_hidden_disc(reach, step, 0.5 * half, paired, n, x, y, area);
    for (size_t i = 0; i < n && status == STAIR_OK; i++)
        put(nodes, 2, i, (double[2]){x[i], y[i]},
            log(area[i] / (2 * M_PI)) - 0.5 * (x[i] * x[i] + y[i] * y[i]));
    free(x);
    return status;
}

/* Steps are those of a_1 and a_2: s and d are their mean and difference. */
static size_t place_shape(double step, int half, stair_hidden_nodes *nodes)
{
    double offset = 0.5 * half, mean_step = step * M_SQRT1_2, gap_step = step * M_SQRT2;
    int most = (int)ceil(tuning.reach * M_SQRT1_2 / mean_step);
    size_t n = 0;
    for (int i = -most; i <= most; i++)
        for (int j = 0;; j++) {
            double mean = (i + offset) * mean_step, t = tuning.first + (j + offset) * gap_step;
            double gap = t > 30 ? t : log1p(exp(t)), square = 2 * mean * mean + 0.5 * gap * gap;
            if (0.5 * gap * gap > tuning.reach * tuning.reach) break;
            if (square > tuning.reach * tuning.reach) continue;
            double u[4] = {mean + 0.5 * gap, mean - 0.5 * gap, 0, 0};
            double share = mean_step * gap_step * gap / (1 + exp(-t)) / (2 * sqrt(M_PI));
            if (nodes) put(nodes, 4, n, u, log(share) - 0.5 * square);
            n++;
        }
    return n;
}

stair_status stair_hidden_nodes_shape(stair_context *context, double step, int half,
                                      stair_hidden_nodes *nodes)
{
    STAIR_TRY(reserve(context, 4, place_shape(step, half, NULL), nodes));
    place_shape(step, half, nodes);
    return STAIR_OK;
}

typedef struct {
    int dim;
    size_t count;
    double shift[MOST_DIM];
    stair_hidden_nodes *nodes;
} lattice_job;

static stair_status lattice_block(void *user, size_t block, int thread, stair_context *local)
{
    const lattice_job *job = user;
    double u[MOST_DIM] = {0};
    (void)thread, (void)local;
    for (size_t i = block * LATTICE_NODES; i < (block + 1) * LATTICE_NODES && i < job->count; i++) {
        if (job->dim) stair_qmc_point(job->dim, job->count, i, job->shift, u);
        for (int k = 0; k < job->dim; k++) u[k] = stair_qmc_normal(u[k]);
        put(job->nodes, job->dim, i, u, -log((double)job->count));
    }
    return STAIR_OK;
}

stair_status stair_hidden_nodes_lattice(stair_context *context, int dim, size_t count, uint64_t seed,
                                        int half, stair_hidden_nodes *nodes)
{
    lattice_job job = {.dim = dim, .count = dim ? count : 1, .nodes = nodes};
    STAIR_TRY(reserve(context, dim, job.count, nodes));
    if (dim) stair_rng_uniforms(seed + 77, STAIR_RNG_SHIFT, (uint64_t)half, dim, job.shift);
    return stair_parallel(context, (job.count + LATTICE_NODES - 1) / LATTICE_NODES, lattice_block, &job);
}
