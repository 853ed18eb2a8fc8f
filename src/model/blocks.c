/* What lives on the block of its row, and what does not.  A model of one block is left as it is. */
#include "model/blocks.h"

#include <string.h>

stair_status stair_blocks_check(stair_context *context, const stair_model *model, int dim)
{
    if (dim % model->blocks == 0) return STAIR_OK;
    return stair_fail(
        context, STAIR_BAD_INPUT,
        "the embedding has %d blocks of equal dimension: its dimension must be a multiple of %d, "
        "not %d",
        model->blocks, model->blocks, dim);
}

int stair_blocks_dim(const stair_model *model, int dim)
{
    return dim / model->blocks;
}

void stair_blocks_keep(const stair_model *model, int dim, double *w)
{
    size_t one = (size_t)stair_blocks_dim(model, dim);
    if (model->blocks == 1) return;
    for (int i = 0; i < model->info.indices; i++)
        for (int block = 0; block < model->blocks; block++)
            if (block != model->block[i])
                memset(w + (size_t)i * (size_t)dim + (size_t)block * one, 0, one * sizeof *w);
}

void stair_blocks_keep_pairs(const stair_model *model, double *a)
{
    int p = model->info.indices;
    for (int i = 0; i < p * p && model->blocks > 1; i++)
        if (model->block[i / p] != model->block[i % p]) a[i] = 0;
}
