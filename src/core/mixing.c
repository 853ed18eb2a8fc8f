#include "core/mixing.h"

#include <string.h>

#include "core/matrix.h"

enum { MEMORY = STAIR_MIXING_MEMORY };

static const struct {
    double independent; /* eigenvalues of the Gram matrix below this part of the largest are rounding */
} tuning = {.independent = 1e-10};

static double *y_of(const stair_mixing *m, int i)
{
    return m->memory + i * m->cells;
}

static double *image_of(const stair_mixing *m, int i)
{
    return m->memory + (MEMORY + i) * m->cells;
}

void stair_mixing_add(stair_mixing *m, const double *y, const double *image)
{
    size_t size = sizeof(double) * (size_t)m->cells;
    if (m->count == MEMORY) {
        memmove(y_of(m, 0), y_of(m, 1), size * (MEMORY - 1));
        memmove(image_of(m, 0), image_of(m, 1), size * (MEMORY - 1));
        m->count--;
    }
    memcpy(y_of(m, m->count), y, size);
    memcpy(image_of(m, m->count), image, size);
    m->count++;
}

/* Differences of the latest residual from earlier ones: their Gram matrix and its right-hand side. */
static void normal_equations(const stair_mixing *m, int n, double *gram, double *right)
{
    const double *y = y_of(m, n), *image = image_of(m, n);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < m->cells; c++) {
            double now = image[c] - y[c], di = now - (image_of(m, i)[c] - y_of(m, i)[c]);
            right[i] += di * now;
            for (int j = 0; j < n; j++) gram[i * n + j] += di * (now - (image_of(m, j)[c] - y_of(m, j)[c]));
        }
}

void stair_mixing_next(const stair_mixing *m, double *next)
{
    int n = m->count - 1;
    double gram[MEMORY * MEMORY] = {0}, right[MEMORY] = {0}, values[MEMORY], vectors[MEMORY * MEMORY],
                         weight[MEMORY] = {0};
    normal_equations(m, n, gram, right);
    if (n) stair_matrix_eigen(n, gram, values, vectors);
    for (int e = 0; e < n; e++) {
        if (!(values[e] > tuning.independent * values[n - 1]) || values[e] <= 0) continue;
        double along = 0;
        for (int i = 0; i < n; i++) along += vectors[i * n + e] * right[i];
        for (int i = 0; i < n; i++) weight[i] += vectors[i * n + e] * along / values[e];
    }
    for (int c = 0; c < m->cells; c++) {
        next[c] = image_of(m, n)[c];
        for (int i = 0; i < n; i++) next[c] -= weight[i] * (image_of(m, n)[c] - image_of(m, i)[c]);
    }
}
