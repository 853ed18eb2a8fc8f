/* Ranks of a context: headlines before every step, and arrays whose parts each rank has made.
 *
 * All ranks go through the same steps in the same order, since what they compute is the same.  Only failures
 * and signals come to one rank alone; these travel with the headlines. */
#include "core/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/cores.h"

static const struct {
    double least; /* seconds of all blocks together from which ranks share them: a few times what it takes
                     them to tell each other */
    int again;    /* calls after which the cost of a kind of blocks is measured again */
} tuning = {.least = 2e-4, .again = 32};

enum { STEP, THREADS, END }; /* what a rank is about to do: the last of its steps is END */

typedef struct {
    int kind, status, signal, threads;
    uint64_t what; /* of a step, as much as tells one from another: its bytes */
    double spent;  /* seconds */
} headline;

bool stair_ranks_many(const stair_context *context)
{
    return context->link && context->link->is.size > 1;
}

bool stair_ranks_first(const stair_context *context)
{
    return stair_context_rank(context) == 0;
}

int stair_context_rank(const stair_context *context)
{
    return context->link ? context->link->is.rank : 0;
}

int stair_context_ranks(const stair_context *context)
{
    return context->link ? context->link->is.size : 1;
}

int stair_ranks_threads(const stair_context *context)
{
    return context->link ? context->link->all_threads : context->threads;
}

void stair_ranks_cut(const stair_context *context, size_t count, size_t *cut)
{
    const struct stair_ranks_link *link = context->link;
    size_t all = (size_t)link->all_threads, before = 0;
    for (int r = 0; r < link->is.size; r++) {
        cut[r] = stair_share(count, before, all);
        before += (size_t)link->threads[r];
    }
    cut[link->is.size] = count;
}

void stair_ranks_run(const stair_context *context, size_t count, int rank, size_t *first, size_t *last)
{
    const struct stair_ranks_link *link = context->link;
    size_t all = (size_t)link->all_threads, before = 0, threads = (size_t)link->threads[rank];
    for (int r = 0; r < rank; r++) before += (size_t)link->threads[r];
    *first = stair_share(count, before, all);
    *last = stair_share(count, before + threads, all);
}

void stair_ranks_mine(const stair_context *context, size_t count, size_t *first, size_t *last)
{
    *first = 0;
    *last = count;
    if (stair_ranks_many(context)) stair_ranks_run(context, count, context->link->is.rank, first, last);
}

/* ---- headlines ---------------------------------------------------------------------------------- */

static stair_status lost(stair_context *context, struct stair_ranks_link *link)
{
    link->over = true;
    link->status = STAIR_FAILED;
    snprintf(link->message, sizeof link->message, "the connection between the ranks is lost");
    return stair_fail(context, STAIR_FAILED, "%s", link->message);
}

static bool tell_all(struct stair_ranks_link *link, size_t each, void *all)
{
    for (int r = 0; r < link->is.size; r++) link->bytes[r] = each;
    return link->is.gather(link->is.user, link->bytes, all, -1);
}

/* The message of rank `from`, for all. */
static bool pass_message(stair_context *context, struct stair_ranks_link *link, int from)
{
    memset(link->bytes, 0, (size_t)link->is.size * sizeof *link->bytes);
    link->bytes[from] = sizeof link->message;
    if (link->is.rank == from) memcpy(link->message, context->message, sizeof link->message);
    bool told = link->is.gather(link->is.user, link->bytes, link->message, -1);
    link->message[sizeof link->message - 1] = 0;
    return told;
}

/* What everybody's headlines say together. */
static int read_headlines(struct stair_ranks_link *link, const headline *all)
{
    int first = -1;
    bool same = true;
    link->signal = 0;
    link->spent = 0;
    for (int r = 0; r < link->is.size; r++) {
        if (all[r].status != STAIR_OK && first < 0) first = r;
        if (all[r].signal && !link->signal) link->signal = all[r].signal;
        link->over |= all[r].kind == END;
        link->spent += all[r].spent;
        same &= all[r].kind == all[0].kind && all[r].what == all[0].what;
        if (all[0].kind != THREADS || !same) continue;
        link->all_threads += all[r].threads - link->threads[r];
        link->threads[r] = all[r].threads;
    }
    link->status = first >= 0 ? (stair_status)all[first].status : STAIR_OK;
    link->stopping |= link->status == STAIR_FAILED;
    if (first >= 0 || same) return first;
    link->over = true; /* as when programs or files differ between machines */
    link->status = STAIR_FAILED;
    snprintf(link->message, sizeof link->message, "the ranks do not go the same way");
    return -1;
}

/* Everybody's headline; fills link->status and ->signal, and the message where one is not well. */
static stair_status meet(stair_context *context, int kind, stair_status status, int signal, uint64_t what)
{
    struct stair_ranks_link *link = context->link;
    if (link->over) /* what was said then goes for all that follows */
        return link->status == STAIR_OK ? status : stair_fail(context, link->status, "%s", link->message);
    if (kind == STEP && status == STAIR_OK && !link->stopping && !stair_context_progress(context, 1, 1))
        status = stair_fail(context, STAIR_FAILED, "stopped on request");
    headline *all = calloc((size_t)link->is.size, sizeof *all);
    if (!all) return lost(context, link);
    all[link->is.rank] = (headline){kind, status, signal, context->threads, what, link->spent};
    bool told = tell_all(link, sizeof *all, all);
    int first = told ? read_headlines(link, all) : -1;
    free(all);
    if (!told || (first >= 0 && !pass_message(context, link, first))) return lost(context, link);
    return link->status == STAIR_OK ? STAIR_OK : stair_fail(context, link->status, "%s", link->message);
}

stair_status stair_ranks_check(stair_context *context, stair_status status)
{
    return stair_ranks_many(context) ? meet(context, STEP, status, 0, 0) : status;
}

stair_status stair_context_agree(stair_context *context, stair_status status, int *signal)
{
    if (!stair_ranks_many(context)) return status;
    stair_status agreed = meet(context, END, status, *signal, 0);
    if (context->link->signal) *signal = context->link->signal;
    return agreed;
}

/* ---- threads ------------------------------------------------------------------------------------ */

/* All of the processors, divided among the ranks that have the same. */
int stair_ranks_own_threads(const stair_context *context)
{
    int cores = stair_cores(), here = context->link ? context->link->is.neighbours : 1;
    return here > 1 ? (cores + here - 1) / here : cores;
}

stair_status stair_ranks_weigh(stair_context *context)
{
    return stair_ranks_many(context) ? meet(context, THREADS, STAIR_OK, 0, 0) : STAIR_OK;
}

stair_status stair_ranks_exchange(stair_context *context, stair_status status, const size_t *to,
                                  const void *send, const size_t *from, void *receive)
{
    STAIR_TRY(meet(context, STEP, status, 0, 1));
    return context->link->is.exchange(context->link->is.user, to, send, from, receive)
               ? STAIR_OK
               : lost(context, context->link);
}

stair_status stair_context_set_ranks(stair_context *context, const stair_ranks *ranks)
{
    if (ranks->size < 1 || ranks->rank < 0 || ranks->rank >= ranks->size)
        return stair_fail(context, STAIR_BAD_INPUT, "rank %d of %d", ranks->rank, ranks->size);
    struct stair_ranks_link *link = calloc(1, sizeof *link);
    int *threads = calloc((size_t)ranks->size, sizeof *threads);
    size_t *bytes = calloc((size_t)ranks->size, sizeof *bytes);
    if (!link || !threads || !bytes) {
        free(link);
        free(threads);
        free(bytes);
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    *link = (struct stair_ranks_link){.is = *ranks, .threads = threads, .bytes = bytes};
    stair_ranks_free(context);
    context->link = link;
    return stair_context_set_threads(context, 0);
}

void stair_ranks_free(stair_context *context)
{
    if (!context->link) return;
    free(context->link->threads);
    free(context->link->bytes);
    free(context->link);
    context->link = NULL;
}

/* ---- arrays ------------------------------------------------------------------------------------- */

stair_status stair_ranks_gather(stair_context *context, stair_status status, const size_t *bytes, void *all,
                                int root)
{
    if (!stair_ranks_many(context)) return status;
    uint64_t what = (uint64_t)(root + 2);
    for (int r = 0; bytes && r < context->link->is.size; r++) what = 31 * what + bytes[r];
    STAIR_TRY(meet(context, STEP, status, 0, what));
    return context->link->is.gather(context->link->is.user, bytes, all, root) ? STAIR_OK
                                                                              : lost(context, context->link);
}

stair_status stair_ranks_copy(stair_context *context, stair_status status, void *data, size_t bytes)
{
    if (!stair_ranks_many(context)) return status;
    size_t *each = calloc((size_t)context->link->is.size, sizeof *each);
    if (!each && status == STAIR_OK) status = stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (each) each[0] = bytes;
    status = stair_ranks_gather(context, status, each, data, -1);
    free(each);
    return status;
}

stair_status stair_ranks_total(stair_context *context, double *value)
{
    if (!stair_ranks_many(context)) return STAIR_OK;
    struct stair_ranks_link *link = context->link;
    double *all = calloc((size_t)link->is.size, sizeof *all);
    if (all) all[link->is.rank] = *value;
    stair_status status =
        stair_ranks_check(context, all ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory"));
    if (status == STAIR_OK && !tell_all(link, sizeof *all, all)) status = lost(context, link);
    *value = 0;
    for (int r = 0; status == STAIR_OK && r < link->is.size; r++) *value += all[r];
    free(all);
    return status;
}

/* Bytes of blocks first .. last-1. */
static void place(const stair_filled *array, size_t first, size_t last, size_t *from, size_t *size)
{
    size_t end = last * array->each < array->size ? last * array->each : array->size;
    *from = first * array->each < array->size ? first * array->each : array->size;
    *size = end - *from;
}

/* Parts of all arrays, rank by rank: to one buffer (`out`) or back. */
static void move_parts(const stair_filled *arrays, int count, const size_t *cut, int r, char **at, bool out)
{
    for (int k = 0; k < count; k++) {
        size_t from, size;
        place(&arrays[k], cut[r], cut[r + 1], &from, &size);
        if (size && out) memcpy(*at, (char *)arrays[k].array + from, size);
        if (size && !out) memcpy((char *)arrays[k].array + from, *at, size);
        *at += size;
    }
}

static stair_status spread(stair_context *context, stair_status status, const size_t *cut, size_t *bytes,
                           const stair_filled *arrays, int count)
{
    int size = context->link->is.size, rank = context->link->is.rank;
    size_t total = 0, before = 0;
    for (int r = 0; r < size; r++) {
        bytes[r] = 0;
        for (int k = 0; k < count; k++) {
            size_t from, part;
            place(&arrays[k], cut[r], cut[r + 1], &from, &part);
            bytes[r] += part;
        }
        if (r < rank) before += bytes[r];
        total += bytes[r];
    }
    char *all = malloc(total + 1), *at = all ? all + before : NULL;
    if (!all && status == STAIR_OK) status = stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (all && status == STAIR_OK) move_parts(arrays, count, cut, rank, &at, true);
    status = stair_ranks_gather(context, status, bytes, all, -1);
    at = all;
    for (int r = 0; r < size && status == STAIR_OK; r++) move_parts(arrays, count, cut, r, &at, false);
    free(all);
    return status;
}

/* Where the cost of this kind of blocks is remembered; NULL when there are too many kinds. */
static stair_block_cost *cost_of(struct stair_ranks_link *link, stair_parallel_body *body)
{
    for (int k = 0; k < STAIR_BLOCK_KINDS; k++) {
        if (!link->costs[k].body) link->costs[k] = (stair_block_cost){.body = body, .seconds = 1};
        if (link->costs[k].body == body) return &link->costs[k];
    }
    return NULL;
}

/* All ranks decide alike: by what they measured together. */
static bool is_worth(stair_block_cost *cost, size_t blocks)
{
    if (blocks < 2) return false;
    return !cost || cost->seconds * (double)blocks >= tuning.least || ++cost->calls >= tuning.again;
}

stair_status stair_parallel_shared(stair_context *context, size_t blocks, stair_parallel_body *body,
                                   void *user, const stair_filled *arrays, int count)
{
    if (!stair_ranks_many(context)) return stair_parallel(context, blocks, body, user);
    stair_block_cost *cost = cost_of(context->link, body);
    if (!context->link->over && !is_worth(cost, blocks)) return stair_parallel(context, blocks, body, user);
    double begun = stair_process_seconds();
    int size = context->link->is.size, rank = context->link->is.rank;
    size_t *cut = calloc(2 * (size_t)size + 1, sizeof *cut);
    if (!cut) return stair_ranks_check(context, stair_fail(context, STAIR_NO_MEMORY, "out of memory"));
    stair_ranks_cut(context, blocks, cut);
    stair_status status = stair_parallel_range(context, cut[rank], cut[rank + 1], body, user);
    context->link->spent = stair_process_seconds() - begun;
    status = spread(context, status, cut, cut + size + 1, arrays, count);
    free(cut);
    if (cost && status == STAIR_OK)
        *cost = (stair_block_cost){body, context->link->spent / (double)blocks, 0};
    context->link->spent = 0;
    return status;
}
