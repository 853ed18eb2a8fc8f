/* Which overlaps a model's symmetries allow. */
#ifndef STAIR_MODEL_SYMMETRY_H
#define STAIR_MODEL_SYMMETRY_H

#include "model/model.h"

#define STAIR_MOST_COORDINATES (STAIR_MAX_INDICES * (STAIR_MAX_INDICES + 1) / 2)

/* Q = sum_k x_k B_k with 0/1 matrices B_k: pair[i*P + j] is the k of entry (i, j), or -1 where a sign
 * symmetry makes it vanish. */
typedef struct {
    int indices, count;
    int pair[STAIR_SQUARE];
    int size[STAIR_MOST_COORDINATES]; /* entries of B_k */
    bool even[STAIR_MAX_INDICES];     /* g does not change when this row of Z changes sign */
    int sign[STAIR_MAX_INDICES];      /* rows of one number > 0 may change sign together */
    int kind[STAIR_MAX_INDICES];      /* rows of equal kind may be exchanged, */
    int turn[STAIR_MAX_INDICES]; /* and rows of equal turn rotated into each other; both: the first of them */
} stair_symmetry;

void stair_symmetry_find(const stair_model *model, stair_symmetry *symmetry);

bool stair_symmetry_is_even(const stair_model *model); /* Z and -Z have the same label */

bool stair_symmetry_is_complete(const stair_model *model); /* all Z have the same label */

/* Averages a (P, P) over the symmetries, in place. */
void stair_symmetrise(const stair_symmetry *symmetry, double *a);

#endif
