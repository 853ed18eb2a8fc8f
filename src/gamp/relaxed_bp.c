/* Relaxed belief propagation, from which GAMP is derived: a message for every weight and sample.
 *
 *   omega^mu_i = sum_(j != i) x_jm W_(j->mu) / sqrt(D),    V^mu_i = (1/D) sum_(j != i) (x_jm)^2 C_(j->mu)
 *   B_(mu->i)  = sum_m x_im g_m / sqrt(D),                 A_(mu->i) = -(1/D) sum_m (x_im)^2 dg_mm
 *   C_(i->mu)  = (1 + sum_(nu != mu) A_(nu->i))^-1,        W_(i->mu) = C_(i->mu) sum_(nu != mu) B_(nu->i)
 *
 * with g and dg at omega^mu_i, V^mu_i.  The posterior of W_i has all nu.  N D evaluations of the channel in
 * each iteration: small problems only.  V is averaged over the tokens of a sample, as in full.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gamp/gamp.h"

/* Doubles of the messages of a pair (mu, i), number mu D + i: W (P), C (P, P), B (P), A (P, P). */
static size_t stride(const stair_gamp_state *s)
{
    return (size_t)(2 * s->p + 2 * s->p * s->p);
}

size_t stair_gamp_bp_size(const stair_gamp_state *s)
{
    return s->samples * (size_t)s->dim * stride(s) + 1;
}

void stair_gamp_bp_start(stair_gamp_state *s)
{
    for (size_t mu = 0; mu < s->samples; mu++)
        for (int i = 0; i < s->dim; i++) {
            double *message = s->full + (mu * (size_t)s->dim + (size_t)i) * stride(s);
            for (int k = 0; k < s->p; k++) message[k] = s->w[(size_t)k * (size_t)s->dim + (size_t)i];
            memcpy(message + s->p, s->c, sizeof(double) * (size_t)(s->p * s->p));
        }
}

typedef struct {
    double *x;                           /* (M, D) of one sample */
    double *omega, *v, *g, *dg, *labels; /* (D, ...): the cavities of one sample */
    void *tile;
} bp_room;

static stair_status allocate(stair_context *context, const stair_gamp_state *s, bp_room *room)
{
    size_t cells = (size_t)(s->p * s->m), square = (size_t)(s->p * s->p), dim = (size_t)s->dim,
           k = (size_t)s->model->info.label_size;
    room->x = malloc(dim * ((size_t)s->m + 2 * cells + square + cells * cells + k) * sizeof(double));
    room->tile = malloc(stair_tile_bytes(&s->problem->tiles));
    if (!room->x || !room->tile) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    room->omega = room->x + dim * (size_t)s->m;
    room->g = room->omega + dim * cells;
    room->v = room->g + dim * cells;
    room->dg = room->v + dim * square;
    room->labels = room->dg + dim * cells * cells;
    return STAIR_OK;
}

/* omega and V of every i of one sample: sums over all j (sign +), then less the term j = i (sign -). */
static void cavities(const stair_gamp_state *s, const double *messages, bp_room *room)
{
    int p = s->p, m = s->m;
    size_t dim = (size_t)s->dim, cells = (size_t)(p * m), square = (size_t)(p * p);
    double omega[STAIR_MAX_CELLS] = {0}, v[STAIR_SQUARE] = {0};
    for (int sign = 1; sign >= -1; sign -= 2)
        for (size_t j = 0; j < dim; j++) {
            const double *w = messages + j * stride(s), *c = w + p;
            double *omega_j = sign > 0 ? omega : room->omega + j * cells,
                   *v_j = sign > 0 ? v : room->v + j * square;
            if (sign < 0) {
                memcpy(omega_j, omega, cells * sizeof(double));
                memcpy(v_j, v, square * sizeof(double));
            }
            for (int t = 0; t < m; t++) {
                double x = room->x[(size_t)t * dim + j];
                for (int k = 0; k < p; k++) omega_j[k * m + t] += sign * s->scale * x * w[k];
                for (size_t k = 0; k < square; k++) v_j[k] += sign * x * x * c[k] / (s->dim * (double)m);
            }
        }
}

static stair_status sample_messages(stair_context *context, stair_gamp_state *s, size_t mu, bp_room *room)
{
    const stair_tiles *tiles = &s->problem->tiles;
    int p = s->p, m = s->m, pm = p * m;
    size_t dim = (size_t)s->dim, k_label = (size_t)s->model->info.label_size;
    double *messages = s->full + mu * dim * stride(s);
    stair_gamp_widen(tiles, stair_tile_open(tiles, mu, 1, room->tile), 1, room->x);
    cavities(s, messages, room);
    for (size_t i = 0; i < dim; i++)
        memcpy(room->labels + i * k_label, s->problem->labels + mu * k_label, k_label * sizeof(double));
    stair_channel_result result = {.g = room->g, .dg = room->dg};
    STAIR_TRY(stair_channel_evaluate(context, s->model, &s->channel, mu * dim, dim, room->labels, room->omega,
                                     dim, room->v, &result));
    for (size_t i = 0; i < dim; i++) {
        double *b = messages + i * stride(s) + p + p * p, *a = b + p;
        const double *g = room->g + i * (size_t)pm, *dg = room->dg + i * (size_t)(pm * pm);
        memset(b, 0, sizeof(double) * (size_t)(p + p * p));
        for (int t = 0; t < m; t++) {
            double x = room->x[(size_t)t * dim + i];
            for (int k = 0; k < p; k++) {
                b[k] += s->scale * x * g[k * m + t];
                for (int l = 0; l < p; l++) a[k * p + l] -= x * x / s->dim * dg[(k * m + t) * pm + l * m + t];
            }
        }
    }
    return STAIR_OK;
}

/* W_i, C_i from all samples, and W_(i->mu), C_(i->mu) from all but mu. */
static bool column_messages(stair_gamp_state *s, size_t i, double *moved, double *size)
{
    int p = s->p;
    size_t dim = (size_t)s->dim;
    double a[STAIR_SQUARE] = {0}, b[STAIR_MAX_INDICES] = {0}, cov[STAIR_SQUARE], w[STAIR_MAX_INDICES];
    for (size_t mu = 0; mu < s->samples; mu++) {
        const double *from = s->full + (mu * dim + i) * stride(s) + p + p * p;
        for (int k = 0; k < p; k++) b[k] += from[k];
        for (int k = 0; k < p * p; k++) a[k] += from[p + k];
    }
    if (!stair_gamp_column(p, a, b, cov, w)) return false;
    for (int k = 0; k < p; k++) {
        double *old = &s->w[(size_t)k * dim + i];
        *moved += (w[k] - *old) * (w[k] - *old);
        *size += w[k] * w[k];
        *old = w[k];
    }
    for (int k = 0; k < p * p; k++) s->c[k] += cov[k] / s->dim;
    for (size_t mu = 0; mu < s->samples; mu++) {
        double *message = s->full + (mu * dim + i) * stride(s), *from = message + p + p * p;
        double without_a[STAIR_SQUARE], without_b[STAIR_MAX_INDICES];
        for (int k = 0; k < p; k++) without_b[k] = b[k] - from[k];
        for (int k = 0; k < p * p; k++) without_a[k] = a[k] - from[p + k];
        if (!stair_gamp_column(p, without_a, without_b, message + p, message)) return false;
    }
    return true;
}

stair_status stair_gamp_bp_step(stair_context *context, stair_gamp_state *s, double *change, bool *finite)
{
    bp_room room = {0};
    stair_status status = allocate(context, s, &room);
    for (size_t mu = 0; mu < s->samples && status == STAIR_OK; mu++)
        status = sample_messages(context, s, mu, &room);
    free(room.x);
    free(room.tile);
    if (status != STAIR_OK) return status;
    double moved = 0, size = 0;
    *finite = true;
    memset(s->c, 0, sizeof s->c);
    for (size_t i = 0; i < (size_t)s->dim && *finite; i++) *finite = column_messages(s, i, &moved, &size);
    *finite = *finite && isfinite(size);
    *change = sqrt(moved) / fmax(sqrt(size), s->options->tolerance * sqrt((double)s->dim * s->p));
    s->iteration++;
    return STAIR_OK;
}
