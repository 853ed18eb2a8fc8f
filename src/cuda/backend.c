/* The backend "cuda": what a card does in place of the processor.  What stands here as NULL the processor
 * does. */
#include "core/backend.h"

#include "cuda/gamp.h"
#include "cuda/seams.h"

extern const stair_backend stair_backend_cuda;

const stair_backend stair_backend_cuda = {.name = "cuda",
                                          .present = stair_cuda_present,
                                          .open = stair_cuda_open,
                                          .close = stair_cuda_close,
                                          .label = stair_cuda_label,
                                          .hold = stair_cuda_hold,
                                          .release = stair_cuda_release,
                                          .need = stair_cuda_need,
                                          .project = stair_cuda_project,
                                          .pass = stair_cuda_pass,
                                          .fetch = stair_cuda_fetch,
                                          .one_row = &stair_cuda_one_row_seam,
                                          .means = &stair_cuda_means_seam};
