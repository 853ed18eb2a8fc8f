/* The table of rules, the numbers that all of them average, and what sharpening has in common. */
#include "average/average.h"

#include <math.h>
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

const stair_average_rule *const stair_average_rules[] = {
    &stair_average_constant,    &stair_average_formula,    &stair_average_hermite,
    &stair_average_label_sum,   &stair_average_label_line, &stair_average_label_grid,
    &stair_average_label_plane, &stair_average_samples,    NULL};

const stair_average_rule *stair_average_rule_for(const stair_structure *structure,
                                                 const stair_average_effort *effort, const double *q)
{
    for (const stair_average_rule *const *rule = stair_average_rules; *rule; rule++)
        if ((!effort->rule || effort->rule == *rule) && (*rule)->fits(structure, effort, q)) return *rule;
    return NULL;
}

const char *stair_average_rule_name(int number)
{
    for (int k = 0; k < number; k++)
        if (!stair_average_rules[k]) return NULL;
    return stair_average_rules[number] ? stair_average_rules[number]->name : NULL;
}

const stair_average_rule *stair_average_rule_named(const char *name)
{
    for (const stair_average_rule *const *rule = stair_average_rules; *rule; rule++)
        if (!strcmp(name, (*rule)->name)) return *rule;
    return NULL;
}

stair_status stair_average_evaluate(stair_context *context, const stair_structure *structure,
                                    const stair_average_effort *effort, const double *q, const double *basis,
                                    stair_average *average)
{
    average->rule = stair_average_rule_for(structure, effort, q);
    if (!average->rule && structure->model->unseen)
        return stair_fail(context, STAIR_COSTLY,
                          "every hidden layer counts by itself, and there is room for %d layers",
                          STAIR_MAX_LAYERS);
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

stair_status stair_average_create_with(stair_context *context, const stair_structure *structure, int kernel,
                                       int replicates, bool by_symmetry, stair_average *average)
{
    int p = structure->model->info.indices;
    *average = (stair_average){.structure = structure,
                               .indices = p,
                               .kernel = kernel,
                               .replicates = replicates,
                               .by_symmetry = by_symmetry};
    average->coordinates = by_symmetry ? structure->symmetry.count : kernel * (kernel + 1) / 2;
    if (by_symmetry && average->coordinates > STAIR_MOST_OVERLAPS)
        return stair_fail(
            context, STAIR_UNSUPPORTED,
            "the weak-recovery operator of %d overlaps that symmetries leave free is too large; "
            "at most %d",
            average->coordinates, STAIR_MOST_OVERLAPS);
    average->count = p * (p + 1) / 2 + 1 + average->coordinates * average->coordinates;
    average->memory = calloc((size_t)(1 + replicates) * (size_t)average->count, sizeof(double));
    if (!average->memory) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    average->mean = average->memory;
    average->sample = average->memory + average->count;
    return STAIR_OK;
}

stair_status stair_average_create(stair_context *context, const stair_structure *structure, int kernel,
                                  int replicates, stair_average *average)
{
    return stair_average_create_with(context, structure, kernel, replicates, kernel > STAIR_MOST_KERNEL,
                                     average);
}

void stair_average_destroy(stair_average *average)
{
    free(average->memory);
    memset(average, 0, sizeof *average);
}

const double *stair_average_row(const stair_average *average, int r)
{
    return r < 0 ? average->mean : average->sample + (size_t)r * (size_t)average->count;
}

void stair_average_f(const stair_average *average, int r, double *f)
{
    const double *row = stair_average_row(average, r);
    for (int i = 0; i < average->indices; i++)
        for (int j = 0; j < average->indices; j++) f[i * average->indices + j] = row[stair_packed(i, j)];
}

double stair_average_logz(const stair_average *average, int r)
{
    return stair_average_row(average, r)[average->indices * (average->indices + 1) / 2];
}

double stair_average_spread(const stair_average *average, const double *by_replicate)
{
    return stair_spread_error(average->random, average->replicates, by_replicate);
}

/* The correction is the first order in 1/nodes and leaves the second: 10 to 20 times its square at six places
 * where it was 1 to 6 %. */
double stair_bias_left(double correction)
{
    correction = fabs(correction);
    return correction * fmin(1, fmax(tuning.least_left, tuning.left * correction));
}

void stair_average_features(const stair_average *average, const stair_subspace *rest, int m, double logz,
                            const double *g, const double *dg, double *out)
{
    int p = average->indices, half = p * (p + 1) / 2;
    for (int i = 0; i < p; i++)
        for (int j = 0; j <= i; j++) {
            double product = 0;
            for (int t = 0; t < m; t++) product += g[i * m + t] * g[j * m + t];
            out[stair_packed(i, j)] = product;
        }
    out[half] = logz;
    if (average->kernel) stair_average_operator(average, rest, m, dg, out + half + 1);
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
