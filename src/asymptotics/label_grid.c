/* E[phi(y)] at omega = 0, V = 1 by quadrature in the space of labels.
 *
 * Labels in a plane (two dependent entries of Z).  Fix the free rows of Z at one value u0 and let the
 * dependent rows w vary: y = g(u0, w) covers all labels, and dw = weight(u0; y) mu(dy), where mu is the
 * measure in which the channel states its density exp(log Z_out).  So
 *
 *   E[phi] = integral dw  exp(log Z_out(y)) / weight(u0; y)  phi(y),
 *
 * an analytic integrand on the whole plane that decays like a Gaussian: equidistant nodes converge faster
 * than any power of the step (Trefethen and Weideman, SIAM Review 56, 2014).  Two interlaced grids of the
 * same step serve as replicates; the step shrinks until they agree.  The integral of the density must be 1.
 *
 * Fibres that are points {Z, -Z}.  phi is then a polynomial in Z of degree at most 4 and three
 * Gauss-Hermite nodes in each coordinate are exact; the grid is turned, for at its nodes tokens would tie. */
#include "asymptotics/label_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"
#include "core/rng.h"

#define FIRST_STEP 0.5
#define SHRINK     0.8
#define TURN       0.3 /* of the grid, so that no node has two tokens tied */
#define LEAST_STEP 0.02
#define COSTLY     1e-3 /* precision where the hidden integral has more than two dimensions */
#define MOST_SHELL 600
#define MOST_HERMITE 60000 /* nodes: ten coordinates */
#define CELLS (STAIR_MAX_INDICES * STAIR_MAX_TOKENS)

typedef struct {
    const stair_model *model;
    stair_channel_options channel;
    int p, m, free_rows;
    double free_value[CELLS];
    stair_fibre fibre;
    double identity[STAIR_MAX_INDICES * STAIR_MAX_INDICES];
    size_t capacity;
    double *w, *labels, *omega, *logz, *g, *dg, *weight; /* a set of nodes */
    double *memory;
} grid_job;

/* Free rows: tokens at different values, so that no mixing built from them is close to singular. */
static void choose_free_value(grid_job *job)
{
    for (int r = 0; r < job->free_rows; r++)
        for (int t = 0; t < job->m; t++)
            job->free_value[r * job->m + t] = (t % 2 ? -3.0 : 3.0) * (1 - 0.5 * (t / 2) / (double)job->m) + 0.1 * r;
}

static stair_status open_any(stair_context *context, const stair_model *model, stair_fibre *fibre)
{
    double z[CELLS], label[STAIR_MAX_TOKENS * STAIR_MAX_TOKENS], omega[CELLS] = {0};
    stair_rng_normals(1, STAIR_RNG_POINTS, 0, model->info.indices * model->info.tokens, z);
    STAIR_TRY(stair_fibre_create(context, model, fibre));
    model->ops->forward(model, z, NULL, label);
    stair_status status = stair_fibre_open(context, label, omega, fibre);
    if (status != STAIR_OK) stair_fibre_destroy(fibre);
    return status;
}

static bool is_point(const stair_fibre *f) { return f->dim == 0 && f->mirrored && f->charts == 1; }

static bool is_plane(const stair_fibre *f, int p, int m)
{
    return f->dim == f->free_rows * m && f->charts == 1 && !f->residuals && (p - f->free_rows) * m == 2;
}

bool stair_label_grid_fits(stair_context *context, const stair_model *model)
{
    stair_fibre fibre;
    int p = model->info.indices, m = model->info.tokens;
    if (model->info.output_noisy || p > STAIR_MOST_KERNEL || open_any(context, model, &fibre) != STAIR_OK) return false;
    bool fits = is_plane(&fibre, p, m) || (is_point(&fibre) && pow(3, p * m) <= MOST_HERMITE);
    stair_fibre_destroy(&fibre);
    return fits;
}

static stair_status reserve(stair_context *context, grid_job *job, size_t n)
{
    size_t pm = (size_t)(job->p * job->m), k = (size_t)job->model->info.label_size;
    if (n <= job->capacity) return STAIR_OK;
    free(job->memory);
    job->capacity = 0;
    double *at = job->memory = malloc(n * (3 * pm + k + 2 + pm * pm) * sizeof(double));
    if (!at) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    job->w = at;
    job->omega = job->w + n * pm;
    job->g = job->omega + n * pm;
    job->labels = job->g + n * pm;
    job->logz = job->labels + n * k;
    job->weight = job->logz + n;
    job->dg = job->weight + n;
    job->capacity = n;
    return STAIR_OK;
}

/* Densities and derivatives at n nodes whose Z stand in job->w. */
static stair_status evaluate(stair_context *context, grid_job *job, size_t n)
{
    size_t pm = (size_t)(job->p * job->m);
    stair_channel_result result = {.logz = job->logz, .g = job->g, .dg = job->dg};
    memset(job->omega, 0, n * pm * sizeof(double));
    STAIR_TRY(stair_model_forward(context, job->model, n, job->w, job->labels));
    return stair_channel_evaluate(context, job->model, &job->channel, 0, n, job->labels, job->omega, 1, job->identity,
                                  &result);
}

/* Adds weight times sum_ab G_ik,ab G_jl,ab; out as in expectation.h. */
static void add_products(const stair_outer *outer, int m, double weight, const double *dg, double *out)
{
    int p = outer->indices, pm = p * m;
    for (int i = 0; i < p; i++)
        for (int j = 0; j <= i; j++)
            for (int c = 0; c < p; c++)
                for (int d = 0; d < p; d++) {
                    double sum = 0;
                    for (int a = 0; a < m; a++)
                        for (int b = 0; b < m; b++)
                            sum += dg[(i * m + a) * pm + c * m + b] * dg[(j * m + a) * pm + d * m + b];
                    int row = i * (i + 1) / 2 + j, column = c >= d ? c * (c + 1) / 2 + d : d * (d + 1) / 2 + c;
                    out[row * outer->pairs + column] += weight * sum / (c == d ? 1 : 2);
                }
}

static double fibre_weight(grid_job *job, const double *label)
{
    static _Thread_local double u[STAIR_MAX_DIM * STAIR_BLOCK], z[(CELLS + 256) * STAIR_BLOCK], weight[STAIR_BLOCK];
    stair_context local = {.threads = 1};
    if (stair_fibre_open(&local, label, job->omega, &job->fibre) != STAIR_OK) return 0;
    for (int k = 0; k < job->fibre.dim; k++)
        for (int i = 0; i < STAIR_BLOCK; i++) u[k * STAIR_BLOCK + i] = job->free_value[k];
    stair_fibre_map(&job->fibre, 0, 1, u, z, weight);
    return weight[0];
}

/* Shell k of the grid: nodes (i, j) with max(|i|, |j|) = k, one of each pair w, -w when the grid is centred. */
static size_t shell_nodes(grid_job *job, int k, double step, double offset)
{
    size_t n = 0, pm = (size_t)(job->p * job->m);
    int low = offset > 0 ? -k - 1 : -k;
    for (int i = low; i <= k; i++)
        for (int j = low; j <= k; j++) {
            if (i != low && i != k && j != low && j != k) continue;
            if (i + offset < 0 || (i + offset == 0 && j + offset < 0)) continue;
            double *z = job->w + n * pm, *w = z + job->free_rows * job->m;
            memcpy(z, job->free_value, sizeof(double) * (size_t)(job->free_rows * job->m));
            w[0] = ((i + offset) * cos(TURN) - (j + offset) * sin(TURN)) * step;
            w[1] = ((i + offset) * sin(TURN) + (j + offset) * cos(TURN)) * step;
            job->weight[n] = (i == 0 && j == 0 && offset == 0 ? 1 : 2) * step * step;
            n++;
        }
    return n;
}

/* One grid into row r of `outer`; the mass it found is returned in *mass. */
static stair_status integrate(stair_context *context, grid_job *job, double step, double offset, double tolerance,
                              double *row, stair_outer *outer, double *mass)
{
    int start = outer->indices * (outer->indices + 1) / 2 + 1, quiet = 0;
    size_t pm = (size_t)(job->p * job->m), k_label = (size_t)job->model->info.label_size;
    memset(row, 0, sizeof(double) * (size_t)outer->count);
    *mass = 0;
    for (int k = 0; k < MOST_SHELL && quiet < 2; k++) {
        STAIR_TRY(reserve(context, job, (size_t)(8 * (k + 1) + 8)));
        size_t n = shell_nodes(job, k, step, offset);
        double added = 0;
        STAIR_TRY(evaluate(context, job, n));
        for (size_t i = 0; i < n; i++) {
            double scale = fibre_weight(job, job->labels + i * k_label);
            double share = scale > 0 ? job->weight[i] * exp(job->logz[i]) / scale : 0, norm = 0;
            for (size_t a = 0; a < pm * pm; a++) norm += job->dg[i * pm * pm + a] * job->dg[i * pm * pm + a];
            *mass += share;
            added += share * (1 + norm);
            row[start - 1] += share * job->logz[i];
            add_products(outer, job->m, share, job->dg + i * pm * pm, row + start);
        }
        outer->calls += n;
        quiet = added <= 0.01 * tolerance * *mass ? quiet + 1 : 0;
    }
    for (int a = 0; a < outer->count; a++) row[a] /= *mass;
    return STAIR_OK;
}

static double disagreement(const stair_outer *outer, double mass[2])
{
    const double *a = outer->sample, *b = outer->sample + outer->count;
    double worst = fmax(fabs(mass[0] - 1), fabs(mass[1] - 1)), scale = 0;
    int start = outer->indices * (outer->indices + 1) / 2 + 1;
    for (int k = start; k < outer->count; k++) scale = fmax(scale, fabs(a[k]));
    for (int k = start; k < outer->count; k++) worst = fmax(worst, fabs(a[k] - b[k]) / scale);
    return worst;
}

static stair_status plane(stair_context *context, grid_job *job, double precision, stair_outer *outer)
{
    double mass[2];
    for (double step = FIRST_STEP;; step *= SHRINK) {
        STAIR_TRY(integrate(context, job, step, 0, precision, outer->sample, outer, &mass[0]));
        STAIR_TRY(integrate(context, job, step, 0.5, precision, outer->sample + outer->count, outer, &mass[1]));
        if (disagreement(outer, mass) <= precision) break;
        if (step < LEAST_STEP)
            return stair_fail(context, STAIR_NOT_CONVERGED, "the label grid did not reach precision %g", precision);
    }
    for (int k = 0; k < outer->count; k++) outer->mean[k] = 0.5 * (outer->sample[k] + outer->sample[outer->count + k]);
    return STAIR_OK;
}

/* Three-point Gauss-Hermite in every coordinate, turned by a fixed rotation. */
static stair_status points(stair_context *context, grid_job *job, stair_outer *outer)
{
    static const double node[3] = {-1.7320508075688772935, 0, 1.7320508075688772935}, share[3] = {1. / 6, 2. / 3, 1. / 6};
    int size = job->p * job->m, start = outer->indices * (outer->indices + 1) / 2 + 1;
    double turn[12 * 12];
    size_t n = 1;
    for (int k = 0; k < size; k++) n *= 3;
    for (int r = 0; r < 2; r++) { /* two rotations: they agree to rounding */
        stair_rng_normals(1 + (uint64_t)r, STAIR_RNG_POINTS, 1, size * size, turn);
        stair_matrix_orthonormalise(size, turn);
        STAIR_TRY(reserve(context, job, n));
        for (size_t i = 0; i < n; i++) {
            double x[12];
            size_t rest = i;
            job->weight[i] = 1;
            for (int k = 0; k < size; k++, rest /= 3) {
                x[k] = node[rest % 3];
                job->weight[i] *= share[rest % 3];
            }
            for (int k = 0; k < size; k++) {
                double sum = 1e-7 * (k + 1); /* the centre node is a tie as well: step aside, at a cost of 1e-14 */
                for (int j = 0; j < size; j++) sum += turn[k * size + j] * x[j];
                job->w[i * (size_t)size + (size_t)k] = sum;
            }
        }
        STAIR_TRY(evaluate(context, job, n));
        double *row = outer->sample + r * outer->count;
        memset(row, 0, sizeof(double) * (size_t)outer->count);
        for (size_t i = 0; i < n; i++) {
            row[start - 1] += job->weight[i] * job->logz[i];
            add_products(outer, job->m, job->weight[i], job->dg + i * (size_t)(size * size), row + start);
        }
        outer->calls += n;
    }
    for (int k = 0; k < outer->count; k++) outer->mean[k] = 0.5 * (outer->sample[k] + outer->sample[outer->count + k]);
    return STAIR_OK;
}

stair_status stair_label_grid_evaluate(stair_context *context, const stair_model *model,
                                       const stair_channel_options *channel, double precision, stair_outer *outer)
{
    grid_job *job = calloc(1, sizeof *job);
    if (!job) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *job = (grid_job){.model = model, .channel = *channel, .p = model->info.indices, .m = model->info.tokens};
    outer->calls = 0;
    stair_status status = open_any(context, model, &job->fibre);
    if (status == STAIR_OK) {
        job->free_rows = job->fibre.free_rows;
        bool costly = job->fibre.dim > 2; /* there the channel cannot be as accurate as the grid */
        if (costly) precision = fmax(precision, COSTLY);
        job->channel.precision = costly ? precision : fmax(1e-12, 0.1 * precision);
        outer->inner = is_point(&job->fibre) ? 0 : job->channel.precision;
        if (job->fibre.dim == 2) job->channel.method = "nested"; /* accuracy is worth more than speed here */
        choose_free_value(job);
        for (int i = 0; i < job->p; i++) job->identity[i * (job->p + 1)] = 1;
        status = is_point(&job->fibre) ? points(context, job, outer) : plane(context, job, precision, outer);
        stair_fibre_destroy(&job->fibre);
    }
    free(job->memory);
    free(job);
    return status;
}
