/* Integrands, moments and what follows from them: log Z_out, g_out, dg_out (MATH: V^{-1}(E[Z|y] - omega)
 * and V^{-1} Cov V^{-1} - V^{-1}). */
#include "channel/moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "channel/ignorance.h"
#include "core/isa.h"
#include "core/matrix.h"

static const struct {
    double vanishing;    /* of its natural size: below this g counts as zero, as it is at omega = 0, */
    double vanishing_dg; /* and so dg */
    double rounding;     /* of a residual, relative: a few units in the last place */
    double shell;        /* times exp(-cutoff), what one and two dimensions leave out beyond the last shell */
} tuning = {.vanishing = 1e-9, .vanishing_dg = 1e-16, .rounding = 4e-16, .shell = 10};

STAIR_HOT_TABLE(double, stair_block_energies,
                (const stair_channel_shape *s, int n, const stair_nodes *nodes));
STAIR_HOT_TABLE(void, stair_block_add,
                (const stair_channel_shape *s, int n, const stair_nodes *nodes, const double *bias,
                 double top, const double *origin, double *accumulators));

STAIR_HOT_TABLE(int, stair_block_accumulate,
                (const stair_channel_shape *s, int n, const stair_nodes *nodes, double top, double threshold,
                 const double *origin, double *accumulators));

STAIR_HOT_TABLE(void, stair_block_affine,
                (int dim, const double *matrix, const double *centre, const double *normal, size_t stride,
                 double *u));
STAIR_HOT_TABLE(void, stair_block_shift, (int n, const double *u, double by, double *at));
STAIR_HOT_TABLE(void, stair_block_mass,
                (int n, const double *plus, const double *minus, double top, const double *weight,
                 double *mass));

void stair_affine(int dim, const double *matrix, const double *centre, const double *points, size_t stride,
                  double *u)
{
    stair_block_affine_table[stair_isa()](dim, matrix, centre, points, stride, u);
}

void stair_mass(int n, const double *plus, const double *minus, double top, const double *weight,
                double *mass)
{
    stair_block_mass_table[stair_isa()](n, plus, minus, top, weight, mass);
}

stair_status stair_integrand_create(stair_context *context, const stair_model *model, stair_integrand *f)
{
    memset(f, 0, sizeof *f);
    int p = model->info.indices, m = model->info.tokens, size = p * m;
    int residuals = model->info.output_noisy ? model->info.label_size : 0;
    f->size = size;
    f->count = 1 + size + size * (size + 1) / 2;
    size_t small = (size_t)(3 * p * p + 4 * size), block = STAIR_BLOCK;
    size_t doubles = (small + 7) / 8 * 8 +
                     block * (size_t)(2 * STAIR_MAX_DIM + size + residuals + 2 * size + 3) +
                     8 * (size_t)(f->count + 4 * size);
    STAIR_TRY(stair_structure_find(context, model, &f->structure));
    STAIR_TRY(stair_fibre_create(context, model, &f->fibre));
    double *memory = aligned_alloc(64, doubles * sizeof(double));
    if (!memory) {
        stair_fibre_destroy(&f->fibre);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    memset(memory, 0, doubles * sizeof(double));
    f->nodes.u = memory;
    f->nodes.at = f->nodes.u + block * STAIR_MAX_DIM;
    f->nodes.z = f->nodes.at + block * STAIR_MAX_DIM;
    f->nodes.a = f->nodes.z + block * (size_t)(size + residuals);
    f->nodes.b = f->nodes.a + block * (size_t)size;
    f->nodes.weight = f->nodes.b + block * (size_t)size;
    f->nodes.plus = f->nodes.weight + block;
    f->nodes.minus = f->nodes.plus + block;
    f->lanes = f->nodes.minus + block;
    f->whiten = f->lanes + 8 * (size_t)(f->count + 4 * size);
    f->lower = f->whiten + p * p;
    f->offset = f->lower + p * p;
    f->origin = f->offset + size;
    f->shift = f->origin + size;
    f->mean = f->shift + size;
    f->variance = f->mean + size;
    f->shape = (stair_channel_shape){
        .rows = p, .tokens = m, .whiten = f->whiten, .offset = f->offset, .shift = f->shift};
    return STAIR_OK;
}

void stair_integrand_destroy(stair_integrand *f)
{
    free(f->nodes.u);
    f->nodes.u = NULL;
    stair_fibre_destroy(&f->fibre);
}

int stair_integrand_most(const stair_integrand *f)
{
    return f->fibre.model->info.output_noisy ? f->size : f->fibre.model->fibre_dim;
}

bool stair_integrand_set(stair_integrand *f, const double *omega, const double *cov)
{
    int p = f->shape.rows, m = f->shape.tokens;
    const int *order = f->fibre.model->order;
    double *v = f->variance, prenoise = f->fibre.model->info.prenoise;
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) v[i * p + j] = cov[order[i] * p + order[j]] + (i == j ? prenoise : 0);
    if (!stair_matrix_whiten(p, v, f->lower, f->whiten, &f->half_logdet)) return false;
    for (int i = 0; i < p; i++)
        for (int t = 0; t < m; t++) {
            long double sum = 0, free_rows = 0;
            for (int j = 0; j <= i; j++) {
                sum += (long double)f->whiten[i * p + j] * omega[order[j] * m + t];
                if (j < f->fibre.free_rows) free_rows = sum;
            }
            f->offset[i * m + t] = (double)sum;
            f->shift[i * m + t] = (double)(sum - free_rows);
            f->mean[i * m + t] = omega[order[i] * m + t];
        }
    stair_ignorance_find(f);
    f->shape.free_rows = f->fibre.free_rows;
    f->shape.residuals = f->fibre.residuals;
    f->shape.mirrored = f->fibre.mirrored;
    f->dim = f->fibre.dim;
    f->chart = 0;
    f->digits = STAIR_ALL_DIGITS;
    memset(f->origin, 0, sizeof(double) * (size_t)f->size);
    return true;
}

/* The fibre at the first n nodes. */
static void map_nodes(stair_integrand *f, int n)
{
    int free = f->shape.free_rows * f->shape.tokens;
    for (int k = 0; k < f->dim; k++) {
        size_t row = (size_t)k * STAIR_BLOCK;
        stair_block_shift_table[stair_isa()](n, f->nodes.u + row, k < free ? f->mean[k] : 0,
                                             f->nodes.at + row);
    }
    f->visited += n;
    stair_fibre_map_to(&f->fibre, f->chart, f->digits, n, f->nodes.at, f->nodes.z, f->nodes.weight);
}

double stair_integrand_energies(stair_integrand *f, int n)
{
    map_nodes(f, n);
    return stair_block_energies_table[stair_isa()](&f->shape, n, &f->nodes);
}

void stair_integrand_flush(stair_integrand *f)
{
    if (!f->pending) return;
    int width = stair_isa_lanes();
    for (int k = 0; k < f->count; k++) {
        double *x = f->lanes + (size_t)(width * k);
        for (int half = width / 2; half; half /= 2)
            for (int i = 0; i < half; i++) x[i] += x[i + half];
        f->pending->sum[k] += x[0];
    }
    f->pending = NULL;
}

void stair_moments_clear(stair_integrand *f, stair_moments *moments)
{
    stair_integrand_flush(f);
    moments->top = -INFINITY;
    memset(moments->sum, 0, sizeof(double) * (size_t)f->count);
}

static void rescale(int count, stair_moments *moments, double top)
{
    double factor = moments->top == -INFINITY ? 0 : exp(moments->top - top);
    for (int k = 0; k < count; k++) moments->sum[k] *= factor;
    moments->top = top;
}

void stair_integrand_add(stair_integrand *f, int n, const double *bias, double top, stair_moments *moments)
{
    if (f->pending != moments || top > moments->top) {
        stair_integrand_flush(f);
        if (top > moments->top) rescale(f->count, moments, top);
        memset(f->lanes, 0, sizeof(double) * 8 * (size_t)f->count);
        f->pending = moments;
    }
    stair_block_add_table[stair_isa()](&f->shape, n, &f->nodes, bias, moments->top, f->origin, f->lanes);
}

/* Two passes, for what has no fused one, and for the first block, whose top is not known yet. */
static int accumulate_in_two(stair_integrand *f, int n, double cutoff, stair_moments *moments)
{
    double top = stair_block_energies_table[stair_isa()](&f->shape, n, &f->nodes);
    double threshold = fmax(top, moments->top) - cutoff;
    int last = n - 1;
    if (top < threshold) return -1;
    while (last >= 0 && f->nodes.plus[last] < threshold &&
           !(f->shape.mirrored && f->nodes.minus[last] >= threshold))
        last--;
    stair_integrand_add(f, n, NULL, top, moments);
    return last;
}

void stair_integrand_begin(stair_integrand *f, double top, stair_moments *moments)
{
    stair_moments_clear(f, moments);
    moments->top = top;
    memset(f->lanes, 0, sizeof(double) * (size_t)(stair_isa_lanes() * f->count));
    f->pending = moments;
}

int stair_integrand_accumulate(stair_integrand *f, int n, double cutoff, stair_moments *moments)
{
    map_nodes(f, n);
    int last = -2;
    if (f->pending == moments)
        last = stair_block_accumulate_table[stair_isa()](&f->shape, n, &f->nodes, moments->top,
                                                         moments->top - cutoff, f->origin, f->lanes);
    return last == -2 ? accumulate_in_two(f, n, cutoff, moments) : last;
}

void stair_moments_merge(stair_integrand *f, stair_moments *into, const stair_moments *from, double log_scale)
{
    stair_integrand_flush(f);
    if (from->top == -INFINITY) return;
    double top = from->top + log_scale;
    if (top > into->top) rescale(f->count, into, top);
    double factor = top == into->top ? 1 : exp(top - into->top);
    for (int k = 0; k < f->count; k++) into->sum[k] += factor * from->sum[k];
}

/* out (rows p, m) = whiten^T x, token by token */
static void unwhiten(const stair_integrand *f, const double *x, double *out)
{
    int p = f->shape.rows, m = f->shape.tokens;
    for (int i = 0; i < p; i++)
        for (int t = 0; t < m; t++) {
            double sum = 0;
            for (int j = i; j < p; j++) sum += f->whiten[j * p + i] * x[j * m + t];
            out[i * m + t] = sum;
        }
}

/* From the order of the fibre to that of Z. */
static void rows_in_place(const stair_integrand *f, stair_posterior *out)
{
    const int *order = f->fibre.model->order;
    int p = f->shape.rows, m = f->shape.tokens, size = f->size, at[STAIR_MAX_CELLS];
    double g[STAIR_MAX_CELLS], row[STAIR_MAX_CELLS];
    bool same = true;
    for (int i = 0; i < p; i++) same &= order[i] == i;
    if (same) return;
    for (int k = 0; k < size; k++) at[k] = order[k / m] * m + k % m;
    for (int k = 0; k < size; k++) g[at[k]] = out->g[k];
    memcpy(out->g, g, sizeof(double) * (size_t)size);
    for (int pass = 0; pass < 2; pass++) /* columns of all rows, then of all columns: dg is symmetric */
        for (int i = 0; i < size; i++) {
            double *line = out->dg + (pass ? i : i * size);
            int step = pass ? size : 1;
            for (int k = 0; k < size; k++) row[at[k]] = line[k * step];
            for (int k = 0; k < size; k++) line[k * step] = row[k];
        }
}

void stair_moments_finish(stair_integrand *f, const stair_moments *moments, stair_posterior *out)
{
    stair_integrand_flush(f);
    int size = f->size;
    const double *sum = moments->sum, *second = sum + 1 + size;
    double mass = sum[0], mean[STAIR_MAX_CELLS] = {0};
    double pieces = (f->shape.mirrored ? 2.0 : 1.0) * f->fibre.charts;
    out->logz = log(mass) + moments->top - log(pieces) - f->shape.tokens * f->half_logdet -
                0.5 * size * log(2 * M_PI);
    for (int i = 0; i < size; i++) mean[i] = sum[1 + i] / mass + f->origin[i];
    unwhiten(f, mean, out->g);
    for (int i = 0, k = 0; i < size; i++)
        for (int j = 0; j <= i; j++, k++) {
            double cov = second[k] / mass - (sum[1 + i] / mass) * (sum[1 + j] / mass) - (i == j);
            out->dg[i * size + j] = out->dg[j * size + i] = cov;
        }
    double column[STAIR_MAX_CELLS], half[STAIR_MAX_CELLS];
    for (int pass = 0; pass < 2; pass++) /* rows, then columns: dg is symmetric before and after */
        for (int i = 0; i < size; i++) {
            for (int j = 0; j < size; j++) column[j] = pass ? out->dg[j * size + i] : out->dg[i * size + j];
            unwhiten(f, column, half);
            for (int j = 0; j < size; j++)
                *(pass ? &out->dg[j * size + i] : &out->dg[i * size + j]) = half[j];
        }
    for (int i = 0; i < size; i++)
        for (int j = 0; j < i; j++) {
            double mean_ij = 0.5 * (out->dg[i * size + j] + out->dg[j * size + i]);
            out->dg[i * size + j] = out->dg[j * size + i] = mean_ij;
        }
    rows_in_place(f, out);
    stair_ignorance_apply(f, out);
}

void stair_posterior_copy(const stair_integrand *f, const stair_posterior *from, stair_posterior *to)
{
    to->logz = from->logz;
    memcpy(to->g, from->g, sizeof(double) * (size_t)f->size);
    memcpy(to->dg, from->dg, sizeof(double) * (size_t)(f->size * f->size));
}

typedef struct {
    double g, dg; /* Frobenius norms; the natural ones where they vanish */
    double natural_g, natural_dg;
} posterior_size;

double stair_posterior_norm(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (a[i] - (b ? b[i] : 0)) * (a[i] - (b ? b[i] : 0));
    return sqrt(sum);
}

/* tr V^{-1} */
static double total_precision(const stair_integrand *f)
{
    double sum = 0;
    for (int i = 0; i < f->shape.rows * f->shape.rows; i++) sum += f->whiten[i] * f->whiten[i];
    return sum;
}

static posterior_size measure(const stair_integrand *f, const stair_posterior *out)
{
    int size = f->size;
    double precision = total_precision(f);
    posterior_size s = {.natural_g = sqrt(precision), .natural_dg = precision};
    s.g = stair_posterior_norm(size, out->g, NULL);
    s.dg = stair_posterior_norm(size * size, out->dg, NULL);
    if (s.g < tuning.vanishing * s.natural_g)
        s.g = s.natural_g; /* zero by symmetry: no relative error to chase */
    s.dg = fmax(s.dg, tuning.vanishing_dg * s.natural_dg);
    return s;
}

double stair_posterior_sensitivity(const stair_integrand *f, const stair_posterior *out)
{
    posterior_size s = measure(f, out);
    return fmax(1, fmax(s.natural_g / s.g, s.natural_dg / s.dg));
}

double stair_integrand_rounding(const stair_integrand *f)
{
    int p = f->shape.rows, free = f->shape.free_rows;
    double largest = 1, steep = 0;
    for (int i = 0; i < f->size; i++) largest = fmax(largest, fabs(f->shift[i]));
    for (int i = free * p; i < p * p; i++)
        steep += f->whiten[i] * f->whiten[i]; /* the free rows cancel nothing */
    return tuning.rounding * (1 + sqrt(steep) + 2 * largest);
}

double stair_posterior_truncation(const stair_integrand *f, const stair_posterior *out, double cutoff)
{
    /* part of E|x|^2 beyond the last shell, of a Gaussian in as many dimensions */
    double shells = f->dim > 2 ? 1 + cutoff + 0.5 * cutoff * cutoff : tuning.shell;
    return shells * exp(-cutoff) * stair_posterior_sensitivity(f, out);
}

double stair_posterior_distance(const stair_integrand *f, const stair_posterior *a, const stair_posterior *b)
{
    posterior_size s = measure(f, a);
    double first = stair_posterior_norm(f->size, a->g, b->g) / s.g,
           second = stair_posterior_norm(f->size * f->size, a->dg, b->dg) / s.dg;
    double distance = fmax(fabs(a->logz - b->logz), fmax(first, second));
    return isfinite(distance) ? distance : INFINITY;
}
