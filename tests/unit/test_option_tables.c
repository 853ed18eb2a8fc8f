/* The tables of options of the library: each is complete, and does what it says to every field it names. */
#include "average/average.h"
#include "fixture.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static union {
    double align;
    char bytes[1024];
} room;
static char name_of[128];

static void assert_says(const char *part)
{
    if (!strstr(stair_context_message(context), part))
        fail_msg("%s: '%s' lacks '%s'", name_of, stair_context_message(context), part);
}

/* Calls `test` for every option of every table, its struct filled with defaults in `room`. */
static void for_all(void (*test)(const stair_options_table *table, const stair_option *option))
{
    const stair_options_table *table;
    int options = 0;
    for (int i = 0; (table = stair_options_at(i)); i++)
        for (const stair_option *option = table->options; option->name; option++, options++) {
            assert_true(table->size <= sizeof room.bytes);
            memset(room.bytes, 0x5a, sizeof room.bytes);
            table->defaults(room.bytes);
            snprintf(name_of, sizeof name_of, "%s %s", table->name, option->name);
            test(table, option);
        }
    assert_true(options > 90);
}

static void tables_are_found(void **state)
{
    (void)state;
    static const char *const names[] = {"points",      "channel", "diagnose",  "asymptotics", "gamp",
                                        "gamp-theory", "sgd",     "questions", "train"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const stair_options_table *table = stair_options_find(names[i]);
        assert_non_null(table);
        assert_ptr_equal(table, stair_options_at((int)i));
    }
    assert_null(stair_options_at(sizeof names / sizeof *names));
    assert_null(stair_options_at(-1));
    assert_null(stair_options_find("gam"));
}

/* Descent and the classifier are those of the paper unless asked otherwise; docs/training.md has the numbers.
 */
static void defaults_are_those_of_the_paper(void **state)
{
    (void)state;
    stair_sgd_options s = stair_sgd_defaults();
    assert_true(s.dim == 500 && s.alpha == 15 && s.rate == 15 && s.weight_decay == -1 && s.coupled);
    assert_true(s.start == 0.9 && s.batch == 200 && s.repeat == 3 && s.epochs == 1700 && s.test == 2000);
    assert_true(s.points == 8 && s.settle == 0.5 && s.seeds == 1 && s.seed == 1 && s.checkpoint_every == 30);
    stair_questions_options q = stair_questions_defaults();
    assert_int_equal(q.longest, 32);
    assert_string_equal(q.classes, "ABBR,DESC,ENTY,HUM,LOC,NUM");
    stair_train_options t = stair_train_defaults();
    assert_true(t.dim == 128 && t.rank == 64 && t.layers == 2 && t.start == 1e-4 && t.rate == 5e-5);
    assert_true(t.beta1 == 0.9 && t.beta2 == 0.999 && t.epsilon == 1e-8 && t.weight_decay == 0.01);
    assert_true(t.batch == 16 && t.epochs == 40 && t.validation == 0.2 && t.points == 10);
    assert_true(t.settle == 0.9 && t.runs == 1 && t.seed == 1 && t.checkpoint_every == 60);
}

static size_t size_of_kind(stair_option_kind kind)
{
    const size_t sizes[STAIR_OPTION_KINDS] = {
        [STAIR_OPTION_FLAG] = sizeof(bool),     [STAIR_OPTION_EITHER] = sizeof(bool),
        [STAIR_OPTION_INT] = sizeof(int),       [STAIR_OPTION_INT64] = sizeof(int64_t),
        [STAIR_OPTION_SIZE] = sizeof(size_t),   [STAIR_OPTION_UINT64] = sizeof(uint64_t),
        [STAIR_OPTION_DOUBLE] = sizeof(double), [STAIR_OPTION_TEXT] = sizeof(char *),
        [STAIR_OPTION_PATH] = sizeof(char *),
    };
    return sizes[kind];
}

static bool has_range(const stair_option *option)
{
    return option->kind == STAIR_OPTION_INT || option->kind == STAIR_OPTION_INT64 ||
           option->kind == STAIR_OPTION_SIZE || option->kind == STAIR_OPTION_DOUBLE;
}

static void check_description(const stair_options_table *table, const stair_option *option)
{
    for (const char *c = option->name; *c; c++) assert_true(islower(*c) || isdigit(*c) || *c == '-');
    for (const stair_option *other = table->options; other < option; other++) {
        assert_string_not_equal(other->name, option->name);
        assert_true(other->offset + other->size <= option->offset ||
                    option->offset + option->size <= other->offset);
    }
    assert_ptr_equal(stair_option_find(table, option->name), option);
    if (!option->text || !*option->text || strlen(option->text) >= 80) fail_msg("%s: its text", name_of);
    assert_true(option->size == size_of_kind(option->kind));
    assert_true(option->offset + option->size <= table->size);
    assert_non_null(option->field);
    assert_true((option->value == NULL) == (option->kind == STAIR_OPTION_FLAG));
    if (has_range(option) && !(option->low < option->high)) fail_msg("%s: its range", name_of);
    if (option->kind == STAIR_OPTION_INT) assert_true(option->high <= INT_MAX && option->low >= INT_MIN);
    if (option->kind == STAIR_OPTION_EITHER)
        assert_true(stair_option_choice(option, 1) && !stair_option_choice(option, 2));
}

/* Between the fields that rows name there is only padding, less than the alignment of what follows: a field
 * without a row would have no flag, no keyword and no check. */
static void tables_cover_their_structs(void **state)
{
    (void)state;
    const stair_options_table *table;
    for (int i = 0; (table = stair_options_at(i)); i++) {
        size_t last = 0;
        for (const stair_option *option = table->options; option->name; option++) {
            size_t before = 0, end = option->offset + option->size;
            for (const stair_option *other = table->options; other->name; other++)
                if (other->offset < option->offset && other->offset + other->size > before)
                    before = other->offset + other->size;
            if (option->offset - before >= option->size)
                fail_msg("%s: a field before %s has no option", table->name, option->name);
            if (end > last) last = end;
        }
        if (table->size - last >= sizeof(double)) fail_msg("%s: its last field has no option", table->name);
    }
}

static void check_default(const stair_options_table *table, const stair_option *option)
{
    (void)option;
    if (stair_options_check(context, table, room.bytes) != STAIR_OK)
        fail_msg("%s: default of %s", name_of, stair_context_message(context));
}

/* What is printed is read back, to the bit. */
static void check_round_trip(const stair_options_table *table, const stair_option *option)
{
    char text[256], again[256];
    char *field = room.bytes + option->offset, before[16];
    memcpy(before, field, option->size);
    assert_int_equal(stair_options_get(context, table, room.bytes, option->name, text, sizeof text),
                     STAIR_OK);
    if (!*text) return; /* no file, no text */
    memset(field, 0, option->size);
    if (stair_options_set(context, table, room.bytes, option->name, text) != STAIR_OK)
        fail_msg("%s: '%s' is refused: %s", name_of, text, stair_context_message(context));
    stair_option_get(option, room.bytes, again, sizeof again);
    assert_string_equal(text, again);
    if (option->kind != STAIR_OPTION_TEXT) assert_memory_equal(before, field, option->size);
}

static void refuse(const stair_options_table *table, const stair_option *option, const char *text,
                   const char *reason)
{
    char before[sizeof room.bytes];
    memcpy(before, room.bytes, sizeof before);
    if (stair_options_set(context, table, room.bytes, option->name, text) != STAIR_BAD_INPUT)
        fail_msg("%s: '%s' is accepted", name_of, text);
    assert_says(option->name);
    assert_says(reason);
    assert_memory_equal(before, room.bytes, sizeof before);
}

/* Ends that are allowed are, ends that are not are not, and beyond nothing is. */
static void check_range(const stair_options_table *table, const stair_option *option)
{
    if (!has_range(option)) return;
    char range[128], text[64];
    bool real = option->kind == STAIR_OPTION_DOUBLE;
    stair_option_range(option, range, sizeof range);
    for (int side = 0; side < 2; side++) {
        double end = side ? option->high : option->low, away = side ? 1 : -1;
        double beyond = real ? nextafter(end, away * INFINITY) : end + away;
        snprintf(text, sizeof text, "%.17g", end);
        if (side ? option->below : option->above)
            refuse(table, option, text, range);
        else
            assert_int_equal(stair_option_set(context, option, room.bytes, text), STAIR_OK);
        snprintf(text, sizeof text, real ? "%.17g" : "%.0f", beyond);
        refuse(table, option, text, range);
        if (real) continue;
        refuse(table, option, "1.5", "an integer");
    }
    refuse(table, option, "nan", "needs");
    refuse(table, option, "", "needs");
    refuse(table, option, "1 ", "needs");
}

/* Values that a C program puts there itself. */
static void check_field(const stair_options_table *table, const stair_option *option)
{
    char range[128];
    char *field = room.bytes + option->offset;
    stair_option_range(option, range, sizeof range);
    if (option->kind == STAIR_OPTION_DOUBLE) {
        const double bad[] = {NAN, INFINITY, -INFINITY, 2 * option->high};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            memcpy(field, &bad[i], sizeof bad[i]);
            assert_int_equal(stair_options_check(context, table, room.bytes), STAIR_BAD_INPUT);
            assert_says(option->name);
            assert_says(range);
            char value[32];
            snprintf(value, sizeof value, "not %.15g", bad[i]);
            assert_says(value);
        }
    } else if (option->kind == STAIR_OPTION_INT) {
        int bad = (int)option->low - 1;
        memcpy(field, &bad, sizeof bad);
        assert_int_equal(stair_options_check(context, table, room.bytes), STAIR_BAD_INPUT);
        assert_says(range);
    } else if (option->kind == STAIR_OPTION_TEXT && !option->optional) {
        const char *none = NULL;
        memcpy(field, &none, sizeof none);
        assert_int_equal(stair_options_check(context, table, room.bytes), STAIR_BAD_INPUT);
        assert_says(option->name);
    }
}

static void check_choices(const stair_options_table *table, const stair_option *option)
{
    for (int i = 0; stair_option_choice(option, i); i++)
        assert_int_equal(stair_option_set(context, option, room.bytes, stair_option_choice(option, i)),
                         STAIR_OK);
    if (stair_option_choice(option, 0)) {
        refuse(table, option, "zzzzzzzz", stair_option_choice(option, 1));
        refuse(table, option, "", "needs a value");
    }
    if (option->kind != STAIR_OPTION_FLAG) return;
    assert_int_equal(stair_option_set(context, option, room.bytes, "yes"), STAIR_OK);
    assert_true(*(bool *)(room.bytes + option->offset));
    assert_int_equal(stair_option_set(context, option, room.bytes, "no"), STAIR_OK);
    assert_false(*(bool *)(room.bytes + option->offset));
    refuse(table, option, "maybe", "yes or no");
}

#define ALL(test)                                                                                            \
    static void test##_of_all(void **state)                                                                  \
    {                                                                                                        \
        (void)state;                                                                                         \
        for_all(test);                                                                                       \
    }
ALL(check_description)
ALL(check_default)
ALL(check_round_trip)
ALL(check_range)
ALL(check_field)
ALL(check_choices)

static void names_are_explained(void **state)
{
    (void)state;
    stair_gamp_options o = stair_gamp_defaults();
    const stair_options_table *gamp = stair_options_find("gamp");
    char text[32];
    assert_int_equal(stair_options_set(context, gamp, &o, "max-iteration", "3"), STAIR_BAD_INPUT);
    assert_says("did you mean max-iterations?");
    assert_int_equal(stair_options_get(context, gamp, &o, "zzzzzzzzz", text, sizeof text), STAIR_BAD_INPUT);
    assert_int_equal(stair_options_set(context, gamp, &o, "max-iterations", "1e2"), STAIR_OK);
    assert_int_equal(o.max_iterations, 100);
    stair_option_get(stair_option_find(gamp, "max-iterations"), &o, text, 3); /* cut, and ended */
    assert_string_equal(text, "10");
    assert_int_equal(stair_options_set(context, gamp, &o, "variant", "ful"), STAIR_BAD_INPUT);
    assert_says("did you mean full?");
}

/* The choices of the channel's method are the rules there are. */
static void methods_are_rules(void **state)
{
    (void)state;
    const stair_option *method = stair_option_find(stair_options_find("channel"), "method");
    int count = 0;
    assert_string_equal(stair_option_choice(method, 0), "auto");
    for (; stair_channel_method_name(count); count++)
        assert_string_equal(stair_option_choice(method, count + 1), stair_channel_method_name(count));
    assert_null(stair_option_choice(method, count + 1));
    assert_true(count >= 5);
    method = stair_option_find(stair_options_find("asymptotics"), "method");
    assert_string_equal(stair_option_choice(method, 0), "auto");
    for (count = 0; stair_average_rules[count]; count++)
        assert_string_equal(stair_option_choice(method, count + 1), stair_average_rules[count]->name);
    assert_null(stair_option_choice(method, count + 1));
}

/* What no range of one field can say. */
static void fields_together(void **state)
{
    (void)state;
    stair_points_options points = stair_points_defaults();
    points.cov_low = 0.5, points.cov_high = 0.1;
    assert_int_equal(stair_points_check(context, &points), STAIR_BAD_INPUT);
    stair_gamp_options gamp = stair_gamp_defaults();
    gamp.alpha = 1e9, gamp.dim = 1 << 24;
    assert_int_equal(stair_gamp_check(context, &gamp), STAIR_BAD_INPUT);
    assert_says("alpha * dim");
    gamp = stair_gamp_defaults();
    gamp.side = gamp.start_overlap = 0.1;
    assert_int_equal(stair_gamp_check(context, &gamp), STAIR_BAD_INPUT);
    gamp = stair_gamp_defaults();
    gamp.variant = "bp", gamp.dim = 10000;
    assert_int_equal(stair_gamp_check(context, &gamp), STAIR_BAD_INPUT);
    assert_says("alpha * dim^2");
    gamp = stair_gamp_defaults();
    gamp.resume = true;
    assert_int_equal(stair_gamp_check(context, &gamp), STAIR_BAD_INPUT);
    assert_says("checkpoint");
    stair_sgd_options sgd = stair_sgd_defaults();
    sgd.alpha = 1e6, sgd.dim = 10000;
    assert_int_equal(stair_sgd_check(context, &sgd), STAIR_BAD_INPUT);
    assert_says("alpha * dim");
    stair_train_options train = stair_train_defaults();
    train.rate = 1, train.weight_decay = 1;
    assert_int_equal(stair_train_check(context, &train), STAIR_BAD_INPUT);
    assert_says("weight-decay must be");
    train = stair_train_defaults();
    train.epochs = 1 << 20, train.points = 10000;
    assert_int_equal(stair_train_check(context, &train), STAIR_BAD_INPUT);
    assert_says("epochs * records");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_found),         cmocka_unit_test(defaults_are_those_of_the_paper),
        cmocka_unit_test(check_description_of_all), cmocka_unit_test(tables_cover_their_structs),
        cmocka_unit_test(check_default_of_all),     cmocka_unit_test(check_round_trip_of_all),
        cmocka_unit_test(check_range_of_all),       cmocka_unit_test(check_field_of_all),
        cmocka_unit_test(check_choices_of_all),     cmocka_unit_test(names_are_explained),
        cmocka_unit_test(methods_are_rules),        cmocka_unit_test(fields_together),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
