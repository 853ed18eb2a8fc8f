/* Links written as a formula: what is read and what is refused, derivatives, bounds, level sets along a line,
 * and posteriors against those of the same link elsewhere. */
#include "channel_case.h"

#include "channel/normal.h"
#include "model/expr.h"
#include "model/model.h"

static stair_context *context;

static stair_program parse(const char *text)
{
    stair_program program;
    if (stair_program_parse(context, text, &program) != STAIR_OK)
        fail_msg("%s: %s", text, stair_context_message(context));
    return program;
}

static double value_of(const char *text, double z1, double z2)
{
    stair_program p = parse(text);
    double z[STAIR_FORMULA_CELLS] = {0}, value[STAIR_MOST_NODES];
    for (int c = 0; c < p.cells; c++) z[c] = p.row[c] == 0 ? z1 : z2;
    stair_program_values(&p, z, value);
    return value[p.output[0]];
}

static void formulas_mean_what_they_say(void **state)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"z1+2*z2", -1.5},
                 {"-z1^2", -0.25},
                 {"2^-z1*0+z1", 0.5},
                 {"2^3^2*z1", 256},
                 {"(z1-z2)*(z1+z2)", -0.75},
                 {"z1/z2/2", -0.25},
                 {"min(z1,z2)", -1},
                 {"max(z1,z2)", 0.5},
                 {"relu(z2)+relu(z1)", 0.5},
                 {"sign(z2*z1)", -1},
                 {"abs(z2)", 1},
                 {"z1<z2", 0},
                 {"z1>z2", 1},
                 {"z1>=z2", 1},
                 {"z1<=z2", 0},
                 {"1-2-z1", -1.5},
                 {"--z1", 0.5},
                 {"sqrt(z1+0.5)", 1},
                 {"z1^z2", 2},
                 {"4^z1", 2},
                 {" z1 *\t2 ", 1}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_close(value_of(cases[k].text, 0.5, -1), cases[k].value, 1e-14);
    }
}

/* z2 = -1: no step makes a number of what has none, one by one or in blocks. */
static void what_is_not_defined_stays_so(void **state)
{
    static const char *const texts[] = {"sign(sqrt(z2))",   "relu(log(z2))",     "min(z1,sqrt(z2))",
                                        "min(sqrt(z2),z1)", "max(z1,sqrt(z2))",  "max(sqrt(z2),z1)",
                                        "sqrt(z2)<z1",      "abs(sqrt(z2))",     "sign(sign(z2)^z1)",
                                        "z1>log(z2)",       "(z2/relu(z2))^-1.5"};
    double z[STAIR_FORMULA_CELLS * STAIR_BLOCK], value[STAIR_MOST_NODES * STAIR_BLOCK];
    (void)state;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        stair_program p = parse(texts[k]);
        if (!isnan(value_of(texts[k], 0.5, -1))) fail_msg("%s is a number", texts[k]);
        for (int c = 0; c < p.cells; c++) z[c * STAIR_BLOCK] = p.row[c] == 0 ? 0.5 : -1;
        stair_program_block(&p, 1, z, value);
        assert_true(isnan(value[p.output[0] * STAIR_BLOCK]));
    }
    assert_close(value_of("z1+z2^0", 0.5, -1), 1.5, 0);
    stair_program p = parse("relu(z1)^-z1"); /* 0^0.9, which its bounds have to hold */
    stair_line line;
    stair_line_set(&line, &p, 0, 0);
    stair_line_fix(&line, (double[STAIR_FORMULA_CELLS]){0});
    stair_bound bound = stair_line_bound(&line, -1.15, -0.65);
    assert_true(!bound.empty && bound.value.low <= 0 && bound.value.high >= 0);
}

/* relu, min and max stay at one end of their range over a stretch, as do exp, tanh and erf by rounding: sign
 * and comparisons see both values. */
static void what_rests_is_bounded(void **state)
{
    static const char *const texts[] = {"relu(z1)>0",         "sign(relu(z1))",       "0>-max(z1,0)",
                                        "sign(-min(z1,0)*2)", "0<relu(z1)^2*abs(z1)", "sign(max(z1,z1>2))",
                                        "sign(0^z1)",         "tanh(40*z1)<1",        "1>erf(40*z1)"};
    (void)state;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        stair_program p = parse(texts[k]);
        stair_line line;
        stair_line_set(&line, &p, 0, 0);
        stair_line_fix(&line, (double[STAIR_FORMULA_CELLS]){0});
        stair_bound bound = stair_line_bound(&line, -1, 1);
        for (double z = -0.5; z < 1; z++) {
            double value = value_of(texts[k], z, 0);
            if (!(bound.value.low <= value && bound.value.high >= value && bound.broken))
                fail_msg("%s at %g: %g is not in %g, %g", texts[k], z, value, bound.value.low,
                         bound.value.high);
        }
    }
}

static void errors_point_at_the_column(void **state)
{
    static const struct {
        const char *text;
        int column;
    } cases[] = {{"", 1},
                 {"z1+", 4},
                 {"z1^^2", 4},
                 {"sgin(z1)", 1},
                 {"(z1", 1},
                 {"z1)", 3},
                 {"z1 z2", 4},
                 {"2z1", 2},
                 {"z1**2", 3},
                 {"min(z1)", 7},
                 {"sign(z1,z2)", 8},
                 {"z0", 1},
                 {"z1_17", 1},
                 {"z25", 1},
                 {"1e400*z1", 1},
                 {"0x10*z1", 1},
                 {"z1==2", 3},
                 {"z1<z2<z3", 6},
                 {"z1^65", 4},
                 {"3", 1},
                 {"z1;3", 4},
                 {"z1;", 4},
                 {"inf*z1", 1},
                 {"z1\n", 3},
                 {"z1,z2", 3},
                 {"z1+z2+z3+z4+z5+z6+z7+z8+z9", 25}};
    stair_program program;
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char where[32];
        snprintf(where, sizeof where, "column %d:", cases[k].column);
        assert_int_equal(stair_program_parse(context, cases[k].text, &program), STAIR_BAD_INPUT);
        if (!strstr(stair_context_message(context), where))
            fail_msg("%s: %s", cases[k].text, stair_context_message(context));
    }
}

/* Nesting, length and outputs that would overflow a stack or a table. */
static void hostile_formulas_are_refused(void **state)
{
    static char text[1 << 16];
    static const char *const parts[] = {"(", "-", "sign(", "z1+(", "2^", "z1;", "min(z1,", "1+"};
    stair_program program;
    (void)state;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        text[0] = 0;
        size_t used = 0, length = strlen(parts[k]);
        while (used + length + 3 < sizeof text) {
            memcpy(text + used, parts[k], length);
            used += length;
        }
        strcpy(text + used, "z1");
        stair_status status = stair_program_parse(context, text, &program);
        assert_true(status == STAIR_BAD_INPUT || (status == STAIR_OK && !strcmp(parts[k], "1+")));
    }
}

static const char *const smooth[] = {
    "z1^2-z2^2",           "tanh(z1)*erf(z2)",    "exp(-z1^2)/(1+z2^2)",      "sin(z1*z2)+cos(z1)",
    "z1^3-z2*z1",          "relu(z1)-abs(z2-z1)", "log(1+z1^2)*sqrt(2+z2^2)", "max(z1,z2)*min(z1,0.3)",
    "(1+z1^2)^-1.5+z2^-3", "z1^2+sign(z1*z2)"};
enum { SMOOTH = sizeof smooth / sizeof *smooth };

static void gradients_are_derivatives(void **state)
{
    (void)state;
    for (int k = 0; k < SMOOTH; k++)
        for (int i = 0; i < 20; i++) {
            stair_program p = parse(smooth[k]);
            double z[2], value[STAIR_MOST_NODES], slope[STAIR_FORMULA_CELLS], one = 1;
            stair_rng_normals(3, STAIR_RNG_POINTS, (uint64_t)i, 2, z);
            stair_program_values(&p, z, value);
            stair_program_gradient(&p, value, &one, slope);
            for (int c = 0; c < 2; c++) {
                double h = 1e-6, moved[2] = {z[0], z[1]}, up[STAIR_MOST_NODES], down[STAIR_MOST_NODES];
                moved[c] = z[c] + h;
                stair_program_values(&p, moved, up);
                moved[c] = z[c] - h;
                stair_program_values(&p, moved, down);
                assert_close(slope[c], (up[p.output[0]] - down[p.output[0]]) / (2 * h),
                             1e-6 * (1 + fabs(slope[c])) * (1 + fabs(value[p.output[0]])));
            }
        }
}

/* Every value and slope inside of a segment is within its bounds. */
static void bounds_hold_everything(void **state)
{
    static stair_line line;
    (void)state;
    for (int k = 0; k < SMOOTH; k++)
        for (int i = 0; i < 200; i++) {
            stair_program p = parse(smooth[k]);
            double z[2], ends[2];
            stair_rng_normals(4, STAIR_RNG_POINTS, (uint64_t)i, 2, z);
            stair_rng_normals(5, STAIR_RNG_POINTS, (uint64_t)i, 2, ends);
            double low = 2 * fmin(ends[0], ends[1]), high = 2 * fmax(ends[0], ends[1]);
            stair_line_set(&line, &p, i % 2, 0);
            stair_line_fix(&line, z);
            stair_bound b = stair_line_bound(&line, low, high);
            for (int j = 0; j <= 50; j++) {
                double slope, value = stair_line_value(&line, low + (high - low) * j / 50, &slope);
                if (!(value >= b.value.low - 1e-12 * fabs(value) &&
                      value <= b.value.high + 1e-12 * fabs(value)))
                    fail_msg("%s: %g not in %g, %g", smooth[k], value, b.value.low, b.value.high);
                if (!b.broken) assert_true(slope >= b.slope.low - 1e-9 && slope <= b.slope.high + 1e-9);
            }
        }
}

/* What only jumps may be zero throughout, and so may its sign. */
static void zero_is_a_sign_of_what_only_jumps(void **state)
{
    static stair_line line;
    double z[2] = {0, 1};
    stair_program p = parse("sign(sign(z1)+sign(z2))");
    (void)state;
    stair_line_set(&line, &p, 0, 0);
    stair_line_fix(&line, z);
    stair_bound b = stair_line_bound(&line, -1, 1);
    assert_true(stair_line_value(&line, -0.5, NULL) == 0 && stair_line_value(&line, 0.5, NULL) == 1);
    assert_true(b.value.low <= 0 && b.value.high >= 1);
}

/* A positive number too small for doubles keeps its sign: found by fuzz_expr. */
static void exp_is_positive(void **state)
{
    static stair_line line;
    double z = 0.2, value[STAIR_MOST_NODES];
    stair_program p = parse("sign(exp(-exp(60*z1)))");
    (void)state;
    stair_program_values(&p, &z, value);
    stair_line_set(&line, &p, 0, 0);
    stair_line_fix(&line, &z);
    stair_bound b = stair_line_bound(&line, -0.05, 0.45);
    assert_true(value[p.output[0]] == 1);
    assert_true(b.value.low <= 1 && b.value.high >= 1);
}

/* As many points as the sign of f - y changes on a fine grid, and each is one. */
static void no_root_is_missed(void **state)
{
    static stair_line line;
    static stair_level_set set;
    (void)state;
    for (int k = 0; k < SMOOTH; k++)
        for (int i = 0; i < 40; i++) {
            stair_program p = parse(smooth[k]);
            double z[2], value[STAIR_MOST_NODES], before = NAN;
            int changes = 0, cell = i % 2;
            stair_rng_normals(6, STAIR_RNG_POINTS, (uint64_t)i, 2, z);
            stair_program_values(&p, z, value);
            double y = value[p.output[0]];
            stair_line_set(&line, &p, cell, 0);
            stair_line_fix(&line, z);
            stair_line_solve(&line, y, -3, 3, 0, NULL, &set);
            bool found = false;
            for (int j = 0; j < set.points; j++) {
                found |= fabs(set.at[j] - z[cell]) < 1e-9 * (1 + fabs(z[cell]));
                assert_close(stair_line_value(&line, set.at[j], NULL), y, 1e-9 * (1 + fabs(y)));
            }
            for (int j = 0; j < set.intervals; j++) found |= set.from[j] <= z[cell] && z[cell] <= set.to[j];
            if (!found && fabs(z[cell]) < 3)
                fail_msg("%s: z%d = %.17g of %.17g is missing", smooth[k], cell + 1, z[cell], y);
            for (int j = 0;
                 j <= 2000 && !set.intervals && !strstr(smooth[k], "sign") && !strstr(smooth[k], "^-3");
                 j++) {
                double now = stair_line_value(&line, -3 + 6.0 * (j + 0.37) / 2001, NULL) - y;
                changes += now * before < 0;
                before = now;
            }
            if (changes) assert_true(set.points >= changes);
        }
}

static void signs_of_products_are_boxes(void **state)
{
    (void)state;
    stair_program p = parse("sign(z1*z2^3/z3)"), q = parse("sign(z1+z2)"), r = parse("sign(abs(z1)-0.5)");
    double cut[8];
    for (int c = 0; c < 3; c++) {
        assert_true(stair_program_boxed(&p, c));
        assert_int_equal(stair_program_cuts(&p, c, -9, 9, 8, cut), 1);
        assert_close(cut[0], 0, 1e-300);
    }
    assert_false(stair_program_boxed(&q, 0));
    stair_program wave = parse("sign(sin(2*z1))"); /* bounds next to zero have its sign */
    double end[16], value[16];
    stair_line line;
    stair_line_set(&line, &wave, 0, 0);
    stair_line_fix(&line, (double[STAIR_FORMULA_CELLS]){0});
    assert_int_equal(stair_line_pieces(&line, -4, 4, 0, NULL, 15, end, value), 6);
    assert_int_equal(stair_program_cuts(&r, 0, -9, 9, 8, cut), 3);
    assert_close(cut[0], -0.5, 1e-15);
    assert_close(cut[2], 0.5, 1e-15);
}

/* Mass by erfc and mean by phi(3) / mass at a = 3; and consistency of both sides and of neighbours. */
static void truncated_normals(void **state)
{
    (void)state;
    stair_truncated t = stair_normal_between(3, INFINITY), u = stair_normal_between(-INFINITY, -3);
    assert_close(exp(t.logmass), 0.0013498980316300946, 1e-17);
    assert_close(t.mean, exp(-4.5) / sqrt(2 * M_PI) / (0.5 * erfc(3 / sqrt(2))), 1e-12);
    assert_close(u.mean, -t.mean, 1e-15);
    double places[] = {-40, -12, -3, -1, -0.2, -0.1, 0, 0.3, 2, 2.001, 7, 30, 31, -2, 1, 3};
    for (int i = 0; i + 2 < 16; i++) { /* an interval is the mixture of its parts */
        if (places[i] > places[i + 1] || places[i + 1] > places[i + 2]) continue;
        stair_truncated a = stair_normal_between(places[i], places[i + 1]),
                        b = stair_normal_between(places[i + 1], places[i + 2]),
                        both = stair_normal_between(places[i], places[i + 2]);
        double top = fmax(a.logmass, b.logmass), wa = exp(a.logmass - top), wb = exp(b.logmass - top);
        double mean = (wa * a.mean + wb * b.mean) / (wa + wb);
        double second = (wa * (a.variance + (a.mean - mean) * (a.mean - mean)) +
                         wb * (b.variance + (b.mean - mean) * (b.mean - mean))) /
                        (wa + wb);
        assert_close(both.logmass, top + log(wa + wb), 1e-12);
        assert_close(both.mean, mean, 1e-11 * (1 + fabs(mean)));
        assert_close(both.variance, second, 1e-10);
    }
}

static channel_case evaluated(const char *spec, size_t n, double precision)
{
    channel_case c = channel_case_open(spec, n);
    channel_case_draw(&c, 0.05, 7);
    channel_case_evaluate(&c, precision, "auto");
    return c;
}

/* The same link, by another rule of the channel. */
static void posteriors_agree_with_other_rules(void **state)
{
    static const char *const pairs[][2] = {{"square", "expr:z1^2"},
                                           {"square:tokens=3", "expr:z1^2,tokens=3"},
                                           {"square:tokens=2", "expr:z1_1^2;z1_2^2"},
                                           {"abs", "expr:sqrt(z1^2)"},
                                           {"product", "expr:2*z2*(z1/2)"},
                                           {"parity:indices=3", "expr:sign(z1)*sign(z2)*sign(z3)"},
                                           {"sign:noise=0.2", "expr:1-2*(z1<0),noise=0.2"}};
    (void)state;
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        channel_case a = evaluated(pairs[k][0], 8, 1e-5), b = evaluated(pairs[k][1], 8, 1e-5);
        for (size_t i = 0; i < a.n; i++) {
            double allowed = 4 * (a.error[i] + b.error[i]) + 1e-9;
            assert_close(a.logz[i], b.logz[i], allowed);
            for (size_t j = 0; j < a.size; j++)
                assert_close(a.g[i * a.size + j], b.g[i * a.size + j],
                             allowed * (1 + fabs(a.g[i * a.size + j])) * 10);
        }
        channel_case_close(&a);
        channel_case_close(&b);
    }
}

/* V a multiple of 1: the formula with Bessel functions, by its series and by its asymptotics (v = 0.004:
 * kappa up to 1000), against the integral along lines.  Any text of a sum of equal squares has it. */
static void a_sphere_in_closed_form(void **state)
{
    static const double variance[] = {0.7, 0.1, 0.004};
    static const char *const text[] = {"norm2", "expr:z1^2+z2^2", "expr:3-2*z1*z1-(z2^2+z2^2)",
                                       "expr:(z1^2+z2^2)/4"};
    (void)state;
    for (int k = 0; k < 12; k++) {
        double v = variance[k % 3];
        channel_case a = channel_case_open(text[k / 3], 8), b = channel_case_open(text[k / 3], 8);
        for (channel_case *c = &a; c; c = c == &a ? &b : NULL) {
            channel_case_draw(c, 0.05, 3);
            for (size_t i = 0; i < c->n * c->square; i++) c->cov[i] = i % 4 == 0 || i % 4 == 3 ? v : 0;
            channel_case_evaluate(c, 1e-6, c == &a ? "closed" : "lines");
        }
        for (size_t i = 0; i < a.n; i++) {
            double allowed = 4 * b.error[i];
            assert_true(b.error[i] < 1e-5 && a.error[i] < 1e-9);
            assert_close(a.logz[i], b.logz[i], allowed);
            for (size_t j = 0; j < 2; j++)
                assert_close(a.g[2 * i + j], b.g[2 * i + j], allowed * (1 / sqrt(v) + 4));
            for (size_t j = 0; j < 4; j++) assert_close(a.dg[4 * i + j], b.dg[4 * i + j], allowed * 4 / v);
        }
        channel_case_close(&a);
        channel_case_close(&b);
    }
}

/* Which formulas are sums of equal squares of all indices of a token. */
static void spheres_are_told_by_their_steps(void **state)
{
    static const struct {
        const char *text;
        bool round;
    } cases[] = {{"norm2", true},
                 {"norm2:indices=5,tokens=2", true},
                 {"expr:z1^2+z2^2", true},
                 {"expr:z2*z2+z1^2,tokens=3", true},
                 {"expr:1-(z1^2+z2^2)/4", true},
                 {"expr:z1_1^2+z2_1^2", true},
                 {"expr:z1^2+2*z2^2", false},
                 {"expr:z1^2-z2^2", false},
                 {"expr:z1^2+z2^2,indices=3", false},
                 {"expr:z1_1^2+z1_2^2", false},
                 {"expr:z1_1^2+z2_1^2,tokens=2", false},
                 {"expr:z1^2+z2^2+z1*z2", false},
                 {"expr:z1^2+z2^2+z1", false},
                 {"expr:z1^2+abs(z2)^2", false},
                 {"expr:z1^3+z2^3", false},
                 {"expr:z1^2;z2^2", false},
                 {"expr:z1^2+z2^2,noise=0.1", false}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        channel_case c = channel_case_open(cases[k].text, 1);
        if ((stair_model_closed(c.model) != NULL) != cases[k].round) fail_msg("%s", cases[k].text);
        channel_case_close(&c);
    }
}

/* Three labels of two votes, one of them a tie: every prior mean gives them a probability of one in all. */
static void ties_are_labels(void **state)
{
    (void)state;
    channel_case c = channel_case_open("committee:indices=2", 24);
    channel_case_draw(&c, 0.05, 4);
    for (size_t i = 0; i < c.n; i++) {
        c.label[i] = (double)(i % 3) - 1;
        if (i % 3 == 0) continue;
        memcpy(c.omega + i * 2, c.omega + (i - 1) * 2, 2 * sizeof(double));
        memcpy(c.cov + i * 4, c.cov + (i - 1) * 4, 4 * sizeof(double));
    }
    channel_case_evaluate(&c, 1e-6, "auto");
    for (size_t i = 0; i < c.n; i += 3)
        assert_close(exp(c.logz[i]) + exp(c.logz[i + 1]) + exp(c.logz[i + 2]), 1, 1e-5);
    channel_case_close(&c);
}

/* Errors at a precision that adaptive panels meet at once, against ten thousand times finer ones. */
static void errors_of_panels_are_honest(void **state)
{
    (void)state;
    channel_case a = channel_case_open("product", 200), b = channel_case_open("product", 200);
    channel_case_draw(&a, 0.01, 1);
    channel_case_draw(&b, 0.01, 1);
    channel_case_evaluate(&a, 1e-8, "auto");
    channel_case_evaluate(&b, 1e-12, "auto");
    for (size_t i = 0; i < a.n; i++) assert_true(fabs(a.logz[i] - b.logz[i]) <= 3 * a.error[i] + b.error[i]);
    channel_case_close(&a);
    channel_case_close(&b);
}

static void what_cannot_be_solved_is_refused(void **state)
{
    (void)state;
    channel_case c = channel_case_open("expr:z1^2+z2^2;z1*z2", 1);
    channel_case_draw(&c, 0.5, 1);
    assert_int_equal(channel_case_try(&c, 1e-3, "auto", 0, 1), STAIR_UNSUPPORTED);
    assert_non_null(strstr(stair_context_message(c.context), "noise"));
    channel_case_close(&c);
    c = channel_case_open("expr:z1^2", 1);
    channel_case_draw(&c, 0.5, 1);
    c.label[0] = -1;
    assert_int_equal(channel_case_try(&c, 1e-3, "auto", 0, 1), STAIR_BAD_INPUT);
    channel_case_close(&c);
}

static int open_context(void **state)
{
    (void)state;
    return stair_context_create(&context) != STAIR_OK;
}

static int close_context(void **state)
{
    (void)state;
    stair_context_destroy(&context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_mean_what_they_say),
        cmocka_unit_test(what_is_not_defined_stays_so),
        cmocka_unit_test(what_rests_is_bounded),
        cmocka_unit_test(errors_point_at_the_column),
        cmocka_unit_test(hostile_formulas_are_refused),
        cmocka_unit_test(exp_is_positive),
        cmocka_unit_test(zero_is_a_sign_of_what_only_jumps),
        cmocka_unit_test(gradients_are_derivatives),
        cmocka_unit_test(bounds_hold_everything),
        cmocka_unit_test(no_root_is_missed),
        cmocka_unit_test(signs_of_products_are_boxes),
        cmocka_unit_test(truncated_normals),
        cmocka_unit_test(posteriors_agree_with_other_rules),
        cmocka_unit_test(a_sphere_in_closed_form),
        cmocka_unit_test(spheres_are_told_by_their_steps),
        cmocka_unit_test(ties_are_labels),
        cmocka_unit_test(errors_of_panels_are_honest),
        cmocka_unit_test(what_cannot_be_solved_is_refused),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
