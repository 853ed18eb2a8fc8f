/* Symmetries are found by trying them: row i of Z changes sign, rows i and j change places or turn, at a
 * few random Z.  If the label stays the same the posterior has the symmetry, and so has every overlap
 * that state evolution reaches from a symmetric start; averaging removes the noise that breaks it. */
#include "model/symmetry.h"

#include <math.h>
#include <string.h>

#include "core/rng.h"

static const struct {
    int trials; /* random Z */
    int many; /* and to find that the label never changes: one with two values may have one of them rarely */
    int most_rows; /* of which all sets are tried */
    double same;   /* labels that differ by less are equal */
    double angle;  /* of the rotation that is tried: no multiple of pi is near */
} tuning = {.trials = 4, .many = 256, .most_rows = 10, .same = 1e-9, .angle = 0.7};

static bool same_label(const stair_model *model, const double *a, const double *b)
{
    double first[STAIR_MAX_LABEL], second[STAIR_MAX_LABEL];
    bool plain = model->info.output_noisy;
    model->ops->forward(model, a, plain ? first : NULL, plain ? NULL : first);
    model->ops->forward(model, b, plain ? second : NULL, plain ? NULL : second);
    for (int k = 0; k < model->info.label_size; k++)
        if (!(fabs(first[k] - second[k]) <= tuning.same * (1 + fabs(first[k])))) return false;
    return true;
}

/* Row i changes sign, rows i and j change places, rows i and j are rotated, the rows that model->sign has
 * together with row i change sign, all of Z changes sign. */
typedef enum { SIGN, EXCHANGE, ROTATION, SIGNS, ALL_SIGNS } trial_kind;

static void transform(const stair_model *model, trial_kind kind, int i, int j, double *z)
{
    int p = model->info.indices, m = model->info.tokens;
    double c = kind == ROTATION ? cos(tuning.angle) : 0, s = kind == ROTATION ? sin(tuning.angle) : 1;
    for (int k = 0; k < p * m && kind == SIGNS; k++)
        if (model->sign[k / m] == model->sign[i]) z[k] = -z[k];
    for (int k = 0; k < p * m && kind == ALL_SIGNS; k++) z[k] = -z[k];
    for (int t = 0; t < m && kind == SIGN; t++) z[i * m + t] = -z[i * m + t];
    for (int t = 0; t < m && (kind == EXCHANGE || kind == ROTATION); t++) {
        double a = z[i * m + t], b = z[j * m + t];
        z[i * m + t] = c * a + s * b;
        z[j * m + t] = c * b + (kind == ROTATION ? -s : s) * a;
    }
}

/* Labels of a program may be few values, which agree by chance. */
static int trials_of(const stair_model *model)
{
    return model->ops->program ? tuning.many : tuning.trials;
}

static bool holds(const stair_model *model, trial_kind kind, int i, int j)
{
    int m = model->info.tokens, p = model->info.indices;
    double z[STAIR_MAX_CELLS], moved[STAIR_MAX_CELLS];
    for (int trial = 0; trial < trials_of(model); trial++) {
        stair_rng_normals(1, STAIR_RNG_POINTS, (uint64_t)(1000 + trial), p * m, z);
        memcpy(moved, z, sizeof(double) * (size_t)(p * m));
        transform(model, kind, i, j, moved);
        if (!same_label(model, z, moved)) return false;
    }
    return true;
}

/* Whether labels stay, or all change sign, when the rows of a set change sign.  Either way Q_ij = -Q_ij for
 * one row inside and one outside. */
static bool mirrors(const stair_model *model, unsigned rows)
{
    int m = model->info.tokens, cells = model->info.indices * m, labels = model->info.label_size;
    double z[STAIR_MAX_CELLS], moved[STAIR_MAX_CELLS], first[STAIR_MAX_LABEL], second[STAIR_MAX_LABEL];
    bool stays = true, turns = true;
    for (int trial = 0; trial < trials_of(model) && (stays || turns); trial++) {
        stair_rng_normals(1, STAIR_RNG_POINTS, (uint64_t)(1000 + trial), cells, z);
        for (int k = 0; k < cells; k++) moved[k] = rows >> (k / m) & 1 ? -z[k] : z[k];
        model->ops->forward(model, z, first, NULL);
        model->ops->forward(model, moved, second, NULL);
        for (int k = 0; k < labels; k++) {
            double near = tuning.same * (1 + fabs(first[k]));
            stays &= fabs(first[k] - second[k]) <= near;
            turns &= fabs(first[k] + second[k]) <= near;
        }
    }
    return stays || turns;
}

/* apart (P, P): overlaps that such sets of rows make vanish.  Models whose link is a program: others say what
 * their rows are. */
static void find_apart(const stair_model *model, bool *apart)
{
    int p = model->info.indices;
    memset(apart, 0, sizeof(bool) * (size_t)(p * p));
    if (!model->ops->program || p > tuning.most_rows) return;
    for (unsigned rows = 1; rows < 1u << (p - 1); rows++) /* a set and its complement mean the same */
        if (mirrors(model, rows) || mirrors(model, ~rows))
            for (int i = 0; i < p; i++)
                for (int j = 0; j < p; j++)
                    if ((rows >> i & 1) != (rows >> j & 1)) apart[i * p + j] = true;
}

/* Pairs (i, j) and (k, l) that an exchange of rows maps to each other. */
static bool alike(const stair_symmetry *s, int i, int j, int k, int l)
{
    bool straight = s->kind[i] == s->kind[k] && s->kind[j] == s->kind[l];
    bool crossed = s->kind[i] == s->kind[l] && s->kind[j] == s->kind[k];
    return (i == j) == (k == l) && (straight || crossed);
}

static int pair_number(const stair_model *model, stair_symmetry *s, const bool *apart, int i, int j)
{
    if (apart[i * s->indices + j]) return -1;
    if (i != j && (s->even[i] || s->even[j])) return -1;
    if (s->sign[i] != s->sign[j] || model->block[i] != model->block[j]) return -1;
    for (int k = 0; k <= i; k++)
        for (int l = 0; l <= k; l++)
            if ((k < i || l < j) && s->pair[k * s->indices + l] >= 0 && alike(s, i, j, k, l))
                return s->pair[k * s->indices + l];
    return s->count++;
}

void stair_symmetry_find(const stair_model *model, stair_symmetry *s)
{
    int p = model->info.indices;
    bool apart[STAIR_SQUARE];
    memset(s, 0, sizeof *s);
    find_apart(model, apart);
    s->indices = p;
    for (int i = 0; i < p; i++) {
        s->even[i] = holds(model, SIGN, i, i);
        s->kind[i] = s->turn[i] = i;
        for (int j = 0; j < i && s->kind[i] == i; j++)
            if (s->kind[j] == j && holds(model, EXCHANGE, i, j)) s->kind[i] = j;
        if (s->kind[i] != i && holds(model, ROTATION, i, s->kind[i])) s->turn[i] = s->kind[i];
        s->sign[i] = model->sign[i] && holds(model, SIGNS, i, i) ? model->sign[i] : 0;
    }
    for (int i = 0; i < p * p; i++) s->pair[i] = -1;
    for (int i = 0; i < p; i++)
        for (int j = 0; j <= i; j++)
            s->pair[i * p + j] = s->pair[j * p + i] = pair_number(model, s, apart, i, j);
    for (int i = 0; i < p * p; i++)
        if (s->pair[i] >= 0) s->size[s->pair[i]]++;
}

void stair_symmetrise(const stair_symmetry *s, double *a)
{
    int cells = s->indices * s->indices;
    double mean[STAIR_MOST_COORDINATES] = {0};
    for (int c = 0; c < cells; c++)
        if (s->pair[c] >= 0) mean[s->pair[c]] += a[c];
    for (int c = 0; c < cells; c++) a[c] = s->pair[c] < 0 ? 0 : mean[s->pair[c]] / s->size[s->pair[c]];
}

bool stair_symmetry_is_even(const stair_model *model)
{
    return holds(model, ALL_SIGNS, 0, 0);
}

bool stair_symmetry_is_complete(const stair_model *model)
{
    double z[STAIR_MAX_CELLS], other[STAIR_MAX_CELLS];
    int cells = model->info.indices * model->info.tokens;
    stair_rng_normals(1, STAIR_RNG_POINTS, 1000, cells, z);
    for (int trial = 0; trial < tuning.many; trial++) {
        stair_rng_normals(1, STAIR_RNG_POINTS, (uint64_t)(2000 + trial), cells, other);
        if (!same_label(model, z, other)) return false;
    }
    return true;
}
