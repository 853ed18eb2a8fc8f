/* The large-depth limit of attention: what mixes the last layer when depth and skip grow together. */
#ifndef STAIR_MODEL_LIMIT_H
#define STAIR_MODEL_LIMIT_H

#include "model/attention.h"

/* The flow at the end of its time, B = flow[0] 1 + flow[1] 11^T, for M tokens and hidden layers of rank
 * `rank`, and an error of flow[0]; flow[0] + M flow[1] is exp(1/beta).  False without memory. */
bool stair_limit_flow(int tokens, int rank, double beta, double flow[2], double *error);

#endif
