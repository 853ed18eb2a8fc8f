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
    int steps;      /* towards a root, at most, */
    double close;   /* the last of which is that short, relative */
    int panels;     /* on one side of a maximum, at most */
} tuning = {.depth = 40, .drop = 8, .longest = 1.5, .growth = 2, .steps = 300, .close = 1e-14, .panels = 400};

static const double node[NODES / 2] = {0.0950125098376374402, 0.2816035507792589132, 0.4580167776572273863,
                                       0.6178762444026437484, 0.7554044083550030339, 0.8656312023878317439,
                                       0.9445750230732325761, 0.9894009349916499326},
                                 share[NODES / 2] = {0.1894506104550684963, 0.1826034150449235889,
                                                     0.1691565193950025382, 0.1495959888165767321,
                                                     0.1246289712555338721, 0.0951585116824927848,
                                                     0.0622535239386478929, 0.0271524594117540949};

/* Whitened residuals of (K, Q) as functions of t: x0 + (t - t0) along + (1/t - 1/t0) against, (2, M) each.
 * x_Q = Q / sqrt(v_QQ), x_K = (K - Q v_KQ / v_QQ) / sqrt(spread): along n, where K is free, x_K is a standard
 * normal variable that nothing else depends on, and left out. */
typedef struct {
    int m, unseen;
    double over_q, over_k, slant;        /* 1 / sqrt(v_QQ), 1 / sqrt(spread), v_KQ / v_QQ */
    double log_q, log_k;                 /* log of the first two */
    double n[STAIR_MAX_TOKENS];          /* what softmax does not see; zero for linear scores */
    double along[CELLS], against[CELLS]; /* K, then Q */
    double t0, log0, x0[CELLS];          /* log0 = log |t0| */
    double slope[2], bend[3];            /* of |x|^2/2 in (t - t0, 1/t - 1/t0): gradient and Hessian */
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

/* x (2, M) of z (2, M), without what is along n */
static void whiten(const curve *c, const double *z, double *x)
{
    int m = c->m;
    for (int i = 0; i < m; i++) {
        x[i] = (z[i] - c->slant * z[m + i]) * c->over_k;
        x[m + i] = z[m + i] * c->over_q;
    }
    double free = dot(m, x, c->n);
    for (int i = 0; i < m; i++) x[i] -= free * c->n[i];
}

/* Counts from t. */
static void set_origin(curve *c, const double *key, const double *query, const double *omega, double t)
{
    int m = c->m;
    double z[CELLS] = {0};
    for (int i = 0; i < m; i++) {
        z[i] = t * key[i] - omega[i];
        z[m + i] = query[i] / t - omega[m + i];
    }
    c->t0 = t;
    c->log0 = log(fabs(t));
    whiten(c, z, c->x0);
    c->slope[0] = dot(2 * m, c->along, c->x0);
    c->slope[1] = dot(2 * m, c->against, c->x0);
}

/* The exponent at t = sign exp(s), counted from t0 without cancellation where they are close. */
static double at_log(const curve *c, double sign, double s, double *d, double *e)
{
    double t;
    if (sign * c->t0 > 0 && fabs(s - c->log0) < 1) {
        *d = c->t0 * expm1(s - c->log0);
        t = c->t0 + *d;
    } else {
        t = sign * exp(s);
        *d = t - c->t0;
    }
    *e = -*d / (t * c->t0);
    return -(c->slope[0] * *d + c->slope[1] * *e) -
           0.5 * (c->bend[0] * *d * *d + 2 * c->bend[1] * *d * *e + c->bend[2] * *e * *e) - c->unseen * s;
}

static double horner(int degree, const double *p, double x)
{
    double value = p[degree];
    for (int k = degree - 1; k >= 0; k--) value = value * x + p[k];
    return value;
}

/* The root of p between two numbers where its signs differ: Newton's steps, halves where they leave. */
static double one_root(int degree, const double *p, const double *slope, double low, double high)
{
    double sign = horner(degree, p, low), x = 0.5 * (low + high);
    for (int i = 0; i < tuning.steps; i++) {
        double value = horner(degree, p, x), next = x - value / horner(degree - 1, slope, x);
        *(value * sign > 0 ? &low : &high) = x;
        if (i % 3 == 2 || !(next > low && next < high)) next = 0.5 * (low + high);
        double moved = fabs(next - x);
        x = next;
        if (moved <= tuning.close * fabs(x)) break;
    }
    return x;
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
        double low = inner[k], high = inner[k + 1];
        if (!(horner(degree, p, low) * horner(degree, p, high) < 0)) continue;
        root[count++] = one_root(degree, p, slope, low, high);
    }
    return count;
}

/* Where d exponent / dt = 0, times t^3, of a curve counted from t = 1. */
static int stationary(const curve *c, double *t)
{
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
static double integrate(curve *c, const double *key, const double *query, const double *omega, sums *total)
{
    double t[DEGREE], value[DEGREE], top = -INFINITY, d, e;
    set_origin(c, key, query, omega, 1);
    int count = stationary(c, t), best = 0;
    for (int k = 0; k < count; k++) {
        value[k] = at_log(c, copysign(1, t[k]), log(fabs(t[k])), &d, &e);
        if (value[k] > value[best]) best = k;
    }
    if (!count) return NAN;
    set_origin(c, key, query, omega, t[best]);
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
    long double spread = ((long double)cov[0] * cov[3] - (long double)cov[1] * cov[2]) / cov[3];
    double z[CELLS] = {0};
    *c = (curve){.m = m, .unseen = !a->linear, .slant = cov[1] / cov[3]};
    c->over_k = (double)(1 / sqrtl(spread));
    c->over_q = 1 / sqrt(cov[3]);
    c->log_k = log(c->over_k);
    c->log_q = log(c->over_q);
    for (int i = 0; i < m; i++) {
        c->n[i] = a->linear ? 0 : 1 / sqrt(m);
        z[i] = key[i];
    }
    whiten(c, z, c->along);
    memset(z, 0, sizeof z);
    memcpy(z + m, query, sizeof(double) * (size_t)m);
    whiten(c, z, c->against);
    c->bend[0] = dot(2 * m, c->along, c->along);
    c->bend[1] = dot(2 * m, c->along, c->against);
    c->bend[2] = dot(2 * m, c->against, c->against);
}

/* x (2, M) times the transpose of the matrix that whitens, in place */
static void unwhiten(const curve *c, double *x, int stride)
{
    for (int i = 0; i < c->m; i++) {
        double *k = x + i * stride, *q = x + (c->m + i) * stride;
        *k *= c->over_k;
        *q = *q * c->over_q - c->slant * *k;
    }
}

static void write_moments(const curve *c, const sums *s, double *g, double *dg)
{
    int m = c->m, size = 2 * m;
    double d = s->d / s->mass, e = s->e / s->mass, dd = s->dd / s->mass - d * d, de = s->de / s->mass - d * e,
           ee = s->ee / s->mass - e * e;
    const double *u = c->along, *w = c->against;
    for (int i = 0; i < size; i++) g[i] = c->x0[i] + d * u[i] + e * w[i];
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
            dg[i * size + j] = dd * u[i] * u[j] + de * (u[i] * w[j] + w[i] * u[j]) + ee * w[i] * w[j] -
                               (i == j) + (i < m && j < m ? c->n[i] * c->n[j] : 0);
    unwhiten(c, g, 1);
    for (int i = 0; i < size; i++) unwhiten(c, dg + i * size, 1);
    for (int j = 0; j < size; j++) unwhiten(c, dg + j, size);
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
    sums total = {0};
    STAIR_TRY(stair_untied_points(context, a, label, key, query, &size));
    set_curve(a, key, query, cov, &c);
    double top = integrate(&c, key, query, omega, &total);
    if (!(total.mass > 0) || !isfinite(top))
        return stair_fail(context, STAIR_UNSUPPORTED,
                          "the posterior given this label could not be integrated");
    double normal = m * (c.log_q + c.log_k - log(2 * M_PI)) + (a->linear ? 0 : 0.5 * log(2 * M_PI) - c.log_k);
    *logz = log(0.5 * total.mass) + top - 0.5 * dot(2 * m, c.x0, c.x0) + normal;
    write_moments(&c, &total, g, dg);
    return STAIR_OK;
}

const stair_closed_ops stair_untied_closed = {.preferred = true, .exists = exists, .evaluate = evaluate};
