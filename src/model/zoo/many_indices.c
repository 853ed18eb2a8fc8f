/* Several indices, a formula for every token.
 *
 *   norm2           sum_k z_k^2
 *   product         prod_k z_k
 *   parity          sign(prod_k z_k)              Troiani et al., arXiv:2405.15480
 *   committee       sign(sum_k sign z_k), 0 a label of its own        Aubin et al., arXiv:1806.05451
 *   soft-committee  sum_k erf(z_k / sqrt 2)       Saad and Solla, Phys. Rev. Lett. 74, 4337 (1995)
 *   staircase       z_1^2 + sign(z_1 z_2 z_3)     Troiani et al., arXiv:2405.15480
 */
#include <stdio.h>

#include "model/zoo/zoo.h"

#define KEYS(count)                                                                                          \
    {                                                                                                        \
        {"indices", count, "P, up to 8"}, STAIR_KEY_TOKENS("1"), STAIR_KEY_NOISE, STAIR_KEY_PRENOISE,        \
        {                                                                                                    \
            NULL, NULL, NULL                                                                                 \
        }                                                                                                    \
    }

static const stair_model_key keys[] = KEYS("2"), committee_keys[] = KEYS("3"),
                             staircase_keys[] = {STAIR_KEY_TOKENS("1"),
                                                 STAIR_KEY_NOISE,
                                                 STAIR_KEY_PRENOISE,
                                                 {NULL, NULL, NULL}};

/* The terms of a formula for values[0] indices. */
static stair_status create(stair_context *context, stair_model *model, const char *const *values,
                           const char *before, const char *pattern, const char *joint, const char *after)
{
    int count;
    char text[STAIR_ZOO_TEXT];
    STAIR_TRY(stair_key_integer(context, "indices", values[0], 1, STAIR_FORMULA_CELLS, &count));
    stair_zoo_terms(count, before, pattern, joint, after, text);
    return stair_formula_create(context, model, text, count);
}

#define TERMS(function, before, pattern, joint, after)                                                       \
    static stair_status function(stair_context *context, stair_model *model, const char *const *values)      \
    {                                                                                                        \
        return create(context, model, values, before, pattern, joint, after);                                \
    }
TERMS(create_norm2, "", "z#^2", "+", "")
TERMS(create_product, "", "z#", "*", "")
TERMS(create_parity, "sign(", "z#", "*", ")")
TERMS(create_committee, "sign(", "sign(z#)", "+", ")")
TERMS(create_soft, "", "erf(z#*0.70710678118654752)", "+", "")

static stair_status create_staircase(stair_context *context, stair_model *model, const char *const *values)
{
    (void)values;
    return stair_formula_create(context, model, "z1^2+sign(z1*z2*z3)", 3);
}

const stair_model_ops stair_norm2_ops = {.name = "norm2",
                                         .summary = "squared norm of P indices, for every token",
                                         .formula = "y_m = sum_k Z_km^2",
                                         .example = "norm2:indices=2",
                                         .keys = keys,
                                         .create = create_norm2,
                                         STAIR_FORMULA_OPS};
const stair_model_ops stair_product_ops = {.name = "product",
                                           .summary = "product of P indices, for every token",
                                           .formula = "y_m = prod_k Z_km",
                                           .example = "product:indices=2",
                                           .keys = keys,
                                           .create = create_product,
                                           STAIR_FORMULA_OPS};
const stair_model_ops stair_parity_ops = {.name = "parity",
                                          .summary = "sign of the product of P indices, for every token",
                                          .formula = "y_m = sign(prod_k Z_km)",
                                          .example = "parity:indices=3",
                                          .keys = keys,
                                          .create = create_parity,
                                          STAIR_FORMULA_OPS};
const stair_model_ops stair_committee_ops = {.name = "committee",
                                             .summary = "majority vote of P perceptrons, 0 where they tie",
                                             .formula = "y_m = sign(sum_k sign(Z_km))",
                                             .example = "committee:indices=3",
                                             .keys = committee_keys,
                                             .create = create_committee,
                                             STAIR_FORMULA_OPS};
const stair_model_ops stair_soft_committee_ops = {.name = "soft-committee",
                                                  .summary = "sum of P soft perceptrons, for every token",
                                                  .formula = "y_m = sum_k erf(Z_km / sqrt 2)",
                                                  .example = "soft-committee:indices=2",
                                                  .keys = keys,
                                                  .create = create_soft,
                                                  STAIR_FORMULA_OPS};
const stair_model_ops stair_staircase_ops = {.name = "staircase",
                                             .summary =
                                                 "one index at a time: z1 by its square, then a parity",
                                             .formula = "y_m = Z_1m^2 + sign(Z_1m Z_2m Z_3m)",
                                             .example = "staircase",
                                             .keys = staircase_keys,
                                             .create = create_staircase,
                                             STAIR_FORMULA_OPS};
