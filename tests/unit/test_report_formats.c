/* One report in every format: all kinds of columns, layouts and places, with values chosen here.  What is
 * written is kept in tests/reference/report_formats.txt; `test_report_formats record` writes that anew. */
#include "run_program.h"

#include <math.h>

#include "columns.h"
#include "core/context.h"

#define KEPT "tests/reference/report_formats.txt"

static FILE *all; /* of what is written */

typedef struct {
    const char *title, *line;
    void (*fill)(cli_report *report);
    const cli_column *columns;
    int count;
} shape;

static void write_report(void *user)
{
    const shape *what = user;
    stair_context *context;
    char copy[512], *words[32], *rest = NULL;
    int count = 0;
    if (stair_context_create(&context) != STAIR_OK) abort();
    cli_request request = {.context = context, .command = command_find("evolve")};
    snprintf(copy, sizeof copy, "%s", what->line);
    for (char *word = strtok_r(copy, " ", &rest); word && count < 32; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    request.parse = (option_parse){.scope = command_scope(request.command), .most = 1};
    command_defaults(request.command, &request.options);
    cli_report *report = NULL;
    stair_status status = options_read(context, &request.parse, count, words, &request.options);
    if (status == STAIR_OK) status = stair_model_create(context, request.parse.words[0], &request.model);
    if (status == STAIR_OK) status = report_open(&request, what->columns, what->count, &report);
    if (report) what->fill(report);
    if (report) status = report_close(&report, status);
    if (status != STAIR_OK) printf("status %d: %s\n", (int)status, stair_context_message(context));
    stair_model_destroy(&request.model);
    options_free(own_options, &request.options);
    stair_context_destroy(&context);
}

/* Names, types and shapes of the arrays of an archive, which is not deflated: the first bytes of each, and a
 * digest (FNV) of all of them. */
static void write_archive(const char *path)
{
    static unsigned char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file) fclose(file);
    for (size_t k = 0; k + 10 < size; k++) {
        if (memcmp(bytes + k, "\x93NUMPY\1", 7)) continue;
        size_t end = k + 10 + bytes[k + 8] + 256u * bytes[k + 9], shown = end + 16;
        const char *head = (const char *)bytes + k + 11, *type = strstr(head, ": '") + 3,
                   *extent = strstr(head, ": (") + 2;
        uint64_t digest = 0xcbf29ce484222325;
        fprintf(all, "%.*s %.*s ", (int)strcspn(type, "'"), type, (int)strcspn(extent, ")") + 1, extent);
        for (; end < size && memcmp(bytes + end, "PK", 2); end++) {
            if (end < shown) fprintf(all, "%02x", bytes[end]);
            digest = (digest ^ bytes[end]) * 0x100000001b3;
        }
        fprintf(all, " %016llx\n", (unsigned long long)digest);
    }
}

/* A report of one format; on standard output, to be freed. */
static char *report_text(shape what, const char *format)
{
    char line[512];
    snprintf(line, sizeof line, "%s%s", what.line, format);
    what.line = line;
    capture(write_report, &what);
    if (*complained) fail_msg("%s: %s", line, complained);
    return strdup(printed);
}

static const char *results_of(const char *text)
{
    const char *at = strstr(text, "\"results\"");
    return at ? at : text;
}

static void same_file(const char *path, const char *text)
{
    char *written = text_of_file(path);
    assert_non_null(written);
    if (strcmp(results_of(written), results_of(text))) fail_msg("%s: %s\n%s", path, written, text);
    free(written);
    assert_int_equal(remove(path), 0);
}

/* As a table alone. */
static void in_a_table(shape what)
{
    char *table = report_text(what, "");
    fprintf(all, "== %s\n%s", what.title, table);
    free(table);
}

/* A file has what standard output has. */
static void in_every_format(shape what)
{
    char *csv = report_text(what, " --csv"), *json = report_text(what, " --json");
    in_a_table(what);
    fprintf(all, "%s%s", csv, results_of(json));
    char *table = report_text(what, " --out f.npz");
    if (!strstr(table, "more rows")) {
        char *plain = report_text(what, "");
        assert_string_equal(table, plain);
        free(plain);
    } else
        fputs(table, all);
    write_archive("f.npz");
    assert_int_equal(remove("f.npz"), 0);
    free(report_text(what, " --out f.csv --json"));
    assert_string_equal(results_of(printed), results_of(json));
    same_file("f.csv", csv);
    free(report_text(what, " --out f.json --csv"));
    assert_string_equal(printed, csv);
    same_file("f.json", json);
    free(table);
    free(csv);
    free(json);
}

/* ---- one value a column ------------------------------------------------------------------------------ */

static void fill_scalars(cli_report *report)
{
    static const double reals[] = {1.0 / 3, -1e-300, 123456789.0, 0, NAN, INFINITY, -INFINITY, 2.5e17};
    static const char *const texts[] = {"plain",    "a,b;\"c\"#d",       "\t\x1b[1m\xc3\xa9",
                                        NULL,       "longer than eight", "",
                                        "12345678", "\xe2\x82\xac"};
    static const char *const ints[] = {"1 2 3", "", "-1 10", "12", "7 8 9 10 11 12", "0", "1", "99 100"};
    static const char *const jsons[] = {
        "[1, {\"a\": 2.5}]", NULL, "[3]", "[\"x\"]", "{}", "[]", "[true]", "[null]"};
    for (int k = 0; k < 8; k++)
        if (report_row(report, (cli_cell[]){{.real = reals[k]},
                                            {.real = reals[k]},
                                            {.real = reals[k]},
                                            {.real = reals[k]},
                                            {.real = reals[k]},
                                            {.real = reals[k]},
                                            {.integer = k % 2 ? -k : INT64_MAX - k},
                                            {.natural = k % 2 ? UINT64_MAX - (uint64_t)k : (uint64_t)k},
                                            {.text = texts[k]},
                                            {.truth = k % 3 == 0},
                                            {.text = ints[k]},
                                            {.text = jsons[k]},
                                            {.real = k}}) != STAIR_OK)
            abort();
    report_note(report, "a note of %d\n", 8);
    report_note(report, "and %s\n", "another");
}

static void scalars(void)
{
    cli_column c[13];
    c[0] = column_real("few", "few", 0);
    c[1] = column_real("six.decimals", "six", 6);
    c[2] = column_real("errors.bayes", "Bayes", 1);
    c[2].fixed = false;
    c[2].digits = 4;
    c[3] = column_real("when", "when", 3);
    c[3].never = true;
    c[4] = column_given("given", "given");
    c[5] = column_real("errors.bayes_error", NULL, 0);
    c[6] = column_int("errorsum.all", "count");
    c[7] = column_natural("seed", "seed");
    c[8] = column_text("word", "word", 8);
    c[9] = column_bool("fine", "fine");
    c[10] = column_ints("learns", "learns layer", 6);
    c[11] = (cli_column){.name = "history", .kind = CELL_JSON, .where = IN_JSON};
    c[12] = (cli_column){.name = "shown", .heading = "shown", .where = IN_TABLE, .fixed = true};
    in_every_format((shape){"scalars", "square", fill_scalars, c, 13});
    c[8].where = IN_TABLE | IN_NPZ; /* text is the last column of a table */
    in_every_format((shape){"text at the end", "square --quiet --alpha 0.5,1", fill_scalars, c, 9});
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

static double numbers[400];

static void fill_arrays(cli_report *report)
{
    for (int k = 0; k < 400; k++) numbers[k] = k % 7 == 6 ? -k : 0.25 * k;
    for (int row = 0; row < 2; row++) {
        cli_cell cells[16];
        for (int c = 0; c < report->count; c++) cells[c].array = numbers + 10 * c + row;
        if (report_row(report, cells) != STAIR_OK) abort();
    }
    if (report->columns[0].shape[0] < 3) return;
    report_indices(report, 2); /* a model with fewer indices */
    cli_cell cells[16];
    for (int c = 0; c < report->count; c++) cells[c].array = numbers + 20 + c;
    if (report_row(report, cells) != STAIR_OK) abort();
}

static void arrays(void)
{
    cli_column c[4];
    c[0] = column_array("entropy", "|S|", 4);
    c[1] = column_decimals(column_line("cosine", "", 3), 2);
    c[2] = column_line("norm_error", NULL, 2);
    c[3] = (cli_column){
        .name = "g.x", .heading = "|g|", .where = IN_ALL, .rank = 3, .shape = {2, 1, 3}, .digits = 4};
    in_every_format((shape){"arrays", "square", fill_arrays, c, 4});
    c[0] = column_line("cosine_spread", "th", 10);
    c[1] = (cli_column){.name = "dg", .where = IN_ALL, .heading = "dg", .rank = 2, .shape = {2, 10}};
    in_every_format((shape){"ten entries", "square", fill_arrays, c, 2});
}

static void matrices_of(int p, int with)
{
    char title[64];
    cli_column c[8];
    c[0] = column_with(column_decimals(column_symmetric("Q", "", p), 2), with);
    c[1] = column_square("M_error", "error", p);
    c[2] = column_diagonal("overlap_spread", NULL, "z", p);
    c[3] = column_symmetric("theory.Q_error", "theory", p);
    c[4] = column_diagonal("overlap", "R", " before", p);
    c[5] = column_square("V", NULL, p);
    snprintf(title, sizeof title, "matrices of %d, %d beside", p, with);
    (p == 3 && with == 1 ? in_every_format : in_a_table)((shape){title, "square", fill_arrays, c, 6});
}

/* ---- many rows --------------------------------------------------------------------------------------- */

static int most_rows;

static void fill_rows(cli_report *report)
{
    for (int k = 0; k < most_rows; k++)
        if (report_row(report, (cli_cell[]){{.text = "square:tokens=2,noise=0,prenoise=0.5"},
                                            {.real = k == 255 ? 1e9 : k}}) != STAIR_OK)
            abort();
}

static void rows(void)
{
    cli_column c[4] = {
        column_model(true),
        column_real("x", "x", 1),
        {.name = "noise", .heading = "noise", .where = IN_ALL, .key = "prenoise", .given = true},
        {.name = "tokens",
         .kind = CELL_TEXT,
         .heading = "tokens",
         .where = IN_ALL,
         .key = "tokens",
         .width = 3}};
    static const int counts[] = {0, 1, 16, 17};
    cli_column few[4] = {c[0], c[2], c[3], c[1]};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        most_rows = counts[k];
        in_every_format((shape){"rows", "square", fill_rows, few, 4});
    }
    most_rows = 258; /* columns are aligned over 256 rows */
    shape what = {"many rows", "square", fill_rows, few, 4};
    capture(write_report, &what);
    const char *at = printed;
    for (int line = 0; *at; at = strchr(at, '\n') + 1, line++)
        if (line < 3 || line > 255) fprintf(all, "%.*s\n", (int)strcspn(at, "\n"), at);
    few[0] = column_model(false);
    most_rows = 1;
    in_every_format((shape){"one model", "square", fill_rows, few, 4});
}

/* ---- what cannot be written ------------------------------------------------------------------------- */

static void no_rows(cli_report *report)
{
    (void)report;
}

static void refusals(void)
{
    static const char *const lines[] = {
        "square --json --csv",          "square --out f.txt", "square --out f",
        "square --out no/f.csv",        "square --out .npz",  "square --out here.csv",
        "square --out here.csv --force"};
    cli_column c = column_real("x", "x", 1);
    fclose(fopen("here.csv", "w"));
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        shape what = {"refusals", lines[k], no_rows, &c, 1};
        capture(write_report, &what);
        fprintf(all, "== %s\n%s%s", lines[k], printed, complained);
    }
    remove("here.csv");
    remove(".npz");
}

static void write_everything(void)
{
    scalars();
    arrays();
    for (int with = 0; with <= 3; with++) matrices_of(3, with);
    matrices_of(5, 1);
    matrices_of(5, 3);
    matrices_of(10, 0);
    matrices_of(10, 1);
    matrices_of(1, 1);
    rows();
    refusals();
}

static char *kept;

static void formats_are_kept(void **state)
{
    char *text = NULL;
    size_t size = 0;
    (void)state;
    all = open_memstream(&text, &size);
    write_everything();
    fclose(all);
    int line = 1;
    for (const char *new = text, *old = kept; *new || *old; line++) {
        size_t n = strcspn(new, "\n"), o = strcspn(old, "\n");
        if (n != o || memcmp(new, old, n))
            fail_msg("line %d of " KEPT ":\n%.*s\nis\n%.*s", line, (int)o, old, (int)n, new);
        new += n + (new[n] != 0);
        old += o + (old[o] != 0);
    }
    free(text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(formats_are_kept)};
    if (argc > 1 && !strcmp(argv[1], "record")) {
        all = fopen(KEPT, "w");
        if (!all || open_run_folder(NULL)) return 1;
        write_everything();
        return fclose(all) || close_run_folder(NULL);
    }
    kept = text_of_file(KEPT);
    if (!kept) return 1;
    int failed = cmocka_run_group_tests(tests, open_run_folder, close_run_folder);
    free(kept);
    return failed;
}
