/* AdamW: tables of its powers, and the steps of rows without gradient.  adamw.h has the derivation. */
#include "train/adamw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/isa.h"

static const struct {
    double spent;     /* b1^j below this moves nothing */
    int few;          /* idle steps that are cheaper one by one */
    double neglected; /* first moment left out of the expansion, relative, that is small enough */
} tuning = {.spent = 1e-16, .few = 6, .neglected = 1e-8};

STAIR_HOT_TABLE(void, stair_adamw_move,
                (size_t n, const double *k, double *w, double *m, double *v, const double *g));
STAIR_HOT_TABLE(void, stair_adamw_drift,
                (size_t n, int terms, const double *c, const double *r, const double *k, double *w, double *m,
                 double *v));
STAIR_HOT_TABLE(void, stair_adamw_expand,
                (size_t n, const double *mu, const double *k, double *w, double *m, double *v));

stair_status stair_adamw_create(stair_context *context, double rate, double beta1, double beta2,
                                double epsilon, double weight_decay, int64_t steps, stair_adamw *adam)
{
    *adam = (stair_adamw){.rate = rate,
                          .beta1 = beta1,
                          .beta2 = beta2,
                          .epsilon = epsilon,
                          .weight_decay = weight_decay,
                          .steps = steps};
    adam->tail = beta1 > 0 ? (int)ceil(log(tuning.spent) / log(beta1)) : 1;
    size_t n = (size_t)steps + 1, tail = (size_t)adam->tail + 1;
    double *memory = malloc((2 * n + 4 * tail + 16) * sizeof(double));
    if (!memory) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    adam->step_size = memory;
    adam->root = memory + n;
    adam->fade = adam->root + n;
    adam->slow = adam->fade + tail;
    adam->room = adam->slow + tail;
    double d = 1 - rate * weight_decay;
    for (size_t t = 0; t < n; t++) {
        adam->step_size[t] = rate / -expm1((double)t * log(beta1));
        adam->root[t] = 1 / sqrt(-expm1((double)t * log(beta2)));
    }
    for (size_t j = 0; j < tail; j++) {
        adam->fade[j] = pow(beta1, (double)j) * pow(d, -(double)j);
        adam->slow[j] = pow(beta2, 0.5 * (double)j);
    }
    return STAIR_OK;
}

void stair_adamw_destroy(stair_adamw *adam)
{
    free(adam->step_size); /* one allocation */
    *adam = (stair_adamw){0};
}

void stair_adamw_step(const stair_adamw *adam, int64_t t, size_t n, double *w, double *m, double *v,
                      const double *g)
{
    double k[] = {1 - adam->rate * adam->weight_decay,
                  adam->beta1,
                  adam->beta2,
                  adam->step_size[t],
                  adam->root[t],
                  adam->epsilon};
    stair_adamw_move_table[stair_isa()](n, k, w, m, v, g);
}

/* mu_0 .. mu_ORDER about the mean of r with weights c, and that mean behind them in mu[ORDER + 1] */
static void moments(int terms, const double *c, const double *r, double *mu)
{
    double sum = 0, mean = 0;
    for (int j = 0; j < terms; j++) {
        sum += c[j];
        mean += c[j] * r[j];
    }
    mean /= sum;
    for (int i = 0; i <= STAIR_ADAMW_ORDER; i++) mu[i] = 0;
    for (int j = 0; j < terms; j++) {
        double power = c[j], delta = r[j] - mean;
        for (int i = 0; i <= STAIR_ADAMW_ORDER; i++, power *= delta) mu[i] += power;
    }
    mu[STAIR_ADAMW_ORDER + 1] = mean;
}

void stair_adamw_idle(const stair_adamw *adam, int64_t t0, int64_t t, size_t n, double *w, double *m,
                      double *v)
{
    int64_t count = t - t0;
    if (count <= 0) return;
    int terms = count < adam->tail ? (int)count : adam->tail, isa = stair_isa();
    double keep = pow(1 - adam->rate * adam->weight_decay, (double)count);
    if (t0 == 0) { /* no gradient yet, so m = v = 0 */
        for (size_t i = 0; i < n; i++) w[i] *= keep;
        return;
    }
    double *c = adam->room, *r = c + terms, mu[STAIR_ADAMW_ORDER + 2];
    double k[] = {keep, pow(adam->beta1, (double)count), pow(adam->beta2, (double)count), adam->epsilon};
    for (int j = 1; j <= terms; j++) {
        c[j - 1] = keep * adam->fade[j] * adam->step_size[t0 + j];
        r[j - 1] = adam->slow[j] * adam->root[t0 + j];
    }
    if (terms > tuning.few) {
        moments(terms, c, r, mu);
        double mean = mu[STAIR_ADAMW_ORDER + 1];
        if (fabs(mu[STAIR_ADAMW_ORDER]) <= tuning.neglected * mu[0] * pow(mean, STAIR_ADAMW_ORDER)) {
            stair_adamw_expand_table[isa](n, mu, k, w, m, v);
            return;
        }
    }
    stair_adamw_drift_table[isa](n, terms, c, r, k, w, m, v);
}
