/* The first look at an integrand: a grid in two dimensions, scattered points in more.
 *
 * When V is small in some direction the distance |x|^2 is steep but still smooth on the scale of one, so a
 * coarse pilot sees every basin.  Where it sees more, the shape itself, its moments are a frame for free. */
#include "channel/pilot.h"

#include <math.h>
#include <string.h>

#include "core/isa.h"
#include "core/matrix.h"
#include "core/qmc.h"

static const struct {
    int sides[3];      /* of the grids, until one is fine enough */
    double span;       /* the side, in prior standard deviations */
    double wide;       /* scattered points are drawn this much wider than the prior, */
    double wide_aux;   /* and on coordinates without a prior so wide */
    double enough;     /* effective number of them that tells the shape of the integrand */
    int rounds;        /* of points that follow the integrand, */
    double spread;     /* each drawn this much wider than the last ones tell */
    double far;        /* |x| that no typical sample has at its best */
    double stiff;      /* change of |x| between neighbours of the pilot above which it does not, */
    double stiff_fine; /* and on the fine grid, where more is asked than */
    double loose;      /* this cutoff */
} tuning = {.sides = {12, 22, 32},
            .span = 6.82,
            .wide = 1.2,
            .wide_aux = 0.7,
            .enough = 40,
            .rounds = 6,
            .spread = 1.2,
            .far = 4.5,
            .stiff = 3.5,
            .stiff_fine = 2.2,
            .loose = 12};

STAIR_HOT_TABLE(void, stair_pilot_change,
                (int side, const double *length, double far, double *change, double *least));
STAIR_HOT_TABLE(void, stair_pilot_sums, (int dim, int n, const double *mass, const double *u, double *sums));

/* Prior standard deviation of coordinate k: of its row of Z, or one. */
double stair_prior_scale(const stair_integrand *f, int k)
{
    int p = f->shape.rows, row = k / f->shape.tokens;
    double variance = 0;
    if (row >= f->shape.free_rows) return 1;
    for (int j = 0; j <= row; j++) variance += f->lower[row * p + j] * f->lower[row * p + j];
    return sqrt(variance);
}

/* Pilot points: prior factor times t, counted from the prior mean. */
void stair_prior_point(const stair_integrand *f, const double *t, double *u)
{
    int p = f->shape.rows, m = f->shape.tokens, free = f->shape.free_rows * m;
    for (int k = 0; k < f->dim; k++) {
        u[k] = k < free ? 0 : t[k];
        int row = k / m, token = k % m;
        for (int j = 0; j <= row && k < free; j++) u[k] += f->lower[row * p + j] * t[j * m + token];
    }
}

void stair_pilot_point(int dim, const double *pilot, int i, double *x)
{
    for (int k = 0; k < dim; k++) x[k] = pilot[(size_t)k * STAIR_PILOT_MOST + (size_t)i];
}

/* Evaluates the n points whose whitened coordinates are in modes->pilot_t. */
static void evaluate_pilot(stair_integrand *f, int n, stair_modes *modes)
{
    int dim = f->dim;
    double *plus = modes->pilot_sign[0], *minus = modes->pilot_sign[1];
    double centre[STAIR_MAX_DIM], unit[STAIR_MAX_DIM] = {0}, *matrix = modes->scratch;
    modes->pilots = n;
    stair_prior_point(f, unit, centre);
    for (int k = 0; k < dim; k++) { /* the prior is affine in t */
        double column[STAIR_MAX_DIM];
        unit[k] = 1;
        stair_prior_point(f, unit, column);
        unit[k] = 0;
        for (int x = 0; x < dim; x++) matrix[x * dim + k] = column[x] - centre[x];
    }
    for (int from = 0; from < n; from += STAIR_BLOCK) {
        int many = n - from < STAIR_BLOCK ? n - from : STAIR_BLOCK;
        stair_affine(dim, matrix, centre, modes->pilot_t + from, STAIR_PILOT_MOST, f->nodes.u);
        for (int k = 0; k < dim; k++)
            memcpy(modes->pilot + (size_t)k * STAIR_PILOT_MOST + from, f->nodes.u + (size_t)k * STAIR_BLOCK,
                   sizeof(double) * (size_t)many);
        stair_integrand_energies(f, many);
        memcpy(plus + from, f->nodes.plus, sizeof(double) * (size_t)many);
        memcpy(minus + from, f->nodes.minus, sizeof(double) * (size_t)many);
        memcpy(modes->pilot_mass + from, f->nodes.weight,
               sizeof(double) * (size_t)many); /* see weigh_pilot() */
    }
    for (int i = 0; i < n; i++)
        modes->pilot_value[i] = !f->shape.mirrored || plus[i] > minus[i] ? plus[i] : minus[i];
}

/* The integrand at the pilot, relative to exp(0), the largest the exponent can be. */
static void weigh_pilot(const stair_integrand *f, stair_modes *modes)
{
    const double *minus = f->shape.mirrored ? modes->pilot_sign[1] : NULL;
    stair_mass(modes->pilots, modes->pilot_sign[0], minus, 0, modes->pilot_mass, modes->pilot_mass);
}

bool stair_pilot_is_grid(const stair_integrand *f)
{
    return f->dim == 2 && f->shape.free_rows * f->shape.tokens == 2;
}

/* Whether |x| = sqrt(-2E) changes too fast between neighbours where it is not large, or is large
 * everywhere: then the mass has been stepped over. */
static bool pilot_is_stiff(int side, const stair_modes *modes, bool mirrored, double most)
{
    double least = 1e300, change = 0, length[STAIR_PILOT_MOST + 16];
    for (int i = 0; i < 16; i++) length[side * side + i] = 0; /* read, not used */
    for (int s = 0; s < (mirrored ? 2 : 1); s++) {
        for (int i = 0; i < side * side; i++) length[i] = sqrt(-2 * modes->pilot_sign[s][i]);
        stair_pilot_change_table[stair_isa()](side, length, 2 * tuning.far, &change, &least);
    }
    return change > most || least > tuning.far;
}

static void evaluate_grid(stair_integrand *f, int side, double span, stair_modes *modes)
{
    modes->side = side;
    modes->span = span;
    double step = span / (side - 1), *t = modes->pilot_t;
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            t[i * side + j] = (i - 0.5 * (side - 1)) * step;
            t[STAIR_PILOT_MOST + i * side + j] = (j - 0.5 * (side - 1)) * step;
        }
    evaluate_pilot(f, side * side, modes);
}

double stair_pilot_radius(double cutoff, const stair_modes *modes)
{
    double top = -INFINITY;
    for (int i = 0; i < modes->pilots; i++) top = fmax(top, modes->pilot_value[i]);
    return sqrt(2 * (cutoff - top));
}

/* Grids, until one shows the shape.  With noise on y all that is visible has to be on it: a link that is even
 * has modes far out in the prior that fit the label just as well. */
static void look_by_grids(stair_integrand *f, double cutoff, stair_modes *modes)
{
    bool loose = cutoff < tuning.loose;
    double span = tuning.span;
    for (int k = 0; k < (loose ? 3 : 2) && modes->stiff; k++) {
        evaluate_grid(f, tuning.sides[k], span, modes);
        if (f->shape.residuals) span = fmax(span, 2 * stair_pilot_radius(cutoff, modes));
        if (span > modes->span) continue;
        modes->stiff = pilot_is_stiff(tuning.sides[k], modes, f->shape.mirrored,
                                      k == 0 || loose ? tuning.stiff : tuning.stiff_fine);
    }
}

/* More dimensions: quasi-random points of the widened prior. */
void stair_pilot_scatter(stair_integrand *f, stair_modes *modes)
{
    int dim = f->dim, free = f->shape.free_rows * f->shape.tokens;
    double *t = modes->pilot_t;
    const double *normal = stair_qmc_normals(dim); /* (dim, STAIR_QMC_TABLE) */
    for (int i = 0; i < STAIR_PILOT; i++)
        for (int k = 0; k < dim; k++)
            t[k * STAIR_PILOT_MOST + i] = i == 0 || !normal
                                              ? 0
                                              : (k < free ? tuning.wide : tuning.wide_aux) *
                                                    normal[(size_t)k * STAIR_QMC_TABLE + (size_t)i];
    evaluate_pilot(f, STAIR_PILOT, modes);
}

/* Effective number of points with log weights beta * lw. */
static double effective(const double *lw, double top, double beta)
{
    double sum = 0, square = 0;
    for (int i = 0; i < STAIR_PILOT; i++) {
        double weight = exp(beta * (lw[i] - top));
        sum += weight;
        square += weight * weight;
    }
    return sum * sum / square;
}

/* The power of the weights that leaves enough points. */
static double temper(const double *lw, double top)
{
    double low = 0, high = 1;
    for (int k = 0; k < 20; k++) {
        double middle = 0.5 * (low + high);
        *(effective(lw, top, middle) > tuning.enough ? &low : &high) = middle;
    }
    return low;
}

/* Three and four dimensions: quasi-random points of a Gaussian that is first the widened prior, then follows
 * the integrand raised to a growing power until the points tell its shape.  False when they never do. */
static bool follow_pilot(stair_integrand *f, stair_modes *modes)
{
    int dim = f->dim;
    double mean[4] = {0}, lower[16] = {0}, lw[STAIR_PILOT];
    const double *normal = stair_qmc_normals(dim); /* (dim, STAIR_QMC_TABLE) */
    if (!normal) return false;
    for (int k = 0; k < dim; k++) lower[k * (dim + 1)] = tuning.wide;
    for (int round = 0; round < tuning.rounds; round++) {
        double top = -INFINITY;
        for (int i = 0; i < STAIR_PILOT; i++)
            for (int k = 0; k < dim; k++) {
                modes->pilot_t[k * STAIR_PILOT_MOST + i] = mean[k];
                for (int j = 0; j <= k && i; j++)
                    modes->pilot_t[k * STAIR_PILOT_MOST + i] +=
                        lower[k * dim + j] * normal[(size_t)j * STAIR_QMC_TABLE + (size_t)i];
            }
        evaluate_pilot(f, STAIR_PILOT, modes);
        weigh_pilot(f, modes);
        for (int i = 0; i < STAIR_PILOT; i++) {
            lw[i] = modes->pilot_mass[i] > 1e-290 ? log(modes->pilot_mass[i]) : modes->pilot_value[i];
            for (int k = 0; k < dim && i; k++)
                lw[i] += 0.5 * normal[(size_t)k * STAIR_QMC_TABLE + (size_t)i] *
                         normal[(size_t)k * STAIR_QMC_TABLE + (size_t)i];
            top = fmax(top, lw[i]);
        }
        bool enough = effective(lw, top, 1) > tuning.enough;
        double beta = enough ? 1 : temper(lw, top), sum = 0, covariance[16] = {0};
        memset(mean, 0, sizeof mean);
        for (int i = 0; i < STAIR_PILOT; i++) {
            double weight = exp(beta * (lw[i] - top));
            modes->pilot_mass[i] = weight;
            sum += weight;
            for (int k = 0; k < dim; k++) mean[k] += weight * modes->pilot_t[k * STAIR_PILOT_MOST + i];
        }
        if (enough) return true;
        for (int k = 0; k < dim; k++) mean[k] /= sum;
        for (int i = 0; i < STAIR_PILOT; i++)
            for (int k = 0; k < dim; k++)
                for (int j = 0; j < dim; j++)
                    covariance[k * dim + j] += tuning.spread * tuning.spread * modes->pilot_mass[i] / sum *
                                               (modes->pilot_t[k * STAIR_PILOT_MOST + i] - mean[k]) *
                                               (modes->pilot_t[j * STAIR_PILOT_MOST + i] - mean[j]);
        if (!stair_matrix_cholesky(dim, covariance, lower)) return false;
    }
    return false;
}

/* The first look: does the pilot show the shape of the integrand? */
void stair_pilot_look(stair_integrand *f, double cutoff, stair_modes *modes)
{
    modes->stiff = true;
    if (stair_pilot_is_grid(f))
        look_by_grids(f, cutoff, modes);
    else if (f->dim == f->shape.free_rows * f->shape.tokens && f->dim > 1 && f->dim <= 4)
        modes->stiff = !follow_pilot(f, modes);
    if (stair_pilot_is_grid(f) && !modes->stiff) weigh_pilot(f, modes);
}

/* Mean and covariance of the pilot, a grid widened by its cell. */
bool stair_pilot_moments(const stair_integrand *f, stair_modes *modes)
{
    stair_mode *mode = &modes->mode[0];
    int dim = f->dim;
    double sums[1 + 4 + 10], mass, mean[4], covariance[16], half_logdet, factor[16];
    stair_pilot_sums_table[stair_isa()](dim, modes->pilots, modes->pilot_mass, modes->pilot, sums);
    mass = sums[0];
    for (int x = 0, k = 1 + dim; x < dim; x++) {
        mean[x] = sums[1 + x];
        for (int y = 0; y <= x; y++, k++) covariance[x * dim + y] = sums[k];
    }
    mode->value = -1e300;
    for (int i = 0; i < modes->pilots; i++)
        if (modes->pilot_value[i] > mode->value) mode->value = modes->pilot_value[i];
    double cell = stair_pilot_is_grid(f) ? modes->span / (modes->side - 1) * stair_prior_scale(f, 0) : 0;
    for (int x = 0; x < dim; x++)
        for (int y = 0; y <= x; y++)
            covariance[x * dim + y] = covariance[y * dim + x] = covariance[x * dim + y] / mass -
                                                                mean[x] * mean[y] / (mass * mass) +
                                                                (x == y ? cell * cell / 12 : 0);
    if (!stair_matrix_whiten(dim, covariance, mode->lower, factor, &half_logdet)) return false;
    for (int x = 0; x < dim; x++) {
        mode->u[x] = mean[x] / mass;
        for (int y = 0; y < dim; y++) {
            mode->precision[x * dim + y] = 0;
            for (int k = 0; k < dim; k++)
                mode->precision[x * dim + y] += factor[k * dim + x] * factor[k * dim + y];
        }
    }
    mode->sign = 1;
    mode->share = 1;
    modes->count = 1;
    return true;
}
