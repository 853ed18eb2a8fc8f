/* Given a label x and the mean omega of the last row, the posterior for hidden means nu_j is a sum over
 * hidden nodes u_n
 *
 *   S_k(j) = sum_n K_n phi_k(n) A_n(j),   K_n = weight(u_n) N(+-T(u_n) x; omega, v),   A_n(j) = N(u_n; nu_j,
 * V),
 *
 * with phi = 1, the residual of the last row and u: a matrix product.  K costs an exponential for every node
 * that counts; A is one table for all labels; so a posterior comes at a few multiplications a node, in single
 * precision.
 *
 * One hidden row of two tokens: equidistant nodes and equidistant means, exact beyond all powers once they
 * resolve the posterior.  Replicates are interlaced.  More rows: nodes are two randomly shifted lattices, and
 * the bias of order 1/nodes that a ratio of sums has is taken out as in one_row.c; means are a short lattice
 * of its own random shift for every label, so that each label's average is free of bias and the errors of
 * labels go down together. */
#include "average/hidden_means.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "posterior/denoiser.h"
#include "average/hidden_means_seam.h"
#include "posterior/hidden_nodes.h"
#include "model/last_row.h"
#include "core/isa.h"
#include "core/matrix.h"
#include "core/ranks.h"
#include "core/qmc.h"
#include "core/rng.h"

#define NODE_SETS 16 /* of random nodes, so that their errors go down together as well */
#define HALVES    STAIR_HIDDEN_HALVES

static const struct {
    double reach;      /* standard deviations that nodes cover, */
    double mean_reach; /* and means */
    double prior_step; /* of nodes, in units of the hidden standard deviation, per fineness, */
    double width_step; /* and of the width sqrt(v) / |dw/du| */
    double mean_step;  /* of means, in units of sqrt(q V) */
    double wider;      /* nodes than the distribution: second moments have long tails */
    int most_flips;   /* signs of rows that a node stands for; lattices have that of all rows together already
                       */
    float negligible; /* exponents that far below the largest do not count, */
    float random_negligible; /* and beside the noise of random nodes */
    size_t most_table;       /* floats of A */
    double least_last;       /* v of the last row below which nodes and labels are too many, */
    double least_random;     /* or random nodes near enough to the label too few: samples are cheaper */
    double least_hidden;     /* v of a hidden row below which few random nodes would be near its mean */
    double less;             /* of the fineness, until the table is not too large: the error shows it */
    float least_prior;       /* A below does not count */
    int labels;              /* of one piece of work */
    size_t asked_floats;     /* of sums that a backend is asked for at a time */
} tuning = {.reach = 5.0,
            .mean_reach = 4.5,
            .prior_step = 0.9,
            .width_step = 1.15,
            .mean_step = 0.65,
            .wider = 1.2,
            .most_flips = 4,
            .negligible = 14.0f,
            .random_negligible = 10.0f,
            .most_table = ((size_t)16 << 20),
            .least_last = 2.5e-3,
            .least_random = 5e-3,
            .least_hidden = 0.1,
            .less = 0.95,
            .least_prior = 1e-6f,
            .labels = 16,
            .asked_floats = (size_t)32 << 20};

STAIR_HOT_TABLE(float, stair_means_exponents,
                (const stair_means_nodes *nodes, const stair_means_label *label, float *exponent));
STAIR_HOT_TABLE(size_t, stair_means_select,
                (size_t count, const float *exponent, float least, uint32_t *list));
STAIR_HOT_TABLE(void, stair_means_carry,
                (const stair_means_shape *shape, const stair_means_nodes *nodes,
                 const stair_means_label *label, float top, size_t n, const uint32_t *list, float *carried));
STAIR_HOT_TABLE(void, stair_means_priors,
                (int dims, const int *axis, const float *base, size_t means, const float *omega,
                 const float *constant, const stair_means_nodes *nodes, size_t n, const uint32_t *list,
                 float *prior));
STAIR_HOT_TABLE(size_t, stair_means_near,
                (size_t n, const uint32_t *list, const uint8_t *near, uint32_t *places));
STAIR_HOT_TABLE(void, stair_means_product,
                (int sums, size_t n, const uint32_t *places, const uint32_t *list, const float *carried,
                 const float *prior, float *out));

struct stair_hidden_means {
    int p, dim, halves;
    bool random;                        /* nodes and means are lattices */
    double variance[STAIR_MAX_INDICES]; /* of each row, prenoise included */
    double q[STAIR_MAX_INDICES];
    double steepest;
    uint64_t seed;
    stair_means_shape shape;
    int sets;                           /* of nodes; each label has one of them */
    stair_means_nodes nodes[NODE_SETS]; /* of both halves, one after the other */
    size_t half;                        /* nodes of the first */
    float *node_memory;
    float *base[NODE_SETS];          /* (nodes): the part of log A that is the node's alone */
    int dims, axis[STAIR_MEANS_DIM]; /* coordinates of hidden rows with overlap */
    int flips;                       /* signs of these rows that each random node stands for */
    int flipped[STAIR_MEANS_SUMS];   /* the bit of a flip that turns the sign of each sum, or 0 */
    size_t means, room;              /* and rounded up to whole spans */
    double *mean;                    /* (dims, room) */
    double *share;                   /* (room): zero beyond `means` */
    float *table;                    /* not random: A (room / span, nodes, span) */
    uint8_t *near;                   /* (room / span, nodes): whether A counts for some mean of the span */
    const stair_means_seam *seam;    /* of a backend that has nodes and means, and what it has; or NULL */
    void *kept;
};

/* ---- where it fits ---------------------------------------------------------------------------- */

/* Two hidden tokens: about how many entries the table of A has at the least fineness that is trusted. */
static double table_estimate(double hidden, double last)
{
    double node = fmin(tuning.prior_step * tuning.prior_step * hidden,
                       tuning.width_step * tuning.width_step * last),
           mean = tuning.mean_step * tuning.mean_step * hidden;
    return M_PI * tuning.reach * tuning.reach / node * 0.5 * M_PI * tuning.mean_reach * tuning.mean_reach /
           mean;
}

bool stair_hidden_means_fit(const stair_structure *structure, const double *q)
{
    const stair_model *model = structure->model;
    int p = model->info.indices, dim = 2 * (p - 1);
    bool known = false;
    if (model->info.tokens != 2 || p < 2 || dim > STAIR_MEANS_DIM) return false;
    if (!stair_matrix_is_diagonal(p, q)) return false;
    double last = 1 - q[p * p - 1] + model->info.prenoise, hidden = 1;
    for (int i = 0; i < p - 1; i++) {
        known |= q[i * (p + 1)] > 0;
        hidden = fmin(hidden, 1 - q[i * (p + 1)] + model->info.prenoise);
    }
    bool few = structure->many_hidden ? last > tuning.least_random && hidden > tuning.least_hidden
                                      : known && table_estimate(hidden, last) < (double)tuning.most_table / 2;
    return q[p * p - 1] > 0 && last > tuning.least_last && few && structure->last_row;
}

/* ---- nodes ------------------------------------------------------------------------------------ */

static stair_status reserve_nodes(stair_context *context, stair_hidden_means *h, int sets, size_t count)
{
    size_t arrays = (size_t)(1 + 4 + h->dim + 1);
    count = (count + STAIR_MEANS_SPAN - 1) / STAIR_MEANS_SPAN * STAIR_MEANS_SPAN;
    h->sets = sets;
    float *at = h->node_memory = calloc((size_t)sets * count * arrays, sizeof(float));
    if (!at) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (int k = 0; k < sets; k++, at += count) {
        stair_means_nodes *nodes = &h->nodes[k];
        nodes->count = count;
        nodes->log_weight = at;
        for (size_t i = 0; i < count; i++) at[i] = -1e30f;
        for (int c = 0; c < 4; c++) nodes->t[c] = at += count;
        for (int c = 0; c < h->dim; c++) nodes->u[c] = at += count;
        h->base[k] = at += count;
    }
    return STAIR_OK;
}

/* T and weights of the nodes [first, first + n), which have their u. */
static void map_nodes(const stair_last_row *last, size_t first, size_t n, double log_measure,
                      stair_means_nodes *nodes)
{
    double u[STAIR_MEANS_DIM * STAIR_BLOCK], t[4 * STAIR_BLOCK], weight[STAIR_BLOCK];
    for (size_t i = 0; i < n; i += STAIR_BLOCK) {
        size_t few = n - i < STAIR_BLOCK ? n - i : STAIR_BLOCK;
        for (size_t c = 0; c < (size_t)last->dim; c++)
            for (size_t k = 0; k < STAIR_BLOCK; k++)
                u[c * STAIR_BLOCK + k] = (double)nodes->u[c][first + i + (k < few ? k : 0)];
        stair_last_row_map(last, STAIR_BLOCK, u, t, weight);
        for (size_t k = 0; k < few; k++) {
            nodes->log_weight[first + i + k] = (float)(log(weight[k]) + log_measure);
            for (size_t c = 0; c < 4; c++) nodes->t[c][first + i + k] = (float)t[c * STAIR_BLOCK + k];
        }
    }
}

/* of nodes; |dw/du| is in units of the hidden standard deviation */
static double node_step(const stair_hidden_means *h, double slope)
{
    double width = sqrt(h->variance[h->p - 1]) / slope;
    return fmin(tuning.prior_step, tuning.width_step * width) * sqrt(h->variance[0]);
}

static double mean_step(const stair_hidden_means *h)
{
    return tuning.mean_step * sqrt(h->q[0] * h->variance[0] / (h->q[0] + h->variance[0]));
}

static size_t table_size(const stair_hidden_means *h, double slope, double fineness)
{
    return stair_hidden_disc(tuning.reach * sqrt(h->q[0] + h->variance[0]), node_step(h, slope) / fineness, 0,
                             false, 0, NULL, NULL, NULL) *
           stair_hidden_disc(tuning.mean_reach * sqrt(h->q[0]), mean_step(h) / fineness, 0, true, 0, NULL,
                             NULL, NULL);
}

static stair_status make_plane(stair_context *context, stair_hidden_means *h, const stair_last_row *last,
                               double slope, double fineness, double offset)
{
    double step = node_step(h, slope) / fineness, radius = tuning.reach * sqrt(h->q[0] + h->variance[0]);
    size_t n = stair_hidden_disc(radius, step, offset, false, 0, NULL, NULL, NULL);
    double *room = malloc(3 * n * sizeof(double));
    if (!room) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_hidden_disc(radius, step, offset, false, n, room, room + n, room + 2 * n);
    stair_status status = reserve_nodes(context, h, 1, n);
    for (size_t i = 0; i < n && status == STAIR_OK; i++) {
        h->nodes[0].u[0][i] = (float)room[i];
        h->nodes[0].u[1][i] = (float)room[n + i];
    }
    free(room);
    if (status == STAIR_OK)
        map_nodes(last, 0, n, 2 * log(step) - log(2 * M_PI * h->variance[0]), &h->nodes[0]);
    h->half = h->nodes[0].count;
    return status;
}

/* u from N(0, 1 + prenoise), widened, for every row; A corrects for that and for the prior that a mean
 * leaves. */
static void make_lattice(stair_hidden_means *h, const stair_last_row *last, int set, size_t half,
                         size_t nodes)
{
    double shift[STAIR_MEANS_DIM], x[STAIR_MEANS_DIM];
    stair_rng_uniforms(h->seed + 77, STAIR_RNG_SHIFT, HALVES * (uint64_t)set + half, h->dim, shift);
    for (size_t i = half * nodes; i < (half + 1) * nodes; i++) {
        stair_qmc_point(h->dim, nodes, i - half * nodes, shift, x);
        for (int c = 0; c < h->dim; c++) {
            double v = h->variance[c / 2], wide = (h->q[c / 2] + v) * tuning.wider * tuning.wider,
                   u = sqrt(wide) * stair_qmc_normal(x[c]);
            h->nodes[set].u[c][i] = (float)u;
            h->base[set][i] += (float)(0.5 * u * u * (1 / wide - 1 / v) + 0.5 * log(wide / v));
        }
    }
    map_nodes(last, half * nodes, nodes, -log((double)nodes), &h->nodes[set]);
}

typedef struct {
    stair_hidden_means *means;
    const stair_model *model;
} lattice_job;

/* Maps have room of their own: each piece of work opens the model's. */
static stair_status lattice_block(void *user, size_t set, int thread, stair_context *local)
{
    const lattice_job *job = user;
    stair_last_row last;
    (void)thread;
    STAIR_TRY(stair_last_row_open(local, job->model, &last));
    for (size_t half = 0; half < HALVES; half++)
        make_lattice(job->means, &last, (int)set, half, job->means->half);
    stair_last_row_close(&last);
    return STAIR_OK;
}

static stair_status make_lattices(stair_context *context, const stair_model *model, stair_hidden_means *h,
                                  size_t nodes)
{
    lattice_job job = {h, model};
    STAIR_TRY(reserve_nodes(context, h, NODE_SETS, HALVES * nodes));
    h->half = nodes;
    return stair_parallel(context, NODE_SETS, lattice_block, &job);
}

/* ---- means of the hidden rows ----------------------------------------------------------------- */

static stair_status reserve_means(stair_context *context, stair_hidden_means *h, size_t means)
{
    h->means = means;
    h->room = (means + STAIR_MEANS_SPAN - 1) / STAIR_MEANS_SPAN * STAIR_MEANS_SPAN;
    h->mean = calloc((size_t)(h->dims + 1) * h->room, sizeof(double));
    if (!h->mean) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    h->share = h->mean + (size_t)h->dims * h->room;
    return STAIR_OK;
}

/* A of one span of means. */
static stair_status fill_span(void *user, size_t span, int thread, stair_context *local)
{
    stair_hidden_means *h = user;
    size_t count = h->nodes[0].count, j = span * STAIR_MEANS_SPAN;
    double inverse = 0.5 / h->variance[0];
    float *at = h->table + j * count;
    uint8_t *near = h->near + span * count;
    (void)thread, (void)local;
    for (size_t i = 0; i < count; i++, near++) {
        *near = 0;
        for (size_t k = 0; k < STAIR_MEANS_SPAN; k++, at++) {
            double a = (double)h->nodes[0].u[0][i] - h->mean[j + k],
                   b = (double)h->nodes[0].u[1][i] - h->mean[h->room + j + k];
            *at = j + k < h->means ? (float)exp(-inverse * (a * a + b * b)) : 0;
            *near |= *at > tuning.least_prior;
        }
    }
    return STAIR_OK;
}

static stair_status fill_table(stair_context *context, stair_hidden_means *h)
{
    size_t count = h->nodes[0].count, size = count * h->room;
    h->table = malloc(size * sizeof(float));
    h->near = malloc(size / STAIR_MEANS_SPAN);
    if (!h->table || !h->near) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    return stair_parallel(context, h->room / STAIR_MEANS_SPAN, fill_span, h);
}

static stair_status make_means(stair_context *context, stair_hidden_means *h, double fineness, double offset)
{
    double q = h->q[0], step = mean_step(h) / fineness, radius = tuning.mean_reach * sqrt(q);
    STAIR_TRY(reserve_means(context, h, stair_hidden_disc(radius, step, offset, true, 0, NULL, NULL, NULL)));
    double *x = h->mean, *y = h->mean + h->room;
    stair_hidden_disc(radius, step, offset, true, h->means, x, y, h->share);
    for (size_t j = 0; j < h->means; j++)
        h->share[j] *= exp(-0.5 * (x[j] * x[j] + y[j] * y[j]) / q) / (2 * M_PI * q);
    return STAIR_OK;
}

static stair_status make_few_means(stair_context *context, stair_hidden_means *h)
{
    STAIR_TRY(reserve_means(context, h, h->dims ? (size_t)(STAIR_MEANS_SPAN / h->flips) : 1));
    for (size_t j = 0; j < h->means; j++) h->share[j] = 1.0 / (double)h->means;
    return STAIR_OK;
}

/* The lattice of means of one label: mean (dims, room), and for A in the units of stair_means_priors. Returns
 * which nodes go with it. */
static int shift_means(const stair_hidden_means *h, uint64_t key, double *mean, float *scaled,
                       float *constant)
{
    double shift[STAIR_MEANS_DIM + 1], x[STAIR_MEANS_DIM];
    stair_rng_uniforms(h->seed + 78, STAIR_RNG_SHIFT, key, h->dims + 1, shift);
    for (size_t j = 0; j < h->room; j++) {
        double square = 0;
        if (h->dims) stair_qmc_even_point(h->dims, h->means, j % h->means, shift, x);
        for (int d = 0; d < h->dims; d++) {
            int row = h->axis[d] / 2;
            double value = sqrt(h->q[row]) * stair_qmc_normal(x[d]);
            bool turned = (int)(j / h->means) % h->flips >> d / 2 & 1;
            mean[(size_t)d * h->room + j] = value;
            scaled[(size_t)d * h->room + j] = (float)((turned ? -value : value) / h->variance[row]);
            square += value * value / h->variance[row];
        }
        constant[j] = (float)(-0.5 * square);
    }
    return (int)(shift[h->dims] * h->sets);
}

/* ---- making ----------------------------------------------------------------------------------- */

static void set_shape(stair_hidden_means *h)
{
    h->shape = (stair_means_shape){.dim = h->dim, .sums = 3};
    for (int row = 0; row < h->p - 1; row++) {
        h->shape.known[row] = h->q[row] > 0;
        for (int t = 0; t < 2 && h->shape.known[row]; t++) {
            h->flipped[h->shape.sums + t] = 1 << h->dims / 2;
            h->axis[h->dims++] = 2 * row + t;
        }
        h->shape.sums += h->shape.known[row] ? 2 : 3;
    }
    for (h->flips = 1; h->random && h->flips < tuning.most_flips && 2 * h->flips < 1 << h->dims / 2;)
        h->flips *= 2;
}

static float negligible(const stair_hidden_means *h)
{
    return h->random ? tuning.random_negligible : tuning.negligible;
}

/* Shows nodes and means to the backend of the context. */
static stair_status offer(stair_context *context, stair_hidden_means *h)
{
    const stair_backend *backend = context->backend;
    if (!backend || !backend->means) return STAIR_OK;
    stair_means_tables tables = {.shape = &h->shape,
                                 .random = h->random,
                                 .sets = h->sets,
                                 .nodes = h->nodes,
                                 .base = h->base,
                                 .halves = h->halves,
                                 .half = h->half,
                                 .dims = h->dims,
                                 .axis = h->axis,
                                 .means = h->means,
                                 .room = h->room,
                                 .mean = h->mean,
                                 .inverse = 0.5 / h->variance[0],
                                 .negligible = negligible(h),
                                 .least_prior = tuning.least_prior};
    h->seam = backend->means;
    return h->seam->open(context, &tables, &h->kept);
}

static stair_status build(stair_context *context, const stair_model *model, stair_hidden_means *h,
                          double fineness, size_t nodes, int replicate)
{
    stair_last_row last;
    double slope, offset = 0.5 * (replicate % 2);
    STAIR_TRY(stair_last_row_open(context, model, &last));
    stair_last_row_slopes(&last, h->variance, &slope, &h->steepest);
    while (!h->random && table_size(h, slope, fineness) > tuning.most_table) fineness *= tuning.less;
    stair_status status = h->random ? make_lattices(context, model, h, nodes)
                                    : make_plane(context, h, &last, slope, fineness, offset);
    stair_last_row_close(&last);
    if (status != STAIR_OK) return status;
    STAIR_TRY(h->random ? make_few_means(context, h) : make_means(context, h, fineness, offset));
    STAIR_TRY(offer(context, h));
    return h->random || h->kept ? STAIR_OK : fill_table(context, h);
}

stair_status stair_hidden_means_create(stair_context *context, const stair_structure *structure,
                                       const double *q, double fineness, size_t nodes, uint64_t seed,
                                       int replicate, stair_hidden_means **means)
{
    const stair_model *model = structure->model;
    int p = model->info.indices;
    stair_hidden_means *h = *means = calloc(1, sizeof *h);
    if (!h) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *h = (stair_hidden_means){.p = p, .dim = 2 * (p - 1), .seed = seed + 1000 * (uint64_t)replicate};
    for (int i = 0; i < p; i++) {
        h->q[i] = q[i * (p + 1)];
        h->variance[i] = 1 - h->q[i] + model->info.prenoise;
    }
    h->random = structure->many_hidden;
    h->halves = h->random ? HALVES : 1;
    set_shape(h);
    stair_status status = build(context, model, h, fineness, nodes, replicate);
    if (status != STAIR_OK) stair_hidden_means_destroy(means);
    return status;
}

void stair_hidden_means_destroy(stair_hidden_means **means)
{
    if (!*means) return;
    if ((*means)->kept) (*means)->seam->close((*means)->kept);
    free((*means)->node_memory);
    free((*means)->mean);
    free((*means)->table);
    free((*means)->near);
    free(*means);
    *means = NULL;
}

double stair_hidden_means_steepest(const stair_hidden_means *h)
{
    return h->steepest;
}

/* ---- labels ----------------------------------------------------------------------------------- */

typedef struct {
    double *mean;     /* (dims, room) of this label */
    double *dg;       /* (PM, PM): zero but for rows without overlap */
    double *features; /* (count) */
    float *exponent, *carried, *prior, *scaled, *constant,
        *sums; /* sums: (halves, room / span, sums, span) */
    uint32_t *list, *places;
} means_room;

typedef struct {
    const stair_hidden_means *means;
    const stair_average *outer;
    const stair_subspace *rest;
    size_t n;
    const double *anchors, *omega;
    const uint64_t *keys;
    stair_mean_values *values;
    means_room *room;        /* per thread */
    size_t first, asked_for; /* labels that a backend has summed, and those that are worked on: */
    stair_means_asked asked; /* what it was asked, and has said */
    double *mean;            /* random: (asked_for, dims, room) */
} means_job;

static stair_means_label label_of(const means_job *job, size_t i)
{
    double v = job->means->variance[job->means->p - 1];
    return (stair_means_label){.x = {(float)job->anchors[2 * i], (float)job->anchors[2 * i + 1]},
                               .omega = {(float)job->omega[2 * i], (float)job->omega[2 * i + 1]},
                               .half_inverse = (float)(0.5 / v)};
}

/* Of the density, once the largest exponent is taken out of the sums. */
static double log_factor_of(const stair_hidden_means *h, float top)
{
    return (double)top - log(2 * M_PI * h->variance[h->p - 1]) + log(0.5);
}

/* The sums of one label for all hidden means; the logarithm of their common factor is returned. */
static double add_up(const stair_hidden_means *h, const means_job *job, size_t i, means_room *room)
{
    int isa = stair_isa(), sums = h->shape.sums;
    stair_means_label label = label_of(job, i);
    int set = h->random ? shift_means(h, job->keys[i], room->mean, room->scaled, room->constant) : 0;
    const stair_means_nodes *nodes = &h->nodes[set];
    float top = stair_means_exponents_table[isa](nodes, &label, room->exponent);
    for (int half = 0; half < h->halves; half++) {
        size_t from = half ? h->half : 0, count = half ? nodes->count - h->half : h->half;
        size_t n =
            stair_means_select_table[isa](count, room->exponent + from, top - negligible(h), room->list);
        for (size_t k = 0; k < n; k++) room->list[k] += (uint32_t)from;
        stair_means_carry_table[isa](&h->shape, nodes, &label, top, n, room->list, room->carried);
        if (h->random)
            stair_means_priors_table[isa](h->dims, h->axis, h->base[set], h->room, room->scaled,
                                          room->constant, nodes, n, room->list, room->prior);
        for (size_t j = 0; j < h->room; j += STAIR_MEANS_SPAN) {
            float *out = room->sums + ((size_t)half * h->room + j) * (size_t)sums;
            if (h->random) {
                stair_means_product_table[isa](sums, n, NULL, NULL, room->carried, room->prior + j * n, out);
                continue;
            }
            size_t few = stair_means_near_table[isa](
                n, room->list, h->near + j / STAIR_MEANS_SPAN * nodes->count, room->places);
            stair_means_product_table[isa](sums, few, room->places, room->list, room->carried,
                                           h->table + j * nodes->count, out);
        }
    }
    return log_factor_of(h, top);
}

/* g (PM) and, of rows without overlap, dg (PM, PM) of hidden mean j from its sums; false where there are
 * none. */
static bool finish(const stair_hidden_means *h, const double *sums, const double *mean, size_t j, double *g,
                   double *dg)
{
    int pm = 2 * h->p, at = 1;
    double v = h->variance[h->p - 1];
    if (!(sums[0] > 1e-30)) return false;
    for (int t = 0; t < 2; t++) g[2 * (h->p - 1) + t] = sums[at++] / sums[0] / v;
    for (int row = 0, d = 0; row < h->p - 1; row++) {
        double w = h->variance[row];
        if (h->shape.known[row]) {
            for (int t = 0; t < 2; t++, d++)
                g[2 * row + t] = (sums[at++] / sums[0] - mean[(size_t)d * h->room + j]) / w;
            continue;
        }
        double *block = dg + 2 * row * (pm + 1);
        g[2 * row] = g[2 * row + 1] = 0;
        block[0] = sums[at++] / sums[0] / (w * w) - 1 / w;
        block[1] = block[pm] = sums[at++] / sums[0] / (w * w);
        block[pm + 1] = sums[at++] / sums[0] / (w * w) - 1 / w;
    }
    return true;
}

/* Adds hidden mean j with weight `share` of the density; part 0: both halves. */
static void add_mean(const means_job *job, size_t i, size_t j, const double *mean, double share, int part,
                     const double *sums, double log_factor, means_room *room)
{
    const stair_hidden_means *h = job->means;
    double g[STAIR_MAX_CELLS], strength = 1;
    if (!finish(h, sums, mean, j, g, room->dg)) return;
    double mass = share * sums[0], correct = stair_part_share(h->random, part);
    for (int c = 0; c < 2 * h->p; c++) strength += g[c] * g[c] * h->variance[c / 2];
    stair_average_features(job->outer, job->rest, 2, log(sums[0]) + log_factor, g, room->dg, room->features);
    job->values->mass[i] += correct * mass;
    if (part == 0) job->values->counts[i] += mass * strength;
    job->values->bias[i] += (correct - (part == 0)) * mass * strength;
    double *total = job->values->features + i * (size_t)job->outer->count;
    for (int c = 0; c < job->outer->count; c++) total[c] += correct * mass * room->features[c];
}

/* The sums of hidden mean j: T(u) is even in every row, so a node with rows turned and the mean as it is are
 * the node as it is and the mean turned. */
static void read_sums(const stair_hidden_means *h, const float *sums, int half, size_t j, double *total)
{
    for (int s = 0; s < h->shape.sums; s++) {
        total[s] = 0;
        for (int flip = 0; flip < h->flips; flip++) {
            size_t at = j + (size_t)flip * h->means, span = at / STAIR_MEANS_SPAN * STAIR_MEANS_SPAN;
            double sum = (double)sums[((size_t)half * h->room + span) * (size_t)h->shape.sums +
                                      (size_t)s * STAIR_MEANS_SPAN + at % STAIR_MEANS_SPAN];
            total[s] += (flip & h->flipped[s] ? -sum : sum) / h->flips;
        }
    }
}

/* Averages label i over hidden means: mean (dims, room), and what was summed for them. */
static void finish_label(const means_job *job, size_t i, const double *mean, const float *summed,
                         double log_factor, means_room *room)
{
    const stair_hidden_means *h = job->means;
    int sums = h->shape.sums, count = job->outer->count;
    double total[3][STAIR_MEANS_SUMS], factor = exp(log_factor);
    job->values->mass[i] = job->values->counts[i] = job->values->bias[i] = 0;
    memset(job->values->features + i * (size_t)count, 0, sizeof(double) * (size_t)count);
    for (size_t j = 0; j < h->means; j++) {
        for (int half = 0; half < h->halves; half++) read_sums(h, summed, half, j, total[1 + half]);
        if (!h->random) {
            add_mean(job, i, j, mean, h->share[j] * factor, 0, total[1], log_factor, room);
            continue;
        }
        for (int s = 0; s < sums; s++) total[0][s] = 0.5 * (total[1][s] + total[2][s]);
        for (int part = 0; part <= HALVES; part++)
            add_mean(job, i, j, mean, h->share[j] * factor, part, total[part], log_factor, room);
    }
}

static void one_label(const means_job *job, size_t i, means_room *room)
{
    const stair_hidden_means *h = job->means;
    double log_factor = add_up(h, job, i, room);
    finish_label(job, i, h->random ? room->mean : h->mean, room->sums, log_factor, room);
}

static stair_status label_block(void *user, size_t block, int thread, stair_context *local)
{
    const means_job *job = user;
    (void)local;
    for (size_t i = block * tuning.labels; i < (block + 1) * tuning.labels && i < job->n; i++)
        one_label(job, i, &job->room[thread]);
    return STAIR_OK;
}

/* ---- by a backend ----------------------------------------------------------------------------- */

/* Floats that label k of those asked for has in what is summed. */
static size_t summed_size(const stair_hidden_means *h)
{
    return (size_t)h->halves * h->room * (size_t)h->shape.sums;
}

static stair_status prepare_block(void *user, size_t block, int thread, stair_context *local)
{
    means_job *job = user;
    const stair_hidden_means *h = job->means;
    size_t size = (size_t)h->dims * h->room;
    (void)thread, (void)local;
    for (size_t k = block * tuning.labels; k < (block + 1) * tuning.labels && k < job->asked_for; k++) {
        ((stair_means_label *)job->asked.label)[k] = label_of(job, job->first + k);
        if (h->random)
            ((int *)job->asked.set)[k] = shift_means(h, job->keys[job->first + k], job->mean + k * size,
                                                     (float *)job->asked.scaled + k * size,
                                                     (float *)job->asked.constant + k * h->room);
    }
    return STAIR_OK;
}

static stair_status finish_block(void *user, size_t block, int thread, stair_context *local)
{
    const means_job *job = user;
    const stair_hidden_means *h = job->means;
    (void)local;
    for (size_t k = block * tuning.labels; k < (block + 1) * tuning.labels && k < job->asked_for; k++)
        finish_label(job, job->first + k, h->random ? job->mean + k * (size_t)h->dims * h->room : h->mean,
                     job->asked.sums + k * summed_size(h), log_factor_of(h, job->asked.top[k]),
                     &job->room[thread]);
    return STAIR_OK;
}

/* All labels, `most` at a time: every rank has all of them, for sums cost next to nothing there. */
static stair_status ask_backend(stair_context *context, means_job *job, size_t most)
{
    const stair_hidden_means *h = job->means;
    for (job->first = 0; job->first < job->n; job->first += most) {
        job->asked_for = job->asked.n = job->n - job->first < most ? job->n - job->first : most;
        size_t blocks = (job->asked_for + tuning.labels - 1) / tuning.labels;
        STAIR_TRY(stair_parallel(context, blocks, prepare_block, job));
        STAIR_TRY(h->seam->sums(context, h->kept, &job->asked));
        STAIR_TRY(stair_parallel(context, blocks, finish_block, job));
    }
    return STAIR_OK;
}

static stair_status by_backend(stair_context *context, means_job *job)
{
    const stair_hidden_means *h = job->means;
    size_t most = tuning.asked_floats / summed_size(h), each = h->random ? h->room : 0,
           dims = (size_t)h->dims;
    if (most > job->n) most = job->n;
    if (most < 1) most = 1;
    stair_means_label *label = malloc(most * sizeof *label);
    int *set = malloc(most * sizeof *set);
    double *mean = job->mean = malloc((most * each * dims + 1) * sizeof *mean);
    float *floats = malloc(most * (each * (dims + 1) + 1 + summed_size(h)) * sizeof *floats);
    stair_status status = STAIR_OK;
    if (label && set && mean && floats) {
        job->asked = (stair_means_asked){.label = label, .set = set, .scaled = floats};
        job->asked.constant = floats + most * each * dims;
        job->asked.top = floats + most * each * (dims + 1);
        job->asked.sums = job->asked.top + most;
        status = ask_backend(context, job, most);
    } else
        status = stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    free(label);
    free(set);
    free(mean);
    free(floats);
    return status;
}

static void free_rooms(int width, means_room *room)
{
    for (int t = 0; room && t < width; t++) {
        free(room[t].mean);
        free(room[t].dg);
        free(room[t].exponent);
        free(room[t].list);
    }
    free(room);
}

static means_room *make_rooms(const stair_hidden_means *h, int width, size_t numbers)
{
    size_t count = h->nodes[0].count, sums = (size_t)h->shape.sums, dims = (size_t)h->dims,
           pm = 2 * (size_t)h->p;
    means_room *room = calloc((size_t)width, sizeof *room);
    for (int t = 0; room && t < width; t++) {
        room[t].mean = malloc((dims + 1) * h->room * sizeof(double));
        room[t].dg = calloc(pm * pm + numbers, sizeof(double));
        room[t].exponent =
            malloc((count * (1 + sums + (h->random ? h->room : 0)) + h->room * (1 + dims + HALVES * sums)) *
                   sizeof(float));
        room[t].list = malloc(2 * (count + STAIR_MEANS_SPAN) * sizeof(uint32_t));
        if (!room[t].mean || !room[t].dg || !room[t].exponent || !room[t].list) {
            free_rooms(width, room);
            return NULL;
        }
        room[t].places = room[t].list + count + STAIR_MEANS_SPAN;
        room[t].features = room[t].dg + pm * pm;
        room[t].carried = room[t].exponent + count;
        room[t].constant = room[t].carried + count * sums;
        room[t].scaled = room[t].constant + h->room;
        room[t].sums = room[t].scaled + dims * h->room;
        room[t].prior = room[t].sums + HALVES * sums * h->room;
    }
    return room;
}

stair_status stair_hidden_means_evaluate(stair_context *context, const stair_hidden_means *means,
                                         const stair_average *outer, const stair_subspace *rest, size_t n,
                                         const double *anchors, const double *omega, const uint64_t *keys,
                                         stair_mean_values *values)
{
    size_t blocks = (n + tuning.labels - 1) / tuning.labels;
    int width = stair_parallel_width(context, blocks);
    means_job job = {.means = means,
                     .outer = outer,
                     .rest = rest,
                     .n = n,
                     .anchors = anchors,
                     .omega = omega,
                     .keys = keys,
                     .values = values,
                     .room = make_rooms(means, width, (size_t)outer->count)};
    if (!job.room) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    size_t one = sizeof(double), numbers = (size_t)outer->count * one, l = tuning.labels;
    stair_filled arrays[] = {{values->mass, l * one, n * one},
                             {values->counts, l * one, n * one},
                             {values->bias, l * one, n * one},
                             {values->features, l * numbers, n * numbers}};
    stair_status status = means->kept ? by_backend(context, &job)
                                      : stair_parallel_shared(context, blocks, label_block, &job, arrays, 4);
    free_rooms(width, job.room);
    return status;
}
