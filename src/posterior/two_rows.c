/* Two last rows and two tokens: the label leaves open a rotation of both rows together and a number v common
 * to the tokens (docs/channel.md).  In the frame turned by theta, where z = (z_1, z_2) are the last rows,
 *
 *   cos z_1 + sin z_2 = +-w(u),   cos z_2 - sin z_1 = v k,   w(u) = T(u) x,   k the same for all u,
 *
 * with u the hidden rows (last_pair.h).  If both rows have variance s, the prior does not change with the
 * frame: a and b being the means in it,
 *
 *   Z_out = integral dtheta/pi over half a turn, E_u weight(u) 1/2 sum_+- N(+-w(u); a, s 1) integral dv N(v
 * k; b, s 1).
 *
 * The integral over v is Gaussian, theta gets equidistant nodes (periodic: exact beyond all powers), of which
 * a scan over some u keeps those that count, and u the rules of hidden_nodes.h.  What the label says of the
 * last rows is as if there was one, in many frames.  Two hidden rows of which nothing is known enter through
 * their shape alone.
 *
 * Halves: hidden nodes and directions both interlace. */
#include "posterior/two_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/last_pair.h"
#include "posterior/hidden_nodes.h"
#include "posterior/two_rows_sums.h"
#include "core/isa.h"
#include "core/matrix.h"

#define ROOM             (STAIR_PAIR_CELLS * STAIR_BLOCK)
#define LAST_CELLS       4     /* numbers of the two last rows */
#define MOST_ANGLES      16384 /* directions of half a turn, at most */
#define TWO_ROWS_SAMPLES 32    /* of one piece of work */

static const struct {
    double prior_step; /* step that resolves the prior, per fineness, */
    double width_step; /* and the posterior, in units of its width sqrt(s) / |dw/du| */
    double least_step; /* of either */
    double reach;      /* standard deviations of the prior that nodes cover */
    double few;        /* directions of half a turn, at least, */
    double resolved;   /* and per square root of the concentration kappa of exp(kappa cos theta) */
    double wider;      /* standard deviations that z may be beyond its mean in kappa */
    int scanned;       /* groups of nodes that a scan looks at */
    double unseen; /* directions whose exponents stay that far below the largest in the scan are left out, */
    double negligible; /* and nodes in the sums */
} tuning = {.prior_step = 0.3,
            .width_step = 0.38,
            .least_step = 0.02,
            .reach = 6.0,
            .few = 3.0,
            .resolved = 1.75,
            .wider = 4.0,
            .scanned = 16,
            .unseen = 60.0,
            .negligible = 16.0};

STAIR_HOT_TABLE(void, stair_two_rows_place,
                (size_t blocks, const double *table, const double *x, double half_inverse, double *nodes));
STAIR_HOT_TABLE(void, stair_two_rows_scan,
                (size_t blocks, const double *nodes, size_t stride, int angles,
                 const stair_two_rows_angle *angle, double *top));
STAIR_HOT_TABLE(void, stair_two_rows_add,
                (size_t blocks, const double *nodes, int angles, const stair_two_rows_angle *angle,
                 double cut, double top, double *room, double *sums, double *mass));
STAIR_HOT_TABLE(void, stair_two_rows_hidden,
                (size_t blocks, int rows, const double *place, const double *mass, double *sums));

struct stair_two_rows {
    const stair_model *model;
    int p, rows, dim;                   /* P; hidden rows and coordinates */
    double variance[STAIR_MAX_INDICES]; /* of each row, prenoise included */
    bool flat;                          /* nothing known of the hidden rows: one table */
    bool by_shape;                      /* two hidden rows through their shape */
    double anchor[STAIR_PAIR_CELLS], steepest;
    double common, weight; /* k = common (1, 1), and |det H|^-2 at the anchor */
    stair_hidden_nodes nodes[STAIR_HIDDEN_HALVES];
    double *table[STAIR_HIDDEN_HALVES]; /* flat: (blocks, 5, STAIR_BLOCK), log weight and T */
};

/* Two last rows of equal variance that a rotation of both leaves alike, even hidden rows. */
static bool fits(const stair_structure *structure, const double *cov)
{
    int p = structure->model->info.indices;
    return structure->last_pair && stair_matrix_is_diagonal(p, cov) &&
           fabs(cov[p * p - 1] - cov[p * p - p - 2]) <= 1e-9 * cov[p * p - 1] &&
           stair_structure_rows_even(structure, p - 2);
}

bool stair_two_rows_has_plane(const stair_structure *structure)
{
    return structure->last_pair && (structure->model->info.indices <= 3 || structure->by_shape);
}

/* ---- hidden nodes ----------------------------------------------------------------------------- */

static stair_status make_nodes(stair_context *context, stair_two_rows *h, double slope, double fineness,
                               size_t count, uint64_t seed)
{
    double width = sqrt(h->variance[h->p - 1]) / slope;
    double step = fmax(tuning.least_step, fmin(tuning.prior_step, tuning.width_step * width) / fineness);
    for (int half = 0; half < STAIR_HIDDEN_HALVES; half++) {
        stair_hidden_nodes *nodes = &h->nodes[half];
        if (h->by_shape)
            STAIR_TRY(stair_hidden_nodes_shape(context, step, half, nodes));
        else if (h->dim == 2)
            STAIR_TRY(stair_hidden_nodes_plane(context, tuning.reach, step, h->flat, half, nodes));
        else
            STAIR_TRY(stair_hidden_nodes_lattice(context, h->dim, count, seed, half, nodes));
    }
    return STAIR_OK;
}

/* Places of block b around the means (NULL: zero). */
static void places(const stair_two_rows *h, int half, size_t b, const double *mean, double *u)
{
    const double *place = h->nodes[half].place + b * STAIR_BLOCK * (size_t)h->dim;
    for (int k = 0; k < h->dim; k++) {
        double scale = sqrt(h->variance[k / 2]), middle = mean ? mean[k] : 0;
        for (int i = 0; i < STAIR_BLOCK; i++)
            u[k * STAIR_BLOCK + i] = middle + scale * place[k * STAIR_BLOCK + i];
    }
}

static stair_status fill_table(stair_context *context, stair_two_rows *h, const stair_last_pair *last,
                               int half)
{
    double u[ROOM];
    const stair_hidden_nodes *nodes = &h->nodes[half];
    double *table = h->table[half] = malloc(nodes->blocks * 5 * STAIR_BLOCK * sizeof(double));
    if (!table) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (size_t b = 0; b < nodes->blocks; b++, table += 5 * STAIR_BLOCK) {
        places(h, half, b, NULL, u);
        stair_last_pair_map(last, u, table);
        for (size_t i = 0; i < STAIR_BLOCK; i++)
            table[i] = log(table[i]) + nodes->log_measure[b * STAIR_BLOCK + i];
    }
    return STAIR_OK;
}

static stair_status build(stair_context *context, stair_two_rows *h, double fineness, size_t count,
                          uint64_t seed)
{
    stair_last_pair last;
    double slope;
    stair_status status = stair_last_pair_open(context, h->model, &last);
    if (status == STAIR_OK) {
        h->common = last.common;
        h->weight = last.weight;
        memcpy(h->anchor, last.anchor, sizeof h->anchor);
        stair_last_pair_slopes(&last, h->variance, h->by_shape, &slope, &h->steepest);
        status = make_nodes(context, h, slope, fineness, count, seed);
    }
    for (int half = 0; half < STAIR_HIDDEN_HALVES && h->flat && status == STAIR_OK; half++)
        status = fill_table(context, h, &last, half);
    stair_last_pair_close(&last);
    return status;
}

stair_status stair_two_rows_create(stair_context *context, const stair_structure *structure,
                                   const double *cov, double fineness, size_t nodes, uint64_t seed,
                                   stair_two_rows **rule)
{
    const stair_model *model = structure->model;
    int p = model->info.indices;
    stair_two_rows *h = *rule = calloc(1, sizeof *h);
    if (!h) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *h = (stair_two_rows){.model = model, .p = p, .rows = p - 2, .dim = 2 * (p - 2), .flat = true};
    for (int i = 0; i < p; i++) {
        h->variance[i] = cov[i * (p + 1)] + model->info.prenoise;
        if (i < p - 2) h->flat &= cov[i * (p + 1)] == 1;
    }
    h->by_shape = structure->by_shape && h->flat;
    stair_status status = build(context, h, fineness, nodes, seed);
    if (status != STAIR_OK) stair_two_rows_destroy(rule);
    return status;
}

void stair_two_rows_destroy(stair_two_rows **rule)
{
    if (!*rule) return;
    for (int half = 0; half < STAIR_HIDDEN_HALVES; half++) {
        stair_hidden_nodes_destroy(&(*rule)->nodes[half]);
        free((*rule)->table[half]);
    }
    free(*rule);
    *rule = NULL;
}

double stair_two_rows_steepest(const stair_two_rows *h)
{
    return h->steepest;
}

/* dh = mu(dy) dv dtheta/2pi = d da dv dtheta with h = H (x, v k) turned, a = H x, d = a_1 - a_2 = det H k_1
 * (x_1 - x_2). */
double stair_two_rows_label_measure(const stair_two_rows *h, const double *x)
{
    return 2 * M_PI * h->common * fabs(x[0] - x[1]) / h->weight;
}

/* ---- samples ---------------------------------------------------------------------------------- */

/* anchors (n, 2): the x of each label. */
static stair_status find_anchors(stair_context *context, const stair_two_rows *h, size_t n,
                                 const double *labels, double *anchors)
{
    stair_straight f;
    STAIR_TRY(stair_fibre_create(context, h->model, &f.fibre));
    stair_status status = STAIR_OK;
    for (size_t i = 0; i < n && status == STAIR_OK; i++) {
        status = stair_straight_open(context, labels + i * (size_t)h->model->info.label_size, h->anchor, &f);
        if (status == STAIR_OK) stair_straight_one(&f, h->anchor, 0, anchors + 2 * i);
    }
    stair_fibre_destroy(&f.fibre);
    return status;
}

/* Where sums of one half begin: mass, last rows (4 means, 16 products), hidden rows (5 each). */
enum { MASS, FIRST, SECOND = FIRST + LAST_CELLS, HIDDEN = SECOND + LAST_CELLS * LAST_CELLS };
#define SUMS (HIDDEN + 5 * STAIR_PAIR_ROWS)

typedef struct {
    stair_straight fibre;
    double *memory, *nodes, *mass; /* (blocks, 3, STAIR_BLOCK), (blocks, STAIR_BLOCK) */
    double *top, *sums, *room;     /* (MOST_ANGLES), (MOST_ANGLES, 6), (MOST_ANGLES, 6, 8) */
    stair_two_rows_angle *angle;   /* (MOST_ANGLES) */
} workspace;

typedef struct {
    const stair_two_rows *rule;
    size_t n;
    const double *anchors, *omega;
    stair_denoised *result;
} two_rows_job;

static stair_status workspace_create(stair_context *context, const stair_two_rows *h, workspace *w)
{
    size_t blocks = h->nodes[0].blocks > h->nodes[1].blocks ? h->nodes[0].blocks : h->nodes[1].blocks;
    memset(w, 0, sizeof *w);
    STAIR_TRY(stair_fibre_create(context, h->model, &w->fibre.fibre));
    w->memory = malloc((blocks * STAIR_BLOCK * (STAIR_TWO_ROWS_NODE + 1) +
                        (size_t)MOST_ANGLES * (1 + 9 * STAIR_TWO_ROWS_SUMS)) *
                           sizeof(double) +
                       MOST_ANGLES * sizeof(stair_two_rows_angle));
    if (!w->memory) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    w->nodes = w->memory;
    w->mass = w->nodes + blocks * STAIR_BLOCK * STAIR_TWO_ROWS_NODE;
    w->top = w->mass + blocks * STAIR_BLOCK;
    w->sums = w->top + MOST_ANGLES;
    w->room = w->sums + MOST_ANGLES * STAIR_TWO_ROWS_SUMS;
    w->angle = (stair_two_rows_angle *)(w->room + 8 * MOST_ANGLES * STAIR_TWO_ROWS_SUMS);
    return STAIR_OK;
}

static void workspace_destroy(workspace *w)
{
    stair_fibre_destroy(&w->fibre.fibre);
    free(w->memory);
}

/* Nodes that move with omega: the model maps them block by block. */
static void place_moving(const stair_two_rows *h, int half, const double *omega, workspace *w)
{
    double u[ROOM], weight[STAIR_BLOCK], half_inverse = 0.5 / h->variance[h->p - 1];
    const stair_hidden_nodes *nodes = &h->nodes[half];
    for (size_t b = 0; b < nodes->blocks; b++) {
        double *node = w->nodes + b * STAIR_TWO_ROWS_NODE * STAIR_BLOCK, *first = node + STAIR_BLOCK,
               *second = first + STAIR_BLOCK;
        places(h, half, b, omega, u);
        stair_straight_map(&w->fibre, u, 0, first, weight);
        for (size_t i = 0; i < STAIR_BLOCK; i++)
            node[i] = nodes->log_measure[b * STAIR_BLOCK + i] + log(weight[i]) -
                      half_inverse * (first[i] * first[i] + second[i] * second[i]);
    }
}

/* Directions of half a turn, as many as exp(kappa cos theta) takes for the largest kappa that occurs. */
static int choose_angles(const stair_two_rows *h, int half, const double *mean, stair_two_rows_angle *angle)
{
    double s = h->variance[h->p - 1], square = 0;
    for (int c = 0; c < LAST_CELLS; c++) square += mean[c] * mean[c];
    double kappa = sqrt(square) * (sqrt(square) + tuning.wider * sqrt(s)) / s;
    int count = square > 0 ? (int)fmin(MOST_ANGLES, ceil(tuning.few + tuning.resolved * sqrt(kappa))) : 1;
    for (int k = 0; k < count; k++) {
        double theta = M_PI * (k + 0.5 * half) / count, c = cos(theta), d = sin(theta);
        double a[2] = {c * mean[0] + d * mean[2], c * mean[1] + d * mean[3]};
        double apart =
            c * (mean[3] - mean[2]) - d * (mean[1] - mean[0]); /* of the tokens, in the other row */
        angle[k] =
            (stair_two_rows_angle){.cosine = c,
                                   .sine = d,
                                   .slope = {a[0] / s, a[1] / s},
                                   .level = -0.5 / s * (a[0] * a[0] + a[1] * a[1] + 0.5 * apart * apart)};
    }
    return count;
}

/* Keeps the directions that count; returns their number and the largest exponent seen. */
static int scan(const stair_hidden_nodes *nodes, int count, workspace *w, double *top)
{
    size_t groups = nodes->blocks * (STAIR_BLOCK / STAIR_TWO_ROWS_SCAN),
           stride = (groups + tuning.scanned - 1) / tuning.scanned;
    int kept = 0;
    stair_two_rows_scan_table[stair_isa()](nodes->blocks, w->nodes, stride, count, w->angle, w->top);
    *top = -1e300;
    for (int k = 0; k < count; k++) *top = fmax(*top, w->top[k]);
    for (int k = 0; k < count; k++)
        if (w->top[k] > *top - tuning.unseen) w->angle[kept++] = w->angle[k];
    return kept;
}

/* Moments of the last rows in the fixed frame, from those of one direction: rows w and v k turned, v k
 * Gaussian. */
static void turn_back(const stair_two_rows *h, const double *mean, const stair_two_rows_angle *angle,
                      const double *from, double *sums)
{
    double c = angle->cosine, d = angle->sine;
    double level = 0.5 * (c * (mean[2] + mean[3]) - d * (mean[0] + mean[1])),
           square = level * level + 0.5 * h->variance[h->p - 1];
    double turn[2][2] = {{c, -d}, {d, c}}, product[2][2][2][2]; /* of rows of the frame, of tokens */
    for (int t = 0; t < 2; t++) {
        for (int r = 0; r < 2; r++)
            sums[FIRST + 2 * r + t] += turn[r][0] * from[1 + t] + turn[r][1] * level * from[0];
        for (int s = 0; s < 2; s++) {
            product[0][0][t][s] = from[3 + t + s];
            product[0][1][t][s] = from[1 + t] * level;
            product[1][0][t][s] = from[1 + s] * level;
            product[1][1][t][s] = square * from[0];
        }
    }
    for (int i = 0; i < LAST_CELLS; i++)
        for (int j = 0; j < LAST_CELLS; j++)
            for (int a = 0; a < 2; a++)
                for (int b = 0; b < 2; b++)
                    sums[SECOND + i * LAST_CELLS + j] +=
                        turn[i / 2][a] * turn[j / 2][b] * product[a][b][i % 2][j % 2];
    sums[MASS] += from[0];
}

/* sums (SUMS) of one half, in units of exp(top). */
static double add_half(const stair_two_rows *h, int half, const double *x, const double *omega, workspace *w,
                       double *sums)
{
    const stair_hidden_nodes *nodes = &h->nodes[half];
    const double *mean = omega + h->dim;
    double top;
    if (h->flat)
        stair_two_rows_place_table[stair_isa()](nodes->blocks, h->table[half], x, 0.5 / h->variance[h->p - 1],
                                                w->nodes);
    else
        place_moving(h, half, omega, w);
    int count = choose_angles(h, half, mean, w->angle), kept = scan(nodes, count, w, &top);
    stair_two_rows_add_table[stair_isa()](nodes->blocks, w->nodes, kept, w->angle, top - tuning.negligible,
                                          top, w->room, w->sums, w->mass);
    memset(sums, 0, SUMS * sizeof(double));
    for (int k = 0; k < kept; k++) turn_back(h, mean, &w->angle[k], w->sums + k * STAIR_TWO_ROWS_SUMS, sums);
    stair_two_rows_hidden_table[stair_isa()](nodes->blocks, h->rows, nodes->place, w->mass, sums + HIDDEN);
    for (int k = 0; k < SUMS; k++) sums[k] *= 0.5 / count; /* mean over directions and signs */
    return top;
}

/* g and dg of the last rows. */
static void finish_last(const stair_two_rows *h, const double *sums, const double *omega, double *g,
                        double *dg)
{
    int pm = 2 * h->p;
    double s = h->variance[h->p - 1], mean[LAST_CELLS];
    for (int i = 0; i < LAST_CELLS; i++) {
        mean[i] = sums[FIRST + i] / sums[MASS];
        g[h->dim + i] = (mean[i] - omega[h->dim + i]) / s;
    }
    for (int i = 0; i < LAST_CELLS; i++)
        for (int j = 0; j < LAST_CELLS; j++)
            dg[(h->dim + i) * pm + h->dim + j] =
                (sums[SECOND + i * LAST_CELLS + j] / sums[MASS] - mean[i] * mean[j]) / (s * s) -
                (i == j ? 1 / s : 0);
}

/* And of hidden row r: places are in units of its standard deviation.  By shape, both rows share what its
 * places tell, and what is common to the tokens keeps its prior variance 1/2. */
static void finish_hidden(const stair_two_rows *h, int r, const double *sums, double *g, double *dg)
{
    const double *moment = sums + HIDDEN + (h->by_shape ? 0 : 5 * r);
    double v = h->variance[r], mean[2];
    for (int t = 0; t < 2; t++) {
        mean[t] =
            h->flat ? 0 : moment[t] / sums[MASS]; /* flat: even, and maybe half of the nodes are left out */
        g[2 * r + t] = mean[t] / sqrt(v);
    }
    for (int t = 0; t < 2; t++)
        for (int s = 0; s < 2; s++) {
            double square = moment[2 + t + s] / sums[MASS];
            if (h->by_shape) square = 0.5 * (square + 0.5);
            dg[(2 * r + t) * 2 * h->p + 2 * r + s] = (square - mean[t] * mean[s] - (s == t)) / v;
        }
}

static void finish_part(const stair_two_rows *h, double top, const double *sums, const double *omega,
                        double *logz, double *g, double *dg)
{
    int pm = 2 * h->p;
    double s = h->variance[h->p - 1];
    memset(g, 0, sizeof(double) * (size_t)pm);
    memset(dg, 0, sizeof(double) * (size_t)(pm * pm));
    *logz = top + log(sums[MASS]) - 1.5 * log(2 * M_PI * s) - log(M_SQRT2 * h->common);
    finish_last(h, sums, omega, g, dg);
    for (int r = 0; r < h->rows; r++) finish_hidden(h, r, sums, g, dg);
}

static stair_status evaluate_one(stair_context *local, const two_rows_job *job, workspace *w, size_t i)
{
    const stair_two_rows *h = job->rule;
    size_t pm = (size_t)(2 * h->p);
    const double *omega = job->omega + i * pm, *x = job->anchors + 2 * i;
    double sums[STAIR_PARTS_OF_RULE][SUMS], top[STAIR_PARTS_OF_RULE], z[STAIR_PAIR_CELLS] = {0};
    memcpy(z, h->anchor, sizeof(double) * (size_t)h->dim);
    memcpy(z + h->dim, x, 2 * sizeof(double));
    if (!h->flat) STAIR_TRY(stair_straight_open_at(local, z, h->anchor, &w->fibre));
    for (int half = 0; half < STAIR_HIDDEN_HALVES; half++)
        top[1 + half] = add_half(h, half, x, omega, w, sums[1 + half]);
    top[0] = fmax(top[1], top[2]);
    for (int k = 0; k < SUMS; k++)
        sums[0][k] = 0.5 * (sums[1][k] * exp(top[1] - top[0]) + sums[2][k] * exp(top[2] - top[0]));
    for (int part = 0; part < STAIR_PARTS_OF_RULE; part++) {
        size_t at = i * STAIR_PARTS_OF_RULE + (size_t)part;
        finish_part(h, top[part], sums[part], omega, job->result->logz + at, job->result->g + at * pm,
                    job->result->dg + at * pm * pm);
    }
    return STAIR_OK;
}

static stair_status evaluate_block(void *user, size_t block, int thread, stair_context *local)
{
    const two_rows_job *job = user;
    size_t end = (block + 1) * TWO_ROWS_SAMPLES < job->n ? (block + 1) * TWO_ROWS_SAMPLES : job->n;
    workspace w;
    (void)thread;
    stair_status status = workspace_create(local, job->rule, &w);
    for (size_t i = block * TWO_ROWS_SAMPLES; i < end && status == STAIR_OK; i++)
        status = evaluate_one(local, job, &w, i);
    workspace_destroy(&w);
    return status;
}

stair_status stair_two_rows_evaluate(stair_context *context, const stair_two_rows *rule, size_t n,
                                     const double *anchors, const double *omega, stair_denoised *result)
{
    two_rows_job job = {.rule = rule, .n = n, .anchors = anchors, .omega = omega, .result = result};
    return stair_denoised_share(context, rule->model, TWO_ROWS_SAMPLES, STAIR_PARTS_OF_RULE, evaluate_block,
                                &job, n, result);
}

/* ---- the rule --------------------------------------------------------------------------------- */

static stair_status create(stair_context *context, const stair_structure *structure, const double *cov,
                           const stair_denoiser_effort *effort, void **state)
{
    stair_two_rows *made;
    stair_status status =
        stair_two_rows_create(context, structure, cov, effort->fineness, effort->nodes, effort->seed, &made);
    *state = made;
    return status;
}

static void destroy(void **state)
{
    stair_two_rows *h = *state;
    stair_two_rows_destroy(&h);
    *state = NULL;
}

static bool is_random(const void *state)
{
    const stair_two_rows *h = state;
    return h->dim > 2 && !h->by_shape;
}

static double steepest(const void *state)
{
    return stair_two_rows_steepest(state);
}

static stair_status evaluate(stair_context *context, void *state, uint64_t first, size_t n,
                             const double *labels, const double *omega, const double *drawn,
                             stair_denoised *result)
{
    (void)first, (void)drawn;
    STAIR_TRY(find_anchors(context, state, n, labels, result->anchors));
    return stair_two_rows_evaluate(context, state, n, result->anchors, omega, result);
}

const stair_denoiser_rule stair_denoiser_two_rows = {.name = "two-rows",
                                                     .fits = fits,
                                                     .create = create,
                                                     .destroy = destroy,
                                                     .random = is_random,
                                                     .steepest = steepest,
                                                     .evaluate = evaluate,
                                                     .by_sample = true};
