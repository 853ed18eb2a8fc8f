/* The limit of infinite depth with skip c = beta L: the mixing of the layers concentrates, and
 *
 *   dB/dt = (1/beta) E_z[ rowsoftmax(B z^T z B^T) ] B,   B(0) = 1,   0 <= t <= 1
 *
 * (docs/errata.md, 16, in the form where rows mix tokens), z (P, M) standard normal.  Tokens may be
 * exchanged, so B = a 1 + b 11^T, and E softmax = p 1 + (1 - p)/M 11^T, rows summing to one:
 *
 *   d a/dt = p a / beta,   a + M b = exp(t/beta),   p = (M E S_11 - 1)/(M - 1).
 *
 * One number is integrated, by Runge and Kutta.  Two tokens of rank one: E S_11 is an average of a logistic
 * function over two normals, by equidistant nodes, exact to 1e-9.  Else randomly shifted lattices, each with
 * its own a: their mean has an error of 1e-4 to 1e-3, which they tell.  Steps that are learned do not depend
 * on it, since B is known; plain outputs do, and posteriors with noise on y.
 */
#include <math.h>
#include <stdlib.h>

#include "core/qmc.h"
#include "core/rng.h"
#include "core/stats.h"
#include "model/limit.h"

enum {
    SHIFTS = 8,   /* of lattices */
    POINTS = 4096 /* of each */
};

static const struct {
    double step, reach; /* of equidistant nodes, in standard deviations */
    double steps;       /* of time, for each e-folding of B, and at least as many */
} tuning = {.step = 0.125, .reach = 8, .steps = 12};

/* Where E S_11 is taken. */
typedef struct {
    int tokens, rank;
    const double *z; /* (POINTS, rank, M): a lattice; NULL: equidistant nodes */
} nodes;

/* E S_11 at h_m = a z_m + b (z_1 + z_2): with half the difference d and half the sum s, both N(0, 1/2), the
 * logit of S_11 is 2 a d ((a + 2b) s + a d). */
static double mean_of_pair(double a, double b)
{
    double sum = 0, total = 0;
    int most = (int)(tuning.reach / tuning.step);
    for (int i = -most; i <= most; i++)
        for (int j = 0; j <= most; j++) { /* d and s may change sign together */
            double s = i * tuning.step, d = j * tuning.step;
            double weight = (j ? 2 : 1) * exp(-0.5 * (s * s + d * d));
            total += weight;
            sum += weight / (1 + exp(-a * d * ((a + 2 * b) * s + a * d)));
        }
    return sum / total;
}

/* S_11 of one z (rank, M) */
static double score(int m, int rank, double a, double b, const double *z)
{
    double h[STAIR_MAX_CELLS], top = -INFINITY, dot[STAIR_MAX_TOKENS], sum = 0;
    for (int k = 0; k < rank; k++) {
        double all = 0;
        for (int t = 0; t < m; t++) all += z[k * m + t];
        for (int t = 0; t < m; t++) h[t * rank + k] = a * z[k * m + t] + b * all;
    }
    for (int t = 0; t < m; t++) {
        dot[t] = 0;
        for (int k = 0; k < rank; k++) dot[t] += h[k] * h[t * rank + k];
        top = fmax(top, dot[t]);
    }
    for (int t = 0; t < m; t++) sum += exp(dot[t] - top);
    return exp(dot[0] - top) / sum;
}

static double mean_score(const nodes *n, double a, double b)
{
    if (!n->z) return mean_of_pair(a, b);
    size_t size = (size_t)(n->tokens * n->rank);
    double sum = 0;
    for (size_t i = 0; i < POINTS; i++) sum += score(n->tokens, n->rank, a, b, n->z + i * size);
    return sum / POINTS;
}

/* d log a / dt */
static double growth(const nodes *n, double beta, double t, double log_a)
{
    double a = exp(log_a), m = n->tokens, b = (exp(t / beta) - a) / m;
    return (m * mean_score(n, a, b) - 1) / (m - 1) / beta;
}

/* a at time one */
static double run(const nodes *n, double beta)
{
    int steps = (int)ceil(tuning.steps * fmax(1, 1 / beta));
    double log_a = 0, dt = 1.0 / steps;
    for (int k = 0; k < steps; k++) {
        double t = k * dt, first = growth(n, beta, t, log_a),
               second = growth(n, beta, t + dt / 2, log_a + dt / 2 * first),
               third = growth(n, beta, t + dt / 2, log_a + dt / 2 * second),
               fourth = growth(n, beta, t + dt, log_a + dt * third);
        log_a += dt / 6 * (first + 2 * second + 2 * third + fourth);
    }
    return exp(log_a);
}

/* Mean over lattices, and its error. */
static bool run_lattices(int tokens, int rank, double beta, double *a, double *error)
{
    int size = tokens * rank;
    double found[SHIFTS], shift[STAIR_MAX_CELLS], *z = malloc(POINTS * (size_t)size * sizeof(double));
    *a = 0;
    for (int k = 0; k < SHIFTS && z; k++) {
        stair_rng_uniforms((uint64_t)(k + 1), STAIR_RNG_SHIFT, 0, size, shift);
        for (size_t i = 0; i < POINTS; i++) stair_qmc_gaussian(size, POINTS, i, shift, z + i * (size_t)size);
        found[k] = run(&(nodes){tokens, rank, z}, beta);
        *a += found[k] / SHIFTS;
    }
    if (z) *error = stair_replicate_error(SHIFTS, found);
    free(z);
    return z;
}

bool stair_limit_flow(int tokens, int rank, double beta, double flow[2], double *error)
{
    bool done = true;
    *error = 0;
    if (tokens == 1) /* S is 1 */
        flow[0] = exp(1 / beta);
    else if (tokens == 2 && rank == 1)
        flow[0] = run(&(nodes){tokens, rank, NULL}, beta);
    else
        done = run_lattices(tokens, rank, beta, &flow[0], error);
    flow[1] = (exp(1 / beta) - flow[0]) / tokens;
    return done;
}
