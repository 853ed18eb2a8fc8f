/* Blocks of the embedding: rows of W act on one of model->blocks blocks of equal dimension, next to each
 * other, and are zero on the others.  So overlaps of rows on different blocks vanish. */
#ifndef STAIR_MODEL_BLOCKS_H
#define STAIR_MODEL_BLOCKS_H

#include "model/model.h"

/* BAD_INPUT where the blocks do not divide the dimension of the embedding. */
stair_status stair_blocks_check(stair_context *context, const stair_model *model, int dim);

/* Dimension of one block, which is that of a row. */
int stair_blocks_dim(const stair_model *model, int dim);

/* w (P, dim): what is outside of the block of a row becomes zero. */
void stair_blocks_keep(const stair_model *model, int dim, double *w);

/* a (P, P): entries between rows of different blocks become zero. */
void stair_blocks_keep_pairs(const stair_model *model, double *a);

#endif
