/* expr: the link is the formula in the MODEL string, y = f(z1, z2 ...).
 *
 *   expr:z1^2-z2^2,noise=0.1        one output of two indices
 *   expr:sign(z1);abs(z2)           two outputs
 *   expr:z1_1*z1_2                  one index, two tokens
 *
 * Where tokens are named their number is the largest one unless the key tokens says more; where none is named
 * the formula is applied to every token. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/formula.h"
#include "model/keys.h"

static const stair_model_key keys[] = {
    {"formula", NULL, "FORMULA"},
    {STAIR_NAME_TOKENS, "1", "sequence length M; at least the largest token of the formula"},
    {"indices", "1", "P; at least the largest index of the formula"},
    STAIR_KEY_NOISE,
    STAIR_KEY_PRENOISE,
    {NULL, NULL, NULL},
};

/* The echo of the model says how many tokens and indices there are. */
static stair_status name_sizes(stair_context *context, stair_model *model, const char *formula)
{
    const char *rest = strstr(model->spec + strlen(model->ops->name) + 1 + strlen(formula), ",noise=");
    size_t size = strlen(model->spec) + 32;
    char *spec = malloc(size);
    if (!spec) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    snprintf(spec, size, "%s:%s,tokens=%d,indices=%d%s", model->ops->name, formula, model->info.tokens,
             model->info.indices, rest);
    free(model->spec);
    model->spec = spec;
    return STAIR_OK;
}

/* tokens=1 is what is filled in where nothing is said: a formula that names more has as many. */
static stair_status create(stair_context *context, stair_model *model, const char *const *values)
{
    int rows = 1;
    stair_program *look = malloc(sizeof *look);
    if (!look) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = stair_program_parse(context, values[0], look);
    if (status == STAIR_OK && model->info.tokens == 1 && look->tokens > 1) model->info.tokens = look->tokens;
    free(look);
    STAIR_TRY(status);
    STAIR_TRY(stair_key_integer(context, "indices", values[2], 1, STAIR_MAX_INDICES, &rows));
    STAIR_TRY(stair_formula_create(context, model, values[0], rows));
    return name_sizes(context, model, values[0]);
}

const stair_model_ops stair_expr_ops = {
    .name = "expr",
    .summary = "a link written as a formula",
    .formula =
        "y = FORMULA; z1, z2 ... (z1_2: index 1 of token 2), numbers, + - * / ^ < >, sign abs sqrt exp "
        "log tanh erf sin cos min max relu, outputs with ';' between",
    .example = "expr:z1^2-z2^2",
    .keys = keys,
    .positional = true,
    .create = create,
    STAIR_FORMULA_OPS,
};
