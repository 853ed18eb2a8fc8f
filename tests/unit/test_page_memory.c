/* Pages when memory runs out: failing_memory.h, for JSON and CSV and for both kinds of pages.  NPZ is not
 * here: libzip loses memory of its own when it gets no more. */
#include "failing_memory.h"

#include "core/limits.h"
#include "page.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/stair-page-memory-XXXXXX";
static char paths[2][80];

static stair_status make_page(stair_context *context, const char *path, bool plain)
{
    size_t room = STAIR_MOST_PAGE_CELLS;
    json_t *file = NULL, *files = json_array();
    stair_status status = files ? page_file_read(context, path, &room, &file) : page_no_memory(context);
    if (status == STAIR_OK && json_array_append_new(files, file)) status = page_no_memory(context);
    FILE *to = status == STAIR_OK ? fopen("/dev/null", "w") : NULL;
    page_content made = {.title = "t", .files = files, .plain = plain};
    if (status == STAIR_OK) status = to ? page_write(context, to, &made) : page_no_memory(context);
    if (to) fclose(to);
    json_decref(files);
    return status;
}

static stair_status live_json(stair_context *context)
{
    return make_page(context, paths[0], false);
}
static stair_status plain_json(stair_context *context)
{
    return make_page(context, paths[0], true);
}
static stair_status plain_csv(stair_context *context)
{
    return make_page(context, paths[1], true);
}
static void of_json(void **state)
{
    (void)state;
    fail_in_turn(live_json, 1);
    fail_in_turn(plain_json, 1);
}

static void of_csv(void **state)
{
    (void)state;
    fail_in_turn(plain_csv, 1);
}

static void put(const char *path, const char *text)
{
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    fputs(text, to);
    fclose(to);
}

static int make_files(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return 1;
    for (int k = 0; k < 2; k++) snprintf(paths[k], sizeof paths[k], "%s/r.%s", folder, k ? "csv" : "json");
    put(paths[0], "{\"stair\": \"0\", \"command\": \"evolve\", \"model\": \"square:tokens=2\", \"options\": "
                  "{\"alpha\": [1.0, 2.0], "
                  "\"set\": [\"a=1\"]}, \"results\": [{\"alpha\": 1.0, \"start\": \"x\", \"Q\": [[1.0, 2.0], "
                  "[2.0, 3.0]], \"learns\": [1, 2], "
                  "\"history\": [{\"iteration\": 1, \"M\": [[1.0]]}, {\"iteration\": 2, \"M\": [[2.0]]}]}, "
                  "{\"alpha\": 2.0, \"start\": \"y\", \"Q\": [[1.0, 2.0], [2.0, 3.0]]}]}");
    put(paths[1], "kind,alpha,error,learns\nweak,1.0,0.1,1\nperfect,2.0,0.1,1 2\n");
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) remove(paths[k]);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_json), cmocka_unit_test(of_csv)};
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
