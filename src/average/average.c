/* The table of rules, the numbers that all of them average, and what sharpening has in common. */
#include "average/average.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    double left; /* times the square of a relative correction for random nodes is left: 10 to 20 at six places
                    where it was 1 to 6 %, */
    double least_left;      /* and at least that part of it */
    double noise_share;     /* of an error that is wanted, */
    double bias_share;      /* and what all replicates may share */
    int nodes_at_once;      /* times more nodes, at most */
    double safe_replicates; /* whose spread is known to a third */
} tuning = {.left = 20.0,
            .least_left = 0.03,
            .noise_share = 0.9,
            .bias_share = 0.4,
            .nodes_at_once = 4,
            .safe_replicates = 8.0};

const stair_average_rule *const stair_average_rules[] = {&stair_average_hermite, &stair_average_label_grid,
                                                         &stair_average_label_plane, &stair_average_samples,
                                                         NULL};

const stair_average_rule *stair_average_rule_for(const stair_structure *structure,
                                                 const stair_average_effort *effort, const double *q)
{
    for (const stair_average_rule *const *rule = stair_average_rules; *rule; rule++)
        if ((!effort->rule || effort->rule == *rule) && (*rule)->fits(structure, effort, q)) return *rule;
    return NULL;
}

stair_status stair_average_rule_named(stair_context *context, const char *name,
                                      const stair_average_rule **rule)
{
    char listed[128] = "auto";
    *rule = NULL;
    if (!name || !strcmp(name, "auto")) return STAIR_OK;
    for (const stair_average_rule *const *entry = stair_average_rules; *entry; entry++) {
        if (!strcmp(name, (*entry)->name)) {
            *rule = *entry;
            return STAIR_OK;
        }
        size_t used = strlen(listed);
        snprintf(listed + used, sizeof listed - used, ", %s", (*entry)->name);
    }
    return stair_fail(context, STAIR_BAD_INPUT, "method must be one of %s, not '%.40s'", listed, name);
}

stair_status stair_average_evaluate(stair_context *context, const stair_structure *structure,
                                    const stair_average_effort *effort, const double *q, const double *basis,
                                    stair_average *average)
{
    average->rule = stair_average_rule_for(structure, effort, q);
    if (!average->rule)
        return stair_fail(context, STAIR_UNSUPPORTED, "method '%s' does not serve this model at this overlap",
                          effort->rule->name);
    return average->rule->evaluate(context, structure, effort, q, basis, average);
}

void stair_average_begin(stair_average *average, int replicates, bool random)
{
    average->inner = average->bias = average->logz_bias = 0;
    average->calls = 0;
    average->replicates = replicates;
    average->random = random;
}

stair_status stair_average_create(stair_context *context, const stair_structure *structure, int kernel,
                                  int replicates, stair_average *outer)
{
    int p = structure->model->info.indices;
    memset(outer, 0, sizeof *outer);
    if (kernel > STAIR_MOST_KERNEL)
        return stair_fail(context, STAIR_UNSUPPORTED,
                          "the weak-recovery operator of %d unlearned directions is too large; at most %d",
                          kernel, STAIR_MOST_KERNEL);
    outer->indices = p;
    outer->kernel = kernel;
    outer->replicates = replicates;
    outer->pairs = kernel * (kernel + 1) / 2;
    outer->count = p * (p + 1) / 2 + 1 + outer->pairs * outer->pairs;
    outer->memory = calloc((size_t)(1 + replicates) * (size_t)outer->count, sizeof(double));
    if (!outer->memory) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    outer->mean = outer->memory;
    outer->sample = outer->memory + outer->count;
    return STAIR_OK;
}

void stair_average_destroy(stair_average *outer)
{
    free(outer->memory);
    memset(outer, 0, sizeof *outer);
}

static const double *row_of(const stair_average *outer, int r)
{
    return r < 0 ? outer->mean : outer->sample + (size_t)r * (size_t)outer->count;
}

void stair_average_f(const stair_average *outer, int r, double *f)
{
    const double *row = row_of(outer, r);
    for (int i = 0; i < outer->indices; i++)
        for (int j = 0; j < outer->indices; j++) f[i * outer->indices + j] = row[stair_packed(i, j)];
}

double stair_average_logz(const stair_average *outer, int r)
{
    return row_of(outer, r)[outer->indices * (outer->indices + 1) / 2];
}

void stair_average_apply(const stair_average *outer, int r, const double *x, double *out)
{
    int k = outer->kernel;
    const double *op = row_of(outer, r) + outer->indices * (outer->indices + 1) / 2 + 1;
    for (int i = 0; i < k; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int a = 0; a < k; a++)
                for (int b = 0; b < k; b++)
                    sum += op[stair_packed(i, j) * outer->pairs + stair_packed(a, b)] * x[a * k + b];
            out[i * k + j] = out[j * k + i] = sum;
        }
}

double stair_average_spread(const stair_average *outer, const double *by_replicate)
{
    return stair_spread_error(outer->random, outer->replicates, by_replicate);
}

/* The correction is the first order in 1/nodes and leaves the second: 10 to 20 times its square at six places
 * where it was 1 to 6 %. */
double stair_bias_left(double correction)
{
    correction = fabs(correction);
    return correction * fmin(1, fmax(tuning.least_left, tuning.left * correction));
}

void stair_subspace_set(const stair_structure *structure, const double *q, const double *basis,
                        stair_subspace *rest)
{
    int p = structure->model->info.indices;
    rest->basis = basis;
    for (int i = 0; i < p; i++) {
        rest->apart[i] = structure->symmetry.even[i];
        for (int j = 0; j < p; j++) rest->apart[i] &= q[i * p + j] == 0;
    }
}

/* Products of dg on the unlearned subspace: pairs (ij) by (kl), symmetrised over k, l. */
static void operator_features(const stair_average *outer, const stair_subspace *rest, int m, const double *dg,
                              double *out)
{
    int p = outer->indices, k = outer->kernel, pm = p * m, pairs = outer->pairs;
    double g[STAIR_MOST_KERNEL][STAIR_MOST_KERNEL];
    memset(out, 0, sizeof(double) * (size_t)(pairs * pairs));
    for (int a = 0; a < m; a++)
        for (int b = 0; b < m; b++) {
            for (int i = 0; i < k; i++)
                for (int j = 0; j < k; j++) {
                    double sum = 0;
                    for (int r = 0; r < p; r++)
                        for (int s = 0; s < p; s++)
                            if (r == s || (!rest->apart[r] && !rest->apart[s]))
                                sum += rest->basis[r * k + i] * dg[(r * m + a) * pm + s * m + b] *
                                       rest->basis[s * k + j];
                    g[i][j] = sum;
                }
            for (int i = 0; i < k; i++)
                for (int j = 0; j <= i; j++)
                    for (int c = 0; c < k; c++)
                        for (int d = 0; d < k; d++)
                            out[stair_packed(i, j) * pairs + stair_packed(c, d)] +=
                                0.5 * (g[i][c] * g[j][d] + g[i][d] * g[j][c]) / (c == d ? 1 : 2);
        }
}

void stair_average_features(const stair_average *outer, const stair_subspace *rest, int m, double logz,
                            const double *g, const double *dg, double *out)
{
    int p = outer->indices, half = p * (p + 1) / 2;
    for (int i = 0; i < p; i++)
        for (int j = 0; j <= i; j++) {
            double product = 0;
            for (int t = 0; t < m; t++) product += g[i * m + t] * g[j * m + t];
            out[stair_packed(i, j)] = product;
        }
    out[half] = logz;
    if (outer->kernel) operator_features(outer, rest, m, dg, out + half + 1);
}

double stair_average_excess(double bias, double error, double wanted)
{
    return sqrt(fmax(0, error * error - bias * bias)) / (tuning.noise_share * wanted);
}

bool stair_average_more_nodes(stair_average_effort *effort, double bias, double wanted)
{
    bool more = false;
    for (double left = bias; left > tuning.bias_share * wanted && left > bias / tuning.nodes_at_once;
         left /= 2) {
        effort->nodes *= 2;
        more = true;
    }
    return more;
}

bool stair_average_safe_replicates(stair_average_effort *effort, double *excess)
{
    if (!(*excess > 1 && effort->replicates < tuning.safe_replicates)) return false;
    *excess *= stair_student(tuning.safe_replicates) / stair_student(effort->replicates) *
               sqrt(effort->replicates / tuning.safe_replicates);
    effort->replicates = (int)tuning.safe_replicates;
    return true;
}
