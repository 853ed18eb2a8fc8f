/* Attention with heads and a readout: labels against the definition in the embedding itself, one head against
 * the same model made of a function, gradients against differences, what is known of rows, what is refused.
 */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "train/batch.h"

enum { DIM = 3, MOST = 8, ROWS = 24 }; /* dimension of a block; tokens and heads, at most; rows */

/* ---- the definition: tokens x^h (D, M), weights (rank, D) ---------------------------------------- */

typedef struct {
    const char *spec;
    int layers, tokens, heads, outputs, rank[4];
    double skip;
    bool untied, linear, literal;
} definition;

static const definition cases[] = {
    {"attention:layers=1,heads=2,readout=1,noise=0.1", 1, 2, 2, 1, {1}, 1, false, false, false},
    {"attention:layers=1,heads=2,readout=1,noise=0.1,weights=untied", 1, 2, 2, 1, {1}, 1, true, false, false},
    {"attention:layers=2,tokens=3,skip=0.5,heads=2,readout=2,noise=1",
     2,
     3,
     2,
     2,
     {1, 1},
     0.5,
     false,
     false,
     false},
    {"attention:layers=2,rank=1+2,heads=1,readout=3,weights=untied,noise=1",
     2,
     2,
     1,
     3,
     {1, 2},
     1,
     true,
     false,
     false},
    {"attention:layers=1,tokens=4,rank=2,heads=3,readout=1,noise=1", 1, 4, 3, 1, {2}, 1, false, false, false},
    {"attention:layers=2,heads=2,readout=1,noise=1,mixing=literal,skip=2",
     2,
     2,
     2,
     1,
     {1, 1},
     2,
     false,
     false,
     true},
    {"attention:layers=2,heads=2,readout=1,noise=1,activation=linear",
     2,
     2,
     2,
     1,
     {1, 1},
     1,
     false,
     true,
     false},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct {
    double w[ROWS][DIM];       /* row i of W, on its own block */
    double x[MOST][DIM][MOST]; /* of block h: (D, M) */
    int block[ROWS], rows;
} instance;

/* Rows in the order of the paper; `at` counts them. */
static instance draw(const definition *d, uint64_t seed)
{
    instance s = {.rows = 0};
    for (int side = 0; side <= d->untied; side++)
        for (int l = 0; l < d->layers; l++)
            for (int h = 0; h < d->heads; h++)
                for (int b = 0; b < d->heads; b++)
                    for (int k = 0; k < d->rank[l]; k++) s.block[s.rows++] = b;
    for (int h = 0; h < d->heads; h++)
        for (int r = 0; r < d->outputs; r++) s.block[s.rows++] = h;
    stair_rng_normals(seed, STAIR_RNG_POINTS, 1, ROWS * DIM, s.w[0]);
    stair_rng_normals(seed, STAIR_RNG_POINTS, 2, MOST * DIM * MOST, s.x[0][0]);
    return s;
}

/* Z (P, M) = W x / sqrt(D) */
static void indices_of(const definition *d, const instance *s, double *z)
{
    for (int i = 0; i < s->rows; i++)
        for (int t = 0; t < d->tokens; t++) {
            z[i * d->tokens + t] = 0;
            for (int e = 0; e < DIM; e++)
                z[i * d->tokens + t] += s->w[i][e] * s->x[s->block[i]][e][t] / sqrt(DIM);
        }
}

/* First row of W_l^{hh'} among the keys, or the queries. */
static int first_row(const definition *d, bool query, int layer, int head, int block)
{
    int before = 0, all = 0;
    for (int l = 0; l < d->layers; l++) {
        if (l < layer) before += d->heads * d->heads * d->rank[l];
        all += d->heads * d->heads * d->rank[l];
    }
    return (query && d->untied ? all : 0) + before + (head * d->heads + block) * d->rank[layer];
}

/* (1/HD) sum_{h1 h2} x^h1^T Q^{h h1}^T K^{h h2} x^h2 at tokens i, j */
static double score(const definition *d, const instance *s, int l, int h, int i, int j)
{
    double sum = 0;
    for (int k = 0; k < d->rank[l]; k++) {
        double query = 0, key = 0;
        for (int b = 0; b < d->heads; b++)
            for (int e = 0; e < DIM; e++) {
                query += s->w[first_row(d, true, l, h, b) + k][e] * s->x[b][e][i];
                key += s->w[first_row(d, false, l, h, b) + k][e] * s->x[b][e][j];
            }
        sum += query * key / (d->heads * DIM);
    }
    return sum;
}

static void softmax(int m, double *row)
{
    double sum = 0;
    for (int j = 0; j < m; j++) sum += row[j] = exp(row[j]);
    for (int j = 0; j < m; j++) row[j] /= sum;
}

/* x_l^h of all heads */
static void layer(const definition *d, int l, instance *s)
{
    double next[MOST][DIM][MOST];
    for (int h = 0; h < d->heads; h++) {
        double sigma[MOST][MOST];
        for (int i = 0; i < d->tokens; i++) {
            for (int j = 0; j < d->tokens; j++) sigma[i][j] = score(d, s, l, h, i, j);
            if (!d->linear) softmax(d->tokens, sigma[i]);
        }
        for (int e = 0; e < DIM; e++)
            for (int i = 0; i < d->tokens; i++) {
                next[h][e][i] = l + 1 < d->layers ? d->skip * s->x[h][e][i] : 0;
                for (int j = 0; j < d->tokens; j++)
                    next[h][e][i] += (d->literal ? sigma[j][i] : sigma[i][j]) * s->x[h][e][j];
            }
    }
    memcpy(s->x, next, sizeof next);
}

/* y (R, M) = sum_h v_h^T x_L^h / sqrt(D) */
static void outputs_of(const definition *d, instance s, double *y)
{
    for (int l = 0; l < d->layers; l++) layer(d, l, &s);
    for (int r = 0; r < d->outputs; r++)
        for (int t = 0; t < d->tokens; t++) {
            y[r * d->tokens + t] = 0;
            for (int h = 0; h < d->heads; h++)
                for (int e = 0; e < DIM; e++)
                    y[r * d->tokens + t] +=
                        s.w[s.rows - (d->heads - h) * d->outputs + r][e] * s.x[h][e][t] / sqrt(DIM);
        }
}

static void labels_are_those_of_the_definition(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        const definition *d = &cases[c];
        stair_model *model = model_of(d->spec);
        instance s = draw(d, (uint64_t)c + 1);
        double z[STAIR_MAX_CELLS], y[STAIR_MAX_LABEL], expected[STAIR_MAX_LABEL];
        assert_int_equal(model->info.indices, s.rows);
        assert_int_equal(model->info.label_size, d->outputs * d->tokens);
        indices_of(d, &s, z);
        outputs_of(d, s, expected);
        assert_int_equal(stair_model_forward(context, model, 1, z, y), STAIR_OK);
        for (int k = 0; k < model->info.label_size; k++)
            assert_close(y[k], expected[k], 1e-12 * (1 + fabs(expected[k])));
        for (int i = 0; i < s.rows; i++) assert_int_equal(model->block[i], s.block[i]);
        assert_int_equal(model->blocks, d->heads);
        stair_model_destroy(&model);
    }
}

/* ---- gradients ------------------------------------------------------------------------------------- */

static double pulled(const stair_model *model, const double *z, const double *cotangent)
{
    double y[STAIR_MAX_LABEL], sum = 0;
    assert_int_equal(stair_model_forward(context, model, 1, z, y), STAIR_OK);
    for (int k = 0; k < model->info.label_size; k++) sum += cotangent[k] * y[k];
    return sum;
}

static void gradients_are_differences(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        stair_model *model = model_of(cases[c].spec);
        int cells = model->info.indices * model->info.tokens;
        double z[STAIR_MAX_CELLS], gradient[STAIR_MAX_CELLS], cotangent[STAIR_MAX_LABEL];
        stair_rng_normals(3, STAIR_RNG_POINTS, (uint64_t)c, cells, z);
        stair_rng_normals(4, STAIR_RNG_POINTS, (uint64_t)c, model->info.label_size, cotangent);
        assert_int_equal(stair_model_gradient(context, model, z, cotangent, gradient), STAIR_OK);
        for (int i = 0; i < cells; i++) {
            double kept = z[i], step = 1e-5;
            z[i] = kept + step;
            double above = pulled(model, z, cotangent);
            z[i] = kept - step;
            double below = pulled(model, z, cotangent);
            z[i] = kept;
            assert_close(gradient[i], (above - below) / (2 * step), 1e-7 * (1 + fabs(gradient[i])));
        }
        stair_model_destroy(&model);
    }
}

/* Loss and gradient in the weights, on blocks: outside of them there is nothing to descend. */
static void losses_live_on_blocks(void **state)
{
    (void)state;
    enum { D = 10, N = 11 };
    stair_model *model = model_of(cases[0].spec);
    size_t size = (size_t)model->info.indices * D;
    double *w = malloc(3 * size * sizeof *w), *gradient = w + size, *moved = w + 2 * size, loss, x[N * 2 * D],
           y[N * 2];
    stair_rng_normals(1, STAIR_RNG_POINTS, 1, (int)size, w);
    stair_rng_normals(1, STAIR_RNG_POINTS, 2, N * 2 * D, x);
    stair_rng_normals(1, STAIR_RNG_POINTS, 3, N * 2, y);
    assert_int_equal(stair_sgd_gradient(context, model, D, N, x, y, w, &loss, gradient), STAIR_OK);
    for (size_t i = 0; i < size; i++) {
        double side[2];
        bool inside = i % D / (D / 2) == (size_t)model->block[i / D];
        memcpy(moved, w, size * sizeof *w);
        for (int k = 0; k < 2; k++) {
            moved[i] = w[i] + (k ? -1e-5 : 1e-5);
            assert_int_equal(stair_sgd_gradient(context, model, D, N, x, y, moved, &side[k], NULL), STAIR_OK);
        }
        if (!inside) assert_true(gradient[i] == 0 && side[0] == loss && side[1] == loss);
        assert_close(gradient[i], (side[0] - side[1]) / 2e-5, 1e-6);
    }
    assert_int_equal(stair_sgd_gradient(context, model, D + 1, N, x, y, w, &loss, NULL), STAIR_BAD_INPUT);
    assert_non_null(strstr(stair_context_message(context), "multiple of 2"));
    free(w);
    stair_model_destroy(&model);
}

/* ---- one head ------------------------------------------------------------------------------------- */

/* One layer of two tokens, one head: y = S v, S = softmax(z_m z_n). */
static void one_head(void *user, const double *z, double *y)
{
    (void)user;
    for (int i = 0; i < 2; i++) {
        double a = exp(z[i] * z[0]), b = exp(z[i] * z[1]);
        y[i] = (a * z[2] + b * z[3]) / (a + b);
    }
}

static void one_head_is_the_function_written_by_hand(void **state)
{
    (void)state;
    stair_link link = {
        .name = "by-hand", .tokens = 2, .indices = 2, .outputs = 2, .noise = 0.3, .function = one_head};
    stair_model *built_in = model_of("attention:layers=1,heads=1,readout=1,noise=0.3"), *by_hand;
    assert_int_equal(stair_model_from_link(context, &link, &by_hand), STAIR_OK);
    enum { N = 6 };
    double z[4], labels[2 * N], omega[4 * N], cov[4] = {0.5, 0.1, 0.1, 0.7}, logz[2][N], g[2][4 * N],
                                              error[2][N];
    stair_channel_options options = stair_channel_defaults();
    options.precision = 1e-3;
    for (uint64_t i = 0; i < N; i++) {
        stair_rng_normals(5, STAIR_RNG_POINTS, i, 4, z);
        stair_rng_normals(6, STAIR_RNG_POINTS, i, 4, omega + 4 * i);
        assert_int_equal(stair_model_forward(context, built_in, 1, z, labels + 2 * i), STAIR_OK);
        labels[2 * i] += 0.2;
    }
    for (int k = 0; k < 2; k++) {
        stair_channel_result result = {.logz = logz[k], .g = g[k], .error = error[k]};
        assert_int_equal(stair_channel_evaluate(context, k ? by_hand : built_in, &options, 0, N, labels,
                                                omega, 1, cov, &result),
                         STAIR_OK);
    }
    for (int i = 0; i < N; i++) {
        double allowed = 4 * (error[0][i] + error[1][i]) + 1e-12;
        assert_true(error[0][i] <= 0.02 && error[1][i] <= 0.02);
        assert_close(logz[0][i], logz[1][i], allowed);
        for (int k = 0; k < 4; k++) assert_close(g[0][4 * i + k], g[1][4 * i + k], 4 * allowed);
    }
    stair_model_destroy(&built_in);
    stair_model_destroy(&by_hand);
}

/* ---- rows ------------------------------------------------------------------------------------------ */

static void rows_know_layer_block_and_sign(void **state)
{
    (void)state;
    stair_model *model = model_of("attention:layers=1,heads=2,readout=1,noise=0.1,weights=untied");
    const stair_symmetry *s = &structure_of(model)->symmetry;
    /* K11 K12 K21 K22 Q11 Q12 Q21 Q22 V1 V2 */
    const int layer[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1}, block[] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1},
              sign[] = {1, 1, 2, 2, 1, 1, 2, 2, 0, 0};
    for (int i = 0; i < 10; i++) {
        assert_int_equal(model->layer[i], layer[i]);
        assert_int_equal(model->block[i], block[i]);
        assert_int_equal(s->sign[i], sign[i]);
        assert_false(s->even[i]);
        for (int j = 0; j < 10; j++) /* a readout flips with y: it overlaps with no row of a head */
            assert_int_equal(s->pair[i * 10 + j] >= 0, block[i] == block[j] && sign[i] == sign[j]);
    }
    stair_model_destroy(&model);
}

static void refused(const char *spec, stair_status status, const char *reason)
{
    stair_model *model;
    assert_int_equal(stair_model_create(context, spec, &model), status);
    if (!strstr(stair_context_message(context), reason)) fail_msg("%s", stair_context_message(context));
    assert_null(model);
}

static void refusals_say_why(void **state)
{
    (void)state;
    refused("attention:heads=2,noise=1", STAIR_BAD_INPUT, "needs a readout");
    refused("attention:heads=2,readout=1", STAIR_BAD_INPUT, "needs noise above 0");
    refused("attention:heads=4,layers=2,readout=1,noise=1", STAIR_UNSUPPORTED, "32 rows of heads");
    refused("attention:readout=1,noise=1,output=sequence", STAIR_BAD_INPUT, "output=sequence");
    refused("attention:heads=0", STAIR_BAD_INPUT, "heads");
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_those_of_the_definition),
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(losses_live_on_blocks),
        cmocka_unit_test(one_head_is_the_function_written_by_hand),
        cmocka_unit_test(rows_know_layer_block_and_sign),
        cmocka_unit_test(refusals_say_why),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
