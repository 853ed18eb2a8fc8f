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
 * its own a: their mean has an error of about 1e-5, which is theirs.
 */
#include <math.h>

#include "core/qmc.h"
#include "core/rng.h"
#include "core/stats.h"
#include "model/limit.h"

enum {
    SHIFTS = 8,   /* of lattices */
    POINTS = 2048 /* of each */
};

static const struct {
    double step, reach; /* of equidistant nodes, in standard deviations */
    int steps;          /* of time */
} tuning = {.step = 0.125, .reach = 8, .steps = 32};

/* Where E S_11 is taken. */
typedef struct {
    int tokens, rank;
    uint64_t shift; /* number of the lattice; 0: equidistant nodes */
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
    if (!n->shift) return mean_of_pair(a, b);
    double shift[STAIR_MAX_CELLS], z[STAIR_MAX_CELLS], sum = 0;
    int size = n->tokens * n->rank;
    stair_rng_uniforms(n->shift, STAIR_RNG_SHIFT, 0, size, shift);
    for (size_t i = 0; i < POINTS; i++) {
        stair_qmc_point(size, POINTS, i, shift, z);
        for (int k = 0; k < size; k++) z[k] = stair_qmc_normal(z[k]);
        sum += score(n->tokens, n->rank, a, b, z);
    }
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
    double log_a = 0, dt = 1.0 / tuning.steps;
    for (int k = 0; k < tuning.steps; k++) {
        double t = k * dt, first = growth(n, beta, t, log_a),
               second = growth(n, beta, t + dt / 2, log_a + dt / 2 * first),
               third = growth(n, beta, t + dt / 2, log_a + dt / 2 * second),
               fourth = growth(n, beta, t + dt, log_a + dt * third);
        log_a += dt / 6 * (first + 2 * second + 2 * third + fourth);
    }
    return exp(log_a);
}

void stair_limit_flow(int tokens, int rank, double beta, double flow[2], double *error)
{
    double found[SHIFTS];
    bool pair = tokens == 2 && rank == 1;
    flow[0] = *error = 0;
    if (tokens == 1) /* S is 1 */
        flow[0] = exp(1 / beta);
    else if (pair)
        flow[0] = run(&(nodes){tokens, rank, 0}, beta);
    for (int k = 0; k < SHIFTS && tokens > 1 && !pair; k++) {
        found[k] = run(&(nodes){tokens, rank, (uint64_t)(k + 1)}, beta);
        flow[0] += found[k] / SHIFTS;
    }
    if (tokens > 1 && !pair) *error = stair_replicate_error(SHIFTS, found);
    flow[1] = (exp(1 / beta) - flow[0]) / tokens;
}
