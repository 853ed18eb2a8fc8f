/* Posteriors of the card (kernels/pair.h), run on the host: all 32 lanes of a sample one after the other,
 * against the channel of the processor. */
#include "assert_close.h"
#include "fixture.h"

#include <math.h>
#include <stdlib.h>

#include "core/matrix.h"
#include "core/rng.h"
#include "kernels/pair.h"
#include "model/model.h"

enum { SAMPLES = 40, ROWS = 2 };

/* h of a label: the fibre at u = 0, where softmax is 1/2. */
static void points_of(const stair_model *model, const double *label, double skip, double h[2])
{
    int p = model->info.indices;
    double omega[4] = {0}, u[2 * STAIR_BLOCK] = {0}, z[4 * STAIR_BLOCK], weight[STAIR_BLOCK];
    stair_fibre fibre;
    assert_int_equal(stair_fibre_create(context, model, &fibre), STAIR_OK);
    assert_int_equal(stair_fibre_open(context, label, omega, &fibre), STAIR_OK);
    stair_fibre_map(&fibre, 0, 1, u, z, weight);
    double a = z[(size_t)(2 * p - 2) * STAIR_BLOCK], b = z[(size_t)(2 * p - 1) * STAIR_BLOCK];
    h[0] = p == 1 ? a : skip * a + 0.5 * (a + b);
    h[1] = p == 1 ? b : skip * b + 0.5 * (a + b);
    stair_fibre_destroy(&fibre);
}

typedef struct {
    double worst; /* distance over what errors allow */
    int served;
    double nodes;
} outcome;

/* Several warps say what one says, but for rounding. */
static void assert_teams_agree(const stair_pair_form *form, const stair_pair_sample *sample,
                               const stair_pair_moments *want, int nodes)
{
    for (int slices = 2; slices <= STAIR_PAIR_SLICES; slices *= 2) {
        stair_pair_team team = {0, 0, slices, NULL, 0, 0};
        stair_pair_moments m;
        float error;
        int said;
        stair_pair_posterior_by(form, sample, &team, STAIR_PAIR_LEVELS, &m, &error, &said);
        assert_int_equal(said, nodes);
        for (int t = 0; t < 2; t++) {
            for (int k = 0; k < 2; k++)
                assert_true(fabs(m.mean[t][k] - want->mean[t][k]) <= 1e-4 * (1 + fabs(want->mean[t][k])));
            for (int k = 0; k < 3; k++)
                assert_true(fabs(m.cov[t][k] - want->cov[t][k]) <= 1e-4 * (1 + fabs(want->cov[t][k])));
        }
    }
}

/* Samples of the model at overlap 1 - V: Z = omega + L n. */
static outcome compare(const char *spec, const double *cov, double precision)
{
    stair_model *model = model_of(spec);
    int p = model->info.indices, size = 2 * p;
    bool linear, literal;
    double skip, lower[4], w[4], half_logdet;
    outcome out = {0};
    stair_channel_options how = stair_channel_defaults();
    how.precision = 1e-6;
    assert_true(model->ops->mixing(model, &skip, &linear, &literal) && !linear && !literal);
    assert_true(stair_matrix_whiten(p, cov, lower, w, &half_logdet));
    stair_pair_form form = {.rows = p,
                            .skip = (float)skip,
                            .lower = (float)lower[0],
                            .w11 = (float)w[0],
                            .w21 = p > 1 ? (float)w[2] : 0,
                            .w22 = p > 1 ? (float)w[3] : 0,
                            .cutoff = 20,
                            .precision = (float)precision};
    for (uint64_t i = 0; i < SAMPLES; i++) {
        double n[8], omega[4], z[4], label[16], h[2], g[4], dg[16], error, logz;
        stair_rng_normals(5, STAIR_RNG_POINTS, i, 8, n);
        for (int k = 0; k < p; k++)
            for (int t = 0; t < 2; t++) {
                z[2 * k + t] = omega[2 * k + t] = sqrt(fmax(0, 1 - cov[k * (p + 1)])) * n[2 * k + t];
                for (int j = 0; j <= k; j++) z[2 * k + t] += lower[k * p + j] * n[4 + 2 * j + t];
            }
        model->ops->forward(model, z, NULL, label);
        points_of(model, label, skip, h);
        stair_channel_result result = {.g = g, .dg = dg, .error = &error, .logz = &logz};
        assert_int_equal(stair_channel_evaluate(context, model, &how, 0, 1, label, omega, 1, cov, &result),
                         STAIR_OK);
        stair_pair_sample sample = {.h = {(float)h[0], (float)h[1]}};
        for (int t = 0; t < 2; t++) {
            sample.offset1[t] = (float)(w[0] * omega[t]);
            if (p > 1) sample.offset2[t] = (float)(w[2] * omega[t] + w[3] * omega[2 + t]);
        }
        stair_pair_moments m;
        float said;
        int nodes;
        stair_pair_posterior(&form, &sample, 0, &m, &said, &nodes);
        if (i % 8 == 0) assert_teams_agree(&form, &sample, &m, nodes);
        if (!(said <= precision)) continue;
        out.served++;
        out.nodes += nodes;
        double off = 0, norm = 0, off2 = 0, norm2 = 0;
        for (int t = 0; t < 2; t++)
            for (int k = 0; k < p; k++) { /* whitened: L^T g = E[x] */
                double want = 0;
                for (int j = k; j < p; j++) want += lower[j * p + k] * g[2 * j + t];
                off += pow(want - m.mean[t][k], 2);
                norm += want * want;
                for (int l = 0; l <= k; l++) {
                    double sum = 0;
                    for (int a = k; a < p; a++)
                        for (int b = l; b < p; b++)
                            sum += lower[a * p + k] * dg[(2 * a + t) * size + 2 * b + t] * lower[b * p + l];
                    off2 += (k == l ? 1 : 2) * pow(sum - m.cov[t][k + l], 2);
                    norm2 += (k == l ? 1 : 2) * sum * sum;
                }
            }
        double distance = fmax(sqrt(off) / (sqrt(norm) + 0.05), sqrt(off2) / (sqrt(norm2) + 0.05));
        out.worst = fmax(out.worst, distance / (said + error + 2e-5));
    }
    stair_model_destroy(&model);
    return out;
}

static void two_points_of_one_layer(void **state)
{
    (void)state;
    for (double v = 1; v > 1e-6; v *= 0.1) {
        outcome out = compare("attention:layers=1", &v, 5e-2);
        assert_true(out.worst < 1);
        assert_true(out.served == SAMPLES);
    }
}

/* The error is half the distance of what two lattices say, each by its own sums: here in double. */
static void error_is_half_the_distance(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20; i++) {
        float of[3][STAIR_PAIR_SUMS]; /* even, odd, all */
        stair_pair_moments m[3];
        double n[2 * STAIR_PAIR_SUMS], apart[2] = {0, 0}, size[2] = {0, 0};
        stair_rng_normals(6, STAIR_RNG_POINTS, i, 2 * STAIR_PAIR_SUMS, n);
        for (int k = 0; k < STAIR_PAIR_SUMS; k++) {
            of[0][k] = (float)(k ? n[k] : 2 + 0.1 * n[k]);
            of[1][k] = (float)((double)of[0][k] + 0.1 * n[STAIR_PAIR_SUMS + k]);
            of[2][k] = of[0][k] + of[1][k];
        }
        for (int which = 0; which < 3; which++) stair_pair_finish(of[which], &m[which]);
        for (int t = 0; t < 2; t++) {
            for (int k = 0; k < 2; k++) {
                apart[0] += pow(m[0].mean[t][k] - m[1].mean[t][k], 2);
                size[0] += pow(m[2].mean[t][k], 2);
            }
            for (int k = 0; k < 3; k++) { /* the second is twice in the matrix */
                apart[1] += (k == 1 ? 2 : 1) * pow(m[0].cov[t][k] - m[1].cov[t][k], 2);
                size[1] += (k == 1 ? 2 : 1) * pow(m[2].cov[t][k], 2);
            }
        }
        double want = 0.5 * fmax(sqrt(apart[0]) / (sqrt(size[0]) + (double)STAIR_PAIR_SMALL),
                                 sqrt(apart[1]) / (sqrt(size[1]) + (double)STAIR_PAIR_SMALL));
        assert_close((double)stair_pair_error(of[0], of[1], &m[2]) / want, 1, 1e-4);
    }
}

static void lattice_of_two_layers(void **state)
{
    (void)state;
    static const double covs[][4] = {{1, 0, 0, 1},         {1, 0, 0, 0.3},         {0.3, 0, 0, 1},
                                     {0.4, 0.1, 0.1, 0.3}, {0.9, -0.2, -0.2, 0.1}, {0.01, 0, 0, 0.01},
                                     {1e-4, 0, 0, 2e-4}};
    static const char *const specs[] = {"attention:layers=2", "attention:layers=2,skip=4",
                                        "attention:layers=2,skip=0.3"};
    for (size_t k = 0; k < sizeof covs / sizeof *covs; k++)
        for (int s = 0; s < 3; s++) {
            outcome out = compare(specs[s], covs[k], 1e-2);
            if (getenv("STAIR_SHOW"))
                print_message("%s %g %g: worst %g served %d nodes %g\n", specs[s], covs[k][0], covs[k][3],
                              out.worst, out.served, out.nodes / out.served);
            assert_true(out.worst < 1);
            assert_true(out.served >= SAMPLES * 9 / 10);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_points_of_one_layer),
        cmocka_unit_test(error_is_half_the_distance),
        cmocka_unit_test(lattice_of_two_layers),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
