/* NPZ is a ZIP of NPY files.  The archive is libzip's business; the header of each array goes through
 * the same parser as files of their own; numbers may be f8, f4, i8, i4, u8, u1 or b1, little-endian. */
#include "io/npz.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

stair_status stair_archive_open(stair_context *context, const char *path, stair_archive **archive)
{
    struct stat info;
    int error = 0;
    *archive = NULL;
    if (stat(path, &info) != 0) return stair_fail(context, STAIR_BAD_INPUT, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return stair_fail(context, STAIR_BAD_INPUT, "%s: not a regular file", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC); /* libzip does not say why it cannot */
    if (fd < 0) return stair_fail(context, STAIR_BAD_INPUT, "%s: %s", path, strerror(errno));
    close(fd);
    errno = 0;
    *archive = zip_open(path, ZIP_RDONLY, &error);
    if (*archive) return STAIR_OK;
    if (error == ZIP_ER_MEMORY || errno == ENOMEM)
        return stair_fail(context, STAIR_NO_MEMORY, "%s: out of memory", path);
    return stair_fail(context, STAIR_BAD_INPUT, "%s: not an NPZ archive", path);
}

void stair_archive_close(stair_archive **archive)
{
    if (*archive) zip_discard(*archive);
    *archive = NULL;
}

typedef stair_status header_parser(stair_context *context, const char *path, const char *text, size_t size,
                                   stair_npy_header *header);

/* A member under way: its header has been read, its elements have not. */
typedef struct {
    stair_context *context;
    stair_archive *archive;
    zip_file_t *file;
    uint64_t left; /* bytes of elements */
    char label[512];
} member;

static stair_status damaged(const member *m)
{
    zip_error_t *why = m->file ? zip_file_get_error(m->file) : zip_get_error(m->archive);
    if (zip_error_code_zip(why) == ZIP_ER_MEMORY)
        return stair_fail(m->context, STAIR_NO_MEMORY, "%s: out of memory", m->label);
    return stair_fail(m->context, STAIR_BAD_INPUT, "%s is damaged", m->label);
}

static bool read_exactly(member *m, void *bytes, uint64_t size)
{
    uint64_t got = 0;
    for (zip_int64_t n = 1; n > 0 && got<size; got += n> 0 ? (uint64_t)n : 0)
        n = zip_fread(m->file, (unsigned char *)bytes + got, size - got);
    return got == size;
}

/* `size`: of the whole member, as the archive has it. */
static stair_status read_header(member *m, uint64_t size, header_parser *parse, stair_npy_header *header)
{
    unsigned char start[12];
    char text[STAIR_NPY_HEADER];
    if (size < sizeof start) return stair_fail(m->context, STAIR_BAD_INPUT, "%s: not an NPY array", m->label);
    if (!read_exactly(m, start, 10)) return damaged(m);
    if (memcmp(start, "\x93NUMPY", 6) != 0)
        return stair_fail(m->context, STAIR_BAD_INPUT, "%s: not an NPY array", m->label);
    size_t length = (size_t)start[8] | (size_t)start[9] << 8, before = 10;
    if (start[6] >= 2) {
        if (!read_exactly(m, start + 10, 2)) return damaged(m);
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
        before = 12;
    }
    if (length > size - before)
        return stair_fail(m->context, STAIR_BAD_INPUT, "%s: truncated header", m->label);
    if (length > sizeof text)
        return stair_fail(m->context, STAIR_BAD_INPUT, "%s: NPY header over 10 kB", m->label);
    if (!read_exactly(m, text, length)) return damaged(m);
    STAIR_TRY(parse(m->context, m->label, text, length, header));
    if (header->fortran || header->swap)
        return stair_fail(m->context, STAIR_BAD_INPUT, "%s: needs C order and little-endian numbers",
                          m->label);
    m->left = size - before - length;
    if (header->count > m->left || header->count * (uint64_t)header->size != m->left)
        return stair_fail(m->context, STAIR_BAD_INPUT, "%s: holds other than its shape says", m->label);
    return STAIR_OK;
}

/* To be closed whatever comes of it. */
static stair_status open_member(stair_context *context, stair_archive *archive, const char *path,
                                const char *name, header_parser *parse, member *m, stair_npy_header *header)
{
    char inside[128];
    zip_stat_t about;
    *m = (member){.context = context, .archive = archive};
    snprintf(m->label, sizeof m->label, "%.400s: array '%.60s'", path, name);
    snprintf(inside, sizeof inside, "%s.npy", name);
    zip_stat_init(&about);
    if (zip_stat(archive, inside, 0, &about) != 0 || !(about.valid & ZIP_STAT_SIZE)) {
        if (zip_error_code_zip(zip_get_error(archive)) == ZIP_ER_MEMORY) return damaged(m);
        return stair_fail(context, STAIR_BAD_INPUT, "%s: no array '%s'", path, name);
    }
    m->file = zip_fopen(archive, inside, 0);
    return m->file ? read_header(m, about.size, parse, header) : damaged(m);
}

static void close_member(member *m)
{
    if (m->file) zip_fclose(m->file);
    m->file = NULL;
}

/* All elements as they are, to be freed; `room`: bytes that they will take in memory. */
static stair_status read_elements(member *m, uint64_t room, uint64_t most, unsigned char **bytes)
{
    unsigned char extra;
    if (room > most)
        return stair_fail(m->context, STAIR_BAD_INPUT,
                          "%s is too large: %llu bytes, and %llu are allowed (STAIR_LARGEST_ARRAY)", m->label,
                          (unsigned long long)room, (unsigned long long)most);
    *bytes = malloc((size_t)m->left + 1);
    if (!*bytes) return stair_fail(m->context, STAIR_NO_MEMORY, "%s: out of memory", m->label);
    if (read_exactly(m, *bytes, m->left) && zip_fread(m->file, &extra, 1) == 0)
        return STAIR_OK; /* reading the end checks the CRC */
    stair_status status = damaged(m);
    free(*bytes);
    *bytes = NULL;
    return status;
}

stair_status stair_archive_header(stair_context *context, stair_archive *archive, const char *path,
                                  const char *name, stair_npy_header *header)
{
    member m;
    stair_status status = open_member(context, archive, path, name, stair_npy_header_parse, &m, header);
    close_member(&m);
    return status;
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
    member m;
    unsigned char *bytes = NULL;
    *values = NULL;
    stair_status status = open_member(context, archive, path, name, stair_npy_header_parse, &m, header);
    if (status == STAIR_OK)
        status = read_elements(&m, header->count * sizeof(double), context->largest_array, &bytes);
    if (status == STAIR_OK && !(*values = malloc(header->count * sizeof(double) + 1)))
        status = stair_fail(context, STAIR_NO_MEMORY, "%s: out of memory", m.label);
    for (uint64_t i = 0; status == STAIR_OK && i < header->count; i++)
        if (!element(header, bytes + i * (uint64_t)header->size, *values + i))
            status = stair_fail(context, STAIR_BAD_INPUT, "%s: element %llu is not a finite real number",
                                m.label, (unsigned long long)i);
    close_member(&m);
    free(bytes);
    if (status != STAIR_OK) {
        free(*values);
        *values = NULL;
    }
    return status;
}

const char *stair_archive_name(stair_archive *archive, int number, char *name, size_t size)
{
    const char *inside = zip_get_name(archive, (zip_uint64_t)number, 0);
    if (!inside) return NULL;
    size_t length = strlen(inside);
    if (length > 4 && !strcmp(inside + length - 4, ".npy")) length -= 4;
    snprintf(name, size, "%.*s", (int)(length < size ? length : size - 1), inside);
    return name;
}

stair_status stair_archive_bytes(stair_context *context, stair_archive *archive, const char *path,
                                 const char *name, uint64_t most, stair_npy_header *header,
                                 unsigned char **bytes)
{
    member m;
    *bytes = NULL;
    stair_status status = open_member(context, archive, path, name, stair_npy_header_parse_any, &m, header);
    if (status == STAIR_OK) status = read_elements(&m, m.left, most, bytes);
    close_member(&m);
    return status;
}
