/* Nothing is known, Q = 0, and the label is one number: the average over labels is an integral over y.
 *
 *   E phi = int dy Z_out(y, 0, 1) phi(y)  +  sum over atoms of P(y) phi(y)
 *
 * Between places where the density of y may be singular (label_places.h) and a few quantiles, nodes are
 * double-exponential: any integrable singularity may stand at the ends.  Values that random Z have more than
 * once are atoms.  Two interlaced sets of nodes give the error; what is missing of the probability is part of
 * it.  Of several tokens with a label each all have the same label here: the numbers that are averaged are
 * sums over tokens. */
#include "average/average.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "average/label_places.h"
#include "core/rng.h"
#include "model/formula.h"

#define MOST_PLACES STAIR_LABEL_PLACES
#define MOST_ATOMS  16 /* values with a probability of their own */

static const struct {
    int trials;      /* random Z that atoms are looked for at */
    double same;     /* relative difference of values that are the same */
    double wide;     /* Z up to which labels are considered, in standard deviations */
    double step;     /* of double-exponential nodes at fineness 1, */
    double reach;    /* and how far they go */
    double rounding; /* of a label, relative */
    double missed;   /* probability that is no more than the error of all nodes */
    double rarer;    /* part of it that a label has to have to be missing */
    double beyond;   /* an end that many times further away than labels are is at infinity */
    double inner;    /* precision asked of posteriors, at most, */
    int cells;       /* up to that many cells; beyond posteriors are dear, */
    double share;    /* and get that part of what all averages ask for, */
    double wider;    /* and steps are so much wider */
} tuning = {.trials = 512,
            .same = 1e-9,
            .wide = 8.5,
            .step = 0.12,
            .reach = 3.6,
            .rounding = 1e-14,
            .missed = 1e-6,
            .rarer = 1e-2,
            .beyond = 1e4,
            .inner = 1e-5,
            .cells = 2,
            .share = 0.05,
            .wider = 1.3};

typedef struct {
    const stair_model *model;
    const stair_formula *formula;
    int pm, labels;
    int places, atoms;
    double typical[3]; /* quantiles */
    bool open[2];      /* the first or last place is at infinity */
    bool mirrored;     /* y and -y are equally likely: */
    unsigned rows;     /* the label changes its sign with these rows */
    double place[MOST_PLACES], atom[MOST_ATOMS];
} line_job;

static bool is_unlearned(const stair_model *model, const double *q)
{
    for (int i = 0; i < model->info.indices * model->info.indices; i++)
        if (q[i] != 0) return false;
    return true;
}

static bool fits(const stair_structure *structure, const stair_average_effort *effort, const double *q)
{
    const stair_model *model = structure->model;
    if (!model->ops->program || !(effort->fineness > 0) || !is_unlearned(model, q)) return false;
    const stair_formula *f = model->ops->program(model);
    return f->program.outputs == 1 && (!f->flat || model->info.output_noisy);
}

static bool same(double a, double b)
{
    return fabs(a - b) <= tuning.same * (1 + fabs(b));
}

static void insert(double at, int most, int *count, double *list)
{
    stair_label_insert(at, tuning.same, most, count, list);
}

static double value_at(const line_job *job, const double *cell)
{
    double value[STAIR_MOST_NODES];
    stair_program_values(&job->formula->program, cell, value);
    return value[job->formula->program.output[0]];
}

/* Rows that change the sign of the label with theirs: negative labels are then the mirror images of others.
 */
static void find_mirror(line_job *job)
{
    const stair_program *p = &job->formula->program;
    double cell[STAIR_FORMULA_CELLS], moved[STAIR_FORMULA_CELLS];
    job->mirrored = false;
    for (job->rows = 1; job->rows < 1u << job->model->info.indices && !job->mirrored; job->rows++) {
        job->mirrored = true;
        for (int i = 0; i < tuning.trials && job->mirrored; i++) {
            stair_rng_normals(14, STAIR_RNG_POINTS, (uint64_t)i, p->cells, cell);
            for (int c = 0; c < p->cells; c++) moved[c] = job->rows >> p->row[c] & 1 ? -cell[c] : cell[c];
            double y = value_at(job, cell);
            job->mirrored = fabs(value_at(job, moved) + y) <= tuning.same * fabs(y);
        }
        if (job->mirrored) break;
    }
}

/* The least and largest values there may be, and where the density may be singular. */
static void find_places(line_job *job)
{
    const stair_program *p = &job->formula->program;
    double wide = tuning.wide * sqrt(1 + job->model->info.prenoise),
           noise = tuning.wide * sqrt(job->model->info.noise);
    stair_range range[STAIR_FORMULA_CELLS];
    stair_bound bound[STAIR_MOST_NODES];
    for (int c = 0; c < p->cells; c++) range[c] = (stair_range){-wide, wide};
    stair_program_ranges(p, range, bound);
    double low = bound[p->output[0]].value.low - noise, high = bound[p->output[0]].value.high + noise;
    job->places = 0;
    insert(fmax(-1e300, low), MOST_PLACES, &job->places, job->place);
    insert(fmin(1e300, high), MOST_PLACES, &job->places, job->place);
    if (!(noise > 0)) stair_label_places(p, wide, tuning.same, low, high, &job->places, job->place);
}

/* Of a mirrored link: sizes of a list, rising. */
static void fold(const line_job *job, int most, int *count, double *list)
{
    double kept[MOST_PLACES];
    int n = *count;
    if (!job->mirrored) return;
    memcpy(kept, list, sizeof(double) * (size_t)n);
    *count = 0;
    for (int k = 0; k < n; k++) insert(fabs(kept[k]), most, count, list);
}

/* Places far beyond where labels are make no difference; what is left to them is one tail. */
static void drop_far(line_job *job)
{
    double size = 0;
    int kept = 0, n = job->places;
    for (int k = 0; k < 3; k++) size = fmax(size, fabs(job->typical[k]));
    job->open[0] = job->place[0] < -tuning.beyond * size;
    job->open[1] = job->place[n - 1] > tuning.beyond * size;
    for (int k = 0; k < n; k++)
        if (k == 0 || k + 1 == n || fabs(job->place[k]) <= tuning.beyond * size)
            job->place[kept++] = job->place[k];
    job->places = kept;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Labels of random Z: values that come more than once are atoms, and a few quantiles say where labels are. */
static stair_status look_at_labels(stair_context *context, line_job *job)
{
    static const double quantile[] = {0.03, 0.5, 0.97};
    double cell[STAIR_FORMULA_CELLS + 1], *seen = malloc(sizeof(double) * (size_t)tuning.trials);
    int cells = job->formula->program.cells;
    if (!seen) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    for (int i = 0; i < tuning.trials; i++) {
        stair_rng_normals(12, STAIR_RNG_POINTS, (uint64_t)i, cells + 1, cell);
        seen[i] = value_at(job, cell) + sqrt(job->model->info.noise) * cell[cells];
        if (job->mirrored) seen[i] = fabs(seen[i]);
    }
    qsort(seen, (size_t)tuning.trials, sizeof *seen, compare);
    job->atoms = 0;
    for (int i = 1; i < tuning.trials; i++)
        if (seen[i] == seen[i - 1]) insert(seen[i], MOST_ATOMS, &job->atoms, job->atom);
    for (int k = 0; k < 3; k++) {
        job->typical[k] = seen[(int)(quantile[k] * tuning.trials)];
        insert(job->typical[k], MOST_PLACES, &job->places, job->place);
    }
    for (int k = 0; k < job->atoms; k++) insert(job->atom[k], MOST_PLACES, &job->places, job->place);
    if (job->mirrored) insert(0, MOST_PLACES, &job->places, job->place);
    fold(job, MOST_PLACES, &job->places, job->place);
    drop_far(job);
    free(seen);
    return STAIR_OK;
}

/* Nodes y with their weights, each in one of two rows. */
typedef struct {
    size_t n, room;
    double *y, *weight;
    int *row;
} node_list;

static void add_node(node_list *list, double y, double weight, int row)
{
    if (list->n == list->room) return;
    list->y[list->n] = y;
    list->weight[list->n] = weight;
    list->row[list->n++] = row;
}

/* Labels next to an atom are taken for it, and of those closer to an end than rounding nobody knows on which
 * side they are. */
static bool is_unclear(const line_job *job, double a, double b, double y)
{
    if (fabs(y - a) <= tuning.rounding * fabs(a) || fabs(b - y) <= tuning.rounding * fabs(b)) return true;
    for (int k = 0; k < job->atoms; k++)
        if (same(y, job->atom[k])) return true;
    return false;
}

/* A node of the interval (a, b) at u: double-exponential at both ends, or at a end and at infinity. */
static void lay_node(const line_job *job, double a, double b, int open, double u, double step, int row,
                     node_list *list)
{
    double y, weight;
    if (open) { /* -1, 1: a, or b, is at infinity */
        double away = 0.5 * (fabs(open > 0 ? a : b) + 1e-3) * exp(0.5 * M_PI * sinh(u));
        y = open > 0 ? a + away : b - away;
        weight = step * away * 0.5 * M_PI * cosh(u);
    } else {
        double e = exp(-M_PI * sinh(fabs(u))), near = (b - a) * e / (1 + e);
        y = u < 0 ? a + near : b - near;
        weight = step * (b - a) * M_PI * cosh(u) * e / ((1 + e) * (1 + e));
    }
    if (y > a && y < b && !is_unclear(job, a, b, y)) add_node(list, y, weight, row);
}

static void lay_nodes(const line_job *job, double step, node_list *list)
{
    int half = (int)(tuning.reach / step);
    for (int i = 0; i + 1 < job->places; i++) {
        int open = (i + 2 == job->places && job->open[1]) - (i == 0 && job->open[0]);
        for (int r = 0; r < 2; r++)
            for (int k = -half; k <= half; k++)
                lay_node(job, job->place[i], job->place[i + 1], open, (k + 0.5 * r) * step, step, r, list);
    }
    for (int k = 0; k < job->atoms; k++)
        for (int r = 0; r < 2; r++) add_node(list, job->atom[k], 1, r);
}

typedef struct {
    double *label, *omega, *features, *size; /* size: what a label tells */
    stair_channel_result result;
    double *memory;
} posterior_room;

static stair_status make_room(stair_context *context, const line_job *job, size_t n, int count,
                              posterior_room *room)
{
    size_t pm = (size_t)job->pm, k = (size_t)job->labels;
    double *at = room->memory = calloc(n * (k + pm + 3 + pm + pm * pm) + (size_t)count, sizeof(double));
    if (!at) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    room->label = at;
    room->omega = room->label + n * k;
    room->result.logz = room->omega + n * pm;
    room->result.error = room->result.logz + n;
    room->result.g = room->result.error + n;
    room->result.dg = room->result.g + n * pm;
    room->size = room->result.dg + n * pm * pm;
    room->features = room->size + n;
    return STAIR_OK;
}

/* Posteriors of all labels; one that the link does not give, or that is not found, has no density: what that
 * misses is seen in the sum of all. */
static stair_status evaluate_labels(stair_context *context, const line_job *job,
                                    const stair_channel_options *channel, size_t n, posterior_room *room)
{
    double unit[STAIR_SQUARE] = {0};
    int p = job->model->info.indices;
    size_t pm = (size_t)job->pm, k = (size_t)job->labels;
    for (int i = 0; i < p; i++) unit[i * (p + 1)] = 1;
    stair_status status = stair_channel_evaluate(context, job->model, channel, 0, n, room->label, room->omega,
                                                 1, unit, &room->result);
    if (status != STAIR_BAD_INPUT && status != STAIR_UNSUPPORTED) return status;
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        stair_channel_result one = {.logz = room->result.logz + i,
                                    .error = room->result.error + i,
                                    .g = room->result.g + i * pm,
                                    .dg = room->result.dg + i * pm * pm};
        status = stair_channel_evaluate(context, job->model, channel, i, 1, room->label + i * k,
                                        room->omega + i * pm, 1, unit, &one);
        if (status == STAIR_BAD_INPUT || status == STAIR_UNSUPPORTED)
            *one.logz = -INFINITY;
        else
            STAIR_TRY(status);
        found += status == STAIR_OK;
    }
    return found ? STAIR_OK : status;
}

/* g and dg of the mirror image of a label. */
static void reflect(const line_job *job, double *g, double *dg)
{
    int m = job->model->info.tokens, pm = job->pm;
    for (int i = 0; i < pm; i++) {
        bool in = job->rows >> (i / m) & 1;
        if (in) g[i] = -g[i];
        for (int j = 0; j < pm; j++)
            if (in != (job->rows >> (j / m) & 1)) dg[i * pm + j] = -dg[i * pm + j];
    }
}

/* Adds a label; returns its probability times what it tells: errors of posteriors are relative to that. */
static double add_label(const line_job *job, const stair_subspace *rest, double density, double logz,
                        const double *g, const double *dg, stair_average *out, double *features, double *row)
{
    double size = 0;
    stair_average_features(out, rest, job->model->info.tokens, logz, g, dg, features);
    for (int a = 0; a < out->count; a++) row[a] += density * features[a];
    for (int k = 0; k < job->pm; k++) size += g[k] * g[k];
    for (int k = 0; k < job->pm * job->pm; k++) size += dg[k] * dg[k];
    return density * size;
}

/* The most that a label tells which is not too rare to be what is missing. */
static double most_told(const node_list *list, const posterior_room *room, int copies, double missing)
{
    double most = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->weight[i] * exp(room->result.logz[i] / copies) > tuning.rarer * missing)
            most = fmax(most, room->size[i]);
    return most;
}

static void add_up(const line_job *job, const stair_subspace *rest, const node_list *list,
                   const posterior_room *room, bool relative, stair_average *out)
{
    size_t pm = (size_t)job->pm;
    double all[2] = {0}, told = 0;
    int copies = job->formula->copies;
    for (size_t i = 0; i < list->n; i++) {
        double density = list->weight[i] * exp(room->result.logz[i] / copies);
        double *row = out->sample + list->row[i] * out->count, *g = room->result.g + i * pm,
               *dg = room->result.dg + i * pm * pm;
        if (!(density > 0)) continue;
        for (int image = 0; image < (job->mirrored && list->y[i] != 0 ? 2 : 1); image++) {
            if (image) reflect(job, g, dg);
            all[list->row[i]] += density;
            double size = add_label(job, rest, density, relative ? 0 : room->result.logz[i], g, dg, out,
                                    room->features, row);
            told += 0.5 * size;
            room->size[i] = size / density;
            out->inner += 0.5 * size * fmin(1, room->result.error[i]);
        }
    }
    double missing = fabs(0.5 * (all[0] + all[1]) - 1); /* and tells as much as any other label, at most */
    if (told > 0) {
        out->inner /= told;
        if (missing > tuning.missed) missing *= fmax(1, most_told(list, room, copies, missing) / told);
    }
    out->bias = missing + out->inner;
}

static stair_status run(stair_context *context, const line_job *job, const stair_average_effort *effort,
                        const stair_subspace *rest, node_list *list, stair_average *out)
{
    posterior_room room = {0};
    stair_channel_options channel = effort->channel;
    channel.precision = job->formula->program.cells > tuning.cells ? tuning.share * channel.precision
                                                                   : fmin(channel.precision, tuning.inner);
    channel.noise = channel.precision; /* nothing averages out */
    STAIR_TRY(make_room(context, job, list->n, out->count, &room));
    for (size_t i = 0; i < list->n; i++)
        for (int k = 0; k < job->labels; k++) room.label[i * (size_t)job->labels + (size_t)k] = list->y[i];
    stair_status status = evaluate_labels(context, job, &channel, list->n, &room);
    out->calls += list->n;
    if (status == STAIR_OK) add_up(job, rest, list, &room, effort->relative, out);
    free(room.memory);
    return status;
}

static stair_status evaluate(stair_context *context, const stair_structure *structure,
                             const stair_average_effort *effort, const double *q, const double *basis,
                             stair_average *average)
{
    const stair_model *model = structure->model;
    line_job job = {.model = model,
                    .formula = model->ops->program(model),
                    .pm = model->info.indices * model->info.tokens,
                    .labels = model->info.label_size};
    stair_subspace rest;
    double step = tuning.step / fmax(0.5, effort->fineness);
    if (job.formula->program.cells > tuning.cells) step *= tuning.wider;
    find_mirror(&job);
    find_places(&job);
    STAIR_TRY(look_at_labels(context, &job));
    size_t most = (size_t)job.places * 2 * (size_t)(2 * tuning.reach / step + 2) + 2 * MOST_ATOMS;
    node_list list = {.room = most};
    list.y = malloc(most * sizeof(double));
    list.weight = malloc(most * sizeof(double));
    list.row = malloc(most * sizeof(int));
    stair_status status =
        list.y && list.weight && list.row ? STAIR_OK : stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_subspace_set(structure, q, basis, average->kernel, &rest);
    stair_average_begin(average, 2, false);
    memset(average->sample, 0, sizeof(double) * 2 * (size_t)average->count);
    if (status == STAIR_OK) {
        lay_nodes(&job, step, &list);
        status = run(context, &job, effort, &rest, &list, average);
    }
    for (int a = 0; a < average->count; a++)
        average->mean[a] = 0.5 * (average->sample[a] + average->sample[average->count + a]);
    free(list.y);
    free(list.weight);
    free(list.row);
    return status;
}

static bool is_random(const stair_structure *structure)
{
    (void)structure;
    return false;
}

static bool sharpen(stair_average_effort *effort, double bias, double error, double wanted)
{
    if (!(stair_average_excess(bias, error, wanted) > 1)) return false;
    effort->fineness *= 1.6;
    effort->channel.precision = fmax(1e-12, 0.1 * effort->channel.precision);
    return true;
}

const stair_average_rule stair_average_label_line = {
    .name = "label-line",
    .text = "at Q = 0, labels of one number: an integral over it",
    .fits = fits,
    .random = is_random,
    .evaluate = evaluate,
    .sharpen = sharpen};
