/* The input and output layer when memory runs out: failing_memory.h, and no file is left behind. */
#include "failing_memory.h"
#include "folder.h"

#include "io/npy.h"
#include "io/npz.h"
#include "options.h"

#include <stdio.h>
#include <unistd.h>

static char folder[] = "/tmp/stair-memory-XXXXXX";
static char path[64], array[64];

static stair_status write_npz(stair_context *context)
{
    stair_npz *npz = NULL;
    int member;
    double row[2] = {1, 2};
    stair_status status = stair_npz_create(context, path, false, &npz);
    if (status == STAIR_OK) status = stair_npz_add(context, npz, "x", "<f8", 8, 2, (uint64_t[]){2}, &member);
    if (status == STAIR_OK) status = stair_npz_append(context, npz, member, row, 1);
    if (status == STAIR_OK) status = stair_npz_commit(context, npz);
    stair_npz_destroy(&npz);
    return status;
}

static stair_status read_npy(stair_context *context)
{
    stair_npy npy;
    double out[2];
    STAIR_TRY(stair_npy_open(context, array, &npy));
    stair_status status = stair_npy_read(context, &npy, 0, 1, out);
    stair_npy_close(&npy);
    return status;
}

static stair_status read_list(stair_context *context)
{
    static const stair_option option = {.name = "alpha", .kind = STAIR_OPTION_DOUBLE, .low = 0, .high = 10};
    option_list list = {0};
    stair_status status = option_list_read(context, &option, "0:1:0.25", &list);
    free(list.values);
    if (status != STAIR_OK) return status;
    list = (option_list){0};
    status = option_list_read(context, &option, "1,2,3", &list);
    free(list.values);
    return status;
}

static void fails_in_turn(stair_status (*work)(stair_context *))
{
    stair_context *context;
    if (!REPLACED) skip();
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    for (long k = 0;; k++) {
        long before = balance;
        countdown = k;
        stair_status status = work(context);
        bool reached = countdown < 0;
        countdown = -1;
        assert_int_equal(balance, before);
        unlink(status == STAIR_OK ? path : "");
        assert_int_equal(files_in(folder), 1);
        if (!reached) {
            assert_int_equal(status, STAIR_OK);
            assert_true(k > 0);
            break;
        }
    }
    stair_context_destroy(&context);
}

static void npz_writer(void **state)
{
    (void)state;
    fails_in_turn(write_npz);
}

static void npy_reader(void **state)
{
    (void)state;
    fails_in_turn(read_npy);
}

static void lists(void **state)
{
    (void)state;
    fails_in_turn(read_list);
}

static int prepare(void **state)
{
    (void)state;
    stair_context *context;
    double row[2] = {1, 2};
    if (!mkdtemp(folder) || stair_context_create(&context) != STAIR_OK) return 1;
    snprintf(path, sizeof path, "%s/r.npz", folder);
    snprintf(array, sizeof array, "%s/a.npy", folder);
    FILE *file = fopen(array, "w+b");
    stair_npy_header_write(context, file, "<f8", 1, 2, (uint64_t[]){2});
    fwrite(row, sizeof row, 1, file);
    fclose(file);
    stair_context_destroy(&context);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    unlink(array);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(npz_writer), cmocka_unit_test(npy_reader),
                                       cmocka_unit_test(lists)};
    return cmocka_run_group_tests(tests, prepare, clean);
}
