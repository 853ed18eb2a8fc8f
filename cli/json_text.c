/* jansson writes reals with a fixed number of digits, 0.15 as 0.14999999999999999: numbers are written here,
 * strings by jansson. */
#include "json_text.h"
#include "number.h"

#include <stdlib.h>
#include <string.h>

/* A real keeps a point or an exponent, so that it is read back as one. */
static void write_real(FILE *file, double value)
{
    char text[NUMBER_MOST];
    number_text(value, text);
    fprintf(file, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static bool write_other(FILE *file, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
    if (!text) return false;
    fputs(text, file);
    free(text);
    return true;
}

static bool write_object(FILE *file, const json_t *value)
{
    const char *comma = "";
    json_t *object = (json_t *)value; /* jansson's iterators take no const, and change nothing */
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at), comma = ", ") {
        json_t *key = json_string(json_object_iter_key(at));
        fputs(comma, file);
        bool good = key && write_other(file, key);
        json_decref(key);
        if (!good) return false;
        fputs(": ", file);
        if (!json_write(file, json_object_iter_value(at))) return false;
    }
    return true;
}

bool json_write(FILE *file, const json_t *value)
{
    bool good = true;
    if (json_is_real(value))
        write_real(file, json_real_value(value));
    else if (json_is_array(value)) {
        putc('[', file);
        for (size_t i = 0; i < json_array_size(value) && good; i++) {
            if (i) fputs(", ", file);
            good = json_write(file, json_array_get(value, i));
        }
        putc(']', file);
    } else if (json_is_object(value)) {
        putc('{', file);
        good = write_object(file, value);
        putc('}', file);
    } else
        good = write_other(file, value);
    return good;
}
