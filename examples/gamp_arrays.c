/* Message passing (GAMP) on arrays of your own: fit X and y, then predict y at new X.
 *
 * Here the "own" data are drawn from a teacher, so that we can see how well it did: phase retrieval,
 * y = z^2 with z = w.x / sqrt(D).  Exchange draw() for whatever reads your files. */
#include <math.h>
#include <stair.h>
#include <stdio.h>
#include <stdlib.h>

enum { D = 400, TRAIN = 1200, TEST = 200 }; /* alpha = N / D = 3 */

static double normal(void) /* Box and Muller */
{
    double u = (rand() + 1.0) / (RAND_MAX + 2.0), v = rand() / (RAND_MAX + 1.0);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* x (n, M, D) with M = 1 token, entries of order one; y (n, K) with K = 1. */
static void draw(int n, const double *w, double *x, double *y)
{
    for (int i = 0; i < n; i++) {
        double z = 0;
        for (int d = 0; d < D; d++) z += w[d] * (x[i * D + d] = normal());
        y[i] = z * z / D;
    }
}

static double x[TRAIN * D], y[TRAIN], fresh_x[TEST * D], fresh_y[TEST], w[D];

static stair_status fit_and_predict(stair_context *context, const stair_model *model)
{
    double label[TRAIN], mean[TEST], deviation[TEST], error = 0, spread = 0, expected = 0;
    stair_gamp_result *result = NULL;
    stair_gamp_options options = stair_gamp_defaults();

    /* A model may carry its labels in another form than y (attention: as logarithms). */
    stair_status status = stair_model_labels_from_outputs(context, model, TRAIN, y, label);
    stair_gamp_data data = {.x = x, .dim = D, .samples = TRAIN, .labels = label};
    if (status == STAIR_OK) status = stair_gamp_fit(context, model, &options, &data, &result);
    if (status != STAIR_OK) return status;
    const stair_gamp_run *run = &result->run[0]; /* weights (P, D), covariance (P, P), history */
    printf("%s after %d iterations\n", stair_stop_name(run->stop), run->iterations);

    stair_gamp_data fresh = {.x = fresh_x, .dim = D, .samples = TEST};
    status = stair_gamp_predict(context, model, run, &fresh, mean, deviation, NULL);
    for (int i = 0; i < TEST; i++) {
        error += pow(mean[i] - fresh_y[i], 2) / TEST;
        expected += pow(deviation[i], 2) / TEST;
        spread += pow(fresh_y[i] - 1, 2) / TEST; /* without data one would guess E y = 1 */
    }
    if (status == STAIR_OK) printf("squared error %.3g, expected %.3g, of %.3g\n", error, expected, spread);
    stair_gamp_result_destroy(&result);
    return status;
}

int main(void)
{
    stair_context *context = NULL;
    stair_model *model = NULL;
    if (stair_context_create(&context) != STAIR_OK) return 1;
    for (int d = 0; d < D; d++) w[d] = normal();
    draw(TRAIN, w, x, y);
    draw(TEST, w, fresh_x, fresh_y);
    stair_status status = stair_model_create(context, "square", &model);
    if (status == STAIR_OK) status = fit_and_predict(context, model);
    if (status != STAIR_OK) fprintf(stderr, "%s\n", stair_context_message(context));
    stair_model_destroy(&model);
    stair_context_destroy(&context);
    return status;
}
