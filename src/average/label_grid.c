/* E[phi] by quadrature over prior means and labels, without random numbers.
 *
 * Labels in a plane: one last row of two tokens, w.  Fix the hidden rows at an anchor u0 and let w vary: y =
 * g(u0, w) covers all labels, and dw = weight(u0; y) mu(dy), where mu is the measure in which the channel
 * states its density exp(log Z_out).  With overlap q on the last row alone and omega = sqrt(q) xi its mean,
 *
 *   E[phi] = integral dxi N(xi) integral dw  exp(log Z_out(y; omega)) / weight(u0; y)  phi(y, omega).
 *
 * Labels: an analytic integrand of width sqrt(v) that decays like a Gaussian, so equidistant nodes converge
 * faster than any power of the step (Trefethen and Weideman, SIAM Review 56, 2014).  They are visited from a
 * few labels that do occur outwards, as long as they count.  Means: phi changes over |xi| ~ sqrt(v/q), where
 * tokens are told apart less well than their noise and where h and -h are confused, and is smooth beyond; sum
 * and difference of the tokens are delta sinh(t), t equidistant.  phi does not change under omega -> -omega
 * (even models) nor when the tokens change places: a quarter of the plane is enough.
 *
 * Bent labels: hidden rows that mix tokens almost evenly make labels of almost equal tokens.  Over u the
 * difference of these is scaled by anything down to 1/reach, by (1 + 1/c)^-2 with two hidden rows at skip c.
 * Equidistant labels as fine as the least scale asks for are that many times too many, squared.  So the
 * difference is delta sinh(s), s equidistant: bumps of any scale are about as wide in s, sqrt(v) over their
 * distance from zero.  Sums of the tokens are equidistant as before.
 *
 * Where something is known of the hidden rows as well, phi is its average over their means (hidden_means.c),
 * which has the same symmetries.
 *
 * Replicates are interlaced grids; where hidden nodes are random each has its own.  The mass found must be 1.
 */
#include "average/average.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "posterior/denoiser.h"
#include "average/hidden_means.h"
#include "model/last_row.h"
#include "average/node_set.h"
#include "core/ranks.h"
#include "core/rng.h"

#define READ_NODES 128 /* whose posteriors are one piece of work */

static const struct {
    double mean_step;  /* of t, per fineness */
    double label_step; /* in units of the width sqrt(v) / steepest, per fineness */
    double sum_step;   /* where labels are bent, in units of sqrt(v) / reach, per fineness: sums of tokens, */
    double bent_step;  /* s where tokens hardly differ, */
    double far_step;   /* and beyond in units of sqrt(v) over the difference of their means */
    double steepest;   /* where the channel answers and nothing is known of it */
    double most_fineness;  /* of the hidden nodes: errors of 1e-9 */
    double noisy_fineness; /* of labels where hidden nodes are random: finer grids drown in their noise, but
                              not what is cut */
    size_t least_nodes;    /* of half a rule */
    size_t fewer_nodes;    /* times fewer nodes do where labels have different ones, */
    int flat_nodes;        /* and again where nothing is known of the hidden rows */
    size_t bent_nodes;     /* times fewer do where labels are bent and each has all nodes */
    double bend;           /* delta in units of sqrt(v/q), */
    double most_bend;      /* at most */
    double most_mean;      /* standard deviations */
    double cut;            /* nodes below this times the error of the fineness do not count */
    double turn;           /* of the grid, so that no node has two tokens tied */
    int seeds;             /* labels from which a grid is visited */
    double filled;         /* share of the threads that grids side by side have to keep at work */
    double hidden_row; /* seconds of a usual core that a label takes for each hidden row with random nodes */
} tuning = {.mean_step = 0.33,
            .label_step = 1.7,
            .sum_step = 1.0,
            .bent_step = 0.4,
            .far_step = 1.0,
            .steepest = 2.0,
            .most_fineness = 1.6,
            .noisy_fineness = 0.65,
            .least_nodes = 1024,
            .fewer_nodes = 8,
            .bent_nodes = 4,
            .flat_nodes = 4,
            .bend = 2.5,
            .most_bend = 1.0,
            .most_mean = 8.0,
            .cut = 1e-5,
            .hidden_row = 12e-6,
            .turn = 0.3,
            .seeds = 7,
            .filled = 0.75};

typedef struct {
    const stair_model *model;
    const stair_structure *structure;
    const stair_average_effort *effort;
    stair_average *out;
    stair_subspace rest;
    int p, m;
    const double *overlap;
    double cov[STAIR_SQUARE];
    double q, v;                    /* of the last row, prenoise in v */
    double anchor[STAIR_MAX_CELLS]; /* hidden rows */
    stair_fibre fibre;
    stair_denoiser denoiser;
    bool exchanged;         /* hidden layers are a committee that nothing is known of */
    bool bent;              /* labels are further apart where their tokens are */
    double reach[2], delta; /* bent: |dw/dlabel|, at most, of sum and difference; unit of the difference */
    bool known;             /* something is known of the hidden rows too, or they are many: */
    stair_hidden_means *hidden; /* all their means at once, instead of the denoiser */
    double fineness, mean_step, label_step, mean_offset, label_offset, bent_offset, turn, cut;
    size_t means;
    double *mean, *share; /* (means, P, 2), (means) */
    double *step;         /* (means): of the labels of each */
    stair_node_set nodes;
    size_t capacity;
    double *z, *labels, *omega, *memory; /* a generation of nodes */
    uint64_t *keys;
    stair_denoised moments;
    stair_mean_values values;            /* of each node, in units of weight(u0) */
    size_t asked;                        /* nodes of the generation */
    double *row, mass, correction, size; /* sums of one grid */
    size_t calls;                        /* its labels */
} grid_job;

/* ---- where it fits ---------------------------------------------------------------------------- */

static stair_status open_at(stair_context *context, const stair_model *model, const double *z,
                            stair_fibre *fibre)
{
    double label[STAIR_MAX_LABEL], omega[STAIR_MAX_CELLS] = {0};
    model->ops->forward(model, z, NULL, label);
    return stair_fibre_open(context, label, omega, fibre);
}

static bool is_last_alone(int p, const double *q)
{
    for (int i = 0; i < p * p - 1; i++)
        if (q[i] != 0) return false;
    return true;
}

/* Hidden layers are exchangeable, and nothing is known of them: their nodes are not random. */
static bool exchange_fits(const stair_structure *s, const double *q)
{
    double cov[STAIR_SQUARE];
    int p = s->model->info.indices;
    for (int i = 0; i < p * p; i++) cov[i] = (i % (p + 1) == 0) - q[i];
    return stair_denoiser_exchange.fits(s, cov);
}

/* One last row of two tokens is all that the label fixes; without hidden rows a posterior costs next to
 * nothing, and samples do. */
static bool plane_fits(const stair_structure *s, const double *q)
{
    int p = s->model->info.indices;
    return s->model->info.tokens == 2 &&
           ((p <= STAIR_MOST_KERNEL && !s->model->unseen) || exchange_fits(s, q)) && is_last_alone(p, q) &&
           s->even && s->model->ops->permute && s->dim > 0 && s->dim == 2 * s->free_rows && s->charts == 1 &&
           s->mirrored && s->free_rows == p - 1;
}

static bool fits(const stair_structure *structure, const stair_average_effort *effort, const double *q)
{
    (void)effort;
    return plane_fits(structure, q) || stair_hidden_means_fit(structure, q);
}

/* ---- nodes ------------------------------------------------------------------------------------ */

/* Sum and difference of the tokens to the last row of mean n. */
static void set_last_mean(grid_job *job, size_t n, double sum, double difference)
{
    double *last = job->mean + n * (size_t)(job->p * 2) + (size_t)(job->p - 1) * 2;
    last[0] = sqrt(job->q) * M_SQRT1_2 * (sum + difference);
    last[1] = sqrt(job->q) * M_SQRT1_2 * (sum - difference);
}

/* The product grid, one quarter of the plane. */
static size_t place_means(grid_job *job, bool write)
{
    double bend = fmin(tuning.most_bend, tuning.bend * sqrt(job->v / job->q)), step = job->mean_step,
           offset = job->mean_offset;
    size_t n = 0;
    for (int i = 0;; i++) {
        double ti = (i + offset) * step, sum = bend * sinh(ti);
        if (sum > tuning.most_mean) return n;
        for (int j = 0;; j++) {
            double tj = (j + offset) * step, difference = bend * sinh(tj);
            double share = bend * bend * cosh(ti) * cosh(tj) * step * step / (2 * M_PI) *
                           exp(-0.5 * (sum * sum + difference * difference)) * (ti > 0 ? 2 : 1) *
                           (tj > 0 ? 2 : 1);
            if (difference > tuning.most_mean || share < 10 * job->cut) break;
            if (write) {
                set_last_mean(job, n, sum, difference);
                job->share[n] = share;
            }
            n++;
        }
    }
}

/* Of s, where the last row has this mean. */
static double bent_step(const grid_job *job, const double *last)
{
    double apart = M_SQRT1_2 * (last[0] - last[1]);
    return 1 / (job->fineness * hypot(1 / tuning.bent_step, apart / (tuning.far_step * sqrt(job->v))));
}

static stair_status make_means(stair_context *context, grid_job *job)
{
    size_t size = (size_t)(job->p * 2);
    job->means = job->q > 0 ? place_means(job, false) : 1;
    job->mean = calloc((size + 2) * job->means, sizeof(double));
    if (!job->mean) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    job->share = job->mean + size * job->means;
    job->step = job->share + job->means;
    job->share[0] = 1;
    if (job->q > 0) place_means(job, true);
    for (size_t n = 0; n < job->means; n++) {
        double width =
            job->hidden ? 0 : stair_denoiser_label_width(&job->denoiser, job->mean + (n + 1) * size - 2);
        job->step[n] = width > 0 ? tuning.label_step * width / job->fineness : job->label_step;
        if (job->bent) job->step[n] = bent_step(job, job->mean + (n + 1) * size - 2);
    }
    return STAIR_OK;
}

/* w by its place along two directions, turned from the tokens; bent: their sum and difference. */
static void label_of_node(const grid_job *job, const stair_node *node, double *w)
{
    double step = job->step[node->group], a = (node->i + job->label_offset) * step,
           b = (node->j + job->label_offset) * step;
    if (job->bent) {
        a = (node->i + job->label_offset) * job->label_step;
        b = job->delta * sinh((node->j + job->bent_offset) * step);
    }
    double c = cos(job->turn), s = sin(job->turn);
    w[0] = a * c - b * s;
    w[1] = a * s + b * c;
}

/* One of w and -w stands for both.  Bent: each sum of the tokens has a rule in s of its own, and what these
 * rules give is even in the sum; minus s is between two places of one, and either will do. */
static stair_status add_node(stair_context *context, grid_job *job, int mean, int i, int j)
{
    int back = job->label_offset > 0 ? -1 : 0;
    int other = job->bent ? (int)lrint(-2 * job->bent_offset) : back;
    bool turned = i + job->label_offset < 0 || (i + job->label_offset == 0 && j < 0 && !job->bent);
    stair_node node = {.group = mean, .i = turned ? back - i : i, .j = turned ? other - j : j};
    return stair_node_set_add(context, &job->nodes, &node);
}

/* The last row at the anchor for the label of the open fibre; its weight there is returned. */
static double at_anchor(const grid_job *job, const stair_fibre *fibre, double *w)
{
    double u[STAIR_LAST_ROOM], z[STAIR_LAST_ROOM], weight[STAIR_BLOCK];
    for (int k = 0; k < fibre->dim; k++)
        for (int i = 0; i < STAIR_BLOCK; i++) u[k * STAIR_BLOCK + i] = job->anchor[k];
    stair_fibre_map(fibre, 0, 1, u, z, weight);
    for (int t = 0; t < 2; t++) w[t] = z[(size_t)(fibre->dim + t) * STAIR_BLOCK];
    return weight[0];
}

/* The node next to a place along the two directions. */
static stair_status add_nearest(stair_context *context, grid_job *job, int mean, double a, double b)
{
    double step = job->step[mean];
    if (job->bent)
        return add_node(context, job, mean, (int)lrint(a / job->label_step - job->label_offset),
                        (int)lrint(asinh(b / job->delta) / step - job->bent_offset));
    return add_node(context, job, mean, (int)lrint(a / step - job->label_offset),
                    (int)lrint(b / step - job->label_offset));
}

/* Labels that do occur: hidden rows at a few random places, the last row close to its mean. */
static stair_status seed_nodes(stair_context *context, grid_job *job)
{
    stair_context local = *context;
    int hidden = (job->p - 1) * job->m;
    double z[STAIR_MAX_CELLS], w[2];
    for (size_t n = 0; n < job->means; n++)
        for (int s = 0; s < tuning.seeds; s++) {
            const double *mean = job->mean + n * (size_t)(hidden + 2);
            stair_rng_normals(7, STAIR_RNG_POINTS, (uint64_t)s, hidden, z);
            for (int k = 0; k < hidden; k++)
                if (!s) z[k] = job->anchor[k];
            z[hidden] = mean[hidden] + 0.5 * sqrt(job->v);
            z[hidden + 1] = mean[hidden + 1] - 0.4 * sqrt(job->v);
            if (open_at(&local, job->model, z, &job->fibre) != STAIR_OK) continue;
            at_anchor(job, &job->fibre, w);
            double a = w[0] * cos(job->turn) + w[1] * sin(job->turn),
                   b = w[1] * cos(job->turn) - w[0] * sin(job->turn);
            STAIR_TRY(add_nearest(context, job, (int)n, a, b));
        }
    return STAIR_OK;
}

/* ---- sums ------------------------------------------------------------------------------------- */

static stair_status reserve(stair_context *context, grid_job *job, size_t n)
{
    size_t pm = (size_t)(job->p * job->m), k = (size_t)job->model->info.label_size,
           count = (size_t)job->out->count, parts = STAIR_PARTS_OF_RULE;
    if (n <= job->capacity) return STAIR_OK;
    free(job->memory);
    free(job->keys);
    job->capacity = 0;
    n *= 2;
    double *at = job->memory = malloc(
        n * (2 * pm + k + 4 + count + 2 * (size_t)job->m + parts * (1 + pm + pm * pm)) * sizeof(double));
    job->keys = malloc(n * sizeof *job->keys);
    if (!at || !job->keys) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    job->capacity = n;
    job->z = at;
    job->omega = job->z + n * pm;
    job->labels = job->omega + n * pm;
    job->moments.anchors = job->labels + n * k;
    job->moments.error = job->moments.anchors + n * (size_t)job->m;
    job->values.mass = job->moments.error + n;
    job->values.counts = job->values.mass + n;
    job->values.bias = job->values.counts + n;
    job->values.features = job->values.bias + n;
    job->moments.logz = job->values.features + n * count;
    job->moments.g = job->moments.logz + n * parts;
    job->moments.dg = job->moments.g + n * parts * pm;
    return STAIR_OK;
}

/* |dg|^2 in units of the covariance: what a node may add to an average. */
static double strength(const grid_job *job, const double *dg)
{
    int p = job->p, m = job->m, pm = p * m;
    double sum = 1;
    for (int a = 0; a < pm; a++)
        for (int b = 0; b < pm; b++)
            sum += dg[a * pm + b] * dg[a * pm + b] * job->cov[a / m * (p + 1)] * job->cov[b / m * (p + 1)];
    return sum;
}

/* The values of node i from its posterior; `scale` is weight(u0; y); features (count): room. */
static void read_posterior(const grid_job *job, size_t i, double scale, double *features)
{
    size_t pm = (size_t)(job->p * job->m), parts = (size_t)job->denoiser.parts;
    int count = job->out->count;
    double *total = job->values.features + i * (size_t)count;
    job->values.mass[i] = job->values.bias[i] = 0;
    memset(total, 0, sizeof(double) * (size_t)count);
    for (size_t part = 0; part < parts; part++) {
        size_t at = stair_denoised_at(&job->denoiser, &job->moments, i, (int)part);
        const double *dg = job->moments.dg + at * pm * pm;
        double mass = exp(job->moments.logz[at]) / scale, weight = mass * strength(job, dg);
        double share = stair_denoiser_share(&job->denoiser, (int)part);
        if (part == 0) job->values.counts[i] = weight;
        job->values.bias[i] += (share - (part == 0)) * weight;
        job->values.mass[i] += share * mass;
        stair_average_features(job->out, &job->rest, job->m, job->moments.logz[at], job->moments.g + at * pm,
                               dg, features);
        for (int k = 0; k < count && share != 0; k++) total[k] += share * mass * features[k];
    }
}

static stair_status read_block(void *user, size_t block, int thread, stair_context *local)
{
    const grid_job *job = user;
    size_t k = (size_t)job->model->info.label_size, end = (block + 1) * READ_NODES;
    const double nothing[STAIR_MAX_CELLS] = {0};
    double w[2], *features = malloc(sizeof(double) * (size_t)job->out->count);
    stair_fibre fibre;
    (void)thread;
    if (!features) return stair_fail(local, STAIR_NO_MEMORY, "out of memory");
    stair_status status = stair_fibre_create(local, job->model, &fibre);
    for (size_t i = block * READ_NODES; i < end && i < job->asked && status == STAIR_OK; i++)
        if (stair_fibre_open(local, job->labels + i * k, nothing, &fibre) == STAIR_OK)
            read_posterior(job, i, at_anchor(job, &fibre, w), features);
        else /* beyond what labels carry */
            job->values.counts[i] = job->values.mass[i] = 0;
    if (status == STAIR_OK) stair_fibre_destroy(&fibre);
    free(features);
    return status;
}

/* Nodes from `first` on with the hidden rows at the anchor, one posterior for each. */
static stair_status ask_denoiser(stair_context *context, grid_job *job, size_t first, size_t n)
{
    size_t pm = (size_t)(job->p * job->m), hidden = pm - 2;
    for (size_t i = 0; i < n; i++) {
        const stair_node *node = &job->nodes.list[first + i];
        memcpy(job->z + i * pm, job->anchor, hidden * sizeof(double));
        label_of_node(job, node, job->z + i * pm + hidden);
        memcpy(job->omega + i * pm, job->mean + (size_t)node->group * pm, pm * sizeof(double));
    }
    STAIR_TRY(stair_model_forward(context, job->model, n, job->z, job->labels));
    STAIR_TRY(stair_denoiser_evaluate(context, &job->denoiser, first, n, job->labels, job->omega, NULL,
                                      &job->moments));
    job->asked = n;
    return stair_parallel(context, (n + READ_NODES - 1) / READ_NODES, read_block, job);
}

/* The same with all hidden means at once.  A key is the node's own, whatever others there are. */
static stair_status ask_hidden(stair_context *context, grid_job *job, size_t first, size_t n)
{
    size_t pm = (size_t)(job->p * job->m);
    for (size_t i = 0; i < n; i++) {
        const stair_node *node = &job->nodes.list[first + i];
        const double *last = job->mean + ((size_t)node->group + 1) * pm - 2;
        label_of_node(job, node, job->z + 2 * i);
        memcpy(job->omega + 2 * i, last, 2 * sizeof(double));
        job->keys[i] = (uint64_t)node->group << 32 ^ (uint64_t)(uint32_t)(node->i * 65536 + node->j);
    }
    return stair_hidden_means_evaluate(context, job->hidden, job->out, &job->rest, n, job->z, job->omega,
                                       job->keys, &job->values);
}

/* What a node stands for, together with the label turned around. */
static double area_of(const grid_job *job, const stair_node *node)
{
    double step = job->step[node->group];
    bool middle = node->i == 0 && job->label_offset == 0;
    if (!job->bent) return (middle && node->j == 0 ? 1 : 2) * step * step;
    return (middle ? 1 : 2) * job->label_step * step * job->delta * cosh((node->j + job->bent_offset) * step);
}

/* Adds node i of the generation to the sums; how much it counts is returned. */
static double add_sums(grid_job *job, const stair_node *node, size_t i)
{
    int count = job->out->count;
    double share = job->share[node->group] * area_of(job, node);
    const double *features = job->values.features + i * (size_t)count;
    job->size += share * job->values.counts[i];
    job->correction += share * job->values.bias[i];
    job->mass += share * job->values.mass[i];
    for (int k = 0; k < count; k++) job->row[k] += share * features[k];
    return share * job->values.counts[i];
}

/* One grid: generation after generation of neighbours, until none counts. */
static stair_status integrate(stair_context *context, grid_job *job)
{
    job->mass = job->correction = job->size = 0;
    memset(job->row, 0, sizeof(double) * (size_t)job->out->count);
    STAIR_TRY(seed_nodes(context, job));
    for (size_t first = 0, end; first < job->nodes.count; first = end) {
        end = job->nodes.count;
        STAIR_TRY(reserve(context, job, end - first));
        STAIR_TRY(job->hidden ? ask_hidden(context, job, first, end - first)
                              : ask_denoiser(context, job, first, end - first));
        for (size_t n = first; n < end; n++) {
            stair_node node = job->nodes.list[n];
            if (job->values.counts[n - first] == 0 || add_sums(job, &node, n - first) < job->cut) continue;
            for (int side = -1; side <= 1; side += 2) {
                STAIR_TRY(add_node(context, job, node.group, node.i + side, node.j));
                STAIR_TRY(add_node(context, job, node.group, node.i, node.j + side));
            }
        }
    }
    if (!(job->mass > 0)) return stair_fail(context, STAIR_NOT_CONVERGED, "the grid of labels found no mass");
    for (int k = 0; k < job->out->count; k++) job->row[k] /= job->mass;
    job->calls = job->nodes.count;
    return STAIR_OK;
}

static stair_status renew_posteriors(stair_context *context, grid_job *job, int r)
{
    const stair_average_effort *effort = job->effort;
    if (job->known) {
        stair_hidden_means_destroy(&job->hidden);
        size_t fewer = effort->nodes / tuning.fewer_nodes /
                       (is_last_alone(job->p, job->overlap) ? tuning.flat_nodes : 1);
        return stair_hidden_means_create(context, job->structure, job->overlap, job->fineness,
                                         fewer > tuning.least_nodes ? fewer : tuning.least_nodes,
                                         effort->seed, r, &job->hidden);
    }
    if (job->denoiser.state && !stair_denoiser_is_random(&job->denoiser)) return STAIR_OK;
    size_t few = job->bent && job->q > 0 ? effort->nodes / tuning.bent_nodes : effort->nodes;
    stair_denoiser_effort how = {.fineness = fmin(tuning.most_fineness, job->fineness),
                                 .nodes = few > tuning.least_nodes ? few : tuning.least_nodes,
                                 .seed = effort->seed + 1000 * (uint64_t)r,
                                 .channel = effort->channel};
    stair_denoiser_destroy(&job->denoiser);
    return stair_denoiser_create(context, job->structure, job->cov, &how, &job->denoiser);
}

/* Steps of sums and of s, and the shift of the latter: never to labels of two equal tokens. */
static void bend_replicate(grid_job *job, int r)
{
    job->label_step = tuning.sum_step * sqrt(job->v) / (job->reach[0] * job->fineness);
    job->delta = sqrt(job->v) / job->reach[1];
    job->bent_offset = (r / 2 % 2 ? 0.75 : 0.25) + (r / 4 % 2 ? 0.125 : 0);
    job->turn = 0.25 * M_PI;
}

static stair_status replicate(stair_context *context, grid_job *job, int r)
{
    STAIR_TRY(renew_posteriors(context, job, r));
    double steepest =
        job->hidden ? stair_hidden_means_steepest(job->hidden) : stair_denoiser_steepest(&job->denoiser);
    if (!(steepest > 0)) steepest = tuning.steepest;
    job->label_step = tuning.label_step * sqrt(job->v) / (steepest * job->fineness);
    job->mean_offset = 0.5 * (r % 2);
    job->label_offset = 0.5 * ((r ^ r >> 1) % 2);
    job->turn = tuning.turn + 0.2 * (r / 4 % 2); /* far from 45 degrees, where tokens tie */
    if (job->bent) bend_replicate(job, r);
    job->row = job->out->sample + r * job->out->count;
    stair_node_set_clear(&job->nodes);
    STAIR_TRY(make_means(context, job));
    stair_status status = integrate(context, job);
    free(job->mean);
    job->mean = NULL;
    if (status == STAIR_OK && job->hidden && job->structure->many_hidden)
        context->work += tuning.hidden_row * (job->p - 1) * (double)job->calls;
    return status;
}

/* Interlaced grids; where anything is random more of them, for their spread is the error. */
static int replicates_of(const grid_job *job, bool random)
{
    int wanted = random ? STAIR_MOST_REPLICATES : 2;
    return wanted < job->effort->replicates ? wanted : job->effort->replicates;
}

/* What a grid has of its own. */
static void close_grid(grid_job *job)
{
    stair_denoiser_destroy(&job->denoiser);
    stair_hidden_means_destroy(&job->hidden);
    stair_fibre_destroy(&job->fibre);
    stair_node_set_free(&job->nodes);
    free(job->memory);
    free(job->keys);
}

/* Adds the grid of replicate r to what is averaged. */
static void add_grid(stair_average *out, int r, size_t calls, double bias)
{
    const double *row = out->sample + r * out->count;
    out->calls += calls;
    out->bias += bias;
    for (int k = 0; k < out->count; k++) out->mean[k] += row[k] / out->replicates;
}

typedef struct {
    const grid_job *grid; /* what all have in common */
    int first;
    size_t calls[STAIR_MOST_REPLICATES];
    double bias[STAIR_MOST_REPLICATES], work[STAIR_MOST_REPLICATES];
} side_job;

static stair_status one_grid(void *user, size_t number, int thread, stair_context *local)
{
    side_job *side = user;
    int r = side->first + (int)number;
    double before = local->work;
    grid_job *job = malloc(sizeof *job);
    (void)thread;
    if (!job) return stair_fail(local, STAIR_NO_MEMORY, "out of memory");
    *job = *side->grid;
    stair_status status = stair_fibre_create(local, job->model, &job->fibre);
    if (status == STAIR_OK) status = replicate(local, job, r);
    side->calls[r] = job->calls;
    side->bias[r] = job->correction / job->size;
    side->work[r] = local->work - before;
    close_grid(job);
    free(job);
    return status;
}

/* Grids from `first` on, each by one thread: generations of a grid are short, and threads would wait for each
 * other at the end of every one. */
static stair_status side_by_side(stair_context *context, const grid_job *job, int first)
{
    grid_job *common = malloc(sizeof *common);
    side_job *side = calloc(1, sizeof *side);
    stair_status status = common && side ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) {
        *common = *job;
        common->fibre = (stair_fibre){0};
        common->denoiser = (stair_denoiser){0};
        common->hidden = NULL;
        common->nodes = (stair_node_set){0};
        common->memory = NULL;
        common->keys = NULL;
        common->capacity = 0;
        *side = (side_job){.grid = common, .first = first};
        status = stair_parallel(context, (size_t)(job->out->replicates - first), one_grid, side);
    }
    for (int r = first; status == STAIR_OK && r < job->out->replicates; r++) {
        context->work += side->work[r];
        add_grid(job->out, r, side->calls[r], side->bias[r]);
    }
    free(common);
    free(side);
    return status;
}

/* Whether grids keep most threads at work. */
static bool fills_threads(const stair_context *context, int grids)
{
    int threads = context->threads, rounds = (grids + threads - 1) / threads;
    return threads > 1 && !stair_ranks_many(context) && grids >= tuning.filled * rounds * threads;
}

static stair_status run(stair_context *context, grid_job *job)
{
    stair_average *out = job->out;
    bool random = job->structure->many_hidden && !job->exchanged;
    stair_average_begin(out, replicates_of(job, random), random);
    memset(out->mean, 0, sizeof(double) * (size_t)out->count);
    for (int r = 0; r < out->replicates; r++) {
        bool known = r || !isfinite(context->most_work); /* what a grid costs, or it does not matter */
        if (random && known && fills_threads(context, out->replicates - r)) {
            STAIR_TRY(side_by_side(context, job, r));
            break;
        }
        double before = context->work;
        STAIR_TRY(replicate(context, job, r));
        if (!r && random)
            STAIR_TRY(stair_context_afford(context, (context->work - before) * (out->replicates - 1),
                                           "an average over a grid of labels"));
        add_grid(out, r, job->calls, job->correction / job->size);
    }
    out->bias = stair_bias_left(out->bias / out->replicates);
    out->logz_bias = out->bias; /* Z is wrong by as much, relatively */
    return STAIR_OK;
}

/* Labels are bent where hidden nodes are random and T(u) is known (model/last_row.h). */
static stair_status bend(stair_context *context, grid_job *job)
{
    stair_last_row last;
    job->bent = job->structure->many_hidden && job->structure->last_row && !job->exchanged && job->m == 2;
    if (!job->bent) return STAIR_OK;
    STAIR_TRY(stair_last_row_open(context, job->model, &last));
    stair_last_row_reach(&last, job->reach);
    stair_last_row_close(&last);
    return STAIR_OK;
}

static stair_status evaluate(stair_context *context, const stair_structure *structure,
                             const stair_average_effort *effort, const double *q, const double *basis,
                             stair_average *average)
{
    const stair_model *model = structure->model;
    int p = model->info.indices, m = model->info.tokens;
    grid_job *job = calloc(1, sizeof *job);
    if (!job) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *job = (grid_job){.model = model,
                      .structure = structure,
                      .effort = effort,
                      .out = average,
                      .p = p,
                      .m = m,
                      .overlap = q,
                      .q = q[p * p - 1]};
    job->exchanged = exchange_fits(structure, q);
    job->known = !job->exchanged && stair_hidden_means_fit(structure, q);
    for (int i = 0; i < p * p; i++) job->cov[i] = (i % (p + 1) == 0) - q[i];
    job->v = job->cov[p * p - 1] + model->info.prenoise;
    job->fineness = effort->fineness;
    if (structure->many_hidden && (job->known || (structure->last_row && job->q > 0)))
        job->fineness = fmin(effort->noisy > 0 ? effort->noisy : tuning.noisy_fineness, effort->fineness);
    job->mean_step = tuning.mean_step / job->fineness;
    job->cut = tuning.cut * pow(10, -4 * effort->fineness * effort->fineness);
    stair_last_row_anchor(p - 1, m, job->anchor);
    stair_subspace_set(structure, q, basis, average->kernel, &job->rest);
    stair_status status = stair_fibre_create(context, model, &job->fibre);
    if (status == STAIR_OK) status = bend(context, job);
    if (status == STAIR_OK) status = run(context, job);
    close_grid(job);
    free(job);
    return status;
}

static bool is_random(const stair_structure *structure)
{
    return structure->many_hidden;
}

static bool sharpen(stair_average_effort *effort, double bias, double error, double wanted)
{
    double excess = stair_average_excess(bias, error, wanted);
    bool sharper = stair_average_more_nodes(effort, bias, wanted);
    if (excess > 1 && effort->replicates < STAIR_MOST_REPLICATES) {
        effort->replicates = (int)fmin(STAIR_MOST_REPLICATES, ceil(effort->replicates * excess * excess));
        sharper = true;
    }
    return stair_average_safe_replicates(effort, &excess) || sharper;
}

const stair_average_rule stair_average_label_grid = {
    .name = "label-grid",
    .text = "two tokens, one last row: interlaced grids of labels and prior means",
    .refines = true,
    .fits = fits,
    .random = is_random,
    .evaluate = evaluate,
    .sharpen = sharpen};
