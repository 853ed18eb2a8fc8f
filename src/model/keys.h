/* Values of model keys, read with a range and an error that names the key. */
#ifndef STAIR_MODEL_KEYS_H
#define STAIR_MODEL_KEYS_H

#include "core/context.h"

stair_status stair_key_integer(stair_context *context, const char *key, const char *text, int least, int most,
                               int *value);
stair_status stair_key_real(stair_context *context, const char *key, const char *text, double least,
                            double most, double *value);
/* value: position in the NULL-ended list */
stair_status stair_key_choice(stair_context *context, const char *key, const char *text,
                              const char *const *choices, int *value);

#endif
