/* How far each attention layer is from where it ends.
 *
 *   S(t) = tr(G_t G_*) / (|G_t|_F |G_*|_F)
 *
 * with G = w^T w (D, D), the matrix the network sees, as the paper defines it: tr(G_t G_*) =
 * |w_t w_*^T|_F^2.  The authors' notebook takes G = w w^T (P, P) instead: tr = |w_t^T w_*|_F^2; that is
 * also given, although w -> O w, which changes nothing in the network, changes it.
 */
#include <math.h>
#include <string.h>

#include "train/train.h"

void stair_training_snapshot(stair_training *t)
{
    const stair_classifier *c = t->c;
    int points = t->options->points, all = t->options->epochs * points;
    size_t one = (size_t)(c->layers * c->rank) * (size_t)c->dim;
    while (t->out->snapshots <= all && t->out->snapshots * t->per_epoch / points <= t->step) {
        float *to = t->snapshots + (size_t)t->out->snapshots * one;
        for (int l = 0; l < c->layers; l++)
            for (int k = 0; k < c->rank; k++)
                for (int i = 0; i < c->dim; i++)
                    *to++ = (float)stair_classifier_w(c, c->parameters,
                                                      l)[(size_t)k * (size_t)c->dim8 + (size_t)i];
        t->out->snapshot[t->out->snapshots++] =
            (stair_train_snapshot){.step = t->step, .epoch = (double)t->step / (double)t->per_epoch};
    }
}

/* sum_ij (sum_k a_ik b_jk)^2, i, j < n, k < inner; a_ik is at i step + k inner_step, and so is b_ik.  With
 * rows of w (P, D) for i it is |a b^T|_F^2, with columns |a^T b|_F^2. */
static double squared_product(int n, int step, int inner, int inner_step, const float *a, const float *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double dot = 0;
            for (int k = 0; k < inner; k++)
                dot += (double)a[i * step + k * inner_step] * (double)b[j * step + k * inner_step];
            sum += dot * dot;
        }
    return sum;
}

static double rows_product(int rank, int dim, const float *a, const float *b)
{
    return squared_product(rank, dim, dim, 1, a, b);
}

static double columns_product(int rank, int dim, const float *a, const float *b)
{
    return squared_product(dim, 1, rank, dim, a, b);
}

static void measure(stair_training *t, int layer)
{
    int rank = t->c->rank, dim = t->c->dim, count = t->out->snapshots;
    size_t one = (size_t)(t->c->layers * rank) * (size_t)dim, at = (size_t)layer * (size_t)rank * (size_t)dim;
    const float *end = t->snapshots + (size_t)(count - 1) * one + at;
    double end_norm = sqrt(rows_product(rank, dim, end, end));
    t->out->settled[layer] = 0;
    for (int i = 0; i < count; i++) {
        const float *w = t->snapshots + (size_t)i * one + at;
        stair_train_snapshot *s = &t->out->snapshot[i];
        double norm = sqrt(rows_product(rank, dim, w, w)), squares = 0, scale = norm * end_norm;
        for (int k = 0; k < rank * dim; k++) squares += (double)w[k] * (double)w[k];
        s->norm[layer] = sqrt(squares);
        s->similarity[layer] = scale > 0 ? rows_product(rank, dim, w, end) / scale : 0;
        s->similarity_rank[layer] = scale > 0 ? columns_product(rank, dim, w, end) / scale : 0;
        bool above = s->similarity[layer] >= t->options->settle;
        if (!above && i + 1 < count) t->out->settled[layer] = t->out->snapshot[i + 1].epoch;
    }
}

void stair_training_finish(stair_training *t)
{
    for (int r = 0; r < t->c->vocab; r++) stair_training_bring(t, r, t->step);
    for (int l = 0; t->out->snapshots > 0 && l < t->c->layers; l++) measure(t, l);
}
