/* J by differences of the carried label.  With A = J V^1/2 and Pi the projector on the rows of A,
 *
 *   J^T (J V J^T)^+ J = V^-1/2 Pi V^-1/2,
 *
 * and Pi is the sum over `rank` orthonormal rows, found by elimination with the largest row first. */
#include "model/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"
#include "core/rng.h"
#include "core/spectral.h"

static const struct {
    double delta;     /* step of differences to both sides, */
    double one_sided; /* and to one side */
    int most_size;    /* numbers in Z: elimination costs their square for every label */
    int trials;       /* places where the rank is taken */
    double least;     /* eigenvalue of V, so that its root has an inverse */
    double no_row;    /* square of a row left by elimination, relative to the largest: rounding */
} tuning = {
    .delta = 1e-5, .one_sided = 1e-7, .most_size = 128, .trials = 5, .no_row = 1e-13, .least = 1e-300};

/* jacobian (K, PM) by differences to one side, or to both where rounding must stay below tuning.no_row. */
static void differentiate(const stair_model *model, const double *z, bool exactly, double *jacobian)
{
    int size = model->info.indices * model->info.tokens, labels = model->info.label_size;
    double moved[STAIR_MAX_CELLS], up[STAIR_MAX_LABEL], down[STAIR_MAX_LABEL],
        delta = exactly ? tuning.delta : tuning.one_sided;
    memcpy(moved, z, sizeof(double) * (size_t)size);
    model->ops->forward(model, z, NULL, down);
    for (int c = 0; c < size; c++) {
        moved[c] = z[c] - delta;
        if (exactly) model->ops->forward(model, moved, NULL, down);
        moved[c] = z[c] + delta;
        model->ops->forward(model, moved, NULL, up);
        moved[c] = z[c];
        for (int k = 0; k < labels; k++)
            jacobian[k * size + c] = (up[k] - down[k]) / (exactly ? 2 * delta : delta);
    }
}

/* rows (K, PM) = J (root x 1) */
static void whiten(const stair_model *model, const double *root, double *rows)
{
    int p = model->info.indices, m = model->info.tokens, size = p * m;
    double row[STAIR_MAX_CELLS];
    for (int a = 0; a < model->info.label_size; a++) {
        for (int i = 0; i < p; i++)
            for (int t = 0; t < m; t++) {
                row[i * m + t] = 0;
                for (int j = 0; j < p; j++) row[i * m + t] += root[i * p + j] * rows[a * size + j * m + t];
            }
        memcpy(rows + a * size, row, sizeof(double) * (size_t)size);
    }
}

static double square(int n, const double *a)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * a[i];
    return sum;
}

/* The next of `count` rows: brings the largest to place `at`, scales it, takes it out of those behind.  Its
 * square. */
static double eliminate(int count, int size, int at, double *rows)
{
    int best = at;
    double most = -1;
    for (int a = at; a < count; a++) {
        double here = square(size, rows + a * size);
        if (here > most) {
            most = here;
            best = a;
        }
    }
    double *row = rows + at * size, *chosen = rows + best * size, scale = most > 0 ? 1 / sqrt(most) : 0;
    for (int c = 0; c < size; c++) {
        double value = chosen[c];
        chosen[c] = row[c];
        row[c] = scale * value;
    }
    for (int a = at + 1; a < count; a++) {
        double along = 0;
        for (int c = 0; c < size; c++) along += row[c] * rows[a * size + c];
        for (int c = 0; c < size; c++) rows[a * size + c] -= along * row[c];
    }
    return most;
}

static int rank_at(const stair_model *model, const double *z, double *rows)
{
    int size = model->info.indices * model->info.tokens, count = model->info.label_size, rank = 0;
    double top = 0;
    differentiate(model, z, true, rows);
    for (int at = 0; at < count && at < size; at++) {
        double left = eliminate(count, size, at, rows);
        if (at == 0) top = left;
        if (!(left > tuning.no_row * top)) break;
        rank++;
    }
    return rank;
}

stair_status stair_linear_create(stair_context *context, const stair_model *model, int rank,
                                 stair_linear *linear)
{
    size_t size = (size_t)(model->info.indices * model->info.tokens);
    *linear = (stair_linear){.model = model, .rank = rank};
    linear->rows = malloc((size_t)model->info.label_size * size * sizeof(double));
    return linear->rows ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}

void stair_linear_destroy(stair_linear *linear)
{
    free(linear->rows);
    linear->rows = NULL;
}

stair_status stair_linear_rank(stair_context *context, const stair_model *model, int *rank)
{
    int size = model->info.indices * model->info.tokens;
    double z[STAIR_MAX_CELLS];
    stair_linear linear;
    *rank = size > tuning.most_size ? -1 : 0;
    if (size > tuning.most_size) return STAIR_OK;
    STAIR_TRY(stair_linear_create(context, model, 0, &linear));
    for (int trial = 0; trial < tuning.trials; trial++) {
        stair_rng_normals(3, STAIR_RNG_POINTS, (uint64_t)trial, size, z);
        int found = rank_at(model, z, linear.rows);
        if (found > *rank) *rank = found;
    }
    stair_linear_destroy(&linear);
    return STAIR_OK;
}

void stair_linear_roots(int p, const double *v, double *root, double *inverse)
{
    stair_spectral_roots(p, v, tuning.least, -INFINITY, root, inverse);
}

void stair_linear_add(const stair_linear *linear, const double *root, const double *inverse, const double *z,
                      double *f)
{
    const stair_model *model = linear->model;
    int p = model->info.indices, m = model->info.tokens, size = p * m;
    double *rows = linear->rows, row[STAIR_MAX_CELLS];
    differentiate(model, z, false, rows);
    whiten(model, root, rows);
    for (int at = 0; at < linear->rank; at++) {
        eliminate(model->info.label_size, size, at, rows);
        for (int i = 0; i < p; i++)
            for (int t = 0; t < m; t++) {
                row[i * m + t] = 0;
                for (int j = 0; j < p; j++)
                    row[i * m + t] += inverse[i * p + j] * rows[at * size + j * m + t];
            }
        for (int i = 0; i < p; i++)
            for (int j = 0; j < p; j++)
                for (int t = 0; t < m; t++) f[i * p + j] += row[i * m + t] * row[j * m + t];
    }
}
