/* Exponents of links whose Hermite coefficients are known by hand. */
#include "assert_close.h"
#include "stair.h"

#include <math.h>
#include <string.h>

static stair_context *context;

static void exponents(const char *spec, int degree, stair_exponent *list)
{
    stair_model *model;
    if (stair_model_create(context, spec, &model) != STAIR_OK ||
        stair_exponents(context, model, degree, 1, list) != STAIR_OK)
        fail_msg("%s: %s", spec, stair_context_message(context));
    stair_model_destroy(&model);
}

static void is(stair_exponent_of of, int exponent, int leap, int stage, const char *term, double coefficient)
{
    assert_int_equal(of.exponent, exponent);
    assert_int_equal(of.leap, leap);
    assert_int_equal(of.stage, stage);
    assert_string_equal(of.term, term);
    if (isnan(coefficient)) return;
    assert_true(of.error < 0.01 * fabs(coefficient));
    assert_close(of.coefficient, coefficient, 5 * of.error);
}

/* z1^2 = 1 + sqrt 2 h_2; E|z|^3 = (2/pi)^(3/2) for the parity; one known, two are left to learn. */
static void staircase(void **state)
{
    stair_exponent list[3];
    (void)state;
    exponents("staircase", 4, list);
    is(list[0].information, 2, 2, 1, "z1^2", sqrt(2));
    is(list[0].generative, 2, 2, 1, "z1^2", NAN);
    for (int i = 1; i < 3; i++) {
        is(list[i].information, 3, 2, 2, "z1 z2 z3", pow(M_2_PI, 1.5));
        is(list[i].generative, 3, 2, 2, "z1 z2 z3", NAN);
    }
}

/* Two labels: E[h|y] = y E|h|, its square (2/pi)^3. */
static void parity(void **state)
{
    stair_exponent list[3];
    (void)state;
    exponents("parity:indices=3", 4, list);
    for (int i = 0; i < 3; i++) {
        is(list[i].information, 3, 3, 1, "z1 z2 z3", pow(M_2_PI, 1.5));
        is(list[i].generative, 3, 3, 1, "z1 z2 z3", pow(M_2_PI, 3));
    }
    exponents("parity:indices=3", 2, list);
    assert_int_equal(list[0].information.exponent, 0);
    assert_int_equal(list[0].generative.leap, 0);
}

/* A function of the label helps where the label itself does not: He_3 has a mean of z given its value. */
static void a_cubic(void **state)
{
    stair_exponent list[1];
    (void)state;
    exponents("expr:z1^3-3*z1", 4, list);
    is(list[0].information, 3, 3, 1, "z1^3", sqrt(6));
    is(list[0].generative, 1, 1, 1, "z1", NAN);
}

/* z1 + z1 z2 + z1 z2 z3: one after the other; only the pair of labels tells of z2. */
static void one_after_the_other(void **state)
{
    stair_exponent list[3];
    (void)state;
    exponents("expr:z1+z1*z2+z1*z2*z3", 3, list);
    is(list[0].information, 1, 1, 1, "z1", 1);
    is(list[1].information, 2, 1, 2, "z1 z2", 1);
    is(list[2].information, 3, 1, 3, "z1 z2 z3", 1);
    exponents("expr:sign(z1);sign(z1*z2)", 3, list);
    is(list[1].information, 2, 1, 2, "z1 z2", M_2_PI);
    is(list[1].generative, 1, 1, 1, "z2", M_2_PI);
}

/* Tokens have their own numbers; the sum over them is not learned by a mean. */
static void tokens(void **state)
{
    stair_exponent list[1];
    (void)state;
    exponents("expr:z1_1*z1_2", 4, list);
    is(list[0].information, 2, 2, 1, "z1_1 z1_2", 1);
}

static void refusals(void **state)
{
    stair_exponent list[16];
    stair_model *model;
    (void)state;
    assert_int_equal(stair_model_create(context, "square:tokens=9", &model), STAIR_OK);
    assert_int_equal(stair_exponents(context, model, 2, 1, list), STAIR_UNSUPPORTED);
    assert_non_null(strstr(stair_context_message(context), "at most 8 numbers of Z, not 9"));
    stair_model_destroy(&model);
    assert_int_equal(stair_model_create(context, "square", &model), STAIR_OK);
    assert_int_equal(stair_exponents(context, model, 9, 1, list), STAIR_BAD_INPUT);
    stair_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(staircase),           cmocka_unit_test(parity), cmocka_unit_test(a_cubic),
        cmocka_unit_test(one_after_the_other), cmocka_unit_test(tokens), cmocka_unit_test(refusals),
    };
    if (stair_context_create(&context) != STAIR_OK) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stair_context_destroy(&context);
    return failed;
}
