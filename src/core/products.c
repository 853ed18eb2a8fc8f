/* Which element type and instruction set a product is for, and when its sums are carried over. */
#define _DEFAULT_SOURCE /* madvise */
#include "core/products.h"

#include "core/isa.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

STAIR_HOT_TABLE(void, stair_products_project_f4,
                (const stair_products *s, size_t rows, const float *x, const float *w, double *z));
STAIR_HOT_TABLE(void, stair_products_project_f8,
                (const stair_products *s, size_t rows, const double *x, const double *w, double *z));
STAIR_HOT_TABLE(void, stair_products_collect_f4,
                (const stair_products *s, size_t rows, const float *x, const double *c, float *sum));
STAIR_HOT_TABLE(void, stair_products_collect_f8,
                (const stair_products *s, size_t rows, const double *x, const double *c, double *sum));
STAIR_HOT_TABLE(void, stair_products_flush_f4, (size_t count, float *part, bool add, double *sum));
STAIR_HOT_TABLE(void, stair_products_flush_f8, (size_t count, double *part, bool add, double *sum));

void stair_products_project(const stair_products *s, size_t rows, const void *x, const void *w, double *z)
{
    if (s->single)
        stair_products_project_f4_table[stair_isa()](s, rows, x, w, z);
    else
        stair_products_project_f8_table[stair_isa()](s, rows, x, w, z);
}

static void flush(const stair_products *s, stair_products_sum *sum)
{
    size_t count = (size_t)s->indices * s->dim;
    if (s->single)
        stair_products_flush_f4_table[stair_isa()](count, sum->part, sum->begun, sum->sum);
    else
        stair_products_flush_f8_table[stair_isa()](count, sum->part, sum->begun, sum->sum);
    sum->rows = 0;
    sum->begun = true;
}

void stair_products_finish(const stair_products *s, stair_products_sum *sum)
{
    flush(s, sum);
    sum->begun = false;
}

void stair_products_collect(const stair_products *s, size_t rows, const void *x, const double *c,
                            stair_products_sum *sum)
{
    if (sum->rows && sum->rows + rows > STAIR_PRODUCTS_ROWS) flush(s, sum);
    if (s->single)
        stair_products_collect_f4_table[stair_isa()](s, rows, x, c, sum->part);
    else
        stair_products_collect_f8_table[stair_isa()](s, rows, x, c, sum->part);
    sum->rows += rows;
}

void *stair_products_memory(size_t bytes)
{
    const size_t page = (size_t)1 << 21;
    if (bytes > SIZE_MAX - 2 * page) return NULL;
    size_t rounded = bytes < page ? (bytes + 64) / 64 * 64 : (bytes + page) / page * page;
    void *memory = aligned_alloc(bytes < page ? 64 : page, rounded);
#ifdef MADV_HUGEPAGE
    if (memory && bytes >= page)
        madvise(memory, rounded, MADV_HUGEPAGE); /* where it is refused, small pages do */
#endif
    return memory;
}
