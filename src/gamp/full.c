/* GAMP with a variance for every entry, to verify that replacing them by their averages changes nothing as D
 * grows:
 *
 *   V^mu    = (1/(D M)) sum_j sum_m (x_jm)^2 C_j
 *   omega_m = sum_j x_jm W_j / sqrt(D) - V^mu g_m          g of the last iteration
 *   A_i     = -(1/D) sum_mu sum_m (x_im)^2 dg_mm
 *   b_i     = sum_mu sum_m x_im g_m / sqrt(D) + A_i W_i
 *   C_i     = (1 + A_i)^-1,  W_i = C_i b_i
 *
 * The channel has one V for all tokens of a sample, so V^mu is averaged over them; nothing else is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix.h"
#include "gamp/gamp.h"

typedef struct {
    double *cov;            /* (D, P, P): C_j; kept from step to step */
    double *a;              /* (D, P, P): A_i */
    double *v, *omega, *dg; /* (n, P, P), (n, P, M), (n, PM, PM) of a tile */
    double *x;              /* (n, M, D) of a tile, in double */
    void *tile;
} full_room;

size_t stair_gamp_full_size(const stair_gamp_state *s)
{
    return (size_t)s->dim * (size_t)(s->p * s->p);
}

void stair_gamp_full_start(stair_gamp_state *s)
{
    for (int d = 0; d < s->dim; d++)
        memcpy(s->full + (size_t)d * (size_t)(s->p * s->p), s->c, sizeof(double) * (size_t)(s->p * s->p));
}

void stair_gamp_widen(const stair_tiles *tiles, const void *x, size_t n, double *out)
{
    size_t count = n * (size_t)tiles->tokens * (size_t)tiles->dim;
    for (size_t i = 0; i < count; i++)
        out[i] = tiles->single ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static stair_status allocate(stair_context *context, const stair_gamp_state *s, full_room *room)
{
    size_t n = stair_tile_samples(&s->problem->tiles), square = (size_t)(s->p * s->p),
           cells = (size_t)(s->p * s->m);
    size_t dim = (size_t)s->dim;
    room->a =
        calloc(dim * square + n * (square + cells + cells * cells + (size_t)s->m * dim), sizeof(double));
    room->tile = malloc(stair_tile_bytes(&s->problem->tiles));
    if (!room->a || !room->tile) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    room->v = room->a + dim * square;
    room->omega = room->v + n * square;
    room->dg = room->omega + n * cells;
    room->x = room->dg + n * cells * cells;
    return STAIR_OK;
}

/* V (P, P) and omega (P, M) of one sample x (M, D) */
static void predict(const stair_gamp_state *s, const double *x, size_t sample, double *v, double *omega)
{
    int p = s->p, m = s->m;
    size_t dim = (size_t)s->dim;
    const double *g = s->g + sample * (size_t)(p * m);
    memset(v, 0, sizeof(double) * (size_t)(p * p));
    for (int t = 0; t < m; t++) {
        double own[STAIR_SQUARE] = {0};
        for (size_t j = 0; j < dim; j++) {
            double square = x[(size_t)t * dim + j] * x[(size_t)t * dim + j] / s->dim;
            for (int k = 0; k < p * p; k++) own[k] += square * s->full[j * (size_t)(p * p) + (size_t)k];
        }
        for (int k = 0; k < p; k++) {
            double sum = 0, reaction = 0;
            for (size_t j = 0; j < dim; j++)
                sum += s->scale * x[(size_t)t * dim + j] * s->w[(size_t)k * dim + j];
            for (int l = 0; l < p; l++) reaction += own[k * p + l] * g[l * m + t];
            omega[k * m + t] = sum - reaction;
        }
        for (int k = 0; k < p * p; k++) v[k] += own[k] / m;
    }
}

static void collect(stair_gamp_state *s, const full_room *room, const double *x, size_t sample,
                    const double *dg)
{
    int p = s->p, m = s->m, pm = p * m;
    size_t dim = (size_t)s->dim;
    const double *g = s->next_g + sample * (size_t)pm;
    for (int t = 0; t < m; t++)
        for (size_t i = 0; i < dim; i++) {
            double here = x[(size_t)t * dim + i], square = here * here / s->dim;
            for (int k = 0; k < p; k++) {
                s->b[(size_t)k * dim + i] += s->scale * here * g[k * m + t];
                for (int l = 0; l < p; l++)
                    room->a[i * (size_t)(p * p) + (size_t)(k * p + l)] -=
                        square * dg[(size_t)(k * m + t) * (size_t)pm + (size_t)(l * m + t)];
            }
        }
}

static stair_status pass(stair_context *context, stair_gamp_state *s, full_room *room)
{
    const stair_tiles *tiles = &s->problem->tiles;
    size_t most = stair_tile_samples(tiles), cells = (size_t)(s->p * s->m), square = (size_t)(s->p * s->p);
    size_t label = (size_t)s->model->info.label_size, row = (size_t)s->m * (size_t)s->dim;
    memset(s->b, 0, sizeof(double) * (size_t)s->p * (size_t)s->dim);
    for (size_t first = 0; first < s->samples; first += most) {
        size_t n = s->samples - first < most ? s->samples - first : most;
        stair_gamp_widen(tiles, stair_tile_open(tiles, first, n, room->tile), n, room->x);
        for (size_t i = 0; i < n; i++)
            predict(s, room->x + i * row, first + i, room->v + i * square, room->omega + i * cells);
        stair_channel_result result = {.g = s->next_g + first * cells, .dg = room->dg};
        STAIR_TRY(stair_channel_evaluate(context, s->model, &s->channel, first, n,
                                         s->problem->labels + first * label, room->omega, n, room->v,
                                         &result));
        for (size_t i = 0; i < n; i++)
            collect(s, room, room->x + i * row, first + i, room->dg + i * cells * cells);
    }
    return STAIR_OK;
}

/* W_i and C_i of one column; false when 1 + A_i is not positive. */
bool stair_gamp_column(int p, const double *a, const double *b, double *cov, double *w)
{
    double system[STAIR_SQUARE], lower[STAIR_SQUARE];
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            system[i * p + j] = (i == j) + 0.5 * (a[i * p + j] + a[j * p + i]);
            cov[i * p + j] = i == j;
        }
    if (!stair_matrix_cholesky(p, system, lower) || !stair_matrix_solve(p, system, p, cov, NULL))
        return false;
    for (int i = 0; i < p; i++) {
        w[i] = 0;
        for (int k = 0; k < p; k++) w[i] += cov[i * p + k] * b[k];
    }
    for (int i = 0; i < p; i++)
        for (int j = 0; j < i; j++) cov[i * p + j] = cov[j * p + i] = 0.5 * (cov[i * p + j] + cov[j * p + i]);
    return true;
}

static bool update(stair_gamp_state *s, const full_room *room, double *change)
{
    int p = s->p;
    size_t dim = (size_t)s->dim, square = (size_t)(p * p);
    double moved = 0, size = 0;
    memset(s->c, 0, sizeof s->c);
    for (size_t i = 0; i < dim; i++) {
        double b[STAIR_MAX_INDICES], w[STAIR_MAX_INDICES], *cov = s->full + i * square;
        const double *a = room->a + i * square;
        for (int k = 0; k < p; k++) {
            b[k] = s->b[(size_t)k * dim + i];
            for (int l = 0; l < p; l++) b[k] += a[k * p + l] * s->w[(size_t)l * dim + i];
        }
        if (!stair_gamp_column(p, a, b, cov, w)) return false;
        for (int k = 0; k < p; k++) {
            double *old = &s->w[(size_t)k * dim + i];
            moved += (w[k] - *old) * (w[k] - *old);
            size += w[k] * w[k];
            *old = w[k];
        }
        for (size_t k = 0; k < square; k++) s->c[k] += cov[k] / s->dim;
    }
    *change = sqrt(moved) / fmax(sqrt(size), s->options->tolerance * sqrt((double)s->dim * p));
    return isfinite(size);
}

stair_status stair_gamp_full_step(stair_context *context, stair_gamp_state *s, double *change, bool *finite)
{
    full_room room = {0};
    stair_status status = allocate(context, s, &room);
    if (status == STAIR_OK) status = pass(context, s, &room);
    if (status == STAIR_OK) {
        double *old = s->g;
        *finite = update(s, &room, change);
        s->g = s->next_g;
        s->next_g = old;
        s->iteration++;
    }
    free(room.a);
    free(room.tile);
    return status;
}
