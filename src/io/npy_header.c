/* The NPY header: a Python dictionary with exactly three keys,
 *   {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2, 2), }
 * read by a small parser that accepts this and nothing else. */
#include "io/npy.h"

#include <inttypes.h>
#include <string.h>

typedef struct {
    stair_context *context;
    const char *path, *at, *end;
    bool texts; /* may be elements */
} reader;

static stair_status bad(const reader *in, const char *reason)
{
    return stair_fail(in->context, STAIR_BAD_INPUT, "%s: %s", in->path, reason);
}

static void skip_space(reader *in)
{
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' || *in->at == '\t')) in->at++;
}

static bool accept(reader *in, char c)
{
    skip_space(in);
    if (in->at >= in->end || *in->at != c) return false;
    in->at++;
    return true;
}

static bool accept_word(reader *in, const char *word)
{
    skip_space(in);
    size_t length = strlen(word);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length)) return false;
    in->at += length;
    return true;
}

/* A quoted string without escapes, cut to the size of `out`. */
static bool read_string(reader *in, char *out, size_t size)
{
    skip_space(in);
    if (in->at >= in->end || (*in->at != '\'' && *in->at != '"')) return false;
    char quote = *in->at++;
    size_t length = 0;
    for (; in->at < in->end && *in->at != quote; in->at++) {
        if (*in->at < ' ' || *in->at > '~' || *in->at == '\\') return false;
        if (length + 1 < size) out[length++] = *in->at;
    }
    out[length] = 0;
    return accept(in, quote);
}

static stair_status read_descr(reader *in, stair_npy_header *header)
{
    char descr[24];
    skip_space(in);
    if (in->at < in->end && *in->at == '[') return bad(in, "structured dtype; save a plain float array");
    if (!read_string(in, descr, sizeof descr)) return bad(in, "NPY header: 'descr' is not a string");
    if (strchr(descr, 'O')) return bad(in, "object dtype (a pickle) is never read; save a float64 array");
    char order = descr[0], kind = order ? descr[1] : 0;
    const char *size = kind ? descr + 2 : "";
    bool known = (kind == 'f' && (!strcmp(size, "4") || !strcmp(size, "8"))) ||
                 ((kind == 'i' || kind == 'u') && size[0] && !size[1] && strchr("1248", size[0])) ||
                 (kind == 'b' && !strcmp(size, "1"));
    int letters = 0;
    if (in->texts && kind == 'U' && order == '<' && size[0] >= '1' && size[0] <= '9' && strlen(size) < 5)
        for (const char *digit = size; *digit >= '0' && *digit <= '9'; digit++)
            letters = 10 * letters + *digit - '0';
    if (letters) {
        header->kind = kind;
        header->size = 4 * letters;
        return STAIR_OK;
    }
    if (!known || !strchr("<>|=", order))
        return stair_fail(in->context, STAIR_BAD_INPUT,
                          "%s: dtype '%s' is not supported; save float64 or float32", in->path, descr);
    header->kind = kind;
    header->size = size[0] - '0';
    header->swap = order == '>' && header->size > 1;
    return STAIR_OK;
}

static stair_status read_dim(reader *in, stair_npy_header *header)
{
    skip_space(in);
    if (in->at < in->end && *in->at == '-') return bad(in, "NPY header: negative dimension");
    if (in->at >= in->end || *in->at < '0' || *in->at > '9')
        return bad(in, "NPY header: 'shape' is not a tuple of integers");
    if (header->rank == STAIR_NPY_RANK) return bad(in, "NPY header: more than 8 dimensions");
    uint64_t value = 0;
    for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++) {
        value = 10 * value + (uint64_t)(*in->at - '0');
        if (value > STAIR_LARGEST_AXIS) return bad(in, "NPY header: huge dimension");
    }
    header->shape[header->rank++] = value;
    return STAIR_OK;
}

static stair_status read_shape(reader *in, stair_npy_header *header)
{
    if (!accept(in, '(')) return bad(in, "NPY header: 'shape' is not a tuple");
    while (!accept(in, ')')) {
        STAIR_TRY(read_dim(in, header));
        if (accept(in, ',')) continue;
        if (!accept(in, ')')) return bad(in, "NPY header: 'shape' is not a tuple of integers");
        if (header->rank == 1) return bad(in, "NPY header: 'shape' is not a tuple");
        return STAIR_OK;
    }
    return STAIR_OK;
}

static stair_status read_order(reader *in, stair_npy_header *header)
{
    header->fortran = accept_word(in, "True");
    if (header->fortran || accept_word(in, "False")) return STAIR_OK;
    return bad(in, "NPY header: 'fortran_order' is neither True nor False");
}

static stair_status count_elements(reader *in, stair_npy_header *header)
{
    header->row_size = 1;
    uint64_t bytes = (uint64_t)header->size;
    bool empty = false;
    for (int i = 0; i < header->rank; i++) {
        uint64_t dim = header->shape[i];
        empty = empty || dim == 0;
        if (dim && __builtin_mul_overflow(bytes, dim, &bytes))
            return bad(in, "NPY header: product of dimensions overflows");
        if (i > 0) header->row_size *= dim;
    }
    if (bytes > INT64_MAX) return bad(in, "NPY header: product of dimensions overflows");
    header->count = empty ? 0 : bytes / (uint64_t)header->size;
    return STAIR_OK;
}

static stair_status parse(stair_context *context, const char *path, const char *text, size_t size, bool texts,
                          stair_npy_header *header)
{
    typedef stair_status read_value(reader *, stair_npy_header *);
    static const char *const names[] = {"descr", "fortran_order", "shape"};
    static read_value *const values[] = {read_descr, read_order, read_shape};

    reader in = {.context = context, .path = path, .at = text, .end = text + size, .texts = texts};
    *header = (stair_npy_header){0};
    bool seen[3] = {false};
    if (!accept(&in, '{')) return bad(&in, "NPY header is not a dictionary");
    while (!accept(&in, '}')) {
        char name[32];
        int k = 0;
        if (!read_string(&in, name, sizeof name) || !accept(&in, ':'))
            return bad(&in, "NPY header is not a dictionary");
        while (k < 3 && strcmp(name, names[k])) k++;
        if (k == 3)
            return stair_fail(context, STAIR_BAD_INPUT, "%s: NPY header: unknown key '%s'", path, name);
        if (seen[k])
            return stair_fail(context, STAIR_BAD_INPUT, "%s: NPY header: key '%s' stands twice", path, name);
        seen[k] = true;
        STAIR_TRY(values[k](&in, header));
        if (accept(&in, ',')) continue;
        if (!accept(&in, '}')) return bad(&in, "NPY header is not a dictionary");
        break;
    }
    skip_space(&in);
    if (in.at != in.end) return bad(&in, "NPY header: text after the dictionary");
    for (int k = 0; k < 3; k++)
        if (!seen[k])
            return stair_fail(context, STAIR_BAD_INPUT, "%s: NPY header: key '%s' is missing", path,
                              names[k]);
    return count_elements(&in, header);
}

stair_status stair_npy_header_parse(stair_context *context, const char *path, const char *text, size_t size,
                                    stair_npy_header *header)
{
    return parse(context, path, text, size, false, header);
}

stair_status stair_npy_header_parse_any(stair_context *context, const char *path, const char *text,
                                        size_t size, stair_npy_header *header)
{
    return parse(context, path, text, size, true, header);
}

const char *stair_npy_shape_text(const stair_npy_header *header, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < header->rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64, i ? ", " : "", header->shape[i]);
    if (used < size) snprintf(text + used, size - used, header->rank == 1 ? ",)" : ")");
    return text;
}

/* 20 digits are kept for the number of rows whatever it is. */
stair_status stair_npy_header_write(stair_context *context, FILE *file, const char *descr, uint64_t rows,
                                    int rank, const uint64_t *tail)
{
    char dict[512], count[24];
    int used = snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64 ",",
                        descr, rows);
    for (int i = 0; i < rank - 1; i++)
        used += snprintf(dict + used, sizeof dict - (size_t)used, "%s%" PRIu64, i ? ", " : " ", tail[i]);
    used += snprintf(dict + used, sizeof dict - (size_t)used, "), }");
    int digits = snprintf(count, sizeof count, "%" PRIu64, rows);
    int total = (10 + used + (20 - digits) + 1 + 63) / 64 * 64, length = total - 10;
    unsigned char magic[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(length & 255), (unsigned char)(length >> 8)};
    if (fseeko(file, 0, SEEK_SET) || fwrite(magic, 1, 10, file) != 10 ||
        fprintf(file, "%-*s\n", length - 1, dict) != length)
        return stair_fail(context, STAIR_FAILED, "cannot write an NPY header");
    return STAIR_OK;
}
