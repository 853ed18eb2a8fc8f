/* Rules that share nothing but the fibre agree on the same samples, and their errors are honest. */
#include "channel_case.h"

#include <math.h>

#include "channel/rules.h"
#include "core/rng.h"

/* Both rules at the same points; where their errors are above 5 % it says nothing. */
static void agree_at(size_t points, const char *spec, const char *one, const char *other, double precision,
                     double low)
{
    channel_case a = channel_case_open(spec, points), b = channel_case_open(spec, points);
    size_t compared = 0;
    channel_case_draw(&a, low, 5);
    channel_case_draw(&b, low, 5);
    channel_case_evaluate(&a, precision, one);
    channel_case_evaluate(&b, precision, other);
    for (size_t i = 0; i < points; i++) {
        double allowed = 4 * (a.error[i] + b.error[i]);
        if (!(allowed < 0.2)) continue;
        compared++;
        assert_close(a.logz[i], b.logz[i], allowed);
        assert_close(channel_case_gap(a.size, a.g + i * a.size, b.g + i * a.size), 0, allowed);
        assert_close(
            channel_case_gap(a.size * a.size, a.dg + i * a.size * a.size, b.dg + i * a.size * a.size), 0,
            allowed);
    }
    assert_true(compared > points / 2);
    channel_case_close(&a);
    channel_case_close(&b);
}

static void agree(const char *spec, const char *one, const char *other, double precision, double low)
{
    agree_at(40, spec, one, other, precision, low);
}

/* The same at a few points, which takes next to nothing. */
typedef struct {
    const char *spec, *one, *other;
    double precision, low;
    size_t points;
} few_case;

static void agree_at_few_points(void **state)
{
    const few_case *c = *state;
    agree_at(c->points, c->spec, c->one, c->other, c->precision, c->low);
}

static few_case few[] = {
    {"attention:layers=3", "layered", "lattice", 1e-3, 0.3, 2},
    {"attention:layers=3,mixing=literal", "layered", "lattice", 1e-3, 0.3, 1},
    {"attention:layers=3,skip=-2.5", "layered", "sampling", 3e-2, 0.3, 3},
    {"attention:layers=1,readout=1,noise=0.3", "marginal", "lattice", 2e-2, 0.3, 4},
    {"attention:layers=1,readout=1,noise=1", "marginal", "sampling", 3e-2, 0.3, 4},
    {"attention:layers=2,output=sequence", "plane", "sampling", 1e-2, 0.3, 4},
    {"attention:layers=2", "lattice", "nested", 1e-6, 0.05, 6},
    {"attention:layers=2,tokens=3", "lattice", "sampling", 1e-2, 0.3, 2},
    {"attention:layers=1,noise=0.3", "lattice", "nested", 1e-5, 0.1, 4},
    {"attention:layers=1,noise=0.03", "nested", "sampling", 3e-2, 0.3, 3},
    {"expr:sin(z1)+z2^2,noise=0.2", "lines", "nested", 1e-4, 0.3, 3},
    {"expr:z1*z2,noise=0.2", "lines", "sampling", 1e-2, 0.3, 4},
    {"expr:z1^2-z2^2,noise=0.1", "lines", "nested", 1e-4, 0.3, 3},
    {"expr:sign(z1)+z2,noise=0.3", "lines", "sampling", 1e-2, 0.3, 3},
    {"expr:z1^3-3*z1,noise=0.2", "lines", "sampling", 1e-2, 0.3, 6},
    {"expr:sign(z1)*sign(z2),noise=0.5", "lines", "sampling", 1e-2, 0.3, 3},
    {"committee:indices=3", "boxes", "lines", 1e-6, 0.3, 3},
    {"square:tokens=2,noise=0.3", "nested", "sampling", 2e-2, 0.3, 4},
};

/* Errors of nested cover the truth, another rule at 1e-10, where rows of Z differ in their prior (the first
 * three: the second row was cut off), where a line crosses thin ridges of the noise (three: its panels did
 * not know where they are), and where a mode is faint (the last, by itself at 1e-10: it was stepped over). */
static void nested_is_honest_with_noise(void **state)
{
    static const struct {
        const char *spec, *other;
        double low, precision;
        size_t point;
        uint64_t seed;
    } known[] = {
        {"expr:z1*z2,noise=0.2", "lines", 0.3, 1e-4, 0, 5},
        {"expr:z1*z2,noise=0.2", "lines", 0.3, 1e-7, 0, 5},
        {"expr:z1*z2,noise=0.2", "lines", 0.3, 1e-5, 12, 5},
        {"expr:z1*z2,noise=0.02", "lines", 0.05, 1e-5, 41, 6},
        {"expr:z1*z2,noise=0.02", "lines", 0.05, 1e-7, 70, 6},
        {"expr:z1^2-z2^2,noise=0.1", "lines", 0.3, 1e-7, 40, 5},
        {"square:tokens=2,noise=0.01", "nested", 0.05, 1e-7, 294, 16},
    };
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        size_t i = known[k].point;
        channel_case nested = channel_case_open(known[k].spec, i + 1),
                     truth = channel_case_open(known[k].spec, i + 1);
        channel_case_draw(&nested, known[k].low, known[k].seed);
        channel_case_draw(&truth, known[k].low, known[k].seed);
        assert_int_equal(channel_case_try(&nested, known[k].precision, "nested", i, 1), STAIR_OK);
        assert_int_equal(channel_case_try(&truth, 1e-10, known[k].other, i, 1), STAIR_OK);
        size_t size = truth.size, square = size * size;
        double allowed = 3 * (nested.error[i] + truth.error[i]);
        assert_true(nested.error[i] <= known[k].precision && truth.error[i] < 1e-8);
        assert_close(nested.logz[i], truth.logz[i], allowed);
        assert_close(channel_case_gap(size, nested.g + i * size, truth.g + i * size), 0, allowed);
        assert_close(channel_case_gap(square, nested.dg + i * square, truth.dg + i * square), 0, allowed);
        channel_case_close(&nested);
        channel_case_close(&truth);
    }
}

/* Errors of a lattice over all of Z cover what lines has: where links are even, so that modes lie far out in
 * the prior (the first four: up to one in ten was off, by up to a hundred errors and whole modes), and where
 * they have kinks, which aliases of an analytic integrand know nothing of (the last two: half were). */
static void lattice_is_honest_with_noise(void **state)
{
    enum { SEEN = 1000 };
    static const struct {
        const char *spec;
        double precision;
        int least; /* so many reach the precision; others are left to other rules */
    } known[] = {{"square:tokens=2,noise=0.3", 1e-3, 700}, {"square:tokens=2,noise=0.3", 1e-4, 400},
                 {"square:tokens=3,noise=0.3", 1e-2, 500}, {"square:noise=0.2", 1e-3, 400},
                 {"abs:tokens=2,noise=0.3", 1e-3, 700},    {"relu:tokens=2,noise=0.3", 1e-3, 700}};
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        channel_case lattice = channel_case_open(known[k].spec, SEEN),
                     truth = channel_case_open(known[k].spec, SEEN);
        size_t size = truth.size, square = size * size;
        int met = 0, beyond = 0;
        channel_case_draw(&lattice, 0.05, 1);
        channel_case_draw(&truth, 0.05, 1);
        channel_case_evaluate(&lattice, known[k].precision, "lattice");
        channel_case_evaluate(&truth, 1e-6, "lines");
        for (size_t i = 0; i < SEEN; i++) {
            double allowed = 3 * (lattice.error[i] + truth.error[i]);
            if (!isfinite(allowed)) continue;
            met += lattice.error[i] <= known[k].precision;
            beyond += fabs(lattice.logz[i] - truth.logz[i]) > allowed ||
                      channel_case_gap(size, lattice.g + i * size, truth.g + i * size) > allowed ||
                      channel_case_gap(square, lattice.dg + i * square, truth.dg + i * square) > allowed;
        }
        assert_true(met >= known[k].least);
        assert_true(beyond < SEEN / 100);
        channel_case_close(&lattice);
        channel_case_close(&truth);
    }
}

/* Results carry these numbers: a rule keeps its own for ever. */
static void numbers_of_rules_stay(void **state)
{
    static const char *const names[] = {"exact",    "layered", "lattice", "nested",
                                        "sampling", "closed",  "plane",   "marginal"};
    int count = 0, seen = 0;
    (void)state;
    for (int k = 0; k < (int)(sizeof names / sizeof *names); k++)
        assert_string_equal(stair_channel_method_name(k), names[k]);
    for (; stair_channel_rule_at(count); count++) {
        const stair_channel_rule *rule = stair_channel_rule_at(count);
        assert_string_equal(stair_channel_method_name(rule->number), rule->name);
        assert_false(seen >> rule->number & 1);
        seen |= 1 << rule->number;
        assert_true(rule->random == (!strcmp(rule->name, "sampling") || !strcmp(rule->name, "marginal")));
    }
    assert_int_equal(seen, (1 << count) - 1); /* no gaps: names can be listed until there is none */
    assert_null(stair_channel_method_name(count));
    assert_null(stair_channel_method_name(-1));
}

static void marginal_and_lattice(void **state)
{
    (void)state;
    agree("attention:layers=1,readout=1,noise=0.3", "marginal", "lattice", 1e-2, 0.1);
}

static void layered_and_lattice(void **state)
{
    (void)state;
    agree("attention:layers=3", "layered", "lattice", 1e-3, 0.1);
    agree("attention:layers=3,mixing=literal", "layered", "lattice", 1e-3, 0.3);
}

static void layered_and_sampling(void **state)
{
    (void)state;
    agree("attention:layers=3,skip=-2.5", "layered", "sampling", 1e-2, 0.2);
}

static void lattice_and_nested(void **state)
{
    (void)state;
    agree("attention:layers=2", "lattice", "nested", 1e-6, 1e-3);
}

static void rules_for_noise_on_y(void **state)
{
    (void)state;
    agree("attention:layers=1,noise=0.3", "lattice", "nested", 1e-6, 1e-3);
    agree("attention:layers=1,noise=0.01", "nested", "sampling", 3e-2, 0.05);
    agree("attention:layers=1,tokens=3,noise=0.3", "lattice", "sampling", 3e-2, 0.2);
    agree("attention:layers=1,noise=0.003", "auto", "nested", 1e-4,
          0.3); /* too little of it for the lattice */
}

static double normal_density(double x, double variance)
{
    return exp(-0.5 * x * x / variance) / sqrt(2 * M_PI * variance);
}

/* y = z + noise has Gaussian posteriors, and y = sign(z) + noise is a mixture of two halves. */
static void lines_with_noise_in_closed_form(void **state)
{
    const double omega = 0.4, v = 0.6, noise = 0.3, by = 1e-4;
    (void)state;
    for (double y = -2; y < 2.5; y += 1.5)
        for (int k = 0; k < 2; k++) {
            channel_case c = channel_case_open(k ? "sign:noise=0.3" : "expr:z1,noise=0.3", 1);
            double logz[3];
            for (int j = 0; j < 3; j++) { /* at omega, and next to it on both sides */
                double at = omega + (j ? (j == 1 ? by : -by) : 0), t = at / sqrt(2 * v);
                logz[j] = k ? log(0.5 * erfc(-t) * normal_density(y - 1, noise) +
                                  0.5 * erfc(t) * normal_density(y + 1, noise))
                            : log(normal_density(y - at, v + noise));
            }
            c.label[0] = y;
            c.omega[0] = omega;
            c.cov[0] = v;
            channel_case_evaluate(&c, 1e-6, "lines");
            assert_close(c.logz[0], logz[0], 1e-6);
            assert_close(c.g[0], (logz[1] - logz[2]) / (2 * by), 1e-5);
            assert_close(c.dg[0], (logz[1] - 2 * logz[0] + logz[2]) / (by * by), 1e-4);
            channel_case_close(&c);
        }
}

static void a_rule_that_does_not_fit_is_refused(void **state)
{
    channel_case c = channel_case_open("attention:layers=2", 1);
    (void)state;
    channel_case_draw(&c, 0.1, 1);
    assert_int_equal(channel_case_try(&c, 1e-6, "layered", 0, 1), STAIR_UNSUPPORTED);
    channel_case_close(&c);
}

/* Four free coordinates: more of a Gaussian lies beyond a shell than in two, and the error has to know. */
static void tails_of_four_dimensions(void **state)
{
    enum { POINTS = 16 };
    channel_case coarse = channel_case_open("attention:layers=2,noise=1", POINTS),
                 fine = channel_case_open("attention:layers=2,noise=1", POINTS);
    int compared = 0, beyond = 0;
    (void)state;
    channel_case_draw(&coarse, 0.1, 1);
    channel_case_draw(&fine, 0.1, 1);
    channel_case_evaluate(&coarse, 1e-3, "lattice");
    channel_case_evaluate(&fine, 2e-5, "lattice");
    for (size_t i = 0; i < POINTS; i++) {
        size_t square = fine.size * fine.size;
        if (!(coarse.error[i] < 0.1 && fine.error[i] < 0.1 * coarse.error[i])) continue;
        compared++;
        beyond +=
            channel_case_gap(square, coarse.dg + i * square, fine.dg + i * square) > 2 * coarse.error[i];
    }
    assert_true(compared >= 5);
    assert_int_equal(beyond, 0);
    channel_case_close(&coarse);
    channel_case_close(&fine);
}

/* A goal out of reach leaves no more error than a modest one: sample 4 has 1.3e-3 when 1e-4 is asked for. */
static void more_precision_is_no_worse(void **state)
{
    static const double precision[] = {1e-6, 1e-8};
    channel_case c = channel_case_open("attention:layers=2,noise=1", 5);
    (void)state;
    channel_case_draw(&c, 0.05, 1);
    assert_int_equal(channel_case_try(&c, 1e-4, "auto", 4, 1), STAIR_OK);
    double modest = c.error[4];
    assert_true(modest < 2e-3);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(channel_case_try(&c, precision[k], "auto", 4, 1), STAIR_OK);
        assert_true(c.error[4] < 1.1 * modest);
    }
    channel_case_close(&c);
}

/* Posteriors of a rotation by samples: |dg|^2 by independent halves has no bias, that of the whole has that
 * of its noise.  At omega = 0, V = 1 rotations are uniform and dg = S/P - 1, S the scores. */
enum { HALVED = 400, P = 3, M = 4, PM = P * M };

/* |dg|^2 of one sample by its halves, and by the whole, both less the exact one. */
static void excess(const double *z, const double *dg, const double *half_dg, double *halves, double *whole)
{
    *halves = *whole = 0;
    for (int a = 0; a < PM; a++)
        for (int b = 0; b < PM; b++) {
            double score = 0;
            for (int p = 0; p < P; p++) score += z[p * M + a % M] * z[p * M + b % M];
            double exact = a / M == b / M ? score / P - (a == b) : 0;
            *halves += half_dg[a * PM + b] * half_dg[(PM + a) * PM + b] - exact * exact;
            *whole += dg[a * PM + b] * dg[a * PM + b] - exact * exact;
        }
}

static void halves_are_independent(void **state)
{
    static double half_logz[2 * HALVED], half_g[2 * HALVED * PM], half_dg[2 * HALVED * PM * PM];
    channel_case c = channel_case_open("attention:layers=1,tokens=4,rank=3", HALVED);
    stair_channel_options o = stair_channel_defaults();
    double unit[P * P] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, part[2][HALVED], mean[2] = {0, 0}, square = 0;
    (void)state;
    channel_case_draw(&c, 0.5, 5);
    memset(c.omega, 0, sizeof(double) * HALVED * PM);
    for (int i = 0; i < HALVED; i++) c.omega[i * PM] = 1e-12; /* or symmetry would leave nothing to sample */
    for (uint64_t i = 0; i < HALVED; i++) stair_rng_normals(3, STAIR_RNG_POINTS, i, PM, c.z + i * PM);
    assert_int_equal(stair_model_forward(c.context, c.model, HALVED, c.z, c.label), STAIR_OK);
    o.precision = 1; /* the first round is enough */
    stair_channel_result r = {
        .logz = c.logz, .g = c.g, .dg = c.dg, .half_logz = half_logz, .half_g = half_g, .half_dg = half_dg};
    assert_int_equal(stair_channel_evaluate(c.context, c.model, &o, 0, HALVED, c.label, c.omega, 1, unit, &r),
                     STAIR_OK);
    for (size_t i = 0; i < HALVED; i++) {
        excess(c.z + i * PM, c.dg + i * PM * PM, half_dg + 2 * i * PM * PM, &part[0][i], &part[1][i]);
        for (int k = 0; k < 2; k++) mean[k] += part[k][i] / HALVED;
    }
    for (int i = 0; i < HALVED; i++) square += (part[0][i] - mean[0]) * (part[0][i] - mean[0]);
    double error = sqrt(square) / HALVED;
    assert_close(mean[0], 0, 4 * error);
    assert_true(mean[1] > 6 * error);
    channel_case_close(&c);
}

/* Where nothing is known of rows their symmetry replaces integrals; an omega of next to nothing does not
 * allow that, and must give the same. */
static void ignorance_changes_nothing(void **state)
{
    static const struct {
        const char *model;
        bool exact; /* one layer, a compact fibre: nothing is left to integrate */
    } known[] = {{"attention:layers=1,tokens=4,rank=3", true},
                 {"attention:layers=1,tokens=3,rank=2", true},
                 {"attention:layers=1,tokens=2,rank=3", false},
                 {"attention:layers=2,tokens=3,rank=1+2", false}};
    enum { SEEN = 6 };
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        channel_case by_symmetry = channel_case_open(known[k].model, SEEN),
                     sampled = channel_case_open(known[k].model, SEEN);
        size_t size = by_symmetry.size, square = size * size, rows = (size_t)by_symmetry.model->info.indices;
        channel_case *both[] = {&by_symmetry, &sampled};
        for (int b = 0; b < 2; b++) {
            channel_case_draw(both[b], 1, 1);
            memset(both[b]->omega, 0, sizeof(double) * SEEN * size);
            for (size_t i = 0; i < SEEN * rows * rows; i++)
                both[b]->cov[i] = i % (rows * rows) % (rows + 1) == 0;
            for (size_t i = 0; i < SEEN * size && b; i += (size_t)both[b]->model->info.tokens)
                both[b]->omega[i] = 1e-12;
            channel_case_evaluate(both[b], 2e-3, "auto");
        }
        for (size_t i = 0; i < SEEN; i++) {
            double scale = 0,
                   apart = channel_case_gap(square, sampled.dg + i * square, by_symmetry.dg + i * square);
            for (size_t c = 0; c < square; c++)
                scale += by_symmetry.dg[i * square + c] * by_symmetry.dg[i * square + c];
            assert_true(apart < 0.15 && scale > 0);
            assert_close(sampled.logz[i], by_symmetry.logz[i], 0.1);
            assert_true(by_symmetry.error[i] < (known[k].exact ? 1e-13 : 1e-2));
            for (size_t c = 0; c < size; c++) assert_true(by_symmetry.g[i * size + c] == 0);
        }
        channel_case_close(&by_symmetry);
        channel_case_close(&sampled);
    }
}

/* Below a noise of 5e-3 posteriors have coordinates of their own; nothing happens there. */
static void tubes_join_the_rest(void **state)
{
    enum { SEEN = 8 };
    channel_case tube = channel_case_open("attention:layers=2,noise=4.999e-3", SEEN),
                 rest = channel_case_open("attention:layers=2,noise=5.001e-3", SEEN);
    (void)state;
    channel_case_draw(&tube, 0.2, 1);
    channel_case_draw(&rest, 0.2, 1);
    memcpy(rest.label, tube.label, sizeof(double) * SEEN * (size_t)tube.model->info.label_size);
    channel_case_evaluate(&tube, 1e-2, "auto");
    channel_case_evaluate(&rest, 1e-2, "auto");
    for (size_t i = 0; i < SEEN; i++) {
        double allowed = 3 * (tube.error[i] + rest.error[i]) + 5e-3;
        assert_close(tube.logz[i], rest.logz[i], allowed);
        assert_true(allowed < 0.3 &&
                    channel_case_gap(tube.size * tube.size, tube.dg + i * tube.size * tube.size,
                                     rest.dg + i * tube.size * tube.size) < allowed);
    }
    channel_case_close(&tube);
    channel_case_close(&rest);
}

int main(int argc, char **argv)
{
    enum { FEW = sizeof few / sizeof *few };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(ignorance_changes_nothing),    cmocka_unit_test(tubes_join_the_rest),
        cmocka_unit_test(numbers_of_rules_stay),        cmocka_unit_test(lines_with_noise_in_closed_form),
        cmocka_unit_test(marginal_and_lattice),         cmocka_unit_test(layered_and_lattice),
        cmocka_unit_test(layered_and_sampling),         cmocka_unit_test(lattice_and_nested),
        cmocka_unit_test(rules_for_noise_on_y),         cmocka_unit_test(a_rule_that_does_not_fit_is_refused),
        cmocka_unit_test(tails_of_four_dimensions),     cmocka_unit_test(more_precision_is_no_worse),
        cmocka_unit_test(halves_are_independent),       cmocka_unit_test(nested_is_honest_with_noise),
        cmocka_unit_test(lattice_is_honest_with_noise),
    };
    struct CMUnitTest tests[FEW + sizeof others / sizeof *others];
    char names[FEW][96];
    for (int k = 0; k < FEW; k++) {
        snprintf(names[k], sizeof names[k], "%s/%s,%s", few[k].spec, few[k].one, few[k].other);
        tests[k] =
            (struct CMUnitTest){.name = names[k], .test_func = agree_at_few_points, .initial_state = &few[k]};
    }
    memcpy(tests + FEW, others, sizeof others);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
