/* One pass over a coarse lattice, many lookups by finer ones. */
#include "channel/lattice_map.h"

#include <math.h>
#include <stdlib.h>

static const struct {
    float never; /* energy where nothing was visited */
} tuning = {.never = -1e30f};

void stair_lattice_map_destroy(stair_lattice_map *map)
{
    free(map->energy[0]);
    map->energy[0] = map->energy[1] = NULL;
}

bool stair_lattice_map_begin(stair_lattice_map *map, int dim, double radius)
{
    map->dim = 0;
    if (!(radius < STAIR_MAP_RADIUS)) return false;
    if (!map->energy[0]) {
        size_t room = 1;
        for (int k = 0; k < STAIR_LATTICE_DIM; k++) room *= 2 * STAIR_MAP_RADIUS + 3;
        map->energy[0] = malloc(2 * room * sizeof(float));
        if (!map->energy[0]) return false;
        map->energy[1] = map->energy[0] + room;
    }
    map->radius = (int)radius + 1;
    map->side = 2 * map->radius + 1;
    map->dim = dim;
    map->top = tuning.never;
    map->complete = true;
    int cells = 1;
    for (int k = 0; k < dim; k++) cells *= map->side;
    for (int i = 0; i < cells; i++) map->energy[0][i] = map->energy[1][i] = tuning.never;
    return true;
}

/* Cell of the integers below a point, whose coordinates are `apart` from each other; -1 outside. */
static inline int cell_of(const stair_lattice_map *map, const double *x, size_t apart, double shift)
{
    int cell = 0;
    for (int k = map->dim - 1; k >= 0; k--) {
        double at = x[(size_t)k * apart] + (shift + map->radius);
        if (!(at >= 0 && at < map->side)) return -1;
        cell = cell * map->side + (int)at;
    }
    return cell;
}

void stair_lattice_map_note(stair_lattice_map *map, const stair_lattice_points *points, int coset, int from,
                            int n, const stair_integrand *f)
{
    for (int i = 0; i < n; i++) {
        double energy = f->nodes.plus[i];
        if (f->shape.mirrored && f->nodes.minus[i] > energy) energy = f->nodes.minus[i];
        int cell = cell_of(map, points->point + from + i, (size_t)points->stride, 0);
        if (cell >= 0)
            map->energy[coset > 1][cell] = (float)energy;
        else
            map->complete = false;
        if (energy > map->top) map->top = energy;
    }
}

double stair_lattice_map_reach(const stair_lattice_map *map, const double *matrix, const double *centre,
                               double threshold)
{
    int dim = map->dim, cells = 1;
    double most = 0;
    for (int k = 0; k < dim; k++) cells *= map->side;
    for (int kind = 0; kind < 2; kind++)
        for (int cell = 0; cell < cells; cell++) {
            if (!(map->energy[kind][cell] > threshold)) continue;
            double x[STAIR_LATTICE_DIM], square = 0;
            for (int k = 0, rest = cell; k < dim; k++, rest /= map->side)
                x[k] = rest % map->side - map->radius + 0.5 * kind;
            for (int k = 0; k < dim; k++) {
                double sum = centre[k];
                for (int j = 0; j < dim; j++) sum += matrix[k * dim + j] * x[j];
                square += sum * sum;
            }
            most = fmax(most, square);
        }
    return sqrt(most);
}

int stair_lattice_map_pick(const stair_lattice_map *map, const stair_lattice_points *points,
                           const double *matrix, const double *centre, double threshold, int from, int end,
                           double *picked)
{
    int count = 0, dim = map->dim;
    double here[STAIR_LATTICE_DIM * STAIR_BLOCK];
    stair_affine(dim, matrix, centre, points->point + from, (size_t)points->stride, here);
    for (int i = 0; i < end - from && i < STAIR_BLOCK; i++) {
        int whole = cell_of(map, here + i, STAIR_BLOCK, 0.5), half = cell_of(map, here + i, STAIR_BLOCK, 0);
        if (!((whole >= 0 && map->energy[0][whole] > threshold) ||
              (half >= 0 && map->energy[1][half] > threshold)))
            continue;
        for (int k = 0; k < dim; k++)
            picked[(size_t)k * 2 * STAIR_BLOCK + (size_t)count] =
                points->point[(size_t)k * (size_t)points->stride + (size_t)(from + i)];
        count++;
    }
    return count;
}
