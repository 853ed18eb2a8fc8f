/* Atomic files: whole or absent, and a file that appeared meanwhile is not replaced. */
#include "fixture.h"
#include "folder.h"
#include "io/atomic_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In place of the C library's: which files were synchronised, and whether one may be. */
static int synced_files, synced_folders, sync_fails;

int fsync(int fd)
{
    struct stat info;
    if (sync_fails || fstat(fd, &info)) {
        errno = EIO;
        return -1;
    }
    synced_files += S_ISREG(info.st_mode) != 0;
    synced_folders += S_ISDIR(info.st_mode) != 0;
    return 0;
}

static char folder[] = "/tmp/stair-atomic-XXXXXX";
static char path[64];

static int open_folder(void **state)
{
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/file", folder);
    return open_context(state);
}

static int close_folder(void **state)
{
    unlink(path);
    rmdir(folder);
    return close_context(state);
}

static void assert_content(const char *expected)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, expected);
}

static void commit_puts_in_place(void **state)
{
    (void)state;
    stair_atomic_file out;
    struct stat info;
    mode_t mask = umask(022);
    umask(mask);
    assert_int_equal(stair_atomic_open(context, path, false, &out), STAIR_OK);
    fputs("one", out.file);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(stair_atomic_commit(context, &out), STAIR_OK);
    assert_content("one");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0666 & ~mask); /* not the 0600 of mkstemp */
    assert_int_equal(files_in(folder), 1);
}

static void discard_keeps_the_old(void **state)
{
    (void)state;
    stair_atomic_file out;
    assert_int_equal(stair_atomic_open(context, path, true, &out), STAIR_OK);
    fputs("two", out.file);
    stair_atomic_discard(&out);
    assert_content("one");
    assert_int_equal(files_in(folder), 1);
    assert_int_equal(stair_atomic_open(context, path, false, &out), STAIR_BAD_INPUT);
}

static void a_newcomer_is_not_replaced(void **state)
{
    (void)state;
    stair_atomic_file out;
    unlink(path);
    assert_int_equal(stair_atomic_open(context, path, false, &out), STAIR_OK);
    FILE *file = fopen(path, "w");
    fputs("newcomer", file);
    fclose(file);
    assert_int_equal(stair_atomic_commit(context, &out), STAIR_FAILED);
    assert_content("newcomer");
    assert_int_equal(files_in(folder), 1);
}

static void a_full_disk_fails_cleanly(void **state)
{
    (void)state;
    stair_atomic_file out;
    unlink(path);
    assert_int_equal(stair_atomic_open(context, path, false, &out), STAIR_OK);
    out.file = freopen("/dev/full", "w", out.file);
    if (!out.file) skip();
    fputs("lost", out.file);
    assert_int_equal(stair_atomic_commit(context, &out), STAIR_FAILED);
    assert_non_null(strstr(stair_context_message(context), "No space left"));
    assert_int_equal(files_in(folder), 0);
}

/* The content is on the disk before its name is, then the name. */
static void commit_synchronises(void **state)
{
    (void)state;
    stair_atomic_file out;
    unlink(path);
    synced_files = synced_folders = 0;
    assert_int_equal(stair_atomic_open(context, path, false, &out), STAIR_OK);
    fputs("kept", out.file);
    assert_int_equal(stair_atomic_commit(context, &out), STAIR_OK);
    assert_int_equal(synced_files, 1);
    assert_int_equal(synced_folders, 1);
    sync_fails = 1;
    assert_int_equal(stair_atomic_open(context, path, true, &out), STAIR_OK);
    fputs("lost", out.file);
    assert_int_equal(stair_atomic_commit(context, &out), STAIR_FAILED);
    sync_fails = 0;
    assert_content("kept");
    assert_int_equal(files_in(folder), 1);
}

static void long_names_are_refused_before_writing(void **state)
{
    (void)state;
    char name[400];
    stair_atomic_file out;
    snprintf(name, sizeof name, "%s/%0256d", folder, 1);
    assert_int_equal(stair_atomic_open(context, name, true, &out), STAIR_BAD_INPUT);
    assert_int_equal(stair_atomic_probe(context, name), STAIR_BAD_INPUT);
    assert_int_equal(stair_atomic_probe(context, path), STAIR_OK);
    assert_int_equal(files_in(folder), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commit_puts_in_place),       cmocka_unit_test(discard_keeps_the_old),
        cmocka_unit_test(a_newcomer_is_not_replaced), cmocka_unit_test(a_full_disk_fails_cleanly),
        cmocka_unit_test(commit_synchronises),        cmocka_unit_test(long_names_are_refused_before_writing),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
