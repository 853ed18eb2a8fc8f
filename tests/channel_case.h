/* A model, a context and room for the channel's answers: what every test of the channel needs. */
#ifndef STAIR_TESTS_CHANNEL_CASE_H
#define STAIR_TESTS_CHANNEL_CASE_H

#include "assert_close.h"
#include "core/limits.h"
#include "core/rng.h"
#include "stair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    stair_context *context;
    stair_model *model;
    stair_model_info info;
    size_t n, size, square, labels;  /* points, P*M, P*P, K */
    double *z, *label, *omega, *cov; /* of the points */
    double *logz, *g, *dg, *error;   /* answers */
    int *method;
} channel_case;

static inline double *channel_case_room(size_t n)
{
    double *room = calloc(n + 1, sizeof(double));
    assert_non_null(room);
    return room;
}

/* The case of a model that there is already, which it takes over with its context. */
static inline channel_case channel_case_of(stair_context *context, stair_model *model, size_t n)
{
    channel_case c = {.context = context, .model = model, .n = n};
    c.info = stair_model_describe(c.model);
    c.size = (size_t)(c.info.indices * c.info.tokens);
    c.square = (size_t)(c.info.indices * c.info.indices);
    c.labels = (size_t)c.info.label_size;
    c.z = channel_case_room(n * c.size);
    c.label = channel_case_room(n * c.labels);
    c.omega = channel_case_room(n * c.size);
    c.cov = channel_case_room(n * c.square);
    c.logz = channel_case_room(n);
    c.g = channel_case_room(n * c.size);
    c.dg = channel_case_room(n * c.size * c.size);
    c.error = channel_case_room(n);
    c.method = calloc(n + 1, sizeof(int));
    assert_non_null(c.method);
    return c;
}

static inline channel_case channel_case_open(const char *spec, size_t n)
{
    stair_context *context;
    stair_model *model;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    stair_context_set_threads(context, 1);
    stair_status status = stair_model_create(context, spec, &model);
    if (status != STAIR_OK) fail_msg("%s: %s", spec, stair_context_message(context));
    return channel_case_of(context, model, n);
}

static inline void channel_case_close(channel_case *c)
{
    double *rooms[] = {c->z, c->label, c->omega, c->cov, c->logz, c->g, c->dg, c->error};
    for (size_t k = 0; k < sizeof rooms / sizeof *rooms; k++) free(rooms[k]);
    free(c->method);
    stair_model_destroy(&c->model);
    stair_context_destroy(&c->context);
}

/* Random points with eigenvalues of V from `low` to 1. */
static inline void channel_case_draw(channel_case *c, double low, uint64_t seed)
{
    stair_points_options o = stair_points_defaults();
    o.cov_low = low;
    o.seed = seed;
    assert_int_equal(stair_points_draw(c->context, c->model, &o, 0, c->n, c->z, c->label, c->omega, c->cov),
                     STAIR_OK);
}

/* Points [first, first + n) of the case, as a stream that starts there. */
static inline stair_status channel_case_try(channel_case *c, double precision, const char *method,
                                            size_t first, size_t n)
{
    stair_channel_options o = stair_channel_defaults();
    o.precision = precision;
    o.method = method;
    stair_channel_result r = {.logz = c->logz + first,
                              .g = c->g + first * c->size,
                              .dg = c->dg + first * c->size * c->size,
                              .error = c->error + first,
                              .method = c->method + first};
    return stair_channel_evaluate(c->context, c->model, &o, first, n, c->label + first * c->labels,
                                  c->omega + first * c->size, n, c->cov + first * c->square, &r);
}

static inline void channel_case_evaluate(channel_case *c, double precision, const char *method)
{
    if (channel_case_try(c, precision, method, 0, c->n) != STAIR_OK)
        fail_msg("%s", stair_context_message(c->context));
}

/* sum_k cotangent_k y_k, y the plain output */
static inline double channel_case_weighed(const channel_case *c, const double *z, const double *cotangent)
{
    double label[64], sum = 0;
    assert_int_equal(stair_model_forward(c->context, c->model, 1, z, label), STAIR_OK);
    for (size_t k = 0; k < c->labels; k++)
        sum += cotangent[k] * (c->info.label_is_log ? exp(label[k]) : label[k]);
    return sum;
}

/* Its derivative in z_k, by central differences of order four. */
static inline double channel_case_slope(const channel_case *c, double *z, size_t k, const double *cotangent)
{
    double at = z[k], part[2];
    for (int level = 0; level < 2; level++) {
        double h = 1e-3 / (level + 1), sum = 0;
        for (int sign = -1; sign <= 1; sign += 2) {
            z[k] = at + sign * h;
            sum += sign * channel_case_weighed(c, z, cotangent);
        }
        part[level] = sum / (2 * h);
    }
    z[k] = at;
    return (4 * part[1] - part[0]) / 3;
}

/* A test of the gradient of the model in *state, at 40 random Z. */
static inline void gradient_is_the_derivative(void **state)
{
    channel_case c = channel_case_open(*state, 40);
    double cotangent[STAIR_MAX_LABEL], gradient[STAIR_MAX_CELLS];
    channel_case_draw(&c, 0.5, 6);
    for (size_t i = 0; i < c.n; i++) {
        double *z = c.z + i * c.size, size = 0, worst = 0;
        stair_rng_normals(8, STAIR_RNG_INIT, i, (int)c.labels, cotangent);
        assert_int_equal(stair_model_gradient(c.context, c.model, z, cotangent, gradient), STAIR_OK);
        for (size_t k = 0; k < c.size; k++) {
            worst = fmax(worst, fabs(channel_case_slope(&c, z, k, cotangent) - gradient[k]));
            size = fmax(size, fabs(gradient[k]));
        }
        assert_close(worst, 0, 1e-6 * fmax(1, size));
        assert_true(size > 1e-8);
    }
    channel_case_close(&c);
}

/* The identities of the channel on `points` points, none of which may fail; how many they are. */
static inline int channel_case_diagnose(const channel_case *c, int points, double precision, int most,
                                        stair_identity *rows)
{
    stair_diagnose_options o = stair_diagnose_defaults();
    int count;
    o.points = points;
    o.precision = precision;
    o.cov_low = 0.1;
    if (stair_diagnose(c->context, c->model, &o, most, rows, &count) != STAIR_OK)
        fail_msg("%s: %s", stair_model_spec(c->model), stair_context_message(c->context));
    for (int i = 0; i < count; i++)
        if (rows[i].verdict == STAIR_FAILS)
            fail_msg("%s: %s: %.3g, allowed %.3g", stair_model_spec(c->model), rows[i].name,
                     rows[i].violation, rows[i].tolerance);
    return count;
}

/* |a - b| / |b| */
static inline double channel_case_gap(size_t n, const double *a, const double *b)
{
    double difference = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(difference / size);
}

/* Carried label of a last layer h (M) of rank one: rows of log-softmax of h h^T. */
static inline void channel_case_label(int m, const double *h, double *label)
{
    for (int i = 0; i < m; i++) {
        double top = -INFINITY, sum = 0;
        for (int j = 0; j < m; j++) top = fmax(top, h[i] * h[j]);
        for (int j = 0; j < m; j++) sum += exp(h[i] * h[j] - top);
        for (int j = 0; j < m; j++) label[i * m + j] = h[i] * h[j] - top - log(sum);
    }
}

#endif
