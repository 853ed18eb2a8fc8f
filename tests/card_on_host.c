/* A card that is none: the functions of cuda/device.h, products.h and denoise.h by malloc and loops over what
 * would be threads, with the arithmetic of kernels/.  What src/cuda/ does around its kernels is tested with
 * it where there is no card. */
#include "cuda/denoise.h"
#include "cuda/once.h"
#include "cuda/products.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/rows.h"

#include "card_on_host.h"

size_t card_free_bytes = (size_t)1 << 40;
size_t card_most;
static size_t card_bytes;
enum { HEAD = 64 }; /* bytes before each allocation: how large it is */
int card_alive;     /* allocations not freed */

/* Opened by name where the backend is built in: it is that of a real card but for this file. */
bool stair_cuda_present(void)
{
    return true;
}

stair_status stair_cuda_open(stair_context *context, int number, stair_device **device)
{
    *device = NULL;
    if (number) return stair_fail(context, STAIR_BAD_INPUT, "there is one card");
    *device = calloc(1, sizeof **device);
    if (!*device) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    strcpy((*device)->name, "cuda:0");
    return STAIR_OK;
}

void stair_cuda_close(stair_device *device)
{
    free(device);
}

const char *stair_cuda_label(const stair_device *device)
{
    return device->name;
}

void stair_cuda_use(const stair_device *device)
{
    (void)device;
}

size_t stair_cuda_free_bytes(const stair_device *device)
{
    (void)device;
    return card_free_bytes;
}

stair_status stair_cuda_alloc(stair_context *context, const stair_device *device, size_t bytes,
                              const char *what, void **out)
{
    (void)device;
    char *memory = bytes <= card_free_bytes ? malloc(bytes + HEAD) : NULL;
    *out = memory ? memory + HEAD : NULL;
    if (!*out) return stair_fail(context, STAIR_NO_MEMORY, "%s does not fit", what);
    memcpy(memory, &bytes, sizeof bytes);
    memset(*out, 0x7F, bytes); /* what is not written is no number */
    card_alive++;
    card_bytes += bytes;
    if (card_bytes > card_most) card_most = card_bytes;
    return STAIR_OK;
}

void stair_cuda_free(const stair_device *device, void *memory)
{
    (void)device;
    if (!memory) return;
    size_t bytes;
    memcpy(&bytes, (char *)memory - HEAD, sizeof bytes);
    card_alive--;
    card_bytes -= bytes;
    free((char *)memory - HEAD);
}

stair_status stair_cuda_up(stair_context *context, const stair_device *device, void *to, const void *from,
                           size_t bytes)
{
    (void)context, (void)device;
    memcpy(to, from, bytes);
    return STAIR_OK;
}

stair_status stair_cuda_up_rows(stair_context *context, const stair_device *device, void *to, size_t to_step,
                                const void *from, size_t bytes, size_t rows)
{
    (void)context, (void)device;
    for (size_t i = 0; i < rows; i++) memcpy((char *)to + i * to_step, (const char *)from + i * bytes, bytes);
    return STAIR_OK;
}

stair_status stair_cuda_down(stair_context *context, const stair_device *device, void *to, const void *from,
                             size_t bytes)
{
    return stair_cuda_up(context, device, to, from, bytes);
}

stair_status stair_cuda_zero(stair_context *context, const stair_device *device, void *to, size_t bytes)
{
    (void)context, (void)device;
    memset(to, 0, bytes);
    return STAIR_OK;
}

stair_status stair_cuda_wait(stair_context *context, const stair_device *device)
{
    (void)context, (void)device;
    return STAIR_OK;
}

/* ---- products ---------------------------------------------------------------------------------------- */

static void four(const stair_card_rows *r, size_t row, size_t group, float x[4])
{
    size_t tokens = (size_t)r->tokens;
    if (r->x)
        memcpy(x, r->x + row * r->pitch + 4 * group, 4 * sizeof *x);
    else {
        stair_philox_half sample = stair_hd_philox_sample(r->key, (uint32_t)(r->first + row / tokens));
        stair_rows_four at = stair_rows_columns(r->key, r->dim, (int)(row % tokens), 4 * group);
        stair_rows_draw(r->key, &sample, &at, x);
    }
}

stair_status stair_card_draw(stair_context *context, const stair_device *device, const stair_card_rows *r,
                             float *x)
{
    (void)context, (void)device;
    size_t tokens = (size_t)r->tokens, dim = (size_t)r->dim, length = tokens * dim;
    memset(x, 0, r->rows * r->pitch * sizeof *x);
    for (size_t i = 0; i < r->rows / tokens; i++)
        for (size_t pair = 0; 2 * pair < length; pair++) {
            float two[2];
            stair_hd_normals(r->key, r->first + i, pair, &two[0], &two[1]);
            for (size_t k = 0; k < 2 && 2 * pair + k < length; k++) {
                size_t t = (2 * pair + k) / dim;
                x[(i * tokens + t) * r->pitch + 2 * pair + k - t * dim] = two[k];
            }
        }
    return STAIR_OK;
}

static double project_lane(const stair_card_rows *r, const float *w, size_t row, int lane)
{
    size_t groups = r->pitch / 4;
    double sum = 0;
    for (size_t from = (size_t)lane; from < groups; from += 32 * STAIR_PROJECT_RUN) {
        float part = 0;
        for (size_t k = 0; k < STAIR_PROJECT_RUN && from + 32 * k < groups; k++) {
            float x[4];
            four(r, row, from + 32 * k, x);
            for (size_t j = 0; j < 4; j++) part = fmaf(x[j], w[4 * (from + 32 * k) + j], part);
        }
        sum += (double)part;
    }
    return sum;
}

stair_status stair_card_project(stair_context *context, const stair_device *device, const stair_card_rows *r,
                                const float *w, double *z)
{
    (void)context, (void)device;
    for (size_t row = 0; row < r->rows; row++)
        for (size_t p = 0; p < (size_t)r->indices; p++) {
            double lane[32];
            for (size_t group = 0; r->keep && group < r->pitch / 4; group++)
                four(r, row, group, r->keep + row * r->pitch + 4 * group);
            for (int l = 0; l < 32; l++) lane[l] = project_lane(r, w + p * r->pitch, row, l);
            for (int step = 16; step; step /= 2)
                for (int l = 0; l < step; l++) lane[l] += lane[l + step];
            z[row * (size_t)r->indices + p] = lane[0];
        }
    return STAIR_OK;
}

size_t stair_card_parts(const stair_card_rows *r)
{
    return stair_collect_slices(r->rows, r->pitch) * (size_t)r->indices * r->pitch;
}

static void collect_thread(const stair_card_rows *r, size_t slices, size_t slice, size_t group,
                           const float *c, double *parts)
{
    size_t row = stair_collect_begin(r->rows, slices, slice),
           end = stair_collect_begin(r->rows, slices, slice + 1);
    double sum[STAIR_CARD_ROWS][4] = {{0}};
    while (row < end) {
        float part[STAIR_CARD_ROWS][4] = {{0}};
        for (size_t k = 0; k < STAIR_COLLECT_RUN && row < end; k++, row++) {
            float x[4];
            four(r, row, group, x);
            for (int p = 0; p < r->indices; p++)
                for (int j = 0; j < 4; j++) part[p][j] = fmaf(c[4 * row + (size_t)p], x[j], part[p][j]);
        }
        for (int p = 0; p < r->indices; p++)
            for (int j = 0; j < 4; j++) sum[p][j] += (double)part[p][j];
    }
    for (int p = 0; p < r->indices; p++)
        memcpy(parts + (slice * (size_t)r->indices + (size_t)p) * r->pitch + 4 * group, sum[p],
               sizeof sum[p]);
}

stair_status stair_card_collect(stair_context *context, const stair_device *device, const stair_card_rows *r,
                                const float *c, bool add, double *parts, double *b)
{
    (void)context, (void)device;
    size_t slices = stair_collect_slices(r->rows, r->pitch), dim = (size_t)r->dim;
    for (size_t s = 0; s < slices; s++)
        for (size_t group = 0; group < r->pitch / 4; group++) collect_thread(r, slices, s, group, c, parts);
    for (size_t p = 0; p < (size_t)r->indices; p++)
        for (size_t d = 0; d < dim; d++) {
            double sum = add ? b[p * dim + d] : 0;
            for (size_t s = 0; s < slices; s++) sum += parts[(s * (size_t)r->indices + p) * r->pitch + d];
            b[p * dim + d] = sum;
        }
    return STAIR_OK;
}

stair_status stair_card_collect_some(stair_context *context, const stair_device *device,
                                     const stair_card_rows *r, size_t count, const uint32_t *index,
                                     const float *c, double *b)
{
    (void)context, (void)device;
    for (size_t k = 0; k < count * (size_t)r->tokens; k++) {
        size_t row = (size_t)index[k / (size_t)r->tokens] * (size_t)r->tokens + k % (size_t)r->tokens;
        for (size_t p = 0; p < (size_t)r->indices; p++)
            for (size_t d = 0; d < (size_t)r->dim; d++)
                b[p * (size_t)r->dim + d] += (double)(c[4 * row + p] * r->x[row * r->pitch + d]);
    }
    return STAIR_OK;
}

/* ---- samples ----------------------------------------------------------------------------------------- */

stair_status stair_card_react(stair_context *context, const stair_device *device,
                              const stair_memory_form *form, size_t n, const stair_card_samples *s)
{
    (void)context, (void)device;
    size_t cells = (size_t)(form->rows * form->tokens);
    for (size_t i = 0; i < n * cells; i += cells)
        stair_memory_react(form, s->z + i, s->g + i, s->o + i, s->next_o + i, s->omega + i);
    return STAIR_OK;
}

stair_status stair_card_pair(stair_context *context, const stair_device *device, const stair_pair_form *form,
                             const double *w, size_t n, const uint32_t *index, const stair_card_samples *s)
{
    (void)context, (void)device;
    for (size_t k = 0; k < n; k++) {
        size_t i = index ? index[k] : k;
        int p = form->rows, nodes;
        stair_pair_moments m;
        float error;
        stair_pair_sample sample = stair_pair_open(form, w, s->h + 2 * i, s->omega + i * (size_t)(2 * p));
        stair_pair_posterior(form, &sample, 0, &m, &error, &nodes);
        stair_pair_write(form, w, &m, error, s->next_g + i * (size_t)(2 * p), s->c + 8 * i,
                         s->says + i * stair_card_says(p));
        s->error[i] = error;
    }
    return STAIR_OK;
}

stair_status stair_card_scatter(stair_context *context, const stair_device *device, int rows, int tokens,
                                size_t count, const uint32_t *index, const double *g, const double *says,
                                const stair_card_samples *s)
{
    (void)context, (void)device;
    size_t cells = (size_t)(rows * tokens), width = stair_card_says(rows);
    for (size_t k = 0; k < count; k++) {
        size_t i = index[k];
        memcpy(s->next_g + i * cells, g + k * cells, cells * sizeof *g);
        memcpy(s->says + i * width, says + k * width, width * sizeof *says);
        for (size_t t = 0; t < (size_t)tokens; t++)
            for (size_t p = 0; p < STAIR_CARD_ROWS; p++)
                s->c[4 * (i * (size_t)tokens + t) + p] =
                    p < (size_t)rows ? (float)g[k * cells + p * (size_t)tokens + t] : 0;
    }
    return STAIR_OK;
}

stair_status stair_card_sum(stair_context *context, const stair_device *device, size_t n, size_t width,
                            const double *says, double *parts)
{
    (void)context, (void)device;
    for (size_t b = 0; b < STAIR_CARD_PARTS; b++)
        for (size_t k = 0; k < width; k++) {
            double sum = 0;
            for (size_t i = n * b / STAIR_CARD_PARTS; i < n * (b + 1) / STAIR_CARD_PARTS; i++)
                sum += says[i * width + k];
            parts[b * width + k] = sum;
        }
    return STAIR_OK;
}

/* ---- a pass that reads X once ------------------------------------------------------------------------- */

bool card_once;
size_t card_hard; /* samples that its posteriors left */
enum { BLOCKS = 3, WARPS = 4 };

bool stair_card_once_serves(const stair_device *device, const stair_card_rows *r)
{
    (void)device;
    return card_once && r->tokens == STAIR_ONCE_TOKENS && r->indices <= 2;
}

/* The part of block `block` of X w^T of a row: lanes are a binary tree. */
static float once_project(const stair_card_rows *r, const float *w, size_t row, size_t block)
{
    size_t groups = r->pitch / 4, from = stair_once_slab(groups, BLOCKS, block),
           end = stair_once_slab(groups, BLOCKS, block + 1);
    float lane[32] = {0};
    for (size_t group = from; group < end; group++)
        for (size_t j = 0; j < 4; j++) {
            float *sum = &lane[(group - from) % 32];
            *sum = fmaf(r->x[row * r->pitch + 4 * group + j], w[4 * group + j], *sum);
        }
    for (int step = 16; step; step /= 2)
        for (int l = 0; l < step; l++) lane[l] += lane[l + step];
    return lane[0];
}

static void once_sample(const stair_card_rows *r, const float *w, const stair_memory_form *memory,
                        const stair_pair_form *form, const double *whiten, const stair_card_samples *s,
                        size_t i)
{
    size_t p = (size_t)r->indices, cells = 2 * p;
    double z[STAIR_ONCE_NUMBERS] = {0};
    for (size_t k = 0; k < cells; k++)
        for (size_t b = 0; b < BLOCKS; b++)
            z[k] += (double)once_project(r, w + k % p * r->pitch, 2 * i + k / p, b);
    stair_memory_react(memory, z, s->g + i * cells, s->o + i * cells, s->next_o + i * cells,
                       s->omega + i * cells);
    stair_pair_sample sample = stair_pair_open(form, whiten, s->h + 2 * i, s->omega + i * cells);
    stair_pair_team team = {0, 0, WARPS, NULL, 0, 0};
    stair_pair_moments m;
    int nodes;
    stair_pair_posterior_by(form, &sample, &team, 1, &m, &s->error[i], &nodes);
    stair_pair_write(form, whiten, &m, s->error[i], s->next_g + i * cells, s->c + 8 * i,
                     s->says + i * stair_card_says((int)p));
}

stair_status stair_card_once(stair_context *context, const stair_device *device, const stair_card_rows *r,
                             const float *w, const stair_memory_form *memory, const stair_pair_form *form,
                             const double *whiten, const stair_card_samples *s, void *letters, double *b)
{
    (void)context, (void)device, (void)letters;
    size_t n = r->rows / 2, dim = (size_t)r->dim;
    for (size_t i = 0; i < n; i++) {
        once_sample(r, w, memory, form, whiten, s, i);
        card_hard += !(s->error[i] <= form->precision);
    }
    for (size_t p = 0; p < (size_t)r->indices; p++)
        for (size_t d = 0; d < dim; d++) {
            double sum = 0;
            for (size_t i = 0; i < n;) {
                float part = 0;
                for (size_t k = 0; k < STAIR_ONCE_RUN && i < n; k++, i++)
                    for (size_t t = 0; t < 2 && s->error[i] <= form->precision; t++)
                        part = fmaf(s->c[8 * i + 4 * t + p], r->x[(2 * i + t) * r->pitch + d], part);
                sum += (double)part;
            }
            b[p * dim + d] = sum;
        }
    return STAIR_OK;
}
