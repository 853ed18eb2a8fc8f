/* Which of the compiled copies this processor can run. */
#include "core/isa.h"

#include <stdatomic.h>
#include <string.h>

#include "core/context.h"

static atomic_int most_allowed = 2;

static int supported(void)
{
#if defined(__x86_64__) && defined(STAIR_ISA_LEVELS) /* else v2 is all there is */
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

static const char *const names[] = {"v2", "v3", "v4"};

const char *stair_isa_name(void)
{
    return names[stair_isa()];
}

stair_status stair_isa_set_most(stair_context *context, const char *name)
{
    for (int level = 0; level < 3; level++)
        if (!strcmp(name, names[level])) {
            stair_isa_limit(level);
            return STAIR_OK;
        }
    return stair_fail(context, STAIR_BAD_INPUT, "instruction set '%.20s': expected v2, v3 or v4", name);
}
