/* Values of options as JSON. */
#ifndef STAIR_CLI_OPTION_JSON_H
#define STAIR_CLI_OPTION_JSON_H

#include "options.h"

#include <jansson.h>

/* NULL when out of memory. */
json_t *natural_to_json(uint64_t value);
json_t *option_to_json(const option_entry *entry, const void *target);

#endif
