/* Values of model keys, read with a range and an error that names the key. */
#ifndef STAIR_MODEL_KEYS_H
#define STAIR_MODEL_KEYS_H

#include "core/context.h"

/* Keys that mean the same in every model: what a model puts into its table to take them.  model.c reads them.
 */
#define STAIR_NAME_TOKENS   "tokens"
#define STAIR_NAME_NOISE    "noise"
#define STAIR_NAME_PRENOISE "prenoise"
#define STAIR_KEY_TOKENS(value)                                                                              \
    {                                                                                                        \
        STAIR_NAME_TOKENS, value, "sequence length M"                                                        \
    }
#define STAIR_KEY_NOISE                                                                                      \
    {                                                                                                        \
        STAIR_NAME_NOISE, "0", "variance of Gaussian noise on y"                                             \
    }
#define STAIR_KEY_PRENOISE                                                                                   \
    {                                                                                                        \
        STAIR_NAME_PRENOISE, "0", "variance of Gaussian noise on Z"                                          \
    }

stair_status stair_key_integer(stair_context *context, const char *key, const char *text, int least, int most,
                               int *value);
stair_status stair_key_real(stair_context *context, const char *key, const char *text, double least,
                            double most, double *value);
/* value: position in the NULL-ended list */
stair_status stair_key_choice(stair_context *context, const char *key, const char *text,
                              const char *const *choices, int *value);

#endif
