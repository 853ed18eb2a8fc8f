/* MODEL strings of arbitrary bytes: refused with a message, or a model whose canonical string makes
 * the same model again. */
#include "stair.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stair_context *context;
    stair_model *model = NULL, *again = NULL;
    char *spec = malloc(size + 1);
    if (!spec || stair_context_create(&context) != STAIR_OK) {
        free(spec);
        return 0;
    }
    memcpy(spec, data, size);
    spec[size] = 0;
    stair_status status = stair_model_create(context, spec, &model);
    if (status == STAIR_OK) {
        if (stair_model_create(context, stair_model_spec(model), &again) != STAIR_OK) abort();
        if (strcmp(stair_model_spec(model), stair_model_spec(again))) abort();
    } else if (status != STAIR_NO_MEMORY && !*stair_context_message(context))
        abort();
    stair_model_destroy(&model);
    stair_model_destroy(&again);
    stair_context_destroy(&context);
    free(spec);
    return 0;
}
