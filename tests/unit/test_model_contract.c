/* What a model must have and what it may leave out: models of this file alone, in no registry, that have only
 * what is required.  Their posteriors are known. */
#include "channel_case.h"

#include "model/keys.h"
#include "model/model.h"
#include "stair_train.h"

#define POINTS 40

static channel_case open_case(const stair_model_ops *ops, const char *items, size_t n)
{
    stair_context *context;
    stair_model *model;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    stair_context_set_threads(context, 1);
    if (stair_model_make(context, ops, items, &model) != STAIR_OK)
        fail_msg("%s: %s", ops->name, stair_context_message(context));
    return channel_case_of(context, model, n);
}

/* No identity of the channel fails; those that are required hold. */
static void identities(channel_case *c, double precision, bool fibre)
{
    stair_identity rows[32];
    int count = channel_case_diagnose(c, 40, precision, 32, rows), fibres = 0, held = 0;
    for (int i = 0; i < count; i++) {
        held += rows[i].verdict == STAIR_HOLDS;
        fibres += strstr(rows[i].name, "forward(fibre(y))") != NULL;
    }
    assert_int_equal(fibres, fibre);
    assert_true(held >= 6);
}

/* ---- second: y is the second of two rows, the first is free ----------------------------------- */

static stair_status create_second(stair_context *context, stair_model *model, const char *const *values)
{
    (void)context;
    (void)values;
    model->info.layers = 1;
    model->info.indices = model->ranks[0] = 2;
    model->info.label_size = model->info.tokens;
    model->fibre_size = model->fibre_dim = model->info.tokens;
    return STAIR_OK;
}

static void forward_second(const stair_model *model, const double *z, double *y, double *label)
{
    for (int m = 0; m < model->info.tokens; m++) {
        if (y) y[m] = z[model->info.tokens + m];
        if (label) label[m] = z[model->info.tokens + m];
    }
}

static stair_status copy_label(stair_context *context, const stair_model *model, const double *y,
                               double *label)
{
    (void)context;
    memcpy(label, y, sizeof(double) * (size_t)model->info.label_size);
    return STAIR_OK;
}

static stair_status open_second(stair_context *context, const stair_model *model, const double *label,
                                const double *omega, stair_fibre *fibre)
{
    (void)context;
    (void)omega;
    memcpy(fibre->data, label, sizeof(double) * (size_t)model->info.tokens);
    fibre->free_rows = 1;
    fibre->dim = model->info.tokens;
    return STAIR_OK;
}

static void map_second(const stair_fibre *fibre, int chart, stair_digits digits, int n, const double *u,
                       double *z, double *weight)
{
    int tokens = fibre->model->info.tokens;
    (void)chart;
    (void)digits;
    (void)u;
    for (int i = 0; i < n; i++) {
        for (int m = 0; m < tokens; m++) z[(tokens + m) * STAIR_BLOCK + i] = fibre->data[m];
        weight[i] = 1;
    }
}

static const stair_model_key second_keys[] = {
    STAIR_KEY_TOKENS("2"), STAIR_KEY_NOISE, STAIR_KEY_PRENOISE, {NULL, NULL, NULL}};

static const stair_model_ops second = {.name = "second",
                                       .keys = second_keys,
                                       .create = create_second,
                                       .forward = forward_second,
                                       .label_from_output = copy_label,
                                       .fibre_open = open_second,
                                       .fibre_map = map_second};

/* log Z = log N(y; omega_2, V_22), and its derivatives in omega */
static void check_second(const channel_case *c)
{
    size_t m = (size_t)c->info.tokens;
    for (size_t i = 0; i < c->n; i++) {
        double v = c->cov[i * 4 + 3] + c->info.prenoise, logz = 0, allowed = 4 * c->error[i] + 1e-12;
        const double *omega = c->omega + i * c->size;
        for (size_t t = 0; t < m; t++) {
            double gap = c->label[i * m + t] - omega[m + t];
            logz -= 0.5 * log(2 * M_PI * v) + 0.5 * gap * gap / v;
            assert_close(c->g[i * c->size + t], 0, allowed * (1 + fabs(gap)) / v);
            assert_close(c->g[i * c->size + m + t], gap / v, allowed * (1 + fabs(gap)) / v);
            for (size_t s = 0; s < c->size; s++)
                assert_close(c->dg[(i * c->size + m + t) * c->size + s], s == m + t ? -1 / v : 0,
                             allowed * 2 * (double)m / v);
        }
        assert_close(c->logz[i], logz, allowed);
    }
}

static void every_rule_serves_the_least_model(void **state)
{
    static const struct {
        const char *items, *method, *used;
        double precision;
    } cases[] = {{NULL, "auto", "lattice", 1e-8},          {NULL, "lattice", "lattice", 1e-8},
                 {NULL, "nested", "nested", 1e-8},         {NULL, "sampling", "sampling", 1e-2},
                 {"tokens=1", "auto", "lattice", 1e-8},    {"tokens=6", "auto", "sampling", 1e-2},
                 {"prenoise=0.3", "auto", "lattice", 1e-8}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        channel_case c = open_case(&second, cases[k].items, POINTS);
        channel_case_draw(&c, 0.1, 3);
        channel_case_evaluate(&c, cases[k].precision, cases[k].method);
        for (size_t i = 0; i < c.n; i++)
            assert_string_equal(stair_channel_method_name(c.method[i]), cases[k].used);
        check_second(&c);
        channel_case_close(&c);
    }
}

static void identities_of_the_least_model(void **state)
{
    (void)state;
    channel_case c = open_case(&second, "tokens=2", 1);
    identities(&c, 1e-6, true);
    channel_case_close(&c);
    c = open_case(&second, "tokens=1,noise=1", 1);
    identities(&c, 1e-4, false);
    channel_case_close(&c);
}

static void what_it_leaves_out_is_refused(void **state)
{
    (void)state;
    channel_case c = open_case(&second, NULL, 1);
    stair_sgd_result *result;
    stair_sgd_options o = stair_sgd_defaults();
    double gradient[4];
    channel_case_draw(&c, 0.5, 1);
    assert_int_equal(stair_model_gradient(c.context, c.model, c.z, c.label, gradient), STAIR_UNSUPPORTED);
    assert_int_equal(stair_sgd(c.context, c.model, &o, &result), STAIR_UNSUPPORTED);
    assert_int_equal(channel_case_try(&c, 1e-6, "layered", 0, 1), STAIR_UNSUPPORTED);
    assert_int_equal(channel_case_try(&c, 1e-6, "closed", 0, 1), STAIR_UNSUPPORTED);
    channel_case_close(&c);
}

/* ---- linear: y = Z, one row; a fibre of one point without a mirror ------------------------------ */

static stair_status create_linear(stair_context *context, stair_model *model, const char *const *values)
{
    (void)context;
    (void)values;
    model->info.layers = model->info.indices = model->ranks[0] = 1;
    model->info.label_size = model->fibre_size = model->info.tokens;
    return STAIR_OK;
}

static void forward_linear(const stair_model *model, const double *z, double *y, double *label)
{
    for (int m = 0; m < model->info.tokens; m++) {
        if (y) y[m] = z[m];
        if (label) label[m] = z[m];
    }
}

static stair_status open_linear(stair_context *context, const stair_model *model, const double *label,
                                const double *omega, stair_fibre *fibre)
{
    (void)context;
    (void)omega;
    memcpy(fibre->data, label, sizeof(double) * (size_t)model->info.tokens);
    return STAIR_OK;
}

static void map_linear(const stair_fibre *fibre, int chart, stair_digits digits, int n, const double *u,
                       double *z, double *weight)
{
    (void)chart;
    (void)digits;
    (void)u;
    for (int i = 0; i < n; i++) {
        for (int m = 0; m < fibre->model->info.tokens; m++) z[m * STAIR_BLOCK + i] = fibre->data[m];
        weight[i] = 1;
    }
}

static const stair_model_ops linear = {.name = "linear",
                                       .keys = second_keys,
                                       .create = create_linear,
                                       .forward = forward_linear,
                                       .label_from_output = copy_label,
                                       .fibre_open = open_linear,
                                       .fibre_map = map_linear};

/* The residual is counted from the point itself, so that the covariance of one point is zero exactly. */
static void one_point_without_a_mirror(void **state)
{
    (void)state;
    channel_case c = open_case(&linear, "tokens=1", POINTS);
    channel_case_draw(&c, 1e-4, 6);
    channel_case_evaluate(&c, 1e-6, "auto");
    for (size_t i = 0; i < c.n; i++) {
        assert_string_equal(stair_channel_method_name(c.method[i]), "exact");
        assert_close_relative(c.g[i], (c.label[i] - c.omega[i]) / c.cov[i], 1e-9);
        assert_close_relative(c.dg[i], -1 / c.cov[i], 4e-16);
    }
    channel_case_close(&c);
}

/* ---- radius: y = |Z| of two rows, one token; an angle whose density the model does not describe ------ */

static stair_status create_radius(stair_context *context, stair_model *model, const char *const *values)
{
    (void)context;
    (void)values;
    model->info.layers = model->info.label_size = model->fibre_size = model->fibre_dim = 1;
    model->info.indices = model->ranks[0] = 2;
    return STAIR_OK;
}

static void forward_radius(const stair_model *model, const double *z, double *y, double *label)
{
    (void)model;
    if (y) *y = hypot(z[0], z[1]);
    if (label) *label = hypot(z[0], z[1]);
}

static stair_status open_radius(stair_context *context, const stair_model *model, const double *label,
                                const double *omega, stair_fibre *fibre)
{
    (void)model;
    (void)omega;
    if (!(*label > 0)) return stair_fail(context, STAIR_BAD_INPUT, "a radius must be positive");
    *fibre->data = *label;
    fibre->dim = fibre->angles = 1;
    return STAIR_OK;
}

/* Z = y (cos t, sin t), t = 2 gd(u): density sech(u) / pi */
static void map_radius(const stair_fibre *fibre, int chart, stair_digits digits, int n, const double *u,
                       double *z, double *weight)
{
    (void)chart;
    (void)digits;
    for (int i = 0; i < n; i++) {
        double t = 4 * atan(tanh(0.5 * u[i]));
        z[i] = *fibre->data * cos(t);
        z[STAIR_BLOCK + i] = *fibre->data * sin(t);
        weight[i] = 1 / (M_PI * cosh(u[i]));
    }
}

static const stair_model_key no_keys[] = {{NULL, NULL, NULL}};

static const stair_model_ops radius = {.name = "radius",
                                       .keys = no_keys,
                                       .create = create_radius,
                                       .forward = forward_radius,
                                       .label_from_output = copy_label,
                                       .fibre_open = open_radius,
                                       .fibre_map = map_radius};

/* Z = average over the circle of N(y e; omega, V), by the trapezoidal rule */
static double circle_average(double y, const double *omega, const double *v)
{
    enum { NODES = 4096 };
    double det = v[0] * v[3] - v[1] * v[2], sum = 0;
    for (int i = 0; i < NODES; i++) {
        double a = y * cos(2 * M_PI * i / NODES) - omega[0], b = y * sin(2 * M_PI * i / NODES) - omega[1];
        sum += exp(-0.5 * (v[3] * a * a - 2 * v[1] * a * b + v[0] * b * b) / det);
    }
    return log(sum / NODES / (2 * M_PI * sqrt(det)));
}

static void angles_without_a_description(void **state)
{
    (void)state;
    channel_case c = open_case(&radius, NULL, POINTS);
    assert_int_equal(c.info.tokens, 1);
    channel_case_draw(&c, 0.1, 4);
    channel_case_evaluate(&c, 1e-3, "auto");
    for (size_t i = 0; i < c.n; i++) {
        assert_string_equal(stair_channel_method_name(c.method[i]), "sampling");
        assert_true(c.error[i] < 0.1);
        assert_close(c.logz[i], circle_average(c.label[i], c.omega + 2 * i, c.cov + 4 * i),
                     4 * c.error[i] + 1e-9);
    }
    channel_case_close(&c);
}

/* ---- sign: y_m = sign(Z_m), no fibre, a formula alone ------------------------------------------- */

static stair_status create_sign(stair_context *context, stair_model *model, const char *const *values)
{
    (void)context;
    (void)values;
    model->info.layers = model->info.indices = model->ranks[0] = 1;
    model->info.label_size = model->info.tokens;
    return STAIR_OK;
}

static void forward_sign(const stair_model *model, const double *z, double *y, double *label)
{
    for (int m = 0; m < model->info.tokens; m++) {
        if (y) y[m] = z[m] < 0 ? -1 : 1;
        if (label) label[m] = z[m] < 0 ? -1 : 1;
    }
}

static bool sign_exists(const stair_model *model)
{
    return !model->info.output_noisy;
}

/* Z = prod Phi(x_m), x = y omega / sqrt(V); with h = phi(x) / Phi(x): g = y h / sqrt(V), dg = -h (h + x) / V
 */
static stair_status evaluate_sign(stair_context *context, const stair_model *model, const double *label,
                                  const double *omega, const double *cov, double *logz, double *g, double *dg)
{
    int tokens = model->info.tokens;
    *logz = 0;
    memset(dg, 0, sizeof(double) * (size_t)(tokens * tokens));
    for (int m = 0; m < tokens; m++) {
        if (fabs(label[m]) != 1) return stair_fail(context, STAIR_BAD_INPUT, "y[%d] is no sign", m);
        double x = label[m] * omega[m] / sqrt(cov[0]), mass = 0.5 * erfc(-x * M_SQRT1_2);
        double h = exp(-0.5 * x * x) / sqrt(2 * M_PI) / mass;
        *logz += log(mass);
        g[m] = label[m] * h / sqrt(cov[0]);
        dg[m * (tokens + 1)] = -h * (h + x) / cov[0];
    }
    return STAIR_OK;
}

static const stair_closed_ops sign_closed = {.exists = sign_exists, .evaluate = evaluate_sign};
static const stair_model_key sign_keys[] = {
    STAIR_KEY_TOKENS("1"), STAIR_KEY_NOISE, STAIR_KEY_PRENOISE, {NULL, NULL, NULL}};
static const stair_model_ops sign = {.name = "sign",
                                     .keys = sign_keys,
                                     .create = create_sign,
                                     .forward = forward_sign,
                                     .label_from_output = copy_label,
                                     .closed = &sign_closed};

/* Moments of the half line by Simpson's rule, one token. */
static void half_line(double y, double omega, double v, double *logz, double *g, double *dg)
{
    enum { NODES = 20000 };
    double sum[3] = {0}, high = fmax(y * omega, 0) + 12 * sqrt(v), h = high / NODES;
    for (int i = 0; i <= NODES; i++) {
        double z = y * i * h, weight = (i == 0 || i == NODES ? 1 : 2 + 2 * (i % 2)) * h / 3;
        double density = weight * exp(-0.5 * (z - omega) * (z - omega) / v) / sqrt(2 * M_PI * v);
        for (int k = 0; k < 3; k++, density *= z - omega) sum[k] += density;
    }
    double mean = sum[1] / sum[0];
    *logz = log(sum[0]);
    *g = mean / v;
    *dg = (sum[2] / sum[0] - mean * mean) / (v * v) - 1 / v;
}

static void a_formula_serves_without_a_fibre(void **state)
{
    (void)state;
    channel_case c = open_case(&sign, "prenoise=0.05", POINTS);
    channel_case_draw(&c, 0.1, 5);
    channel_case_evaluate(&c, 1e-6, "auto");
    for (size_t i = 0; i < c.n; i++) {
        double logz, g, dg, v = c.cov[i] + 0.05;
        half_line(c.label[i], c.omega[i], v, &logz, &g, &dg);
        assert_string_equal(stair_channel_method_name(c.method[i]), "closed");
        assert_close(c.logz[i], logz, 1e-9);
        assert_close(c.g[i], g, 1e-8 / sqrt(v));
        assert_close(c.dg[i], dg, 1e-8 / v);
    }
    channel_case_close(&c);
    c = open_case(&sign, "tokens=3", 1);
    identities(&c, 1e-8, false);
    channel_case_close(&c);
}

static void a_formula_refuses_labels(void **state)
{
    (void)state;
    channel_case c = open_case(&sign, "tokens=2", 3);
    channel_case_draw(&c, 0.5, 5);
    c.label[3] = 0.5;
    assert_int_equal(channel_case_try(&c, 1e-6, "auto", 0, 3), STAIR_BAD_INPUT);
    assert_string_equal(stair_context_message(c.context), "sample 1: y[1] is no sign");
    c.label[3] = NAN;
    assert_int_equal(channel_case_try(&c, 1e-6, "auto", 0, 3), STAIR_BAD_INPUT);
    c.label[3] = 1;
    assert_int_equal(channel_case_try(&c, 1e-6, "sampling", 0, 3), STAIR_UNSUPPORTED);
    assert_int_equal(channel_case_try(&c, 1e-6, "exact", 0, 3), STAIR_UNSUPPORTED);
    channel_case_close(&c);
    c = open_case(&sign, "noise=0.5", 2); /* noise on y is a likelihood on all of Z, for any model */
    channel_case_draw(&c, 0.5, 5);
    channel_case_evaluate(&c, 1e-2, "sampling");
    channel_case_close(&c);
}

/* ---- MODEL strings with a positional value ------------------------------------------------------ */

static const stair_model_key formula_keys[] = {
    {"formula", NULL, "FORMULA"}, STAIR_KEY_TOKENS("1"), {"scale", "1", "a number"}, {NULL, NULL, NULL}};
static const stair_model_ops formula = {.name = "formula",
                                        .keys = formula_keys,
                                        .positional = true,
                                        .create = create_sign,
                                        .forward = forward_sign,
                                        .label_from_output = copy_label,
                                        .closed = &sign_closed};

static void first_item_without_a_key(void **state)
{
    static const struct {
        const char *items, *spec; /* spec, or the end of the message */
    } cases[] = {
        {"f(z1,z2)+1,tokens=3", "formula:f(z1,z2)+1,tokens=3,scale=1"},
        {"max(a,(b,c)),scale=2,tokens=4", "formula:max(a,(b,c)),tokens=4,scale=2"},
        {"formula=z1", "formula:z1,tokens=1,scale=1"},
        {"z1=z2", "formula:z1=z2,tokens=1,scale=1"},
        {NULL, "model 'formula' needs its formula: formula:FORMULA"},
        {"tokens=2", "model 'formula' needs its formula: formula:FORMULA"},
        {"", "model 'formula' needs its formula: formula:FORMULA"},
        {"z1,z2", "model 'formula': 'z2' is not key=value"},
        {"z1,formula=z2", "model 'formula': key 'formula' given twice"},
        {"z1,tokens=0", "model key tokens=0: expected an integer from 1 to 16"},
        {"z1,tokkens=2",
         "model 'formula' has no key 'tokkens', did you mean 'tokens'?; 'stair models formula' lists them"},
    };
    stair_context *context;
    (void)state;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stair_model *model;
        stair_status status = stair_model_make(context, &formula, cases[k].items, &model);
        assert_string_equal(status == STAIR_OK ? stair_model_spec(model) : stair_context_message(context),
                            cases[k].spec);
        assert_true((status == STAIR_OK) == (model != NULL));
        stair_model_destroy(&model);
    }
    stair_context_destroy(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_serves_the_least_model), cmocka_unit_test(identities_of_the_least_model),
        cmocka_unit_test(what_it_leaves_out_is_refused),     cmocka_unit_test(angles_without_a_description),
        cmocka_unit_test(a_formula_serves_without_a_fibre),  cmocka_unit_test(a_formula_refuses_labels),
        cmocka_unit_test(one_point_without_a_mirror),        cmocka_unit_test(first_item_without_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
