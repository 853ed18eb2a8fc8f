/* The parser of the command line, and what the commands make of the tables of options. */
#include "option_json.h"
#include "fixture.h"
#include "command.h"

#include <math.h>
#include <string.h>

typedef struct {
    bool flag;
    int64_t count;
    uint64_t seed;
    double real;
    option_list list;
    const char *text, *start;
    option_texts data, set;
    bool help;
} target;

static const char *const starts[] = {"uninformed", "informed", NULL};
#define AT(name, kind, field) STAIR_OPTION(name, kind, target, field)
static const cli_option table[] = {
    {.is = {AT("flag", FLAG, flag), .text = "a flag"}},
    {.is = {AT("count", INT64, count), .value = "N", .low = 1, .high = 1e12}},
    {.is = {AT("seed", UINT64, seed), .value = "N"}},
    {.is = {AT("real", DOUBLE, real), .value = "X", .low = -1, .high = 1}},
    {.is = {AT("alpha", DOUBLE, list), .value = "LIST", .low = 0, .high = 1e6}, .many = OPTION_LIST},
    {.is = {AT("text", TEXT, text), .value = "TEXT"}},
    {.is = {AT("start", TEXT, start), .value = "NAME", .choices = starts}},
    {.is = {AT("data", PATH, data), .value = "X Y"}, .many = OPTION_TEXTS, .take = 2},
    {.is = {AT("set", TEXT, set), .value = "KEY=LIST"}, .many = OPTION_TEXTS, .take = 1},
    {.is = {AT("help", FLAG, help)}},
    {.is = {0}},
};
static const char *const names[] = {"flag",  "count", "seed", "real", "alpha", "text",
                                    "start", "data",  "set",  "help", NULL};

static target got;
static option_parse parse;

static int close_options(void **state)
{
    options_free(table, &got);
    return close_context(state);
}

static stair_status read_words(const char *const *words)
{
    int argc = 0;
    while (words[argc]) argc++;
    options_free(table, &got);
    got = (target){0};
    parse = (option_parse){.scope = {.command = "test", .names = names, .own = table}, .most = 2};
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
    assert_refused(READ("--start", "inform"),
                   "--start must be uninformed or informed, not 'inform'; did you mean informed");
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
    assert_refused(READ("--real", "1.1"), "--real must be between -1 and 1, not 1.1");
    assert_refused(READ("--text="), "empty");
    assert_refused(READ("--flag=1"), "takes no value");
    assert_refused(READ("-flag"), "two dashes");
    assert_refused(READ("a", "b", "c"), "unexpected");
    assert_refused(READ("--=3"), "unknown option");
}

static void values_echo(void **state)
{
    (void)state;
    assert_int_equal(READ("--seed", "18446744073709551615", "--alpha", "1,2", "--set", "a=1", "--set", "b=2"),
                     STAIR_OK);
    char text[64];
    option_entry alpha = option_of(&parse.scope, "alpha"), number = option_of(&parse.scope, "seed"),
                 grid = option_of(&parse.scope, "set");
    option_to_text(&alpha, &got, text, sizeof text);
    assert_string_equal(text, "1,2");
    json_t *seed = option_to_json(&number, &got), *list = option_to_json(&alpha, &got),
           *sets = option_to_json(&grid, &got), *both = json_pack("[s, s]", "a=1", "b=2");
    assert_string_equal(json_string_value(seed), "18446744073709551615");
    assert_int_equal(json_array_size(list), 2);
    assert_true(json_equal(sets, both));
    json_decref(seed);
    json_decref(list);
    json_decref(sets);
    json_decref(both);
}

static void dash_h_is_help(void **state)
{
    (void)state;
    assert_int_equal(READ("word", "-h"), STAIR_OK);
    assert_true(got.help && option_given(&parse, "help"));
    assert_int_equal(READ("--", "-h"), STAIR_OK);
    assert_false(got.help);
    for (const cli_command *const *c = command_table; *c; c++) {
        cli_options options = {0};
        option_parse asked = {.scope = command_scope(*c)};
        char dash[] = "-h", *words[] = {dash};
        assert_int_equal(options_read(context, &asked, 1, words, &options), STAIR_OK);
        assert_true(options.help);
    }
}

static const void *field_of(const option_entry *entry, const cli_options *options)
{
    return (const char *)options + entry->base + entry->is->offset;
}

/* Every name a command lists is an option, and its default is one that may be given. */
static void commands_and_tables_agree(void **state)
{
    (void)state;
    for (const cli_command *const *c = command_table; *c; c++) {
        option_scope scope = command_scope(*c);
        cli_options defaults;
        int count = 0;
        assert_ptr_equal(command_find((*c)->name), *c);
        command_defaults(*c, &defaults);
        for (const char *const *table_name = (*c)->tables; table_name && *table_name; table_name++)
            assert_non_null(stair_options_find(*table_name));
        for (const char *const *name = (*c)->options; *name; name++, count++) {
            option_entry entry = option_of(&scope, *name);
            if (!entry.is) fail_msg("%s lists --%s, which is in no table", (*c)->name, *name);
            assert_string_equal(entry.is->name, *name);
            assert_true(entry.is->kind == STAIR_OPTION_FLAG || entry.is->value);
            bool empty =
                entry.is->kind == STAIR_OPTION_TEXT && !*(const char *const *)field_of(&entry, &defaults);
            if (option_many(&entry) == OPTION_ONE && !empty &&
                stair_option_check(context, entry.is, (const char *)&defaults + entry.base) != STAIR_OK)
                fail_msg("%s: default of %s", (*c)->name, stair_context_message(context));
        }
        assert_true(count <= OPTION_MOST);
        assert_non_null((*c)->examples);
    }
}

/* Flags of the library go straight into the library's structs, whatever the command calls them. */
static void flags_reach_the_library(void **state)
{
    (void)state;
    static const struct {
        const char *command, *word;
        size_t field;
        double value;
    } cases[] = {
        {"threshold", "--samples=4096", offsetof(cli_options, asymptotics.points), 4096},
        {"evolve", "--samples=1e5", offsetof(cli_options, asymptotics.points), 1e5},
        {"figure", "--samples=7", offsetof(cli_options, asymptotics.points), 7},
        {"channel", "--max-nodes=300", offsetof(cli_options, channel.max_nodes), 300},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cli_options options;
        option_parse one = {.scope = command_scope(command_find(cases[i].command))};
        char word[64], *words[] = {word};
        snprintf(word, sizeof word, "%s", cases[i].word);
        command_defaults(command_find(cases[i].command), &options);
        assert_int_equal(options_read(context, &one, 1, words, &options), STAIR_OK);
        assert_true((double)*(int64_t *)((char *)&options + cases[i].field) == cases[i].value);
    }
}

/* One name, other meanings: what a command alone has, and lists, come first. */
static void names_by_command(void **state)
{
    (void)state;
    option_scope amp = command_scope(command_find("amp")), sgd = command_scope(command_find("sgd")),
                 threshold = command_scope(command_find("threshold")),
                 channel = command_scope(command_find("channel"));
    assert_int_equal(option_of(&amp, "logits").is->kind, STAIR_OPTION_FLAG);
    assert_int_equal(option_of(&channel, "logits").is->kind, STAIR_OPTION_PATH);
    option_entry alpha = option_of(&sgd, "alpha");
    assert_int_equal(option_many(&alpha), OPTION_LIST);
    assert_null(option_of(&amp, "checkpoint").own);
    assert_non_null(option_of(&threshold, "checkpoint").own);
    assert_non_null(option_of(&amp, "samples").own);
    assert_null(option_of(&threshold, "samples").own);
    assert_null(option_of(&threshold, "vocabulary").is);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_arrive),
        cmocka_unit_test(lists),
        cmocka_unit_test(texts_repeat),
        cmocka_unit_test(bad_words_are_named),
        cmocka_unit_test(values_echo),
        cmocka_unit_test(dash_h_is_help),
        cmocka_unit_test(commands_and_tables_agree),
        cmocka_unit_test(flags_reach_the_library),
        cmocka_unit_test(names_by_command),
    };
    return cmocka_run_group_tests(tests, open_context, close_options);
}
