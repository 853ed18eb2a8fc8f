/* The order of the levels, and what each is.
 *
 * Outputs that are not flat are solved from the last level backwards: the last one for a cell that no other
 * of them needs, and so on, among the choices for the one along which the label is steepest (the mean of
 * log |df/dz| at random Z, and half the logarithm of the variance given all other cells): there 1/|f'| stays
 * away from its singularities, and what is left to integrate over varies least. */
#include "channel/lines_levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "channel/normal.h"
#include "core/matrix.h"
#include "core/rng.h"

static const struct {
    int trials;   /* random Z for slopes, */
    int zeros;    /* and with one of them zero */
    double least; /* |df/dz| that counts as zero there */
    double wide;  /* half the width of the segment that cuts are looked for on */
    int nodes[3]; /* of a panel of an outer level, from coarse to fine */
    double apart; /* correlation below which a box level is not coupled */
} tuning = {.trials = 64, .zeros = 4, .least = 1e-12, .wide = 64, .nodes = {5, 7, 8}, .apart = 1e-14};

static void find_slopes(stair_lines *s)
{
    const stair_program *p = &s->formula->program;
    double z[STAIR_FORMULA_CELLS], value[STAIR_MOST_NODES], slope[STAIR_FORMULA_CELLS],
        cotangent[STAIR_MOST_OUTPUTS] = {0};
    for (int trial = 0; trial < tuning.trials; trial++) {
        stair_rng_normals(5, STAIR_RNG_POINTS, (uint64_t)trial, p->cells, z);
        stair_program_values(p, z, value);
        for (int k = 0; k < p->outputs; k++) {
            cotangent[k] = 1;
            stair_program_gradient(p, value, cotangent, slope);
            cotangent[k] = 0;
            for (int c = 0; c < p->cells; c++)
                s->steep[k][c] += log(fmax(tuning.least, fabs(slope[c]))) / tuning.trials;
        }
    }
}

/* Along which cells the first output does not change, at random Z. */
static void find_level(stair_lines *s)
{
    const stair_program *p = &s->formula->program;
    double z[STAIR_FORMULA_CELLS], value[STAIR_MOST_NODES], slope[STAIR_FORMULA_CELLS],
        cotangent[STAIR_MOST_OUTPUTS] = {1};
    for (int trial = 0; trial < STAIR_LINES_TRIALS; trial++) {
        stair_rng_normals(7, STAIR_RNG_POINTS, (uint64_t)trial, p->cells, z);
        stair_program_values(p, z, value);
        stair_program_gradient(p, value, cotangent, slope);
        s->level[trial] = 0;
        for (int c = 0; c < p->cells; c++)
            if (fabs(slope[c]) <= tuning.least) s->level[trial] |= 1u << c;
    }
}

bool stair_lines_other(stair_lines *s)
{
    const stair_program *p = &s->formula->program;
    uint32_t all = (1u << s->n) - 1;
    if (p->outputs != 1 || s->noise > 0 || s->kind[s->n - 1] != STAIR_LEVEL_SOLVE) return false;
    uint32_t still = s->still | 1u << s->cell[s->n - 1];
    for (int trial = 0; trial < STAIR_LINES_TRIALS; trial++)
        if ((s->level[trial] & still) == still && s->level[trial] != all) {
            s->still = still;
            return true;
        }
    return false;
}

/* Where a product has a factor zero it does not change with the others. */
static void find_factors(stair_lines *s)
{
    const stair_program *p = &s->formula->program;
    double z[STAIR_FORMULA_CELLS], value[STAIR_MOST_NODES], slope[STAIR_FORMULA_CELLS],
        cotangent[STAIR_MOST_OUTPUTS] = {0};
    for (int k = 0; k < p->outputs; k++)
        for (int d = 0; d < p->cells; d++) s->factor[k][d] = (1u << p->cells) - 1;
    for (int trial = 0; trial < tuning.zeros; trial++)
        for (int c = 0; c < p->cells; c++) {
            stair_rng_normals(6, STAIR_RNG_POINTS, (uint64_t)trial, p->cells, z);
            z[c] = 0;
            stair_program_values(p, z, value);
            for (int k = 0; k < p->outputs; k++) {
                cotangent[k] = 1;
                stair_program_gradient(p, value, cotangent, slope);
                cotangent[k] = 0;
                for (int d = 0; d < p->cells; d++)
                    if (d == c || !(fabs(slope[d]) <= tuning.least)) s->factor[k][d] &= ~(1u << c);
            }
        }
}

stair_status stair_lines_create(stair_context *context, const stair_model *model, stair_lines **lines)
{
    stair_lines *s = *lines = calloc(1, sizeof *s);
    if (!s) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    s->model = model;
    s->formula = model->ops->program(model);
    const stair_program *p = &s->formula->program;
    s->n = p->cells;
    s->noise = model->info.output_noisy ? model->info.noise : 0;
    for (int c = 0; c < p->cells; c++) {
        s->cuts[c] = stair_program_cuts(p, c, -tuning.wide, tuning.wide, STAIR_LINES_CUTS, s->cut[c]);
        s->boxed[c] = s->cuts[c] >= 0 && stair_program_boxed(p, c);
        if (s->cuts[c] < 0) s->cuts[c] = 0;
    }
    find_slopes(s);
    find_factors(s);
    find_level(s);
    s->panel.count = STAIR_LINES_PANEL;
    stair_gauss_legendre(s->panel.count, s->panel.node, s->panel.weight);
    for (int k = 0; k < 3; k++) {
        s->rule[k].count = tuning.nodes[k];
        stair_gauss_legendre(s->rule[k].count, s->rule[k].node, s->rule[k].weight);
        for (int i = 0; i < s->rule[k].count; i++) s->rule[k].log_weight[i] = log(s->rule[k].weight[i]);
    }
    stair_lines_end_nodes(s);
    return STAIR_OK;
}

void stair_lines_destroy(stair_lines **lines)
{
    free(*lines);
    *lines = NULL;
}

/* cov (n, n) of the cells in the order of the program. */
static void cell_covariance(const stair_lines *s, const double *variance, double *cov)
{
    const stair_program *p = &s->formula->program;
    int rows = s->model->info.indices;
    for (int a = 0; a < s->n; a++)
        for (int b = 0; b < s->n; b++)
            cov[a * s->n + b] = p->token[a] == p->token[b] ? variance[p->row[a] * rows + p->row[b]] : 0;
}

static bool coupled(int n, const double *cov, int c)
{
    for (int k = 0; k < n; k++)
        if (k != c && fabs(cov[c * n + k]) > tuning.apart * sqrt(cov[c * (n + 1)] * cov[k * (n + 1)]))
            return true;
    return false;
}

/* The best cell for output k among those free and needed by no other output that is left. */
static int best_cell(const stair_lines *s, const double *spread, const bool *taken, const bool *left, int k,
                     double *score)
{
    const stair_program *p = &s->formula->program;
    int best = -1;
    for (int c = 0; c < s->n; c++) {
        bool wanted =
            p->step[p->output[k]].needs >> c & 1 && !taken[c] && !s->boxed[c] && !(s->still >> c & 1);
        for (int j = 0; j < p->outputs && wanted; j++)
            if (j != k && left[j] && p->step[p->output[j]].needs >> c & 1) wanted = false;
        double here = s->steep[k][c] + spread[c];
        if (!wanted || (best >= 0 && here <= *score)) continue;
        best = c;
        *score = here;
    }
    return best;
}

/* Puts a cell at the last place that is left. */
static void place(stair_lines *s, int *last, int cell, stair_level_kind kind, int output, bool *taken)
{
    s->cell[*last] = cell;
    s->kind[*last] = kind;
    s->output[*last] = output;
    taken[cell] = true;
    --*last;
}

static stair_status place_solved(stair_context *context, stair_lines *s, const double *spread, int *last,
                                 bool *taken)
{
    const stair_program *p = &s->formula->program;
    bool left[STAIR_MOST_OUTPUTS];
    int count = 0;
    for (int k = 0; k < p->outputs; k++) count += left[k] = !p->step[p->output[k]].flat;
    for (; count; count--) {
        double top = -INFINITY;
        int output = -1, cell = -1;
        for (int k = 0; k < p->outputs; k++) {
            double score = -INFINITY;
            int c = left[k] ? best_cell(s, spread, taken, left, k, &score) : -1;
            if (c >= 0 && score > top) {
                top = score;
                output = k;
                cell = c;
            }
        }
        if (output < 0)
            return stair_fail(context, STAIR_UNSUPPORTED,
                              "%d outputs of the formula cannot be solved for one coordinate at a time: each "
                              "needs one that no other output has, or one that is solved before; noise=... "
                              "on y makes it possible",
                              count);
        place(s, last, cell, STAIR_LEVEL_SOLVE, output, taken);
        left[output] = false;
    }
    return STAIR_OK;
}

/* The last level with noise, or of flat outputs: the cell that an output is steepest or no box in; with
 * noise, where two levels would be left in any case, a box, over which the likelihood is constant. */
static int last_cell(const stair_lines *s, const double *spread, bool box)
{
    const stair_program *p = &s->formula->program;
    double top = -INFINITY;
    int best = 0;
    for (int c = 0; c < s->n; c++)
        for (int k = 0; k < p->outputs; k++) {
            double here = s->steep[k][c] + spread[c] + (s->boxed[c] == box ? 100 : 0);
            if (here <= top) continue;
            top = here;
            best = c;
        }
    return best;
}

stair_status stair_lines_plan(stair_context *context, stair_lines *s, int t, const double *label,
                              const double *omega, const double *variance)
{
    enum { MOST = STAIR_FORMULA_CELLS * STAIR_FORMULA_CELLS };
    double cov[MOST] = {0}, lower[MOST], inverse[MOST], spread[STAIR_FORMULA_CELLS], permuted[MOST], half;
    bool taken[STAIR_FORMULA_CELLS] = {false};
    int n = s->n, last = n - 1;
    const stair_formula *f = s->formula;
    cell_covariance(s, variance, cov);
    if (!stair_matrix_whiten(n, cov, lower, inverse, &half))
        return stair_fail(context, STAIR_BAD_INPUT, "covariance is not positive definite");
    for (int c = 0; c < n; c++) { /* 1/2 log of the variance given all others */
        double precision = 0;
        for (int k = 0; k < n; k++) precision += inverse[k * n + c] * inverse[k * n + c];
        spread[c] = -0.5 * log(precision);
    }
    int c = last_cell(s, spread, s->noise > 0 && !f->flat && n > 2);
    if (s->noise > 0 && !f->flat && !(s->boxed[c] && n > 2))
        place(s, &last, c, STAIR_LEVEL_NOISY, 0, taken);
    else if (f->flat || s->noise > 0) {
        place(s, &last, c, s->boxed[c] && !coupled(n, cov, c) ? STAIR_LEVEL_BOX : STAIR_LEVEL_PIECES, 0,
              taken);
    } else
        STAIR_TRY(place_solved(context, s, spread, &last, taken));
    s->outers = 0;
    s->poles = 0;
    for (int a = last + 1; a < n; a++)
        if (s->kind[a] == STAIR_LEVEL_SOLVE) s->poles |= s->factor[s->output[a]][s->cell[a]];
    for (int pass = 0; pass < 2; pass++) /* coupled cells next to the last, boxes before all */
        for (c = n - 1; c >= 0; c--) {
            bool box = s->boxed[c] && !coupled(n, cov, c);
            if (taken[c] || box != (pass == 1)) continue;
            s->outers += !box;
            place(s, &last, c, box ? STAIR_LEVEL_BOX : STAIR_LEVEL_OUTER, 0, taken);
        }
    for (int a = 0; a < n; a++) {
        s->mean[a] = omega[stair_formula_cell(s->model, f, t, s->cell[a])];
        for (int b = 0; b < n; b++) permuted[a * n + b] = cov[s->cell[a] * n + s->cell[b]];
    }
    stair_matrix_whiten(n, permuted, s->lower, s->inverse, &half);
    for (int a = 0; a < n; a++) stair_line_set(&s->line[a], &f->program, s->cell[a], s->output[a]);
    s->label = label + t * f->program.outputs;
    return STAIR_OK;
}
