/* One layer of rank one without noise on y: the posterior of untied attention as integrals over one number.
 *
 * With e and a of untied_points.c and n = (1 .. 1)/sqrt(M), the label leaves K = t e + v n, Q = a/t.  Given
 * t, v is Gaussian and Z is linear in (t, 1/t, v): six moments of t are all there is to compute,
 *
 *   Z_out = 1/2 sum over signs of t, integral d log|t| |t|^-1 N(K, Q; omega, V) with v integrated out.
 *
 * The exponent is a polynomial in t and 1/t, so the places where it is stationary are the roots of a quartic;
 * from each maximum Gauss-Legendre panels go down both sides to where nothing is left.  All is counted from
 * the highest of them, t0: for V -> 0 nothing cancels.  Linear scores: no v, and no |t|^-1. */
#include <math.h>
#include <string.h>

#include "model/untied.h"

enum { DEGREE = 4, NODES = 16, CELLS = 2 * STAIR_MAX_TOKENS };

static const struct {
    double depth;   /* below the top where the integrand counts as zero */
    double drop;    /* most of the exponent over one panel: 16 nodes are then exact to rounding, */
    double longest; /* as they are on panels of this length */
    double growth;  /* of panels, one to the next */
    int halvings;   /* of an interval with a root */
    int panels;     /* on one side of a maximum, at most */
} tuning = {.depth = 45, .drop = 4, .longest = 1, .growth = 1.6, .halvings = 200, .panels = 400};

static const double node[NODES / 2] = {0.0950125098376374402, 0.2816035507792589132, 0.4580167776572273863,
                                       0.6178762444026437484, 0.7554044083550030339, 0.8656312023878317439,
                                       0.9445750230732325761, 0.9894009349916499326},
                                 share[NODES / 2] = {0.1894506104550684963, 0.1826034150449235889,
                                                     0.1691565193950025382, 0.1495959888165767321,
                                                     0.1246289712555338721, 0.0951585116824927848,
                                                     0.0622535239386478929, 0.0271524594117540949};

/* Residuals z = Z - omega as functions of t: z0 + (t - t0) along + (1/t - 1/t0) against. */
typedef struct {
    int m, unseen;
    double v[4], inverse[4], spread;     /* of (K, Q); variance of v given Q */
    double n[STAIR_MAX_TOKENS];          /* what softmax does not see; zero for linear scores */
    double along[CELLS], against[CELLS]; /* K, then Q */
    double t0, z0[CELLS];
    double slope[2], bend[3]; /* of the exponent in (t - t0, 1/t - 1/t0): gradient and Hessian */
} curve;

typedef struct {
    double mass, d, e, dd, de, ee; /* of d = t - t0, e = 1/t - 1/t0 */
} sums;

static double dot(int n, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* x^T Precision y, once v is integrated out: along n only Q counts, with its own variance. */
static double product(const curve *c, const double *x, const double *y)
{
    int m = c->m;
    double xk = dot(m, x, c->n), yk = dot(m, y, c->n), xq = dot(m, x + m, c->n), yq = dot(m, y + m, c->n);
    double kk = dot(m, x, y) - xk * yk, qq = dot(m, x + m, y + m) - xq * yq,
           kq = dot(m, x, y + m) + dot(m, x + m, y) - xk * yq - xq * yk;
    return c->inverse[0] * kk + c->inverse[1] * kq + c->inverse[3] * qq + xq * yq / c->v[3];
}

/* Counts from t. */
static void set_origin(curve *c, const double *omega, double t)
{
    int m = c->m;
    c->t0 = t;
    for (int i = 0; i < 2 * m; i++) c->z0[i] = t * c->along[i] + c->against[i] / t - omega[i];
    c->slope[0] = product(c, c->along, c->z0);
    c->slope[1] = product(c, c->against, c->z0);
    c->bend[0] = product(c, c->along, c->along);
    c->bend[1] = product(c, c->along, c->against);
    c->bend[2] = product(c, c->against, c->against);
}

static double exponent(const curve *c, double d, double e, double t)
{
    return -(c->slope[0] * d + c->slope[1] * e) -
           0.5 * (c->bend[0] * d * d + 2 * c->bend[1] * d * e + c->bend[2] * e * e) -
           c->unseen * log(fabs(t));
}

/* At t = sign exp(s), counted from t0 without cancellation where they are close. */
static double at_log(const curve *c, double sign, double s, double *d, double *e)
{
    double t = sign * exp(s);
    *d = sign * c->t0 > 0 ? c->t0 * expm1(s - log(fabs(c->t0))) : t - c->t0;
    *e = -*d / (t * c->t0);
    return exponent(c, *d, *e, t);
}

static double horner(int degree, const double *p, double x)
{
    double value = p[degree];
    for (int k = degree - 1; k >= 0; k--) value = value * x + p[k];
    return value;
}

/* Real roots, ascending, of p (degree + 1): between those of its derivative p changes sign at most once. */
static int real_roots(int degree, const double *p, double *root)
{
    double slope[DEGREE], inner[DEGREE + 2], bound = 0;
    if (degree == 0) return 0;
    for (int k = 0; k < degree; k++) {
        slope[k] = (k + 1) * p[k + 1];
        bound = fmax(bound, 1 + fabs(p[k] / p[degree]));
    }
    int edges = real_roots(degree - 1, slope, inner + 1) + 2, count = 0;
    inner[0] = -bound;
    inner[edges - 1] = bound;
    for (int k = 0; k + 1 < edges; k++) {
        double low = inner[k], high = inner[k + 1], sign = horner(degree, p, low);
        if (!(sign * horner(degree, p, high) < 0)) continue;
        for (int i = 0; i < tuning.halvings && high - low > 1e-15 * fabs(low + high); i++) {
            double middle = 0.5 * (low + high);
            *(horner(degree, p, middle) * sign > 0 ? &low : &high) = middle;
        }
        root[count++] = 0.5 * (low + high);
    }
    return count;
}

/* Where d exponent / dt = 0, times t^3; counted from t = 1, whose slopes are those of a full square. */
static int stationary(curve *c, const double *omega, double *t)
{
    set_origin(c, omega, 1);
    double linear = c->slope[0] - c->bend[0] - c->bend[1], inverse = c->slope[1] - c->bend[2] - c->bend[1];
    double p[DEGREE + 1] = {c->bend[2], inverse, -c->unseen, -linear, -c->bend[0]};
    return real_roots(DEGREE, p, t);
}

static void add_panel(const curve *c, double sign, double from, double to, double top, sums *total)
{
    double middle = 0.5 * (from + to), half = 0.5 * (to - from);
    for (int k = 0; k < NODES; k++) {
        double x = k % 2 ? node[k / 2] : -node[k / 2], d, e;
        double w = share[k / 2] * fabs(half) * exp(at_log(c, sign, middle + half * x, &d, &e) - top);
        total->mass += w;
        total->d += w * d;
        total->e += w * e;
        total->dd += w * d * d;
        total->de += w * d * e;
        total->ee += w * e * e;
    }
}

/* From a maximum at s towards `end`, which may be infinite. */
static void descend(const curve *c, double sign, double s, double end, double width, double top, sums *total)
{
    double d, e, here = at_log(c, sign, s, &d, &e), step = end < s ? -width : width;
    for (int k = 0; k < tuning.panels && s != end && here > top - tuning.depth; k++) {
        double next, there;
        for (;; step *= 0.5) {
            next = (end - s - step) * step > 0 ? s + step : end;
            there = at_log(c, sign, next, &d, &e);
            if (fabs(there - here) <= tuning.drop || fabs(step) < 1e-3 * width) break;
        }
        add_panel(c, sign, s, next, top, total);
        s = next;
        here = there;
        step = copysign(fmin(tuning.longest, fabs(step) * tuning.growth), step);
    }
}

/* Width of a maximum in log t. */
static double width_at(const curve *c, double t)
{
    double d = t - c->t0, e = 1 / t - 1 / c->t0;
    double first = c->slope[0] + c->bend[0] * d + c->bend[1] * e,
           second = c->slope[1] + c->bend[1] * d + c->bend[2] * e;
    double bend = first * t + second / t + c->bend[0] * t * t - 2 * c->bend[1] + c->bend[2] / (t * t);
    return fmin(tuning.longest, bend > 0 ? 1 / sqrt(bend) : tuning.longest);
}

/* Roots come in turn: maxima have a minimum, zero or infinity on either side. */
static double integrate(curve *c, const double *omega, sums *total)
{
    double t[DEGREE], value[DEGREE], top = -INFINITY, d, e;
    int count = stationary(c, omega, t), best = 0;
    for (int k = 0; k < count; k++) {
        value[k] = at_log(c, copysign(1, t[k]), log(fabs(t[k])), &d, &e);
        if (value[k] > value[best]) best = k;
    }
    if (!count) return NAN;
    set_origin(c, omega, t[best]);
    memset(total, 0, sizeof *total);
    for (int k = 0; k < count; k++) {
        value[k] = at_log(c, copysign(1, t[k]), log(fabs(t[k])), &d, &e);
        top = fmax(top, value[k]);
    }
    for (int k = 0; k < count; k++) {
        double sign = copysign(1, t[k]), inner = -INFINITY, outer = INFINITY;
        int in = sign > 0 ? k - 1 : k + 1, out = sign > 0 ? k + 1 : k - 1;
        if (in >= 0 && in < count && t[in] * sign > 0) inner = log(fabs(t[in]));
        if (out >= 0 && out < count) outer = log(fabs(t[out]));
        bool is_top =
            (!isfinite(inner) || value[in] < value[k]) && (!isfinite(outer) || value[out] < value[k]);
        if (!is_top) continue;
        double s = log(fabs(t[k])), width = width_at(c, t[k]);
        descend(c, sign, s, inner, width, top, total);
        descend(c, sign, s, outer, width, top, total);
    }
    return top;
}

static void set_curve(const stair_attention *a, const double *key, const double *query, const double *cov,
                      curve *c)
{
    int m = a->tokens;
    double det = cov[0] * cov[3] - cov[1] * cov[2];
    *c = (curve){.m = m, .unseen = !a->linear};
    memcpy(c->v, cov, sizeof c->v);
    c->inverse[0] = cov[3] / det;
    c->inverse[1] = c->inverse[2] = -cov[1] / det;
    c->inverse[3] = cov[0] / det;
    c->spread = a->linear ? 0 : det / cov[3];
    for (int i = 0; i < m; i++) {
        c->n[i] = a->linear ? 0 : 1 / sqrt(m);
        c->along[i] = key[i];
        c->against[m + i] = query[i];
    }
}

/* K along n, which was integrated out, follows Q there: x (2 M) gets it in place. */
static void restore_unseen(const curve *c, double *x)
{
    int m = c->m;
    double k = dot(m, x, c->n), q = dot(m, x + m, c->n);
    for (int i = 0; i < m; i++) x[i] += c->n[i] * (c->v[1] / c->v[3] * q - k);
}

/* out (2, M) = V^-1 x */
static void weigh(const curve *c, const double *x, double *out)
{
    for (int i = 0; i < c->m; i++) {
        out[i] = c->inverse[0] * x[i] + c->inverse[1] * x[c->m + i];
        out[c->m + i] = c->inverse[2] * x[i] + c->inverse[3] * x[c->m + i];
    }
}

static void write_moments(curve *c, const sums *s, double *g, double *dg)
{
    int m = c->m, size = 2 * m;
    double d = s->d / s->mass, e = s->e / s->mass, dd = s->dd / s->mass - d * d, de = s->de / s->mass - d * e,
           ee = s->ee / s->mass - e * e, mean[CELLS], u[CELLS], w[CELLS], n[CELLS] = {0}, free[CELLS];
    memcpy(n, c->n, sizeof(double) * (size_t)m);
    restore_unseen(c, c->z0);
    restore_unseen(c, c->along);
    restore_unseen(c, c->against);
    for (int i = 0; i < size; i++) mean[i] = c->z0[i] + d * c->along[i] + e * c->against[i];
    weigh(c, mean, g);
    weigh(c, c->along, u);
    weigh(c, c->against, w);
    weigh(c, n, free);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) {
            double prior = i % m == j % m ? c->inverse[(i / m) * 2 + j / m] : 0;
            dg[i * size + j] = dd * u[i] * u[j] + de * (u[i] * w[j] + w[i] * u[j]) + ee * w[i] * w[j] +
                               c->spread * free[i] * free[j] - prior;
        }
}

static bool exists(const stair_model *model)
{
    const stair_attention *a = model->state;
    return a->layers == 1 && a->rank[0] == 1 && !stair_untied_wide(a) && !model->info.output_noisy;
}

static stair_status evaluate(stair_context *context, const stair_model *model, const double *label,
                             const double *omega, const double *cov, double *logz, double *g, double *dg)
{
    const stair_attention *a = model->state;
    double key[STAIR_MAX_TOKENS], query[STAIR_MAX_TOKENS], size;
    int m = a->tokens;
    curve c;
    sums total;
    STAIR_TRY(stair_untied_points(context, a, label, key, query, &size));
    set_curve(a, key, query, cov, &c);
    double top = integrate(&c, omega, &total), det = cov[0] * cov[3] - cov[1] * cov[2];
    if (!(total.mass > 0) || !isfinite(top))
        return stair_fail(context, STAIR_UNSUPPORTED,
                          "the posterior given this label could not be integrated");
    double energy = -0.5 * product(&c, c.z0, c.z0), normal = -m * (log(2 * M_PI) + 0.5 * log(det));
    if (!a->linear) normal += 0.5 * log(2 * M_PI * c.spread);
    *logz = log(0.5 * total.mass) + top + energy + normal;
    write_moments(&c, &total, g, dg);
    return STAIR_OK;
}

const stair_closed_ops stair_untied_closed = {.preferred = true, .exists = exists, .evaluate = evaluate};
