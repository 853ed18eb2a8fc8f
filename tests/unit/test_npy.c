/* NPY files: what is written comes back in blocks of any size, any order and width; headers are not trusted.
 */
#include "fixture.h"
#include "io/npy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/stair-npy-XXXXXX";

static int open_file(void **state)
{
    int fd = mkstemp(path);
    if (fd >= 0) close(fd);
    return fd < 0 || open_context(state);
}

static int close_file(void **state)
{
    unlink(path);
    return close_context(state);
}

/* Writes magic, `dict` as the header, and data. */
static void write_file(const char *dict, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    size_t length = strlen(dict);
    unsigned char start[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(length & 255), (unsigned char)(length >> 8)};
    assert_non_null(file);
    fwrite(start, 1, sizeof start, file);
    fwrite(dict, 1, length, file);
    fwrite(data, 1, size, file);
    fclose(file);
}

static void assert_rows(const double *expected, uint64_t rows, uint64_t row_size)
{
    stair_npy npy;
    double out[64];
    assert_int_equal(stair_npy_open(context, path, &npy), STAIR_OK);
    assert_true(npy.header.shape[0] == rows && npy.header.row_size == row_size);
    for (uint64_t first = 0; first < rows; first++)
        for (uint64_t n = 0; first + n <= rows; n++) {
            assert_int_equal(stair_npy_read(context, &npy, first, (size_t)n, out), STAIR_OK);
            assert_memory_equal(out, expected + first * row_size, n * row_size * sizeof *out);
        }
    stair_npy_close(&npy);
}

static void written_headers_come_back(void **state)
{
    (void)state;
    double data[12];
    uint64_t tail[2] = {2, 3};
    for (int i = 0; i < 12; i++) data[i] = i / 7.0;
    FILE *file = fopen(path, "w+b");
    assert_int_equal(stair_npy_header_write(context, file, "<f8", 0, 3, tail), STAIR_OK);
    long start = ftell(file);
    fwrite(data, sizeof *data, 12, file);
    assert_int_equal(stair_npy_header_write(context, file, "<f8", 2, 3, tail), STAIR_OK);
    assert_int_equal(ftell(file), start);
    fclose(file);
    assert_rows(data, 2, 6);
}

static void header_size_does_not_depend_on_rows(void **state)
{
    (void)state;
    long sizes[3];
    uint64_t rows[3] = {0, 12345, UINT64_MAX};
    for (int i = 0; i < 3; i++) {
        FILE *file = fopen(path, "w+b");
        assert_int_equal(stair_npy_header_write(context, file, "<f8", rows[i], 1, NULL), STAIR_OK);
        sizes[i] = ftell(file);
        fclose(file);
    }
    assert_true(sizes[0] == sizes[1] && sizes[1] == sizes[2] && sizes[0] % 64 == 0);
}

static void every_dtype_converts(void **state)
{
    (void)state;
    const double expected[4] = {0, 1, 2, 100};
    const struct {
        const char *descr;
        int size;
        unsigned char bytes[32];
    } cases[] = {
        {"|i1", 1, {0, 1, 2, 100}},
        {"|u1", 1, {0, 1, 2, 100}},
        {"<i2", 2, {0, 0, 1, 0, 2, 0, 100, 0}},
        {">i2", 2, {0, 0, 0, 1, 0, 2, 0, 100}},
        {"<u4", 4, {0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 100, 0, 0, 0}},
        {">i8", 8, {[15] = 1, [23] = 2, [31] = 100}},
        {"<f4", 4, {[6] = 0x80, [7] = 0x3f, [11] = 0x40, [14] = 0xc8, [15] = 0x42}},
        {">f4", 4, {[4] = 0x3f, [5] = 0x80, [8] = 0x40, [12] = 0x42, [13] = 0xc8}},
        {">f8", 8, {[8] = 0x3f, [9] = 0xf0, [16] = 0x40, [24] = 0x40, [25] = 0x59}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char dict[128];
        snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (4,), }\n",
                 cases[i].descr);
        write_file(dict, cases[i].bytes, 4 * (size_t)cases[i].size);
        assert_rows(expected, 4, 1);
    }
    signed char negative[2] = {-1, -128};
    write_file("{'descr': '|i1', 'fortran_order': False, 'shape': (2,), }", negative, 2);
    assert_rows((double[]){-1, -128}, 2, 1);
}

static void fortran_order_is_undone(void **state)
{
    (void)state;
    double c[24], f[24];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++)
                c[(i * 3 + j) * 4 + k] = f[i + 2 * (j + 3 * k)] = 100 * i + 10 * j + k;
    write_file("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3, 4), }", f, sizeof f);
    assert_rows(c, 2, 12);
}

static void bad_headers_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{",
        "{}",
        "x",
        "[]",
        "{'descr'}",
        "{'descr': }",
        "{'descr': '<f8'",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 3}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3 4)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}",
        "{'descr': '', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f88', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<i3', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f8\\'', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (281474976710656, 281474976710656)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (281474976710657,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)} x",
    };
    stair_npy_header header;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (stair_npy_header_parse(context, "f", bad[i], strlen(bad[i]), &header) != STAIR_BAD_INPUT)
            fail_msg("accepted: %s", bad[i]);
    const char *empty = "{'descr':'<f8','fortran_order':False,'shape':(0,281474976710656)}";
    assert_int_equal(stair_npy_header_parse(context, "f", empty, strlen(empty), &header), STAIR_OK);
    assert_true(header.count == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_headers_come_back), cmocka_unit_test(header_size_does_not_depend_on_rows),
        cmocka_unit_test(every_dtype_converts),      cmocka_unit_test(fortran_order_is_undone),
        cmocka_unit_test(bad_headers_are_refused),
    };
    return cmocka_run_group_tests(tests, open_file, close_file);
}
