/* The fibre of attention:output=sequence for two layers of rank one and two tokens.
 *
 * With A = y_12 - abar and B = y_21 - bbar, which are s_12 d and s_21 d of the last scores, d = D + A + B:
 *
 *   S_2 = ((D + B)/d, A/d; B/d, (D + A)/d),   Delta_12 = log((D + B)/A),   Delta_21 = log((D + A)/B),
 *   Delta_12 + Delta_21 = log(1 + D d/(A B)),   h_2 = +-(Delta_12, -Delta_21)/sqrt(Delta_12 + Delta_21),
 *
 * so that hidden rows live where 0 < abar < y_12, 0 < bbar < y_21, abar + bbar < 1, and Z_2 = H_1^-1 h_2.
 * Both rows follow from two coordinates.  With delta = z_1 - z_2 > 0 and sigma = z_1 + z_2
 *
 *   log(1/abar - 1) = (delta^2 + sigma delta)/2,   log(1/bbar - 1) = (delta^2 - sigma delta)/2
 *
 * the domain is sigma_- < sigma < sigma_+, edges where A or B vanish, and delta > delta_0.  At an edge h_2
 * goes to infinity like the root of the logarithm of the distance, and so does a coordinate v with distance
 *
 *   f(v) = v Phi(v) + phi(v):   like exp(-v^2/2) far below zero, like v far above, f' = Phi,
 *
 * in which the posterior is smooth with Gaussian tails: delta = delta_0 + f(v - delta_0), and sigma is w
 * moved inside, sigma - sigma_- = f(w - sigma_-) - f(w - sigma_+), the other distance alike.  Distances are
 * kept as logarithms, since h_2 is of order (c + 1) where they are exp(-(c + 1)^2).
 *
 * Density in (y_12, y_21): |dZ/dy| = d / (A B (D + A) (D + B)) / (2 (Delta_12 + Delta_21)) / (c + 1), times
 * d(delta, sigma)/d(v, w) / 2, for each of the signs of z (mirror) and h_2 (charts).
 */
#include <math.h>

#include "model/sequence.h"

enum { LOG_12, LOG_21, LOG_GAP, EDGE_1, EDGE_2, FIRST_DELTA, CENTRE_V, CENTRE_W, NUMBERS };

static const struct {
    double consistent;  /* how far a label may be from y_12 + y_21 + D = c + 1, relative */
    double far;         /* below this the logarithms of Phi and f are taken from their series */
    double short_range; /* length of a range of sigma below which differences of f lose digits */
    double huge;        /* |Z| above this stands for infinity */
    double heaviest;    /* logarithm of a weight, at most */
    double least_delta; /* that is not zero */
} tuning = {.consistent = 1e-9,
            .far = -20,
            .short_range = 1e-3,
            .huge = 1e60,
            .heaviest = 600,
            .least_delta = 1e-150};

int stair_sequence_fibre_size(void)
{
    return NUMBERS;
}

static double log_sum(double a, double b)
{
    double high = fmax(a, b);
    return high + log1p(exp(fmin(a, b) - high));
}

/* log(1/y - 1) of y = exp(log_y), or -INFINITY where y is not below one and no edge is there */
static double edge_of(double log_y)
{
    return log_y < 0 ? log(-expm1(log_y)) - log_y : -INFINITY;
}

stair_status stair_sequence_fibre_open(stair_context *context, const stair_model *model, const double *label,
                                       const double *omega, stair_fibre *fibre)
{
    const stair_attention *a = model->state;
    double *data = fibre->data, log_12 = label[STAIR_SEQUENCE_12], log_21 = label[STAIR_SEQUENCE_21],
           log_gap = label[STAIR_SEQUENCE_GAP], k = a->skip + 1;
    double sum = exp(log_12) + exp(log_21) + exp(log_gap);
    if (!(fabs(sum - k) <= tuning.consistent * k) || label[STAIR_SEQUENCE_GAP_TOO] != log_gap)
        return stair_fail(
            context, STAIR_BAD_INPUT,
            "label is outside the range of the model: y_12 + y_21 + y_11 - y_21 is %.9g, not %g", sum, k);
    data[LOG_12] = log_12;
    data[LOG_21] = log_21;
    data[LOG_GAP] = log_gap;
    data[EDGE_1] = edge_of(log_12);
    data[EDGE_2] = edge_of(log_21);
    data[FIRST_DELTA] = sqrt(fmax(0, data[EDGE_1] + data[EDGE_2]));
    data[CENTRE_V] = fmax(data[FIRST_DELTA], fabs(omega[0] - omega[1]));
    data[CENTRE_W] = omega[0] < omega[1] ? -omega[0] - omega[1] : omega[0] + omega[1];
    fibre->dim = 2;
    fibre->free_rows = 0;
    fibre->charts = 2;
    fibre->mirrored = true;
    return STAIR_OK;
}

static double log_phi(double x)
{
    return -0.5 * x * x - 0.91893853320467274178;
}

/* log Phi(x) */
static double log_tail(double x)
{
    if (x > tuning.far) return log(0.5 * erfc(-x * M_SQRT1_2));
    double t = 1 / (x * x);
    return log_phi(x) - log(-x) + log1p(-t * (1 - t * (3 - t * (15 - t * (105 - t * 945)))));
}

/* log f(x), f(x) = x Phi(x) + phi(x) */
static double log_distance(double x)
{
    if (x > 0) return log(x + exp(log_distance(-x)));
    if (x > tuning.far) return log(0.5 * x * erfc(-x * M_SQRT1_2) + exp(log_phi(x)));
    double t = 1 / (x * x);
    return log_phi(x) + log(t) + log1p(-t * (3 - t * (15 - t * (105 - t * (945 - t * 10395)))));
}

/* log of e^a - e^b, a > b */
static double log_difference(double a, double b)
{
    return a + log(-expm1(b - a));
}

/* log(f(x) - f(x - length)), and the logarithm of its derivative */
static double log_inside(double x, double length, double *log_slope)
{
    static const double node[3] = {0.11270166537925831, 0.5, 0.88729833462074169},
                        weight[3] = {5 / 18.0, 8 / 18.0, 5 / 18.0};
    if (length > tuning.short_range) {
        *log_slope = x - length > 0 ? log_difference(log_tail(length - x), log_tail(-x))
                                    : log_difference(log_tail(x), log_tail(x - length));
        return log_difference(log_distance(x), log_distance(x - length));
    }
    double top = log_tail(x), peak = log_phi(fabs(x) < length ? 0 : x), sum = 0, slope = 0;
    for (int i = 0; i < 3; i++) { /* the integral of Phi, and of phi */
        sum += weight[i] * exp(log_tail(x - length * node[i]) - top);
        slope += weight[i] * exp(log_phi(x - length * node[i]) - peak);
    }
    *log_slope = log(length * slope) + peak;
    return log(length * sum) + top;
}

/* Where w stands: logarithms of the distances from both edges, infinite where there is none, sigma where
 * neither is, and the logarithm of dsigma/dw. */
typedef struct {
    double log_low, log_high, sigma, log_slope;
} place;

static place place_of(const double *data, double delta, double beyond, double w)
{
    double low = (2 * data[EDGE_1] - delta * delta) / delta,
           high = (delta * delta - 2 * data[EDGE_2]) / delta;
    place at = {.log_low = INFINITY, .log_high = INFINITY, .sigma = w, .log_slope = 0};
    if (isinf(low) && isinf(high)) return at;
    if (isinf(high)) {
        at.log_low = log_distance(w - low);
        at.log_slope = log_tail(w - low);
    } else if (isinf(low)) {
        at.log_high = log_distance(high - w);
        at.log_slope = log_tail(high - w);
    } else {
        /* delta^2 less the sum of the edges: where that is positive, all that is beyond delta_0 */
        double first = data[FIRST_DELTA],
               length = 2 / delta *
                        (first > 0 ? beyond * (delta + first) : delta * delta - data[EDGE_1] - data[EDGE_2]);
        double unused;
        at.log_low = log_inside(w - low, length, &at.log_slope);
        at.log_high = log_inside(high - w, length, &unused);
    }
    return at;
}

/* log abar and log A of a logit l, x = exp(log_x) above the edge where there is one. */
static void off_diagonal(double log_y, double edge, double logit, double log_x, double *log_off,
                         double *log_left)
{
    *log_off = logit > 0 ? -logit - log1p(exp(-logit)) : -log1p(exp(logit));
    if (isinf(edge)) { /* y is one or more: y - 1 + (1 - abar) */
        *log_left = log(expm1(log_y) + exp(logit > 0 ? -log1p(exp(-logit)) : logit - log1p(exp(logit))));
        return;
    }
    double x = exp(log_x);
    *log_left = *log_off + log(-expm1(log_y)) + (x > 30 ? x : x > 1e-8 ? log(expm1(x)) : log_x);
}

/* One node: Z (4) and the weight. */
static double map_one(const stair_attention *a, const double *data, double sign, double v, double w,
                      double *z)
{
    double k = a->skip + 1, first = data[FIRST_DELTA], log_beyond = log_distance(v - first);
    double beyond = exp(log_beyond), delta = fmax(first + beyond, tuning.least_delta), logit[2], log_x[2];
    place at = place_of(data, delta, beyond, w);
    double square = delta * delta, log_half = log(0.5 * delta);
    log_x[0] = at.log_low + log_half;
    log_x[1] = at.log_high + log_half;
    logit[0] = data[EDGE_1] + exp(log_x[0]);
    logit[1] = data[EDGE_2] + exp(log_x[1]);
    if (isinf(data[EDGE_1])) logit[0] = isinf(data[EDGE_2]) ? 0.5 * (square + w * delta) : square - logit[1];
    if (isinf(data[EDGE_2])) logit[1] = square - logit[0];
    double log_abar, log_bbar, log_a, log_b;
    off_diagonal(data[LOG_12], data[EDGE_1], logit[0], log_x[0], &log_abar, &log_a);
    off_diagonal(data[LOG_21], data[EDGE_2], logit[1], log_x[1], &log_bbar, &log_b);
    double abar = exp(log_abar), bbar = exp(log_bbar), d = a->skip + (1 - abar) - bbar, log_d = log(d);
    double log_22 = log_sum(data[LOG_GAP], log_a), log_11 = log_sum(data[LOG_GAP], log_b);
    double t = data[LOG_GAP] + log_d - log_a - log_b, sum = t > 30 ? t : log1p(exp(t)),
           log_rise = t < -30 ? t : log(sum), root = sign * exp(0.5 * log_rise);
    double h1 = (log_11 - log_a) / root, h2 = -(log_22 - log_b) / root;
    z[0] = (logit[0] + (logit[0] - square)) / delta; /* sigma, then z_1 and z_2 of it */
    z[1] = 0.5 * (z[0] - delta);
    z[0] = 0.5 * (z[0] + delta);
    z[2] = ((k - bbar) * h1 - abar * h2) / (k * d);
    z[3] = ((k - abar) * h2 - bbar * h1) / (k * d);
    for (int i = 0; i < 4; i++) z[i] = fmin(fmax(z[i], -tuning.huge), tuning.huge);
    double log_weight =
        log_tail(v - first) + at.log_slope + log_d - log_a - log_b - log_11 - log_22 - log_rise;
    return exp(fmin(fmax(log_weight, -tuning.heaviest), tuning.heaviest)) / k;
}

void stair_sequence_fibre_map(const stair_fibre *fibre, int chart, stair_digits digits, int n,
                              const double *u, double *z, double *weight)
{
    const double *data = fibre->data;
    (void)digits;
    for (int i = 0; i < n; i++) {
        double point[4];
        weight[i] = map_one(fibre->model->state, data, chart ? -1 : 1, u[i] + data[CENTRE_V],
                            u[STAIR_BLOCK + i] + data[CENTRE_W], point);
        for (int c = 0; c < 4; c++) z[c * STAIR_BLOCK + i] = point[c];
    }
}
