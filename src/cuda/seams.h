/* What this room takes over, for the table of backend.c. */
#ifndef STAIR_CUDA_SEAMS_H
#define STAIR_CUDA_SEAMS_H

#include "average/hidden_means_seam.h"
#include "posterior/one_row_seam.h"

extern const stair_one_row_seam stair_cuda_one_row_seam;
extern const stair_means_seam stair_cuda_means_seam;

#endif
