/* Grids of models and the rows that are kept of them, by one process and by ranks that are threads. */
#include "run_program.h"

#include <math.h>
#include <stdatomic.h>

#include "core/context.h"
#include "grid.h"
#include "thread_ranks.h"

enum { UNIT = 2, HEAD = 17, MATRICES = 2, ROWS = 8 };

typedef struct {
    stair_context *context;
    cli_request request;
    cli_grid grid;
} opened;

/* The grid that words ask `stair evolve` for; threads of a test may call it at the same time. */
static stair_status open_grid(opened *o, const stair_ranks *ranks, const char *line, size_t per_model,
                              size_t unit)
{
    static char copies[MOST_RANKS][1024]; /* options point into them */
    char *copy = copies[ranks ? ranks->rank : 0], *words[64], *rest = NULL;
    int count = 0;
    *o = (opened){.request = {.command = command_find("evolve")}};
    if (stair_context_create(&o->context) != STAIR_OK) abort();
    if (ranks && stair_context_set_ranks(o->context, ranks) != STAIR_OK) abort();
    snprintf(copy, sizeof copies[0], "%s", line);
    for (char *word = strtok_r(copy, " ", &rest); word && count < 64; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    o->request.context = o->context;
    o->request.parse = (option_parse){.scope = command_scope(o->request.command), .most = 1};
    command_defaults(o->request.command, &o->request.options);
    STAIR_TRY(options_read(o->context, &o->request.parse, count, words, &o->request.options));
    STAIR_TRY(stair_model_create(o->context, o->request.parse.words[0], &o->request.model));
    return grid_open(&o->request, per_model, unit, HEAD, MATRICES, &o->grid);
}

static void close_grid(opened *o, bool finished)
{
    if (o->grid.request) grid_close(&o->grid, finished);
    stair_model_destroy(&o->request.model);
    options_free(own_options, &o->request.options);
    stair_context_destroy(&o->context);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static double value_of(size_t row, size_t k)
{
    return (double)row + 0.001 * (double)k;
}

static void fill(const cli_grid *grid, size_t row)
{
    for (size_t k = 0; k < grid->row_size; k++) grid_row(grid, row)[k] = value_of(row, k);
}

static bool is_filled(const cli_grid *grid, size_t row)
{
    bool same = true;
    for (size_t k = 0; k < grid->row_size; k++) same &= grid_row(grid, row)[k] == value_of(row, k);
    return same;
}

/* The last key runs fastest; a list, a range, one value; commas in parentheses separate nothing. */
static void values_make_models(void **state)
{
    static const struct {
        const char *line;
        size_t count;
        const char *specs[6];
        int indices, layers;
    } cases[] = {
        {"square", 1, {"square:tokens=1,noise=0,prenoise=0"}, 1, 1},
        {"square --set prenoise=0.1,0.2 --set tokens=2,3",
         4,
         {"square:tokens=2,noise=0,prenoise=0.1", "square:tokens=3,noise=0,prenoise=0.1",
          "square:tokens=2,noise=0,prenoise=0.2", "square:tokens=3,noise=0,prenoise=0.2"},
         1,
         1},
        {"square --set prenoise=0.1:0.3:0.1",
         3,
         {"square:tokens=1,noise=0,prenoise=0.1", "square:tokens=1,noise=0,prenoise=0.2",
          "square:tokens=1,noise=0,prenoise=0.3"},
         1,
         1},
        {"square --set prenoise=,0.1,,0.2,",
         2,
         {"square:tokens=1,noise=0,prenoise=0.1", "square:tokens=1,noise=0,prenoise=0.2"},
         1,
         1},
        {"expr:z1 --set formula=max(z1,z2),z1+z3", 2, {NULL}, 3, 1},
        {"attention:layers=3 --set layers=3,1 --set tokens=2", 2, {NULL}, 3, 3},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        opened o;
        if (open_grid(&o, NULL, cases[c].line, 3, 1) != STAIR_OK)
            fail_msg("%s: %s", cases[c].line, stair_context_message(o.context));
        assert_int_equal(o.grid.models, cases[c].count);
        assert_int_equal(o.grid.rows, 3 * cases[c].count);
        assert_int_equal(o.grid.most_indices, cases[c].indices);
        assert_int_equal(o.grid.most_layers, cases[c].layers);
        assert_int_equal(o.grid.row_size, 3 + MATRICES * cases[c].indices * cases[c].indices);
        for (size_t m = 0; m < o.grid.models && cases[c].specs[m]; m++)
            assert_string_equal(o.grid.specs[m], cases[c].specs[m]);
        close_grid(&o, false);
    }
}

static void wrong_sets_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"square --set prenoise", "--set needs KEY=V1,V2,..., not 'prenoise'"},
        {"square --set prenoise=", "--set needs KEY=V1,V2,..., not 'prenoise='"},
        {"square --set =1", "--set needs KEY=V1,V2,..., not '=1'"},
        {"square --set prenoise=,", "--set prenoise: no values"},
        {"square --set prenoise=0:0.1:0.001 --set noise=0:0.1:0.001 --set tokens=1:10:1",
         "--set makes more than 100000 models"},
        {"square --set prenoise=0:1:0.0001", "--set prenoise: too many values"},
        {"square --set colour=1,2", "colour"},
        {"square --resume", "--resume needs --out or --checkpoint"},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        opened o;
        assert_int_equal(open_grid(&o, NULL, cases[c][0], 1, 1), STAIR_BAD_INPUT);
        if (!strstr(stair_context_message(o.context), cases[c][1]))
            fail_msg("%s: %s", cases[c][0], stair_context_message(o.context));
        close_grid(&o, false);
    }
}

static void whole_numbers(void **state)
{
    (void)state;
    assert_true(grid_whole(0, 0, 1) && grid_whole(1, 0, 1) && grid_whole(-2, -2, 5));
    assert_false(grid_whole(-1, 0, 1) || grid_whole(2, 0, 1) || grid_whole(0.5, 0, 1) ||
                 grid_whole(NAN, 0, 1) || grid_whole(INFINITY, 0, 1));
}

#define LINE "square --set tokens=1,2,3,4 --checkpoint ck"
static void rows_come_back(void **state)
{
    (void)state;
    for (size_t kept = 0; kept <= ROWS; kept++) {
        opened o;
        assert_int_equal(open_grid(&o, NULL, LINE, UNIT, UNIT), STAIR_OK);
        assert_int_equal(o.grid.rows, ROWS);
        for (size_t row = 0; row < ROWS; row++) assert_false(grid_known(&o.grid, row));
        for (size_t row = 0; row < kept; row++) {
            fill(&o.grid, row);
            assert_int_equal(grid_keep(&o.grid, row), STAIR_OK);
        }
        for (size_t row = 0; row < ROWS; row++) assert_int_equal(grid_known(&o.grid, row), row < kept);
        close_grid(&o, false);
        assert_int_equal(is_there("ck"), kept > 0);
        assert_int_equal(open_grid(&o, NULL, LINE " --resume", UNIT, UNIT), STAIR_OK);
        for (size_t row = 0; row < ROWS; row++) {
            assert_int_equal(grid_known(&o.grid, row), row < kept);
            assert_int_equal(is_filled(&o.grid, row), row < kept);
        }
        close_grid(&o, true);
        assert_false(is_there("ck") || is_there("ck.old"));
    }
}

/* A checkpoint is that of its request, and of as many rows as there are. */
static void other_rows_are_refused(void **state)
{
    static const char *const others[] = {
        "square --set tokens=1,2,3,5 --checkpoint ck --resume",
        LINE " --resume --alpha 0.3",
        LINE " --resume --seed 2",
        LINE " --resume --from informed",
        LINE " --resume --precision 0.02",
        "abs --set tokens=1,2,3,4 --checkpoint ck --resume",
    };
    opened o;
    (void)state;
    assert_int_equal(open_grid(&o, NULL, LINE, UNIT, UNIT), STAIR_OK);
    for (size_t row = 0; row < ROWS; row++) fill(&o.grid, row), grid_keep(&o.grid, row);
    assert_int_equal(grid_damaged(&o.grid), STAIR_FAILED);
    assert_string_equal(stair_context_message(o.context), "ck: checkpoint damaged; remove it to start again");
    close_grid(&o, false);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        if (open_grid(&o, NULL, others[k], UNIT, UNIT) != STAIR_BAD_INPUT) fail_msg("%s", others[k]);
        assert_non_null(strstr(stair_context_message(o.context), "checkpoint of another request"));
        close_grid(&o, false);
    }
    assert_int_equal(open_grid(&o, NULL, LINE " --resume", 1, 1), STAIR_FAILED); /* half as many rows */
    assert_string_equal(stair_context_message(o.context), "ck: checkpoint damaged; remove it to start again");
    close_grid(&o, false);
    assert_int_equal(open_grid(&o, NULL, LINE " --resume --threads 2 --quiet --json", UNIT, UNIT), STAIR_OK);
    close_grid(&o, true);
    assert_false(is_there("ck"));
}

/* ---- ranks ------------------------------------------------------------------------------------------ */

static atomic_int computed, wrong, known_before;
static size_t bad_unit = SIZE_MAX;

static stair_status body(void *user, cli_grid *grid, size_t unit)
{
    (void)user;
    if (unit == bad_unit) return stair_fail(grid->request->context, STAIR_FAILED, "this unit is bad");
    for (size_t row = unit * UNIT; row < (unit + 1) * UNIT; row++) {
        if (grid_known(grid, row)) continue;
        computed++;
        fill(grid, row);
        STAIR_TRY(grid_keep(grid, row));
    }
    return STAIR_OK;
}

typedef struct {
    const char *line;
    bool finished;
    stair_status ends;
    size_t models;
} shared_grid;

static void by_rank(const stair_ranks *ranks, void *user)
{
    const shared_grid *how = user;
    opened o;
    stair_status status = open_grid(&o, ranks, how->line, UNIT, UNIT);
    for (size_t row = 0; status == STAIR_OK && row < o.grid.rows; row++)
        known_before += grid_known(&o.grid, row) && ranks->rank == 0;
    if (status == STAIR_OK) status = grid_share(&o.grid, body, NULL);
    for (size_t row = 0; status == STAIR_OK && row < o.grid.rows; row++)
        wrong += !grid_known(&o.grid, row) || !is_filled(&o.grid, row);
    wrong += status != how->ends;
    stair_context_agree(o.context, STAIR_OK, &(int){0});
    close_grid(&o, how->finished);
}

static void share(int ranks, shared_grid how)
{
    computed = wrong = known_before = 0;
    run_ranks(ranks, by_rank, &how);
}

static void ranks_share_units(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks++) {
        share(ranks, (shared_grid){.line = LINE});
        assert_int_equal(wrong, 0);
        assert_int_equal(computed, ROWS);
        assert_false(is_there("ck"));
        assert_true(is_there("ck.0") && is_there("ck.1") && is_there("ck.2") && is_there("ck.3"));
        assert_false(is_there("ck.4"));
        /* a process without ranks goes on from them, and so do ranks */
        opened o;
        assert_int_equal(open_grid(&o, NULL, LINE " --resume", UNIT, UNIT), STAIR_OK);
        for (size_t row = 0; row < ROWS; row++)
            assert_true(grid_known(&o.grid, row) && is_filled(&o.grid, row));
        close_grid(&o, false);
        remove("ck.1");
        share(ranks, (shared_grid){.line = LINE " --resume", .finished = true});
        assert_int_equal(wrong, 0);
        assert_int_equal(computed, UNIT);
        assert_int_equal(known_before, ROWS - UNIT);
        for (int k = 0; k < 4; k++) assert_false(is_there((char[]){'c', 'k', '.', (char)('0' + k), 0}));
    }
}

/* What one rank could not compute ends all of them; the units that were complete are kept. */
static void one_bad_unit_ends_all(void **state)
{
    (void)state;
    bad_unit = 3;
    share(2, (shared_grid){.line = LINE, .ends = STAIR_FAILED});
    bad_unit = SIZE_MAX;
    assert_int_equal(wrong, 0);
    assert_false(is_there("ck.3"));
    int before = computed;
    share(2, (shared_grid){.line = LINE " --resume", .finished = true});
    assert_int_equal(wrong, 0);
    assert_int_equal(before + computed, ROWS);
    assert_int_equal(known_before, before);
    assert_false(is_there("ck.0") || is_there("ck.1") || is_there("ck.2") || is_there("ck.3"));
}

/* Where units are fewer than ranks, or there are none, whoever asked computes them as without. */
static void few_units_are_not_shared(void **state)
{
    opened o;
    (void)state;
    share(2, (shared_grid){.line = "square --set tokens=1 --checkpoint ck"});
    assert_int_equal(computed, 0);
    assert_int_equal(wrong, 2 * UNIT);
    assert_int_equal(open_grid(&o, NULL, LINE, UNIT, UNIT), STAIR_OK);
    assert_int_equal(grid_share(&o.grid, body, NULL), STAIR_OK);
    assert_int_equal(computed, 0);
    close_grid(&o, false);
    share(2, (shared_grid){.line = "square --set tokens=1,2"}); /* as many: shared; and nothing is kept */
    assert_int_equal(computed, 2 * UNIT);
    assert_int_equal(wrong, 0);
    assert_false(is_there("ck") || is_there("ck.0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_make_models),     cmocka_unit_test(wrong_sets_are_refused),
        cmocka_unit_test(whole_numbers),          cmocka_unit_test(rows_come_back),
        cmocka_unit_test(other_rows_are_refused), cmocka_unit_test(ranks_share_units),
        cmocka_unit_test(one_bad_unit_ends_all),  cmocka_unit_test(few_units_are_not_shared),
    };
    return cmocka_run_group_tests(tests, open_run_folder, close_run_folder);
}
