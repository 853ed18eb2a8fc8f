/* Two last rows and two tokens: the label leaves open a rotation of both rows together and a number v common to the
 * tokens (docs/channel.md).  In the frame turned by theta, where z = (z_1, z_2) are the last rows,
 *
 *   cos z_1 + sin z_2 = +-w(u),   cos z_2 - sin z_1 = v k,   w(u) = T(u) x,   k = H(u)^-1 1,
 *
 * with u the hidden rows and x the w of an anchor (hidden.c).  For row-stochastic mixings k does not depend on u.  If both
 * rows have variance s, the prior does not change with the frame: a and b being the means in it,
 *
 *   Z_out = integral dtheta/pi over half a turn, E_u weight(u) 1/2 sum_+- N(+-w(u); a, s 1) integral dv N(v k; b, s 1).
 *
 * The integral over v is Gaussian, theta gets equidistant nodes (periodic: exact beyond all powers), of which a scan over some u
 * keeps those that count, and u the rules of pair_nodes.h.  What the label says of the last rows is as if there
 * was one, in many frames.  Two hidden rows of which nothing is known enter through their shape alone.
 *
 * Halves: hidden nodes and directions both interlace. */
#include "asymptotics/pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "asymptotics/pair_nodes.h"
#include "asymptotics/pair_sums.h"
#include "asymptotics/symmetry.h"
#include "core/isa.h"
#include "core/matrix.h"
#include "core/parallel.h"
#include "core/rng.h"

#define MOST_CELLS  (2 * (STAIR_PAIR_ROWS + 2))
#define ROOM        (MOST_CELLS * STAIR_BLOCK)
#define LAST_CELLS  4
#define PRIOR_STEP  0.7 /* step that resolves the prior, per fineness */
#define WIDTH_STEP  0.9 /* and the posterior, in units of its width sqrt(s) / |dw/du| */
#define LEAST_STEP  0.02
#define SLOPES      256 /* random places at which |dw/du| is taken */
#define DIFFERENCE  1e-4
#define TRIALS      128 /* random places where the fibre is looked at */
#define SAME        1e-9
#define STEEPEST    40.0  /* largest entry of T, see hidden.c */
#define FEW         3.0   /* directions of half a turn, at least, */
#define RESOLVED    1.75  /* and per square root of the concentration kappa of exp(kappa cos theta) */
#define WIDER       4.0   /* standard deviations that z may be beyond its mean in kappa */
#define MOST_ANGLES 16384
#define SCANNED     16    /* groups of nodes that a scan looks at */
#define UNSEEN      60.0  /* directions whose exponents stay that far below the largest in the scan are left out */
#define NEGLIGIBLE  16.0  /* and nodes in the sums */
#define SAMPLES_PER_BLOCK 32

STAIR_HOT_TABLE(void, stair_pair_place,
                (size_t blocks, const double *table, const double *x, double half_inverse, double *nodes));
STAIR_HOT_TABLE(void, stair_pair_scan,
                (size_t blocks, const double *nodes, size_t stride, int angles, const stair_pair_angle *angle, double *top));
STAIR_HOT_TABLE(void, stair_pair_add,
                (size_t blocks, const double *nodes, int angles, const stair_pair_angle *angle, double cut, double top,
                 double *room, double *sums, double *mass));
STAIR_HOT_TABLE(void, stair_pair_hidden, (size_t blocks, int rows, const double *place, const double *mass, double *sums));

/* A fibre at v = 0 and one direction of the frame: rows (w, 0) turned to `axis`. */
typedef struct {
    stair_fibre fibre;
    double axis[2];
} straight_fibre;

/* Fibres of two labels whose x are independent: columns of `inverse` turn maps into T. */
typedef struct {
    straight_fibre label[2];
    double inverse[4];
    int opened;
} label_basis;

struct stair_pair {
    const stair_model *model;
    int p, rows, dim;                 /* P; hidden rows and coordinates */
    double variance[STAIR_MAX_INDICES]; /* of each row, prenoise included */
    bool flat;                        /* nothing known of the hidden rows: one table */
    bool by_shape;                    /* two hidden rows through their shape */
    double anchor[MOST_CELLS], steepest;
    double common[2], weight;         /* k, and |det H|^-2 at the anchor */
    stair_pair_nodes nodes[STAIR_PAIR_HALVES];
    double *table[STAIR_PAIR_HALVES]; /* flat: (blocks, 5, STAIR_BLOCK), log weight and T */
};

/* ---- the fibre -------------------------------------------------------------------------------- */

/* w (2, STAIR_BLOCK) and |det H|^-2 at a block of hidden places u (dim, STAIR_BLOCK); with v, along the other axis. */
static void map_block(const straight_fibre *f, const double *u, double v, double *w, double *weight)
{
    double coordinates[ROOM], z[ROOM];
    int hidden = f->fibre.free_rows * 2;
    const double axis[2] = {v ? -f->axis[1] : f->axis[0], v ? f->axis[0] : f->axis[1]};
    memcpy(coordinates, u, sizeof(double) * (size_t)(hidden * STAIR_BLOCK));
    for (int i = 0; i < STAIR_BLOCK; i++) {
        coordinates[hidden * STAIR_BLOCK + i] = v;
        coordinates[(hidden + 1) * STAIR_BLOCK + i] = 0; /* the middle of the chart, of density 1/pi */
    }
    stair_fibre_map(&f->fibre, 0, STAIR_BLOCK, coordinates, z, weight);
    const double *first = z + hidden * STAIR_BLOCK, *second = first + 2 * STAIR_BLOCK;
    for (int i = 0; i < 2 * STAIR_BLOCK; i++) w[i] = axis[0] * first[i] + axis[1] * second[i];
    for (int i = 0; i < STAIR_BLOCK; i++) weight[i] *= M_PI;
}

static double map_one(const straight_fibre *f, const double *u, double v, double *w)
{
    double block[ROOM], image[2 * STAIR_BLOCK], weight[STAIR_BLOCK];
    for (int k = 0; k < f->fibre.free_rows * 2; k++)
        for (int i = 0; i < STAIR_BLOCK; i++) block[k * STAIR_BLOCK + i] = u[k];
    map_block(f, block, v, image, weight);
    w[0] = image[0];
    w[1] = image[STAIR_BLOCK];
    return weight[0];
}

static stair_status open_label(stair_context *context, const double *label, const double *anchor, straight_fibre *f)
{
    double omega[2 * STAIR_MAX_INDICES] = {0}, rows[2][2], norm = 0;
    STAIR_TRY(stair_fibre_open(context, label, omega, &f->fibre));
    for (int axis = 0; axis < 2; axis++) {
        f->axis[0] = axis == 0;
        f->axis[1] = axis == 1;
        map_one(f, anchor, 0, rows[axis]);
    }
    int token = fabs(rows[0][0]) + fabs(rows[1][0]) < fabs(rows[0][1]) + fabs(rows[1][1]);
    norm = hypot(rows[0][token], rows[1][token]);
    for (int axis = 0; axis < 2; axis++) f->axis[axis] = norm > 0 ? rows[axis][token] / norm : axis == 0;
    return STAIR_OK;
}

static stair_status open_at(stair_context *context, const stair_model *model, const double *anchor, const double *z,
                            straight_fibre *f)
{
    double label[STAIR_MAX_TOKENS * STAIR_MAX_TOKENS];
    model->ops->forward(model, z, NULL, label);
    return open_label(context, label, anchor, f);
}

static void basis_close(label_basis *b)
{
    for (int k = 0; k < b->opened; k++) stair_fibre_destroy(&b->label[k].fibre);
}

static stair_status basis_open(stair_context *context, const stair_model *model, const double *anchor, label_basis *b)
{
    int hidden = 2 * (model->info.indices - 2);
    double z[MOST_CELLS] = {0}, x[4], w[2];
    memset(b, 0, sizeof *b);
    memcpy(z, anchor, sizeof(double) * (size_t)hidden);
    for (int k = 0; k < 2; k++) {
        STAIR_TRY(stair_fibre_create(context, model, &b->label[k].fibre));
        b->opened++;
        z[hidden] = k == 0 ? 1.5 : 0.3;
        z[hidden + 1] = k == 0 ? 0.6 : 1.5;
        STAIR_TRY(open_at(context, model, anchor, z, &b->label[k]));
        map_one(&b->label[k], anchor, 0, w);
        for (int t = 0; t < 2; t++) x[t * 2 + k] = w[t];
    }
    for (int i = 0; i < 4; i++) b->inverse[i] = i % 3 == 0;
    return stair_matrix_solve(2, x, 2, b->inverse, NULL) ? STAIR_OK : stair_fail(context, STAIR_FAILED, "labels coincide");
}

/* table (5, STAIR_BLOCK): |det H|^-2 and T at a block of places. */
static void basis_map(const label_basis *b, const double *u, double *table)
{
    double w[2][2 * STAIR_BLOCK];
    for (int k = 0; k < 2; k++) map_block(&b->label[k], u, 0, w[k], table);
    for (int t = 0; t < 2; t++)
        for (int s = 0; s < 2; s++)
            for (int i = 0; i < STAIR_BLOCK; i++)
                table[(1 + 2 * t + s) * STAIR_BLOCK + i] =
                    w[0][t * STAIR_BLOCK + i] * b->inverse[s] + w[1][t * STAIR_BLOCK + i] * b->inverse[2 + s];
}

static void basis_map_one(const label_basis *b, int dim, const double *u, double *five)
{
    double block[ROOM], table[5 * STAIR_BLOCK];
    for (int k = 0; k < dim; k++)
        for (int i = 0; i < STAIR_BLOCK; i++) block[k * STAIR_BLOCK + i] = u[k];
    basis_map(b, block, table);
    for (int c = 0; c < 5; c++) five[c] = table[c * STAIR_BLOCK];
}

/* ---- where it fits ---------------------------------------------------------------------------- */

static bool rows_fit(const stair_model *model, const double *cov)
{
    int p = model->info.indices;
    stair_symmetry symmetry;
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++)
            if (i != j && fabs(cov[i * p + j]) > 1e-12) return false;
    if (fabs(cov[p * p - 1] - cov[p * p - p - 2]) > 1e-9 * cov[p * p - 1]) return false;
    stair_symmetry_find(model, &symmetry);
    for (int i = 0; i < p - 2; i++)
        if (!symmetry.even[i]) return false;
    return true;
}

static bool fibre_fits(const stair_fibre *f, int p)
{
    return f->free_rows == p - 2 && f->dim == f->free_rows * 2 + 2 && f->charts == 2 && f->angles == 1 && !f->mirrored &&
           !f->residuals;
}

/* Shape (a_1, a_2, 0, 0) of the two rows u. */
static void shape_of(const double *u, double *shape)
{
    double along[2] = {u[0] - u[1], u[2] - u[3]}, gap = hypot(along[0], along[1]);
    for (int t = 0; t < 2; t++) {
        shape[t] = (u[t] * along[0] + u[2 + t] * along[1]) / gap;
        shape[2 + t] = 0;
    }
}

static bool are_close(int n, const double *a, const double *b)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= SAME * STEEPEST)) return false;
    return true;
}

/* At random places: w = T(u) x, v k with the same k everywhere, T not steep; and whether only the shape of u matters. */
static bool is_straight(stair_context *context, const stair_model *model, straight_fibre *f, bool *by_shape)
{
    int hidden = 2 * (model->info.indices - 2);
    double anchor[MOST_CELLS], z[MOST_CELLS], shape[4], x[2], w[2], five[5], other[5], common[2] = {0}, there[2];
    label_basis basis;
    stair_hidden_anchor(hidden / 2, 2, anchor);
    bool straight = basis_open(context, model, anchor, &basis) == STAIR_OK;
    *by_shape = hidden == 4;
    for (int trial = 0; trial < TRIALS && straight; trial++) {
        stair_rng_normals(5, STAIR_RNG_POINTS, (uint64_t)trial, hidden + LAST_CELLS, z);
        straight = open_at(context, model, anchor, z, f) == STAIR_OK;
        if (!straight) break;
        map_one(f, anchor, 0, x);
        double weight = map_one(f, z, 0, w);
        map_one(f, z, 1, there); /* up to the sign of the axis */
        for (int t = 0; t < 2; t++) there[t] = fabs(there[t]);
        basis_map_one(&basis, hidden, z, five);
        if (!trial) memcpy(common, there, sizeof common);
        for (int t = 0; t < 2; t++) w[t] -= five[1 + 2 * t] * x[0] + five[2 + 2 * t] * x[1];
        straight = are_close(2, w, (double[2]){0}) && are_close(2, there, common) && are_close(1, five, &weight);
        for (int c = 1; c < 5; c++) straight &= fabs(five[c]) <= STEEPEST;
        if (!*by_shape) continue;
        shape_of(z, shape);
        basis_map_one(&basis, hidden, shape, other);
        *by_shape = are_close(5, five, other);
    }
    basis_close(&basis);
    return straight;
}

static bool looks_straight(stair_context *context, const stair_model *model, bool *by_shape)
{
    stair_context local = *context; /* what does not fit is no error of the caller's */
    straight_fibre f;
    int p = model->info.indices;
    double z[MOST_CELLS], label[4], omega[MOST_CELLS] = {0};
    if (model->info.output_noisy || model->info.tokens != 2 || p < 2 || p - 2 > STAIR_PAIR_ROWS) return false;
    if (stair_fibre_create(&local, model, &f.fibre) != STAIR_OK) return false;
    stair_rng_normals(1, STAIR_RNG_POINTS, 0, p * 2, z);
    model->ops->forward(model, z, NULL, label);
    bool fits = stair_fibre_open(&local, label, omega, &f.fibre) == STAIR_OK && fibre_fits(&f.fibre, p) &&
                is_straight(&local, model, &f, by_shape);
    stair_fibre_destroy(&f.fibre);
    return fits;
}

bool stair_pair_fits(stair_context *context, const stair_model *model, const double *cov)
{
    bool by_shape;
    return looks_straight(context, model, &by_shape) && rows_fit(model, cov);
}

bool stair_pair_has_plane(stair_context *context, const stair_model *model)
{
    bool by_shape;
    return looks_straight(context, model, &by_shape) && (model->info.indices <= 3 || by_shape);
}

/* ---- hidden nodes ----------------------------------------------------------------------------- */

/* Over the prior: root mean square of |dw/du| in units of the hidden standard deviations, and largest entry of T. */
static double typical_slope(stair_pair *h, const label_basis *basis)
{
    double u[MOST_CELLS], moved[MOST_CELLS], five[5], other[5], square = 0;
    for (int trial = 0; trial < SLOPES; trial++) {
        stair_rng_normals(6, STAIR_RNG_POINTS, (uint64_t)trial, h->dim, u);
        if (h->by_shape) {
            memcpy(moved, u, sizeof moved);
            shape_of(moved, u);
        }
        basis_map_one(basis, h->dim, u, five);
        for (int c = 1; c < 5; c++) h->steepest = fmax(h->steepest, fabs(five[c]));
        for (int k = 0; k < (h->by_shape ? 2 : h->dim); k++) {
            memcpy(moved, u, sizeof u);
            moved[k] += DIFFERENCE;
            basis_map_one(basis, h->dim, moved, other);
            for (int c = 1; c < 5; c++)
                square += h->variance[k / 2] * (other[c] - five[c]) * (other[c] - five[c]) / (DIFFERENCE * DIFFERENCE * SLOPES);
        }
    }
    return sqrt(square);
}

static stair_status make_nodes(stair_context *context, stair_pair *h, double slope, double fineness, size_t count, uint64_t seed)
{
    double width = sqrt(h->variance[h->p - 1]) / slope;
    double step = fmax(LEAST_STEP, fmin(PRIOR_STEP, WIDTH_STEP * width) / fineness);
    for (int half = 0; half < STAIR_PAIR_HALVES; half++) {
        stair_pair_nodes *nodes = &h->nodes[half];
        if (h->by_shape)
            STAIR_TRY(stair_pair_nodes_shape(context, step, half, nodes));
        else if (h->dim == 2)
            STAIR_TRY(stair_pair_nodes_plane(context, step, h->flat, half, nodes));
        else
            STAIR_TRY(stair_pair_nodes_lattice(context, h->dim, count, seed, half, nodes));
    }
    return STAIR_OK;
}

/* Places of block b around the means (NULL: zero). */
static void places(const stair_pair *h, int half, size_t b, const double *mean, double *u)
{
    const double *place = h->nodes[half].place + b * STAIR_BLOCK * (size_t)h->dim;
    for (int k = 0; k < h->dim; k++) {
        double scale = sqrt(h->variance[k / 2]), middle = mean ? mean[k] : 0;
        for (int i = 0; i < STAIR_BLOCK; i++) u[k * STAIR_BLOCK + i] = middle + scale * place[k * STAIR_BLOCK + i];
    }
}

static stair_status fill_table(stair_context *context, stair_pair *h, const label_basis *basis, int half)
{
    double u[ROOM];
    const stair_pair_nodes *nodes = &h->nodes[half];
    double *table = h->table[half] = malloc(nodes->blocks * 5 * STAIR_BLOCK * sizeof(double));
    if (!table) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (size_t b = 0; b < nodes->blocks; b++, table += 5 * STAIR_BLOCK) {
        places(h, half, b, NULL, u);
        basis_map(basis, u, table);
        for (size_t i = 0; i < STAIR_BLOCK; i++) table[i] = log(table[i]) + nodes->log_measure[b * STAIR_BLOCK + i];
    }
    return STAIR_OK;
}

static stair_status build(stair_context *context, stair_pair *h, double fineness, size_t count, uint64_t seed)
{
    label_basis basis;
    stair_status status = basis_open(context, h->model, h->anchor, &basis);
    if (status == STAIR_OK) {
        h->weight = map_one(&basis.label[0], h->anchor, 1, h->common);
        status = make_nodes(context, h, typical_slope(h, &basis), fineness, count, seed);
    }
    for (int half = 0; half < STAIR_PAIR_HALVES && h->flat && status == STAIR_OK; half++)
        status = fill_table(context, h, &basis, half);
    basis_close(&basis);
    return status;
}

stair_status stair_pair_create(stair_context *context, const stair_model *model, const double *cov, double fineness,
                               size_t nodes, uint64_t seed, stair_pair **pair)
{
    int p = model->info.indices;
    stair_pair *h = *pair = calloc(1, sizeof *h);
    if (!h) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *h = (stair_pair){.model = model, .p = p, .rows = p - 2, .dim = 2 * (p - 2), .flat = true};
    for (int i = 0; i < p; i++) {
        h->variance[i] = cov[i * (p + 1)] + model->info.prenoise;
        if (i < p - 2) h->flat &= cov[i * (p + 1)] == 1;
    }
    stair_hidden_anchor(p - 2, 2, h->anchor);
    stair_status status = looks_straight(context, model, &h->by_shape)
                              ? STAIR_OK
                              : stair_fail(context, STAIR_UNSUPPORTED, "the label does not fix two last rows up to a rotation");
    h->by_shape &= h->flat;
    if (status == STAIR_OK) status = build(context, h, fineness, nodes, seed);
    if (status != STAIR_OK) stair_pair_destroy(pair);
    return status;
}

void stair_pair_destroy(stair_pair **pair)
{
    if (!*pair) return;
    for (int half = 0; half < STAIR_PAIR_HALVES; half++) {
        stair_pair_nodes_destroy(&(*pair)->nodes[half]);
        free((*pair)->table[half]);
    }
    free(*pair);
    *pair = NULL;
}

bool stair_pair_is_random(const stair_pair *h) { return h->dim > 2 && !h->by_shape; }

double stair_pair_steepest(const stair_pair *h) { return h->steepest; }

/* dh = mu(dy) dv dtheta/2pi = d da dv dtheta with h = H (x, v k) turned, a = H x, d = a_1 - a_2 = det H k_1 (x_1 - x_2). */
double stair_pair_label_measure(const stair_pair *h, const double *x)
{
    return 2 * M_PI * fabs(h->common[0] * (x[0] - x[1])) / h->weight;
}

/* ---- samples ---------------------------------------------------------------------------------- */

stair_status stair_pair_anchors(stair_context *context, const stair_pair *h, size_t n, const double *labels, double *anchors)
{
    straight_fibre f;
    STAIR_TRY(stair_fibre_create(context, h->model, &f.fibre));
    stair_status status = STAIR_OK;
    for (size_t i = 0; i < n && status == STAIR_OK; i++) {
        status = open_label(context, labels + i * (size_t)h->model->info.label_size, h->anchor, &f);
        if (status == STAIR_OK) map_one(&f, h->anchor, 0, anchors + 2 * i);
    }
    stair_fibre_destroy(&f.fibre);
    return status;
}

/* Where sums of one half begin: mass, last rows (4 means, 16 products), hidden rows (5 each). */
enum { MASS, FIRST, SECOND = FIRST + LAST_CELLS, HIDDEN = SECOND + LAST_CELLS * LAST_CELLS };
#define SUMS (HIDDEN + 5 * STAIR_PAIR_ROWS)

typedef struct {
    straight_fibre fibre;
    double *memory, *nodes, *mass; /* (blocks, 3, STAIR_BLOCK), (blocks, STAIR_BLOCK) */
    double *top, *sums, *room;     /* (MOST_ANGLES), (MOST_ANGLES, 6), (MOST_ANGLES, 6, 8) */
    stair_pair_angle *angle;       /* (MOST_ANGLES) */
} workspace;

typedef struct {
    const stair_pair *pair;
    size_t n;
    const double *anchors, *omega;
    stair_hidden_result *result;
} pair_job;

static stair_status workspace_create(stair_context *context, const stair_pair *h, workspace *w)
{
    size_t blocks = h->nodes[0].blocks > h->nodes[1].blocks ? h->nodes[0].blocks : h->nodes[1].blocks;
    memset(w, 0, sizeof *w);
    STAIR_TRY(stair_fibre_create(context, h->model, &w->fibre.fibre));
    w->memory = malloc((blocks * STAIR_BLOCK * (STAIR_PAIR_NODE + 1) + (size_t)MOST_ANGLES * (1 + 9 * STAIR_PAIR_SUMS)) *
                           sizeof(double) + MOST_ANGLES * sizeof(stair_pair_angle));
    if (!w->memory) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    w->nodes = w->memory;
    w->mass = w->nodes + blocks * STAIR_BLOCK * STAIR_PAIR_NODE;
    w->top = w->mass + blocks * STAIR_BLOCK;
    w->sums = w->top + MOST_ANGLES;
    w->room = w->sums + MOST_ANGLES * STAIR_PAIR_SUMS;
    w->angle = (stair_pair_angle *)(w->room + 8 * MOST_ANGLES * STAIR_PAIR_SUMS);
    return STAIR_OK;
}

static void workspace_destroy(workspace *w)
{
    stair_fibre_destroy(&w->fibre.fibre);
    free(w->memory);
}

/* Nodes that move with omega: the model maps them block by block. */
static void place_moving(const stair_pair *h, int half, const double *omega, workspace *w)
{
    double u[ROOM], weight[STAIR_BLOCK], half_inverse = 0.5 / h->variance[h->p - 1];
    const stair_pair_nodes *nodes = &h->nodes[half];
    for (size_t b = 0; b < nodes->blocks; b++) {
        double *node = w->nodes + b * STAIR_PAIR_NODE * STAIR_BLOCK, *first = node + STAIR_BLOCK, *second = first + STAIR_BLOCK;
        places(h, half, b, omega, u);
        map_block(&w->fibre, u, 0, first, weight);
        for (size_t i = 0; i < STAIR_BLOCK; i++)
            node[i] = nodes->log_measure[b * STAIR_BLOCK + i] + log(weight[i]) -
                      half_inverse * (first[i] * first[i] + second[i] * second[i]);
    }
}

/* Directions of half a turn, as many as exp(kappa cos theta) takes for the largest kappa that occurs. */
static int choose_angles(const stair_pair *h, int half, const double *mean, stair_pair_angle *angle)
{
    double s = h->variance[h->p - 1], square = 0, norm = h->common[0] * h->common[0] + h->common[1] * h->common[1];
    for (int c = 0; c < LAST_CELLS; c++) square += mean[c] * mean[c];
    double kappa = sqrt(square) * (sqrt(square) + WIDER * sqrt(s)) / s;
    int count = square > 0 ? (int)fmin(MOST_ANGLES, ceil(FEW + RESOLVED * sqrt(kappa))) : 1;
    for (int k = 0; k < count; k++) {
        double theta = M_PI * (k + 0.5 * half) / count, c = cos(theta), d = sin(theta);
        double a[2] = {c * mean[0] + d * mean[2], c * mean[1] + d * mean[3]};
        double across = (h->common[0] * (c * mean[3] - d * mean[1]) - h->common[1] * (c * mean[2] - d * mean[0]));
        angle[k] = (stair_pair_angle){.cosine = c, .sine = d, .slope = {a[0] / s, a[1] / s},
                                      .level = -0.5 / s * (a[0] * a[0] + a[1] * a[1] + across * across / norm)};
    }
    return count;
}

/* Keeps the directions that count; returns their number and the largest exponent seen. */
static int scan(const stair_pair_nodes *nodes, int count, workspace *w, double *top)
{
    size_t groups = nodes->blocks * (STAIR_BLOCK / STAIR_PAIR_SCAN), stride = (groups + SCANNED - 1) / SCANNED;
    int kept = 0;
    stair_pair_scan_table[stair_isa()](nodes->blocks, w->nodes, stride, count, w->angle, w->top);
    *top = -1e300;
    for (int k = 0; k < count; k++) *top = fmax(*top, w->top[k]);
    for (int k = 0; k < count; k++)
        if (w->top[k] > *top - UNSEEN) w->angle[kept++] = w->angle[k];
    return kept;
}

/* Moments of the last rows in the fixed frame, from those of one direction: rows (w, v k) turned, v Gaussian. */
static void turn_back(const stair_pair *h, const double *mean, const stair_pair_angle *angle, const double *from, double *sums)
{
    double c = angle->cosine, d = angle->sine, norm = h->common[0] * h->common[0] + h->common[1] * h->common[1], v = 0;
    for (int t = 0; t < 2; t++) v += h->common[t] * (c * mean[2 + t] - d * mean[t]) / norm;
    double square = v * v + h->variance[h->p - 1] / norm;
    double turn[2][2] = {{c, -d}, {d, c}}, product[2][2][2][2]; /* of rows of the frame, of tokens */
    for (int t = 0; t < 2; t++) {
        for (int r = 0; r < 2; r++)
            sums[FIRST + 2 * r + t] += turn[r][0] * from[1 + t] + turn[r][1] * v * h->common[t] * from[0];
        for (int s = 0; s < 2; s++) {
            product[0][0][t][s] = from[3 + t + s];
            product[0][1][t][s] = from[1 + t] * v * h->common[s];
            product[1][0][t][s] = from[1 + s] * v * h->common[t];
            product[1][1][t][s] = square * h->common[t] * h->common[s] * from[0];
        }
    }
    for (int i = 0; i < LAST_CELLS; i++)
        for (int j = 0; j < LAST_CELLS; j++)
            for (int a = 0; a < 2; a++)
                for (int b = 0; b < 2; b++)
                    sums[SECOND + i * LAST_CELLS + j] += turn[i / 2][a] * turn[j / 2][b] * product[a][b][i % 2][j % 2];
    sums[MASS] += from[0];
}

/* sums (SUMS) of one half, in units of exp(top). */
static double add_half(const stair_pair *h, int half, const double *x, const double *omega, workspace *w, double *sums)
{
    const stair_pair_nodes *nodes = &h->nodes[half];
    const double *mean = omega + h->dim;
    double top;
    if (h->flat)
        stair_pair_place_table[stair_isa()](nodes->blocks, h->table[half], x, 0.5 / h->variance[h->p - 1], w->nodes);
    else
        place_moving(h, half, omega, w);
    int count = choose_angles(h, half, mean, w->angle), kept = scan(nodes, count, w, &top);
    stair_pair_add_table[stair_isa()](nodes->blocks, w->nodes, kept, w->angle, top - NEGLIGIBLE, top, w->room, w->sums, w->mass);
    memset(sums, 0, SUMS * sizeof(double));
    for (int k = 0; k < kept; k++) turn_back(h, mean, &w->angle[k], w->sums + k * STAIR_PAIR_SUMS, sums);
    stair_pair_hidden_table[stair_isa()](nodes->blocks, h->rows, nodes->place, w->mass, sums + HIDDEN);
    for (int k = 0; k < SUMS; k++) sums[k] *= 0.5 / count; /* mean over directions and signs */
    return top;
}

/* g and dg of the last rows. */
static void finish_last(const stair_pair *h, const double *sums, const double *omega, double *g, double *dg)
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
                (sums[SECOND + i * LAST_CELLS + j] / sums[MASS] - mean[i] * mean[j]) / (s * s) - (i == j ? 1 / s : 0);
}

/* And of hidden row r: places are in units of its standard deviation.  By shape, both rows share what its places tell, and
 * what is common to the tokens keeps its prior variance 1/2. */
static void finish_hidden(const stair_pair *h, int r, const double *sums, double *g, double *dg)
{
    const double *moment = sums + HIDDEN + (h->by_shape ? 0 : 5 * r);
    double v = h->variance[r], mean[2];
    for (int t = 0; t < 2; t++) {
        mean[t] = h->flat ? 0 : moment[t] / sums[MASS]; /* flat: even, and maybe half of the nodes are left out */
        g[2 * r + t] = mean[t] / sqrt(v);
    }
    for (int t = 0; t < 2; t++)
        for (int s = 0; s < 2; s++) {
            double square = moment[2 + t + s] / sums[MASS];
            if (h->by_shape) square = 0.5 * (square + 0.5);
            dg[(2 * r + t) * 2 * h->p + 2 * r + s] = (square - mean[t] * mean[s] - (s == t)) / v;
        }
}

static void finish_part(const stair_pair *h, double top, const double *sums, const double *omega, double *logz, double *g, double *dg)
{
    int pm = 2 * h->p;
    double s = h->variance[h->p - 1], norm = h->common[0] * h->common[0] + h->common[1] * h->common[1];
    memset(g, 0, sizeof(double) * (size_t)pm);
    memset(dg, 0, sizeof(double) * (size_t)(pm * pm));
    *logz = top + log(sums[MASS]) - 1.5 * log(2 * M_PI * s) - 0.5 * log(norm);
    finish_last(h, sums, omega, g, dg);
    for (int r = 0; r < h->rows; r++) finish_hidden(h, r, sums, g, dg);
}

static stair_status evaluate_one(stair_context *local, const pair_job *job, workspace *w, size_t i)
{
    const stair_pair *h = job->pair;
    size_t pm = (size_t)(2 * h->p);
    const double *omega = job->omega + i * pm, *x = job->anchors + 2 * i;
    double sums[STAIR_HIDDEN_PARTS][SUMS], top[STAIR_HIDDEN_PARTS], z[MOST_CELLS] = {0};
    memcpy(z, h->anchor, sizeof(double) * (size_t)h->dim);
    memcpy(z + h->dim, x, 2 * sizeof(double));
    if (!h->flat) STAIR_TRY(open_at(local, h->model, h->anchor, z, &w->fibre));
    for (int half = 0; half < STAIR_PAIR_HALVES; half++) top[1 + half] = add_half(h, half, x, omega, w, sums[1 + half]);
    top[0] = fmax(top[1], top[2]);
    for (int k = 0; k < SUMS; k++)
        sums[0][k] = 0.5 * (sums[1][k] * exp(top[1] - top[0]) + sums[2][k] * exp(top[2] - top[0]));
    for (int part = 0; part < STAIR_HIDDEN_PARTS; part++) {
        size_t at = i * STAIR_HIDDEN_PARTS + (size_t)part;
        finish_part(h, top[part], sums[part], omega, job->result->logz + at, job->result->g + at * pm, job->result->dg + at * pm * pm);
    }
    return STAIR_OK;
}

static stair_status evaluate_block(void *user, size_t block, int thread, stair_context *local)
{
    const pair_job *job = user;
    size_t end = (block + 1) * SAMPLES_PER_BLOCK < job->n ? (block + 1) * SAMPLES_PER_BLOCK : job->n;
    workspace w;
    (void)thread;
    stair_status status = workspace_create(local, job->pair, &w);
    for (size_t i = block * SAMPLES_PER_BLOCK; i < end && status == STAIR_OK; i++) status = evaluate_one(local, job, &w, i);
    workspace_destroy(&w);
    return status;
}

stair_status stair_pair_evaluate(stair_context *context, const stair_pair *pair, size_t n, const double *anchors,
                                 const double *omega, stair_hidden_result *result)
{
    pair_job job = {.pair = pair, .n = n, .anchors = anchors, .omega = omega, .result = result};
    return stair_parallel(context, (n + SAMPLES_PER_BLOCK - 1) / SAMPLES_PER_BLOCK, evaluate_block, &job);
}
