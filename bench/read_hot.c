/* Reading alone, at this instruction set: what a pass over X is measured against. */
#include <stddef.h>

#include "core/isa.h"
#include "core/lanes.h"

float STAIR_HOT(stair_bench_read)(size_t count, const float *x);

float STAIR_HOT(stair_bench_read)(size_t count, const float *x)
{
    enum { FLOATS = 2 * LANES, CHAINS = 8 }; /* sums that do not wait for each other */
    floats sum[CHAINS] = {{0}};
    float total = 0;
    for (size_t i = 0; i + CHAINS * FLOATS <= count; i += CHAINS * FLOATS)
        for (int k = 0; k < CHAINS; k++) {
            floats v;
            memcpy(&v, x + i + (size_t)(k * FLOATS), sizeof v);
            sum[k] += v;
        }
    for (int k = 0; k < CHAINS; k++)
        for (int i = 0; i < FLOATS; i++) total += sum[k][i];
    return total;
}
