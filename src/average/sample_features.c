/* Controls are identities that hold given omega, and what a linear label would tell: samples.c says why. */
#include "average/sample_features.h"

#include <math.h>
#include <string.h>

#include "core/matrix.h"

static const struct {
    int most_full; /* rows for which controls take every pair */
} tuning = {.most_full = 6};

/* Token sums that given omega are zero on average, STAIR_SAMPLE_RICH for each row: omega.g, the other entries
 * of g g^T + dg, and both with powers of omega.  size: of the terms that cancel, and what the error of a
 * posterior is relative to, norm: of all of g, and of g g^T and dg. */
static void rich_controls(const stair_sample_job *job, const double *omega, const double *g, const double *dg,
                          const double norm[2], double *out, double *size)
{
    int m = job->m, pm = job->p * m;
    for (int i = 0; i < job->p; i++, out += STAIR_SAMPLE_RICH, size += STAIR_SAMPLE_RICH) {
        const double *w = omega + i * m, *h = g + i * m;
        double along = 0, diagonal = 0, all = 0, quadratic = 0, square = 0;
        for (int a = 0; a < m; a++) {
            along += w[a] * h[a];
            square += w[a] * w[a];
            for (int b = 0; b < m; b++) {
                double identity = h[a] * h[b] + dg[(i * m + a) * pm + i * m + b];
                all += identity;
                quadratic += w[a] * w[b] * identity;
                if (a == b) diagonal += identity;
            }
        }
        out[0] = along;
        out[1] = along * square;
        out[2] = all;
        out[3] = quadratic;
        out[4] = diagonal * square;
        size[0] = sqrt(square) * norm[0];
        size[1] = size[0] * square;
        size[2] = norm[1];
        size[3] = size[4] = norm[1] * square;
    }
}

int stair_sample_pairs(const stair_sample_job *job)
{
    return job->p <= tuning.most_full ? job->p * (job->p + 1) / 2 : job->p;
}

int stair_sample_controls(const stair_sample_job *job)
{
    return stair_sample_pairs(job) + (job->rich ? STAIR_SAMPLE_RICH * job->p : 0) +
           (job->linear_too ? job->p : 0) + 1;
}

/* Targets, controls and their sizes, of one estimate; g g^T + dg for every pair of rows, or for the diagonal
 * alone. */
static void part_features(const stair_sample_job *job, const double *omega, double logz, const double *g,
                          const double *dg, double *f)
{
    int p = job->p, m = job->m, pm = p * m;
    double *control = f + job->out->count, *size = control + job->controls.controls;
    double norm[2] = {0};
    for (int k = 0; k < pm; k++) norm[0] += g[k] * g[k];
    for (int k = 0; k < pm * pm; k++) norm[1] += dg[k] * dg[k];
    norm[1] = norm[0] + sqrt(norm[1]);
    norm[0] = sqrt(norm[0]);
    stair_average_features(job->out, &job->rest, m, logz, g, dg, f);
    for (int i = 0; i < p; i++)
        for (int j = p <= tuning.most_full ? 0 : i; j <= i; j++) {
            double slope = 0;
            for (int t = 0; t < m; t++) slope += dg[(i * m + t) * pm + j * m + t];
            *control++ = f[stair_packed(i, j)] + slope;
            *size++ = norm[1];
        }
    if (job->rich) rich_controls(job, omega, g, dg, norm, control, size);
}

void stair_sample_plain(const stair_sample_job *job, const double *f, double *out)
{
    int p = job->p, half = p * (p + 1) / 2;
    for (int r = 0; r < p; r++) out[r] = f[stair_packed(r, r)];
    out[p] = stair_average_operator_trace(job->out, f + half + 1);
    out[p + 1] = f[half];
}

/* Takes log Z of the same label when nothing is known out of that of sample n. */
static void make_relative(const stair_sample_job *job, size_t n, double *feature)
{
    int half = job->p * (job->p + 1) / 2;
    double *whole = feature + job->width - 1;
    for (int k = 0; k < job->ignorant.parts; k++) {
        double logz = job->before.logz[stair_denoised_at(&job->ignorant, &job->before, n, k)];
        feature[half] -= job->weight[n] * stair_denoiser_share(&job->ignorant, k) * logz;
        if (k == 0) *whole -= logz;
    }
}

/* What a linear label tells, less its mean.  Of a row that it tells nothing of only the rounding of the
 * others is left: the size is that of all rows together, in units of this one's variance. */
static void linear_controls(const stair_sample_job *job, const double *told, double weight, double *out,
                            double *size)
{
    double all = 0;
    for (int i = 0; i < job->p; i++)
        all += fabs(told[i]) * (job->cov[i * (job->p + 1)] + job->model->info.prenoise);
    for (int i = 0; i < job->p; i++) {
        out[i] = weight * (told[i] - job->expected[i]);
        size[i] = weight * all / (job->cov[i * (job->p + 1)] + job->model->info.prenoise);
    }
}

void stair_sample_features(const stair_sample_job *job, size_t n, double *feature)
{
    int p = job->p, pm = p * job->m, parts = job->denoiser.parts, controls = job->controls.controls;
    int all = job->out->count + controls, last = all - 1 - (job->linear_too ? p : 0), sized = last + controls;
    double part[STAIR_SAMPLE_MOST], weight = job->weight[n];
    memset(feature, 0, sizeof(double) * (size_t)job->width);
    for (int k = 0; k < parts; k++) {
        size_t at = stair_denoised_at(&job->denoiser, &job->moments, n, k);
        double share = stair_denoiser_share(&job->denoiser, k) * weight;
        if (share == 0) continue;
        part_features(job, job->omega + n * (size_t)pm, job->moments.logz[at],
                      job->moments.g + at * (size_t)pm, job->moments.dg + at * (size_t)(pm * pm), part);
        for (int c = 0; c < last; c++) feature[c] += share * part[c];
        for (int c = all; c < sized && k == 0; c++) feature[c] = weight * part[c];
        if (k == 0) stair_sample_plain(job, part, feature + all + controls);
    }
    if (job->effort->relative) make_relative(job, n, feature);
    if (job->linear_too)
        linear_controls(job, job->told + n * (size_t)p, weight, feature + last, feature + sized);
    feature[all - 1] = weight - 1;
    feature[all + controls - 1] = 1;
}
