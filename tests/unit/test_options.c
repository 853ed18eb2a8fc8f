/* The option table and its parser, also for the kinds of options that no command uses yet. */
#include "command.h"

#include <math.h>
#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct {
    bool flag;
    int64_t count;
    uint64_t seed;
    double real;
    option_list list;
    const char *text, *start;
    option_texts data, set;
} target;

static const char *const starts[] = {"uninformed", "informed", NULL};
static const cli_option table[] = {
    {.name = "flag", .kind = OPTION_FLAG, .offset = offsetof(target, flag), .text = "a flag"},
    {.name = "count",
     .kind = OPTION_INT,
     .offset = offsetof(target, count),
     .value = "N",
     .low = 1,
     .high = 1e12},
    {.name = "seed", .kind = OPTION_UINT64, .offset = offsetof(target, seed), .value = "N"},
    {.name = "real",
     .kind = OPTION_DOUBLE,
     .offset = offsetof(target, real),
     .value = "X",
     .low = -1,
     .high = 1},
    {.name = "alpha",
     .kind = OPTION_LIST,
     .offset = offsetof(target, list),
     .value = "LIST",
     .low = 0,
     .high = 1e6},
    {.name = "text", .kind = OPTION_TEXT, .offset = offsetof(target, text), .value = "TEXT"},
    {.name = "start",
     .kind = OPTION_TEXT,
     .offset = offsetof(target, start),
     .value = "NAME",
     .choices = starts},
    {.name = "data", .kind = OPTION_TEXTS, .offset = offsetof(target, data), .value = "X Y", .take = 2},
    {.name = "set", .kind = OPTION_TEXTS, .offset = offsetof(target, set), .value = "KEY=LIST", .take = 1},
    {0},
};
static const char *const names[] = {"flag", "count", "seed", "real", "alpha",
                                    "text", "start", "data", "set",  NULL};

static stair_context *context;
static target got;
static option_parse parse;

static int open_context(void **state)
{
    (void)state;
    return stair_context_create(&context);
}

static int close_context(void **state)
{
    (void)state;
    options_free(table, &got);
    stair_context_destroy(&context);
    return 0;
}

static stair_status read_words(const char *const *words)
{
    int argc = 0;
    while (words[argc]) argc++;
    options_free(table, &got);
    got = (target){0};
    parse = (option_parse){.table = table, .names = names, .command = "test", .most = 2};
    return options_read(context, &parse, argc, (char *const *)(uintptr_t)words, &got);
}
#define READ(...) read_words((const char *const[]){__VA_ARGS__, NULL})

static void assert_refused(stair_status status, const char *reason)
{
    assert_int_equal(status, STAIR_BAD_INPUT);
    if (!strstr(stair_context_message(context), reason))
        fail_msg("'%s' lacks '%s'", stair_context_message(context), reason);
}

static void values_arrive(void **state)
{
    (void)state;
    assert_int_equal(READ("--flag", "--count", "12", "--seed=18446744073709551615", "word", "--real", "-0.5",
                          "--", "--other"),
                     STAIR_OK);
    assert_true(got.flag && got.count == 12 && got.seed == UINT64_MAX && got.real == -0.5);
    assert_int_equal(parse.count, 2);
    assert_string_equal(parse.words[1], "--other");
    assert_true(option_given(&parse, "count") && !option_given(&parse, "alpha"));
    assert_int_equal(READ("--flag", "--no-flag"), STAIR_OK);
    assert_false(got.flag);
    assert_refused(READ("--no-count"), "unknown option --no-count");
    assert_int_equal(READ("--count", "1", "--count=2e3"), STAIR_OK);
    assert_true(got.count == 2000); /* the last one counts */
}

static void lists(void **state)
{
    (void)state;
    assert_int_equal(READ("--alpha", "0.5,1,2e1"), STAIR_OK);
    assert_true(got.list.count == 3 && got.list.values[2] == 20);
    assert_int_equal(READ("--alpha", "0:1:0.1"), STAIR_OK);
    assert_true(got.list.count == 11 && fabs(got.list.values[10] - 1) < 1e-15);
    assert_int_equal(READ("--alpha", "3:1:-1"), STAIR_OK);
    assert_true(got.list.count == 3 && got.list.values[2] == 1);
    assert_int_equal(READ("--alpha", "2:2:1"), STAIR_OK);
    assert_true(got.list.count == 1);
    assert_int_equal(READ("--alpha", "1,2", "--alpha", "3"), STAIR_OK);
    assert_true(got.list.count == 1 && got.list.values[0] == 3);
    static const char *const bad[] = {"",      ",",     "1,",      ",1", "1,,2", "nan", "inf", "1:2",
                                      "1:2:0", "2:1:1", "1:2:3:4", "x",  "0x1",  "1 2", NULL};
    for (int i = 0; bad[i]; i++)
        assert_refused(read_words((const char *const[]){"--alpha", bad[i], NULL}), "--alpha needs numbers");
    assert_refused(READ("--alpha", "-1,2"), "between 0 and");
    assert_refused(READ("--alpha", "0:1:1e-9"), "more than");
}

static void texts_repeat(void **state)
{
    (void)state;
    assert_int_equal(READ("--data", "X.npy", "Y.npy", "--set", "skip=0.5,1", "--set=tokens=2,3"), STAIR_OK);
    assert_true(got.data.count == 2 && got.set.count == 2);
    assert_string_equal(got.set.items[1], "tokens=2,3");
    assert_refused(READ("--data", "X.npy"), "needs more values");
    assert_refused(READ("--data=X.npy"), "needs 2 values");
    assert_int_equal(READ("--start", "informed"), STAIR_OK);
    assert_refused(READ("--start", "inform"), "did you mean informed");
}

static void bad_words_are_named(void **state)
{
    (void)state;
    assert_refused(READ("--cuont", "1"), "did you mean --count");
    assert_refused(READ("--count"), "needs a value");
    assert_refused(READ("--count", "--flag"), "needs a value");
    assert_refused(READ("--count="), "integer");
    assert_refused(READ("--count", "1.5"), "integer");
    assert_refused(READ("--count", "99999999999999999999"), "--count");
    assert_refused(READ("--real", "nan"), "finite");
    assert_refused(READ("--real", "1.1"), "between -1 and 1");
    assert_refused(READ("--text="), "empty");
    assert_refused(READ("--flag=1"), "takes no value");
    assert_refused(READ("-flag"), "two dashes");
    assert_refused(READ("a", "b", "c"), "unexpected");
    assert_refused(READ("--=3"), "unknown option");
}

static void values_echo(void **state)
{
    (void)state;
    assert_int_equal(READ("--seed", "18446744073709551615", "--alpha", "1,2", "--set", "a=1"), STAIR_OK);
    char text[64];
    option_to_text(option_find(table, "alpha"), &got, text, sizeof text);
    assert_string_equal(text, "1,2");
    json_t *seed = option_to_json(option_find(table, "seed"), &got),
           *list = option_to_json(option_find(table, "alpha"), &got);
    assert_string_equal(json_string_value(seed), "18446744073709551615");
    assert_int_equal(json_array_size(list), 2);
    json_decref(seed);
    json_decref(list);
}

/* Every name a command lists is in the table, and its defaults lie in range. */
static void commands_and_table_agree(void **state)
{
    (void)state;
    for (const cli_command *const *c = command_table; *c; c++) {
        cli_options defaults = {0};
        assert_ptr_equal(command_find((*c)->name), *c);
        if ((*c)->defaults) (*c)->defaults(&defaults);
        for (const char *const *name = (*c)->options; *name; name++) {
            const cli_option *entry = option_find(option_table, *name);
            if (!entry) fail_msg("%s lists --%s, which is not in the table", (*c)->name, *name);
            const void *field = (const char *)&defaults + entry->offset;
            if (entry->kind == OPTION_DOUBLE)
                assert_true(*(const double *)field >= entry->low && *(const double *)field <= entry->high);
            if (entry->kind == OPTION_INT)
                assert_true((double)*(const int64_t *)field >= entry->low &&
                            (double)*(const int64_t *)field <= entry->high);
            assert_true(entry->kind == OPTION_FLAG || entry->value);
        }
        assert_non_null((*c)->examples);
    }
    int count = 0;
    while (option_table[count].name) count++;
    assert_true(count <= OPTION_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_arrive), cmocka_unit_test(lists),
        cmocka_unit_test(texts_repeat),  cmocka_unit_test(bad_words_are_named),
        cmocka_unit_test(values_echo),   cmocka_unit_test(commands_and_table_agree),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
