/* Trapezoidal sums on a lattice in whitened coordinates.
 *
 * A smooth integrand that decays like a Gaussian is summed exponentially well on any lattice.  Cosets of
 * one coarse lattice are summed in an order whose first 2, 4, 8 ... make ever finer lattices; the mean
 * of the older half and that of the newer half differ by the leading alias of either, which their
 * common mean no longer has; what it still has is estimated from the last two differences.
 *
 * Nodes are visited outwards from the centre of a frame, from tables shared by all samples, until a
 * whole shell is negligible.
 *
 * A frame is the Laplace ellipsoid of one mode, or of several that overlap; modes farther apart
 * have frames of their own, each node belonging to the nearest mode.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "channel/rules.h"
#include "core/isa.h"
#include "core/matrix.h"

#define MOST_DIM 4
#define COSETS   16
#define STEP     4.1  /* of one coset, over sqrt(log(1/precision)), in standard deviations of the narrowest mode */
#define FINER    0.75 /* and after all cosets were not enough */
#define FINE     8    /* radii are looked up in steps of 1 / FINE */
#define QUIET    0.55 /* steps without a visible node that end a coset */
#define APART    1.0  /* frames are separate when their ellipsoids use up this part of the way between */
#define NEAR     2.5  /* deviations within which a mode must look like its Gaussian, */
#define UNLIKE   0.3  /* and its mass be that of the Gaussian to within this in the logarithm */
#define BENT     2.0  /* to within this in the exponent, or its ridge is too thin and bent for a lattice */

/* Most nodes worth spending before another rule is the better choice. */
static const int64_t worthwhile[MOST_DIM + 1] = {0, 20000, 30000, 60000, 200000};

static const double table_radius[MOST_DIM + 1] = {0, 200, 36, 16, 10};
static const int cosets[MOST_DIM + 1] = {0, 16, 16, 4, 4};

/* Shift of coset c: binary digits of c add these vectors.  Doubling the cosets refines the lattice by
 * sqrt 2 in two dimensions; in three and four the body-centred lattice comes first, then a generic
 * shift of it, since no single half step would show all of its aliases. */
static const double digit_shift[MOST_DIM + 1][4][MOST_DIM] = {
    [1] = {{0.5}, {0.25}, {0.125}, {0.0625}},
    [2] = {{0.5, 0.5}, {0.5, 0}, {0.25, 0.25}, {0.25, 0}},
    [3] = {{0.5, 0.5, 0.5}, {0.5, 0.25, 0.125}},
    [4] = {{0.5, 0.5, 0.5, 0.5}, {0.5, 0.25, 0.125, 0.0625}},
};

STAIR_HOT_TABLE(void, stair_block_affine,
                (int dim, const double *matrix, const double *centre, const double *normal, size_t stride, double *u));

typedef struct {
    int count[COSETS];      /* points of each coset */
    int stride[COSETS];     /* count rounded up to blocks */
    double *point[COSETS];  /* (dim, stride), by radius */
    double *radius[COSETS]; /* (stride) */
    int *within[COSETS];    /* points within k / FINE steps of the centre */
} lattice_table;

static lattice_table tables[MOST_DIM + 1];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

typedef struct {
    double radius2;
    double x[MOST_DIM];
} table_entry;

/* By radius, then by coordinates, so that the order is the same everywhere. */
static int compare_entries(const void *a, const void *b)
{
    const table_entry *x = a, *y = b;
    if (x->radius2 != y->radius2) return x->radius2 < y->radius2 ? -1 : 1;
    for (int k = 0; k < MOST_DIM; k++)
        if (x->x[k] != y->x[k]) return x->x[k] < y->x[k] ? -1 : 1;
    return 0;
}

static int list_points(int dim, int coset, table_entry *out)
{
    int side = (int)table_radius[dim] + 2, count = 0, total = 1;
    for (int k = 0; k < dim; k++) total *= 2 * side + 1;
    for (int code = 0; code < total; code++) {
        table_entry e = {0};
        for (int k = 0, rest = code; k < dim; k++, rest /= 2 * side + 1) {
            e.x[k] = rest % (2 * side + 1) - side;
            for (int digit = 0; digit < 4; digit++) e.x[k] += (coset >> digit & 1) * digit_shift[dim][digit][k];
            e.radius2 += e.x[k] * e.x[k];
        }
        if (e.radius2 > table_radius[dim] * table_radius[dim]) continue;
        if (out) out[count] = e;
        count++;
    }
    return count;
}

static void build_tables(void)
{
    for (int dim = 1; dim <= MOST_DIM; dim++)
        for (int coset = 0; coset < cosets[dim]; coset++) {
            lattice_table *t = &tables[dim];
            int count = list_points(dim, coset, NULL), stride = (count + STAIR_BLOCK - 1) / STAIR_BLOCK * STAIR_BLOCK;
            table_entry *entries = malloc(sizeof *entries * (size_t)count);
            double *memory = calloc((size_t)stride * (size_t)(dim + 1), sizeof(double));
            int bins = (int)table_radius[dim] * FINE + 1, *within = malloc(sizeof *within * (size_t)bins);
            if (!entries || !memory || !within) { /* an empty table: the rule reports that it did not converge */
                free(entries);
                free(memory);
                free(within);
                continue;
            }
            list_points(dim, coset, entries);
            qsort(entries, (size_t)count, sizeof *entries, compare_entries);
            for (int i = 0; i < count; i++) {
                for (int k = 0; k < dim; k++) memory[(size_t)k * (size_t)stride + (size_t)i] = entries[i].x[k];
                memory[(size_t)dim * (size_t)stride + (size_t)i] = sqrt(entries[i].radius2);
            }
            t->count[coset] = count;
            t->stride[coset] = stride;
            t->point[coset] = memory;
            t->radius[coset] = memory + (size_t)dim * (size_t)stride;
            for (int k = 0, i = 0; k < bins; k++) {
                while (i < count && t->radius[coset][i] * FINE <= k) i++;
                within[k] = i;
            }
            t->within[coset] = within;
            free(entries);
        }
}

typedef struct {
    double centre[MOST_DIM], lower[MOST_DIM * MOST_DIM], inverse[MOST_DIM * MOST_DIM];
    double log_det;   /* of lower */
    double narrow;    /* narrowest mode, relative to the frame */
    double reach;     /* farthest mode or visible pilot, in frame units */
    double value;     /* log integrand at the leading mode */
    double log_mass;  /* its Laplace mass */
    int members;      /* modes of this frame */
    bool owner[STAIR_MOST_MODES]; /* modes of this frame */
} lattice_frame;

typedef struct {
    int count;
    lattice_frame frame[STAIR_MOST_MODES];
} lattice_plan;

/* How far apart two modes are, as the number of standard deviations of both that fit between. */
static double separation(int dim, const stair_mode *a, const stair_mode *b)
{
    double from_a = sqrt(stair_mode_distance2(dim, a, b->u)), from_b = sqrt(stair_mode_distance2(dim, b, a->u));
    return from_a * from_b / (from_a + from_b + 1e-300);
}

/* Frame of the modes marked in `owner`: moments of the mixture of their Laplace Gaussians. */
static bool build_frame(int dim, const stair_modes *modes, lattice_frame *frame)
{
    double share = 0, covariance[MOST_DIM * MOST_DIM] = {0};
    memset(frame->centre, 0, sizeof frame->centre);
    for (int k = 0; k < modes->count; k++)
        if (frame->owner[k]) {
            share += modes->mode[k].share;
            for (int i = 0; i < dim; i++) frame->centre[i] += modes->mode[k].share * modes->mode[k].u[i];
        }
    for (int i = 0; i < dim; i++) frame->centre[i] /= share;
    for (int k = 0; k < modes->count; k++) {
        const stair_mode *mode = &modes->mode[k];
        for (int i = 0; i < dim && frame->owner[k]; i++)
            for (int j = 0; j < dim; j++) {
                double sum = (mode->u[i] - frame->centre[i]) * (mode->u[j] - frame->centre[j]);
                for (int l = 0; l < dim; l++) sum += mode->lower[i * dim + l] * mode->lower[j * dim + l];
                covariance[i * dim + j] += mode->share / share * sum;
            }
    }
    if (!stair_matrix_whiten(dim, covariance, frame->lower, frame->inverse, &frame->log_det)) return false;
    frame->narrow = 1;
    frame->reach = 0;
    frame->members = 0;
    for (int k = 0; k < modes->count; k++) {
        const stair_mode *mode = &modes->mode[k];
        if (!frame->owner[k]) continue;
        if (!frame->members++) {
            frame->value = mode->value;
            frame->log_mass = mode->log_mass;
        }
        double bent[MOST_DIM * MOST_DIM], values[MOST_DIM], vectors[MOST_DIM * MOST_DIM], radius2 = 0;
        for (int i = 0; i < dim; i++) {
            double t = 0;
            for (int j = 0; j < dim; j++) t += frame->inverse[i * dim + j] * (mode->u[j] - frame->centre[j]);
            radius2 += t * t;
            for (int j = 0; j < dim; j++) { /* lower^T precision lower */
                bent[i * dim + j] = 0;
                for (int x = 0; x < dim; x++)
                    for (int y = 0; y < dim; y++)
                        bent[i * dim + j] += frame->lower[x * dim + i] * mode->precision[x * dim + y] * frame->lower[y * dim + j];
            }
        }
        stair_matrix_eigen(dim, bent, values, vectors);
        frame->narrow = fmin(frame->narrow, 1 / sqrt(fmax(values[dim - 1], 1e-300)));
        frame->reach = fmax(frame->reach, sqrt(radius2));
    }
    return true;
}

/* Frames reach as far as the pilot saw anything visible that is nearest to one of their modes. */
static void reach_pilot(int dim, const stair_modes *modes, double cutoff, lattice_plan *plan)
{
    double top = -INFINITY;
    for (int k = 0; k < modes->count; k++) top = fmax(top, modes->mode[k].value);
    for (int i = 0; i < modes->pilots; i++) {
        double nearest = INFINITY, radius2 = 0;
        int mode = 0;
        if (modes->pilot_value[i] < top - cutoff) continue;
        for (int k = 0; k < modes->count; k++) {
            double distance2 = stair_mode_distance2(dim, &modes->mode[k], modes->pilot + i * dim);
            if (distance2 < nearest) {
                nearest = distance2;
                mode = k;
            }
        }
        lattice_frame *frame = plan->frame;
        while (!frame->owner[mode]) frame++;
        for (int x = 0; x < dim; x++) {
            double t = 0;
            for (int y = 0; y <= x; y++) t += frame->inverse[x * dim + y] * (modes->pilot[i * dim + y] - frame->centre[y]);
            radius2 += t * t;
        }
        frame->reach = fmax(frame->reach, sqrt(radius2));
    }
}

/* Modes whose ellipsoids meet share a frame. */
static bool plan_frames(int dim, const stair_modes *modes, double cutoff, lattice_plan *plan)
{
    int group[STAIR_MOST_MODES];
    double radius = sqrt(2 * cutoff);
    for (int k = 0; k < modes->count; k++) group[k] = k;
    for (int k = 0; k < modes->count; k++)
        for (int j = 0; j < k; j++)
            if (separation(dim, &modes->mode[k], &modes->mode[j]) < APART * radius)
                for (int i = 0, from = group[k], to = group[j]; i < modes->count; i++)
                    if (group[i] == from) group[i] = to;
    plan->count = 0;
    for (int g = 0; g < modes->count; g++) {
        lattice_frame *frame = &plan->frame[plan->count];
        bool any = false;
        for (int k = 0; k < modes->count; k++) any |= frame->owner[k] = group[k] == g;
        if (!any) continue;
        if (!build_frame(dim, modes, frame)) return false;
        plan->count++;
    }
    if (dim <= 2) reach_pilot(dim, modes, cutoff, plan); /* scattered pilots reach too far to be a guide */
    return true;
}

/* Nodes nearer to a mode of another frame are that frame's to sum. */
static void disown(stair_integrand *f, const stair_modes *modes, const lattice_frame *frame, int n)
{
    for (int i = 0; i < n; i++) {
        double u[MOST_DIM], mine = INFINITY, other = INFINITY;
        for (int k = 0; k < f->dim; k++) u[k] = f->nodes.u[(size_t)k * STAIR_BLOCK + i];
        for (int k = 0; k < modes->count; k++) {
            double distance2 = stair_mode_distance2(f->dim, &modes->mode[k], u);
            double *nearest = frame->owner[k] ? &mine : &other;
            *nearest = fmin(*nearest, distance2);
        }
        if (other < mine) f->nodes.weight[i] = 0;
    }
}

/* Whether the integrand near a mode follows its Laplace approximation downwards: where it falls off much
 * faster, the mass lies on a thin bent ridge that the nodes step over unseen. */
static bool looks_gaussian(const stair_integrand *f, int n, const double *radius, double h, const lattice_frame *frame)
{
    if (frame->members > 1) return false;
    for (int i = 0; i < n && radius[i] * h < NEAR; i++) {
        double energy = f->shape.mirrored ? fmax(f->nodes.plus[i], f->nodes.minus[i]) : f->nodes.plus[i];
        if (energy + log(f->nodes.weight[i]) < frame->value - 0.5 * radius[i] * radius[i] * h * h - BENT) return false;
    }
    return true;
}

/* Radius of the outermost node of the block above the threshold, 0 if none. */
static double last_loud(const stair_integrand *f, int n, double threshold, const double *radius)
{
    for (int i = n - 1; i >= 0; i--)
        if (f->nodes.plus[i] > threshold || (f->shape.mirrored && f->nodes.minus[i] > threshold)) return radius[i];
    return 0;
}

/* One coset of one frame with step h; false when the table or the budget ends before the integrand. */
static bool sum_coset(stair_worker *w, const lattice_plan *plan, int which, double h, int coset, double cutoff,
                      int64_t budget, stair_moments *into)
{
    stair_integrand *f = &w->f;
    const lattice_frame *frame = &plan->frame[which];
    const lattice_table *table = &tables[f->dim];
    int dim = f->dim, stride = table->stride[coset], count = table->count[coset];
    double matrix[MOST_DIM * MOST_DIM];
    for (int i = 0; i < dim * dim; i++) matrix[i] = h * frame->lower[i];
    double loud = fmax(frame->reach, sqrt(2 * cutoff)) / h; /* radius up to which something may come */
    for (int from = 0, n; from < count; from += n) {
        int bin = (int)((loud + QUIET) * FINE) + 1, most = (int)table_radius[dim] * FINE;
        int due = table->within[coset][bin < most ? bin : most] - from; /* nodes that must be visited yet */
        if (due <= 0) return bin <= most;
        n = due < STAIR_BLOCK ? due : STAIR_BLOCK;
        if (f->visited + n > budget) return false;
        stair_block_affine_table[stair_isa()](dim, matrix, frame->centre, table->point[coset] + from, (size_t)stride, f->nodes.u);
        bool checked = w->modes.stiff && from == 0;
        if (checked || plan->count > 1) { /* weights or energies are needed before the sum */
            double top = stair_integrand_energies(f, n);
            if (checked && !looks_gaussian(f, n, table->radius[coset], h, frame)) return false;
            if (plan->count > 1) disown(f, &w->modes, frame, n);
            loud = fmax(loud, last_loud(f, n, fmax(top, into->top) - cutoff, table->radius[coset] + from));
            if (top > into->top - cutoff) stair_integrand_add(f, n, NULL, top, into);
        } else {
            int last = stair_integrand_accumulate(f, n, cutoff, into);
            if (last >= 0) loud = fmax(loud, table->radius[coset][from + last]);
        }
    }
    return false;
}

/* into += sum over all frames of one coset */
static bool add_coset(stair_worker *w, const lattice_plan *plan, double step, int coset, double cutoff, int64_t budget,
                      stair_moments *into)
{
    stair_integrand *f = &w->f;
    for (int k = 0; k < plan->count; k++) {
        double h = step * plan->frame[k].narrow;
        if (w->modes.stiff)
            stair_moments_clear(f, &w->extra);
        else
            stair_integrand_begin(f, plan->frame[k].value, &w->extra); /* the best the pilot saw */
        double log_cell = f->dim * log(h) + plan->frame[k].log_det;
        if (!sum_coset(w, plan, k, h, coset, cutoff, budget, &w->extra)) return false;
        stair_integrand_flush(f);
        double log_mass = log(w->extra.sum[0]) + w->extra.top + log_cell;
        if (w->modes.stiff && !(fabs(log_mass - plan->frame[k].log_mass) < UNLIKE)) return false;
        stair_moments_merge(f, into, &w->extra, log_cell);
    }
    return true;
}

/* The alias of the mean of all cosets from the last two differences.  Its dual vectors are longer than
 * those of the last difference by sqrt 2 and twice those of the one before; along each direction an
 * analytic integrand falls off at least exponentially, so it should be well below the former and the square of
 * the latter.  Neither is trusted further than that: an integrand can be kinder to one coset than to another. */
static double alias_left(int dim, double before, double last, double sensitivity)
{
    /* beyond two dimensions the last two lattices are shifts of one another, no finer together */
    return fmax((dim > 2 ? 1.5 : 0.5) * last, before * before / sensitivity);
}

/* Doubles the cosets, then shrinks the step, until the alias is below half the precision.  The older
 * half of the cosets is in part[0], the newer in part[1]. */
static double integrate(stair_worker *w, const stair_channel_options *options, const lattice_plan *plan, double cutoff,
                        int64_t budget, double *first_step, stair_posterior *out)
{
    stair_integrand *f = &w->f;
    double error = INFINITY;
    for (double step = *first_step;; step *= FINER) {
        *first_step = step;
        double before = 0;
        stair_moments_clear(f, &w->part[0]);
        if (!add_coset(w, plan, step, 0, cutoff, budget, &w->part[0])) return error;
        for (int done = 1; done < cosets[f->dim]; done *= 2) {
            stair_moments_clear(f, &w->part[1]);
            for (int coset = done; coset < 2 * done; coset++)
                if (!add_coset(w, plan, step, coset, cutoff, budget, &w->part[1])) return error;
            double scale = -log(done);
            stair_moments_finish(f, &w->part[0], &w->first);
            stair_moments_finish(f, &w->part[1], &w->second);
            w->first.logz += scale;
            w->second.logz += scale;
            double difference = stair_posterior_distance(f, &w->first, &w->second);
            stair_moments_merge(f, &w->part[0], &w->part[1], 0);
            double earlier = before;
            before = difference;
            if (done == 1) continue; /* one difference says nothing of its own reliability */
            stair_moments_finish(f, &w->part[0], out);
            out->logz += scale - log(2);
            double sensitivity = stair_posterior_sensitivity(f, out), noise = 5 * sensitivity * stair_integrand_rounding(f);
            double alias = alias_left(f->dim, earlier, difference, sensitivity);
            double truncation = stair_posterior_truncation(f, out, cutoff);
            error = alias + truncation;
            /* below truncation or rounding the differences no longer tell of aliases */
            if (alias <= fmax(options->precision - truncation, fmax(noise, truncation))) return error;
        }
    }
}

stair_rule_result stair_rule_lattice(stair_worker *w, const stair_channel_options *options, stair_posterior *out)
{
    stair_rule_result result = {.error = INFINITY};
    stair_integrand *f = &w->f;
    lattice_plan plan;
    stair_channel_options goal = *options;
    int64_t most = options->max_nodes < worthwhile[f->dim] ? options->max_nodes : worthwhile[f->dim];
    double step = STEP / sqrt(-log(fmin(options->precision, 1e-2))); /* aliases of a Gaussian fall as exp(-const / step^2) */
    pthread_once(&tables_once, build_tables);
    do {
        int64_t budget = f->visited + most;
        double cutoff = goal.cutoff - log(goal.precision);
        stair_modes_frame(f, cutoff, &w->modes);
        if (!w->modes.count || !plan_frames(f->dim, &w->modes, cutoff, &plan)) break;
        stair_rule_origin(w);
        result.error = integrate(w, options, &plan, cutoff, budget, &step, out);
    } while (!stair_rule_accept(f, options, out, &goal, &result));
    return result;
}
