/* Links that see only between which cuts each of up to three numbers of Z is, as a majority of signs.
 *
 * The label's indicator is a sum of corners, w_j prod_i 1(z_i > c_{i,j_i}), so that with H the probability of
 * a corner under N(omega, V)
 *
 *   Z_out = sum_j w_j H_j,     g = grad log Z_out,     dg = grad grad log Z_out      (in omega)
 *
 *   dH/dw_i = N(c_i; omega_i, V_ii) P(others beyond their cuts | z_i = c_i),
 *   d2H/dw_i dw_j = N(c_i, c_j) P(the third | z_i = c_i, z_j = c_j),
 *   d2H/dw_i^2 = ((c_i - omega_i) dH/dw_i - sum_{j != i} V_ij d2H/dw_i dw_j) / V_ii.
 *
 * Two numbers: Plackett's integral over the correlation, in the angle of Drezner and Wesolowsky; three: the
 * same along both correlations of the first.  Sums cancel where the label is unlikely: the error is that of
 * rounding over Z_out, and rare labels are left to lines.
 *
 * References: Plackett, Biometrika 41, 351 (1954); Drezner and Wesolowsky, J. Stat. Comput. Simul. 35, 101
 * (1990); Genz, Stat. Comput. 14, 251 (2004). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "channel/normal.h"
#include "channel/rules.h"
#include "model/formula.h"

enum { MOST = 3, CUTS = 4, NODES = 20, COARSE = 14 };

static const struct {
    double wide;     /* cuts are looked for up to here */
    double rounding; /* of a sum of corners, absolute */
    double closest;  /* 1 - |correlation| below which the integrals are left to lines */
} tuning = {.wide = 64, .rounding = 3e-15, .closest = 1e-3};

typedef struct stair_boxes {
    const stair_formula *formula;
    int n, cuts[MOST];
    double cut[MOST][CUTS];
    double node[2][NODES], weight[2][NODES]; /* of Gauss and Legendre on (-1, 1), coarse and fine */
    /* of one sample */
    double omega[MOST], cov[MOST * MOST];
    double error; /* of the integrals, absolute */
} stair_boxes;

bool stair_boxes_serve(const stair_model *model)
{
    if (!model->ops->program || model->info.output_noisy) return false;
    const stair_formula *formula = model->ops->program(model);
    const stair_program *p = &formula->program;
    double cut[CUTS];
    if (!formula->flat || p->cells < 2 || p->cells > MOST) return false;
    for (int c = 0; c < p->cells; c++) {
        int count = stair_program_cuts(p, c, -tuning.wide, tuning.wide, CUTS, cut);
        if (count < 1 || !stair_program_boxed(p, c)) return false;
    }
    return true;
}

static bool fits(const stair_integrand *f, bool forced)
{
    const stair_model *model = f->fibre.model;
    bool coupled = false;
    if (!stair_boxes_serve(model)) return false;
    const stair_program *p = &model->ops->program(model)->program;
    for (int c = 0; c < p->cells; c++) {
        for (int d = 0; d < c; d++)
            coupled |=
                p->token[c] == p->token[d] && f->variance[p->row[c] * model->info.indices + p->row[d]] != 0;
    }
    return coupled || forced; /* else lines are exact */
}

static stair_status create(stair_context *context, const stair_model *model, stair_boxes **boxes)
{
    stair_boxes *b = *boxes = calloc(1, sizeof *b);
    if (!b) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    b->formula = model->ops->program(model);
    b->n = b->formula->program.cells;
    for (int c = 0; c < b->n; c++)
        b->cuts[c] = stair_program_cuts(&b->formula->program, c, -tuning.wide, tuning.wide, CUTS, b->cut[c]);
    stair_gauss_legendre(COARSE, b->node[0], b->weight[0]);
    stair_gauss_legendre(NODES, b->node[1], b->weight[1]);
    return STAIR_OK;
}

void stair_boxes_destroy(struct stair_boxes *boxes)
{
    free(boxes);
}

static double tail(double h) /* P(x > h) */
{
    return 0.5 * erfc(h * M_SQRT1_2);
}

/* Density of two standard normals of correlation r at h, k. */
static double density(double h, double k, double r)
{
    double rest = 1 - r * r;
    return exp(-0.5 * (h * h - 2 * r * h * k + k * k) / rest) / (2 * M_PI * sqrt(rest));
}

/* P(x > h, y > k) for correlation r: tails, and the integral of the density from 0 to r. */
static double both(stair_boxes *b, double h, double k, double r)
{
    double angle = asin(r), sum[2] = {0};
    for (int fine = 0; fine < 2; fine++)
        for (int i = 0; i < (fine ? NODES : COARSE); i++) {
            double s = sin(0.5 * angle * (1 + b->node[fine][i])), rest = 1 - s * s;
            sum[fine] += b->weight[fine][i] * exp(-0.5 * (h * h - 2 * s * h * k + k * k) / rest);
        }
    double scale = 0.5 * angle / (2 * M_PI);
    b->error += fabs(scale * (sum[1] - sum[0]));
    return fmax(0, tail(h) * tail(k) + scale * sum[1]);
}

/* P(x > h_0, y > h_1, z > h_2) for correlations r01, r02, r12: from r01 = r02 = 0 on. */
static double all_three(stair_boxes *b, const double *h, double r01, double r02, double r12)
{
    double sum[2] = {0};
    for (int fine = 0; fine < 2; fine++)
        for (int i = 0; i < (fine ? NODES : COARSE); i++) {
            double t = 0.5 * (1 + b->node[fine][i]), r[2] = {t * r01, t * r02}, speed[2] = {r01, r02};
            for (int j = 0; j < 2; j++) { /* pair (0, j+1), the third is k */
                double rj = r[j], rk = r[1 - j], rest = 1 - rj * rj;
                double slope_0 = (rk - rj * r12) / rest, slope_j = (r12 - rj * rk) / rest;
                double variance = 1 - slope_0 * rk - slope_j * r12;
                double mean = slope_0 * h[0] + slope_j * h[j + 1];
                sum[fine] += 0.5 * b->weight[fine][i] * speed[j] * density(h[0], h[j + 1], rj) *
                             tail((h[2 - j] - mean) / sqrt(fmax(1e-300, variance)));
            }
        }
    b->error += fabs(sum[1] - sum[0]);
    return fmax(0, tail(h[0]) * both(b, h[1], h[2], r12) + sum[1]);
}

/* P(z_i > c_i for i in the set) of normals with these means and covariance (3, 3). */
static double beyond(stair_boxes *b, int count, const int *set, const double *c, const double *mean,
                     const double *cov)
{
    double h[MOST] = {0}, s[MOST] = {1, 1, 1};
    for (int k = 0; k < count; k++) {
        s[k] = sqrt(cov[set[k] * (MOST + 1)]);
        h[k] = (c[set[k]] - mean[set[k]]) / s[k];
    }
    if (count == 0) return 1;
    if (count == 1) return tail(h[0]);
    double r = cov[set[0] * MOST + set[1]] / (s[0] * s[1]);
    if (count == 2) return both(b, h[0], h[1], r);
    return all_three(b, h, r, cov[set[0] * MOST + set[2]] / (s[0] * s[2]),
                     cov[set[1] * MOST + set[2]] / (s[1] * s[2]));
}

/* Mean and covariance given z_i = at; returns the density of z_i there. */
static double condition(int n, int i, double at, double *mean, double *cov)
{
    double column[MOST] = {0}, variance = cov[i * (MOST + 1)], gap = at - mean[i];
    for (int a = 0; a < n; a++) column[a] = cov[a * MOST + i];
    for (int a = 0; a < n; a++) {
        mean[a] += column[a] / variance * gap;
        for (int c = 0; c < n; c++) cov[a * MOST + c] -= column[a] * column[c] / variance;
    }
    return exp(-0.5 * gap * gap / variance) / sqrt(2 * M_PI * variance);
}

/* Adds w times a corner: value, gradient, second derivatives. */
static void add_corner(stair_boxes *b, double w, int count, const int *set, const double *c, double *value,
                       double *slope, double *bend)
{
    double first[MOST] = {0}, second[MOST * MOST] = {0};
    *value += w * beyond(b, count, set, c, b->omega, b->cov);
    for (int a = 0; a < count; a++) {
        int i = set[a], others[MOST], left = 0;
        double mean[MOST], cov[MOST * MOST];
        memcpy(mean, b->omega, sizeof mean);
        memcpy(cov, b->cov, sizeof cov);
        double here = condition(b->n, i, c[i], mean, cov);
        for (int k = 0; k < count; k++)
            if (k != a) others[left++] = set[k];
        first[i] = here * beyond(b, left, others, c, mean, cov);
        for (int k = 0; k < left; k++) {
            int j = others[k], third = left == 2 ? others[1 - k] : -1;
            double m[MOST], v[MOST * MOST];
            memcpy(m, mean, sizeof m);
            memcpy(v, cov, sizeof v);
            second[i * MOST + j] = here * condition(b->n, j, c[j], m, v);
            if (third >= 0) second[i * MOST + j] *= beyond(b, 1, &third, c, m, v);
        }
    }
    for (int a = 0; a < count; a++) {
        int i = set[a];
        double sum = (c[i] - b->omega[i]) * first[i];
        for (int j = 0; j < b->n; j++)
            if (j != i) sum -= b->cov[i * MOST + j] * second[i * MOST + j];
        second[i * (MOST + 1)] = sum / b->cov[i * (MOST + 1)];
    }
    for (int i = 0; i < MOST; i++) slope[i] += w * first[i];
    for (int i = 0; i < MOST * MOST; i++) bend[i] += w * second[i];
}

/* Whether Z between the cuts `at` (from -1: below all) has the label. */
static bool inside(const stair_boxes *b, const int *at, const double *label)
{
    const stair_program *p = &b->formula->program;
    double z[MOST], value[STAIR_MOST_NODES];
    for (int c = 0; c < b->n; c++) {
        if (at[c] < -1) return false;
        z[c] = at[c] < 0                 ? b->cut[c][0] - 1
               : at[c] == b->cuts[c] - 1 ? b->cut[c][at[c]] + 1
                                         : 0.5 * (b->cut[c][at[c]] + b->cut[c][at[c] + 1]);
    }
    stair_program_values(p, z, value);
    for (int k = 0; k < p->outputs; k++)
        if (!(fabs(value[p->output[k]] - label[k]) <= 1e-9 * (1 + fabs(label[k])))) return false;
    return true;
}

/* The weight of the corner beyond the cuts `at`: differences of the indicator along each cell. */
static double corner_weight(const stair_boxes *b, const int *at, const double *label)
{
    double sum = 0;
    for (int e = 0; e < 1 << b->n; e++) {
        int near[MOST], sign = 1;
        for (int c = 0; c < b->n; c++) {
            near[c] = at[c] - (e >> c & 1);
            if (e >> c & 1) sign = -sign;
        }
        sum += sign * inside(b, near, label);
    }
    return sum;
}

static bool far_apart(const stair_boxes *b)
{
    for (int i = 0; i < b->n; i++)
        for (int j = 0; j < i; j++) {
            double r = b->cov[i * MOST + j] / sqrt(b->cov[i * (MOST + 1)] * b->cov[j * (MOST + 1)]);
            if (!(1 - fabs(r) > tuning.closest)) return false;
        }
    return true;
}

/* One copy of the formula: all corners. */
static void sum_corners(stair_boxes *b, const double *label, double *value, double *slope, double *bend)
{
    int at[MOST] = {-1, -1, -1}, corners = 1;
    for (int c = 0; c < b->n; c++) corners *= b->cuts[c] + 1;
    b->error = tuning.rounding;
    for (int k = 0; k < corners; k++) {
        int rest = k, set[MOST], count = 0;
        double place[MOST] = {0};
        for (int c = 0; c < b->n; c++) {
            at[c] = rest % (b->cuts[c] + 1) - 1;
            rest /= b->cuts[c] + 1;
            if (at[c] >= 0) {
                place[c] = b->cut[c][at[c]];
                set[count++] = c;
            }
        }
        double w = corner_weight(b, at, label);
        if (w != 0) add_corner(b, w, count, set, place, value, slope, bend);
    }
}

static void set_sample(stair_boxes *b, const stair_integrand *f, int t)
{
    const stair_model *model = f->fibre.model;
    const stair_program *p = &b->formula->program;
    for (int i = 0; i < b->n; i++) {
        b->omega[i] = f->mean[stair_formula_cell(model, b->formula, t, i)];
        for (int j = 0; j < b->n; j++)
            b->cov[i * MOST + j] =
                p->token[i] == p->token[j] ? f->variance[p->row[i] * model->info.indices + p->row[j]] : 0;
    }
}

static stair_rule_result evaluate(stair_worker *w, const stair_channel_options *options, stair_posterior *out)
{
    const stair_integrand *f = &w->f;
    stair_rule_result result = {0};
    size_t size = (size_t)f->size;
    if (!w->boxes) result.status = create(w->context, f->fibre.model, &w->boxes);
    if (result.status != STAIR_OK) return result;
    stair_boxes *b = w->boxes;
    out->logz = 0;
    memset(out->g, 0, size * sizeof(double));
    memset(out->dg, 0, size * size * sizeof(double));
    for (int t = 0; t < b->formula->copies; t++) {
        double value = 0, slope[MOST] = {0}, bend[MOST * MOST] = {0};
        set_sample(b, f, t);
        if (!far_apart(b)) {
            result.error = INFINITY;
            return result;
        }
        sum_corners(b, w->label + t * b->formula->program.outputs, &value, slope, bend);
        result.error += value > 0 ? b->error / value : INFINITY;
        out->logz += log(value);
        for (int i = 0; i < b->n; i++) {
            int row = stair_formula_cell(f->fibre.model, b->formula, t, i);
            out->g[row] = slope[i] / value;
            for (int j = 0; j < b->n; j++) {
                int column = stair_formula_cell(f->fibre.model, b->formula, t, j);
                out->dg[(size_t)row * size + (size_t)column] =
                    bend[i * MOST + j] / value - slope[i] * slope[j] / (value * value);
            }
        }
    }
    w->f.visited += b->formula->copies;
    result.error *= stair_posterior_sensitivity(f, out);
    result.converged = result.error <= options->precision;
    return result;
}

const stair_channel_rule stair_rule_boxes = {
    .name = "boxes", .number = STAIR_RULE_BOXES, .fits = fits, .evaluate = evaluate, .cost = 100};
