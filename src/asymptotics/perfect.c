/* State evolution as V -> 0 is scale-free.  Near the truth the label is a linear map of Z - omega,
 * y - y* = J dZ with J = dy/dZ (K, PM), so the posterior is Gaussian and
 *
 *   -dg = J^T (J V J^T)^+ J,     f(V) = H E sum_m [J^T (J V J^T)^+ J]_mm,     V' = (alpha f(V))^-1 :
 *
 * V -> f(V)^-1 is homogeneous of degree one and monotone, so (Perron and Frobenius, nonlinear) it has one
 * eigenvalue mu on positive matrices, V' = (mu/alpha) V, and perfect recovery is stable for alpha > mu. Since
 * tr V f(V) is H times the rank of J (its mean, where labels are flat in places), an eigenvector V > 0 gives
 * mu = P / (H rank J): the bound by counting. mu is nevertheless computed: an eigenvector on the boundary
 * would show.  H: blocks, see branch.h. */
#include "asymptotics/perfect.h"

#include <math.h>
#include <string.h>

#include "model/linear.h"
#include "core/matrix.h"
#include "core/qmc.h"
#include "core/rng.h"

static const struct {
    int steps;        /* of V -> 1 / f(V), at most */
    double inside;    /* of the trace: eigenvalues of V above it are positive */
    double same_rank; /* the mean rank of J is the largest */
} tuning = {.steps = 200, .inside = 1e-6, .same_rank = 1e-6};

static void average(const stair_linear *linear, const stair_symmetry *symmetry, size_t points, uint64_t seed,
                    int replicate, const double *v, double *f)
{
    int p = linear->model->info.indices, size = p * linear->model->info.tokens;
    double shift[STAIR_MAX_CELLS], u[STAIR_MAX_CELLS], z[STAIR_MAX_CELLS], root[STAIR_SQUARE],
        inverse[STAIR_SQUARE];
    stair_linear_roots(p, v, root, inverse);
    stair_rng_uniforms(seed, STAIR_RNG_SHIFT, (uint64_t)replicate, size, shift);
    memset(f, 0, sizeof(double) * (size_t)(p * p));
    for (size_t i = 0; i < points; i++) {
        stair_qmc_point(size, points, i, shift, u);
        for (int c = 0; c < size; c++) z[c] = stair_qmc_normal(u[c]);
        stair_linear_add(linear, root, inverse, z, f);
    }
    for (int i = 0; i < p * p; i++) f[i] /= (double)points;
    stair_symmetrise(symmetry, f);
}

/* One step V -> f(V)^-1, scaled to trace one; the scale is mu. */
static double step(int p, const double *f, double *v)
{
    double a[STAIR_SQUARE], trace = 0;
    memcpy(a, f, sizeof(double) * (size_t)(p * p));
    for (int i = 0; i < p * p; i++) v[i] = i % (p + 1) == 0;
    if (!stair_matrix_solve(p, a, p, v, NULL)) return INFINITY;
    for (int i = 0; i < p; i++) trace += v[i * (p + 1)];
    for (int i = 0; i < p * p; i++) v[i] /= trace;
    return trace;
}

/* tr V f(V): the mean rank of J, which is smaller than its largest where labels are flat in places. */
static double trace_of_product(int p, const double *v, const double *f)
{
    double trace = 0;
    for (int i = 0; i < p * p; i++) trace += v[i] * f[i];
    return trace;
}

static void find(const stair_linear *linear, const stair_symmetry *symmetry, size_t points, int replicates,
                 uint64_t seed, stair_perfect *out)
{
    int p = linear->model->info.indices, blocks = linear->model->blocks;
    double v[STAIR_SQUARE] = {0}, f[STAIR_SQUARE], part[STAIR_SQUARE], mu[STAIR_MOST_REPLICATES], before = 0;
    out->equations = linear->rank;
    out->counting = out->equations ? (double)p / out->equations / blocks : INFINITY;
    for (int i = 0; i < p; i++) v[i * (p + 1)] = 1.0 / p;
    for (int s = 0; s < tuning.steps; s++) {
        average(linear, symmetry, points, seed, 0, v, f);
        double now = step(p, f, v);
        if (fabs(now - before) <= 1e-7 * now) break;
        before = now;
    }
    bool inside = true, constant = true;
    for (int r = 0; r < replicates; r++) {
        double next[STAIR_SQUARE];
        average(linear, symmetry, points, seed, r, v, part);
        constant &= fabs(trace_of_product(p, v, part) - linear->rank) < tuning.same_rank;
        memcpy(next, v, sizeof next);
        mu[r] = step(p, part, next) / blocks;
        out->alpha += mu[r] / replicates;
    }
    out->error = stair_replicate_error(replicates, mu);
    for (int i = 0; i < p; i++) inside &= v[i * (p + 1)] > tuning.inside;
    if (inside && constant) { /* then counting is exact, and the sampled value only shows the noise */
        out->alpha = out->counting;
        out->error = 0;
    }
    for (int i = 0; i < p; i++) out->ratios[i] = v[i * (p + 1)];
}

stair_status stair_perfect_find(stair_context *context, const stair_structure *structure, size_t points,
                                int replicates, uint64_t seed, stair_perfect *out)
{
    stair_linear linear;
    memset(out, 0, sizeof *out);
    if (structure->rank < 0)
        return stair_fail(context, STAIR_UNSUPPORTED, "perfect recovery of %d numbers",
                          structure->model->info.indices * structure->model->info.tokens);
    if (structure->rank == 0) { /* labels that do not change with Z, but for jumps: never */
        out->alpha = out->counting = INFINITY;
        return STAIR_OK;
    }
    STAIR_TRY(stair_linear_create(context, structure->model, structure->rank, &linear));
    find(&linear, &structure->symmetry, points, replicates, seed, out);
    stair_linear_destroy(&linear);
    return STAIR_OK;
}
