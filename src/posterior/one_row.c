/* Where the label fixes the last row once the hidden rows u are given, and depends on it linearly
 * (last_row.h), the posterior of any sample is a sum over hidden nodes u with prior N(omega_u, V_u): no
 * search for modes, no adaptation, and as long as nothing is known of the hidden rows, T(u) and the prior are
 * one table for all samples.  Otherwise the nodes move with omega and the model maps them.
 *
 * Two hidden coordinates: equidistant nodes, exact beyond all powers once they resolve the posterior
 * (Trefethen and Weideman, SIAM Review 56, 2014).  More: a randomly shifted lattice.  Either rule has two
 * halves (interlaced, or of their own shift); with phi nonlinear in the sums, 2 phi(both) - [phi(first) +
 * phi(second)]/2 is free of the bias of order 1/nodes, and its difference from phi(both) shows the inner
 * error. */
#include "posterior/denoiser.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "posterior/one_row_follow.h"
#include "posterior/hidden_nodes.h"
#include "posterior/one_row_sums.h"
#include "model/last_row.h"
#include "core/isa.h"
#include "core/matrix.h"
#include "core/parallel.h"

#define HALVES          STAIR_HIDDEN_HALVES
#define ONE_ROW_SAMPLES 64 /* of one piece of work */
#define FOLLOWING_SETS  64 /* of nodes that follow samples, so that their errors go down as well */
#define LEVELS          5  /* of them: for a first look, then from fewest to all, doubling */

static const struct {
    double reach;             /* standard deviations of the prior that nodes cover, */
    double near_reach;        /* and nodes that follow omega */
    double prior_step;        /* step that resolves the prior, per fineness, */
    double width_step;        /* and the posterior, in units of its width sqrt(v) / |dw/du| */
    double least_step;        /* of either */
    double span;              /* fixed nodes cover [-span, span] */
    double least_fixed;       /* step below which fixed nodes, and STAIR_MOST_CELLS, would be too many */
    size_t look;              /* times fewer nodes than all, for the first look */
    double agreed;            /* difference of log Z between halves for which the fewest are enough, */
    int disagree;             /* and from level to level so many times as much */
    double node, sum, mixing; /* seconds of a usual core: of a node that moves, of each of its sums, of its
                                 mixing by tokens^3 */
} tuning = {.reach = 6.5,
            .near_reach = 5.2,
            .prior_step = 0.7,
            .width_step = 0.9,
            .least_step = 0.01,
            .span = 8.0,
            .least_fixed = 0.03,
            .look = 64,
            .agreed = 0.1,
            .disagree = 4,
            .node = 30e-9,
            .sum = 0.3e-9,
            .mixing = 1e-9};

STAIR_HOT_TABLE(void, stair_one_row_moving,
                (const stair_one_row_shape *shape, const stair_one_row_sample *sample, const double *w,
                 const double *z, const double *sides, const double *log_weight, const double *factor,
                 double *sums));
STAIR_HOT_TABLE(void, stair_one_row_placed,
                (const stair_one_row_follower *follower, bool around, const double *normal, double *u,
                 double *sides, double *weight));
STAIR_HOT_TABLE(void, stair_one_row_cached,
                (const stair_one_row_shape *shape, const stair_one_row_sample *sample, size_t blocks,
                 const double *table, double *sums));

STAIR_HOT_TABLE(void, stair_one_row_window,
                (const stair_one_row_plane *plane, const stair_one_row_sample *sample, double reach,
                 double prior, double *upper, double *sums));

typedef struct {
    const stair_model *model;
    stair_one_row_shape shape;
    int p, m, dim;                      /* P, M, hidden coordinates */
    double variance[STAIR_MAX_INDICES]; /* of each row, prenoise included */
    bool random;                        /* hidden nodes are a lattice */
    bool flat;                          /* nothing known of the hidden rows: one table */
    double anchor[STAIR_MAX_CELLS], steepest;
    stair_hidden_nodes nodes[HALVES];
    bool follows; /* nodes follow samples: */
    stair_hidden_nodes following[FOLLOWING_SETS][LEVELS][HALVES];
    double *table[HALVES]; /* flat: (blocks, 1 + M*M + dim, 64) */
    stair_one_row_plane
        plane[HALVES]; /* two coordinates, not flat, if not too fine: nodes that stay where they are */
} one_row;

static bool fits(const stair_structure *structure, const double *cov)
{
    return structure->last_row && stair_matrix_is_diagonal(structure->model->info.indices, cov);
}

/* ---- nodes ------------------------------------------------------------------------------------ */

/* Cell (i, j) of a plane: log weight and T of its nodes, and their bounds. */
static void fill_cell(const stair_last_row *last, const stair_one_row_plane *plane, int i, int j)
{
    double u[2 * STAIR_BLOCK], t[4 * STAIR_BLOCK], weight[STAIR_BLOCK];
    double *node = plane->nodes + (size_t)(i * plane->side + j) * 5 * STAIR_CELL;
    double *bounds = plane->bounds + (size_t)i * CELL_BOUNDS * STAIR_MOST_CELLS + j;
    for (int k = 0; k < STAIR_CELL; k++) {
        u[k] = plane->low + (i * STAIR_CELL_SIDE + k / STAIR_CELL_SIDE) * plane->step;
        u[STAIR_BLOCK + k] = plane->low + (j * STAIR_CELL_SIDE + k % STAIR_CELL_SIDE) * plane->step;
    }
    stair_last_row_map(last, STAIR_CELL, u, t, weight);
    for (size_t k = 0; k < STAIR_CELL; k++) {
        node[k] = 2 * log(plane->step) + log(weight[k]);
        for (size_t c = 0; c < 4; c++) node[(1 + c) * STAIR_CELL + k] = t[c * STAIR_BLOCK + k];
    }
    for (int c = 0; c < 5; c++) {
        double least = INFINITY, most = -INFINITY;
        for (int k = 0; k < STAIR_CELL; k++) {
            least = fmin(least, node[c * STAIR_CELL + k]);
            most = fmax(most, node[c * STAIR_CELL + k]);
        }
        if (c) bounds[(CELL_LEAST + c - 1) * STAIR_MOST_CELLS] = least;
        bounds[(c ? CELL_MOST + c - 1 : CELL_TOP) * STAIR_MOST_CELLS] = most;
        bounds[(CELL_MIDDLE + c) * STAIR_MOST_CELLS] =
            node[c * STAIR_CELL + STAIR_CELL_SIDE / 2 * (STAIR_CELL_SIDE + 1)];
    }
}

static stair_status make_window(stair_context *context, one_row *h, const stair_last_row *last, double step)
{
    for (int half = 0; half < HALVES; half++) {
        stair_one_row_plane *plane = &h->plane[half];
        int side = (int)ceil(2 * tuning.span / (step * STAIR_CELL_SIDE));
        size_t bounds = (size_t)side * CELL_BOUNDS * STAIR_MOST_CELLS;
        *plane = (stair_one_row_plane){.low = -tuning.span + 0.5 * half * step, .step = step, .side = side};
        plane->bounds = malloc((bounds + (size_t)(side * side) * 5 * STAIR_CELL) * sizeof(double));
        if (!plane->bounds) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
        plane->nodes = plane->bounds + bounds;
        for (size_t k = 0; k < bounds; k++)
            plane->bounds[k] = -1e300; /* cells beyond the side: never the largest */
        for (int i = 0; i < side; i++)
            for (int j = 0; j < side; j++) fill_cell(last, plane, i, j);
    }
    return STAIR_OK;
}

static stair_status make_plane(stair_context *context, one_row *h, const stair_last_row *last, double slope,
                               double fineness)
{
    double width = sqrt(h->variance[h->p - 1]) / slope, deviation = sqrt(h->variance[0]);
    double step = fmax(tuning.least_step, fmin(tuning.prior_step, tuning.width_step * width) / fineness);
    if (!h->flat && step * deviation >= tuning.least_fixed)
        return make_window(context, h, last, step * deviation);
    for (int half = 0; half < HALVES; half++)
        STAIR_TRY(stair_hidden_nodes_plane(context, h->flat ? tuning.reach : tuning.near_reach, step, h->flat,
                                           half, &h->nodes[half]));
    return STAIR_OK;
}

static stair_status make_lattice(stair_context *context, one_row *h, size_t nodes, uint64_t seed)
{
    for (int half = 0; half < HALVES; half++)
        STAIR_TRY(stair_hidden_nodes_lattice(context, h->dim, nodes, seed, half, &h->nodes[half]));
    return STAIR_OK;
}

/* Levels with more nodes have fewer sets: so many share them. */
static int alike(int level)
{
    return level ? 1 << (level - 1) : 1;
}

static stair_status make_following(stair_context *context, one_row *h, size_t nodes, uint64_t seed)
{
    for (int level = 0; level < LEVELS; level++) {
        size_t all = nodes / (level ? (size_t)1 << (LEVELS - 1 - level) : tuning.look),
               few = all > STAIR_BLOCK ? all : STAIR_BLOCK;
        for (int set = 0; set < FOLLOWING_SETS; set += alike(level))
            for (int half = 0; half < HALVES; half++)
                STAIR_TRY(stair_hidden_nodes_lattice(context, h->dim, few,
                                                     seed + 1 + (uint64_t)(LEVELS * set + level), half,
                                                     &h->following[set][level][half]));
    }
    return STAIR_OK;
}

/* Block b of the table: T, the weight and z of its nodes. */
static void fill_block(const one_row *h, const stair_last_row *last, int half, size_t b, double *block)
{
    double weight[STAIR_BLOCK];
    int m = h->m;
    const double *x = h->nodes[half].place + b * STAIR_BLOCK * (size_t)h->dim;
    double *u = block + (size_t)(1 + m * m) * STAIR_BLOCK;
    for (int k = 0; k < h->dim; k++)
        for (int i = 0; i < STAIR_BLOCK; i++)
            u[k * STAIR_BLOCK + i] = sqrt(h->variance[k / m]) * x[k * STAIR_BLOCK + i];
    stair_last_row_map(last, STAIR_BLOCK, u, block + STAIR_BLOCK, weight);
    for (int i = 0; i < STAIR_BLOCK; i++)
        block[i] = h->nodes[half].log_measure[b * STAIR_BLOCK + (size_t)i] + log(weight[i]);
}

static stair_status fill_table(stair_context *context, one_row *h, const stair_last_row *last, int half)
{
    size_t width = (size_t)(1 + h->m * h->m + h->dim) * STAIR_BLOCK;
    h->table[half] = malloc(h->nodes[half].blocks * width * sizeof(double));
    if (!h->table[half]) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (size_t b = 0; b < h->nodes[half].blocks; b++)
        fill_block(h, last, half, b, h->table[half] + b * width);
    return STAIR_OK;
}

static stair_status build(stair_context *context, one_row *h, double fineness, size_t nodes, uint64_t seed)
{
    stair_last_row last;
    double slope;
    STAIR_TRY(stair_last_row_open(context, h->model, &last));
    stair_last_row_slopes(&last, h->variance, &slope, &h->steepest);
    stair_status status = h->dim == 2  ? make_plane(context, h, &last, slope, fineness)
                          : h->follows ? make_following(context, h, nodes, seed)
                                       : make_lattice(context, h, nodes, seed);
    for (int half = 0; half < HALVES && h->flat && status == STAIR_OK; half++)
        status = fill_table(context, h, &last, half);
    stair_last_row_close(&last);
    return status;
}

static void destroy(void **state)
{
    one_row *h = *state;
    for (int half = 0; half < HALVES; half++) {
        stair_hidden_nodes_destroy(&h->nodes[half]);
        for (int k = 0; k < FOLLOWING_SETS * LEVELS; k++)
            stair_hidden_nodes_destroy(&h->following[k / LEVELS][k % LEVELS][half]);
        free(h->table[half]);
        free(h->plane[half].bounds);
    }
    free(h);
    *state = NULL;
}

static stair_status create(stair_context *context, const stair_structure *structure, const double *cov,
                           const stair_denoiser_effort *effort, void **state)
{
    const stair_model *model = structure->model;
    int p = model->info.indices, m = model->info.tokens;
    one_row *h = *state = calloc(1, sizeof *h);
    if (!h) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *h = (one_row){.model = model, .p = p, .m = m, .dim = (p - 1) * m, .flat = true};
    h->random = structure->many_hidden;
    h->shape = (stair_one_row_shape){.tokens = m, .rows = p - 1, .sums = 1 + p * (m + m * (m + 1) / 2)};
    for (int i = 0; i < p; i++) {
        h->variance[i] = cov[i * (p + 1)] + model->info.prenoise;
        if (i < p - 1) h->flat &= cov[i * (p + 1)] == 1;
    }
    h->follows = !h->flat && h->random && stair_one_row_follow_fits(h->dim, m);
    stair_last_row_anchor(p - 1, m, h->anchor);
    stair_status status = build(context, h, effort->fineness, effort->nodes, effort->seed);
    if (status != STAIR_OK) destroy(state);
    return status;
}

static bool is_random(const void *state)
{
    return ((const one_row *)state)->random;
}

static double steepest(const void *state)
{
    return ((const one_row *)state)->steepest;
}

/* ---- samples ---------------------------------------------------------------------------------- */

/* anchors (n, M): the last row that gives the label when the hidden rows stand at the anchor. */
static stair_status find_anchors(stair_context *context, const one_row *h, size_t n, const double *labels,
                                 double *anchors)
{
    double omega[STAIR_MAX_CELLS] = {0};
    stair_fibre fibre;
    STAIR_TRY(stair_fibre_create(context, h->model, &fibre));
    stair_status status = STAIR_OK;
    for (size_t i = 0; i < n && status == STAIR_OK; i++) {
        status = stair_fibre_open(context, labels + i * (size_t)h->model->info.label_size, omega, &fibre);
        if (status == STAIR_OK) stair_last_row_one(&fibre, h->m, h->anchor, anchors + i * (size_t)h->m);
    }
    stair_fibre_destroy(&fibre);
    return status;
}

/* Sums of one half where nodes follow the sample: one half of them around its posterior, the other all over
 * the prior. */
static void add_following(const one_row *h, const stair_hidden_nodes *nodes, const stair_fibre *fibre,
                          const stair_one_row_sample *sample, const stair_one_row_follower *follower,
                          double *sums)
{
    double u[STAIR_LAST_ROOM], z[STAIR_LAST_ROOM], sides[STAIR_ONE_ROW_ROWS * STAIR_BLOCK],
        weight[STAIR_BLOCK], share[STAIR_BLOCK];
    for (int around = 0; around < 2; around++)
        for (size_t b = 0; b < nodes->blocks; b++) {
            stair_one_row_placed_table[stair_isa()](
                follower, around, nodes->place + b * STAIR_BLOCK * (size_t)h->dim, u, sides, share);
            stair_fibre_map(fibre, 0, STAIR_BLOCK, u, z, weight);
            for (int i = 0; i < STAIR_BLOCK; i++)
                weight[i] *= share[i] / (double)(nodes->blocks * STAIR_BLOCK);
            stair_one_row_moving_table[stair_isa()](&h->shape, sample, z + (size_t)h->dim * STAIR_BLOCK, u,
                                                    sides, NULL, weight, sums);
        }
}

/* Sums of both halves.  How many nodes that takes is found out with others: halves that happen to agree would
 * be no fair choice. */
static void follow_sample(const one_row *h, const stair_fibre *fibre, const stair_one_row_sample *sample,
                          const double *drawn, int set, double (*sums)[STAIR_ONE_ROW_SUMS])
{
    stair_one_row_follower follower;
    stair_one_row_follow(fibre, sample, h->dim, h->m, h->variance, drawn, &follower);
    double pilot[HALVES][STAIR_ONE_ROW_SUMS] = {0};
    for (int half = 0; half < HALVES; half++)
        add_following(h, &h->following[set][0][half], fibre, sample, &follower, pilot[half]);
    double apart = fabs(log(pilot[0][0] / pilot[1][0]));
    int level = 1;
    for (double limit = tuning.agreed; level < LEVELS - 1 && !(apart < limit); limit *= tuning.disagree)
        level++;
    const stair_hidden_nodes *nodes = h->following[set - set % alike(level)][level];
    for (int half = 0; half < HALVES; half++)
        add_following(h, &nodes[half], fibre, sample, &follower, sums[half]);
}

/* Sums of one half where the nodes move with omega: the model maps them block by block. */
static void add_moving(const one_row *h, int half, const stair_fibre *fibre,
                       const stair_one_row_sample *sample, double *sums)
{
    double u[STAIR_LAST_ROOM], z[STAIR_LAST_ROOM], weight[STAIR_BLOCK];
    for (size_t b = 0; b < h->nodes[half].blocks; b++) {
        const double *x = h->nodes[half].place + b * STAIR_BLOCK * (size_t)h->dim,
                     *measure = h->nodes[half].log_measure + b * STAIR_BLOCK;
        for (int k = 0; k < h->dim; k++) {
            double scale = sqrt(h->variance[k / h->m]);
            for (int i = 0; i < STAIR_BLOCK; i++)
                u[k * STAIR_BLOCK + i] = sample->hidden[k] + scale * x[k * STAIR_BLOCK + i];
        }
        stair_fibre_map(fibre, 0, STAIR_BLOCK, u, z, weight);
        stair_one_row_moving_table[stair_isa()](&h->shape, sample, z + (size_t)h->dim * STAIR_BLOCK, u, NULL,
                                                measure, weight, sums);
    }
}

/* Moments of row `row` from its sums: g (M) and its block of dg (PM, PM).  Of flat rows only half of the
 * nodes are in the sums, and their means vanish. */
static void finish_row(const one_row *h, int row, const double *sums, double *g, double *dg)
{
    int m = h->m, pm = h->p * m, last = row == h->p - 1;
    const double *first = sums + 1 + (last ? 0 : row + 1) * (m + m * (m + 1) / 2), *second = first + m;
    double v = h->variance[row], mean[STAIR_ONE_ROW_TOKENS];
    for (int t = 0; t < m; t++) {
        mean[t] = h->flat && !last ? 0 : first[t] / sums[0];
        g[row * m + t] = mean[t] / v;
    }
    for (int t = 0; t < m; t++)
        for (int s = 0; s <= t; s++) {
            double covariance = *second++ / sums[0] - mean[t] * mean[s];
            dg[(row * m + t) * pm + row * m + s] = dg[(row * m + s) * pm + row * m + t] =
                covariance / (v * v) - (s == t ? 1 / v : 0);
        }
}

static void finish_part(const one_row *h, double share, const double *sums, double *logz, double *g,
                        double *dg)
{
    int pm = h->p * h->m;
    memset(g, 0, sizeof(double) * (size_t)pm);
    memset(dg, 0, sizeof(double) * (size_t)(pm * pm));
    *logz = log(0.5 * sums[0] * share) - 0.5 * h->m * log(2 * M_PI * h->variance[h->p - 1]);
    if (h->plane[0].nodes)
        *logz -= log(2 * M_PI * h->variance[0]); /* the prior, of which nodes that move take care */
    for (int row = 0; row < h->p && sums[0] > 0; row++) finish_row(h, row, sums, g, dg);
}

typedef struct {
    const one_row *rule;
    size_t n;
    const double *anchors, *omega, *drawn;
    stair_denoised *result;
} one_row_job;

/* room: for bounds of cells, where nodes are a fixed plane. */
static stair_status evaluate_one(stair_context *local, const one_row_job *job, stair_fibre *fibre,
                                 double *room, size_t i)
{
    const one_row *h = job->rule;
    size_t pm = (size_t)(h->p * h->m);
    const double *omega = job->omega + i * pm;
    double sums[STAIR_PARTS_OF_RULE][STAIR_ONE_ROW_SUMS] = {0};
    stair_one_row_sample sample = {.half_inverse = 0.5 / h->variance[h->p - 1], .least = STAIR_ONE_ROW_LEAST};
    memcpy(sample.x, job->anchors + i * (size_t)h->m, sizeof(double) * (size_t)h->m);
    memcpy(sample.hidden, omega, sizeof(double) * (size_t)h->dim);
    memcpy(sample.omega, omega + h->dim, sizeof(double) * (size_t)h->m);
    bool fixed = h->plane[0].nodes;
    if (!h->flat && !fixed) STAIR_TRY(stair_last_row_open_at(local, h->model, h->anchor, sample.x, fibre));
    if (h->follows)
        follow_sample(h, fibre, &sample, (job->drawn ? job->drawn : job->omega) + i * pm,
                      (int)(i % FOLLOWING_SETS), sums + 1);
    for (int half = 0; half < HALVES && !h->follows; half++) {
        if (h->flat)
            stair_one_row_cached_table[stair_isa()](&h->shape, &sample, h->nodes[half].blocks, h->table[half],
                                                    sums[1 + half]);
        else if (fixed)
            stair_one_row_window_table[stair_isa()](&h->plane[half], &sample,
                                                    tuning.near_reach * sqrt(h->variance[0]),
                                                    0.5 / h->variance[0], room, sums[1 + half]);
        else
            add_moving(h, half, fibre, &sample, sums[1 + half]);
    }
    for (int k = 0; k < h->shape.sums; k++) sums[0][k] = sums[1][k] + sums[2][k];
    for (int part = 0; part < STAIR_PARTS_OF_RULE; part++) {
        size_t at = i * STAIR_PARTS_OF_RULE + (size_t)part;
        finish_part(h, part ? 1 : 0.5, sums[part], job->result->logz + at, job->result->g + at * pm,
                    job->result->dg + at * pm * pm);
    }
    return STAIR_OK;
}

static stair_status evaluate_block(void *user, size_t block, int thread, stair_context *local)
{
    const one_row_job *job = user;
    size_t end = (block + 1) * ONE_ROW_SAMPLES < job->n ? (block + 1) * ONE_ROW_SAMPLES : job->n;
    stair_fibre fibre;
    (void)thread;
    bool fixed = job->rule->plane[0].nodes;
    double *room = fixed ? malloc(STAIR_MOST_CELLS * STAIR_MOST_CELLS * sizeof(double)) : NULL;
    if (fixed && !room) return stair_fail(local, STAIR_NO_MEMORY, "out of memory");
    stair_status status = stair_fibre_create(local, job->rule->model, &fibre);
    for (size_t i = block * ONE_ROW_SAMPLES; i < end && status == STAIR_OK; i++)
        status = evaluate_one(local, job, &fibre, room, i);
    stair_fibre_destroy(&fibre);
    free(room);
    return status;
}

/* Of a usual core: few nodes of a table, or of the plane, cost what a map of moving ones does. */
static double seconds_of_sample(const one_row *h)
{
    double sums = h->shape.sums, m = h->m,
           moving = tuning.node + tuning.sum * sums + tuning.mixing * m * m * m * h->p;
    if (h->follows)
        return moving * HALVES * (double)(h->following[0][LEVELS - 1][0].blocks * STAIR_BLOCK) / 4;
    double nodes = HALVES * (double)(h->nodes[0].blocks * STAIR_BLOCK);
    return nodes * (h->flat ? tuning.sum * (sums + m * m) : moving);
}

static stair_status evaluate(stair_context *context, void *state, uint64_t first, size_t n,
                             const double *labels, const double *omega, const double *drawn,
                             stair_denoised *result)
{
    const one_row *h = state;
    one_row_job job = {
        .rule = h, .n = n, .anchors = result->anchors, .omega = omega, .drawn = drawn, .result = result};
    (void)first;
    context->work += (double)n * seconds_of_sample(h);
    STAIR_TRY(find_anchors(context, h, n, labels, result->anchors));
    return stair_denoised_share(context, h->model, ONE_ROW_SAMPLES, STAIR_PARTS_OF_RULE, evaluate_block, &job,
                                n, result);
}

const stair_denoiser_rule stair_denoiser_one_row = {.name = "one-row",
                                                    .fits = fits,
                                                    .create = create,
                                                    .destroy = destroy,
                                                    .random = is_random,
                                                    .steepest = steepest,
                                                    .evaluate = evaluate,
                                                    .by_sample = true};
