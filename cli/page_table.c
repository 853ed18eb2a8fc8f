/* Rows of unequal shape into columns of equal length. */
#include "page.h"
#include "core/limits.h"

#include <string.h>

stair_status page_no_memory(stair_context *context)
{
    return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}

stair_status page_table_open(stair_context *context, const char *path, size_t *room_left, page_table *table)
{
    *table = (page_table){.context = context,
                          .path = path,
                          .columns = json_array(),
                          .places = json_object(),
                          .room_left = room_left};
    return table->columns && table->places ? STAIR_OK : page_no_memory(context);
}

void page_table_free(page_table *table)
{
    json_decref(table->columns);
    json_decref(table->places);
    *table = (page_table){0};
}

static stair_status too_large(const page_table *table)
{
    return stair_fail(table->context, STAIR_BAD_INPUT,
                      "%s: more than %d numbers on one page; make a page of fewer files or rows", table->path,
                      STAIR_MOST_PAGE_CELLS);
}

static stair_status take_room(page_table *table, size_t cells)
{
    if (cells > *table->room_left) return too_large(table);
    *table->room_left -= cells;
    return STAIR_OK;
}

/* Nulls up to `rows`. */
static stair_status pad(page_table *table, json_t *values, size_t rows)
{
    size_t size = json_array_size(values);
    if (size < rows) STAIR_TRY(take_room(table, rows - size));
    for (; size < rows; size++)
        if (json_array_append_new(values, json_null())) return page_no_memory(table->context);
    return STAIR_OK;
}

static json_t *column_of(page_table *table, const char *name)
{
    const json_t *place = json_object_get(table->places, name);
    return place ? json_array_get(table->columns, (size_t)json_integer_value(place)) : NULL;
}

static stair_status add_column(page_table *table, const char *name)
{
    size_t count = json_array_size(table->columns);
    if (count == STAIR_MOST_PAGE_COLUMNS)
        return stair_fail(table->context, STAIR_BAD_INPUT, "%s: more than %d columns", table->path,
                          STAIR_MOST_PAGE_COLUMNS);
    json_t *column = json_pack("{s:s, s:[]}", "name", name, "values");
    if (!column || json_array_append_new(table->columns, column) ||
        json_object_set_new(table->places, name, json_integer((json_int_t)count)))
        return page_no_memory(table->context);
    return STAIR_OK;
}

stair_status page_table_put(page_table *table, const char *name, json_t *value)
{
    if (!value) return page_no_memory(table->context);
    json_t *column = column_of(table, name);
    stair_status status = column ? STAIR_OK : add_column(table, name);
    json_t *values = json_object_get(column_of(table, name), "values");
    if (status == STAIR_OK && json_array_size(values) > table->rows)
        status = stair_fail(table->context, STAIR_BAD_INPUT, "%s: '%.80s' stands twice in row %zu",
                            table->path, name, table->rows + 1);
    if (status == STAIR_OK) status = pad(table, values, table->rows);
    if (status == STAIR_OK) status = take_room(table, 1);
    if (status == STAIR_OK && json_array_append(values, value)) status = page_no_memory(table->context);
    json_decref(value);
    return status;
}

stair_status page_table_mirror(page_table *table, const char *name, const char *other)
{
    return json_object_set_new(column_of(table, name), "mirror", json_string(other))
               ? page_no_memory(table->context)
               : STAIR_OK;
}

stair_status page_table_end_row(page_table *table)
{
    table->rows++;
    return STAIR_OK;
}

/* Whether a column says nothing that the one across the diagonal does not. */
static bool is_mirror(page_table *table, const json_t *column)
{
    const json_t *other = json_object_get(column, "mirror");
    if (!other) return false;
    return json_equal(json_object_get(column, "values"),
                      json_object_get(column_of(table, json_string_value(other)), "values"));
}

stair_status page_table_close(page_table *table, const char *name, json_t **out)
{
    size_t count = json_array_size(table->columns);
    *out = NULL;
    for (size_t c = 0; c < count; c++)
        STAIR_TRY(pad(table, json_object_get(json_array_get(table->columns, c), "values"), table->rows));
    json_t *kept = json_array();
    bool good = kept != NULL;
    for (size_t c = 0; c < count && good; c++) {
        json_t *column = json_array_get(table->columns, c);
        if (is_mirror(table, column)) continue;
        good = json_array_append(kept, column) == 0;
    }
    for (size_t c = 0; c < count; c++) json_object_del(json_array_get(table->columns, c), "mirror");
    if (good)
        *out = json_pack("{s:s, s:I, s:O}", "name", name, "rows", (json_int_t)table->rows, "columns", kept);
    json_decref(kept);
    return *out ? STAIR_OK : page_no_memory(table->context);
}

const json_t *page_values(const json_t *table, const char *name)
{
    const json_t *columns = json_object_get(table, "columns"), *column;
    size_t c;
    json_array_foreach(columns, c, column)
    {
        if (!strcmp(json_string_value(json_object_get(column, "name")), name))
            return json_object_get(column, "values");
    }
    return NULL;
}
