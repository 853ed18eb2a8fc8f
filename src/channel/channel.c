/* The output channel: which rule serves a sample, batches and threads.
 *
 *   dim = 0        exact
 *   head and tail  layered; where that does not converge, as below
 *   dim 1 to 4     lattice; where that does not converge, nested (dim 2) or sampling
 *   dim = 2, rough nested at once: a lattice would not notice what it misses at the singular set
 *   otherwise      sampling; with noise on y also where there is too little of it for the others
 *
 * One thread serves a sample from beginning to end, so results cannot depend on their number. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel/canonical.h"
#include "channel/rules.h"
#include "core/parallel.h"

#define SAMPLES_PER_BLOCK 4
#define SAMPLING_FLOOR    0.02
#define LATTICE_NOISE     0.2   /* least on y with which errors are what the lattice reports ... */
#define NESTED_NOISE      0.003 /* ... and the nested rule; docs/channel.md */

static const char *const rule_names[STAIR_RULES] = {"exact", "layered", "lattice", "nested", "sampling"};

const char *stair_channel_method_name(int method)
{
    return method >= 0 && method < STAIR_RULES ? rule_names[method] : NULL;
}

static int method_number(const char *name)
{
    for (int k = 0; k < STAIR_RULES; k++)
        if (!strcmp(name, rule_names[k])) return k;
    return -1;
}

stair_status stair_worker_create(stair_context *context, const stair_model *model, stair_worker *w)
{
    memset(w, 0, sizeof *w);
    STAIR_TRY(stair_integrand_create(context, model, &w->f));
    size_t count = (size_t)w->f.count, size = (size_t)w->f.size;
    w->memory = calloc(4 * count + 6 * (size + size * size), sizeof(double));
    if (!w->memory || stair_modes_create(context, &w->f, &w->modes) != STAIR_OK) {
        stair_worker_destroy(w);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    double *at = w->memory;
    stair_moments *moments[] = {&w->total, &w->extra, &w->part[0], &w->part[1]};
    for (int k = 0; k < 4; k++, at += count) moments[k]->sum = at;
    stair_posterior *posteriors[] = {&w->first, &w->second, &w->coarse, &w->spare, &w->half[0], &w->half[1]};
    for (int k = 0; k < 6; k++) {
        posteriors[k]->g = at;
        posteriors[k]->dg = at + size;
        at += size + size * size;
    }
    return STAIR_OK;
}

void stair_worker_destroy(stair_worker *w)
{
    stair_integrand_destroy(&w->f);
    stair_modes_destroy(&w->modes);
    stair_lattice_map_destroy(&w->map);
    stair_layered_destroy(w->layered);
    free(w->memory);
    memset(w, 0, sizeof *w);
}

void stair_rule_origin(stair_worker *w)
{
    stair_integrand *f = &w->f;
    const stair_mode *mode = &w->modes.mode[0];
    for (int k = 0; k < f->dim; k++) f->nodes.u[(size_t)k * STAIR_BLOCK] = mode->u[k];
    stair_integrand_energies(f, 1);
    for (int i = 0; i < f->size; i++) {
        double b = i < f->shape.free_rows * f->shape.tokens ? 0 : f->nodes.b[(size_t)i * STAIR_BLOCK];
        f->origin[i] = f->nodes.a[(size_t)i * STAIR_BLOCK] +
                       (f->shape.mirrored && f->nodes.minus[0] > f->nodes.plus[0] ? -b : b);
    }
}

bool stair_rule_accept(const stair_integrand *f, const stair_channel_options *options,
                       const stair_posterior *out, stair_channel_options *goal, stair_rule_result *result)
{
    if (!isfinite(result->error)) return true;
    double sensitivity = stair_posterior_sensitivity(f, out), rounding = stair_integrand_rounding(f);
    double needed = fmax(options->precision / sensitivity, fmax(2e-15, 10 * rounding));
    bool limited = goal->precision <= needed && result->error <= 20 * needed * sensitivity; /* by rounding */
    result->converged = result->error <= options->precision || limited;
    if (!result->converged && needed < 0.4 * goal->precision) {
        goal->precision = needed;
        return false;
    }
    result->error += rounding * sensitivity;
    return true;
}

/* The likeliest point of all charts becomes the origin; returns its energy. */
static double exact_origin(stair_integrand *f)
{
    double top = -INFINITY;
    for (f->chart = 0; f->chart < f->fibre.charts; f->chart++) {
        double here = stair_integrand_energies(f, 1);
        if (!(here > top) && f->chart) continue;
        top = here;
        for (int i = 0; i < f->size; i++) {
            double b = i < f->shape.free_rows * f->shape.tokens ? 0 : f->nodes.b[(size_t)i * STAIR_BLOCK];
            f->origin[i] =
                f->nodes.a[(size_t)i * STAIR_BLOCK] + (f->nodes.plus[0] >= f->nodes.minus[0] ? b : -b);
        }
    }
    return top;
}

stair_rule_result stair_rule_exact(stair_worker *w, stair_posterior *out)
{
    stair_integrand *f = &w->f;
    double top = exact_origin(f);
    stair_moments_clear(f, &w->total);
    for (f->chart = 0; f->chart < f->fibre.charts; f->chart++) {
        stair_integrand_energies(f, 1);
        stair_integrand_add(f, 1, NULL, top, &w->total);
    }
    f->chart = 0;
    stair_moments_finish(f, &w->total, out);
    double rounding = stair_integrand_rounding(f) * stair_posterior_sensitivity(f, out);
    return (stair_rule_result){.error = rounding, .converged = true};
}

typedef struct {
    const stair_model *model;
    const stair_channel_options *options;
    uint64_t first;
    size_t n, covs;
    const double *labels, *omega, *cov;
    stair_channel_result *result;
    stair_worker *workers;
    int method; /* forced, or -1 */
} channel_job;

static stair_rule_result run_rule(stair_worker *w, const stair_channel_options *options, int rule,
                                  stair_posterior *out)
{
    memset(w->f.origin, 0, sizeof(double) * (size_t)w->f.size);
    switch (rule) {
    case STAIR_RULE_EXACT:
        return stair_rule_exact(w, out);
    case STAIR_RULE_LAYERED:
        return stair_rule_layered(w, options, out);
    case STAIR_RULE_LATTICE:
        return stair_rule_lattice(w, options, out);
    case STAIR_RULE_NESTED:
        return stair_rule_nested(w, options, out);
    default:
        return stair_rule_sampling(w, options, out);
    }
}

/* The rules fit for this fibre, cheapest first.  With noise on y the posterior is as narrow as the noise has
 * it: the less of it, the more can hide from a rule that looks at a few places first. */
static int candidate_rules(const stair_integrand *f, int forced, int *rules)
{
    bool euclidean = f->dim == f->shape.free_rows * f->shape.tokens && f->fibre.charts == 1;
    double noise = f->shape.residuals ? f->fibre.model->info.noise : INFINITY;
    bool fit[STAIR_RULES] = {[STAIR_RULE_EXACT] = f->dim == 0,
                             [STAIR_RULE_LAYERED] = stair_layered_fits(f),
                             [STAIR_RULE_LATTICE] = euclidean && !(f->fibre.rough && f->dim == 2) &&
                                                    f->dim > 0 && f->dim <= 4 && noise >= LATTICE_NOISE,
                             [STAIR_RULE_NESTED] = euclidean && f->dim == 2 && noise >= NESTED_NOISE,
                             [STAIR_RULE_SAMPLING] = f->dim > 0};
    int count = 0;
    if (fit[STAIR_RULE_NESTED] && !f->shape.residuals && forced < 0)
        fit[STAIR_RULE_SAMPLING] = false; /* nested leaves nothing to it */
    for (int k = 0; k < STAIR_RULES; k++)
        if (fit[k] && (forced < 0 || forced == k)) rules[count++] = k;
    return count;
}

static stair_status check_covariance(stair_context *local, int p, const double *cov)
{
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            if (!isfinite(cov[i * p + j]))
                return stair_fail(local, STAIR_BAD_INPUT, "covariance entry %d is %g", i * p + j,
                                  cov[i * p + j]);
            if (fabs(cov[i * p + j] - cov[j * p + i]) >
                1e-12 * (fabs(cov[i * (p + 1)]) + fabs(cov[j * (p + 1)])))
                return stair_fail(local, STAIR_BAD_INPUT,
                                  "covariance is not symmetric: entries (%d,%d) and (%d,%d) are %g and %g",
                                  i + 1, j + 1, j + 1, i + 1, cov[i * p + j], cov[j * p + i]);
        }
    return STAIR_OK;
}

/* Both halves of sample i, or the whole twice. */
static void write_halves(const channel_job *job, const stair_worker *w, const stair_canonical *canonical,
                         const stair_posterior *whole, size_t i)
{
    stair_channel_result *r = job->result;
    size_t size = (size_t)w->f.size;
    for (size_t k = 0; k < 2 && r->half_g; k++) {
        const stair_posterior *half = w->halved ? &w->half[k] : whole;
        size_t at = 2 * i + k;
        r->half_logz[at] = half->logz;
        stair_canonical_undo(job->model, canonical, half->g, half->dg, r->half_g + at * size,
                             r->half_dg + at * size * size);
    }
}

static stair_status evaluate_sample(stair_context *local, const channel_job *job, stair_worker *w, size_t i)
{
    stair_integrand *f = &w->f;
    size_t size = (size_t)f->size, square = (size_t)(f->shape.rows * f->shape.rows);
    const double *omega = job->omega + i * size, *cov = job->cov + (job->covs == 1 ? 0 : i) * square;
    for (size_t k = 0; k < size; k++)
        if (!isfinite(omega[k]))
            return stair_fail(local, STAIR_BAD_INPUT, "omega entry %zu is %g", k, omega[k]);
    STAIR_TRY(check_covariance(local, f->shape.rows, cov));
    double omega_here[STAIR_MAX_INDICES * STAIR_MAX_TOKENS], label_here[STAIR_MAX_TOKENS * STAIR_MAX_TOKENS];
    stair_canonical canonical = stair_canonical_find(
        job->model, omega, job->labels + i * (size_t)job->model->info.label_size, omega_here, label_here);
    STAIR_TRY(stair_fibre_open(local, label_here, omega_here, &f->fibre));
    if (!stair_integrand_set(f, omega_here, cov))
        return stair_fail(local, STAIR_BAD_INPUT, "covariance is not positive definite");

    stair_channel_result *r = job->result;
    stair_posterior best = w->spare;
    int rules[STAIR_RULES], count = candidate_rules(f, job->method, rules), used = 0;
    double error = INFINITY;
    if (!count)
        return stair_fail(local, STAIR_UNSUPPORTED,
                          "method '%s' does not fit this model: %d hidden dimensions", job->options->method,
                          f->dim);
    best.logz = NAN; /* what no rule fills in must not be that of the sample before */
    for (size_t k = 0; k < size * size; k++) best.g[k % size] = best.dg[k] = NAN;
    w->sample = job->first + i;
    f->visited = 0;
    w->halved = false;
    for (int k = 0; k < count; k++) {
        stair_rule_result result = run_rule(w, job->options, rules[k], &best);
        error = result.error;
        used = rules[k];
        /* sampling seldom gets below this, whatever the precision asked for */
        if (result.converged ||
            (k + 1 < count && rules[k + 1] == STAIR_RULE_SAMPLING && error < SAMPLING_FLOOR))
            break;
    }
    if (!isfinite(best.logz) && job->method < 0)
        return stair_fail(local, STAIR_UNSUPPORTED, "the posterior given this label could not be integrated");
    stair_canonical_undo(job->model, &canonical, best.g, best.dg, r->g ? r->g + i * size : w->first.g,
                         r->dg ? r->dg + i * size * size : w->first.dg);
    write_halves(job, w, &canonical, &best, i);
    if (r->logz) r->logz[i] = best.logz;
    if (r->error) r->error[i] = error;
    if (r->nodes) r->nodes[i] = f->visited;
    if (r->method) r->method[i] = used;
    return STAIR_OK;
}

static stair_status evaluate_block(void *user, size_t block, int thread, stair_context *local)
{
    channel_job *job = user;
    size_t end = (block + 1) * SAMPLES_PER_BLOCK < job->n ? (block + 1) * SAMPLES_PER_BLOCK : job->n;
    for (size_t i = block * SAMPLES_PER_BLOCK; i < end; i++) {
        stair_status status = evaluate_sample(local, job, &job->workers[thread], i);
        if (status != STAIR_OK) {
            char reason[400];
            snprintf(reason, sizeof reason, "%.390s", stair_context_message(local));
            return stair_fail(local, status, "sample %llu: %s", (unsigned long long)(job->first + i), reason);
        }
    }
    return STAIR_OK;
}

stair_status stair_channel_evaluate(stair_context *context, const stair_model *model,
                                    const stair_channel_options *options, uint64_t first, size_t n,
                                    const double *labels, const double *omega, size_t covs, const double *cov,
                                    stair_channel_result *result)
{
    STAIR_TRY(stair_channel_check(context, options));
    if (covs != 1 && covs != n)
        return stair_fail(context, STAIR_BAD_INPUT, "%zu covariances for %zu samples", covs, n);
    if (n == 0) return STAIR_OK;
    size_t blocks = (n + SAMPLES_PER_BLOCK - 1) / SAMPLES_PER_BLOCK;
    int width = stair_parallel_width(context, blocks);
    channel_job job = {.model = model,
                       .options = options,
                       .first = first,
                       .n = n,
                       .covs = covs,
                       .labels = labels,
                       .omega = omega,
                       .cov = cov,
                       .result = result,
                       .method = method_number(options->method)};
    job.workers = calloc((size_t)width, sizeof *job.workers);
    if (!job.workers) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = STAIR_OK;
    for (int t = 0; t < width && status == STAIR_OK; t++)
        status = stair_worker_create(context, model, &job.workers[t]);
    if (status == STAIR_OK) status = stair_parallel(context, blocks, evaluate_block, &job);
    for (int t = 0; t < width; t++) stair_worker_destroy(&job.workers[t]);
    free(job.workers);
    return status;
}
