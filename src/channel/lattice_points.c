/* Tables of lattice points, built when first needed. */
#include "channel/lattice_points.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "model/model.h"
#include "core/thread.h"

enum { DIGITS = 6 }; /* binary digits of the number of a coset: 64 of them */

/* Radii of the tables, by dimension: the smaller one serves nearly all samples. */
static const int table_radius[STAIR_LATTICE_DIM + 1][STAIR_LATTICE_SIZES] = {
    {0}, {40, 200}, {12, 40}, {8, 24}, {6, 16}};

/* Shift of coset c: binary digits of c add these vectors.  Doubling the cosets refines the lattice by sqrt 2
 * in two dimensions.  In three and four the first doubling completes the integers, the second the
 * body-centred lattice: two differences, which between them show every shortest dual vector of the integers.
 */
static const double digit_shift[STAIR_LATTICE_DIM + 1][DIGITS][STAIR_LATTICE_DIM] = {
    [1] = {{0.5}, {0.25}, {0.125}, {0.0625}},
    [2] = {{0.5, 0.5}, {0.5, 0}, {0.25, 0.25}, {0.25, 0}, {0.125, 0.125}, {0.125, 0}},
    [3] = {{1, 0, 0}, {0.5, 0.5, 0.5}},
    [4] = {{1, 0, 0, 0}, {0.5, 0.5, 0.5, 0.5}},
};

static _Atomic(const stair_lattice_points *) tables[STAIR_LATTICE_DIM + 1][STAIR_LATTICE_COSETS]
                                                   [STAIR_LATTICE_SIZES];
static stair_lock tables_lock = STAIR_LOCK_FREE;

typedef struct {
    double radius2;
    double x[STAIR_LATTICE_DIM];
} table_entry;

/* By radius, then by coordinates, so that the order is the same everywhere. */
static int compare_entries(const void *a, const void *b)
{
    const table_entry *x = a, *y = b;
    if (x->radius2 != y->radius2) return x->radius2 < y->radius2 ? -1 : 1;
    for (int k = 0; k < STAIR_LATTICE_DIM; k++)
        if (x->x[k] != y->x[k]) return x->x[k] < y->x[k] ? -1 : 1;
    return 0;
}

static int list_points(int dim, int coset, int radius, table_entry *out)
{
    int side = radius + 2, count = 0, total = 1;
    for (int k = 0; k < dim; k++) total *= 2 * side + 1;
    for (int code = 0; code < total; code++) {
        table_entry e = {0};
        int sum = 0;
        for (int k = 0, rest = code; k < dim; k++, rest /= 2 * side + 1) {
            e.x[k] = rest % (2 * side + 1) - side;
            sum += (int)e.x[k];
            for (int digit = 0; digit < DIGITS; digit++)
                e.x[k] += (coset >> digit & 1) * digit_shift[dim][digit][k];
            e.radius2 += e.x[k] * e.x[k];
        }
        if (e.radius2 > radius * radius || (dim > 2 && sum % 2)) continue;
        if (out) out[count] = e;
        count++;
    }
    return count;
}

static stair_lattice_points *build_table(int dim, int coset, int radius)
{
    int count = list_points(dim, coset, radius, NULL),
        stride = (count + STAIR_BLOCK - 1) / STAIR_BLOCK * STAIR_BLOCK;
    int bins = radius * STAIR_LATTICE_FINE;
    stair_lattice_points *t = malloc(sizeof *t);
    table_entry *entries = malloc(sizeof *entries * (size_t)count);
    double *memory = calloc((size_t)stride * (size_t)(dim + 1), sizeof(double));
    int *within = malloc(sizeof *within * (size_t)(bins + 1));
    if (!t || !entries || !memory || !within) {
        free(t);
        free(entries);
        free(memory);
        free(within);
        return NULL;
    }
    list_points(dim, coset, radius, entries);
    qsort(entries, (size_t)count, sizeof *entries, compare_entries);
    *t = (stair_lattice_points){
        .count = count, .stride = stride, .bins = bins, .point = memory, .within = within};
    t->radius = memory + (size_t)dim * (size_t)stride;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < dim; k++) memory[(size_t)k * (size_t)stride + (size_t)i] = entries[i].x[k];
        t->radius[i] = sqrt(entries[i].radius2);
    }
    for (int k = 0, i = 0; k <= bins; k++) {
        while (i < count && t->radius[i] * STAIR_LATTICE_FINE <= k) i++;
        within[k] = i;
    }
    free(entries);
    return t;
}

const stair_lattice_points *stair_lattice_points_of(int dim, int coset, int size)
{
    _Atomic(const stair_lattice_points *) *place = &tables[dim][coset][size];
    const stair_lattice_points *table = atomic_load_explicit(place, memory_order_acquire);
    if (table) return table;
    stair_lock_take(&tables_lock);
    table = atomic_load_explicit(place, memory_order_relaxed);
    if (!table) {
        table = build_table(dim, coset, table_radius[dim][size]);
        atomic_store_explicit(place, table, memory_order_release);
    }
    stair_lock_release(&tables_lock);
    return table;
}
