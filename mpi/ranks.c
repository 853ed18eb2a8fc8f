/* The functions of stair_ranks by MPI.
 *
 * Waiting is done by testing.  Most waits are short, for ranks share pieces of a millisecond: so between
 * tests the processor is only given up to others that can run, and after some milliseconds there are pauses
 * that grow.  Ranks may be more than processors, and a rank that spins takes from those it waits for.  Long
 * messages move while both sides test, so they are given more time.  Numbers of points are given away by a
 * thread of rank 0 that answers messages, so that rank 0 may compute meanwhile; that takes
 * MPI_THREAD_MULTIPLE. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "ranks.h"
#include "core/clock.h"
#include "core/thread.h"

#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    int spins;           /* tests before others may run between them, */
    double short_wait;   /* seconds until there are pauses, */
    double long_message; /* and a second more for so many bytes */
    long pause, longest; /* nanoseconds: the first, and what they grow to */
    long answer;         /* the first pause of the thread that gives numbers away; they grow by a twentieth */
    long open, closed;   /* to this while numbers are wanted, and while they are not */
    size_t piece;        /* bytes that one call may move: counts are int */
} tuning = {.spins = 200,
            .short_wait = 3e-3,
            .long_message = 2e8,
            .pause = 20000,
            .longest = 500000,
            .answer = 200000,
            .open = 1000000,
            .closed = 5000000,
            .piece = (size_t)1 << 30};

enum { ASK = 1, ANSWER = 2 };     /* tags */
enum { NEXT, STOP, LOOK, CLOSE }; /* questions */

typedef struct {
    uint64_t section;
    int64_t next;
    bool stopped;
} counter;

typedef struct {
    int rank, size;
    MPI_Comm all, numbers; /* collective calls; questions about numbers */
    stair_lock lock;       /* of the counter, and of this rank's questions */
    uint64_t sections;     /* so far */
    counter count;         /* of rank 0 */
    stair_thread clerk;    /* its thread */
    atomic_bool open;      /* rank 0 is in a section: numbers are wanted */
} mpi_ranks;

static void pause_for(long nanoseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
}

static bool wait_for(MPI_Request *request, size_t bytes)
{
    long pause = tuning.pause;
    double patience = tuning.short_wait + (double)bytes / tuning.long_message, begun = stair_seconds();
    int done = 0, k = 0;
    for (;;) {
        if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
        if (done) return true;
        if (k++ < tuning.spins) continue;
        k = tuning.spins;
        if (stair_seconds() - begun < patience) {
            sched_yield();
            continue;
        }
        pause_for(pause);
        if (pause < tuning.longest) pause += pause / 4;
    }
}

/* ---- collective calls ------------------------------------------------------------------------------- */

/* Counts and places of one piece: bytes done .. done + piece of every part.  True while some are left. */
static bool next_piece(int size, const size_t *bytes, size_t done, int *counts, MPI_Aint *places)
{
    size_t at = 0;
    bool left = false;
    for (int r = 0; r < size; r++) {
        size_t rest = bytes[r] > done ? bytes[r] - done : 0, now = rest < tuning.piece ? rest : tuning.piece;
        counts[r] = (int)now;
        places[r] = (MPI_Aint)(at + (bytes[r] > done ? done : bytes[r]));
        left |= now > 0;
        at += bytes[r];
    }
    return left;
}

static size_t sum_of(int size, const int *counts)
{
    size_t sum = 0;
    for (int r = 0; r < size; r++) sum += (size_t)counts[r];
    return sum;
}

/* By messages, since places of MPI_Allgatherv are int: everybody's part to everybody, or to root. */
static bool gather_far(mpi_ranks *m, const int *counts, const MPI_Aint *places, char *all, int root)
{
    MPI_Request *requests = malloc(2 * (size_t)m->size * sizeof *requests);
    size_t bytes = sum_of(m->size, counts);
    int n = 0;
    bool good = requests;
    for (int r = 0; r < m->size && good; r++) {
        if (r == m->rank) continue;
        if (counts[r] && (root < 0 || root == m->rank))
            good &= MPI_Irecv(all + places[r], counts[r], MPI_BYTE, r, 0, m->all, &requests[n++]) == 0;
        if (counts[m->rank] && (root < 0 || root == r))
            good &= MPI_Isend(all + places[m->rank], counts[m->rank], MPI_BYTE, r, 0, m->all,
                              &requests[n++]) == 0;
    }
    for (int k = 0; k < n && good; k++) good = wait_for(&requests[k], bytes);
    free(requests);
    return good;
}

static bool gather_piece(mpi_ranks *m, const int *counts, const MPI_Aint *places, char *all, int root)
{
    int *near = malloc((size_t)m->size * sizeof *near);
    MPI_Request request;
    bool fits = near, good;
    for (int r = 0; r < m->size && near; r++) {
        fits &= places[r] <= (MPI_Aint)tuning.piece;
        near[r] = (int)(fits ? places[r] : 0);
    }
    if (!fits)
        good = near && gather_far(m, counts, places, all, root);
    else if (root < 0)
        good =
            MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, all, counts, near, MPI_BYTE, m->all, &request) == 0 &&
            wait_for(&request, sum_of(m->size, counts));
    else
        good = MPI_Igatherv(m->rank == root ? MPI_IN_PLACE : all + places[m->rank], counts[m->rank], MPI_BYTE,
                            all, counts, near, MPI_BYTE, root, m->all, &request) == 0 &&
               wait_for(&request, sum_of(m->size, counts));
    free(near);
    return good;
}

static bool gather(void *user, const size_t *bytes, void *all, int root)
{
    mpi_ranks *m = user;
    int *counts = malloc((size_t)m->size * sizeof *counts);
    MPI_Aint *places = malloc((size_t)m->size * sizeof *places);
    bool good = counts && places;
    for (size_t done = 0; good && next_piece(m->size, bytes, done, counts, places); done += tuning.piece)
        good = gather_piece(m, counts, places, all, root);
    atomic_store(&m->open, false); /* all ranks are here: a section before this is over */
    free(counts);
    free(places);
    return good;
}

/* Messages: each pair of ranks its own, in pieces. */
static bool exchange(void *user, const size_t *to, const void *send, const size_t *from, void *receive)
{
    mpi_ranks *m = user;
    size_t pieces = 0, bytes = 0, sent = 0, received = 0, n = 0;
    for (int r = 0; r < m->size; r++) {
        pieces += to[r] / tuning.piece + from[r] / tuning.piece + 2;
        bytes += to[r] + from[r];
    }
    MPI_Request *requests = malloc(pieces * sizeof *requests);
    bool good = requests;
    for (int k = 0; k < m->size && good; k++) { /* receive first, then send; each in order of ranks */
        for (size_t at = 0; at < from[k] && good && k != m->rank; at += tuning.piece) {
            size_t now = from[k] - at < tuning.piece ? from[k] - at : tuning.piece;
            good = MPI_Irecv((char *)receive + received + at, (int)now, MPI_BYTE, k, 0, m->all,
                             &requests[n++]) == 0;
        }
        if (k == m->rank) {
            size_t own = 0;
            for (int r = 0; r < k; r++) own += to[r];
            if (from[k]) memcpy((char *)receive + received, (const char *)send + own, from[k]);
        }
        received += from[k];
    }
    for (int k = 0; k < m->size && good; k++) {
        for (size_t at = 0; at < to[k] && good && k != m->rank; at += tuning.piece) {
            size_t now = to[k] - at < tuning.piece ? to[k] - at : tuning.piece;
            good = MPI_Isend((const char *)send + sent + at, (int)now, MPI_BYTE, k, 0, m->all,
                             &requests[n++]) == 0;
        }
        sent += to[k];
    }
    for (size_t k = 0; k < n && good; k++) good = wait_for(&requests[k], bytes);
    free(requests);
    return good;
}

/* ---- numbers of points ----------------------------------------------------------------------------------
 */

/* Under the lock. */
static int64_t answer(counter *c, int question, uint64_t number)
{
    if (number > c->section) *c = (counter){.section = number};
    if (number < c->section) return question == LOOK ? 0 : -1; /* a late question of the section before */
    if (question == STOP) c->stopped = true;
    if (question == NEXT) return c->stopped ? -1 : c->next++;
    return c->stopped;
}

static void *serve(void *argument)
{
    mpi_ranks *m = argument;
    long pause = tuning.answer;
    for (;;) {
        int there = 0;
        uint64_t asked[2];
        MPI_Status status;
        if (MPI_Iprobe(MPI_ANY_SOURCE, ASK, m->numbers, &there, &status) != MPI_SUCCESS) return NULL;
        if (!there) {
            long most = atomic_load(&m->open) ? tuning.open : tuning.closed;
            pause += pause / 20;
            if (pause > most) pause = most;
            pause_for(pause);
            continue;
        }
        pause = tuning.answer;
        MPI_Recv(asked, 2, MPI_UINT64_T, status.MPI_SOURCE, ASK, m->numbers, MPI_STATUS_IGNORE);
        if (asked[0] == CLOSE) return NULL;
        stair_lock_take(&m->lock);
        int64_t said = answer(&m->count, (int)asked[0], asked[1]);
        stair_lock_release(&m->lock);
        MPI_Send(&said, 1, MPI_INT64_T, status.MPI_SOURCE, ANSWER, m->numbers);
    }
}

static int64_t ask(mpi_ranks *m, int question, uint64_t number)
{
    uint64_t asked[2] = {(uint64_t)question, number};
    int64_t said = -1;
    MPI_Request request;
    stair_lock_take(&m->lock);
    if (m->rank == 0)
        said = answer(&m->count, question, number);
    else {
        MPI_Send(asked, 2, MPI_UINT64_T, 0, ASK, m->numbers);
        MPI_Irecv(&said, 1, MPI_INT64_T, 0, ANSWER, m->numbers, &request);
        wait_for(&request, 0);
    }
    stair_lock_release(&m->lock);
    return said;
}

static uint64_t section(void *user)
{
    mpi_ranks *m = user;
    atomic_store(&m->open, true);
    return ++m->sections;
}

static int64_t next(void *user, uint64_t number)
{
    return ask(user, NEXT, number);
}

static void stop(void *user, uint64_t number)
{
    ask(user, STOP, number);
}

static bool stopped(void *user, uint64_t number)
{
    return ask(user, LOOK, number) > 0;
}

/* ---- begin and end
 * ----------------------------------------------------------------------------------------- */

/* Ranks of this machine that may use the same processors. */
static int count_neighbours(void)
{
    MPI_Comm here;
    cpu_set_t mine, *all;
    int size, rank, count = 1;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &size);
    MPI_Comm_rank(here, &rank);
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    all = malloc((size_t)size * sizeof *all);
    if (all) {
        MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, here);
        for (int r = 0; r < size; r++) count += r != rank && CPU_EQUAL(&all[r], &mine);
    }
    free(all);
    MPI_Comm_free(&here);
    return count;
}

/* All ranks take the instruction set that every one of them has, so that they compute the same bytes. */
static void choose_isa(void)
{
    char own[8] = "", least[8];
    strncpy(own, stair_isa_name(), sizeof own - 1);
    unsigned char level = (unsigned char)own[1], lowest;
    MPI_Allreduce(&level, &lowest, 1, MPI_UNSIGNED_CHAR, MPI_MIN, MPI_COMM_WORLD);
    const char *asked = getenv("STAIR_ISA");
    if (lowest == level || (asked && *asked)) return;
    strcpy(least, own);
    least[1] = (char)lowest;
    setenv("STAIR_ISA", least, 1);
}

bool mpi_ranks_open(int *argc, char ***argv, stair_ranks *ranks)
{
    int level = MPI_THREAD_SINGLE;
    if (MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS) return false;
    mpi_ranks *m = calloc(1, sizeof *m);
    if (level < MPI_THREAD_MULTIPLE || !m) return false;
    MPI_Comm_dup(MPI_COMM_WORLD, &m->all);
    MPI_Comm_dup(MPI_COMM_WORLD, &m->numbers);
    MPI_Comm_rank(m->all, &m->rank);
    MPI_Comm_size(m->all, &m->size);
    stair_lock_create(&m->lock);
    choose_isa();
    *ranks = (stair_ranks){.rank = m->rank,
                           .size = m->size,
                           .neighbours = count_neighbours(),
                           .user = m,
                           .gather = gather,
                           .exchange = exchange,
                           .section = section,
                           .next = next,
                           .stop = stop,
                           .stopped = stopped};
    return m->rank || m->size == 1 || stair_thread_start(&m->clerk, serve, m);
}

void mpi_ranks_close(const stair_ranks *ranks)
{
    mpi_ranks *m = ranks->user;
    MPI_Request request;
    if (MPI_Ibarrier(m->all, &request) == MPI_SUCCESS) wait_for(&request, 0);
    if (m->rank == 0 && m->size > 1) { /* nobody asks any more */
        uint64_t close[2] = {CLOSE, 0};
        MPI_Request sent;
        MPI_Isend(close, 2, MPI_UINT64_T, 0, ASK, m->numbers, &sent);
        stair_thread_join(&m->clerk);
        wait_for(&sent, 0);
    }
    MPI_Comm_free(&m->numbers);
    MPI_Comm_free(&m->all);
    MPI_Finalize();
    stair_lock_destroy(&m->lock);
    free(m);
}
