/* Blocks of importance-sampling nodes: their coordinates and the inverse of their density. */
#include "channel/sampling.h"
#include "core/isa.h"
#include "core/lanes.h"

void STAIR_HOT(stair_block_affine)(int dim, const double *matrix, const double *centre, const double *normal,
                                   size_t stride, double *u);
void STAIR_HOT(stair_block_density)(const stair_mixture *q, int n, const double *u, double *weight);

/* u = centre + matrix normal, one block; normal is (dim, stride) */
void STAIR_HOT(stair_block_affine)(int dim, const double *matrix, const double *centre, const double *normal,
                                   size_t stride, double *u)
{
    for (int at = 0; at < STAIR_BLOCK; at += LANES)
        for (int i = 0; i < dim; i++) {
            lanes sum = lanes_set(centre[i]);
            for (int j = 0; j < dim; j++)
                sum += matrix[i * dim + j] * lanes_load(normal + (size_t)j * stride + at);
            lanes_store(u + (size_t)i * STAIR_BLOCK + at, sum);
        }
}

/* weight /= sum_k height_k exp(-|whiten_k (u - centre_k)|^2 / 2), powers of sech in place of exp for angles
 */
void STAIR_HOT(stair_block_density)(const stair_mixture *q, int n, const double *u, double *weight)
{
    const int dim = q->dim;
    for (int at = 0; at < n; at += LANES) {
        lanes density = lanes_set(0), shifted[STAIR_MAX_DIM];
        for (int k = 0; k < q->count; k++) {
            const stair_component *c = &q->component[k];
            lanes square = lanes_set(0);
            const int plain = dim - c->angles;
            for (int i = 0; i < plain; i++) {
                lanes t = lanes_set(0);
                shifted[i] = lanes_load(u + (size_t)i * STAIR_BLOCK + at) - c->centre[i];
                for (int j = 0; j <= i; j++) t += c->whiten[i * dim + j] * shifted[j];
                square += t * t;
            }
            lanes part = c->height * lanes_exp(-0.5 * square);
            for (int i = plain; i < dim; i++) {
                lanes down = lanes_exp(-lanes_abs(lanes_load(u + (size_t)i * STAIR_BLOCK + at)));
                lanes secant = 2.0 * down / (1.0 + down * down);
                part *= i < plain + c->circles ? secant : secant * secant;
            }
            density += part;
        }
        lanes_store(weight + at, lanes_load(weight + at) / density);
    }
}
