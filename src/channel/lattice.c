/* Trapezoidal sums on a lattice in whitened coordinates.
 *
 * A smooth integrand that decays like a Gaussian is summed exponentially well on any lattice.  Cosets of
 * one coarse lattice are summed in an order whose first 2, 4, 8 ... make ever finer lattices; the mean
 * of the older half and that of the newer half differ by the leading alias of either, which their
 * common mean no longer has; what it still has is estimated from the last two differences.
 *
 * Nodes are visited outwards from the centre of a frame, from tables shared by all samples, until a
 * whole shell is negligible.  Beyond two dimensions most of a ball is: there a first, coarse lattice maps
 * where the integrand is, and finer ones go nowhere else.
 *
 * A frame is the Laplace ellipsoid of one mode, or of several that overlap; modes farther apart
 * have frames of their own, each node belonging to the nearest mode.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "channel/lattice_map.h"
#include "channel/lattice_points.h"
#include "channel/rules.h"
#include "core/matrix.h"

static const struct {
    double step;    /* of one coset, over sqrt(log(1/precision)), in deviations of the narrowest mode; */
    double step_34; /* in three and four dimensions */
    double finer;   /* and after all cosets were not enough; */
    double longest; /* at least so much finer where aliases tell by how much */
    double power;   /* of an alias that the next one, of dual vectors sqrt 2 longer, does not exceed */
    double weak;    /* part of an alias that is left where nothing is known of how they fall, */
    double broken;  /* and where the link is seen to have kinks or jumps, beyond two dimensions: with half of
                       it up to 3 of 400 were beyond three errors */
    double quiet;   /* steps without a visible node that end a coset; */
    double on_line; /* on a line, where the next node on the same side is a whole step away */
    double apart;   /* frames are separate when their ellipsoids use up this part of the way between */
    double near;    /* deviations within which a mode must look like its Gaussian, */
    double bent;    /* to within this in the exponent, or its ridge is too thin and bent for a lattice, */
    double unlike;  /* and its mass be that of the Gaussian to within this in the logarithm */
    double blur;    /* a map is drawn coarsely: this far below the cutoff still counts as visible */
    double noise;   /* least on y with which errors are what is reported: measured on 2 000 samples of one
                       layer at 1e-6 (docs/channel.md); at 0.1 one was wrong by twenty times its error */
    double scan[STAIR_LATTICE_DIM + 1];        /* steps of the lattice of the prior, in its deviations, */
    double higher;                             /* and how much higher than known modes one may be */
    int64_t worthwhile[STAIR_LATTICE_DIM + 1]; /* most nodes before another rule is the better choice */
    int cosets[STAIR_LATTICE_DIM + 1];         /* of one step, by dimension */
} tuning = {.step = 5.0,
            .step_34 = 4.1,
            .finer = 0.75,
            .longest = 0.8,
            .power = 1.5,
            .weak = 0.5,
            .broken = 1.0,
            .quiet = 0.55,
            .on_line = 1.05,
            .apart = 1.0,
            .near = 2.5,
            .bent = 2.0,
            .unlike = 0.3,
            .blur = 3.0,
            .noise = 0.2,
            .scan = {0, 0.1, 0, 0.55, 0.55},
            .higher = 1,
            .worthwhile = {0, 20000, 60000, 100000, 500000},
            .cosets = {0, 16, STAIR_LATTICE_COSETS, 4, 4}};

typedef struct {
    double centre[STAIR_LATTICE_DIM], lower[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM],
        inverse[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM];
    double log_det;               /* of lower */
    double narrow;                /* narrowest mode, relative to the frame */
    double reach;                 /* farthest mode or visible pilot, in frame units */
    double value;                 /* log integrand at the leading mode */
    double log_mass;              /* its Laplace mass */
    int members;                  /* modes of this frame */
    bool owner[STAIR_MOST_MODES]; /* modes of this frame */
} lattice_frame;

typedef struct {
    int count;
    lattice_frame frame[STAIR_MOST_MODES];
    double loud;         /* farthest visible node so far, in frame units */
    bool noting, mapped; /* this lattice draws the map; the map says where to go */
    double to_map[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM],
        map_centre[STAIR_LATTICE_DIM]; /* u to coordinates of the map */
} lattice_plan;

/* How far apart two modes are, as the number of standard deviations of both that fit between. */
static double separation(int dim, const stair_mode *a, const stair_mode *b)
{
    double from_a = sqrt(stair_mode_distance2(dim, a, b->u)),
           from_b = sqrt(stair_mode_distance2(dim, b, a->u));
    return from_a * from_b / (from_a + from_b + 1e-300);
}

/* Frame of the modes marked in `owner`: moments of the mixture of their Laplace Gaussians. */
static bool build_frame(int dim, const stair_modes *modes, lattice_frame *frame)
{
    double share = 0, covariance[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM] = {0};
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
        double bent[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM], values[STAIR_LATTICE_DIM],
            vectors[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM], radius2 = 0;
        for (int i = 0; i < dim; i++) {
            double t = 0;
            for (int j = 0; j < dim; j++) t += frame->inverse[i * dim + j] * (mode->u[j] - frame->centre[j]);
            radius2 += t * t;
            for (int j = 0; j < dim; j++) { /* lower^T precision lower */
                bent[i * dim + j] = 0;
                for (int x = 0; x < dim; x++)
                    for (int y = 0; y < dim; y++)
                        bent[i * dim + j] += frame->lower[x * dim + i] * mode->precision[x * dim + y] *
                                             frame->lower[y * dim + j];
            }
        }
        stair_matrix_eigen(dim, bent, values, vectors);
        frame->narrow = fmin(frame->narrow, 1 / sqrt(fmax(values[dim - 1], 1e-300)));
        frame->reach = fmax(frame->reach, sqrt(radius2));
    }
    return true;
}

static int nearest_mode(int dim, const stair_modes *modes, const double *u)
{
    double nearest = INFINITY;
    int mode = 0;
    for (int k = 0; k < modes->count && modes->count > 1; k++) {
        double distance2 = stair_mode_distance2(dim, &modes->mode[k], u);
        if (distance2 < nearest) {
            nearest = distance2;
            mode = k;
        }
    }
    return mode;
}

/* The frame of the mode nearest to u reaches as far as u. */
static void reach_point(int dim, const stair_modes *modes, const double *u, lattice_plan *plan)
{
    double radius2 = 0;
    int mode = nearest_mode(dim, modes, u), k = 0;
    while (!plan->frame[k].owner[mode]) k++;
    lattice_frame *frame = &plan->frame[k];
    for (int x = 0; x < dim; x++) {
        double t = 0;
        for (int y = 0; y <= x; y++) t += frame->inverse[x * dim + y] * (u[y] - frame->centre[y]);
        radius2 += t * t;
    }
    frame->reach = fmax(frame->reach, sqrt(radius2));
}

static double best_value(const stair_modes *modes)
{
    double top = -INFINITY;
    for (int k = 0; k < modes->count; k++) top = fmax(top, modes->mode[k].value);
    return top;
}

/* Frames reach as far as the pilot saw anything visible that is nearest to one of their modes. */
static void reach_pilot(int dim, const stair_modes *modes, double cutoff, lattice_plan *plan)
{
    double threshold = best_value(modes) - cutoff;
    for (int i = 0; i < modes->pilots; i++) {
        double u[STAIR_LATTICE_DIM] = {modes->pilot[i], dim > 1 ? modes->pilot[STAIR_PILOT_MOST + i] : 0};
        if (modes->pilot_value[i] >= threshold) reach_point(dim, modes, u, plan);
    }
}

/* With noise on y, where the pilot is no grid: the same for a lattice over all of the prior in which anything
 * can be visible.  False when something is higher than all that was known, or the lattice is too large. */
static bool reach_prior(stair_integrand *f, const stair_modes *modes, double cutoff, lattice_plan *plan)
{
    int dim = f->dim, m = f->shape.tokens, size = 0;
    double matrix[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM] = {0}, zero[STAIR_LATTICE_DIM] = {0},
                                      step = tuning.scan[dim], top = best_value(modes);
    for (int i = 0; i < dim; i++)
        for (int k = 0; k <= i / m; k++)
            matrix[i * dim + k * m + i % m] = step * f->lower[i / m * f->shape.rows + k];
    int bin = (int)(sqrt(2 * (cutoff - top)) / step * STAIR_LATTICE_FINE) + 1;
    const stair_lattice_points *points = stair_lattice_points_of(dim, 0, size);
    while (points && bin > points->bins)
        points = ++size < STAIR_LATTICE_SIZES ? stair_lattice_points_of(dim, 0, size) : NULL;
    if (!points) return false;
    for (int from = 0; from < points->within[bin]; from += STAIR_BLOCK) {
        int n = points->within[bin] - from < STAIR_BLOCK ? points->within[bin] - from : STAIR_BLOCK;
        stair_affine(dim, matrix, zero, points->point + from, (size_t)points->stride, f->nodes.u);
        if (stair_integrand_energies(f, n) > top + tuning.higher) return false;
        for (int i = 0; i < n; i++) {
            double u[STAIR_LATTICE_DIM];
            if (f->nodes.plus[i] < top - cutoff) continue;
            for (int k = 0; k < dim; k++) u[k] = f->nodes.u[(size_t)k * STAIR_BLOCK + i];
            reach_point(dim, modes, u, plan);
        }
    }
    return true;
}

/* Modes whose ellipsoids meet share a frame. */
static bool plan_frames(stair_integrand *f, const stair_modes *modes, double cutoff, lattice_plan *plan)
{
    int group[STAIR_MOST_MODES], dim = f->dim;
    double radius = sqrt(2 * cutoff);
    for (int k = 0; k < modes->count; k++) group[k] = k;
    for (int k = 0; k < modes->count; k++)
        for (int j = 0; j < k; j++)
            if (separation(dim, &modes->mode[k], &modes->mode[j]) < tuning.apart * radius)
                for (int i = 0, from = group[k], to = group[j]; i < modes->count; i++)
                    if (group[i] == from) group[i] = to;
    plan->count = 0;
    plan->loud = 0;
    plan->noting = plan->mapped = false;
    for (int g = 0; g < modes->count; g++) {
        lattice_frame *frame = &plan->frame[plan->count];
        bool any = false;
        for (int k = 0; k < modes->count; k++) any |= frame->owner[k] = group[k] == g;
        if (!any) continue;
        if (!build_frame(dim, modes, frame)) return false;
        plan->count++;
    }
    if (dim <= 2) reach_pilot(dim, modes, cutoff, plan); /* scattered pilots reach too far to be a guide */
    return !f->shape.residuals || dim == 2 || reach_prior(f, modes, cutoff, plan);
}

/* Nodes nearer to a mode of another frame are that frame's to sum. */
static void disown(stair_integrand *f, const stair_modes *modes, const lattice_frame *frame, int n)
{
    for (int i = 0; i < n; i++) {
        double u[STAIR_LATTICE_DIM], mine = INFINITY, other = INFINITY;
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
static bool looks_gaussian(const stair_integrand *f, int n, const double *radius, double h,
                           const lattice_frame *frame)
{
    if (frame->members > 1) return false;
    for (int i = 0; i < n && radius[i] * h < tuning.near; i++) {
        double energy = f->shape.mirrored ? fmax(f->nodes.plus[i], f->nodes.minus[i]) : f->nodes.plus[i];
        if (energy + log(f->nodes.weight[i]) <
            frame->value - 0.5 * radius[i] * radius[i] * h * h - tuning.bent)
            return false;
    }
    return true;
}

/* Radius of the outermost node of the block above the threshold, 0 if none. */
static double last_loud(const stair_integrand *f, int n, double threshold, const double *radius)
{
    for (int i = n - 1; i >= 0; i--)
        if (f->nodes.plus[i] > threshold || (f->shape.mirrored && f->nodes.minus[i] > threshold))
            return radius[i];
    return 0;
}

/* One coset of one frame with step h, outwards until a whole shell is negligible; false when the table or the
 * budget ends before the integrand. */
static bool sum_outwards(stair_worker *w, lattice_plan *plan, int which, double h, int coset, double cutoff,
                         int64_t budget, stair_moments *into)
{
    stair_integrand *f = &w->f;
    const lattice_frame *frame = &plan->frame[which];
    int dim = f->dim, size = 0;
    const stair_lattice_points *points = stair_lattice_points_of(dim, coset, size);
    double matrix[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM];
    for (int i = 0; i < dim * dim; i++) matrix[i] = h * frame->lower[i];
    double loud = fmax(frame->reach, sqrt(2 * cutoff)) / h; /* radius up to which something may come */
    for (int from = 0, n; points; from += n) {
        int bin = (int)((loud + (dim == 1 ? tuning.on_line : tuning.quiet)) * STAIR_LATTICE_FINE) + 1;
        if (bin > points->bins) {
            if (++size == STAIR_LATTICE_SIZES) return false;
            points = stair_lattice_points_of(dim, coset, size);
            n = 0;
            continue;
        }
        int due = points->within[bin] - from; /* nodes that must be visited yet */
        if (due <= 0) {
            plan->loud = fmax(plan->loud, loud * h);
            return true;
        }
        n = due < STAIR_BLOCK ? due : STAIR_BLOCK;
        if (f->visited + n > budget) return false;
        stair_affine(dim, matrix, frame->centre, points->point + from, (size_t)points->stride, f->nodes.u);
        if (w->modes.stiff && from == 0 && coset == 0) {
            stair_integrand_energies(f, n);
            if (!looks_gaussian(f, n, points->radius, h, frame)) return false;
        }
        if (plan->count > 1 || plan->noting) { /* weights or energies are needed before the sum */
            double top = stair_integrand_energies(f, n);
            if (plan->count > 1) disown(f, &w->modes, frame, n);
            if (plan->noting) stair_lattice_map_note(&w->map, points, coset, from, n, f);
            loud = fmax(loud, last_loud(f, n, fmax(top, into->top) - cutoff, points->radius + from));
            if (top > into->top - cutoff) stair_integrand_add(f, n, NULL, top, into);
        } else {
            int last = stair_integrand_accumulate(f, n, cutoff, into);
            if (last >= 0) loud = fmax(loud, points->radius[from + last]);
        }
    }
    return false;
}

/* The same where the map of a coarser lattice shows something. */
static bool sum_mapped(stair_worker *w, const lattice_plan *plan, double h, int coset, double cutoff,
                       int64_t budget, stair_moments *into)
{
    stair_integrand *f = &w->f;
    const lattice_frame *frame = &plan->frame[0];
    double matrix[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM], picked[STAIR_LATTICE_DIM * 2 * STAIR_BLOCK] = {0};
    int dim = f->dim, size = 0, bin = (int)((plan->loud / h + tuning.quiet) * STAIR_LATTICE_FINE) + 1;
    const stair_lattice_points *points = stair_lattice_points_of(dim, coset, size);
    while (points && bin > points->bins)
        points = ++size < STAIR_LATTICE_SIZES ? stair_lattice_points_of(dim, coset, size) : NULL;
    if (!points) return false;
    double on_map[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM], centre[STAIR_LATTICE_DIM];
    for (int i = 0; i < dim; i++) {
        centre[i] = 0;
        for (int j = 0; j < dim; j++) {
            centre[i] += plan->to_map[i * dim + j] * (frame->centre[j] - plan->map_centre[j]);
            matrix[i * dim + j] = h * frame->lower[i * dim + j];
            on_map[i * dim + j] = 0;
            for (int k = 0; k < dim; k++)
                on_map[i * dim + j] += plan->to_map[i * dim + k] * h * frame->lower[k * dim + j];
        }
    }
    double threshold = w->map.top - cutoff - tuning.blur;
    for (int from = 0, ready = 0, end = points->within[bin]; from < end; from += STAIR_BLOCK) {
        ready +=
            stair_lattice_map_pick(&w->map, points, on_map, centre, threshold, from, end, picked + ready);
        int n = ready < STAIR_BLOCK ? ready : STAIR_BLOCK;
        if (n < STAIR_BLOCK && from + STAIR_BLOCK < end) continue; /* fill the block */
        if (f->visited + ready > budget) return false;
        for (int done = 0; done < ready && (done == 0 || from + STAIR_BLOCK >= end); done += n) {
            n = ready - done < STAIR_BLOCK ? ready - done : STAIR_BLOCK;
            stair_affine(dim, matrix, frame->centre, picked + done, 2 * STAIR_BLOCK, f->nodes.u);
            stair_integrand_accumulate(f, n, cutoff, into);
        }
        for (int k = 0; k < dim; k++)
            memmove(picked + k * 2 * STAIR_BLOCK, picked + k * 2 * STAIR_BLOCK + n,
                    sizeof(double) * STAIR_BLOCK);
        ready -= n;
    }
    return true;
}

/* into += sum over all frames of one coset */
static bool add_coset(stair_worker *w, lattice_plan *plan, double step, int coset, double cutoff,
                      int64_t budget, stair_moments *into)
{
    stair_integrand *f = &w->f;
    for (int k = 0; k < plan->count; k++) {
        double h = step * plan->frame[k].narrow;
        if (plan->count > 1)
            stair_moments_clear(f, &w->extra);
        else
            stair_integrand_begin(f, plan->frame[k].value,
                                  &w->extra); /* the mode, or the best the pilot saw */
        double log_cell = f->dim * log(h) + plan->frame[k].log_det + (f->dim > 2 ? log(2) : 0);
        bool whole = plan->mapped ? sum_mapped(w, plan, h, coset, cutoff, budget, &w->extra)
                                  : sum_outwards(w, plan, k, h, coset, cutoff, budget, &w->extra);
        if (!whole) return false;
        stair_integrand_flush(f);
        double log_mass = log(w->extra.sum[0]) + w->extra.top + log_cell;
        if (w->modes.stiff && !(fabs(log_mass - plan->frame[k].log_mass) < tuning.unlike)) return false;
        stair_moments_merge(f, into, &w->extra, log_cell);
    }
    return true;
}

/* Part of an alias that the next one is taken to have, at least, where nothing says how they fall. */
static double weak_alias(const stair_integrand *f)
{
    return f->structure->broken && f->dim > 2 ? tuning.broken : tuning.weak;
}

/* The alias of the mean of all cosets from the last two differences.  In one and two dimensions its dual
 * vectors are twice those of the difference before the last; along each direction an analytic integrand falls
 * off at least exponentially, so it should be the square of that.  It should also be far below the last one,
 * which is trusted less: weak sharp features make differences small that hardly fall at all.  Beyond two
 * dimensions the two differences are of dual vectors of equal length, those of the alias are longer by
 * sqrt 2.  A likelihood of noisy labels has many weak sharp features, where outputs saturate, or kinks, where
 * the link has: there nothing is taken to fall faster than was seen. */
static double alias_left(const stair_integrand *f, double before, double last, double sensitivity)
{
    bool kinked = f->shape.residuals && !f->fibre.model->ops->smooth;
    if (f->dim <= 2 && kinked) return tuning.weak * fmax(before, last);
    if (f->dim <= 2) return fmax(0.25 * last, before * before / sensitivity);
    double most = fmax(before, last) / sensitivity;
    return sensitivity * fmin(most, f->shape.residuals ? fmax(weak_alias(f) * most, pow(most, M_SQRT2))
                                                       : pow(most, tuning.power));
}

/* By how much to shrink the step for an alias to fall from `seen` to `wanted`: like that of a Gaussian. */
static double finer_step(double seen, double wanted)
{
    double ratio = sqrt(log(seen) / log(wanted));
    return seen < 1 ? fmin(fmax(ratio, 0.5), tuning.longest) : 0.5;
}

/* The frame from the moments of all nodes so far, better than those of the pilot, and the map in terms of u.
 */
static bool refine_frame(const stair_integrand *f, const stair_moments *moments, double step, double cutoff,
                         const stair_lattice_map *map, lattice_plan *plan)
{
    lattice_frame *frame = &plan->frame[0];
    int dim = f->dim, p = f->shape.rows, m = f->shape.tokens;
    double mean[STAIR_LATTICE_DIM],
        covariance[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM] = {0},
                                       half[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM] = {0};
    const double *sum = moments->sum, *second = sum + 1 + f->size;
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++) {
            plan->to_map[i * dim + j] = frame->inverse[i * dim + j] / step;
            for (int k = 0; k <= i / m; k++) { /* L times the covariance of x */
                int x = k * m + i % m, a = x > j ? x : j, b = x > j ? j : x;
                half[i * dim + j] += f->lower[(i / m) * p + k] * (second[a * (a + 1) / 2 + b] / sum[0] -
                                                                  sum[1 + a] / sum[0] * sum[1 + b] / sum[0]);
            }
        }
    for (int i = 0; i < dim; i++) {
        mean[i] = 0;
        plan->map_centre[i] = frame->centre[i];
        for (int k = 0; k <= i / m; k++) {
            int x = k * m + i % m;
            mean[i] += f->lower[(i / m) * p + k] * (sum[1 + x] / sum[0] + f->origin[x]);
            for (int j = 0; j < dim; j++)
                covariance[j * dim + i] += half[j * dim + x] * f->lower[(i / m) * p + k];
        }
    }
    double old[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM],
        matrix[STAIR_LATTICE_DIM * STAIR_LATTICE_DIM] = {0}, centre[STAIR_LATTICE_DIM] = {0};
    memcpy(old, frame->lower, sizeof old);
    memcpy(frame->centre, mean, sizeof(double) * (size_t)dim);
    if (!stair_matrix_whiten(dim, covariance, frame->lower, frame->inverse, &frame->log_det)) return false;
    for (int i = 0; i < dim; i++) /* from the map to the new frame */
        for (int j = 0; j < dim; j++) {
            centre[i] += frame->inverse[i * dim + j] * (plan->map_centre[j] - mean[j]);
            for (int k = 0; k < dim; k++)
                matrix[i * dim + j] += step * frame->inverse[i * dim + k] * old[k * dim + j];
        }
    plan->loud = stair_lattice_map_reach(map, matrix, centre, map->top - cutoff);
    return true;
}

/* Adds cosets done .. 2 done - 1 to those before them, leaves the posterior of all in `out`; returns how far
 * the older half (part[0]) and the newer (part[1]) were apart, or a negative number when they could not be
 * summed. */
static double double_cosets(stair_worker *w, lattice_plan *plan, double step, int done, double cutoff,
                            int64_t budget, stair_posterior *out)
{
    stair_integrand *f = &w->f;
    stair_moments_clear(f, &w->part[1]);
    for (int coset = done; coset < 2 * done; coset++)
        if (!add_coset(w, plan, step, coset, cutoff, budget, &w->part[1])) return -1;
    stair_moments_finish(f, &w->part[0], &w->first);
    stair_moments_finish(f, &w->part[1], &w->second);
    w->first.logz -= log(done);
    w->second.logz -= log(done);
    double difference = stair_posterior_distance(f, &w->first, &w->second);
    stair_moments_merge(f, &w->part[0], &w->part[1], 0);
    stair_moments_finish(f, &w->part[0], out);
    out->logz -= log(2 * done);
    return difference;
}

/* What the lattice of step `step` is to do about maps: draw one, or follow the one the lattice before it
 * drew. */
static bool prepare_map(stair_worker *w, lattice_plan *plan, double step, double before, double cutoff)
{
    const stair_integrand *f = &w->f;
    if (plan->noting && w->map.complete) {
        if (!refine_frame(f, &w->part[0], before, cutoff, &w->map, plan)) return false;
        plan->mapped = true;
    }
    plan->noting = !plan->mapped && f->dim > 2 && plan->count == 1 && !w->modes.stiff &&
                   stair_lattice_map_begin(&w->map, f->dim, sqrt(2 * cutoff) / step + 3);
    return true;
}

/* Doubles the cosets, then shrinks the step, until the alias is within what the precision leaves for it. */
static double integrate(stair_worker *w, const stair_channel_options *options, lattice_plan *plan,
                        double cutoff, int64_t budget, double *first_step, stair_posterior *out)
{
    stair_integrand *f = &w->f;
    double error = INFINITY, coarse = 0; /* step of the lattice in w->coarse */
    bool sharper = false;
    for (double step = *first_step, before = step, next;; before = step, step = next) {
        double difference = 0;
        *first_step = step;
        next = tuning.finer * step;
        if (!prepare_map(w, plan, step, before, cutoff)) return error;
        stair_moments_clear(f, &w->part[0]);
        if (!add_coset(w, plan, step, 0, cutoff, budget, &w->part[0])) return error;
        for (int done = 1; done < tuning.cosets[f->dim]; done *= 2) {
            double earlier = difference;
            difference = double_cosets(w, plan, step, done, cutoff, budget, out);
            if (difference < 0) return error;
            if (done == 1) continue; /* one difference says nothing of its own reliability */
            double sensitivity = stair_posterior_sensitivity(f, out),
                   noise = 5 * sensitivity * stair_integrand_rounding(f);
            double alias = alias_left(f, earlier, difference, sensitivity);
            double truncation = stair_posterior_truncation(f, out, cutoff);
            if (coarse >
                0) { /* falling exponentially, aliases are those of the coarser lattice to this power */
                double gap = stair_posterior_distance(f, out, &w->coarse) / sensitivity;
                alias = fmax(alias, sensitivity * fmin(gap, f->shape.residuals ? weak_alias(f) * gap
                                                                               : pow(gap, coarse / step)));
            }
            error = alias + truncation;
            if (truncation > 0.9 * options->precision &&
                !sharper) { /* g or dg are small beside the moments */
                sharper = true;
                cutoff += log(2 * truncation / options->precision);
                next = step;
                plan->mapped = plan->noting = false;
                break;
            }
            /* below truncation or rounding the differences no longer tell of aliases */
            double allowed = fmax(options->precision - truncation, fmax(noise, truncation));
            if (alias <= allowed) return error;
            if (f->dim <= 2) continue;
            next = step * finer_step(fmax(earlier, difference) / sensitivity,
                                     pow(allowed / sensitivity, 1 / tuning.power));
            coarse = step;
            stair_posterior_copy(f, out, &w->coarse);
        }
    }
}

/* Not where the density is rough in two dimensions: it would not notice what it misses at the singular set.
 * Nor there or on a line where the link has kinks or jumps, which the nested rule goes around.
 * With noise on y the posterior is as narrow as the noise has it: the less of it, the more can hide from a
 * rule that looks at a few places first. */
static bool fits(const stair_integrand *f, bool forced)
{
    if (f->structure->broken && f->dim <= 2 && !forced) return false;
    return stair_rule_euclidean(f) && !(f->fibre.rough && f->dim == 2) && f->dim > 0 &&
           f->dim <= STAIR_LATTICE_DIM && stair_rule_noise(f) >= tuning.noise;
}

static stair_rule_result attempt(stair_worker *w, const stair_channel_options *options, stair_posterior *out)
{
    stair_rule_result result = {.error = INFINITY};
    stair_integrand *f = &w->f;
    lattice_plan plan;
    stair_channel_options goal = *options;
    int64_t most =
        options->max_nodes < tuning.worthwhile[f->dim] ? options->max_nodes : tuning.worthwhile[f->dim];
    if (stair_lattice_prior(w, options, out, &result)) return result;
    double step =
        (f->dim > 2 ? tuning.step_34 : tuning.step) /
        sqrt(-log(fmin(options->precision, 1e-2))); /* aliases of a Gaussian fall as exp(-const / step^2) */
    do {
        int64_t budget = f->visited + most;
        double cutoff = goal.cutoff - log(goal.precision);
        stair_modes_frame(f, cutoff, &w->modes);
        if (!w->modes.count || !plan_frames(f, &w->modes, cutoff, &plan)) break;
        stair_rule_origin(w);
        stair_posterior *again = isfinite(result.error) ? &w->half[0] : out; /* a second run may not end */
        double error = integrate(w, options, &plan, cutoff, budget, &step, again);
        if (again != out && !(error < result.error)) break;
        if (again != out) stair_posterior_copy(f, again, out);
        result.error = error;
    } while (!stair_rule_accept(f, options, out, &goal, &result));
    return result;
}

/* Where the nodes run out far from the precision, a finer goal leaves less than half as many digits would
 * have: they are tried, too, and the better result counts. */
static stair_rule_result evaluate(stair_worker *w, const stair_channel_options *options, stair_posterior *out)
{
    stair_rule_result result = attempt(w, options, out);
    stair_channel_options modest = *options;
    modest.precision = sqrt(options->precision);
    if (result.converged || !isfinite(result.error) || result.error <= modest.precision) return result;
    stair_rule_result other = attempt(w, &modest, &w->half[1]);
    if (!(other.error < result.error)) return result;
    stair_posterior_copy(&w->f, &w->half[1], out);
    result.error = other.error;
    return result;
}

const stair_channel_rule stair_rule_lattice = {
    .name = "lattice", .number = STAIR_RULE_LATTICE, .fits = fits, .evaluate = evaluate};
