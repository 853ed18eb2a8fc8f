/* The iterations of a run as a JSON text, `history` of the rows of runs. */
#include "amp_rows.h"

#include <jansson.h>
#include <math.h>

static json_t *numbers(const double *values, int rank, int p)
{
    json_t *array = json_array();
    int step = rank == 2 ? p : 1;
    for (int i = 0; i < p; i++) {
        json_t *value = rank == 2             ? numbers(values + i * step, 1, p)
                        : isfinite(values[i]) ? json_real(values[i])
                                              : json_null();
        if (json_array_append_new(array, value)) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* [{"iteration", "Q", "M", "V", "cosine", "errors", "change", "damping", "mismatch", "channel_error"}, ...]
 */
char *amp_history_text(const stair_gamp_run *run, int p)
{
    json_t *list = json_array();
    int failed = !list;
    for (int i = 0; i < run->count && !failed; i++) {
        const stair_gamp_record *h = &run->history[i];
        size_t square = (size_t)(p * p);
        json_t *row = json_object(), *errors = json_object();
        failed |= json_object_set_new(row, "iteration", json_integer(i));
        failed |= json_object_set_new(row, "Q", numbers(run->q + (size_t)i * square, 2, p));
        failed |= json_object_set_new(row, "M", numbers(run->m + (size_t)i * square, 2, p));
        failed |= json_object_set_new(row, "V", numbers(run->v + (size_t)i * square, 2, p));
        failed |= json_object_set_new(row, "cosine", numbers(run->cosine + i * p, 1, p));
        failed |= json_object_set_new(errors, "bayes", number(h->bayes));
        failed |= json_object_set_new(errors, "plugin", number(h->plugin));
        failed |= json_object_set_new(errors, "bayes_error", number(h->bayes_error));
        failed |= json_object_set_new(errors, "plugin_error", number(h->plugin_error));
        failed |= json_object_set_new(row, "errors", errors);
        failed |= json_object_set_new(row, "change", number(h->change));
        failed |= json_object_set_new(row, "damping", number(h->damping));
        failed |= json_object_set_new(row, "mismatch", number(h->mismatch));
        failed |= json_object_set_new(row, "channel_error", number(h->channel_error));
        failed |= json_array_append_new(list, row);
    }
    char *text = failed ? NULL : json_dumps(list, JSON_REAL_PRECISION(17));
    json_decref(list);
    return text;
}
