/* Every model there is, a line each. */
#include "model/model.h"

extern const stair_model_ops stair_attention_ops, stair_limit_ops, stair_square_ops, stair_abs_ops,
    stair_sign_ops, stair_linear_ops, stair_relu_ops, stair_door_ops, stair_norm2_ops, stair_product_ops,
    stair_parity_ops, stair_committee_ops, stair_soft_committee_ops, stair_staircase_ops, stair_expr_ops,
    stair_plugin_ops;

const stair_model_ops *const stair_model_registry[] = {
    &stair_attention_ops,
    &stair_limit_ops,
    &stair_square_ops,
    &stair_abs_ops,
    &stair_sign_ops,
    &stair_linear_ops,
    &stair_relu_ops,
    &stair_door_ops,
    &stair_norm2_ops,
    &stair_product_ops,
    &stair_parity_ops,
    &stair_committee_ops,
    &stair_soft_committee_ops,
    &stair_staircase_ops,
    &stair_expr_ops,
    &stair_plugin_ops,
    NULL,
};
