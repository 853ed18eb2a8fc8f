/* LIST values and numbers of options, arbitrary bytes. */
#include "options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const stair_option option = {
        .name = "alpha", .kind = STAIR_OPTION_DOUBLE, .value = "LIST", .low = 0, .high = 1e300};
    stair_context *context;
    option_list list = {0};
    char *text = malloc(size + 1);
    int64_t integer;
    uint64_t natural;
    double real;
    if (!text || stair_context_create(&context) != STAIR_OK) {
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    text[size] = 0;
    if (option_list_read(context, &option, text, &list) == STAIR_OK)
        for (size_t i = 0; i < list.count; i++)
            if (!isfinite(list.values[i]) || list.values[i] < 0) abort();
    if (stair_parse_double(text, &real) && !isfinite(real)) abort();
    (void)stair_parse_int(text, &integer);
    (void)stair_parse_uint64(text, &natural);
    free(list.values);
    free(text);
    stair_context_destroy(&context);
    return 0;
}
