#include "posterior/committee_law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fft.h"

#define SPREAD 12 /* nodes of the finer grid that a point is spread over, along each axis */

static const struct {
    double reach;      /* standard deviations that grids cover on either side, */
    double margin;     /* and steps of the coarsest one beyond, */
    double coarsest;   /* which has this step in standard deviations: its cut does not widen the law */
    double most;       /* nodes of the finest, */
    int enough;        /* and so many times finer it need not be than the coarsest one that the law has no
                          frequencies beyond: between its nodes one may interpolate */
    int smooth;        /* so many layers have a law that one may interpolate */
    int finest;        /* on a grid that is finer than the coarsest by this power of two */
    double negligible; /* transform of the law beyond the largest frequency of one layer that is taken */
    double layer_step; /* of s and d, times the largest frequency, */
    double least_step; /* and by itself */
    double layer_reach;
    double sharp; /* of the kernel that spreads points */
    double cut;   /* at the largest frequency, exp(-cut); */
    int flat;     /* this power of the frequency below it */
    double least; /* nodes of less than this part of the largest do not count */
} tuning = {.reach = 7,
            .margin = 12,
            .coarsest = 0.25,
            .most = 1 << 22,
            .enough = 2,
            .smooth = 7,
            .finest = 3,
            .negligible = 1e-13,
            .layer_step = 1.6,
            .least_step = 0.2,
            .layer_reach = 7,
            .sharp = 2.3 * SPREAD,
            .cut = 36,
            .flat = 12,
            .least = 1e-13};

void stair_committee_layer(double s, double d, double *a, double *b)
{
    *a = 1 / (1 + exp(d * d + s * d));
    *b = 1 / (1 + exp(d * d - s * d));
}

/* One of the four places (+-s, +-d) of a layer, which are alike but for the sign of v and s d. */
typedef struct {
    double u, v, weight, s, d;
} place;

static place layer_place(double step, int i, int j)
{
    double s = (i + 0.5) * step, d = (j + 0.5) * step, a, b;
    stair_committee_layer(s, d, &a, &b);
    return (place){a + b, a - b, step * step * 2 / M_PI * exp(-0.5 * (s * s + d * d)), s, d};
}

static int places(double step)
{
    return (int)ceil(tuning.layer_reach / step);
}

void stair_committee_moments(double *mean, double *deviation_u, double *deviation_v)
{
    double step = 0.05, u = 0, uu = 0, vv = 0;
    for (int i = 0; i < places(step); i++)
        for (int j = 0; j < places(step); j++) {
            place p = layer_place(step, i, j);
            u += p.weight * p.u;
            uu += p.weight * p.u * p.u;
            vv += p.weight * p.v * p.v;
        }
    *mean = u;
    *deviation_u = sqrt(uu - u * u);
    *deviation_v = sqrt(vv);
}

/* ---- one layer -------------------------------------------------------------------------------- */

/* The transforms of one layer, at the frequencies of a box that the law lies in: points are spread over a
 * grid twice as fine as those frequencies ask for, which transforms take back. */
typedef struct {
    int n, rows, columns;                         /* layers; frequencies along each axis */
    double step, mean;                            /* that belongs to them; mean of u */
    double middle;                                /* of U, in the middle of the box */
    double complex *of[COMMITTEE_NUMBERS], *room; /* (2 rows, 2 columns) each */
    double *undo;                                 /* (rows + columns): of the spreading */
} layer_job;

static double kernel(double x)
{
    double inside = 1 - 4 * x * x / (SPREAD * SPREAD);
    return inside > 0 ? exp(tuning.sharp * (sqrt(inside) - 1)) : 0;
}

/* Its transform at w, in units of its own nodes. */
static double kernel_at(double w)
{
    double sum = 0;
    int nodes = 64 * SPREAD;
    for (int k = 0; k <= nodes; k++) {
        double x = SPREAD * (k / (double)nodes - 0.5);
        sum += kernel(x) * cos(w * x);
    }
    return sum * SPREAD / nodes;
}

/* Nodes from the first that x, in steps, is spread over, and its shares. */
static int spread(double x, double *share)
{
    int first = (int)ceil(x - SPREAD / 2.0);
    for (int k = 0; k < SPREAD; k++) share[k] = kernel(first + k - x);
    return first;
}

static void add_place(const layer_job *job, const place *p)
{
    double along[SPREAD], across[SPREAD], fine = 2 / job->step;
    int i0 = spread((p->u - job->mean) * fine, along), j0 = spread(p->v * fine, across);
    int rows = 2 * job->rows, columns = 2 * job->columns;
    const double of[] = {[COMMITTEE_MASS] = 1,
                         [COMMITTEE_SS] = p->s * p->s - 1,
                         [COMMITTEE_DD] = p->d * p->d - 1,
                         [COMMITTEE_SD] = p->s * p->d};
    for (int i = 0; i < SPREAD; i++)
        for (int j = 0; j < SPREAD; j++) {
            double share = p->weight * along[i] * across[j];
            long at = (long)((i0 + i) & (rows - 1)) * columns + ((j0 + j) & (columns - 1));
            for (int k = 0; k < COMMITTEE_NUMBERS; k++) job->of[k][at] += share * of[k];
        }
}

/* Frequency `at` of `count` in the order of a transform. */
static int frequency(int at, int count)
{
    return at < count / 2 ? at : at - count;
}

static void find_undo(int count, double *undo)
{
    for (int at = 0; at < count; at++) undo[at] = 1 / kernel_at(M_PI * frequency(at, count) / count);
}

static void free_layer(layer_job *job)
{
    free(job->of[0]);
    free(job->undo);
    job->of[0] = NULL;
    job->undo = NULL;
}

static bool transform_layer(layer_job *job)
{
    double step = fmin(tuning.least_step, tuning.layer_step * job->step / M_PI);
    size_t size = 4 * (size_t)job->rows * (size_t)job->columns;
    job->of[0] = calloc(size * (COMMITTEE_NUMBERS + 1), sizeof **job->of);
    job->undo = malloc(sizeof(double) * (size_t)(job->rows + job->columns));
    if (!job->of[0] || !job->undo) return false;
    for (size_t k = 1; k < COMMITTEE_NUMBERS; k++) job->of[k] = job->of[0] + k * size;
    job->room = job->of[0] + COMMITTEE_NUMBERS * size;
    for (int i = 0; i < places(step); i++)
        for (int j = 0; j < places(step); j++) {
            place p = layer_place(step, i, j);
            if (p.s * p.s + p.d * p.d < tuning.layer_reach * tuning.layer_reach) add_place(job, &p);
        }
    for (int k = 0; k < COMMITTEE_NUMBERS; k++)
        stair_fft_plane(2 * job->rows, 2 * job->columns, false, job->of[k], job->room);
    find_undo(job->rows, job->undo);
    find_undo(job->columns, job->undo + job->rows);
    return true;
}

/* Number k of a layer at a frequency: from half of its places, and from the other half, where v and s d have
 * the other sign. */
static double complex layer_at(const layer_job *job, int k, int i, int j)
{
    int rows = 2 * job->rows, columns = 2 * job->columns;
    const double complex *row = job->of[k] + (long)(i & (rows - 1)) * columns;
    double undo = job->undo[i & (job->rows - 1)] * job->undo[job->rows + (j & (job->columns - 1))];
    return 0.5 * undo * (row[j & (columns - 1)] + (k == COMMITTEE_SD ? -1 : 1) * row[-j & (columns - 1)]);
}

/* Largest transform of n layers at the edge of the frequencies. */
static double beyond(const layer_job *job)
{
    double most = 0;
    for (int i = -job->rows / 2; i < job->rows / 2; i++)
        most = fmax(most, cabs(layer_at(job, COMMITTEE_MASS, i, job->columns / 2 - 1)));
    for (int j = 0; j < job->columns / 2; j++)
        most = fmax(most, cabs(layer_at(job, COMMITTEE_MASS, job->rows / 2 - 1, j)));
    return pow(most, job->n);
}

/* ---- the committee ---------------------------------------------------------------------------- */

static double complex times(double complex a, double complex b)
{
    return stair_complex(creal(a) * creal(b) - cimag(a) * cimag(b),
                         creal(a) * cimag(b) + cimag(a) * creal(b));
}

static double complex power(double complex x, int n)
{
    double complex result = 1;
    for (; n; n >>= 1, x = times(x, x))
        if (n & 1) result = times(result, x);
    return result;
}

static double filter(int number, int count)
{
    return exp(-tuning.cut * pow(fabs(2.0 * number / count), tuning.flat));
}

/* Number k of the law on a grid, from the transforms of a layer, into `to` (rows, columns).  Frequencies that
 * a layer was not transformed at are those where the law has none. */
static void combine(const layer_job *job, int k, const stair_committee_grid *grid, double complex *to,
                    double complex *room)
{
    int rows = grid->rows, columns = grid->columns;
    double off = (job->middle - job->n * job->mean) / grid->step;
    memset(to, 0, sizeof *to * (size_t)rows * (size_t)columns);
    for (int i = 0; i < rows; i++) {
        int fi = frequency(i, rows);
        double shift = 2 * M_PI * fi / rows * off, row_filter = filter(fi, rows);
        double complex turn = stair_complex(cos(shift), sin(shift)); /* places are counted from the middle */
        for (int j = 0; j < columns && 2 * abs(fi) < job->rows; j++) {
            int fj = frequency(j, columns);
            if (2 * abs(fj) >= job->columns) continue;
            double complex sum =
                times(power(layer_at(job, COMMITTEE_MASS, fi, fj), job->n - 1), layer_at(job, k, fi, fj));
            to[(long)i * columns + j] =
                times(sum, turn) * (row_filter * filter(fj, columns) * ((i + j) % 2 ? -1 : 1));
        }
    }
    stair_fft_plane(rows, columns, true, to, room);
}

/* Where there is next to nothing there is nothing: rounding does not count as a place. */
static void clean(stair_committee_grid *grid)
{
    double most = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < grid->rows; i++)
            for (int j = 0; j < grid->columns; j++) {
                double *at = grid->table + (long)i * COMMITTEE_NUMBERS * grid->columns + j;
                if (!pass) most = fmax(most, fabs(*at));
                for (int k = 0; k < COMMITTEE_NUMBERS && pass && fabs(*at) < tuning.least * most; k++)
                    at[(long)k * grid->columns] = 0;
            }
}

static bool fill_grid(const layer_job *job, stair_committee_grid *grid)
{
    size_t size = (size_t)grid->rows * (size_t)grid->columns;
    double complex *to = malloc(2 * size * sizeof *to);
    grid->table = malloc(sizeof(double) * COMMITTEE_NUMBERS * size);
    bool done = to && grid->table;
    for (int k = 0; k < COMMITTEE_NUMBERS && done; k++) {
        combine(job, k, grid, to, to + size);
        for (int i = 0; i < grid->rows; i++)
            for (int j = 0; j < grid->columns; j++)
                grid->table[((long)i * COMMITTEE_NUMBERS + k) * grid->columns + j] =
                    creal(to[(long)i * grid->columns + j]) / (double)size;
    }
    if (done) clean(grid);
    free(to);
    return done;
}

/* Nodes of the coarsest grid that cover this width: a power of two. */
static int side(double width, double step)
{
    int count = 16;
    while (count < width / step + 2 * tuning.margin) count *= 2;
    return count;
}

/* The coarsest grid, and by how many powers of two the finest is finer. */
static layer_job plan(int n, double step, int *finest)
{
    layer_job job = {.n = n};
    double du, dv;
    stair_committee_moments(&job.mean, &du, &dv);
    du *= sqrt(n);
    dv *= sqrt(n);
    job.step = tuning.coarsest * fmin(du, dv);
    /* u lies between 0 and 1, |v| is at most 1 */
    double low = fmin(tuning.reach * du, n * job.mean), high = fmin(tuning.reach * du, n * (1 - job.mean));
    job.middle = n * job.mean + 0.5 * (high - low);
    job.rows = side(low + high, job.step);
    job.columns = side(2 * fmin(tuning.reach * dv, n), job.step);
    for (*finest = 0; ldexp(job.step, -*finest) > step && *finest < COMMITTEE_GRIDS - 1; ++*finest) {
    }
    return job;
}

bool stair_committee_law_fits(int n, double step)
{
    int finest;
    layer_job job = plan(n, step, &finest);
    bool fine = ldexp(job.step, -finest) <= step;
    return (fine && ldexp((double)job.rows * job.columns, 2 * finest) <= tuning.most) || n >= tuning.smooth;
}

/* As many frequencies as the finest grid has, or as the law; then grids beyond are not needed. */
static bool find_layer(layer_job *job, int *finest)
{
    double nodes = (double)job->rows * job->columns;
    while (ldexp(nodes, 2 * *finest) > tuning.most) --*finest;
    bool done = transform_layer(job);
    for (int k = 0; k < *finest && done; k++) {
        if (beyond(job) < tuning.negligible) {
            if (*finest > k + tuning.enough) *finest = k + tuning.enough;
            break;
        }
        free_layer(job);
        job->rows *= 2;
        job->columns *= 2;
        job->step /= 2;
        done = transform_layer(job);
    }
    return done;
}

stair_status stair_committee_law_create(stair_context *context, int n, double step, stair_committee_law *law)
{
    int finest;
    layer_job job = plan(n, step, &finest), coarse = job;
    if (n >= tuning.smooth && finest > tuning.finest) finest = tuning.finest;
    bool done = find_layer(&job, &finest);
    *law = (stair_committee_law){.grids = finest + 1};
    for (int k = 0; k <= finest && done; k++) {
        stair_committee_grid *grid = &law->grid[k];
        *grid = (stair_committee_grid){
            .rows = coarse.rows << k, .columns = coarse.columns << k, .step = ldexp(coarse.step, -k)};
        grid->u = job.middle - grid->rows / 2 * grid->step;
        grid->v = -grid->columns / 2 * grid->step;
        done = fill_grid(&job, grid);
    }
    free_layer(&job);
    if (!done) stair_committee_law_destroy(law);
    return done ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
}

void stair_committee_law_destroy(stair_committee_law *law)
{
    for (int k = 0; k < law->grids && k < COMMITTEE_GRIDS; k++) free(law->grid[k].table);
    law->grids = 0;
}
