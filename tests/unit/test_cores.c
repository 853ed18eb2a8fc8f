/* How many threads a context starts with: affinity mask, quota of control groups of both versions. */
#define _GNU_SOURCE
#include "assert_close.h"
#include "core/context.h"
#include "core/cores.h"
#include "core/memory.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/stair-cores-XXXXXX";

static int default_threads(void)
{
    stair_context *context;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    int threads = stair_context_threads(context);
    stair_context_destroy(&context);
    return threads;
}

static void threads_follow_the_affinity_mask(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    int before = default_threads(), cpu = 0;
    assert_true(before >= 1 && before <= CPU_COUNT(&all));
    while (!CPU_ISSET(cpu, &all)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(default_threads(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(default_threads(), before);
}

/* folder/name holds text */
static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static double granted(const char *membership)
{
    return stair_cores_granted(folder, membership);
}

static void second_version(void **state)
{
    (void)state;
    put("cpu.max", "max 100000\n");
    put("a/cpu.max", "150000 100000\n");
    put("a/b/cpu.max", "max 100000\n");
    put("a/c/cpu.max", "50000 100000\n");
    put("wrong/cpu.max", "many 100000\n");
    put("zero/cpu.max", "100000 0\n");
    put("short/cpu.max", "100000\n");
    assert_true(isinf(granted("0::/\n")));
    assert_close(granted("0::/a\n"), 1.5, 0);
    assert_close(granted("0::/a/b\n"), 1.5, 0); /* of the group above */
    assert_close(granted("0::/a/c"), 0.5, 0);   /* no end of line */
    assert_close(granted("0::/a/c/gone\n"), 0.5, 0);
    assert_true(isinf(granted("0::/wrong\n")));
    assert_true(isinf(granted("0::/zero\n")));
    assert_true(isinf(granted("0::/short\n")));
}

static void first_version(void **state)
{
    (void)state;
    put("cpu/cpu.cfs_quota_us", "-1\n");
    put("cpu/cpu.cfs_period_us", "100000\n");
    put("cpu/box/cpu.cfs_quota_us", "300000\n");
    put("cpu/box/cpu.cfs_period_us", "100000\n");
    put("cpu/lost/cpu.cfs_quota_us", "300000\n");
    assert_true(isinf(granted("3:cpu,cpuacct:/\n0::/\n")));
    assert_close(granted("3:cpu,cpuacct:/box\n"), 3, 0);
    assert_close(granted("4:memory:/box\n3:cpuacct,cpu:/box/inner\n"), 3, 0);
    assert_true(isinf(granted("3:cpuacct,cpuset:/box\n")));
    assert_true(isinf(granted("1:cpu:/lost\n")));
    assert_close(granted("1:cpu:/box\n0::/a\n"), 1.5, 0); /* both */
}

static void nonsense_limits_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "\n", ":", "::", "0:", "0:cpu", "0::", "cpu:/box\n", ":::\n\n:::"};
    char longer[9000] = "0::/";
    for (int k = 0; k < 9; k++) assert_true(isinf(granted(texts[k])));
    memset(longer + 4, 'x', sizeof longer - 5);
    assert_true(isinf(granted(longer)));
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void memory_of_groups(void **state)
{
    (void)state;
    put("m/memory.max", "max\n");
    put("m/n/memory.max", "3000000\n");
    put("m/n/o/memory.max", "4000000\n");
    put("memory/p/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/p/q/memory.limit_in_bytes", "5000\n");
    assert_true(isinf(stair_memory_granted(folder, "0::/m\n")));
    assert_true(stair_memory_granted(folder, "0::/m/n/o\n") == 3000000);
    assert_true(isinf(stair_memory_granted(folder, "3:memory:/p\n")));
    assert_true(stair_memory_granted(folder, "3:cpu,memory:/p/q\n4:pids:/\n") == 5000);
    double room = stair_memory_room(), page = (double)sysconf(_SC_PAGESIZE);
    FILE *swap = fopen("/proc/swaps", "r");
    bool any = swap && fgets((char[256]){0}, 256, swap) && fgets((char[256]){0}, 256, swap);
    if (swap) fclose(swap);
    assert_true(room > 1e6);
    if (isfinite(room) && !any) assert_true(room <= page * (double)sysconf(_SC_PHYS_PAGES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_follow_the_affinity_mask),
        cmocka_unit_test(memory_of_groups),
        cmocka_unit_test(second_version),
        cmocka_unit_test(first_version),
        cmocka_unit_test(nonsense_limits_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
