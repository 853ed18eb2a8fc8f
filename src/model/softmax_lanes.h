/* The softmax of one row of scores, a sample in each lane: what batches of attention and of heads share. */
#ifndef STAIR_MODEL_SOFTMAX_LANES_H
#define STAIR_MODEL_SOFTMAX_LANES_H

#include "core/lanes.h"

LANES_INLINE void softmax_row(int m, lanes *row)
{
    lanes top = row[0], sum = {0};
    for (int j = 1; j < m; j++) top = lanes_max(top, row[j]);
    for (int j = 0; j < m; j++) {
        row[j] = lanes_exp(row[j] - top);
        sum += row[j];
    }
    lanes scale = 1.0 / sum;
    for (int j = 0; j < m; j++) row[j] *= scale;
}

#endif
