/* fig5: overlap of the first layer at alpha = 1 where that of the second is held at a value.
 *
 * Held means that state evolution moves Q11 alone: x = Q11 solves alpha f11(x, Q22) = x/(1 - x), and from no
 * knowledge it stops at the smallest solution.  Zero is one; it is left where the right side is the smaller
 * one at x = `least`.  Between zero and `least` nothing is looked for: that is the error of a zero.  In u =
 * log x/(1 - x) the gap log(alpha f11) - u falls to zero at the solution. */
#include "figure.h"

#include <math.h>
#include <string.h>

static const double quick_overlaps[] = {0,    0.3,  0.6,   0.8,  0.9,   0.92, 0.94,
                                        0.96, 0.97, 0.980, 0.99, 0.995, 0.999};
static const double full_overlaps[] = {0,    0.15,  0.3,  0.45,   0.6,   0.7,    0.8,   0.85, 0.9,
                                       0.91, 0.92,  0.93, 0.94,   0.95,  0.96,   0.965, 0.97, 0.975,
                                       0.98, 0.985, 0.99, 0.9925, 0.995, 0.9975, 0.999};
static const struct {
    double alpha, least, step; /* step: of u, on the way up */
    double most;               /* u: beyond it everything is known */
    double near[2]; /* a gap that is small enough to go on by a straight line: in errors of it, and in units
                       of the precision */
    int refinements;
    double precision[2];
} tuning = {.alpha = 1,
            .least = 1e-3,
            .step = 2,
            .most = 14,
            .near = {0.5, 0.02},
            .refinements = 6,
            .precision = {1e-2, 2e-3}};

static void columns(const figure_job *job, char *names, size_t size)
{
    (void)job;
    snprintf(names, size, "Q22 Q11 Q11_error");
}

static const double *overlaps(const figure_job *job)
{
    return job->quick ? quick_overlaps : full_overlaps;
}

static int parts(const figure_job *job)
{
    return (int)(job->quick ? sizeof quick_overlaps / sizeof *quick_overlaps
                            : sizeof full_overlaps / sizeof *full_overlaps);
}

typedef struct {
    double u, gap, error; /* error: of the gap */
} held_point;

static stair_status gap_at(figure_job *job, const stair_asymptotics_options *how, double held, double u,
                           held_point *at)
{
    double q[4] = {1 / (1 + exp(-u)), 0, 0, held}, f[4], error[4];
    STAIR_TRY(stair_information_at(job->context, job->model, how, q, f, error));
    *at = (held_point){u, log(tuning.alpha * f[0]) - u, error[0] / f[0]};
    return STAIR_OK;
}

/* From low, where the gap is above zero, to high, where it is not: the secant, kept inside. */
static stair_status refine(figure_job *job, const stair_asymptotics_options *how, double held, held_point low,
                           held_point high, double *x, double *x_error)
{
    held_point at = low;
    for (int k = 0; k < tuning.refinements; k++) {
        double share = low.gap / (low.gap - high.gap);
        STAIR_TRY(gap_at(job, how, held, low.u + fmin(0.9, fmax(0.1, share)) * (high.u - low.u), &at));
        if (fabs(at.gap) < fmax(tuning.near[0] * at.error, tuning.near[1] * how->precision)) break;
        *(at.gap > 0 ? &low : &high) = at;
    }
    double slope = (low.gap - high.gap) / (high.u - low.u), u = at.u + at.gap / slope;
    *x = 1 / (1 + exp(-u));
    *x_error = *x * (1 - *x) * hypot(at.error, at.gap) / slope;
    return STAIR_OK;
}

static stair_status compute(figure_job *job, int part)
{
    stair_asymptotics_options how = figure_how(job, tuning.precision[0], tuning.precision[1]);
    double row[3] = {overlaps(job)[part], 0, tuning.least};
    held_point low, high;
    STAIR_TRY(gap_at(job, &how, row[0], log(tuning.least / (1 - tuning.least)), &low));
    high = low;
    while (high.gap > 0 && high.u < tuning.most) {
        low = high;
        STAIR_TRY(gap_at(job, &how, row[0], low.u + tuning.step, &high));
    }
    if (high.gap > 0) /* nothing stops it */
        row[1] = 1, row[2] = exp(-tuning.most);
    else if (high.u > low.u)
        STAIR_TRY(refine(job, &how, row[0], low, high, &row[1], &row[2]));
    return figure_table_add(job->context, job->table, "", row);
}

static stair_status draw(figure_job *job, figure_plot *plot)
{
    (void)job;
    snprintf(plot->x_label, FIGURE_TEXT, "overlap $Q_{22}$ of layer 2, held");
    snprintf(plot->y_label, FIGURE_TEXT, "overlap $Q_{11}$ of layer 1");
    plot->x[0] = 0, plot->x[1] = 1;
    plot->y[0] = 0, plot->y[1] = 1.02;
    figure_plot_curve(plot, FIGURE_THIN, FIGURE_BLUE, NULL, "Q22", "Q11", "", "");
    figure_plot_curve(plot, FIGURE_POINTS, FIGURE_BLUE, NULL, "Q22", "Q11", "Q11_error", "");
    plot->key_columns = 0;
    return STAIR_OK;
}

const figure_kind figure_5 = {
    .name = "fig5",
    .group = "fig5",
    .text = "Figure 5: overlap of layer 1 at alpha = 1 where that of layer 2 is held",
    .model = "attention:layers=2,tokens=2,rank=1,skip=1",
    .columns = columns,
    .parts = parts,
    .compute = compute,
    .draw = draw,
};
const figure_kind figure_5_prenoise = {
    .name = "fig5-prenoise",
    .group = "fig5",
    .text = "Figure 5 in the setting of the paper, prenoise=1e-3",
    .model = "attention:layers=2,tokens=2,rank=1,skip=1",
    .prenoise = true,
    .columns = columns,
    .parts = parts,
    .compute = compute,
    .draw = draw,
};
