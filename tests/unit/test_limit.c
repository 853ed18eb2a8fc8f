/* attention-limit: forward map and gradient against their definitions, exchange of the hidden layers, what
 * the committee has in common with attention, and the flow against a product of many layers. */
#include "channel_case.h"

#include "core/rng.h"
#include "model/limit.h"
#include "model/structure.h"

/* out (M, M) = rowsoftmax(h h^T), h (M, rank) */
static void scores(int m, int rank, const double *h, double *out)
{
    for (int i = 0; i < m; i++) {
        double sum = 0;
        for (int j = 0; j < m; j++) {
            double dot = 0;
            for (int k = 0; k < rank; k++) dot += h[i * rank + k] * h[j * rank + k];
            sum += out[i * m + j] = exp(dot);
        }
        for (int j = 0; j < m; j++) out[i * m + j] /= sum;
    }
}

static void transpose(int rows, int columns, const double *a, double *out)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) out[j * rows + i] = a[i * columns + j];
}

/* y of the committee, all ranks equal */
static void committee(int layers, int m, int rank, double beta, const double *z, double *y)
{
    double b[64] = {0}, s[64], h[64], last[64];
    for (int i = 0; i < m; i++) b[i * (m + 1)] = 1;
    for (int l = 0; l + 1 < layers; l++) {
        transpose(rank, m, z + l * rank * m, h);
        scores(m, rank, h, s);
        for (int i = 0; i < m * m; i++) b[i] += s[i] / (beta * layers);
    }
    transpose(rank, m, z + (layers - 1) * rank * m, last);
    for (int i = 0; i < m; i++)
        for (int k = 0; k < rank; k++) {
            h[i * rank + k] = 0;
            for (int j = 0; j < m; j++) h[i * rank + k] += b[i * m + j] * last[j * rank + k];
        }
    scores(m, rank, h, y);
}

static void outputs_are_those_of_the_committee(void **state)
{
    static const struct {
        const char *spec;
        int layers, tokens, rank;
        double beta;
    } shapes[] = {{"attention-limit:layers=4,beta=1", 4, 2, 1, 1},
                  {"attention-limit:layers=3,beta=0.5,tokens=3,rank=2", 3, 3, 2, 0.5}};
    (void)state;
    for (int k = 0; k < 2; k++) {
        channel_case c = channel_case_open(shapes[k].spec, 20);
        channel_case_draw(&c, 0.5, 3);
        for (size_t i = 0; i < c.n; i++) {
            double y[16];
            committee(shapes[k].layers, shapes[k].tokens, shapes[k].rank, shapes[k].beta, c.z + i * c.size,
                      y);
            for (size_t e = 0; e < c.labels; e++) assert_close(exp(c.label[i * c.labels + e]), y[e], 1e-12);
        }
        channel_case_close(&c);
    }
}

static void fibres_have_their_label(void **state)
{
    channel_case c = channel_case_open(*state, 20);
    stair_fibre fibre;
    double u[STAIR_MAX_DIM * STAIR_BLOCK] = {0}, z[64 * STAIR_BLOCK], weight[STAIR_BLOCK];
    channel_case_draw(&c, 0.5, 9);
    assert_int_equal(stair_fibre_create(c.context, c.model, &fibre), STAIR_OK);
    for (size_t i = 0; i < c.n; i++) {
        const double *label = c.label + i * c.labels;
        assert_int_equal(stair_fibre_open(c.context, label, c.omega + i * c.size, &fibre), STAIR_OK);
        for (int k = 0; k < fibre.dim; k++)
            stair_rng_normals(4, STAIR_RNG_INIT, (uint64_t)k, 8, u + k * STAIR_BLOCK);
        for (int chart = 0; chart < fibre.charts; chart++) {
            stair_fibre_map(&fibre, chart, 8, u, z, weight);
            memcpy(z, u, sizeof(double) * (size_t)(fibre.free_rows * c.info.tokens * STAIR_BLOCK));
            for (int k = 0; k < 8; k++) {
                double point[64], found[16];
                for (size_t e = 0; e < c.size; e++) point[e] = z[e * STAIR_BLOCK + (size_t)k];
                c.model->ops->forward(c.model, point, NULL, found);
                for (size_t e = 0; e < c.labels; e++)
                    assert_close(found[e], label[e], 1e-9 * (1 + fabs(label[e])));
            }
        }
    }
    stair_fibre_destroy(&fibre);
    channel_case_close(&c);
}

/* Hidden layers may be exchanged, which leaves three kinds of overlap, of which evenness keeps two. */
static void hidden_layers_are_alike(void **state)
{
    channel_case c = channel_case_open("attention-limit:layers=5", 1);
    const stair_structure *structure;
    (void)state;
    assert_int_equal(stair_structure_find(c.context, c.model, &structure), STAIR_OK);
    assert_int_equal(structure->symmetry.count, 2);
    for (int i = 0; i < 4; i++) assert_int_equal(structure->symmetry.kind[i], 0);
    assert_int_equal(structure->symmetry.kind[4], 4);
    assert_true(structure->last_row);
    channel_case_close(&c);
}

/* Two layers: 1 + S/c is what attention of skip c mixes by, over c. */
static void two_layers_are_attention(void **state)
{
    channel_case c = channel_case_open("attention-limit:layers=2,beta=1.5", 20),
                 other = channel_case_open("attention:layers=2,skip=3", 20);
    (void)state;
    channel_case_draw(&c, 0.3, 3);
    channel_case_draw(&other, 0.3, 3);
    channel_case_evaluate(&c, 1e-8, "auto");
    channel_case_evaluate(&other, 1e-8, "auto");
    assert_true(channel_case_gap(c.n * c.size, c.g, other.g) < 1e-6);
    assert_true(channel_case_gap(c.n * c.size * c.size, c.dg, other.dg) < 1e-6);
    channel_case_close(&c);
    channel_case_close(&other);
}

/* Without mixing the last layer is a layer by itself, and the label tells nothing of the others. */
static void large_beta_is_one_layer(void **state)
{
    channel_case c = channel_case_open("attention-limit:layers=2,beta=1e9", 20),
                 other = channel_case_open("attention:layers=1", 20);
    stair_channel_options o = stair_channel_defaults();
    (void)state;
    channel_case_draw(&c, 0.3, 3);
    for (size_t i = 0; i < c.n; i++) {
        double *cov = c.cov + 4 * i, last = cov[3];
        cov[1] = cov[2] = 0;
        stair_channel_result result = {.g = c.g, .dg = c.dg}, alone = {.g = other.g, .dg = other.dg};
        assert_int_equal(stair_channel_evaluate(c.context, c.model, &o, i, 1, c.label + 4 * i,
                                                c.omega + 4 * i, 1, cov, &result),
                         STAIR_OK);
        assert_int_equal(stair_channel_evaluate(other.context, other.model, &o, i, 1, c.label + 4 * i,
                                                c.omega + 4 * i + 2, 1, &last, &alone),
                         STAIR_OK);
        for (int e = 0; e < 2; e++) {
            assert_close(c.g[e], 0, 1e-5 / sqrt(cov[0]));
            assert_close(c.g[2 + e], other.g[e], 1e-5 * (1 + fabs(other.g[e])));
        }
    }
    channel_case_close(&c);
    channel_case_close(&other);
}

/* Product of `layers` layers of rank one, two tokens, skip beta L, over its skip: mean of B_11. */
static double product(double beta, int layers)
{
    double b[4] = {1, 0, 0, 1}, z[2], h[2], s[4];
    for (int l = 0; l < layers; l++) {
        double next[4];
        stair_rng_normals(3, STAIR_RNG_INIT, (uint64_t)l, 2, z);
        for (int i = 0; i < 2; i++) h[i] = b[2 * i] * z[0] + b[2 * i + 1] * z[1];
        scores(2, 1, h, s);
        for (int i = 0; i < 4; i++)
            next[i] = b[i] + (s[i / 2 * 2] * b[i % 2] + s[i / 2 * 2 + 1] * b[2 + i % 2]) / (beta * layers);
        memcpy(b, next, sizeof b);
    }
    return 0.5 * (b[0] + b[3]);
}

/* 2.02 and 1.180 are those of docs/errata.md, 16; the product has a spread of about 0.01 at 10^4 layers. */
static void flow_is_the_limit_of_products(void **state)
{
    double flow[2], error;
    (void)state;
    stair_limit_flow(2, 1, 1, flow, &error);
    assert_close(flow[0] + flow[1], 2.02, 0.005);
    assert_close(flow[0] + flow[1], product(1, 10000), 0.01);
    assert_close(flow[0] + 2 * flow[1], exp(1.0), 1e-12);
    stair_limit_flow(2, 1, 4, flow, &error);
    assert_close(flow[0] + flow[1], 1.180, 0.0005);
    assert_close(flow[0] + flow[1], product(4, 10000), 0.002);
}

/* Where lattices average: rows sum to e^(1/beta), and errors are small. */
static void flows_say_their_error(void **state)
{
    double flow[2], error, many[2], other;
    (void)state;
    stair_limit_flow(3, 1, 1, flow, &error);
    assert_true(error > 0 && error < 1e-3);
    assert_close(flow[0] + 3 * flow[1], exp(1.0), 1e-12);
    stair_limit_flow(2, 2, 1, many, &other);
    assert_true(other > 0 && other < 5e-3);
    assert_true(many[0] > 1 && many[0] < exp(1.0));
}

/* The label of the flow is that of one layer but for a known matrix: the same steps. */
static void flow_learns_like_one_layer(void **state)
{
    channel_case c = channel_case_open("attention-limit:variant=flow,layers=7,beta=0.7", 20),
                 other = channel_case_open("attention:layers=1", 20);
    (void)state;
    assert_int_equal(c.info.indices, 1);
    channel_case_draw(&c, 0.3, 3);
    channel_case_draw(&other, 0.3, 3);
    channel_case_evaluate(&c, 1e-8, "auto");
    channel_case_evaluate(&other, 1e-8, "auto");
    assert_true(channel_case_gap(c.n * c.size, c.g, other.g) < 1e-10);
    channel_case_close(&c);
    channel_case_close(&other);
}

static void bad_keys_are_refused(void **state)
{
    static const char *const specs[] = {"attention-limit:beta=0", "attention-limit:variant=deep",
                                        "attention-limit:layers=2,variant=flow,rank=1+2"};
    stair_context *context;
    stair_model *model;
    (void)state;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    for (int k = 0; k < 3; k++)
        assert_int_equal(stair_model_create(context, specs[k], &model), STAIR_BAD_INPUT);
    stair_context_destroy(&context);
}

/* Many layers are two rows and a number of layers that the first stands for; only layers that are alike can
 * be. */
static void many_layers_are_counted(void **state)
{
    static const char *const refused[] = {
        "attention-limit:layers=64,tokens=3", "attention-limit:layers=64,rank=2",
        "attention-limit:layers=64,noise=0.1", "attention-limit:layers=64,prenoise=0.1"};
    static const int many[] = {3, 4, 64, 1000};
    stair_context *context;
    stair_model *model;
    (void)state;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    for (int k = 0; k < 4; k++)
        assert_int_equal(stair_model_create(context, refused[k], &model), STAIR_UNSUPPORTED);
    for (int k = 0; k < 4; k++) {
        char spec[64];
        int layers;
        double share;
        snprintf(spec, sizeof spec, "attention-limit:layers=%d,beta=2", many[k]);
        assert_int_equal(stair_model_create(context, spec, &model), STAIR_OK);
        assert_true(model->ops->committee(model, &layers, &share));
        assert_int_equal(layers, many[k] - 1);
        assert_close(share, 1 / (2.0 * many[k]), 1e-12);
        stair_model_destroy(&model);
    }
    assert_int_equal(stair_model_create(context, "attention-limit:layers=3,prenoise=0.1", &model), STAIR_OK);
    int layers;
    double share;
    assert_false(model->ops->committee(model, &layers, &share));
    stair_model_destroy(&model);
    stair_context_destroy(&context);
}

#define WITH(test, spec)                                                                                     \
    {                                                                                                        \
#test " " spec, test, NULL, NULL, spec                                                               \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_those_of_the_committee),
        WITH(gradient_is_the_derivative, "attention-limit:layers=4"),
        WITH(gradient_is_the_derivative, "attention-limit:layers=3,tokens=3,rank=1+2+2,beta=0.5"),
        WITH(gradient_is_the_derivative, "attention-limit:variant=flow,tokens=3,rank=2"),
        WITH(fibres_have_their_label, "attention-limit:layers=4"),
        WITH(fibres_have_their_label, "attention-limit:layers=3,tokens=3,rank=1+2+2,beta=0.5"),
        WITH(fibres_have_their_label, "attention-limit:layers=2,rank=2"),
        WITH(fibres_have_their_label, "attention-limit:variant=flow"),
        WITH(fibres_have_their_label, "attention-limit:variant=flow,tokens=4,rank=2"),
        cmocka_unit_test(hidden_layers_are_alike),
        cmocka_unit_test(two_layers_are_attention),
        cmocka_unit_test(large_beta_is_one_layer),
        cmocka_unit_test(flow_is_the_limit_of_products),
        cmocka_unit_test(flows_say_their_error),
        cmocka_unit_test(flow_learns_like_one_layer),
        cmocka_unit_test(bad_keys_are_refused),
        cmocka_unit_test(many_layers_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
