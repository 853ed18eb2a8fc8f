/* Every model there is, a line each. */
#include "model/model.h"

extern const stair_model_ops stair_attention_ops, stair_limit_ops, stair_square_ops;

const stair_model_ops *const stair_model_registry[] = {
    &stair_attention_ops,
    &stair_limit_ops,
    &stair_square_ops,
    NULL,
};
