/* Pages of results: text stays text, names are those of CSV, lines can be pasted, plots follow columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/limits.h"
#include "page.h"

static stair_context *context;
static char folder[] = "/tmp/stair-page-XXXXXX", path[64];

static json_t *read_text(const char *text)
{
    size_t room = STAIR_MOST_PAGE_CELLS;
    json_t *file = NULL;
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    fputs(text, to);
    fclose(to);
    if (page_file_read(context, path, &room, &file) != STAIR_OK) assert_null(file);
    return file;
}

static const json_t *table_of(const json_t *file)
{
    return json_array_get(json_object_get(file, "tables"), 0);
}

static char *written(json_t *files, bool plain)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    page_content made = {.title = "<&>\"'", .files = files, .plain = plain};
    assert_int_equal(page_write(context, to, &made), STAIR_OK);
    fclose(to);
    return text;
}

/* No byte of a file gets out of its string: between the tags of the page there is no other < than theirs. */
static void text_stays_text(void **state)
{
    (void)state;
    json_t *file = read_text("{\"results\": [{\"</script><b>\": \"</script><b>\", \"x\": 1, \"y\": 1},"
                             "{\"x\": 2, \"y\": 2}], \"command\": \"<b>\"}");
    assert_non_null(file);
    json_t *files = json_pack("[o]", file);
    for (int plain = 0; plain < 2; plain++) {
        char *page = written(files, plain);
        assert_null(strstr(page, "<b>"));
        assert_non_null(strstr(page, "<title>&lt;&amp;&gt;&quot;&#39;</title>"));
        assert_non_null(strstr(page, plain ? "&lt;/script&gt;&lt;b&gt;" : "\\u003c/script>\\u003cb>"));
        free(page);
    }
    json_decref(files);
}

static void matrices_have_names_of_csv(void **state)
{
    (void)state;
    json_t *file =
        read_text("{\"results\": [{\"Q\": [[1.0, 0.5], [0.5, 2.0]], \"Q_error\": [[0.1, 0.0], [0.0, 0.2]],"
                  "\"M\": [[1.0, 2.0], [3.0, 4.0]], \"errors\": {\"bayes\": 1.0}, \"learns\": [2, 1]}]}");
    const json_t *table = table_of(file);
    assert_non_null(page_values(table, "Q12"));
    assert_null(page_values(table, "Q21")); /* it says what Q12 says */
    assert_non_null(page_values(table, "M21"));
    assert_non_null(page_values(table, "Q22_error"));
    assert_non_null(page_values(table, "bayes"));
    assert_string_equal(json_string_value(json_array_get(page_values(table, "learns"), 0)), "2 1");
    json_decref(file);
}

static void lines_can_be_pasted(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line;
    } cases[] = {
        {"{'command': 'evolve', 'model': 'square:tokens=1', 'options': {'alpha': [0.1, 0.2, 0.3, 0.4, 0.5]}}",
         "stair evolve square --alpha 0.1:0.5:0.1"},
        {"{'command': 'evolve', 'model': 'square:tokens=3', 'options': {'alpha': [0.1, 0.2, 0.4, 0.5]}}",
         "stair evolve square:tokens=3 --alpha 0.1,0.2,0.4,0.5"},
        {"{'command': 'threshold', 'model': 'a b', 'options': {'set': ['x=$(ls)'], 'unknown': 1}}",
         "stair threshold 'a b' --set 'x=$(ls)'"},
        {"{'command': 'channel', 'model': 'square', 'options': {'full': false, 'seed': 1, 'points': 16}}",
         "stair channel square --no-full"},
        {"{'command': 'channel', 'model': 'square', 'options': {'method': 'a\\nb'}}", NULL},
        {"{'command': 'evolve', 'model': '--out', 'options': {}}", NULL},
        {"{'command': 'rm', 'model': 'x', 'options': {}}", NULL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *text = strdup(cases[k].text);
        for (char *c = text; *c; c++)
            if (*c == '\'') *c = '"';
        json_t *file = json_loads(text, 0, NULL);
        assert_non_null(file);
        char *line = page_command_line(file);
        if (cases[k].line)
            assert_string_equal(line, cases[k].line);
        else
            assert_null(line);
        free(line);
        free(text);
        json_decref(file);
    }
}

/* X_error are the error bars of X, and the first rule that fits says what is drawn. */
static void plots_follow_columns(void **state)
{
    (void)state;
    json_t *file =
        read_text("{\"results\": [{\"alpha\": 1.0, \"start\": \"a\", \"Q\": [[1.0, 0.0], [0.0, 1.0]], "
                  "\"Q_error\": [[0.1, 0.0], "
                  "[0.0, 0.1]]}, {\"alpha\": 2.0, \"start\": \"b\", \"Q\": [[1.0, 0.0], [0.0, 1.0]]}]}");
    const json_t *plot = json_array_get(json_object_get(table_of(file), "plots"), 0),
                 *y = json_object_get(plot, "y");
    assert_string_equal(json_string_value(json_object_get(plot, "x")), "alpha");
    assert_int_equal(json_array_size(y), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(y, 1), "column")), "Q22");
    assert_string_equal(json_string_value(json_object_get(json_array_get(y, 1), "error")), "Q22_error");
    assert_string_equal(json_string_value(json_array_get(json_object_get(plot, "group"), 0)), "start");
    json_decref(file);
}

/* Runs of a figure are lines of their own, against what differs along a line. */
static void series_are_lines(void **state)
{
    static const char *const texts[] = {
        "{\"results\": [{\"series\": \"run1\", \"epoch\": 0, \"cosine1\": 0.1},"
        "{\"series\": \"run1\", \"epoch\": 1, \"cosine1\": 0.2}, {\"series\": \"mean\", \"epoch\": 0, "
        "\"cosine1\": 0.1},"
        "{\"series\": \"mean\", \"epoch\": 1, \"cosine1\": 0.2}]}",
        "{\"results\": [{\"series\": \"below\", \"alpha\": 0.9, \"q\": 0, \"S\": 0},"
        "{\"series\": \"below\", \"alpha\": 0.9, \"q\": 1, \"S\": 0.1}, {\"series\": \"hard\", \"alpha\": "
        "1.1, \"q\": 0, \"S\": 0},"
        "{\"series\": \"hard\", \"alpha\": 1.1, \"q\": 1, \"S\": 0.2}]}"};
    static const char *const expected[][2] = {{"epoch", "cosine1"}, {"q", "S"}};
    (void)state;
    for (int k = 0; k < 2; k++) {
        json_t *file = read_text(texts[k]);
        const json_t *plots = json_object_get(table_of(file), "plots"), *plot = json_array_get(plots, 0),
                     *y = json_object_get(plot, "y"), *group = json_object_get(plot, "group");
        assert_int_equal(json_array_size(plots), 1);
        assert_string_equal(json_string_value(json_object_get(plot, "x")), expected[k][0]);
        assert_int_equal(json_array_size(y), 1);
        assert_string_equal(json_string_value(json_object_get(json_array_get(y, 0), "column")),
                            expected[k][1]);
        assert_int_equal(json_array_size(group), 1);
        assert_string_equal(json_string_value(json_array_get(group, 0)), "series");
        assert_string_equal(json_string_value(json_object_get(plot, "style")), "lines");
        json_decref(file);
    }
}

static void pages_have_limits(void **state)
{
    (void)state;
    size_t room = 5;
    json_t *file = read_text("{\"results\": [{\"a\": 1}, {\"b\": 1}, {\"a\": 1}]}");
    assert_non_null(file); /* six cells with those that are missing */
    json_decref(file);
    assert_int_equal(page_file_read(context, path, &room, &file), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(context), "numbers on one page"));
}

static int count(const char *text, const char *part)
{
    int found = 0;
    for (; (text = strstr(text, part)); text++) found++;
    return found;
}

/* A page without scripts has every row, up to 2000, and every cell as it was. */
static void plain_pages_have_rows(void **state)
{
    (void)state;
    json_t *files = json_pack("[o]", read_text("{\"results\": [{\"alpha\": 0.5, \"n\": 7, \"word\": \"a\", "
                                               "\"hard\": true, \"gone\": null}, {\"alpha\": 1.5, \"n\": 8, "
                                               "\"word\": \"b\", \"hard\": false, \"gone\": null}], "
                                               "\"options\": {\"alpha\": [0.5, 2.0]}}"));
    static const char *const rows[] = {
        "<tr><td>0.5</td><td>7</td><td class='text'>a</td><td class='text'>yes</td><td>-</td></tr>",
        "<tr><td>1.5</td><td>8</td><td class='text'>b</td><td class='text'>no</td><td>-</td></tr>"};
    char *page = written(files, true);
    for (int k = 0; k < 2; k++) assert_int_equal(count(page, rows[k]), 1);
    assert_int_equal(count(page, "<tr>"), 1 + 2);
    assert_int_equal(count(page, "<dt>alpha</dt><dd>[0.5, 2.0]</dd>"), 1);
    assert_int_equal(count(page, "rows are shown"), 0);
    free(page);
    json_decref(files);
    for (int more = 0; more < 2; more++) {
        char *text = NULL;
        size_t size = 0;
        FILE *to = open_memstream(&text, &size);
        for (int k = 0; k < 2000 + more; k++) fprintf(to, "%s{\"n\": %d}", k ? ", " : "{\"results\": [", k);
        fputs("]}", to);
        fclose(to);
        files = json_pack("[o]", read_text(text));
        free(text);
        page = written(files, true);
        assert_int_equal(count(page, "<tr>"), 1 + 2000);
        assert_int_equal(count(page, "2000 of 2001 rows are shown"), more);
        assert_int_equal(count(page, "rows are shown"), more);
        free(page);
        json_decref(files);
    }
}

/* alpha from 1 to 2 fills the width but for a hundredth on each side, from 70 to 704; what is the same at
 * both ends lies halfway between 14 and 328. */
static void points_are_in_their_places(void **state)
{
    (void)state;
    json_t *files =
        json_pack("[o]", read_text("{\"results\": [{\"alpha\": 1.0, \"Q\": [[0.5]], \"Q_error\": "
                                   "[[0.1]]}, {\"alpha\": 2.0, \"Q\": [[0.5]], \"Q_error\": [[0.1]]}]}"));
    char *page = written(files, true);
    assert_int_equal(count(page, "<circle cx='76.2' cy='171.0'"), 1);
    assert_int_equal(count(page, "<circle cx='697.8' cy='171.0'"), 1);
    free(page);
    json_decref(files);
}

/* Around what is the same everywhere there is a tenth of it on each side; around zero, 1. */
static void constants_have_room(void **state)
{
    static const struct {
        const char *y, *labels[4];
    } cases[] = {
        {"0.0", {">-1</text>", ">-0.5</text>", ">0.5</text>", ">1</text>"}},
        {"3.0", {">2.8</text>", ">3</text>", ">3.2</text>", ">3</text>"}},
        {"-3.0", {">-3.2</text>", ">-3</text>", ">-2.8</text>", ">-3</text>"}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[160];
        snprintf(text, sizeof text,
                 "{\"results\": [{\"alpha\": 70.0, \"Q\": [[%s]]}, {\"alpha\": 71.0, \"Q\": [[%s]]}]}",
                 cases[k].y, cases[k].y);
        json_t *files = json_pack("[o]", read_text(text));
        char *page = written(files, true);
        for (int i = 0; i < 4; i++)
            if (count(page, cases[k].labels[i]) != 1)
                fail_msg("%s: %s\n%s", cases[k].y, cases[k].labels[i], page);
        free(page);
        json_decref(files);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_stays_text),
        cmocka_unit_test(matrices_have_names_of_csv),
        cmocka_unit_test(lines_can_be_pasted),
        cmocka_unit_test(plots_follow_columns),
        cmocka_unit_test(series_are_lines),
        cmocka_unit_test(pages_have_limits),
        cmocka_unit_test(plain_pages_have_rows),
        cmocka_unit_test(constants_have_room),
        cmocka_unit_test(points_are_in_their_places),
    };
    if (!mkdtemp(folder) || stair_context_create(&context) != STAIR_OK) return 1;
    snprintf(path, sizeof path, "%s/r.json", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(path);
    rmdir(folder);
    stair_context_destroy(&context);
    return failed;
}
