/* Points of unequal cost on several ranks: each rank takes the next number when it is free.
 *
 * What a point left behind goes to the other ranks as bytes once all points are done.  A rank that fails or
 * is asked to stop makes all others stop, too: they ask for that now and then. */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/ranks.h"

static const struct {
    double ask; /* seconds between questions whether somebody wants all to stop */
} tuning = {.ask = 0.2};

typedef struct {
    struct stair_ranks_link *link;
    uint64_t section;
    stair_progress *call; /* of the caller */
    void *user;
    double asked; /* when, by stair_seconds() */
    bool others;  /* another rank wants to stop, */
    bool own;     /* or this one's caller does */
} listener;

static bool listen(void *user, double done, double total)
{
    listener *l = user;
    if (l->call && !l->call(l->user, done, total)) l->own = true;
    if (!l->others && stair_seconds() - l->asked > tuning.ask) {
        l->others = l->link->is.stopped(l->link->is.user, l->section);
        l->asked = stair_seconds();
    }
    return !l->own && !l->others;
}

typedef struct {
    const stair_points_shared *how;
    void *user;
    struct stair_ranks_link *link;
    uint64_t section;
    char *mine; /* (points): done by this rank */
} share_job;

/* One thread, or a rank of one point at a time, until no point is left. */
static stair_status take_points(void *user, size_t block, int thread, stair_context *local)
{
    const share_job *job = user;
    const stair_ranks *ranks = &job->link->is;
    stair_status status = STAIR_OK;
    int64_t k;
    (void)block;
    while (status == STAIR_OK && (k = ranks->next(ranks->user, job->section)) >= 0 &&
           (size_t)k < job->how->points) {
        status = job->how->body(job->user, (size_t)k, thread, local);
        if (status == STAIR_OK)
            job->mine[k] = 1;
        else
            ranks->stop(ranks->user, job->section);
    }
    return status;
}

/* ---- what points left behind: (number, size, bytes) of each ---------------------------------------- */

typedef struct {
    char *bytes;
    size_t size, room;
} parcel;

static bool append(parcel *p, const void *bytes, size_t size)
{
    if (p->size + size > p->room) {
        size_t room = 2 * (p->size + size) + 64;
        char *more = realloc(p->bytes, room);
        if (!more) return false;
        p->bytes = more;
        p->room = room;
    }
    if (size) memcpy(p->bytes + p->size, bytes, size);
    p->size += size;
    return true;
}

static stair_status pack_all(stair_context *context, const share_job *job, parcel *p)
{
    for (uint64_t k = 0; k < job->how->points; k++) {
        void *bytes = NULL;
        size_t size = 0;
        if (!job->mine[k]) continue;
        STAIR_TRY(job->how->pack(job->user, (size_t)k, context, &bytes, &size));
        uint64_t head[2] = {k, size};
        bool kept = append(p, head, sizeof head) && append(p, bytes, size);
        free(bytes);
        if (!kept) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    }
    return STAIR_OK;
}

static stair_status unpack_all(stair_context *context, const share_job *job, const char *at, size_t size)
{
    const char *end = at + size;
    while (at < end) {
        uint64_t head[2];
        memcpy(head, at, sizeof head);
        at += sizeof head;
        if (!job->mine[head[0]])
            STAIR_TRY(job->how->unpack(job->user, (size_t)head[0], context, at, (size_t)head[1]));
        at += head[1];
    }
    return STAIR_OK;
}

/* sizes (ranks) of what each brings; then the parcels themselves, behind each other. */
static stair_status send_all(stair_context *context, const share_job *job, const parcel *own,
                             const size_t *sizes)
{
    size_t total = 0, before = 0;
    for (int r = 0; r < stair_context_ranks(context); r++) {
        if (r < stair_context_rank(context)) before += sizes[r];
        total += sizes[r];
    }
    char *all = malloc(total + 1);
    stair_status status = all ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (all && own->size) memcpy(all + before, own->bytes, own->size);
    status = stair_ranks_gather(context, status, sizes, all, -1);
    if (status == STAIR_OK) status = unpack_all(context, job, all, total);
    free(all);
    return status;
}

static stair_status hand_round(stair_context *context, const share_job *job, stair_status status)
{
    size_t ranks = (size_t)stair_context_ranks(context);
    parcel own = {0};
    size_t *sizes = calloc(2 * ranks, sizeof *sizes), *each = sizes ? sizes + ranks : NULL;
    if (!sizes && status == STAIR_OK) status = stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    if (status == STAIR_OK) status = pack_all(context, job, &own);
    for (size_t r = 0; sizes && r < ranks; r++) each[r] = sizeof *sizes;
    if (sizes) sizes[stair_context_rank(context)] = own.size;
    status = stair_ranks_gather(context, status, each, sizes, -1);
    if (status == STAIR_OK) status = send_all(context, job, &own, sizes);
    free(own.bytes);
    free(sizes);
    return status;
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

static stair_status without_ranks(stair_context *context, const stair_points_shared *how, void *user)
{
    if (!how->wide) return stair_parallel(context, how->points, how->body, user);
    for (size_t k = 0; k < how->points; k++) STAIR_TRY(how->body(user, k, 0, context));
    return STAIR_OK;
}

stair_status stair_share_points(stair_context *context, const stair_points_shared *how, void *user)
{
    if (!stair_ranks_many(context)) return without_ranks(context, how, user);
    share_job job = {how, user, context->link, context->link->is.section(context->link->is.user),
                     calloc(how->points + 1, 1)};
    if (!job.mine) return stair_ranks_check(context, stair_fail(context, STAIR_NO_MEMORY, "out of memory"));
    listener ear = {.link = context->link,
                    .section = job.section,
                    .call = context->progress,
                    .user = context->progress_user,
                    .asked = stair_seconds()};
    stair_context alone = *context; /* work is counted point by point, as without ranks */
    alone.link = NULL;
    stair_context_set_progress(&alone, listen, &ear);
    stair_status status = how->wide ? take_points(&job, 0, 0, &alone)
                                    : stair_parallel_own(&alone, (size_t)alone.threads, take_points, &job);
    if (status != STAIR_OK && ear.others && !ear.own) status = STAIR_OK; /* who asked says why */
    if (status != STAIR_OK) stair_fail(context, status, "%s", alone.message);
    status = hand_round(context, &job, status);
    free(job.mine);
    return status;
}
