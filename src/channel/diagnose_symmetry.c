/* Symmetries of the forward map, which the channel must inherit.
 *
 * If g(R Z p) = a(g(Z)) for an orthogonal R (P, P), a permutation p of tokens and a permutation a
 * of label entries, then with T = R x p:  log Z stays, g -> T g, dg -> T dg T^T when omega -> T omega,
 * V -> R V R^T and the label is carried along.  A symmetry the forward map does not have is not
 * checked. */
#include "channel/diagnose.h"

#include <math.h>
#include <string.h>

#include "core/matrix.h"
#include "core/rng.h"

static const struct {
    double same; /* relative, beside the errors reported */
} tuning = {.same = 1e-12};

typedef enum { LABEL_STAYS, LABEL_VECTOR, LABEL_MATRIX, LABEL_ACTIONS } label_action;

typedef struct {
    double rotation[STAIR_SQUARE]; /* R (P, P) */
    int token[STAIR_MAX_TOKENS];   /* column t comes from column token[t] */
    label_action action;
} symmetry;

/* out (P, M) = R x p */
static void turn(const stair_survey *s, const symmetry *sym, const double *x, double *out)
{
    int p = s->indices, m = s->tokens;
    for (int a = 0; a < p; a++)
        for (int t = 0; t < m; t++) {
            double sum = 0;
            for (int b = 0; b < p; b++) sum += sym->rotation[a * p + b] * x[b * m + sym->token[t]];
            out[a * m + t] = sum;
        }
}

static bool turn_label(const stair_survey *s, const symmetry *sym, const double *label, double *out)
{
    int m = s->tokens, size = s->label_size;
    switch (sym->action) {
    case LABEL_STAYS:
        memcpy(out, label, sizeof(double) * (size_t)size);
        return true;
    case LABEL_VECTOR:
        for (int t = 0; t < m && size == m; t++) out[t] = label[sym->token[t]];
        return size == m;
    default:
        for (int t = 0; t < m && size == m * m; t++)
            for (int r = 0; r < m; r++) out[t * m + r] = label[sym->token[t] * m + sym->token[r]];
        return size == m * m;
    }
}

/* Whether the forward map commutes with it, on every Z of the portion. */
static bool holds(stair_survey *s, const symmetry *sym)
{
    size_t size = (size_t)s->size, labels = (size_t)s->label_size;
    double *turned = s->scratch, expected[STAIR_MAX_LABEL], label[STAIR_MAX_LABEL];
    double found[STAIR_MAX_LABEL];
    if (labels > sizeof label / sizeof *label) return false;
    for (size_t i = 0; i < s->n; i++) {
        turn(s, sym, s->z + i * size, turned);
        stair_model_forward(&s->quiet, s->model, 1, s->z + i * size, label);
        stair_model_forward(&s->quiet, s->model, 1, turned, found);
        if (!turn_label(s, sym, label, expected)) return false;
        double scale = 1 + stair_survey_norm(labels, label);
        for (size_t k = 0; k < labels; k++)
            if (!(fabs(found[k] - expected[k]) <= 1e-10 * scale)) return false;
    }
    return true;
}

/* out (P, P) = R V R^T, symmetric to the bit */
static void turn_cov(const stair_survey *s, const symmetry *sym, const double *cov, double *out)
{
    int p = s->indices;
    double half[STAIR_SQUARE];
    for (int a = 0; a < p; a++)
        for (int b = 0; b < p; b++) {
            half[a * p + b] = 0;
            for (int c = 0; c < p; c++) half[a * p + b] += sym->rotation[a * p + c] * cov[c * p + b];
        }
    for (int a = 0; a < p; a++)
        for (int b = 0; b <= a; b++) {
            double sum = 0;
            for (int c = 0; c < p; c++) sum += half[a * p + c] * sym->rotation[b * p + c];
            out[a * p + b] = out[b * p + a] = sum;
        }
}

/* out = T dg T^T: rows, then columns */
static void turn_square(const stair_survey *s, const symmetry *sym, const double *dg, double *out)
{
    int size = s->size;
    double *half = s->scratch + 2 * (size_t)(size * size), column[STAIR_MAX_CELLS];
    for (int a = 0; a < size; a++)
        turn(s, sym, dg + (size_t)a * (size_t)size, half + (size_t)a * (size_t)size);
    for (int b = 0; b < size; b++) {
        double turned[STAIR_MAX_CELLS];
        for (int a = 0; a < size; a++) column[a] = half[(size_t)a * (size_t)size + (size_t)b];
        turn(s, sym, column, turned);
        for (int a = 0; a < size; a++) out[(size_t)a * (size_t)size + (size_t)b] = turned[a];
    }
}

static void note_point(stair_survey *s, stair_check check, const symmetry *sym, size_t i)
{
    size_t size = (size_t)s->size, square = (size_t)(s->indices * s->indices);
    stair_posterior expected = {.logz = s->base.logz[i], .g = s->scratch, .dg = s->scratch + size * size};
    stair_posterior found = {
        .logz = s->other.logz[i], .g = s->other.g + i * size, .dg = s->other.dg + i * size * size};
    turn(s, sym, s->base.g + i * size, expected.g);
    turn_square(s, sym, s->base.dg + i * size * size, expected.dg);
    stair_integrand_set(&s->f, s->other.omega + i * size, s->other.cov + i * square);
    stair_survey_note(s, check, stair_posterior_distance(&s->f, &expected, &found),
                      tuning.same + STAIR_ALLOWANCE * (s->base.error[i] + s->other.error[i]));
}

static stair_status check_symmetry(stair_survey *s, stair_check check, const symmetry *sym)
{
    size_t size = (size_t)s->size, square = (size_t)(s->indices * s->indices), labels = (size_t)s->label_size;
    if (!holds(s, sym)) return STAIR_OK;
    for (size_t i = 0; i < s->n; i++) {
        turn(s, sym, s->base.omega + i * size, s->other.omega + i * size);
        turn_cov(s, sym, s->base.cov + i * square, s->other.cov + i * square);
        turn_label(s, sym, s->base.labels + i * labels, s->other.labels + i * labels);
    }
    STAIR_TRY(stair_survey_evaluate(s, &s->channel, &s->other));
    for (size_t i = 0; i < s->n; i++) note_point(s, check, sym, i);
    return STAIR_OK;
}

static symmetry nothing(const stair_survey *s)
{
    symmetry sym = {.action = LABEL_STAYS};
    for (int a = 0; a < s->indices; a++) sym.rotation[a * s->indices + a] = 1;
    for (int t = 0; t < s->tokens; t++) sym.token[t] = t;
    return sym;
}

/* A random rotation of the rows of every layer, of queries and keys alike: for rank one a sign, turned in
 * every other layer. */
static void rotate_layers(const stair_survey *s, symmetry *sym)
{
    int p = s->indices, row[STAIR_MAX_INDICES];
    double q[STAIR_SQUARE];
    for (int l = 0; l < s->model->info.layers; l++) {
        int rank = s->model->info.ranks[l], rows = 0;
        stair_rng_normals(s->options->seed + 1, STAIR_RNG_INIT, s->first + (uint64_t)l, rank * rank, q);
        if (rank == 1)
            q[0] = l % 2 ? 1 : -1;
        else
            stair_matrix_orthonormalise(rank, q);
        for (int i = 0; i < p; i++)
            if (s->model->layer[i] == l) row[rows++] = i;
        for (int first = 0; first + rank <= rows; first += rank)
            for (int a = 0; a < rank; a++)
                for (int b = 0; b < rank; b++)
                    sym->rotation[row[first + a] * p + row[first + b]] = q[a * rank + b];
    }
}

stair_status stair_survey_symmetries(stair_survey *s)
{
    symmetry sign = nothing(s), tokens = nothing(s), layers = nothing(s);
    for (int a = 0; a < s->indices; a++) sign.rotation[a * s->indices + a] = -1;
    STAIR_TRY(check_symmetry(s, STAIR_CHECK_SIGN, &sign));
    for (int t = 0; t < s->tokens; t++) tokens.token[t] = (t + 1) % s->tokens;
    for (tokens.action = LABEL_STAYS; tokens.action < LABEL_ACTIONS && s->tokens > 1; tokens.action++)
        if (holds(s, &tokens)) {
            STAIR_TRY(check_symmetry(s, STAIR_CHECK_TOKENS, &tokens));
            break;
        }
    rotate_layers(s, &layers);
    return check_symmetry(s, STAIR_CHECK_ROTATION, &layers);
}
