/* One index, a formula for every token: y_m = g(Z_m).
 *
 *   abs     |z|            phase retrieval by amplitudes
 *   sign    sign(z)        the perceptron: Barbier et al., PNAS 116 (2019)
 *   linear  z              Gaussian linear regression
 *   relu    max(z, 0)
 *   door    sign(|z| - k)  the symmetric door: Barbier et al., PNAS 116 (2019)
 */
#include <stdio.h>

#include "model/zoo/zoo.h"

static const stair_model_key common[] = {
    STAIR_KEY_TOKENS("1"), STAIR_KEY_NOISE, STAIR_KEY_PRENOISE, {NULL, NULL, NULL}};

static const stair_model_key door_keys[] = {{"width", "0.6744897501960817", "k: half the width of the door"},
                                            STAIR_KEY_TOKENS("1"),
                                            STAIR_KEY_NOISE,
                                            STAIR_KEY_PRENOISE,
                                            {NULL, NULL, NULL}};

#define PLAIN(function, text)                                                                                \
    static stair_status function(stair_context *context, stair_model *model, const char *const *values)      \
    {                                                                                                        \
        (void)values;                                                                                        \
        return stair_formula_create(context, model, text, 1);                                                \
    }
PLAIN(create_abs, "abs(z1)")
PLAIN(create_sign, "sign(z1)")
PLAIN(create_linear, "z1")
PLAIN(create_relu, "relu(z1)")

static stair_status create_door(stair_context *context, stair_model *model, const char *const *values)
{
    double width;
    char text[64];
    STAIR_TRY(stair_key_real(context, "width", values[0], 1e-3, 6, &width));
    snprintf(text, sizeof text, "sign(abs(z1)-%.17g)", width);
    return stair_formula_create(context, model, text, 1);
}

const stair_model_ops stair_abs_ops = {.name = "abs",
                                       .summary = "phase retrieval by amplitudes, y = |z| for every token",
                                       .formula = "y_m = |Z_m|",
                                       .example = "abs:noise=0.1",
                                       .keys = common,
                                       .create = create_abs,
                                       STAIR_FORMULA_OPS};
const stair_model_ops stair_sign_ops = {.name = "sign",
                                        .summary = "the perceptron, y = sign z for every token",
                                        .formula = "y_m = sign(Z_m)",
                                        .example = "sign",
                                        .keys = common,
                                        .create = create_sign,
                                        STAIR_FORMULA_OPS};
const stair_model_ops stair_linear_ops = {.name = "linear",
                                          .summary = "linear regression, y = z for every token",
                                          .formula = "y_m = Z_m",
                                          .example = "linear:noise=1",
                                          .keys = common,
                                          .create = create_linear,
                                          STAIR_FORMULA_OPS};
const stair_model_ops stair_relu_ops = {.name = "relu",
                                        .summary = "y = max(z, 0) for every token",
                                        .formula = "y_m = max(Z_m, 0)",
                                        .example = "relu",
                                        .keys = common,
                                        .create = create_relu,
                                        STAIR_FORMULA_OPS};
const stair_model_ops stair_door_ops = {.name = "door",
                                        .summary = "the symmetric door, y = sign(|z| - k) for every token",
                                        .formula = "y_m = sign(|Z_m| - k)",
                                        .example = "door:width=1",
                                        .keys = door_keys,
                                        .create = create_door,
                                        STAIR_FORMULA_OPS};
