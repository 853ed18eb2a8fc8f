/* NPZ archives, read back by libzip: members, checksums, 64-bit sizes, equal bytes, nothing left behind. */
#include "fixture.h"
#include "folder.h"
#include "io/npz.h"
#include "io/npy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

static char folder[] = "/tmp/stair-npz-XXXXXX";
static char path[64], other[64];

static int open_folder(void **state)
{
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/a.npz", folder);
    snprintf(other, sizeof other, "%s/b.npz", folder);
    return open_context(state);
}

static int close_folder(void **state)
{
    unlink(path);
    unlink(other);
    rmdir(folder);
    return close_context(state);
}

static void write_archive(const char *to, bool force, uint64_t zip64_from)
{
    stair_npz *npz;
    int a, b;
    assert_int_equal(stair_npz_create(context, to, force, &npz), STAIR_OK);
    stair_npz_set_zip64_from(npz, zip64_from);
    assert_int_equal(stair_npz_add(context, npz, "first", "<f8", 8, 2, (uint64_t[]){3}, &a), STAIR_OK);
    assert_int_equal(stair_npz_add(context, npz, "second", "<i8", 8, 1, NULL, &b), STAIR_OK);
    for (int i = 0; i < 1000; i++) {
        double row[3] = {i, i + 0.25, i + 0.5};
        int64_t number = i;
        assert_int_equal(stair_npz_append(context, npz, a, row, 1), STAIR_OK);
        assert_int_equal(stair_npz_append(context, npz, b, &number, 1), STAIR_OK);
    }
    assert_int_equal(stair_npz_commit(context, npz), STAIR_OK);
    stair_npz_destroy(&npz);
    assert_null(npz);
}

static void check_archive(const char *from)
{
    int error;
    zip_t *archive = zip_open(from, ZIP_RDONLY | ZIP_CHECKCONS, &error);
    assert_non_null(archive);
    assert_int_equal(zip_get_num_entries(archive, 0), 2);
    assert_string_equal(zip_get_name(archive, 0, 0), "first.npy");
    zip_file_t *file = zip_fopen(archive, "first.npy", 0);
    char *data = malloc(64 + 128 + 24000);
    zip_int64_t size = zip_fread(file, data, 64 + 128 + 24000);
    assert_true(size > 24000 && (size - 24000) % 64 == 0);
    double row[3];
    memcpy(row, data + size - 24, 24);
    assert_true(row[0] == 999 && row[2] == 999.5);
    assert_non_null(strstr(data + 10, "(1000, 3)"));
    char more;
    assert_int_equal(zip_fread(file, &more, 1), 0); /* libzip compares the checksum at the end */
    assert_int_equal(zip_fclose(file), 0);
    free(data);
    zip_close(archive);
}

static void archives_read_back(void **state)
{
    (void)state;
    write_archive(path, false, 0xFFFFFFFFu);
    check_archive(path);
    assert_int_equal(files_in(folder), 1);
    write_archive(path, true, 0); /* every size in 64 bits */
    check_archive(path);
    assert_int_equal(files_in(folder), 1);
}

static void equal_arrays_give_equal_bytes(void **state)
{
    (void)state;
    char a[65536], b[65536];
    write_archive(path, true, 0xFFFFFFFFu);
    write_archive(other, false, 0xFFFFFFFFu);
    FILE *first = fopen(path, "rb"), *second = fopen(other, "rb");
    size_t size = fread(a, 1, sizeof a, first);
    assert_int_equal(fread(b, 1, sizeof b, second), size);
    assert_memory_equal(a, b, size);
    fclose(first);
    fclose(second);
    unlink(other);
}

static void what_is_not_committed_leaves_no_trace(void **state)
{
    (void)state;
    stair_npz *npz;
    int a;
    unlink(path);
    assert_int_equal(stair_npz_create(context, path, false, &npz), STAIR_OK);
    assert_int_equal(stair_npz_add(context, npz, "x", "<f8", 8, 1, NULL, &a), STAIR_OK);
    stair_npz_destroy(&npz);
    assert_int_equal(files_in(folder), 0);
}

/* More arrays than a process may have files open; one of them outgrows memory. */
static void many_arrays(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    stair_npz *npz;
    stair_archive *archive;
    stair_npy_header header;
    double *values;
    int number;
    char name[16];
    assert_int_equal(stair_npz_create(context, other, true, &npz), STAIR_OK);
    for (int k = 0; k < COUNT; k++) {
        snprintf(name, sizeof name, "Q%d", k);
        assert_int_equal(stair_npz_add(context, npz, name, "<f8", 8, 1, NULL, &number), STAIR_OK);
        assert_int_equal(number, k);
    }
    for (int i = 0; i < 20000; i++) {
        double value = i + 0.5;
        for (int k = 0; k < (i < 2 ? COUNT : 1); k++)
            assert_int_equal(stair_npz_append(context, npz, k, &value, 1), STAIR_OK);
    }
    assert_int_equal(stair_npz_commit(context, npz), STAIR_OK);
    stair_npz_destroy(&npz);
    assert_int_equal(stair_archive_open(context, other, &archive), STAIR_OK);
    for (int k = 0; k < COUNT; k += COUNT - 1) {
        snprintf(name, sizeof name, "Q%d", k);
        assert_int_equal(stair_archive_array(context, archive, other, name, &header, &values), STAIR_OK);
        assert_int_equal(header.count, k ? 2 : 20000);
        for (uint64_t i = 0; i < header.count; i++) assert_true(values[i] == (double)i + 0.5);
        free(values);
    }
    stair_archive_close(&archive);
}

static void an_existing_file_is_kept(void **state)
{
    (void)state;
    stair_npz *npz;
    write_archive(path, true, 0xFFFFFFFFu);
    assert_int_equal(stair_npz_create(context, path, false, &npz), STAIR_BAD_INPUT);
    assert_null(npz);
    assert_non_null(strstr(stair_context_message(context), "--force"));
    check_archive(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(archives_read_back),
        cmocka_unit_test(equal_arrays_give_equal_bytes),
        cmocka_unit_test(what_is_not_committed_leaves_no_trace),
        cmocka_unit_test(many_arrays),
        cmocka_unit_test(an_existing_file_is_kept),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
