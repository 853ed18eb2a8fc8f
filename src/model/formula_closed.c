/* The posterior of y = sum_k z_k^2 where V = v 1, of any formula that is a multiple of it plus a constant: z
 * is on a sphere of radius r = sqrt(y), with density exp(kappa cos) in the angle to omega (von Mises and
 * Fisher), kappa = r |omega| / v.
 *
 *   Z_out     = 1/(2v) (y/(2v))^nu / Gamma(nu+1) exp(-(y + |omega|^2)/(2v)) 0F1(nu+1; kappa^2/4)
 *   <z>       = y h omega / v,          h = I_{nu+1}(kappa) / (kappa I_nu(kappa)),   nu = P/2 - 1
 *   Cov       = y h across omega,  y (1 - (P-1) h - kappa^2 h^2) along it
 *
 * kappa up to `large`: the series of 0F1, of positive terms, and h_nu = 1 / (2(nu+1) + kappa^2 h_{nu+1}) from
 * far up; beyond: the asymptotic series of I_nu and of the difference of two, so that 1 - I_{nu+1}/I_nu keeps
 * its digits.  Watson, Bessel Functions (1944), 2.12, 7.23. */
#include <math.h>

#include "core/limits.h"
#include "model/formula.h"

static const struct {
    double large; /* kappa from which the asymptotic series is exact to rounding */
    int terms;    /* of the series, and of the recursion, at most */
    double same;  /* relative deviation from a multiple of 1 */
} tuning = {.large = 60, .terms = 400, .same = 1e-13};

typedef struct {
    double log_f; /* log 0F1 */
    double h;
    double along; /* 1 - (P-1) h - kappa^2 h^2, the variance of the cosine */
} angle_moments;

static angle_moments by_series(int p, double kappa)
{
    double nu = 0.5 * p - 1, quarter = 0.25 * kappa * kappa, term = 1, sum = 1, h = 0;
    for (int k = 1; k < tuning.terms && term > 1e-18 * sum; k++) sum += term *= quarter / (k * (nu + k));
    for (int k = tuning.terms; k >= 1; k--) h = 1 / (2 * (nu + k) + kappa * kappa * h);
    return (angle_moments){.log_f = log(sum), .h = h, .along = 1 - (p - 1) * h - kappa * kappa * h * h};
}

/* I_nu(x) sqrt(2 pi x) exp(-x), and the same less that of nu + 1. */
static double asymptotic(double nu, double x, double *gap)
{
    double term = 1, above = 1, sum = 1;
    *gap = 0;
    for (int k = 1; k <= 40; k++) {
        double odd = (2 * k - 1) * (2 * k - 1);
        term *= -(4 * nu * nu - odd) / (k * 8 * x);
        above *= -(4 * (nu + 1) * (nu + 1) - odd) / (k * 8 * x);
        sum += term;
        *gap += term - above;
        if (fabs(term) < 1e-18 && fabs(above) < 1e-18 / x) break;
    }
    return sum;
}

static angle_moments by_asymptotics(int p, double kappa)
{
    double nu = 0.5 * p - 1, gap, sum = asymptotic(nu, kappa, &gap), less = gap / sum, ratio = 1 - less;
    return (angle_moments){.log_f = kappa - 0.5 * log(2 * M_PI * kappa) + log(sum) - nu * log(0.5 * kappa) +
                                    lgamma(nu + 1),
                           .h = ratio / kappa,
                           .along = less * (1 + ratio) - (p - 1) * ratio / kappa};
}

static bool exists(const stair_model *model)
{
    return !model->info.output_noisy && stair_formula_of(model)->round;
}

static bool holds(const stair_model *model, const double *cov)
{
    int p = model->info.indices;
    for (int i = 0; i < p * p; i++)
        if (fabs(cov[i] - (i % (p + 1) == 0 ? cov[0] : 0)) > tuning.same * cov[0]) return false;
    return true;
}

/* Token t alone. */
static double one_token(const stair_model *model, double y, double v, int t, const double *omega, double *g,
                        double *dg)
{
    int p = model->info.indices, m = model->info.tokens, size = p * m;
    double square = 0, nu = 0.5 * p - 1;
    for (int i = 0; i < p; i++) square += omega[i * m + t] * omega[i * m + t];
    double kappa = sqrt(y * square) / v;
    angle_moments a = kappa < tuning.large ? by_series(p, kappa) : by_asymptotics(p, kappa);
    double across = y * a.h, along = square > 0 ? (y * a.along - across) / square : 0;
    for (int i = 0; i < p; i++) {
        g[i * m + t] = (y * a.h / v - 1) * omega[i * m + t] / v;
        for (int j = 0; j < p; j++) {
            double cov = (i == j ? across - v : 0) + along * omega[i * m + t] * omega[j * m + t];
            dg[(i * m + t) * size + j * m + t] = cov / (v * v);
        }
    }
    return -log(2 * v) + nu * log(y / (2 * v)) - lgamma(nu + 1) - (y + square) / (2 * v) + a.log_f;
}

static stair_status evaluate(stair_context *context, const stair_model *model, const double *label,
                             const double *omega, const double *cov, double *logz, double *g, double *dg)
{
    const stair_formula *f = stair_formula_of(model);
    int size = model->info.indices * model->info.tokens;
    *logz = -model->info.tokens * log(fabs(f->scale));
    for (int i = 0; i < size * size; i++) dg[i] = 0;
    for (int t = 0; t < model->info.tokens; t++) {
        double square = (label[t] - f->shift) / f->scale;
        if (!(square > 0))
            return stair_fail(context, STAIR_BAD_INPUT, "label %g is no sum of squares", label[t]);
        *logz += one_token(model, square, cov[0], t, omega, g, dg);
    }
    return STAIR_OK;
}

const stair_closed_ops stair_formula_closed = {
    .preferred = true, .exists = exists, .holds = holds, .evaluate = evaluate};
