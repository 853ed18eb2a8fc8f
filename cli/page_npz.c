/* NPZ as stair writes it (report_npz.c): one array per column, rows along its first axis.
 *
 * Of an array with more axes every entry is a column, named as in CSV; large ones are left out, for a page
 * is no place to read them. */
#include "option_json.h"
#include "page.h"
#include "core/limits.h"
#include "io/npz.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MOST 100 /* bytes of the name of an array */

typedef struct {
    char name[NAME_MOST];
    stair_npy_header header;
    unsigned char *bytes;
} column;

typedef struct {
    stair_context *context;
    const char *path;
    stair_archive *archive;
    column *columns;
    int count;
} reader;

/* UTF-8 of one character at `out`; what is none becomes a question mark. */
static size_t encode(uint32_t c, char *out)
{
    if (c >= 0x110000 || (c >= 0xd800 && c < 0xe000)) c = '?';
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(first[more] | c >> (6 * more));
    for (size_t k = 1; k <= more; k++) out[k] = (char)(0x80 | (c >> (6 * (more - k)) & 0x3f));
    return more + 1;
}

static json_t *text_value(const unsigned char *at, int size)
{
    char *text = malloc((size_t)size + 4);
    size_t used = 0;
    if (!text) return NULL;
    for (int k = 0; k < size; k += 4) {
        uint32_t c;
        memcpy(&c, at + k, 4);
        if (!c) break;
        used += encode(c, text + used);
    }
    json_t *value = json_stringn(text, used);
    free(text);
    return value;
}

/* All digits of an integer of eight bytes, which a double has no room for. */
static json_t *wide_value(const stair_npy_header *header, const unsigned char *at)
{
    uint64_t natural;
    memcpy(&natural, at, sizeof natural);
    return header->kind == 'u' ? natural_to_json(natural) : json_integer((json_int_t)natural);
}

static json_t *element_value(const stair_npy_header *header, const unsigned char *at)
{
    double value;
    if (header->kind == 'U') return text_value(at, header->size);
    if (header->kind == 'b') return json_string(*at ? "yes" : "no");
    if ((header->kind == 'i' || header->kind == 'u') && header->size == 8) return wide_value(header, at);
    if (!stair_archive_number(header, at, &value) || !isfinite(value)) return json_null();
    return header->kind == 'f' ? json_real(value) : json_integer((json_int_t)value);
}

/* cosine2, dg11_12: indices from 1, separated where one can be above 9. */
static void name_entry(const column *of, uint64_t k, char *name, size_t size)
{
    const stair_npy_header *header = &of->header;
    uint64_t index[STAIR_NPY_RANK];
    const char *mark = "";
    for (int d = header->rank - 1; d > 0; k /= header->shape[d--]) {
        index[d] = k % header->shape[d] + 1;
        if (header->shape[d] > 9) mark = "_";
    }
    size_t used = (size_t)snprintf(name, size, "%s", of->name);
    for (int d = 1; d < header->rank && used < size; d++)
        used += (size_t)snprintf(name + used, size - used, "%s%" PRIu64, d > 1 ? mark : "", index[d]);
}

static stair_status put_row(page_table *table, const column *of, uint64_t row)
{
    const stair_npy_header *header = &of->header;
    for (uint64_t k = 0; k < header->row_size; k++) {
        char name[NAME_MOST + 24 * STAIR_NPY_RANK];
        const unsigned char *at = of->bytes + (row * header->row_size + k) * (uint64_t)header->size;
        name_entry(of, k, name, sizeof name);
        STAIR_TRY(page_table_put(table, name, element_value(header, at)));
    }
    return STAIR_OK;
}

static stair_status read_columns(reader *in)
{
    char name[NAME_MOST];
    uint64_t left = 4 * STAIR_LARGEST_RESULT; /* deflated arrays may be larger than their file */
    for (int i = 0; stair_archive_name(in->archive, i, name, sizeof name); i++) {
        if (i == STAIR_MOST_PAGE_COLUMNS)
            return stair_fail(in->context, STAIR_BAD_INPUT, "%s: more than %d arrays", in->path, i);
        column *all = realloc(in->columns, ((size_t)i + 1) * sizeof *all);
        if (!all) return page_no_memory(in->context);
        in->columns = all;
        column *of = &all[in->count];
        *of = (column){0};
        memcpy(of->name, name, sizeof name);
        STAIR_TRY(
            stair_archive_bytes(in->context, in->archive, in->path, name, left, &of->header, &of->bytes));
        in->count++;
        left -= of->header.count * (uint64_t)of->header.size;
        if (of->header.rank < 1 || of->header.row_size < 1)
            return stair_fail(in->context, STAIR_BAD_INPUT, "%s: array '%s' has no rows", in->path, name);
        if (of->header.shape[0] != all[0].header.shape[0])
            return stair_fail(in->context, STAIR_BAD_INPUT, "%s: arrays '%s' and '%s' differ in their rows",
                              in->path, all[0].name, name);
    }
    return in->count ? STAIR_OK : stair_fail(in->context, STAIR_BAD_INPUT, "%s: no arrays", in->path);
}

static stair_status put_rows(const reader *in, page_table *table)
{
    for (uint64_t row = 0; row < in->columns[0].header.shape[0]; row++) {
        for (int c = 0; c < in->count; c++)
            if (in->columns[c].header.row_size <= STAIR_MOST_PAGE_ENTRIES)
                STAIR_TRY(put_row(table, &in->columns[c], row));
        if (json_array_size(table->columns) == 0)
            return stair_fail(in->context, STAIR_BAD_INPUT, "%s: no array that is small enough for a page",
                              in->path);
        STAIR_TRY(page_table_end_row(table));
    }
    return STAIR_OK;
}

/* Says on the page what is not there. */
static stair_status name_left_out(const reader *in, json_t *file)
{
    for (int c = 0; c < in->count; c++) {
        char note[2 * NAME_MOST], shape[120];
        if (in->columns[c].header.row_size <= STAIR_MOST_PAGE_ENTRIES) continue;
        snprintf(note, sizeof note, "%s %s is left out", in->columns[c].name,
                 stair_npy_shape_text(&in->columns[c].header, shape, sizeof shape));
        json_t *notes = json_object_get(file, "notes"), *text = json_string(note);
        if (!notes && json_object_set_new(file, "notes", json_array())) return page_no_memory(in->context);
        if (json_array_append_new(json_object_get(file, "notes"), text)) return page_no_memory(in->context);
    }
    return STAIR_OK;
}

stair_status page_read_npz(stair_context *context, const char *path, size_t *room_left, json_t *file)
{
    reader in = {.context = context, .path = path};
    page_table table = {0};
    STAIR_TRY(stair_archive_open(context, path, &in.archive));
    stair_status status = read_columns(&in);
    stair_archive_close(&in.archive);
    if (status == STAIR_OK) status = page_table_open(context, path, room_left, &table);
    if (status == STAIR_OK) status = put_rows(&in, &table);
    if (status == STAIR_OK) status = page_file_add(&table, "results", file);
    if (status == STAIR_OK) status = name_left_out(&in, file);
    page_table_free(&table);
    for (int c = 0; c < in.count; c++) free(in.columns[c].bytes);
    free(in.columns);
    return status;
}
