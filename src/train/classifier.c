/* Forward and backward pass of the question classifier; classifier.h has its equations. */
#include "train/classifier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"
#include "core/isa.h"
#include "train/dense.h"

STAIR_HOT_TABLE(void, stair_multiply, (stair_product p));
STAIR_HOT_TABLE(void, stair_softmax_rows,
                (int n, int columns, int stride, double scale, const double *multiplicity, double *a));

static void multiply(stair_product p)
{
    stair_multiply_table[stair_isa()](p);
}

static int up8(int n)
{
    return (n + 7) / 8 * 8;
}

stair_status stair_classifier_create(stair_context *context, int vocab, int dim, int rank, int layers,
                                     int classes, stair_classifier **classifier)
{
    stair_classifier *c = calloc(1, sizeof *c);
    *classifier = c;
    if (!c) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    *c = (stair_classifier){.vocab = vocab, .dim = dim, .rank = rank, .layers = layers, .classes = classes};
    c->dim8 = up8(dim);
    c->rank8 = up8(rank);
    c->scale = dim;
    size_t d = (size_t)c->dim8, p = (size_t)c->rank8, l = (size_t)layers, k = (size_t)classes;
    c->dense = l * p * d + l * p + k * d + k;
    c->parameters = calloc(c->dense, sizeof(double));
    c->embedding = calloc((size_t)vocab * d, sizeof(double));
    if (c->parameters && c->embedding) return STAIR_OK;
    stair_classifier_destroy(classifier);
    return stair_fail(context, STAIR_NO_MEMORY, "no memory for %d tokens in dimension %d", vocab, dim);
}

void stair_classifier_destroy(stair_classifier **classifier)
{
    if (!*classifier) return;
    free((*classifier)->parameters);
    free((*classifier)->embedding);
    free((*classifier)->names);
    free(*classifier);
    *classifier = NULL;
}

/* `count` doubles from the running end of one allocation, or only counted when there is none yet */
static double *take(double *memory, size_t *used, size_t count)
{
    double *at = memory ? memory + *used : NULL;
    *used += (count + 7) / 8 * 8;
    return at;
}

static size_t lay_out(const stair_classifier *c, stair_pass *p, double *memory)
{
    size_t used = 0, n = (size_t)p->capacity, rows = n * (size_t)(c->longest + 1), wide = (size_t)p->wide;
    size_t d = (size_t)c->dim8, rank = (size_t)c->rank8, most = d > rank ? d : rank;
    for (int l = 0; l <= c->layers; l++) p->x[l] = take(memory, &used, rows * d);
    for (int l = 0; l < c->layers; l++) p->h[l] = take(memory, &used, rows * rank);
    for (int l = 0; l < c->layers; l++) p->s[l] = take(memory, &used, rows * wide);
    p->length = take(memory, &used, n);
    p->multiplicity = take(memory, &used, n * wide);
    p->pooled = take(memory, &used, n * d);
    p->logits = take(memory, &used, n * (size_t)c->classes);
    p->grad_x = take(memory, &used, rows * d);
    p->grad_next = take(memory, &used, rows * d);
    p->grad_h = take(memory, &used, rows * rank);
    p->grad_s = take(memory, &used, wide * wide);
    p->flip = take(memory, &used, most * (wide > rank ? wide : rank));
    p->gradient = take(memory, &used, c->dense);
    return used;
}

stair_status stair_pass_create(stair_context *context, const stair_classifier *c, int capacity,
                               stair_pass *pass)
{
    size_t layers = (size_t)c->layers, n = (size_t)capacity;
    *pass = (stair_pass){.capacity = capacity, .wide = up8(c->longest + 1)};
    pass->x = calloc(3 * layers + 1, sizeof *pass->x);
    pass->start = calloc(n + 1, sizeof *pass->start);
    pass->id = calloc(n * (size_t)(c->longest + 1), sizeof *pass->id);
    if (pass->x && pass->start && pass->id) {
        pass->h = pass->x + layers + 1;
        pass->s = pass->h + layers;
        pass->memory = calloc(lay_out(c, pass, NULL), sizeof(double));
        if (pass->memory) {
            lay_out(c, pass, pass->memory);
            return STAIR_OK;
        }
    }
    stair_pass_destroy(pass);
    return stair_fail(context, STAIR_NO_MEMORY, "no memory for batches of %d questions", capacity);
}

void stair_pass_destroy(stair_pass *pass)
{
    free(pass->x);
    free(pass->start);
    free(pass->id);
    free(pass->memory);
    *pass = (stair_pass){0};
}

void stair_pass_load(const stair_classifier *c, const stair_questions *questions, const int *pick, int first,
                     int n, stair_pass *pass)
{
    int padded = c->longest;
    if (c->pad_batch) {
        padded = 0;
        for (int s = 0; s < n; s++) {
            int length = questions->length[pick ? pick[s] : first + s];
            padded = length > padded ? length : padded;
        }
    }
    int rows = 0;
    memset(pass->multiplicity, 0, (size_t)n * (size_t)pass->wide * sizeof(double));
    for (int s = 0; s < n; s++) {
        size_t q = (size_t)(pick ? pick[s] : first + s);
        const int32_t *ids = questions->ids + q * (size_t)questions->longest;
        double *mu = pass->multiplicity + (size_t)s * (size_t)pass->wide;
        int length = questions->length[q], distinct = length + (length < padded);
        pass->start[s] = rows;
        pass->length[s] = padded > length ? padded : length;
        for (int i = 0; i < distinct; i++) {
            pass->id[rows + i] = i < length ? ids[i] : c->pad;
            mu[i] = i < length ? 1 : padded - length;
        }
        rows += distinct;
    }
    pass->start[n] = rows;
    pass->samples = n;
    pass->rows = rows;
}

/* flip (columns, stride) = a (rows, columns) transposed; columns past `rows` are zeroed up to stride */
static void transpose(int rows, int columns, const double *a, int a_stride, double *flip, int stride)
{
    for (int k = 0; k < columns; k++) {
        for (int r = 0; r < rows; r++)
            flip[(size_t)k * (size_t)stride + (size_t)r] = a[(size_t)r * (size_t)a_stride + (size_t)k];
        for (int r = rows; r < stride; r++) flip[(size_t)k * (size_t)stride + (size_t)r] = 0;
    }
}

/* out (n, stride8) = a b^T for rows of one sample */
static void outer_scores(int n, int inner, const double *a, const double *b, double *flip, double *out,
                         int wide)
{
    int stride = up8(n);
    transpose(n, inner, b, inner, flip, stride);
    multiply((stair_product){.rows = n,
                             .columns = stride,
                             .inner = inner,
                             .a = a,
                             .a_row = inner,
                             .a_inner = 1,
                             .b = flip,
                             .b_stride = stride,
                             .c = out,
                             .c_stride = wide});
}

static void forward_layer(const stair_classifier *c, stair_pass *p, int l)
{
    int d = c->dim8, rank = c->rank8;
    const double *w = stair_classifier_w(c, c->parameters, l), *b = stair_classifier_b(c, c->parameters, l);
    for (int r = 0; r < p->rows; r++)
        memcpy(p->h[l] + (size_t)r * (size_t)rank, b, (size_t)rank * sizeof(double));
    transpose(rank, d, w, d, p->flip, rank);
    multiply((stair_product){.rows = p->rows,
                             .columns = rank,
                             .inner = d,
                             .a = p->x[l],
                             .a_row = d,
                             .a_inner = 1,
                             .b = p->flip,
                             .b_stride = rank,
                             .c = p->h[l],
                             .c_stride = rank,
                             .add = true});
    for (int s = 0; s < p->samples; s++) {
        size_t first = (size_t)p->start[s];
        int n = p->start[s + 1] - p->start[s];
        const double *h = p->h[l] + first * (size_t)rank;
        double *scores = p->s[l] + first * (size_t)p->wide;
        outer_scores(n, rank, h, h, p->flip, scores, p->wide);
        stair_softmax_rows_table[stair_isa()](n, up8(n), p->wide, 1 / c->scale,
                                              p->multiplicity + (size_t)s * (size_t)p->wide, scores);
        multiply((stair_product){.rows = n,
                                 .columns = d,
                                 .inner = n,
                                 .a = scores,
                                 .a_row = p->wide,
                                 .a_inner = 1,
                                 .b = p->x[l] + first * (size_t)d,
                                 .b_stride = d,
                                 .c = p->x[l + 1] + first * (size_t)d,
                                 .c_stride = d});
    }
}

void stair_pass_forward(const stair_classifier *c, stair_pass *p)
{
    size_t d = (size_t)c->dim8;
    for (int r = 0; r < p->rows; r++)
        memcpy(p->x[0] + (size_t)r * d, c->embedding + (size_t)p->id[r] * d, d * sizeof(double));
    for (int l = 0; l < c->layers; l++) forward_layer(c, p, l);
    const double *readout = stair_classifier_readout(c, c->parameters),
                 *offset = readout + (size_t)c->classes * d;
    for (int s = 0; s < p->samples; s++) {
        double *pooled = p->pooled + (size_t)s * d;
        memset(pooled, 0, d * sizeof(double));
        for (int r = p->start[s]; r < p->start[s + 1]; r++) {
            double share = p->multiplicity[s * p->wide + r - p->start[s]] / p->length[s];
            for (size_t i = 0; i < d; i++) pooled[i] += share * p->x[c->layers][(size_t)r * d + i];
        }
        for (int k = 0; k < c->classes; k++) {
            double sum = offset[k];
            for (size_t i = 0; i < d; i++) sum += readout[(size_t)k * d + i] * pooled[i];
            p->logits[s * c->classes + k] = sum;
        }
    }
}

double stair_pass_loss(const stair_classifier *c, stair_pass *p, const int *label, int *correct)
{
    double total = 0;
    *correct = 0;
    for (int s = 0; s < p->samples; s++) {
        double *logits = p->logits + s * c->classes, sum = 0;
        int top = 0;
        for (int k = 1; k < c->classes; k++) top = logits[k] > logits[top] ? k : top;
        double shift = logits[top];
        for (int k = 0; k < c->classes; k++) sum += exp(logits[k] - shift);
        if (label && label[s] >= 0) {
            total += log(sum) + shift - logits[label[s]];
            *correct += top == label[s];
        }
        for (int k = 0; k < c->classes; k++) logits[k] = exp(logits[k] - shift) / sum;
    }
    return total / p->samples;
}

/* Gradient of readout and pooling; grad_x (rows, dim8) on the last x. */
static void backward_readout(const stair_classifier *c, stair_pass *p, const int *label)
{
    size_t d = (size_t)c->dim8;
    const double *readout = stair_classifier_readout(c, c->parameters);
    double *grad_readout = stair_classifier_readout(c, p->gradient),
           *grad_offset = grad_readout + (size_t)c->classes * d;
    for (int s = 0; s < p->samples; s++) {
        double *on_pooled = p->grad_next; /* free until the layers need it */
        memset(on_pooled, 0, d * sizeof(double));
        for (int k = 0; k < c->classes; k++) {
            double error = (p->logits[s * c->classes + k] - (k == label[s])) / p->samples;
            grad_offset[k] += error;
            for (size_t i = 0; i < d; i++) {
                grad_readout[(size_t)k * d + i] += error * p->pooled[(size_t)s * d + i];
                on_pooled[i] += error * readout[(size_t)k * d + i];
            }
        }
        for (int r = p->start[s]; r < p->start[s + 1]; r++) {
            double share = p->multiplicity[s * p->wide + r - p->start[s]] / p->length[s];
            for (size_t i = 0; i < d; i++) p->grad_x[(size_t)r * d + i] = share * on_pooled[i];
        }
    }
}

/* grad (n, wide) on S in, on h h^T out, made symmetric and divided by the scale: hbar = grad h */
static void backward_softmax(int n, int wide, double scale, const double *s, double *grad)
{
    for (int i = 0; i < n; i++) {
        double dot = 0;
        for (int j = 0; j < n; j++) dot += s[i * wide + j] * grad[i * wide + j];
        for (int j = 0; j < n; j++) grad[i * wide + j] = s[i * wide + j] * (grad[i * wide + j] - dot) / scale;
    }
    for (int i = 0; i < n; i++) {
        grad[i * wide + i] *= 2;
        for (int j = 0; j < i; j++)
            grad[i * wide + j] = grad[j * wide + i] = grad[i * wide + j] + grad[j * wide + i];
    }
}

/* One sample: from grad_x on x_{l+1} to grad_h, and its direct share of grad_next on x_l. */
static void backward_sample(const stair_classifier *c, stair_pass *p, int l, int s)
{
    int d = c->dim8, rank = c->rank8, n = p->start[s + 1] - p->start[s], wide = p->wide;
    size_t first = (size_t)p->start[s];
    const double *scores = p->s[l] + first * (size_t)wide, *on_x = p->grad_x + first * (size_t)d;
    outer_scores(n, d, on_x, p->x[l] + first * (size_t)d, p->flip, p->grad_s, wide);
    multiply((stair_product){.rows = n,
                             .columns = d,
                             .inner = n,
                             .a = scores,
                             .a_row = 1,
                             .a_inner = wide,
                             .b = on_x,
                             .b_stride = d,
                             .c = p->grad_next + first * (size_t)d,
                             .c_stride = d});
    backward_softmax(n, wide, c->scale, scores, p->grad_s);
    multiply((stair_product){.rows = n,
                             .columns = rank,
                             .inner = n,
                             .a = p->grad_s,
                             .a_row = wide,
                             .a_inner = 1,
                             .b = p->h[l] + first * (size_t)rank,
                             .b_stride = rank,
                             .c = p->grad_h + first * (size_t)rank,
                             .c_stride = rank});
}

void stair_pass_backward(const stair_classifier *c, stair_pass *p, const int *label)
{
    int d = c->dim8, rank = c->rank8;
    memset(p->gradient, 0, c->dense * sizeof(double));
    backward_readout(c, p, label);
    for (int l = c->layers - 1; l >= 0; l--) {
        for (int s = 0; s < p->samples; s++) backward_sample(c, p, l, s);
        multiply((stair_product){.rows = rank,
                                 .columns = d,
                                 .inner = p->rows,
                                 .a = p->grad_h,
                                 .a_row = 1,
                                 .a_inner = rank,
                                 .b = p->x[l],
                                 .b_stride = d,
                                 .c = stair_classifier_w(c, p->gradient, l),
                                 .c_stride = d});
        double *on_b = stair_classifier_b(c, p->gradient, l);
        for (int r = 0; c->bias && r < p->rows; r++)
            for (int k = 0; k < rank; k++) on_b[k] += p->grad_h[(size_t)r * (size_t)rank + (size_t)k];
        multiply((stair_product){.rows = p->rows,
                                 .columns = d,
                                 .inner = rank,
                                 .a = p->grad_h,
                                 .a_row = rank,
                                 .a_inner = 1,
                                 .b = stair_classifier_w(c, c->parameters, l),
                                 .b_stride = d,
                                 .c = p->grad_next,
                                 .c_stride = d,
                                 .add = true});
        double *swap = p->grad_x;
        p->grad_x = p->grad_next;
        p->grad_next = swap;
    }
}
