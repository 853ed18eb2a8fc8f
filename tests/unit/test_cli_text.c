/* Texts of the program: shortest numbers, ranges in decimals, keys of MODEL strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "plain.h"
#include "spec.h"
#include "stair.h"

static void shortest(void **state)
{
    (void)state;
    char text[NUMBER_MOST];
    assert_string_equal(number_text(0.15, text), "0.15");
    assert_string_equal(number_text(0.1 + 0.05, text), "0.15000000000000002");
    assert_string_equal(number_text(1e-5, text), "1e-05");
    assert_string_equal(number_text(5e-324, text), "5e-324");
    assert_string_equal(number_text(3, text), "3");
    assert_string_equal(number_text(-NAN, text), "nan");
    assert_string_equal(number_text(-INFINITY, text), "-inf");
    for (uint64_t i = 1; i < 2000; i++) {
        double value = ldexp((double)(i * 0x9E3779B97F4A7C15u >> 11), (int)(i % 200) - 150);
        assert_true(strtod(number_text(value, text), NULL) == value);
    }
}

/* Every number of a range is the one that its decimal reads as. */
static void ranges(void **state)
{
    (void)state;
    char text[32];
    for (int i = 0; i <= 400; i++) {
        snprintf(text, sizeof text, "%d.%02d", i / 20, i % 20 * 5);
        assert_true(number_on_grid("0", "0.05", (double[]){0, 0.05}, (size_t)i) == strtod(text, NULL));
        snprintf(text, sizeof text, "%d.%d", (i + 1) / 10, (i + 1) % 10);
        assert_true(number_on_grid("0.1", "1e-1", (double[]){0.1, 0.1}, (size_t)i) == strtod(text, NULL));
    }
    for (int i = 0; i <= 400; i++) { /* fifteen digits in all are the most that a double is sure to hold */
        snprintf(text, sizeof text, "0.%d%012d", 100 + i / 1000, i);
        assert_true(number_on_grid("0.1", "1e-15", (double[]){0.1, 1e-15}, (size_t)i) == strtod(text, NULL));
        snprintf(text, sizeof text, "1.%014d", i);
        assert_true(number_on_grid("1", "1e-14", (double[]){1, 1e-14}, (size_t)i) == strtod(text, NULL));
    }
    assert_true(number_on_grid("3e-7", "1e-7", (double[]){3e-7, 1e-7}, 4) == 7e-7);
    assert_true(number_on_grid("-0.1", "0.1", (double[]){-0.1, 0.1}, 1) == 0);
    assert_false(signbit(number_on_grid("-0.1", "0.1", (double[]){-0.1, 0.1}, 1)));
    assert_true(number_on_grid("1e300", "1e299", (double[]){1e300, 1e299}, 1) == 1e300 + 1e299);
    assert_true(number_on_grid("1", "1e-18", (double[]){1, 1e-18}, 3) == 1 + 3e-18);
}

static void keys(void **state)
{
    (void)state;
    char text[SPEC_MOST];
    const char *spec = "attention:layers=2,tokens=3,rank=1+2";
    assert_true(spec_value(spec, "tokens", text));
    assert_string_equal(text, "3");
    assert_true(spec_value(spec, "rank", text));
    assert_string_equal(text, "1+2");
    assert_false(spec_value(spec, "ran", text));
    assert_int_equal(spec_model("unheard:tokens=1"), -1);
    assert_string_equal(stair_model_name(spec_model("square:tokens=2")), "square");
    char *other = spec_with(spec, "tokens", "10");
    assert_string_equal(other, "attention:layers=2,tokens=10,rank=1+2");
    free(other);
    other = spec_with("square", "tokens", "10");
    assert_string_equal(other, "square:tokens=10");
    free(other);
}

/* A first value that stands alone belongs to the first key; commas in parentheses separate nothing. */
static void positional(void **state)
{
    (void)state;
    const char *spec = "expr:max(z1,z2)=1,tokens=2", *value;
    size_t length;
    assert_ptr_equal(spec_item(spec, "formula", "formula", &value, &length), spec + 5);
    assert_ptr_equal(value, spec + 5);
    assert_int_equal(length, strlen("max(z1,z2)=1"));
    assert_non_null(spec_item(spec, "formula", "tokens", &value, &length));
    assert_int_equal(length, 1);
    assert_int_equal(*value, '2');
    assert_null(spec_item(spec, "formula", "noise", &value, &length));
    spec = "expr:formula=z1,tokens=2";
    assert_non_null(spec_item(spec, "formula", "formula", &value, &length));
    assert_int_equal(length, 2);
    assert_null(spec_item("attention:layers=2", NULL, "tokens", &value, &length));
    /* a key that is none, over the end of an item */
    assert_null(spec_item("attention:layers=2,skip=1", NULL, "layers=2,skip", &value, &length));
    assert_null(spec_item("attention:a,b=2", NULL, "a,b", &value, &length));
}

static void without_defaults(void **state)
{
    (void)state;
    char text[SPEC_MOST];
    assert_string_equal(spec_short("square:tokens=1,noise=0,prenoise=0", text), "square");
    assert_string_equal(spec_short("square:tokens=2,noise=0,prenoise=0.1", text),
                        "square:tokens=2,prenoise=0.1");
    assert_string_equal(spec_short("unheard", text), "unheard");
}

/* The first and the last character of every length, those on either side, and what ends too early. */
static void utf8_is_that_of_the_standard(void **state)
{
    static const struct {
        const char *text, *plain;
        bool good;
    } cases[] = {
        {"", "", true},
        {"a b~", "a b~", true},
        {"\x1f\x7f", "??", true},
        {"\xc2\x80\xc2\x9f\xc2\xa0", "??\xc2\xa0", true}, /* controls up to U+009F */
        {"\xc2\x80", "?", true},
        {"\xc1\xbf", "??", false}, /* U+007F in two bytes */
        {"\xdf\xbf\xe0\xa0\x80", "\xdf\xbf\xe0\xa0\x80", true},
        {"\xe0\x9f\xbf", "???", false},
        {"\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80", true}, /* around the surrogates */
        {"\xed\xa0\x80", "???", false},
        {"\xed\xbf\xbf", "???", false},
        {"\xef\xbf\xbf\xf0\x90\x80\x80", "\xef\xbf\xbf\xf0\x90\x80\x80", true},
        {"\xf0\x8f\xbf\xbf", "????", false},
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf", true},
        {"\xf4\x90\x80\x80", "????", false},
        {"\xf8\x88\x80\x80\x80", "?????", false},
        {"\x80", "?", false},
        {"\xbf", "?", false},
        {"\xe2\x82", "??", false},
        {"\xe2\x82x", "??x", false},
        {"\xc3", "?", false},
        {"\xf0\x9f\x98", "???", false},
        {"x\xc3\xa9y", "x\xc3\xa9y", true},
        {"\xc3\xc0", "??", false},
        {"\xe2\x02\xac", "???", false},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char *copy = plain_copy(cases[k].text), *written = NULL;
        size_t size = 0;
        FILE *to = open_memstream(&written, &size);
        plain_write(to, cases[k].text);
        fclose(to);
        if (plain_is_utf8(cases[k].text) != cases[k].good) fail_msg("case %zu: UTF-8 or not", k);
        if (strcmp(copy, cases[k].plain)) fail_msg("case %zu: '%s'", k, copy);
        if (strcmp(written, cases[k].plain)) fail_msg("case %zu: '%s' is written", k, written);
        free(copy);
        free(written);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shortest),
        cmocka_unit_test(ranges),
        cmocka_unit_test(keys),
        cmocka_unit_test(positional),
        cmocka_unit_test(without_defaults),
        cmocka_unit_test(utf8_is_that_of_the_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
