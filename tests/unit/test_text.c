/* "Did you mean": slips are forgiven, strangers are not. */
#include "core/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const char *const words[] = {"layers",    "tokens",          "rank", "skip", "activation",
                                    "attention", "attention-limit", NULL};

static void slips_are_forgiven(void **state)
{
    (void)state;
    assert_string_equal(stair_closest("layer", words), "layers");
    assert_string_equal(stair_closest("lyaers", words), "layers"); /* swap */
    assert_string_equal(stair_closest("toknes", words), "tokens");
    assert_string_equal(stair_closest("Rank", words), "rank"); /* case */
    assert_string_equal(stair_closest("actvation", words), "activation");
    assert_string_equal(stair_closest("attenton", words), "attention");
    assert_string_equal(stair_closest("act", words), "activation"); /* cut short */
}

/* Two neighbours exchanged are one slip, so nearer than two letters that are wrong. */
static void exchanged_letters_are_one_slip(void **state)
{
    (void)state;
    static const char *const end[] = {"abxy", "abcd", NULL}, *const begin[] = {"xycd", "abcd", NULL};
    assert_string_equal(stair_closest("abdc", end), "abcd");
    assert_string_equal(stair_closest("bacd", begin), "abcd");
    /* and not nearer than one letter that is wrong */
    static const char *const one[] = {"abce", "abdc", NULL};
    assert_string_equal(stair_closest("abcd", one), "abce");
}

static void strangers_are_not(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    char longer[200];
    assert_null(stair_closest("zzzzzz", words));
    assert_null(stair_closest("", words));
    assert_null(stair_closest("x", words));
    static const char *const letters[] = {"y", "x", NULL};
    assert_string_equal(stair_closest("x", letters), "x");
    static const char *const letter[] = {"y", NULL};
    assert_null(stair_closest("x", letter)); /* nothing of the word is left */
    assert_null(stair_closest("layers", none));
    for (size_t i = 0; i < sizeof longer - 1; i++) longer[i] = 'a';
    longer[sizeof longer - 1] = 0;
    assert_null(stair_closest(longer, words));
}

static void the_word_itself_is_nearest(void **state)
{
    (void)state;
    for (int i = 0; words[i]; i++) assert_string_equal(stair_closest(words[i], words), words[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_are_forgiven),
        cmocka_unit_test(exchanged_letters_are_one_slip),
        cmocka_unit_test(strangers_are_not),
        cmocka_unit_test(the_word_itself_is_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
