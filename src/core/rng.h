/* Random numbers as pure functions of (seed, purpose, sample, draw): Philox 4x32-10.
 *
 * key = (seed folded with purpose), counter = (sample, draw).  The same sample gets the same
 * numbers on any thread, rank or machine, in any order. */
#ifndef STAIR_CORE_RNG_H
#define STAIR_CORE_RNG_H

#include <stdint.h>

typedef enum {
    STAIR_RNG_POINTS = 1, /* test points: omega, Z, V */
    STAIR_RNG_NOISE,      /* output noise */
    STAIR_RNG_SHIFT,      /* random shifts of lattice rules */
    STAIR_RNG_TEACHER,    /* W* */
    STAIR_RNG_DATA,       /* X */
    STAIR_RNG_INIT,       /* starting points of algorithms */
    STAIR_RNG_SIDE,       /* side information */
    STAIR_RNG_BATCH,      /* orders and batches */
    STAIR_RNG_ANGLES      /* shifts of the angles of a rotation */
} stair_rng_purpose;

/* Four 32-bit words. */
void stair_rng_words(uint64_t seed, stair_rng_purpose purpose, uint64_t sample, uint64_t draw,
                     uint32_t out[4]);

/* Two uniforms in (0, 1), 53 bits each. */
void stair_rng_uniform2(uint64_t seed, stair_rng_purpose purpose, uint64_t sample, uint64_t draw,
                        double out[2]);

/* n numbers of stream (seed, purpose, sample), from draw 0 on. */
void stair_rng_uniforms(uint64_t seed, stair_rng_purpose purpose, uint64_t sample, int n, double *out);
void stair_rng_normals(uint64_t seed, stair_rng_purpose purpose, uint64_t sample, int n, double *out);

/* out (rows, dim): row r is `scale` times the normals of stream (seed, purpose, r). */
void stair_rng_rows(uint64_t seed, stair_rng_purpose purpose, int rows, int dim, double scale, double *out);

/* Fisher-Yates: puts `order` (n) into the random order of stream (seed, STAIR_RNG_BATCH, sample). */
void stair_rng_shuffle(uint64_t seed, uint64_t sample, uint32_t n, uint32_t *order);

/* stair_rng_normals in single precision, many times faster: core/normals_hot.c. */
void stair_rng_normals_single(uint64_t seed, stair_rng_purpose purpose, uint64_t sample, int n, float *out);

#endif
