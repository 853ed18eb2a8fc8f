/* One pass of GAMP over X on a card: project, memory, posteriors, collect; chunk by chunk where X is not
 * stored, and in one kernel that reads X once where it is and most posteriors are easy.
 *
 * g and the memory o stay on the card from pass to pass.  What crosses is W and b once an iteration, a few
 * sums, and the samples that the processor does: those whose error on the card is above the precision, in the
 * order of their numbers, or all of them where no kernel knows the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/matrix.h"
#include "cuda/gamp.h"

static const struct {
    float cutoff; /* exponents below the largest that are left out: their share is below exp(-15) */
    double hard;  /* share of samples with posteriors that are not easy, from which on X is read twice */
} tuning = {.cutoff = 20, .hard = 0.3};

/* ---- what a run needs on the card -------------------------------------------------------------------- */

static stair_status make(stair_context *context, const stair_resident *r, size_t bytes, const char *what,
                         void *out)
{
    return stair_cuda_alloc(context, r->device, bytes, what, out);
}

static stair_status make_arrays(stair_context *context, stair_resident *r)
{
    size_t n = r->tiles.samples, m = (size_t)r->tiles.tokens, p = (size_t)r->indices;
    size_t cells = n * p * m * sizeof(double), width = stair_card_says(r->indices) * sizeof(double);
    stair_card_rows rows = {.indices = r->indices, .pitch = r->pitch, .rows = r->chunk * m};
    for (int k = 0; k < 2; k++) {
        STAIR_TRY(make(context, r, cells, "g", &r->g[k]));
        STAIR_TRY(make(context, r, cells, "the memory of GAMP", &r->o[k]));
    }
    STAIR_TRY(make(context, r, cells, "omega", &r->omega));
    STAIR_TRY(make(context, r, n * width, "moments", &r->says));
    STAIR_TRY(make(context, r, n * m * 4 * sizeof(float), "g", &r->c));
    STAIR_TRY(make(context, r, n * sizeof(float), "errors", &r->error));
    STAIR_TRY(make(context, r, n * sizeof(uint32_t), "a list of samples", &r->index));
    STAIR_TRY(make(context, r, p * (size_t)r->tiles.dim * sizeof(double), "b", &r->b));
    STAIR_TRY(make(context, r, STAIR_CARD_PARTS * width, "sums", &r->sums));
    return make(context, r, stair_card_parts(&rows) * sizeof(double), "sums of X^T g", &r->parts);
}

/* h of each label, as floats: the last row of its fibre at hidden rows zero, where softmax is 1/2, mixed. */
static stair_status find_h(stair_context *context, const stair_gamp_state *s, double skip, float *h)
{
    double omega[STAIR_MAX_CELLS] = {0}, weight[STAIR_BLOCK];
    size_t k = (size_t)s->model->info.label_size;
    double *room = calloc((size_t)(STAIR_MAX_DIM + STAIR_MAX_CELLS) * STAIR_BLOCK, sizeof *room);
    stair_fibre fibre;
    stair_status status = room ? stair_fibre_create(context, s->model, &fibre)
                               : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status != STAIR_OK) {
        free(room);
        return status;
    }
    double *z = room + (size_t)STAIR_MAX_DIM * STAIR_BLOCK;
    for (size_t i = 0; i < s->samples && status == STAIR_OK; i++) {
        status = stair_fibre_open(context, s->problem->labels + i * k, omega, &fibre);
        if (status != STAIR_OK) break;
        stair_fibre_map(&fibre, 0, 1, room, z, weight);
        double a = z[(size_t)(2 * s->p - 2) * STAIR_BLOCK], b = z[(size_t)(2 * s->p - 1) * STAIR_BLOCK];
        for (int l = 1; l < s->p; l++) {
            double half = 0.5 * (a + b);
            a = skip * a + half;
            b = skip * b + half;
        }
        h[2 * i] = (float)a;
        h[2 * i + 1] = (float)b;
    }
    stair_fibre_destroy(&fibre);
    free(room);
    return status;
}

/* Layers of one row each with softmax, at most two, and a label that fixes the last h up to sign. */
bool stair_cuda_knows(const stair_model *model, double *skip)
{
    bool linear, literal;
    return model->ops->mixing && model->ops->mixing(model, skip, &linear, &literal) && !linear && !literal &&
           *skip > 0 && model->info.layers <= 2 && model->info.indices == model->info.layers &&
           !model->info.output_noisy && !(model->info.prenoise > 0);
}

/* Whether the kernel of pairs serves the model; then it gets its labels. */
static stair_status find_kernel(stair_context *context, stair_resident *r, const stair_gamp_state *s)
{
    double skip = 0;
    r->once = false;
    r->pairs = stair_cuda_knows(s->model, &skip);
    if (!r->pairs) return STAIR_OK;
    if (r->mode == STAIR_X_STORED && !r->device->twice) {
        stair_card_rows rows;
        STAIR_TRY(stair_cuda_rows(context, r, 0, s->samples, &rows));
        r->once = stair_card_once_serves(r->device, &rows);
    }
    float *h = malloc((2 * s->samples + 1) * sizeof *h);
    if (!h) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = find_h(context, s, skip, h);
    if (status == STAIR_OK && !r->h) status = make(context, r, 2 * s->samples * sizeof *h, "labels", &r->h);
    if (status == STAIR_OK) status = stair_cuda_up(context, r->device, r->h, h, 2 * s->samples * sizeof *h);
    free(h);
    return status;
}

/* g and o of this iteration are on the card when it returns. */
static stair_status prepare(stair_context *context, stair_resident *r, const stair_gamp_state *s)
{
    size_t bytes = s->samples * (size_t)(s->p * s->m) * sizeof(double);
    if (!r->parts) STAIR_TRY(make_arrays(context, r));
    if (r->run != s) {
        STAIR_TRY(find_kernel(context, r, s));
        r->run = s;
        r->at = -1;
        r->ahead = false;
    }
    if (r->ahead && s->iteration == r->at + 1)
        r->now = 1 - r->now;
    else if (s->iteration != r->at && s->iteration == 0) {
        STAIR_TRY(stair_cuda_zero(context, r->device, r->g[r->now], bytes));
        STAIR_TRY(stair_cuda_zero(context, r->device, r->o[r->now], bytes));
    } else if (s->iteration != r->at) {
        STAIR_TRY(stair_cuda_up(context, r->device, r->g[r->now], s->g, bytes));
        STAIR_TRY(stair_cuda_up(context, r->device, r->o[r->now], s->o, bytes));
    }
    r->at = s->iteration;
    r->ahead = false;
    return STAIR_OK;
}

/* ---- posteriors -------------------------------------------------------------------------------------- */

static stair_card_samples samples_from(const stair_resident *r, size_t first)
{
    size_t m = (size_t)r->tiles.tokens, cells = (size_t)r->indices * m;
    return (stair_card_samples){.z = r->z + first * cells,
                                .g = r->g[r->now] + first * cells,
                                .o = r->o[r->now] + first * cells,
                                .next_g = r->g[1 - r->now] + first * cells,
                                .next_o = r->o[1 - r->now] + first * cells,
                                .omega = r->omega + first * cells,
                                .c = r->c + 4 * first * m,
                                .says = r->says + first * stair_card_says(r->indices),
                                .error = r->error + first,
                                .h = r->h ? r->h + 2 * first : NULL};
}

/* What all samples of a pass share; w (P, P) whitens. */
static stair_status pair_form(stair_context *context, const stair_gamp_state *s, stair_pair_form *form,
                              double *w)
{
    double lower[STAIR_SQUARE], half_logdet, skip;
    int p = s->p;
    stair_cuda_knows(s->model, &skip);
    if (!stair_matrix_whiten(p, s->c, lower, w, &half_logdet))
        return stair_fail(context, STAIR_BAD_INPUT, "covariance is not positive definite");
    *form = (stair_pair_form){.rows = p,
                              .skip = (float)skip,
                              .lower = (float)lower[0],
                              .w11 = (float)w[0],
                              .w21 = p > 1 ? (float)w[2] : 0,
                              .w22 = p > 1 ? (float)w[3] : 0,
                              .cutoff = tuning.cutoff,
                              .precision = (float)s->channel.precision};
    return STAIR_OK;
}

static stair_memory_form memory_form(const stair_gamp_state *s)
{
    stair_memory_form form = {.rows = s->p,
                              .tokens = s->m,
                              .scale = s->scale,
                              .damping = s->damping,
                              .onsager = s->variant != STAIR_GAMP_NO_ONSAGER};
    memcpy(form.f, s->f, (size_t)(s->p * s->p) * sizeof(double));
    return form;
}

/* The samples of [first, first + n) whose error is above the precision, or all of them, in their order. */
static stair_status list_rest(stair_context *context, const stair_resident *r, const stair_gamp_state *s,
                              size_t first, size_t n, uint32_t *list, size_t *count)
{
    *count = 0;
    float *error = malloc((n + 1) * sizeof *error);
    if (!error) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = STAIR_OK;
    if (r->pairs) status = stair_cuda_down(context, r->device, error, r->error + first, n * sizeof *error);
    for (size_t i = 0; i < n && status == STAIR_OK; i++)
        if (!r->pairs || !(error[i] <= (float)s->channel.precision)) list[(*count)++] = (uint32_t)i;
    free(error);
    return status;
}

/* What a sample adds to A and gg, as pass.c of gamp has it. */
static void say(const stair_gamp_state *s, const double *g, const double *dg, double error, double *says)
{
    int p = s->p, m = s->m, pm = p * m;
    memset(says, 0, stair_card_says(p) * sizeof *says);
    for (int a = 0; a < p; a++)
        for (int b = 0; b < p; b++)
            for (int t = 0; t < m; t++) {
                says[a * p + b] -= dg[(a * m + t) * pm + b * m + t];
                says[p * p + a * p + b] += g[a * m + t] * g[b * m + t];
            }
    says[2 * p * p] = fmin(1, error);
}

typedef struct {
    double *omega, *labels, *g, *dg, *error, *says; /* of the samples of the list */
} rest_room;

/* Their posteriors by the processor: omega is that of all n samples. */
static stair_status evaluate_rest(stair_context *context, const stair_gamp_state *s, size_t first,
                                  size_t count, const uint32_t *list, const double *omega,
                                  const rest_room *room)
{
    size_t cells = (size_t)(s->p * s->m), k = (size_t)s->model->info.label_size;
    for (size_t i = 0; i < count; i++) {
        memcpy(room->omega + i * cells, omega + list[i] * cells, cells * sizeof(double));
        memcpy(room->labels + i * k, s->problem->labels + (first + list[i]) * k, k * sizeof(double));
    }
    stair_context plain = *context; /* the processor, with its threads and the caller's progress */
    plain.backend = NULL;
    plain.device = NULL;
    stair_channel_result result = {.g = room->g, .dg = room->dg, .error = room->error};
    stair_status status = stair_channel_evaluate(&plain, s->model, &s->channel, first + (count ? list[0] : 0),
                                                 count, room->labels, room->omega, 1, s->c, &result);
    if (status != STAIR_OK) return stair_fail(context, status, "%s", plain.message);
    for (size_t i = 0; i < count; i++)
        say(s, room->g + i * cells, room->dg + i * cells * cells, room->error[i],
            room->says + i * stair_card_says(s->p));
    return STAIR_OK;
}

/* Up to the card with them; r->some has room for g and says of all samples of the list. */
static stair_status bring_rest(stair_context *context, stair_resident *r, size_t count, const uint32_t *list,
                               const rest_room *room, const stair_card_samples *samples)
{
    size_t cells = (size_t)(r->indices * r->tiles.tokens), width = stair_card_says(r->indices);
    if (r->some_size < count) {
        stair_cuda_free(r->device, r->some);
        r->some = NULL;
        r->some_size = 0;
        STAIR_TRY(
            make(context, r, count * (cells + width) * sizeof(double), "samples of the processor", &r->some));
        r->some_size = count;
    }
    double *g = r->some, *says = r->some + count * cells;
    STAIR_TRY(stair_cuda_up(context, r->device, r->index, list, count * sizeof *list));
    STAIR_TRY(stair_cuda_up(context, r->device, g, room->g, count * cells * sizeof(double)));
    STAIR_TRY(stair_cuda_up(context, r->device, says, room->says, count * width * sizeof(double)));
    return stair_card_scatter(context, r->device, r->indices, r->tiles.tokens, count, r->index, g, says,
                              samples);
}

static stair_status do_rest(stair_context *context, stair_resident *r, const stair_gamp_state *s,
                            size_t first, size_t n, size_t count, const uint32_t *list,
                            const stair_card_samples *samples)
{
    size_t cells = (size_t)(s->p * s->m), k = (size_t)s->model->info.label_size,
           width = stair_card_says(s->p);
    double *omega = malloc((n * cells + 1) * sizeof *omega),
           *memory = malloc(count * (2 * cells + cells * cells + k + 1 + width) * sizeof *memory);
    stair_status status = omega && memory ? stair_cuda_down(context, r->device, omega, samples->omega,
                                                            n * cells * sizeof *omega)
                                          : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) {
        rest_room room = {.omega = memory, .g = memory + count * cells};
        room.dg = room.g + count * cells;
        room.labels = room.dg + count * cells * cells;
        room.error = room.labels + count * k;
        room.says = room.error + count;
        status = evaluate_rest(context, s, first, count, list, omega, &room);
        if (status == STAIR_OK) status = bring_rest(context, r, count, list, &room, samples);
    }
    free(omega);
    free(memory);
    return status;
}

/* The processor has what is still above the precision. */
static stair_status finish(stair_context *context, stair_resident *r, const stair_gamp_state *s, size_t first,
                           size_t n, const stair_card_samples *samples, uint32_t *list)
{
    size_t count;
    STAIR_TRY(list_rest(context, r, s, first, n, list, &count));
    return count ? do_rest(context, r, s, first, n, count, list, samples) : STAIR_OK;
}

/* next_g, c and says of n samples. */
static stair_status denoise(stair_context *context, stair_resident *r, const stair_gamp_state *s,
                            size_t first, size_t n)
{
    stair_card_samples samples = samples_from(r, first);
    stair_memory_form memory = memory_form(s);
    STAIR_TRY(stair_card_react(context, r->device, &memory, n, &samples));
    if (r->pairs) {
        stair_pair_form form;
        double w[STAIR_SQUARE];
        STAIR_TRY(pair_form(context, s, &form, w));
        STAIR_TRY(stair_card_pair(context, r->device, &form, w, n, NULL, &samples));
    }
    uint32_t *list = malloc((n + 1) * sizeof *list);
    if (!list) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = finish(context, r, s, first, n, &samples, list);
    free(list);
    return status;
}

/* ---- the pass ---------------------------------------------------------------------------------------- */

/* All sums where the processor's own pass leaves them. */
static stair_status gather(stair_context *context, stair_resident *r, stair_gamp_state *s,
                           const double *seconds)
{
    size_t size = (size_t)s->p * (size_t)s->dim, square = (size_t)(s->p * s->p),
           width = stair_card_says(s->p);
    double parts[STAIR_CARD_PARTS * (2 * STAIR_CARD_ROWS * STAIR_CARD_ROWS + 1)], *a = s->b + size;
    STAIR_TRY(stair_card_sum(context, r->device, s->samples, width, r->says, r->sums));
    STAIR_TRY(stair_cuda_down(context, r->device, parts, r->sums, STAIR_CARD_PARTS * width * sizeof(double)));
    STAIR_TRY(stair_cuda_down(context, r->device, s->b, r->b, size * sizeof(double)));
    for (size_t i = 0; i < size; i++) s->b[i] *= s->scale;
    for (size_t k = 0; k < width; k++) {
        double sum = 0;
        for (size_t b = 0; b < STAIR_CARD_PARTS; b++) sum += parts[b * width + k];
        a[k] = k < 2 * square ? sum / s->one : sum;
    }
    for (int k = 0; k < 3; k++) a[width + (size_t)k] = seconds[k];
    stair_gamp_take_sums(s);
    return STAIR_OK;
}

/* seconds: pass, drawing, channel */
static stair_status do_chunk(stair_context *context, stair_resident *r, const stair_gamp_state *s,
                             size_t first, size_t n, double *seconds)
{
    size_t m = (size_t)s->m, p = (size_t)s->p;
    stair_card_rows rows;
    double begun = stair_seconds();
    STAIR_TRY(stair_cuda_rows(context, r, first, n, &rows));
    if (r->mode == STAIR_X_STAGED) STAIR_TRY(stair_cuda_wait(context, r->device));
    double drawn = stair_seconds();
    STAIR_TRY(stair_card_project(context, r->device, &rows, r->w, r->z + first * m * p));
    STAIR_TRY(stair_cuda_wait(context, r->device));
    if (rows.keep) rows.x = rows.keep;
    double projected = stair_seconds();
    STAIR_TRY(denoise(context, r, s, first, n));
    STAIR_TRY(stair_cuda_wait(context, r->device));
    double denoised = stair_seconds();
    STAIR_TRY(stair_card_collect(context, r->device, &rows, r->c + 4 * first * m, first > 0, r->parts, r->b));
    STAIR_TRY(stair_cuda_wait(context, r->device));
    seconds[0] += projected - drawn + stair_seconds() - denoised;
    seconds[1] += drawn - begun;
    seconds[2] += denoised - projected;
    return STAIR_OK;
}

/* Samples whose posteriors the coarsest lattice does not have: finer ones, then the processor; then what they
 * add to X^T g. */
static stair_status do_hard(stair_context *context, stair_resident *r, const stair_gamp_state *s,
                            const stair_card_rows *rows, const stair_pair_form *form, const double *w,
                            const stair_card_samples *samples, uint32_t *list)
{
    size_t count, n = s->samples;
    STAIR_TRY(list_rest(context, r, s, 0, n, list, &count));
    if (!count) return STAIR_OK;
    if ((double)count > tuning.hard * (double)n) r->once = false;
    uint32_t *rest = list + n;
    STAIR_TRY(stair_cuda_up(context, r->device, r->index, list, count * sizeof *list));
    STAIR_TRY(stair_card_pair(context, r->device, form, w, count, r->index, samples));
    STAIR_TRY(finish(context, r, s, 0, n, samples, rest));
    STAIR_TRY(stair_cuda_up(context, r->device, r->index, list, count * sizeof *list));
    return stair_card_collect_some(context, r->device, rows, count, r->index, r->c, r->b);
}

/* seconds: pass, and channel for what the kernel left */
static stair_status do_once(stair_context *context, stair_resident *r, const stair_gamp_state *s,
                            double *seconds)
{
    stair_card_rows rows;
    stair_pair_form form;
    stair_memory_form memory = memory_form(s);
    stair_card_samples samples = samples_from(r, 0);
    double w[STAIR_SQUARE], begun = stair_seconds();
    STAIR_TRY(pair_form(context, s, &form, w));
    STAIR_TRY(stair_cuda_rows(context, r, 0, s->samples, &rows));
    STAIR_TRY(stair_card_once(context, r->device, &rows, r->w, &memory, &form, w, &samples, r->parts, r->b));
    STAIR_TRY(stair_cuda_wait(context, r->device));
    double done = stair_seconds();
    uint32_t *list = malloc((2 * s->samples + 2) * sizeof *list);
    if (!list) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = do_hard(context, r, s, &rows, &form, w, &samples, list);
    free(list);
    if (status == STAIR_OK) status = stair_cuda_wait(context, r->device);
    seconds[0] += done - begun;
    seconds[2] += stair_seconds() - done;
    return status;
}

stair_status stair_cuda_pass(stair_context *context, stair_gamp_state *s)
{
    stair_resident *r = s->problem->tiles.resident;
    double seconds[3] = {0};
    if (!r) return stair_gamp_pass(context, s);
    STAIR_TRY(prepare(context, r, s));
    STAIR_TRY(stair_cuda_weights(context, r, s->w));
    size_t chunk = r->once ? s->samples : r->chunk;
    for (size_t first = 0; first < s->samples; first += chunk) {
        size_t n = s->samples - first < chunk ? s->samples - first : chunk;
        if (!stair_context_progress(context, (double)first, (double)s->samples))
            return stair_fail(context, STAIR_FAILED, "stopped on request");
        STAIR_TRY(r->once ? do_once(context, r, s, seconds) : do_chunk(context, r, s, first, n, seconds));
    }
    STAIR_TRY(gather(context, r, s, seconds));
    r->ahead = true;
    return STAIR_OK;
}

stair_status stair_cuda_fetch(stair_context *context, stair_gamp_state *s)
{
    stair_resident *r = s->problem->tiles.resident;
    size_t bytes = s->samples * (size_t)(s->p * s->m) * sizeof(double);
    if (!r || r->run != s || r->at < 0) return STAIR_OK;
    int now = r->ahead && s->iteration == r->at + 1 ? 1 - r->now : r->now;
    STAIR_TRY(stair_cuda_down(context, r->device, s->g, r->g[now], bytes));
    return stair_cuda_down(context, r->device, s->o, r->o[now], bytes);
}
