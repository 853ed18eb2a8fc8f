/* A ZIP archive of stored members (APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12, 4.3.14-16, 4.5.3).
 *
 * Sizes are known when a member is copied, its checksum only afterwards: the local header is
 * written twice.  Times are fixed at 1980-01-01, so equal arrays give equal bytes. */
#include "io/npz.h"

#include "io/atomic_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DOS_DATE = 0x0021 }; /* 1980-01-01, the first there is */
enum { HELD = 1 << 16 };    /* bytes of a member in memory, before it gets a scratch file */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are written as they lie in memory");

typedef struct {
    char name[64]; /* with .npy */
    char descr[8];
    size_t row_bytes;
    int rank;
    uint64_t tail[STAIR_NPY_RANK], rows, size, offset;
    uint32_t crc;
    unsigned char *held; /* rows, while they are few: (HELD) */
    size_t held_bytes;
    FILE *part; /* header and rows, once they are not; or NULL */
} member;

struct stair_npz {
    stair_atomic_file out;
    uint64_t zip64_from;
    uint32_t crc_table[256];
    int count, room;
    member *members; /* (room) */
};

static void crc_table_fill(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xEDB88320u : 0);
    }
}

stair_status stair_npz_create(stair_context *context, const char *path, bool overwrite, stair_npz **npz)
{
    *npz = calloc(1, sizeof **npz);
    if (!*npz) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    (*npz)->zip64_from = 0xFFFFFFFFu;
    crc_table_fill((*npz)->crc_table);
    stair_status status = stair_atomic_open(context, path, overwrite, &(*npz)->out);
    if (status != STAIR_OK) stair_npz_destroy(npz);
    return status;
}

void stair_npz_destroy(stair_npz **npz)
{
    if (!*npz) return;
    for (int i = 0; i < (*npz)->count; i++) {
        if ((*npz)->members[i].part) fclose((*npz)->members[i].part);
        free((*npz)->members[i].held);
    }
    free((*npz)->members);
    if ((*npz)->out.path) stair_atomic_discard(&(*npz)->out);
    free(*npz);
    *npz = NULL;
}

void stair_npz_set_zip64_from(stair_npz *npz, uint64_t size)
{
    npz->zip64_from = size;
}

static stair_status write_failed(stair_context *context, const stair_npz *npz)
{
    return stair_fail(context, STAIR_FAILED, "%s: cannot be written: %s", npz->out.path, strerror(errno));
}

stair_status stair_npz_add(stair_context *context, stair_npz *npz, const char *name, const char *descr,
                           size_t size, int rank, const uint64_t *tail, int *number)
{
    if (npz->count == STAIR_MOST_MEMBERS || rank > STAIR_NPY_RANK ||
        strlen(name) > sizeof npz->members[0].name - 5)
        return stair_fail(context, STAIR_UNSUPPORTED, "%s: no room for array %s", npz->out.path, name);
    if (npz->count == npz->room) {
        int room = npz->room ? 2 * npz->room : 16;
        member *members = realloc(npz->members, (size_t)room * sizeof *members);
        if (!members) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
        npz->members = members;
        npz->room = room;
    }
    member *m = &npz->members[npz->count];
    *m = (member){.rank = rank, .row_bytes = size};
    snprintf(m->name, sizeof m->name, "%s.npy", name);
    snprintf(m->descr, sizeof m->descr, "%s", descr);
    for (int i = 0; i < rank - 1; i++) m->row_bytes *= m->tail[i] = tail[i];
    *number = npz->count++;
    return STAIR_OK;
}

/* From memory to a scratch file: there are fewer of these than arrays. */
static stair_status spill(stair_context *context, stair_npz *npz, member *m)
{
    if (m->part) return STAIR_OK;
    STAIR_TRY(stair_scratch_open(context, npz->out.path, &m->part));
    STAIR_TRY(stair_npy_header_write(context, m->part, m->descr, 0, m->rank, m->tail));
    if (m->held_bytes && fwrite(m->held, 1, m->held_bytes, m->part) != m->held_bytes)
        return write_failed(context, npz);
    free(m->held);
    m->held = NULL;
    m->held_bytes = 0;
    return STAIR_OK;
}

stair_status stair_npz_append(stair_context *context, stair_npz *npz, int number, const void *rows, size_t n)
{
    member *m = &npz->members[number];
    if (npz->out.silent) return STAIR_OK;
    if (!m->part && m->row_bytes && n <= (HELD - m->held_bytes) / m->row_bytes) {
        if (!m->held) m->held = malloc(HELD);
        if (!m->held) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
        memcpy(m->held + m->held_bytes, rows, n * m->row_bytes);
        m->held_bytes += n * m->row_bytes;
        m->rows += n;
        return STAIR_OK;
    }
    STAIR_TRY(spill(context, npz, m));
    m->rows += n;
    if (m->row_bytes && fwrite(rows, m->row_bytes, n, m->part) != n) return write_failed(context, npz);
    return STAIR_OK;
}

/* Little-endian numbers into a small record. */
typedef struct {
    unsigned char bytes[128];
    size_t size;
} record;

static void put(record *r, int bytes, uint64_t value)
{
    for (int k = 0; k < bytes; k++) r->bytes[r->size++] = (unsigned char)(value >> (8 * k));
}

static bool write_record(FILE *file, const record *r, const char *name)
{
    size_t length = name ? strlen(name) : 0;
    /* the name stands between the fixed part and the extra field */
    size_t fixed = name ? (r->bytes[2] == 1 ? 46 : 30) : r->size;
    return fwrite(r->bytes, 1, fixed, file) == fixed && (!name || fwrite(name, 1, length, file) == length) &&
           fwrite(r->bytes + fixed, 1, r->size - fixed, file) == r->size - fixed;
}

/* Version to extract .. name length: common to the local and the central header. */
static void put_common(record *r, const member *m, bool wide)
{
    put(r, 2, wide ? 45 : 20);
    put(r, 2, 0);
    put(r, 2, 0); /* stored */
    put(r, 2, 0);
    put(r, 2, DOS_DATE);
    put(r, 4, m->crc);
    put(r, 4, wide ? 0xFFFFFFFFu : m->size);
    put(r, 4, wide ? 0xFFFFFFFFu : m->size);
    put(r, 2, strlen(m->name));
}

static bool write_local(FILE *file, const member *m, bool wide)
{
    record r = {.size = 0};
    put(&r, 4, 0x04034b50);
    put_common(&r, m, wide);
    put(&r, 2, wide ? 20 : 0);
    if (wide) {
        put(&r, 2, 1);
        put(&r, 2, 16);
        put(&r, 8, m->size);
        put(&r, 8, m->size);
    }
    return write_record(file, &r, m->name);
}

static bool write_central(FILE *file, const member *m, bool wide)
{
    record r = {.size = 0};
    put(&r, 4, 0x02014b50);
    put(&r, 2, 3 << 8 | 45); /* made on Unix */
    put_common(&r, m, wide);
    put(&r, 2, wide ? 28 : 0);
    put(&r, 2, 0);
    put(&r, 2, 0);
    put(&r, 2, 0);
    put(&r, 4, (uint64_t)0100644 << 16);
    put(&r, 4, wide ? 0xFFFFFFFFu : m->offset);
    if (wide) {
        put(&r, 2, 1);
        put(&r, 2, 24);
        put(&r, 8, m->size);
        put(&r, 8, m->size);
        put(&r, 8, m->offset);
    }
    return write_record(file, &r, m->name);
}

static bool write_end(FILE *file, int count, uint64_t start, uint64_t size, bool wide)
{
    record r = {.size = 0};
    if (wide) {
        put(&r, 4, 0x06064b50);
        put(&r, 8, 44);
        put(&r, 2, 3 << 8 | 45);
        put(&r, 2, 45);
        put(&r, 8, 0);
        put(&r, 8, (uint64_t)count);
        put(&r, 8, (uint64_t)count);
        put(&r, 8, size);
        put(&r, 8, start);
        put(&r, 4, 0x07064b50); /* locator */
        put(&r, 4, 0);
        put(&r, 8, start + size);
        put(&r, 4, 1);
    }
    put(&r, 4, 0x06054b50);
    put(&r, 4, 0);
    put(&r, 2, (uint64_t)count);
    put(&r, 2, (uint64_t)count);
    put(&r, 4, wide ? 0xFFFFFFFFu : size);
    put(&r, 4, wide ? 0xFFFFFFFFu : start);
    put(&r, 2, 0);
    return write_record(file, &r, NULL);
}

static bool copy_part(const uint32_t table[256], member *m, FILE *file)
{
    unsigned char buffer[32768];
    uint32_t crc = ~0u;
    size_t got;
    rewind(m->part);
    while ((got = fread(buffer, 1, sizeof buffer, m->part)) > 0) {
        for (size_t i = 0; i < got; i++) crc = crc >> 8 ^ table[(crc ^ buffer[i]) & 255];
        if (fwrite(buffer, 1, got, file) != got) return false;
    }
    m->crc = ~crc;
    return !ferror(m->part);
}

static bool store_member(stair_npz *npz, member *m)
{
    FILE *file = npz->out.file;
    if (fflush(m->part) || fseeko(m->part, 0, SEEK_END)) return false;
    m->size = (uint64_t)ftello(m->part);
    m->offset = (uint64_t)ftello(file);
    bool wide = m->size >= npz->zip64_from;
    if (!write_local(file, m, wide) || !copy_part(npz->crc_table, m, file)) return false;
    if (fseeko(file, (off_t)m->offset, SEEK_SET) || !write_local(file, m, wide)) return false;
    return fseeko(file, 0, SEEK_END) == 0;
}

stair_status stair_npz_commit(stair_context *context, stair_npz *npz)
{
    FILE *file = npz->out.file;
    if (npz->out.silent) return stair_atomic_commit(context, &npz->out);
    for (int i = 0; i < npz->count; i++) {
        member *m = &npz->members[i];
        STAIR_TRY(spill(context, npz, m));
        STAIR_TRY(stair_npy_header_write(context, m->part, m->descr, m->rows, m->rank, m->tail));
        if (!store_member(npz, m)) return write_failed(context, npz);
        fclose(m->part); /* frees its disk space as early as possible */
        m->part = NULL;
    }
    uint64_t start = (uint64_t)ftello(file);
    bool wide = start >= npz->zip64_from;
    for (int i = 0; i < npz->count; i++) {
        const member *m = &npz->members[i];
        if (!write_central(file, m, m->size >= npz->zip64_from || m->offset >= npz->zip64_from))
            return write_failed(context, npz);
    }
    if (!write_end(file, npz->count, start, (uint64_t)ftello(file) - start, wide))
        return write_failed(context, npz);
    return stair_atomic_commit(context, &npz->out);
}
