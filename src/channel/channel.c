/* The output channel: which rule serves a sample, batches and threads.
 *
 *   no fibre       closed: a formula of the model
 *   dim = 0        exact
 *   few boxes      boxes: a program that sees cuts of up to three numbers alone
 *   a program      lines: no fibre is needed; with noise on y up to two cells, or where labels are discrete
 *   head and tail  layered; where that does not converge, as below
 *   dim 1 to 4     lattice; where that does not converge, nested (dim 2) or sampling
 *   dim = 2, rough nested at once: a lattice would not notice what it misses at the singular set
 *   linear rows    marginal: with noise on y, of a label linear in some rows once others are given
 *   dim = 2, none of them a row of Z: plane
 *   otherwise      sampling; with noise on y also where there is too little of it for the others
 *
 * One thread serves a sample from beginning to end, so results cannot depend on their number. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel/canonical.h"
#include "channel/rules.h"
#include "core/ranks.h"
#include "model/marginal.h"

static const struct {
    size_t samples;     /* that a thread takes at a time: few, since one may cost a thousand times another */
    double good_enough; /* error below which a random rule, which seldom gets there, is not tried after
                           another */
    double node, moment,
        mixing; /* seconds of a node, of each of its second moments, of its mixing by tokens^3 */
} tuning = {.samples = 4, .good_enough = 0.02, .node = 35e-9, .moment = 0.8e-9, .mixing = 1e-9};

/* All rules, cheapest first. */
static const stair_channel_rule *const rules[] = {
    &stair_rule_closed,  &stair_rule_exact,  &stair_rule_boxes, &stair_rule_lines,    &stair_rule_layered,
    &stair_rule_lattice, &stair_rule_nested, &stair_rule_plane, &stair_rule_marginal, &stair_rule_sampling,
};
enum { RULES = sizeof rules / sizeof *rules };

const stair_channel_rule *stair_channel_rule_at(int k)
{
    return k >= 0 && k < RULES ? rules[k] : NULL;
}

const char *stair_channel_method_name(int method)
{
    for (int k = 0; k < RULES; k++)
        if (rules[k]->number == method) return rules[k]->name;
    return NULL;
}

static int method_number(const char *name)
{
    for (int k = 0; k < RULES; k++)
        if (!strcmp(name, rules[k]->name)) return rules[k]->number;
    return -1;
}

stair_status stair_worker_create(stair_context *context, const stair_model *model, stair_worker *w)
{
    memset(w, 0, sizeof *w);
    STAIR_TRY(stair_integrand_create(context, model, &w->f));
    size_t count = (size_t)w->f.count, size = (size_t)w->f.size;
    w->memory = calloc(4 * count + 7 * (size + size * size), sizeof(double));
    if (!w->memory || stair_modes_create(context, &w->f, &w->modes) != STAIR_OK) {
        stair_worker_destroy(w);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    double *at = w->memory;
    stair_moments *moments[] = {&w->total, &w->extra, &w->part[0], &w->part[1]};
    for (int k = 0; k < 4; k++, at += count) moments[k]->sum = at;
    stair_posterior *posteriors[] = {&w->first, &w->second,  &w->coarse, &w->spare,
                                     &w->kept,  &w->half[0], &w->half[1]};
    for (int k = 0; k < 7; k++) {
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
    stair_sampler_destroy(w->sampler);
    stair_marginal_destroy(&w->marginal);
    stair_plane_destroy(w->plane);
    stair_lines_destroy(&w->lines);
    stair_boxes_destroy(w->boxes);
    free(w->panels);
    free(w->memory);
    memset(w, 0, sizeof *w);
}

bool stair_rule_euclidean(const stair_integrand *f)
{
    return f->dim == f->shape.free_rows * f->shape.tokens && f->fibre.charts == 1;
}

double stair_rule_noise(const stair_integrand *f)
{
    return f->shape.residuals ? f->fibre.model->info.noise : INFINITY;
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

/* The rules fit for this integrand, in the order of the table. */
static int candidate_rules(const stair_integrand *f, int forced, const stair_channel_rule **fit)
{
    int count = 0;
    for (int k = 0; k < RULES; k++)
        if ((forced < 0 || forced == rules[k]->number) && rules[k]->fits(f, forced >= 0))
            fit[count++] = rules[k];
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

/* The fibre of the sample and its integrand; label and omega are those of its representative. */
static stair_status open_sample(stair_context *local, stair_worker *w, const double *label,
                                const double *omega, const double *cov)
{
    stair_integrand *f = &w->f;
    if (stair_fibre_exists(f->fibre.model))
        STAIR_TRY(stair_fibre_open(local, label, omega, &f->fibre));
    else
        STAIR_TRY(stair_label_check(local, f->fibre.model, label));
    if (!stair_integrand_set(f, omega, cov))
        return stair_fail(local, STAIR_BAD_INPUT, "covariance is not positive definite");
    w->context = local;
    w->label = label;
    f->visited = 0;
    w->halved = false;
    return STAIR_OK;
}

/* What a node costs one usual core: its map, its moments. */
static double seconds_of_node(const stair_model *model)
{
    double m = model->info.tokens, size = model->info.indices * m;
    return tuning.node + tuning.moment * size * size + tuning.mixing * m * m * m;
}

/* What a rule left, and how well it knows it. */
typedef struct {
    double error;
    int rule;
} verdict;

/* Where the last rule, which wrote `best`, found nothing, what one before it left counts: w->kept.  A smaller
 * error that did not converge does not count: of three layers such errors were too small. */
static void fall_back(stair_worker *w, const verdict *kept, stair_posterior *best, verdict *last)
{
    if (isfinite(last->error) || !isfinite(kept->error)) return;
    stair_posterior_copy(&w->f, &w->kept, best);
    *last = *kept;
    w->halved = false;
}

/* Tries the rules that fit until one converges, or takes the last of them that found anything. */
static stair_status integrate_sample(const channel_job *job, stair_worker *w, stair_posterior *best,
                                     double *error, int *used)
{
    stair_integrand *f = &w->f;
    size_t size = (size_t)f->size;
    const stair_channel_rule *fit[RULES];
    int count = candidate_rules(f, job->method, fit);
    if (!count)
        return stair_fail(w->context, STAIR_UNSUPPORTED,
                          "method '%s' does not fit this model: %d hidden dimensions", job->options->method,
                          f->dim);
    best->logz = NAN; /* what no rule fills in must not be that of the sample before */
    for (size_t k = 0; k < size * size; k++) best->g[k % size] = best->dg[k] = NAN;
    verdict kept = {.error = INFINITY}, now = {.error = INFINITY};
    for (int k = 0; k < count; k++) {
        if (job->options->noise > job->options->precision && f->dim > 2 && !fit[k]->random &&
            fit[count - 1]->random)
            continue; /* noise that averages out is cheaper than digits of one sample */
        memset(f->origin, 0, sizeof(double) * size);
        int64_t before = f->visited;
        stair_rule_result result = fit[k]->evaluate(w, job->options, best);
        w->work += (fit[k]->cost > 0 ? fit[k]->cost : 1) * seconds_of_node(job->model) *
                   (double)(f->visited - before);
        if (result.status != STAIR_OK) return result.status;
        now = (verdict){.error = result.error, .rule = fit[k]->number};
        if (result.converged) break;
        fall_back(w, &kept, best, &now);
        if (k + 1 < count && fit[k + 1]->random && (fit[k]->random || now.error < tuning.good_enough)) break;
        if (isfinite(now.error) && k + 1 < count) {
            kept = now;
            stair_posterior_copy(f, best, &w->kept);
        }
    }
    *error = now.error;
    *used = now.rule;
    bool numbers = isfinite(best->logz);
    for (size_t k = 0; k < size * size; k++) numbers &= !isnan(best->g[k % size]) && !isnan(best->dg[k]);
    if (!numbers && job->method < 0)
        return stair_fail(w->context, STAIR_UNSUPPORTED,
                          "the posterior given this label could not be integrated");
    return STAIR_OK;
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
    double omega_here[STAIR_MAX_CELLS], label_here[STAIR_MAX_LABEL];
    stair_canonical canonical = stair_canonical_find(
        job->model, omega, job->labels + i * (size_t)job->model->info.label_size, omega_here, label_here);
    STAIR_TRY(open_sample(local, w, label_here, omega_here, cov));
    w->sample = job->first + i;

    stair_channel_result *r = job->result;
    stair_posterior best = w->spare;
    int used = 0;
    double error = INFINITY;
    STAIR_TRY(integrate_sample(job, w, &best, &error, &used));
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
    size_t end = (block + 1) * tuning.samples < job->n ? (block + 1) * tuning.samples : job->n;
    for (size_t i = block * tuning.samples; i < end; i++) {
        stair_status status = evaluate_sample(local, job, &job->workers[thread], i);
        if (status != STAIR_OK) {
            char reason[400];
            snprintf(reason, sizeof reason, "%.390s", stair_context_message(local));
            return stair_fail(local, status, "sample %llu: %s", (unsigned long long)(job->first + i), reason);
        }
    }
    return STAIR_OK;
}

static stair_status evaluate_blocks(stair_context *context, channel_job *job, size_t blocks)
{
    const stair_channel_result *r = job->result;
    size_t one = sizeof(double), size = (size_t)(job->model->info.indices * job->model->info.tokens);
    const struct {
        void *array;
        size_t bytes; /* of a sample */
    } results[] = {
        {r->logz, one},          {r->g, size * one},           {r->dg, size * size * one},
        {r->error, one},         {r->nodes, sizeof *r->nodes}, {r->method, sizeof *r->method},
        {r->half_logz, 2 * one}, {r->half_g, 2 * size * one},  {r->half_dg, 2 * size * size * one}};
    stair_filled arrays[sizeof results / sizeof *results];
    int count = 0;
    for (size_t k = 0; k < sizeof results / sizeof *results; k++)
        if (results[k].array)
            arrays[count++] = (stair_filled){results[k].array, (size_t)tuning.samples * results[k].bytes,
                                             job->n * results[k].bytes};
    return stair_parallel_shared(context, blocks, evaluate_block, job, arrays, count);
}

static stair_status on_threads(stair_context *context, const stair_model *model,
                               const stair_channel_options *options, uint64_t first, size_t n,
                               const double *labels, const double *omega, size_t covs, const double *cov,
                               stair_channel_result *result)
{
    size_t blocks = (n + tuning.samples - 1) / tuning.samples;
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
    if (status == STAIR_OK) status = evaluate_blocks(context, &job, blocks);
    double work = 0;
    for (int t = 0; t < width; t++) work += job.workers[t].work;
    if (status == STAIR_OK && blocks > 1) status = stair_ranks_total(context, &work);
    context->work += work;
    for (int t = 0; t < width; t++) stair_worker_destroy(&job.workers[t]);
    free(job.workers);
    return status;
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
    STAIR_TRY(stair_model_has_all_rows(context, model));
    const stair_backend *backend = context->backend;
    return (backend && backend->channel ? backend->channel : on_threads)(context, model, options, first, n,
                                                                         labels, omega, covs, cov, result);
}
