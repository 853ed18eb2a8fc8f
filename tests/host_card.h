/* The backend of a card, by the arithmetic of src/kernels on the host: every launch a loop over its threads.
 * So what is on a card is tested where there is none, seams and all. */
#ifndef STAIR_TESTS_HOST_CARD_H
#define STAIR_TESTS_HOST_CARD_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "average/hidden_means_seam.h"
#include "core/context.h"
#include "kernels/means.h"
#include "kernels/follow.h"
#include "posterior/one_row_seam.h"

static struct {
    atomic_size_t tables, moving, fixed, following, means; /* samples and labels that were asked for */
    stair_mixing mixing;                                   /* of the last nodes that had one */
    bool mixed;
} host_card_count;

/* Tables are the caller's and live as long as what is kept here. */
static inline stair_status host_one_row_open(stair_context *with, const stair_one_row_tables *t, void **kept)
{
    (void)with;
    *kept = NULL;
    host_card_count.mixed = t->mixed;
    host_card_count.mixing = t->mixing;
    if (t->shape.tokens != 2 || t->shape.rows > STAIR_MIXING_ROWS || (!t->flat && !t->plane && !t->mixed))
        return STAIR_OK;
    *kept = malloc(sizeof *t);
    if (!*kept) return stair_fail(with, STAIR_NO_MEMORY, "out of memory");
    memcpy(*kept, t, sizeof *t);
    return STAIR_OK;
}

static inline void host_one_row_half(const stair_one_row_tables *t, int half, const double *sample,
                                     double *acc)
{
    int rows = t->shape.rows, count = (int)(t->blocks[half] * STAIR_BLOCK);
    double node[5 + 2 * STAIR_MIXING_ROWS], x[2 * STAIR_MIXING_ROWS];
    for (int i = 0; i < count && t->flat; i++) {
        stair_hd_one_row_read(rows, t->table[half], i, node);
        stair_hd_one_row_table(rows, node, sample, t->half_inverse, acc);
    }
    for (int i = 0; i < count && !t->flat && !t->plane; i++) {
        for (int k = 0; k < 2 * rows; k++)
            x[k] = t->place[half][(size_t)(i / 64 * 2 * rows + k) * 64 + (size_t)(i % 64)];
        stair_hd_one_row_move(&t->mixing, rows, t->deviation, x, t->measure[half][i], sample, t->half_inverse,
                              acc);
    }
    if (!t->plane) return;
    const stair_one_row_plane *plane = &t->plane[half];
    stair_one_row_grid grid = {plane->low, plane->step, plane->side};
    int from[2], to[2];
    for (int k = 0; k < 2; k++) stair_hd_one_row_range(&grid, sample[4 + k], t->reach, &from[k], &to[k]);
    for (int i = 4 * from[0]; i < 4 * to[0]; i++)
        for (int j = 4 * from[1]; j < 4 * to[1]; j++)
            stair_hd_one_row_fixed(&grid, plane->nodes, i, j, 0.5 / (t->deviation[0] * t->deviation[0]),
                                   sample, t->half_inverse, acc);
}

/* One half by nodes that follow the sample; look (2): masses of the first look, or NULL for it. */
static inline void host_one_row_follow(const stair_one_row_tables *t, int half, size_t number,
                                       const double *sample, const stair_follow *f, const double *look,
                                       double *acc)
{
    int rows = t->shape.rows, set = (int)(number % STAIR_FOLLOW_SETS),
        level = look ? stair_hd_follow_level(look[0], look[1], t->agreed, t->disagree) : 0;
    set -= set % stair_hd_follow_alike(level);
    const stair_hidden_nodes *nodes = &t->following[(set * STAIR_FOLLOW_LEVELS + level) * 2 + half];
    int count = (int)(nodes->blocks * STAIR_BLOCK);
    double x[STAIR_FOLLOW_DIM];
    for (int i = 0; i < 2 * count; i++) {
        for (int k = 0; k < 2 * rows; k++)
            x[k] = nodes->place[(size_t)(i % count / 64 * 2 * rows + k) * 64 + (size_t)(i % 64)];
        stair_hd_follow_add(&t->mixing, rows, f, i >= count, t->deviation, x, (double)count, sample,
                            t->half_inverse, acc);
    }
}

static inline void host_one_row_sample(const stair_one_row_tables *t, size_t i, const double *sample,
                                       const stair_follow *f, double *sums)
{
    double look[2][STAIR_ONE_ROW_SUMS] = {{0}}, mass[2];
    size_t count = (size_t)t->shape.sums;
    for (int half = 0; half < 2 && f; half++) {
        host_one_row_follow(t, half, i, sample, f, NULL, look[half]);
        mass[half] = look[half][0];
    }
    for (int half = 0; half < 2; half++)
        if (f)
            host_one_row_follow(t, half, i, sample, f, mass, sums + (size_t)half * count);
        else
            host_one_row_half(t, half, sample, sums + (size_t)half * count);
}

static inline stair_status host_one_row_sums(stair_context *with, void *kept, size_t n, const double *samples,
                                             const stair_follow *followers, double *sums)
{
    const stair_one_row_tables *t = kept;
    size_t size = 4 + 2 * (size_t)t->shape.rows, count = (size_t)t->shape.sums;
    (void)with;
    atomic_fetch_add(t->flat        ? &host_card_count.tables
                     : t->plane     ? &host_card_count.fixed
                     : t->following ? &host_card_count.following
                                    : &host_card_count.moving,
                     n);
    memset(sums, 0, n * 2 * count * sizeof(double));
    for (size_t i = 0; i < n; i++)
        host_one_row_sample(t, i, samples + i * size, followers ? followers + i : NULL, sums + 2 * i * count);
    return STAIR_OK;
}

static inline stair_means_form host_means_form(const stair_means_tables *t)
{
    stair_means_form form = {.rows = t->shape->dim / 2, .sums = t->shape->sums, .dims = t->dims};
    for (int row = 0; row < form.rows; row++) form.known[row] = t->shape->known[row];
    for (int d = 0; d < t->dims; d++) form.axis[d] = t->axis[d];
    return form;
}

static inline stair_status host_means_open(stair_context *with, const stair_means_tables *t, void **kept)
{
    *kept = NULL;
    if (t->shape->dim / 2 > STAIR_MEANS_ROWS) return STAIR_OK;
    *kept = malloc(sizeof *t);
    if (!*kept) return stair_fail(with, STAIR_NO_MEMORY, "out of memory");
    memcpy(*kept, t, sizeof *t);
    return STAIR_OK;
}

/* What node i carries is added to the sums of every mean of label k: out (room / span, sums, span). */
static inline void host_means_add(const stair_means_tables *t, const stair_means_form *form,
                                  const stair_means_asked *asked, size_t k, const float *node, float *out)
{
    for (size_t j = 0; j < t->means; j++) {
        float omega[2 * STAIR_MEANS_ROWS], high[2], low[2], prior;
        for (int d = 0; d < t->dims && t->random; d++)
            omega[d] = asked->scaled[(k * (size_t)t->dims + (size_t)d) * t->room + j];
        for (int d = 0; d < 2 && !t->random; d++) {
            high[d] = (float)t->mean[(size_t)d * t->room + j];
            low[d] = (float)(t->mean[(size_t)d * t->room + j] - (double)high[d]);
        }
        prior = t->random ? stair_hd_means_random(t->dims, node, omega, asked->constant[k * t->room + j])
                          : stair_hd_means_plane(node, high, low, (float)t->inverse);
        for (int s = 0; s < form->sums; s++)
            out[j / STAIR_MEANS_SPAN * STAIR_MEANS_SPAN * (size_t)form->sums + (size_t)s * STAIR_MEANS_SPAN +
                j % STAIR_MEANS_SPAN] += node[t->dims + 1 + s] * prior;
    }
}

/* Flips of a random node stand behind the means. */
static inline stair_status host_means_sums(stair_context *with, void *kept, const stair_means_asked *asked)
{
    stair_means_tables all = *(const stair_means_tables *)kept, *t = &all;
    stair_means_form form = host_means_form(t);
    size_t size = t->room * (size_t)form.sums;
    (void)with;
    host_card_count.means += asked->n;
    if (t->random && t->dims) t->means = t->room;
    memset(asked->sums, 0, asked->n * (size_t)t->halves * size * sizeof(float));
    for (size_t k = 0; k < asked->n; k++) {
        int set = t->random ? asked->set[k] : 0;
        const stair_means_nodes *nodes = &t->nodes[set];
        const stair_means_label *label = &asked->label[k];
        stair_means_seen seen = {
            {label->x[0], label->x[1]}, {label->omega[0], label->omega[1]}, label->half_inverse};
        float top = -1e30f, at[4], u[2 * STAIR_MEANS_ROWS], node[STAIR_MEANS_WIDE];
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < nodes->count; i++) {
                for (int c = 0; c < 4; c++) at[c] = nodes->t[c][i];
                float exponent = stair_hd_means_exponent(&seen, nodes->log_weight[i], at);
                if (!pass) top = fmaxf(top, exponent);
                if (!pass || !(exponent > top - t->negligible)) continue;
                for (int c = 0; c < 2 * form.rows; c++) u[c] = nodes->u[c][i];
                stair_hd_means_carry(&form, &seen, nodes->log_weight[i], at, u, t->base[set][i], top, node);
                host_means_add(t, &form, asked, k, node,
                               asked->sums + (k * (size_t)t->halves + (i >= t->half)) * size);
            }
        asked->top[k] = top;
    }
    return STAIR_OK;
}

static const stair_one_row_seam host_one_row = {
    .open = host_one_row_open, .close = free, .sums = host_one_row_sums};
static const stair_means_seam host_means = {.open = host_means_open, .close = free, .sums = host_means_sums};
static const stair_backend host_card = {.name = "host", .one_row = &host_one_row, .means = &host_means};

#endif
