/* NPZ is a ZIP of NPY files.  The archive is libzip's business; the header of each array goes through
 * the same parser as files of their own; numbers may be f8, f4, i8, i4, u8, u1 or b1, little-endian. */
#include "io/npz.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

stair_status stair_archive_open(stair_context *context, const char *path, stair_archive **archive)
{
    struct stat info;
    int error = 0;
    *archive = NULL;
    if (stat(path, &info) != 0) return stair_fail(context, STAIR_BAD_INPUT, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return stair_fail(context, STAIR_BAD_INPUT, "%s: not a regular file", path);
    *archive = zip_open(path, ZIP_RDONLY, &error);
    if (*archive) return STAIR_OK;
    return stair_fail(context, STAIR_BAD_INPUT, "%s: not an NPZ archive", path);
}

void stair_archive_close(stair_archive **archive)
{
    if (*archive) zip_discard(*archive);
    *archive = NULL;
}

static stair_status read_member(stair_context *context, stair_archive *archive, const char *path,
                                const char *name, uint64_t most, unsigned char **bytes, size_t *size)
{
    char member[128];
    zip_stat_t about;
    snprintf(member, sizeof member, "%s.npy", name);
    zip_stat_init(&about);
    if (zip_stat(archive, member, 0, &about) != 0 || !(about.valid & ZIP_STAT_SIZE))
        return stair_fail(context, STAIR_BAD_INPUT, "%s: no array '%s'", path, name);
    if (about.size > most)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: array '%s' is too large", path, name);
    zip_file_t *file = zip_fopen(archive, member, 0);
    *size = (size_t)about.size;
    *bytes = malloc(*size + 1);
    if (!*bytes) {
        if (file) zip_fclose(file);
        return stair_fail(context, STAIR_NO_MEMORY, "%s: out of memory", path);
    }
    size_t got = 0;
    for (zip_int64_t n = 1; file && n > 0 && got<*size; got += n> 0 ? (size_t)n : 0)
        n = zip_fread(file, *bytes + got, *size - got);
    unsigned char extra;
    bool whole = file && got == *size && zip_fread(file, &extra, 1) == 0; /* reading the end checks the CRC */
    if (file) zip_fclose(file);
    if (whole) return STAIR_OK;
    return stair_fail(context, STAIR_BAD_INPUT, "%s: array '%s' is damaged", path, name);
}

typedef stair_status header_parser(stair_context *context, const char *path, const char *text, size_t size,
                                   stair_npy_header *header);

static stair_status parse_header(stair_context *context, const char *label, const unsigned char *bytes,
                                 size_t size, header_parser *parse, stair_npy_header *header, size_t *start)
{
    if (size < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: not an NPY array", label);
    size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8, before = 10;
    if (bytes[6] >= 2) {
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        before = 12;
    }
    if (length > size - before) return stair_fail(context, STAIR_BAD_INPUT, "%s: truncated header", label);
    *start = before + length;
    STAIR_TRY(parse(context, label, (const char *)bytes + before, length, header));
    if (header->fortran || header->swap)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: needs C order and little-endian numbers", label);
    if (header->count > STAIR_LARGEST_ARRAY || header->count * (uint64_t)header->size != size - *start)
        return stair_fail(context, STAIR_BAD_INPUT, "%s: holds other than its shape says", label);
    return STAIR_OK;
}

bool stair_archive_number(const stair_npy_header *header, const unsigned char *at, double *value)
{
    float single;
    int64_t wide;
    uint64_t natural;
    int32_t narrow;
    if (header->kind == 'f' && header->size == 8)
        memcpy(value, at, 8);
    else if (header->kind == 'f' && header->size == 4)
        memcpy(&single, at, 4), *value = single;
    else if (header->kind == 'i' && header->size == 8)
        memcpy(&wide, at, 8), *value = (double)wide;
    else if (header->kind == 'i' && header->size == 4)
        memcpy(&narrow, at, 4), *value = narrow;
    else if (header->kind == 'u' && header->size == 8)
        memcpy(&natural, at, 8), *value = (double)natural;
    else if (header->size == 1 && (header->kind == 'u' || header->kind == 'b'))
        *value = *at;
    else
        return false;
    return true;
}

static bool element(const stair_npy_header *header, const unsigned char *at, double *value)
{
    return header->kind != 'b' && stair_archive_number(header, at, value) && isfinite(*value);
}

stair_status stair_archive_array(stair_context *context, stair_archive *archive, const char *path,
                                 const char *name, stair_npy_header *header, double **values)
{
    char label[512];
    unsigned char *bytes = NULL;
    size_t size = 0, start = 0;
    *values = NULL;
    snprintf(label, sizeof label, "%.400s: array '%.60s'", path, name);
    stair_status status = read_member(context, archive, path, name, STAIR_LARGEST_ARRAY, &bytes, &size);
    if (status == STAIR_OK)
        status = parse_header(context, label, bytes, size, stair_npy_header_parse, header, &start);
    if (status == STAIR_OK && !(*values = malloc(header->count * sizeof(double) + 1)))
        status = stair_fail(context, STAIR_NO_MEMORY, "%s: out of memory", label);
    for (uint64_t i = 0; status == STAIR_OK && i < header->count; i++)
        if (!element(header, bytes + start + i * (uint64_t)header->size, *values + i))
            status = stair_fail(context, STAIR_BAD_INPUT, "%s: element %llu is not a finite real number",
                                label, (unsigned long long)i);
    free(bytes);
    if (status != STAIR_OK) {
        free(*values);
        *values = NULL;
    }
    return status;
}

const char *stair_archive_name(stair_archive *archive, int number, char *name, size_t size)
{
    const char *member = zip_get_name(archive, (zip_uint64_t)number, 0);
    if (!member) return NULL;
    size_t length = strlen(member);
    if (length > 4 && !strcmp(member + length - 4, ".npy")) length -= 4;
    snprintf(name, size, "%.*s", (int)(length < size ? length : size - 1), member);
    return name;
}

stair_status stair_archive_bytes(stair_context *context, stair_archive *archive, const char *path,
                                 const char *name, uint64_t most, stair_npy_header *header,
                                 unsigned char **bytes)
{
    char label[512];
    size_t size = 0, start = 0;
    *bytes = NULL;
    snprintf(label, sizeof label, "%.400s: array '%.60s'", path, name);
    stair_status status = read_member(context, archive, path, name, most, bytes, &size);
    if (status == STAIR_OK)
        status = parse_header(context, label, *bytes, size, stair_npy_header_parse_any, header, &start);
    if (status == STAIR_OK) {
        memmove(*bytes, *bytes + start, size - start);
        return STAIR_OK;
    }
    free(*bytes);
    *bytes = NULL;
    return status;
}
