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
#include "posterior/one_row_seam.h"
#include "posterior/one_row_sums.h"
#include "model/last_row.h"
#include "core/context.h"
#include "core/isa.h"
#include "core/matrix.h"
#include "core/parallel.h"
#include "core/rng.h"

#define HALVES          STAIR_HIDDEN_HALVES
#define ONE_ROW_SAMPLES 64 /* of one piece of work */
#define ANCHOR_SAMPLES  256
#define CELL_ROWS       8                   /* rows of cells, */
#define TABLE_BLOCKS    64                  /* and blocks of a table, of one piece of work */
#define FOLLOWING_SETS  STAIR_FOLLOW_SETS   /* of nodes that follow samples: their errors go down as well */
#define LEVELS          STAIR_FOLLOW_LEVELS /* of them: for a first look, then from fewest to all, doubling */

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
    double alike;             /* relative, of T(u) by two formulas */
    int questions;            /* to a backend for each thread, where it is asked with a few samples */
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
            .alike = 1e-9,
            .questions = 3,
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
    const stair_one_row_seam *seam; /* of a backend that has these nodes, and what it has; or NULL */
    void *kept;
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

typedef struct {
    const one_row *rule;
    const stair_one_row_plane *plane;
} cells_job;

/* Maps have room of their own: each piece of work opens the model's. */
static stair_status fill_cells(void *user, size_t block, int thread, stair_context *local)
{
    const cells_job *job = user;
    int from = (int)block * CELL_ROWS, side = job->plane->side;
    stair_last_row last;
    (void)thread;
    STAIR_TRY(stair_last_row_open(local, job->rule->model, &last));
    for (int i = from; i < from + CELL_ROWS && i < side; i++)
        for (int j = 0; j < side; j++) fill_cell(&last, job->plane, i, j);
    stair_last_row_close(&last);
    return STAIR_OK;
}

static stair_status make_window(stair_context *context, one_row *h, double step)
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
        cells_job job = {h, plane};
        STAIR_TRY(stair_parallel(context, ((size_t)side + CELL_ROWS - 1) / CELL_ROWS, fill_cells, &job));
    }
    return STAIR_OK;
}

static stair_status make_plane(stair_context *context, one_row *h, double slope, double fineness)
{
    double width = sqrt(h->variance[h->p - 1]) / slope, deviation = sqrt(h->variance[0]);
    double step = fmax(tuning.least_step, fmin(tuning.prior_step, tuning.width_step * width) / fineness);
    if (!h->flat && step * deviation >= tuning.least_fixed) return make_window(context, h, step * deviation);
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
    return stair_hd_follow_alike(level);
}

typedef struct {
    one_row *rule;
    size_t nodes;
    uint64_t seed;
} following_job;

static stair_status make_set(void *user, size_t number, int thread, stair_context *local)
{
    const following_job *job = user;
    one_row *h = job->rule;
    int set = (int)number;
    (void)thread;
    for (int level = 0; level < LEVELS; level++) {
        size_t all = job->nodes / (level ? (size_t)1 << (LEVELS - 1 - level) : tuning.look),
               few = all > STAIR_BLOCK ? all : STAIR_BLOCK;
        for (int half = 0; half < HALVES && set % alike(level) == 0; half++)
            STAIR_TRY(stair_hidden_nodes_lattice(local, h->dim, few,
                                                 job->seed + 1 + (uint64_t)(LEVELS * set + level), half,
                                                 &h->following[set][level][half]));
    }
    return STAIR_OK;
}

static stair_status make_following(stair_context *context, one_row *h, size_t nodes, uint64_t seed)
{
    following_job job = {h, nodes, seed};
    return stair_parallel(context, FOLLOWING_SETS, make_set, &job);
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

typedef struct {
    const one_row *rule;
    int half;
} table_job;

static stair_status fill_blocks(void *user, size_t block, int thread, stair_context *local)
{
    const table_job *job = user;
    const one_row *h = job->rule;
    size_t width = (size_t)(1 + h->m * h->m + h->dim) * STAIR_BLOCK, blocks = h->nodes[job->half].blocks;
    stair_last_row last;
    (void)thread;
    STAIR_TRY(stair_last_row_open(local, h->model, &last));
    for (size_t b = block * TABLE_BLOCKS; b < (block + 1) * TABLE_BLOCKS && b < blocks; b++)
        fill_block(h, &last, job->half, b, h->table[job->half] + b * width);
    stair_last_row_close(&last);
    return STAIR_OK;
}

static stair_status fill_table(stair_context *context, one_row *h, int half)
{
    size_t width = (size_t)(1 + h->m * h->m + h->dim) * STAIR_BLOCK, blocks = h->nodes[half].blocks;
    table_job job = {h, half};
    h->table[half] = malloc(blocks * width * sizeof(double));
    if (!h->table[half]) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    return stair_parallel(context, (blocks + TABLE_BLOCKS - 1) / TABLE_BLOCKS, fill_blocks, &job);
}

/* ---- backends --------------------------------------------------------------------------------- */

/* K and the density of a formula for T(u): as the model has them at the anchor, where T is one. */
static bool match_anchor(const stair_last_row *last, int rows, stair_mixing *mixing)
{
    double u[STAIR_LAST_ROOM], t[4 * STAIR_BLOCK], weight[STAIR_BLOCK], column[2][2] = {{1, 0}, {0, 1}};
    *mixing = (stair_mixing){.rows = rows,
                             .skip = mixing->skip,
                             .linear = mixing->linear,
                             .literal = mixing->literal,
                             .k = {1, 0, 0, 1},
                             .density = 1};
    for (int k = 0; k < last->dim; k++)
        for (int i = 0; i < STAIR_BLOCK; i++) u[k * STAIR_BLOCK + i] = last->anchor[k];
    stair_last_row_map(last, 1, u, t, weight);
    double density = stair_hd_unmix(mixing, rows, last->anchor, column[0]);
    stair_hd_unmix(mixing, rows, last->anchor, column[1]);
    double det = column[0][0] * column[1][1] - column[1][0] * column[0][1];
    mixing->k[0] = column[1][1] / det;
    mixing->k[1] = -column[1][0] / det;
    mixing->k[2] = -column[0][1] / det;
    mixing->k[3] = column[0][0] / det;
    mixing->density = weight[0] / density;
    return isfinite(det) && det != 0;
}

/* Whether the model's hidden layers are `mixing`, by trying; its constants. */
static bool find_mixing(const one_row *h, const stair_last_row *last, stair_mixing *mixing)
{
    double u[STAIR_LAST_ROOM], t[4 * STAIR_BLOCK], weight[STAIR_BLOCK], z[STAIR_LAST_HIDDEN];
    bool linear, literal;
    int rows = h->p - 1;
    if (h->m != 2 || rows > STAIR_MIXING_ROWS || !h->model->ops->mixing ||
        !h->model->ops->mixing(h->model, &mixing->skip, &linear, &literal))
        return false;
    mixing->linear = linear;
    mixing->literal = literal;
    if (!match_anchor(last, rows, mixing)) return false;
    for (int i = 0; i < STAIR_BLOCK; i++) {
        stair_rng_normals(9, STAIR_RNG_POINTS, (uint64_t)i, last->dim, z);
        for (int k = 0; k < last->dim; k++) u[k * STAIR_BLOCK + i] = z[k];
    }
    stair_last_row_map(last, STAIR_BLOCK, u, t, weight);
    for (int i = 0; i < STAIR_BLOCK; i++) {
        double x[2] = {0.7, -1.3}, want[2];
        for (int k = 0; k < last->dim; k++) z[k] = u[k * STAIR_BLOCK + i];
        for (int a = 0; a < 2; a++)
            want[a] = t[2 * a * STAIR_BLOCK + i] * x[0] + t[(2 * a + 1) * STAIR_BLOCK + i] * x[1];
        double is = stair_hd_unmix(mixing, rows, z, x), size = fabs(want[0]) + fabs(want[1]);
        if (!(fabs(is - weight[i]) <= tuning.alike * weight[i] &&
              fabs(x[0] - want[0]) + fabs(x[1] - want[1]) <= tuning.alike * size))
            return false;
    }
    return true;
}

/* Shows the nodes to the backend of the context. */
static stair_status offer(stair_context *context, one_row *h, const stair_last_row *last)
{
    const stair_backend *backend = context->backend;
    if (!backend || !backend->one_row) return STAIR_OK;
    stair_one_row_tables tables = {.shape = h->shape,
                                   .flat = h->flat,
                                   .half_inverse = 0.5 / h->variance[h->p - 1],
                                   .plane = h->plane[0].nodes ? h->plane : NULL,
                                   .reach = tuning.near_reach * sqrt(h->variance[0]),
                                   .following = h->follows ? h->following[0][0] : NULL,
                                   .agreed = tuning.agreed,
                                   .disagree = tuning.disagree};
    for (int row = 0; row < h->p - 1; row++) tables.deviation[row] = sqrt(h->variance[row]);
    for (int half = 0; half < HALVES; half++) {
        tables.blocks[half] = h->nodes[half].blocks;
        tables.table[half] = h->table[half];
        tables.place[half] = h->nodes[half].place;
        tables.measure[half] = h->nodes[half].log_measure;
    }
    tables.mixed = find_mixing(h, last, &tables.mixing);
    h->seam = backend->one_row;
    return h->seam->open(context, &tables, &h->kept);
}

static stair_status build(stair_context *context, one_row *h, double fineness, size_t nodes, uint64_t seed)
{
    stair_last_row last;
    double slope;
    STAIR_TRY(stair_last_row_open(context, h->model, &last));
    stair_last_row_slopes(&last, h->variance, &slope, &h->steepest);
    stair_status status = h->dim == 2  ? make_plane(context, h, slope, fineness)
                          : h->follows ? make_following(context, h, nodes, seed)
                                       : make_lattice(context, h, nodes, seed);
    for (int half = 0; half < HALVES && h->flat && status == STAIR_OK; half++)
        status = fill_table(context, h, half);
    if (status == STAIR_OK) status = offer(context, h, &last);
    stair_last_row_close(&last);
    return status;
}

static void destroy(void **state)
{
    one_row *h = *state;
    if (h->kept) h->seam->close(h->kept);
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

static bool is_kept(const void *state)
{
    return ((const one_row *)state)->kept;
}

static double steepest(const void *state)
{
    return ((const one_row *)state)->steepest;
}

/* ---- samples ---------------------------------------------------------------------------------- */

typedef struct {
    const one_row *rule;
    size_t n;
    const double *labels;
    double *anchors;
} anchor_job;

static stair_status anchor_block(void *user, size_t block, int thread, stair_context *local)
{
    const anchor_job *job = user;
    const one_row *h = job->rule;
    double omega[STAIR_MAX_CELLS] = {0};
    size_t end = (block + 1) * ANCHOR_SAMPLES < job->n ? (block + 1) * ANCHOR_SAMPLES : job->n;
    stair_fibre fibre;
    (void)thread;
    STAIR_TRY(stair_fibre_create(local, h->model, &fibre));
    stair_status status = STAIR_OK;
    for (size_t i = block * ANCHOR_SAMPLES; i < end && status == STAIR_OK; i++) {
        status = stair_fibre_open(local, job->labels + i * (size_t)h->model->info.label_size, omega, &fibre);
        if (status == STAIR_OK) stair_last_row_one(&fibre, h->m, h->anchor, job->anchors + i * (size_t)h->m);
    }
    stair_fibre_destroy(&fibre);
    return status;
}

/* anchors (n, M): the last row that gives the label when the hidden rows stand at the anchor. */
static stair_status find_anchors(stair_context *context, const one_row *h, size_t n, const double *labels,
                                 double *anchors)
{
    anchor_job job = {h, n, labels, anchors};
    return stair_parallel(context, (n + ANCHOR_SAMPLES - 1) / ANCHOR_SAMPLES, anchor_block, &job);
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
    double *samples, *sums;  /* of a backend: (n, 2M + dim), (n, halves, shape.sums), */
    size_t asked;            /* so many samples at a time */
    stair_follow *followers; /* (n), where nodes follow samples */
    stair_denoised *result;
} one_row_job;

static stair_one_row_sample sample_of(const one_row_job *job, size_t i)
{
    const one_row *h = job->rule;
    const double *omega = job->omega + i * (size_t)(h->p * h->m);
    stair_one_row_sample sample = {.half_inverse = 0.5 / h->variance[h->p - 1], .least = STAIR_ONE_ROW_LEAST};
    memcpy(sample.x, job->anchors + i * (size_t)h->m, sizeof(double) * (size_t)h->m);
    memcpy(sample.hidden, omega, sizeof(double) * (size_t)h->dim);
    memcpy(sample.omega, omega + h->dim, sizeof(double) * (size_t)h->m);
    return sample;
}

/* Near which nodes are looked for. */
static const double *drawn_of(const one_row_job *job, size_t i)
{
    return (job->drawn ? job->drawn : job->omega) + i * (size_t)(job->rule->p * job->rule->m);
}

/* Moments of sample i from its sums, those of all nodes filled in here. */
static void finish_sample(const one_row_job *job, size_t i, double (*sums)[STAIR_ONE_ROW_SUMS])
{
    const one_row *h = job->rule;
    size_t pm = (size_t)(h->p * h->m);
    for (int k = 0; k < h->shape.sums; k++) sums[0][k] = sums[1][k] + sums[2][k];
    for (int part = 0; part < STAIR_PARTS_OF_RULE; part++) {
        size_t at = i * STAIR_PARTS_OF_RULE + (size_t)part;
        finish_part(h, part ? 1 : 0.5, sums[part], job->result->logz + at, job->result->g + at * pm,
                    job->result->dg + at * pm * pm);
    }
}

/* The same from what a backend has summed. */
static void finish_kept(const one_row_job *job, size_t i)
{
    double sums[STAIR_PARTS_OF_RULE][STAIR_ONE_ROW_SUMS];
    size_t count = (size_t)job->rule->shape.sums;
    for (size_t half = 0; half < HALVES; half++)
        memcpy(sums[1 + half], job->sums + (HALVES * i + half) * count, count * sizeof(double));
    finish_sample(job, i, sums);
}

/* room: for bounds of cells, where nodes are a fixed plane. */
static stair_status evaluate_one(stair_context *local, const one_row_job *job, stair_fibre *fibre,
                                 double *room, size_t i)
{
    const one_row *h = job->rule;
    double sums[STAIR_PARTS_OF_RULE][STAIR_ONE_ROW_SUMS] = {0};
    stair_one_row_sample sample = sample_of(job, i);
    bool fixed = h->plane[0].nodes;
    if (!h->flat && !fixed) STAIR_TRY(stair_last_row_open_at(local, h->model, h->anchor, sample.x, fibre));
    if (h->follows) follow_sample(h, fibre, &sample, drawn_of(job, i), (int)(i % FOLLOWING_SETS), sums + 1);
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
    finish_sample(job, i, sums);
    return STAIR_OK;
}

static stair_status evaluate_block(void *user, size_t block, int thread, stair_context *local)
{
    const one_row_job *job = user;
    size_t end = (block + 1) * ONE_ROW_SAMPLES < job->n ? (block + 1) * ONE_ROW_SAMPLES : job->n;
    stair_fibre fibre;
    (void)thread;
    for (size_t i = block * ONE_ROW_SAMPLES; i < end && job->sums; i++) finish_kept(job, i);
    if (job->sums) return STAIR_OK;
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

static void pack_follower(const stair_one_row_follower *f, stair_follow *to)
{
    size_t dim = (size_t)f->dim, one = sizeof(double),
           bends = (size_t)(f->soft * (f->soft + 1) / 2 * (f->dim - f->soft));
    memcpy(to->centre, f->centre, dim * one);
    memcpy(to->root, f->root, dim * dim * one);
    memcpy(to->whiten, f->whiten, dim * dim * one);
    memcpy(to->bend, f->bend, bends * one);
    for (int row = 0; row < f->dim / 2; row++) to->inverse2[row] = f->inverse[2 * row] * f->inverse[2 * row];
    to->wider = f->wider;
    to->log_ratio = f->log_ratio;
}

/* Where the nodes of samples [from, end) go. */
static stair_status follow_samples(stair_context *local, const one_row_job *job, size_t from, size_t end)
{
    const one_row *h = job->rule;
    stair_fibre fibre;
    STAIR_TRY(stair_fibre_create(local, h->model, &fibre));
    stair_status status = STAIR_OK;
    for (size_t i = from; i < end && status == STAIR_OK; i++) {
        stair_one_row_sample sample = sample_of(job, i);
        stair_one_row_follower follower;
        status = stair_last_row_open_at(local, h->model, h->anchor, sample.x, &fibre);
        if (status != STAIR_OK) break;
        stair_one_row_follow(&fibre, &sample, h->dim, h->m, h->variance, drawn_of(job, i), &follower);
        pack_follower(&follower, &job->followers[i]);
    }
    stair_fibre_destroy(&fibre);
    return status;
}

/* The sums of some samples by the backend: while a thread waits for them others look where nodes go. */
static stair_status ask_block(void *user, size_t block, int thread, stair_context *local)
{
    const one_row_job *job = user;
    const one_row *h = job->rule;
    size_t m = (size_t)h->m, dim = (size_t)h->dim, size = 2 * m + dim, from = block * job->asked,
           end = from + job->asked < job->n ? from + job->asked : job->n;
    (void)thread;
    for (size_t i = from; i < end; i++) {
        double *to = job->samples + i * size;
        memcpy(to, job->anchors + i * m, m * sizeof(double));
        memcpy(to + m, job->omega + i * (dim + m) + dim, m * sizeof(double));
        memcpy(to + 2 * m, job->omega + i * (dim + m), dim * sizeof(double));
    }
    if (h->follows) STAIR_TRY(follow_samples(local, job, from, end));
    return h->seam->sums(local, h->kept, end - from, job->samples + from * size,
                         h->follows ? job->followers + from : NULL,
                         job->sums + from * HALVES * (size_t)h->shape.sums);
}

/* Samples of one question to a backend: all, or, where it takes time to find what they follow, a few for each
 * thread, whole rounds of the sets of nodes. */
static size_t asked_at_once(const stair_context *context, const one_row *h, size_t n)
{
    size_t each = n / (size_t)(tuning.questions * context->threads) + 1;
    return h->follows ? (each + FOLLOWING_SETS - 1) / FOLLOWING_SETS * FOLLOWING_SETS : n;
}

/* The sums of all samples by the backend. */
static stair_status ask_backend(stair_context *context, one_row_job *job)
{
    const one_row *h = job->rule;
    size_t size = 2 * (size_t)h->m + (size_t)h->dim;
    job->samples = malloc(job->n * (size + HALVES * (size_t)h->shape.sums) * sizeof(double));
    if (h->follows) job->followers = malloc(job->n * sizeof *job->followers);
    if (!job->samples || (h->follows && !job->followers))
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    job->sums = job->samples + job->n * size;
    job->asked = asked_at_once(context, h, job->n);
    return stair_parallel(context, (job->n + job->asked - 1) / job->asked, ask_block, job);
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
    stair_status status = h->kept ? ask_backend(context, &job) : STAIR_OK;
    if (status == STAIR_OK)
        status = stair_denoised_share(context, h->model, ONE_ROW_SAMPLES, STAIR_PARTS_OF_RULE, evaluate_block,
                                      &job, n, result);
    free(job.samples);
    free(job.followers);
    return status;
}

const stair_denoiser_rule stair_denoiser_one_row = {.name = "one-row",
                                                    .fits = fits,
                                                    .create = create,
                                                    .destroy = destroy,
                                                    .random = is_random,
                                                    .kept = is_kept,
                                                    .steepest = steepest,
                                                    .evaluate = evaluate,
                                                    .by_sample = true};
