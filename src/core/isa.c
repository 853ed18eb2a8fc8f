/* Which of the compiled copies this processor can run. */
#include "core/isa.h"

#include <stdatomic.h>

static atomic_int most_allowed = 2;

static int supported(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 1;
#endif
    return 0;
}

int stair_isa(void)
{
    int best = supported(), most = atomic_load_explicit(&most_allowed, memory_order_relaxed);
    return best < most ? best : most;
}

int stair_isa_lanes(void)
{
    return 2 << stair_isa();
}

void stair_isa_limit(int most)
{
    atomic_store(&most_allowed, most);
}
