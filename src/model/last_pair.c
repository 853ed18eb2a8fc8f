/* T and k come out of the model's fibre at the middle of its rotations; what holds is found by trying. */
#include "model/last_pair.h"

#include <math.h>
#include <string.h>

#include "model/last_row.h"
#include "core/matrix.h"
#include "core/rng.h"

#define ROOM (STAIR_PAIR_CELLS * STAIR_BLOCK)

static const struct {
    int trials;        /* random places where the fibre is looked at, */
    int slopes;        /* and |dw/du| is taken */
    double difference; /* step of |dw/du| */
    double same;       /* rounding of what is equal */
    double steepest; /* largest entry of T: beyond, equidistant nodes would not see where the density peaks */
} tuning = {.trials = 128, .slopes = 256, .difference = 1e-4, .same = 1e-9, .steepest = 40.0};

void stair_straight_map(const stair_straight *f, const double *u, double v, double *w, double *weight)
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

double stair_straight_one(const stair_straight *f, const double *u, double v, double *w)
{
    double block[ROOM], image[2 * STAIR_BLOCK], weight[STAIR_BLOCK];
    for (int k = 0; k < f->fibre.free_rows * 2; k++)
        for (int i = 0; i < STAIR_BLOCK; i++) block[k * STAIR_BLOCK + i] = u[k];
    stair_straight_map(f, block, v, image, weight);
    w[0] = image[0];
    w[1] = image[STAIR_BLOCK];
    return weight[0];
}

stair_status stair_straight_open(stair_context *context, const double *label, const double *anchor,
                                 stair_straight *f)
{
    double omega[2 * STAIR_MAX_INDICES] = {0}, rows[2][2], norm = 0;
    STAIR_TRY(stair_fibre_open(context, label, omega, &f->fibre));
    for (int axis = 0; axis < 2; axis++) {
        f->axis[0] = axis == 0;
        f->axis[1] = axis == 1;
        stair_straight_one(f, anchor, 0, rows[axis]);
    }
    int token = fabs(rows[0][0]) + fabs(rows[1][0]) < fabs(rows[0][1]) + fabs(rows[1][1]);
    norm = hypot(rows[0][token], rows[1][token]);
    for (int axis = 0; axis < 2; axis++) f->axis[axis] = norm > 0 ? rows[axis][token] / norm : axis == 0;
    return STAIR_OK;
}

stair_status stair_straight_open_at(stair_context *context, const double *z, const double *anchor,
                                    stair_straight *f)
{
    double label[STAIR_MAX_LABEL];
    f->fibre.model->ops->forward(f->fibre.model, z, NULL, label);
    return stair_straight_open(context, label, anchor, f);
}

void stair_last_pair_close(stair_last_pair *b)
{
    for (int k = 0; k < b->opened; k++) stair_fibre_destroy(&b->label[k].fibre);
}

stair_status stair_last_pair_open(stair_context *context, const stair_model *model, stair_last_pair *b)
{
    double z[STAIR_PAIR_CELLS] = {0}, x[4], w[2];
    *b = (stair_last_pair){.dim = 2 * (model->info.indices - 2)};
    stair_last_row_anchor(b->dim / 2, 2, b->anchor);
    memcpy(z, b->anchor, sizeof(double) * (size_t)b->dim);
    for (int k = 0; k < 2; k++) {
        STAIR_TRY(stair_fibre_create(context, model, &b->label[k].fibre));
        b->opened++;
        z[b->dim] = k == 0 ? 1.5 : 0.3;
        z[b->dim + 1] = k == 0 ? 0.6 : 1.5;
        STAIR_TRY(stair_straight_open_at(context, z, b->anchor, &b->label[k]));
        stair_straight_one(&b->label[k], b->anchor, 0, w);
        for (int t = 0; t < 2; t++) x[t * 2 + k] = w[t];
    }
    b->weight = stair_straight_one(&b->label[0], b->anchor, 1, w);
    b->common = fabs(w[0]);
    for (int i = 0; i < 4; i++) b->inverse[i] = i % 3 == 0;
    return stair_matrix_solve(2, x, 2, b->inverse, NULL)
               ? STAIR_OK
               : stair_fail(context, STAIR_FAILED, "labels coincide");
}

void stair_last_pair_map(const stair_last_pair *b, const double *u, double *table)
{
    double w[2][2 * STAIR_BLOCK];
    for (int k = 0; k < 2; k++) stair_straight_map(&b->label[k], u, 0, w[k], table);
    for (int t = 0; t < 2; t++)
        for (int s = 0; s < 2; s++)
            for (int i = 0; i < STAIR_BLOCK; i++)
                table[(1 + 2 * t + s) * STAIR_BLOCK + i] =
                    w[0][t * STAIR_BLOCK + i] * b->inverse[s] + w[1][t * STAIR_BLOCK + i] * b->inverse[2 + s];
}

static void map_at(const stair_last_pair *b, const double *u, double *five)
{
    double block[ROOM], table[5 * STAIR_BLOCK];
    for (int k = 0; k < b->dim; k++)
        for (int i = 0; i < STAIR_BLOCK; i++) block[k * STAIR_BLOCK + i] = u[k];
    stair_last_pair_map(b, block, table);
    for (int c = 0; c < 5; c++) five[c] = table[c * STAIR_BLOCK];
}

/* ---- where it fits ---------------------------------------------------------------------------- */

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
        if (!(fabs(a[i] - b[i]) <= tuning.same * tuning.steepest)) return false;
    return true;
}

/* At one random place. */
static stair_status straight_at(stair_context *context, const stair_last_pair *last, const double *z,
                                stair_straight *f, bool *straight, bool *by_shape)
{
    double shape[4], x[2], w[2], across[2], five[5], other[5];
    STAIR_TRY(stair_straight_open_at(context, z, last->anchor, f));
    stair_straight_one(f, last->anchor, 0, x);
    double weight = stair_straight_one(f, z, 0, w);
    stair_straight_one(f, z, 1, across);
    map_at(last, z, five);
    double expected[2] = {five[1] * x[0] + five[2] * x[1], five[3] * x[0] + five[4] * x[1]};
    double common = copysign(last->common, across[0]);
    *straight = are_close(2, w, expected) && are_close(2, across, (double[2]){common, common}) &&
                are_close(1, five, &weight);
    for (int c = 1; c < 5; c++) *straight &= fabs(five[c]) <= tuning.steepest;
    if (*by_shape) {
        shape_of(z, shape);
        map_at(last, shape, other);
        *by_shape = are_close(5, five, other);
    }
    return STAIR_OK;
}

static stair_status is_straight(stair_context *context, const stair_model *model, bool *straight,
                                bool *by_shape)
{
    double z[STAIR_PAIR_CELLS];
    stair_last_pair last;
    stair_straight f = {0};
    STAIR_TRY(stair_fibre_create(context, model, &f.fibre));
    stair_status status = stair_last_pair_open(context, model, &last);
    *straight = status == STAIR_OK;
    *by_shape = last.dim == 4;
    for (int trial = 0; trial < tuning.trials && *straight && status == STAIR_OK; trial++) {
        stair_rng_normals(5, STAIR_RNG_POINTS, (uint64_t)trial, 2 * model->info.indices, z);
        status = straight_at(context, &last, z, &f, straight, by_shape);
    }
    stair_last_pair_close(&last);
    stair_fibre_destroy(&f.fibre);
    return status;
}

stair_status stair_last_pair_holds(stair_context *context, const stair_structure *s, bool *holds,
                                   bool *by_shape)
{
    int p = s->model->info.indices;
    *holds = *by_shape = false;
    if (s->model->info.tokens != 2 || p < 2 || p - 2 > STAIR_PAIR_ROWS) return STAIR_OK;
    if (!(s->free_rows == p - 2 && s->dim == s->free_rows * 2 + 2 && s->charts == 2 && s->angles == 1 &&
          !s->mirrored))
        return STAIR_OK;
    stair_status status = is_straight(context, s->model, holds, by_shape);
    *holds &= status == STAIR_OK;
    *by_shape &= *holds;
    return status == STAIR_NO_MEMORY ? status : STAIR_OK; /* a label without a fibre is an answer: no */
}

void stair_last_pair_slopes(const stair_last_pair *last, const double *variance, bool by_shape, double *slope,
                            double *steepest)
{
    double u[STAIR_PAIR_CELLS], moved[STAIR_PAIR_CELLS], five[5], other[5], square = 0;
    *steepest = 0;
    for (int trial = 0; trial < tuning.slopes; trial++) {
        stair_rng_normals(6, STAIR_RNG_POINTS, (uint64_t)trial, last->dim, moved);
        memcpy(u, moved, sizeof u);
        if (by_shape) shape_of(moved, u);
        map_at(last, u, five);
        for (int c = 1; c < 5; c++) *steepest = fmax(*steepest, fabs(five[c]));
        for (int k = 0; k < (by_shape ? 2 : last->dim); k++) {
            memcpy(moved, u, sizeof u);
            moved[k] += tuning.difference;
            map_at(last, moved, other);
            for (int c = 1; c < 5; c++)
                square += variance[k / 2] * (other[c] - five[c]) * (other[c] - five[c]) /
                          (tuning.difference * tuning.difference * tuning.slopes);
        }
    }
    *slope = sqrt(square);
}
