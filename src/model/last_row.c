#include "model/last_row.h"

#include <math.h>
#include <string.h>

#include "core/matrix.h"
#include "core/rng.h"

static const struct {
    int trials;        /* random places where the fibre is looked at, */
    int slopes;        /* and |dw/du| is taken */
    double difference; /* step of |dw/du| */
    double linear;     /* rounding of a label that is linear */
    double
        steepest; /* largest entry of T: beyond, equidistant nodes would not see where the density peaks, */
    double bent;  /* and where grids of labels are bent (average/label_grid.c) */
} tuning = {
    .trials = 512, .slopes = 256, .difference = 1e-4, .linear = 1e-10, .steepest = 40.0, .bent = 400.0};

void stair_last_row_anchor(int rows, int m, double *anchor)
{
    for (int r = 0; r < rows; r++)
        for (int t = 0; t < m; t++)
            anchor[r * m + t] = (t % 2 ? -3.0 : 3.0) * (1 - 0.5 * (t / 2) / (double)m) + 0.1 * r;
}

double stair_last_row_one(const stair_fibre *fibre, int m, const double *u, double *w)
{
    double block[STAIR_LAST_ROOM], z[STAIR_LAST_ROOM], weight[STAIR_BLOCK];
    for (int k = 0; k < fibre->dim; k++)
        for (int i = 0; i < STAIR_BLOCK; i++) block[k * STAIR_BLOCK + i] = u[k];
    stair_fibre_map(fibre, 0, 1, block, z, weight);
    for (int t = 0; t < m; t++) w[t] = z[(size_t)(fibre->dim + t) * STAIR_BLOCK];
    return weight[0];
}

stair_status stair_last_row_open_at(stair_context *context, const stair_model *model, const double *hidden,
                                    const double *w, stair_fibre *fibre)
{
    double z[STAIR_MAX_CELLS], label[STAIR_MAX_LABEL], omega[STAIR_MAX_CELLS] = {0};
    int m = model->info.tokens, rows = model->info.indices - 1;
    memcpy(z, hidden, sizeof(double) * (size_t)(rows * m));
    memcpy(z + rows * m, w, sizeof(double) * (size_t)m);
    model->ops->forward(model, z, NULL, label);
    return stair_fibre_open(context, label, omega, fibre);
}

void stair_last_row_close(stair_last_row *last)
{
    for (int k = 0; k < last->opened; k++) stair_fibre_destroy(&last->fibre[k]);
    last->opened = 0;
}

static stair_status open_basis(stair_context *context, const stair_model *model, stair_last_row *last)
{
    int m = last->m;
    double x[STAIR_LAST_TOKENS * STAIR_LAST_TOKENS], w[STAIR_LAST_TOKENS];
    for (int k = 0; k < m; k++) {
        for (int t = 0; t < m; t++) w[t] = t == k ? 1.5 : 0.3 * (t + 1);
        STAIR_TRY(stair_fibre_create(context, model, &last->fibre[k]));
        last->opened++;
        STAIR_TRY(stair_last_row_open_at(context, model, last->anchor, w, &last->fibre[k]));
        stair_last_row_one(&last->fibre[k], m, last->anchor, w);
        for (int t = 0; t < m; t++) x[t * m + k] = w[t];
    }
    for (int i = 0; i < m * m; i++) last->inverse[i] = i % (m + 1) == 0;
    return stair_matrix_solve(m, x, m, last->inverse, NULL)
               ? STAIR_OK
               : stair_fail(context, STAIR_FAILED, "labels coincide");
}

stair_status stair_last_row_open(stair_context *context, const stair_model *model, stair_last_row *last)
{
    int m = model->info.tokens, rows = model->info.indices - 1;
    *last = (stair_last_row){.m = m, .dim = rows * m};
    stair_last_row_anchor(rows, m, last->anchor);
    stair_status status = open_basis(context, model, last);
    if (status != STAIR_OK) stair_last_row_close(last);
    return status;
}

void stair_last_row_map(const stair_last_row *last, int n, const double *u, double *t, double *weight)
{
    double z[STAIR_LAST_ROOM];
    size_t m = (size_t)last->m, dim = (size_t)last->dim;
    for (size_t k = 0; k < m; k++) {
        stair_fibre_map(&last->fibre[k], 0, n, u, z, weight);
        for (size_t a = 0; a < m; a++)
            for (size_t b = 0; b < m; b++)
                for (size_t i = 0; i < (size_t)n; i++) {
                    double *sum = &t[(a * m + b) * STAIR_BLOCK + i];
                    *sum = (k ? *sum : 0) + z[(dim + a) * STAIR_BLOCK + i] * last->inverse[k * m + b];
                }
    }
}

/* T (M, M) at one u, and the weight. */
static double map_one(const stair_last_row *last, const double *u, double *t)
{
    int m = last->m;
    double w[STAIR_LAST_TOKENS], weight = 0;
    memset(t, 0, sizeof(double) * (size_t)(m * m));
    for (int k = 0; k < m; k++) {
        weight = stair_last_row_one(&last->fibre[k], m, u, w);
        for (int c = 0; c < m * m; c++) t[c] += w[c / m] * last->inverse[k * m + c % m];
    }
    return weight;
}

void stair_last_row_slopes(const stair_last_row *last, const double *variance, double *slope,
                           double *steepest)
{
    int m = last->m, cells = m * m;
    double u[STAIR_MAX_CELLS], moved[STAIR_MAX_CELLS], t[STAIR_LAST_TOKENS * STAIR_LAST_TOKENS],
        other[STAIR_LAST_TOKENS * STAIR_LAST_TOKENS];
    double square = 0;
    *steepest = 0;
    for (int trial = 0; trial < tuning.slopes; trial++) {
        stair_rng_normals(6, STAIR_RNG_POINTS, (uint64_t)trial, last->dim, u);
        map_one(last, u, t);
        for (int c = 0; c < cells; c++) *steepest = fmax(*steepest, fabs(t[c]));
        for (int k = 0; k < last->dim; k++) {
            memcpy(moved, u, sizeof u);
            moved[k] += tuning.difference;
            map_one(last, moved, other);
            for (int c = 0; c < cells; c++)
                square += variance[k / m] * (other[c] - t[c]) * (other[c] - t[c]) /
                          (tuning.difference * tuning.difference * tuning.slopes);
        }
    }
    *slope = sqrt(square);
}

void stair_last_row_reach(const stair_last_row *last, double reach[2])
{
    double u[STAIR_MAX_CELLS], t[STAIR_LAST_TOKENS * STAIR_LAST_TOKENS];
    reach[0] = reach[1] = 0;
    for (int trial = 0; trial < tuning.slopes; trial++) {
        stair_rng_normals(6, STAIR_RNG_POINTS, (uint64_t)trial, last->dim, u);
        map_one(last, u, t);
        for (int k = 0; k < 2; k++)
            reach[k] =
                fmax(reach[k], M_SQRT1_2 * hypot(t[0] + (k ? -t[1] : t[1]), t[2] + (k ? -t[3] : t[3])));
    }
}

/* w = T(u) x with a weight free of x at one place z, and T not close to singular there. */
static stair_status linear_at(stair_context *context, const stair_last_row *last, const double *z,
                              stair_fibre *fibre, bool *linear)
{
    int m = last->m;
    double x[STAIR_LAST_TOKENS], w[STAIR_LAST_TOKENS], t[STAIR_LAST_TOKENS * STAIR_LAST_TOKENS];
    bool bent = m == 2 && last->dim > 2;
    double most = bent ? tuning.bent : tuning.steepest;
    STAIR_TRY(stair_last_row_open_at(context, fibre->model, z, z + last->dim, fibre));
    stair_last_row_one(fibre, m, last->anchor, x);
    double weight = stair_last_row_one(fibre, m, z, w), other = map_one(last, z, t);
    *linear = fabs(weight - other) <= tuning.linear * most * weight;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            w[i] -= t[i * m + j] * x[j];
            *linear &= fabs(t[i * m + j]) <= most;
        }
        *linear &= fabs(w[i]) <= tuning.linear * most;
    }
    if (bent) *linear &= t[0] * t[3] > t[1] * t[2]; /* as at the anchor: nowhere in between is it singular */
    return STAIR_OK;
}

/* At random places. */
static stair_status is_linear(stair_context *context, const stair_model *model, bool *linear)
{
    double z[STAIR_MAX_CELLS];
    stair_last_row last;
    stair_fibre fibre;
    STAIR_TRY(stair_fibre_create(context, model, &fibre));
    stair_status status = stair_last_row_open(context, model, &last);
    *linear = status == STAIR_OK;
    for (int trial = 0; trial < tuning.trials && *linear && status == STAIR_OK; trial++) {
        stair_rng_normals(5, STAIR_RNG_POINTS, (uint64_t)trial, last.dim + last.m, z);
        status = linear_at(context, &last, z, &fibre, linear);
    }
    stair_last_row_close(&last);
    stair_fibre_destroy(&fibre);
    return status;
}

stair_status stair_last_row_holds(stair_context *context, const stair_structure *s, bool *holds)
{
    int p = s->model->info.indices, m = s->model->info.tokens;
    *holds = false;
    if (m < 2 || m > STAIR_LAST_TOKENS || p < 2 || p - 1 > STAIR_LAST_ROWS || (p - 1) * m > STAIR_LAST_HIDDEN)
        return STAIR_OK;
    if (!(s->dim > 0 && s->dim == s->free_rows * m && s->free_rows == p - 1 && s->charts == 1 &&
          s->mirrored && s->angles == 0 && stair_structure_rows_even(s, p - 1)))
        return STAIR_OK;
    stair_status status = is_linear(context, s->model, holds);
    *holds &= status == STAIR_OK;
    return status == STAIR_NO_MEMORY ? status : STAIR_OK; /* a label without a fibre is an answer: no */
}
