/* Nothing is known, Q = 0, and the label is one number: the average over labels is an integral over y.
 *
 *   E phi = int dy Z_out(y, 0, 1) phi(y)  +  sum over atoms of P(y) phi(y)
 *
 * Between places where the density of y may be singular, the values of the link next to Z = 0 in every
 * orthant, and a few quantiles, nodes are double-exponential: any integrable singularity may stand at the
 * ends.  Values that random Z have more than once are atoms.  Two interlaced sets of nodes give the error;
 * what is missing of the probability is part of it.  Of several tokens with a label each all have the same
 * label here: the numbers that are averaged are sums over tokens. */
#include "average/average.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "model/formula.h"

#define MOST_PLACES 48 /* where the density may be singular */
#define MOST_ATOMS  16 /* values with a probability of their own */

static const struct {
    int trials;     /* random Z that atoms are looked for at */
    double same;    /* relative difference of values that are the same */
    double wide;    /* Z up to which labels are considered, in standard deviations */
    double step;    /* of double-exponential nodes at fineness 1, */
    double reach;   /* and how far they go */
    double next_to; /* distance from Z = 0 */
    double inner;   /* precision asked of posteriors, at most */
} tuning = {
    .trials = 512, .same = 1e-9, .wide = 8.5, .step = 0.12, .reach = 3.6, .next_to = 1e-9, .inner = 1e-5};

typedef struct {
    const stair_model *model;
    const stair_formula *formula;
    int pm, labels;
    int places, atoms;
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
    int k = *count;
    for (int i = 0; i < *count; i++)
        if (same(list[i], at)) return;
    if (*count == most || !isfinite(at)) return;
    for (; k > 0 && list[k - 1] > at; k--) list[k] = list[k - 1];
    list[k] = at;
    ++*count;
}

static double value_at(const line_job *job, const double *cell)
{
    double value[STAIR_MOST_NODES];
    stair_program_values(&job->formula->program, cell, value);
    return value[job->formula->program.output[0]];
}

/* Values next to Z = 0 in all orthants, and the least and largest there may be. */
static void find_places(line_job *job)
{
    const stair_program *p = &job->formula->program;
    double cell[STAIR_FORMULA_CELLS], wide = tuning.wide * sqrt(1 + job->model->info.prenoise),
                                      noise = tuning.wide * sqrt(job->model->info.noise);
    stair_range range[STAIR_FORMULA_CELLS];
    stair_bound bound[STAIR_MOST_NODES];
    for (int c = 0; c < p->cells; c++) range[c] = (stair_range){-wide, wide};
    stair_program_ranges(p, range, bound);
    double low = bound[p->output[0]].value.low - noise, high = bound[p->output[0]].value.high + noise;
    job->places = 0;
    insert(fmax(-1e300, low), MOST_PLACES, &job->places, job->place);
    insert(fmin(1e300, high), MOST_PLACES, &job->places, job->place);
    for (int i = 0; i < 1 << p->cells && !(noise > 0); i++) {
        for (int c = 0; c < p->cells; c++) cell[c] = (i >> c & 1 ? 1 : -1) * tuning.next_to;
        double y = value_at(job, cell);
        if (y > low && y < high) insert(y, MOST_PLACES, &job->places, job->place);
    }
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
    }
    qsort(seen, (size_t)tuning.trials, sizeof *seen, compare);
    job->atoms = 0;
    for (int i = 1; i < tuning.trials; i++)
        if (seen[i] == seen[i - 1]) insert(seen[i], MOST_ATOMS, &job->atoms, job->atom);
    for (int k = 0; k < 3; k++)
        insert(seen[(int)(quantile[k] * tuning.trials)], MOST_PLACES, &job->places, job->place);
    for (int k = 0; k < job->atoms; k++) insert(job->atom[k], MOST_PLACES, &job->places, job->place);
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

static void lay_nodes(const line_job *job, double step, node_list *list)
{
    int half = (int)(tuning.reach / step);
    for (int i = 0; i + 1 < job->places; i++) {
        double a = job->place[i], b = job->place[i + 1];
        for (int r = 0; r < 2; r++)
            for (int k = -half; k <= half; k++) {
                double u = (k + 0.5 * r) * step, e = exp(-M_PI * sinh(fabs(u))), near = (b - a) * e / (1 + e);
                double y = u < 0 ? a + near : b - near,
                       weight = step * (b - a) * M_PI * cosh(u) * e / ((1 + e) * (1 + e));
                if (y > a && y < b && !same(y, a) && !same(y, b)) add_node(list, y, weight, r);
            }
    }
    for (int k = 0; k < job->atoms; k++)
        for (int r = 0; r < 2; r++) add_node(list, job->atom[k], 1, r);
}

typedef struct {
    double *label, *omega, *features;
    stair_channel_result result;
    double *memory;
} posterior_room;

static stair_status make_room(stair_context *context, const line_job *job, size_t n, int count,
                              posterior_room *room)
{
    size_t pm = (size_t)job->pm, k = (size_t)job->labels;
    double *at = room->memory = calloc(n * (k + pm + 2 + pm + pm * pm) + (size_t)count, sizeof(double));
    if (!at) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    room->label = at;
    room->omega = room->label + n * k;
    room->result.logz = room->omega + n * pm;
    room->result.error = room->result.logz + n;
    room->result.g = room->result.error + n;
    room->result.dg = room->result.g + n * pm;
    room->features = room->result.dg + n * pm * pm;
    return STAIR_OK;
}

/* Posteriors of all labels; one that the link does not give has no density. */
static stair_status evaluate_labels(stair_context *context, const line_job *job,
                                    const stair_channel_options *channel, size_t n, posterior_room *room)
{
    double unit[STAIR_SQUARE] = {0};
    int p = job->model->info.indices;
    size_t pm = (size_t)job->pm, k = (size_t)job->labels;
    for (int i = 0; i < p; i++) unit[i * (p + 1)] = 1;
    stair_status status = stair_channel_evaluate(context, job->model, channel, 0, n, room->label, room->omega,
                                                 1, unit, &room->result);
    if (status != STAIR_BAD_INPUT) return status;
    for (size_t i = 0; i < n; i++) {
        stair_channel_result one = {.logz = room->result.logz + i,
                                    .error = room->result.error + i,
                                    .g = room->result.g + i * pm,
                                    .dg = room->result.dg + i * pm * pm};
        status = stair_channel_evaluate(context, job->model, channel, i, 1, room->label + i * k,
                                        room->omega + i * pm, 1, unit, &one);
        if (status == STAIR_BAD_INPUT)
            *one.logz = -INFINITY;
        else
            STAIR_TRY(status);
    }
    return STAIR_OK;
}

static void add_up(const line_job *job, const stair_subspace *rest, const node_list *list,
                   const posterior_room *room, bool relative, stair_average *out)
{
    size_t pm = (size_t)job->pm;
    double all[2] = {0};
    int copies = job->formula->copies;
    for (size_t i = 0; i < list->n; i++) {
        double density = list->weight[i] * exp(room->result.logz[i] / copies);
        double *row = out->sample + list->row[i] * out->count;
        if (!(density > 0)) continue;
        all[list->row[i]] += density;
        stair_average_features(out, rest, job->model->info.tokens, relative ? 0 : room->result.logz[i],
                               room->result.g + i * pm, room->result.dg + i * pm * pm, room->features);
        for (int a = 0; a < out->count; a++) row[a] += density * room->features[a];
        out->inner += 0.5 * density * fmin(1, room->result.error[i]);
    }
    out->bias = fabs(0.5 * (all[0] + all[1]) - 1);
}

static stair_status run(stair_context *context, const line_job *job, const stair_average_effort *effort,
                        const stair_subspace *rest, node_list *list, stair_average *out)
{
    posterior_room room = {0};
    stair_channel_options channel = effort->channel;
    channel.precision = fmin(channel.precision, tuning.inner);
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

const stair_average_rule stair_average_label_line = {
    .name = "label-line",
    .text = "at Q = 0, labels of one number: an integral over it",
    .fits = fits,
    .random = is_random,
    .evaluate = evaluate};
