/* Labels of hidden_means.c on a card: nodes and means are copied once, labels go up and sums come down. */
#include "average/hidden_means_seam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/means.h"
#include "cuda/seams.h"

static const struct {
    size_t bytes; /* on the card for nodes that count, of the labels of one launch */
} tuning = {.bytes = (size_t)1 << 30};

_Static_assert((int)STAIR_CARD_SPAN == STAIR_MEANS_SPAN, "means side by side");
_Static_assert(sizeof(stair_means_seen) == sizeof(stair_means_label), "a label is copied as it is");

static void close_means(void *kept)
{
    stair_cuda_means *m = kept;
    stair_cuda_free(m->device, m->nodes);
    stair_cuda_free(m->device, m->mean);
    free(m);
}

static stair_means_form form_of(const stair_means_tables *t)
{
    stair_means_form form = {.rows = t->shape->dim / 2, .sums = t->shape->sums, .dims = t->dims};
    for (int row = 0; row < form.rows && row < STAIR_MEANS_ROWS; row++)
        form.known[row] = t->shape->known[row];
    for (int d = 0; d < t->dims && d < 2 * STAIR_MEANS_ROWS; d++) form.axis[d] = t->axis[d];
    form.wide = (form.dims + 1 + form.sums + 3) / 4 * 4;
    return form;
}

static stair_status copy(stair_context *context, const stair_device *device, const float *from, size_t count,
                         const char *what, float **to)
{
    void *memory;
    STAIR_TRY(stair_cuda_alloc(context, device, count * sizeof(float), what, &memory));
    *to = memory;
    return stair_cuda_up(context, device, memory, from, count * sizeof(float));
}

/* (sets, 5 + dim + 1, count), one array after the other. */
static stair_status copy_nodes(stair_context *context, const stair_means_tables *t, stair_cuda_means *m)
{
    size_t count = t->nodes[0].count, arrays = 6 + (size_t)t->shape->dim;
    float *all = malloc((size_t)t->sets * arrays * count * sizeof(float)), *at = all;
    if (!all) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (int set = 0; set < t->sets; set++) {
        const stair_means_nodes *nodes = &t->nodes[set];
        memcpy(at, nodes->log_weight, count * sizeof(float)), at += count;
        for (int c = 0; c < 4; c++, at += count) memcpy(at, nodes->t[c], count * sizeof(float));
        for (int c = 0; c < t->shape->dim; c++, at += count) memcpy(at, nodes->u[c], count * sizeof(float));
        memcpy(at, t->base[set], count * sizeof(float)), at += count;
    }
    stair_status status = copy(context, m->device, all, (size_t)(at - all), "hidden nodes", &m->nodes);
    free(all);
    return status;
}

/* The circle that holds means from .. to - 1, and how far nodes count for them. */
static void set_group(const stair_means_tables *t, size_t from, size_t to, float *group)
{
    double x = 0, y = 0, radius = 0, reach = sqrt(-log((double)t->least_prior) / t->inverse);
    if (to > t->means) to = t->means;
    for (size_t j = from; j < to; j++) {
        x += t->mean[j] / (double)(to - from);
        y += t->mean[t->room + j] / (double)(to - from);
    }
    for (size_t j = from; j < to; j++) radius = fmax(radius, hypot(t->mean[j] - x, t->mean[t->room + j] - y));
    group[0] = (float)x;
    group[1] = (float)y;
    group[2] = to > from ? (float)((radius + reach) * 1.0001) : 0;
}

static stair_status copy_means(stair_context *context, const stair_means_tables *t, stair_cuda_means *m)
{
    size_t each = STAIR_CARD_SPAN * STAIR_CARD_GROUP, groups = (t->room + each - 1) / each,
           size = 4 * t->room + 3 * groups;
    float *all = malloc(size * sizeof(float));
    if (!all) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (size_t j = 0; j < 2 * t->room; j++) {
        all[j] = (float)t->mean[j];
        all[2 * t->room + j] = (float)(t->mean[j] - (double)all[j]);
    }
    for (size_t g = 0; g < groups; g++) set_group(t, g * each, (g + 1) * each, all + 4 * t->room + 3 * g);
    stair_status status = copy(context, m->device, all, size, "hidden means", &m->mean);
    m->group = m->mean + 4 * t->room;
    free(all);
    return status;
}

static stair_status open_means(stair_context *context, const stair_means_tables *t, void **kept)
{
    stair_means_form form = form_of(t);
    *kept = NULL;
    if (!stair_cuda_means_served(&form, t->random)) return STAIR_OK;
    stair_cuda_means *m = calloc(1, sizeof *m);
    if (!m) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *m = (stair_cuda_means){.device = context->device,
                            .form = form,
                            .random = t->random,
                            .halves = t->halves,
                            .count = (int)t->nodes[0].count,
                            .half = (int)t->half,
                            .room = (int)t->room,
                            .inverse = (float)t->inverse,
                            .negligible = t->negligible};
    stair_status status = copy_nodes(context, t, m);
    if (status == STAIR_OK && !t->random) status = copy_means(context, t, m);
    if (status == STAIR_OK)
        *kept = m;
    else
        close_means(m);
    return status;
}

/* Room k on the card with a copy of what is on the host, by way of pinned memory. */
static stair_status bring(stair_context *context, stair_cuda_slot *slot, int k, const void *from,
                          size_t bytes, void **to)
{
    void *pinned;
    STAIR_TRY(stair_cuda_slot_room(context, slot, k, bytes, "labels", to));
    STAIR_TRY(stair_cuda_slot_host(context, slot, k, bytes, &pinned));
    memcpy(pinned, from, bytes);
    return stair_cuda_slot_up(context, slot, *to, pinned, bytes);
}

/* Labels `first` .. first + n - 1 of those asked for. */
static stair_status some_sums(stair_context *context, stair_cuda_slot *slot, const stair_cuda_means *m,
                              const stair_means_asked *asked, size_t first, size_t n)
{
    size_t dims = (size_t)m->form.dims, room = (size_t)m->room, halves = (size_t)m->halves,
           out = (1 + halves * room * (size_t)m->form.sums) * sizeof(float);
    void *label, *set = NULL, *scaled = NULL, *constant = NULL, *rows, *counts, *to, *host;
    STAIR_TRY(bring(context, slot, 0, asked->label + first, n * sizeof(stair_means_seen), &label));
    if (m->random) {
        STAIR_TRY(bring(context, slot, 1, asked->set + first, n * sizeof(int), &set));
        STAIR_TRY(bring(context, slot, 2, asked->scaled + first * dims * room,
                        n * dims * room * sizeof(float), &scaled));
        STAIR_TRY(
            bring(context, slot, 3, asked->constant + first * room, n * room * sizeof(float), &constant));
    }
    STAIR_TRY(stair_cuda_slot_room(context, slot, 4,
                                   n * halves * (size_t)(m->half * m->form.wide) * sizeof(float),
                                   "nodes of labels", &rows));
    STAIR_TRY(stair_cuda_slot_room(context, slot, 5, n * halves * sizeof(int), "nodes of labels", &counts));
    STAIR_TRY(stair_cuda_slot_room(context, slot, 6, n * out, "sums of labels", &to));
    STAIR_TRY(stair_cuda_slot_host(context, slot, 6, n * out, &host));
    stair_means_call call = {.n = (int)n,
                             .label = label,
                             .set = set,
                             .scaled = scaled,
                             .constant = constant,
                             .rows = rows,
                             .counts = counts,
                             .top = to,
                             .sums = (float *)to + n};
    STAIR_TRY(stair_cuda_means_sums(context, slot, m, &call));
    STAIR_TRY(stair_cuda_slot_down(context, slot, host, to, n * out));
    STAIR_TRY(stair_cuda_slot_wait(context, slot));
    memcpy(asked->top + first, host, n * sizeof(float));
    memcpy(asked->sums + first * (out / sizeof(float) - 1), (float *)host + n, n * (out - sizeof(float)));
    return STAIR_OK;
}

static stair_status sums(stair_context *context, void *kept, const stair_means_asked *asked)
{
    const stair_cuda_means *m = kept;
    size_t row = (size_t)m->halves * (size_t)(m->half * m->form.wide) * sizeof(float),
           most = tuning.bytes / row;
    stair_cuda_slot *slot;
    if (most < 1) most = 1;
    STAIR_TRY(stair_cuda_slot_take(context, &slot));
    stair_status status = STAIR_OK;
    for (size_t i = 0; i < asked->n && status == STAIR_OK; i += most)
        status = some_sums(context, slot, m, asked, i, asked->n - i < most ? asked->n - i : most);
    stair_cuda_slot_give(slot);
    return status;
}

const stair_means_seam stair_cuda_means_seam = {.open = open_means, .close = close_means, .sums = sums};
