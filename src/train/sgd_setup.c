/* Teacher and student of one SGD run, and what is measured of them.
 *
 *   W* (P, D), x (M, D) i.i.d. N(0,1);  Z = W* x / sqrt(D);  y = g(Z + sqrt(prenoise) n) + sqrt(noise) n
 *   W_0 = start * N(0,1)
 *
 * with D the dimension of a row and rows zero outside of their blocks, where the embedding has several.
 * Every number is a function of (seed, purpose, sample); test samples are numbered from 2^40.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "train/sgd.h"

static const struct {
    uint64_t first_test; /* number of the first test sample, beyond every training sample */
    size_t measured;     /* samples of the training set, the first ones, on which its error is measured */
} tuning = {.first_test = (uint64_t)1 << 40, .measured = 2000};

size_t stair_sgd_samples(const stair_sgd_options *options)
{
    return (size_t)llround(options->alpha * (double)options->dim);
}

int64_t stair_sgd_batches(const stair_sgd_options *options)
{
    int64_t batch = options->batch, samples = (int64_t)stair_sgd_samples(options);
    return (int64_t)options->epochs * ((samples + batch - 1) / batch);
}

/* Labels of one block from the teacher's Z in work->z. */
static void label_block(const stair_descent *d, uint64_t first, size_t block, stair_samples *samples,
                        double *room)
{
    const stair_net *net = &d->net;
    const stair_model_info *info = &net->model->info;
    size_t cells = (size_t)(net->indices * net->tokens), outputs = (size_t)net->outputs;
    double *z = room, *y = z + cells, *noise = y + outputs;
    for (size_t s = 0; s < STAIR_GROUP; s++) {
        uint64_t sample = first + s;
        for (size_t i = 0; i < cells; i++) z[i] = d->work.z[i * STAIR_GROUP + s];
        if (info->prenoise > 0 || info->noise > 0)
            stair_rng_normals(d->seed, STAIR_RNG_NOISE, sample, (int)(cells + outputs), noise);
        for (size_t i = 0; i < cells && info->prenoise > 0; i++) z[i] += sqrt(info->prenoise) * noise[i];
        net->model->ops->forward(net->model, z, y, NULL);
        for (size_t k = 0; k < outputs && info->noise > 0; k++) y[k] += sqrt(info->noise) * noise[cells + k];
        for (size_t k = 0; k < outputs; k++) samples->y[(block * outputs + k) * STAIR_GROUP + s] = y[k];
    }
}

/* x and y of all samples; `room` holds M*D doubles or one sample's Z, y and noise. */
static void draw_samples(stair_descent *d, uint64_t first, stair_samples *samples, double *room)
{
    const stair_net *net = &d->net;
    for (size_t i = 0; i < samples->count; i++) {
        stair_rng_normals(d->seed, STAIR_RNG_DATA, first + i, net->tokens * net->dim, room);
        stair_samples_set_x(net, samples, i, room);
    }
    stair_net_set_weights(net, d->teacher, &d->work);
    for (size_t i = 0; i < samples->count; i++) {
        int lane;
        size_t block = stair_samples_block(samples, i, &lane);
        if (lane) continue;
        stair_net_project(net, samples, block, &d->work);
        label_block(d, first + i, block, samples, room);
    }
}

static stair_status allocate(stair_context *context, stair_descent *d, double **room)
{
    const stair_sgd_options *o = d->options;
    size_t samples = stair_sgd_samples(o), size = (size_t)d->net.indices * (size_t)o->dim;
    size_t cells = (size_t)(d->net.indices * d->net.tokens), outputs = (size_t)d->net.outputs;
    size_t rows = (size_t)d->net.tokens * (size_t)o->dim, label = 2 * (cells + outputs);
    d->teacher = malloc(size * sizeof(double));
    d->weights = malloc(size * sizeof(double));
    d->gradient = malloc(size * sizeof(double));
    d->order = malloc((samples + 1) * sizeof *d->order);
    *room = malloc((rows > label ? rows : label) * sizeof(double));
    if (!d->teacher || !d->weights || !d->gradient || !d->order || !*room)
        return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    STAIR_TRY(stair_net_work_create(context, &d->net, &d->work));
    STAIR_TRY(stair_samples_create(context, &d->net, samples, (size_t)o->batch, &d->train));
    STAIR_TRY(stair_samples_create(context, &d->net, (size_t)o->test, STAIR_GROUP, &d->test));
    if (o->shuffle)
        STAIR_TRY(stair_samples_create(context, &d->net, (size_t)o->batch, (size_t)o->batch, &d->mixed));
    return STAIR_OK;
}

stair_status stair_descent_open(stair_context *context, const stair_model *model,
                                const stair_sgd_options *options, uint64_t seed, stair_sgd_run *out,
                                stair_descent *d)
{
    *d = (stair_descent){
        .options = options, .seed = seed, .out = out, .ordered = -1, .batches = stair_sgd_batches(options)};
    d->net = stair_net_of(model, options->dim, !options->double_data);
    double *room = NULL;
    stair_status status = stair_model_has_all_rows(context, model);
    if (status == STAIR_OK) status = allocate(context, d, &room);
    if (status == STAIR_OK) {
        stair_rng_rows(seed, STAIR_RNG_TEACHER, d->net.indices, options->dim, 1, d->teacher);
        stair_rng_rows(seed, STAIR_RNG_INIT, d->net.indices, options->dim, options->start, d->weights);
        stair_blocks_keep(model, options->dim, d->teacher);
        stair_blocks_keep(model, options->dim, d->weights);
        draw_samples(d, 0, &d->train, room);
        draw_samples(d, tuning.first_test, &d->test, room);
    }
    free(room);
    if (status != STAIR_OK) stair_descent_close(d);
    return status;
}

void stair_descent_close(stair_descent *d)
{
    stair_net_work_destroy(&d->work);
    stair_samples_destroy(&d->train);
    stair_samples_destroy(&d->test);
    stair_samples_destroy(&d->mixed);
    free(d->teacher);
    free(d->weights);
    free(d->gradient);
    free(d->order);
    *d = (stair_descent){0};
}

/* |a b^T|_F for `rank` rows of a and b (P, dim) */
static double gram_norm(int rank, const int *rows, int dim, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < rank; i++)
        for (int j = 0; j < rank; j++) {
            const double *x = a + (size_t)rows[i] * (size_t)dim, *y = b + (size_t)rows[j] * (size_t)dim;
            double dot = 0;
            for (int d = 0; d < dim; d++) dot += x[d] * y[d];
            sum += dot * dot;
        }
    return sqrt(sum);
}

/* Cosine and norm of each layer. */
static void measure_weights(const stair_descent *d, stair_sgd_record *record)
{
    const stair_model *model = d->net.model;
    const double *w = d->weights, *t = d->teacher;
    int dim = d->net.dim, layers = model->info.row_layers;
    for (int l = 0; l < layers; l++) {
        int rows[STAIR_MAX_INDICES], rank = 0;
        double squares = 0;
        for (int i = 0; i < model->info.indices; i++) {
            if (model->layer[i] != l) continue;
            rows[rank++] = i;
            for (size_t k = (size_t)i * (size_t)dim, end = k + (size_t)dim; k < end; k++)
                squares += w[k] * w[k];
        }
        double ww = gram_norm(rank, rows, dim, w, w), tt = gram_norm(rank, rows, dim, t, t);
        record->cosine[l] = ww > 0 ? gram_norm(rank, rows, dim, w, t) / sqrt(ww * tt) : 0;
        record->norm[l] = sqrt(squares / ((double)d->net.one * rank));
    }
}

/* Mean error of the first blocks of `samples`, as many as hold `most` of them. */
static double mean_error(stair_descent *d, const stair_samples *samples, size_t most)
{
    size_t last, seen = 0;
    double loss, count = 0;
    for (last = 0; last < samples->blocks && seen < most; last++)
        for (int s = 0; s < STAIR_GROUP; s++) {
            double weight = samples->weight[last * STAIR_GROUP + (size_t)s];
            count += weight;
            seen += weight > 0;
        }
    loss = stair_net_loss(&d->net, samples, 0, last, false, &d->work);
    return count > 0 ? loss / count : NAN;
}

stair_status stair_descent_record(stair_context *context, stair_descent *d)
{
    stair_sgd_run *run = d->out;
    stair_sgd_record *grown = realloc(run->history, (size_t)(run->count + 1) * sizeof *grown);
    if (!grown) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    run->history = grown;
    stair_sgd_record *record = &grown[run->count++];
    *record = (stair_sgd_record){.batches = d->batch, .steps = d->batch * d->options->repeat};
    int64_t per_epoch = d->options->epochs ? d->batches / d->options->epochs : 1;
    record->epoch = per_epoch ? (double)d->batch / (double)per_epoch : 0;
    stair_net_set_weights(&d->net, d->weights, &d->work);
    record->train = mean_error(d, &d->train, tuning.measured);
    record->test = mean_error(d, &d->test, SIZE_MAX);
    measure_weights(d, record);
    return STAIR_OK;
}
