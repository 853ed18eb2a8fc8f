/* A branch: which directions are learned, and the overlap on them in the coordinates y = log Qhat, where
 * every symmetric matrix is a legal overlap. */
#include "asymptotics/branch.h"
#include "asymptotics/effort.h"

#include <math.h>
#include <string.h>

#include "core/matrix.h"
#include "core/spectral.h"

static const struct {
    double tolerance; /* of log Qhat, times the precision, where none is given */
    double
        unlearned; /* overlaps below this part of the largest are those of directions that are not learned */
    double inside; /* distance of an overlap from 0 and 1, at least */
    double most; /* log Qhat of what is recovered in full while other directions are not: V stays positive */
} tuning = {.tolerance = 0.01, .unlearned = 1e-6, .inside = 1e-15, .most = 27.6};

static double overlap_of(double y, double unused)
{
    (void)unused;
    return 1 / (1 + exp(-fmin(y, tuning.most)));
}

/* log(q / (1 - q)) */
static double log_odds(double q, double inside)
{
    double share = fmin(fmax(q, inside), 1 - inside);
    return log(share / (1 - share));
}

void stair_branch_overlap(const stair_branch *b, double *q)
{
    double inside[STAIR_SQUARE];
    stair_spectral_map(b->learned, b->y, overlap_of, 0, inside);
    stair_spectral_lift(b->model->info.indices, b->learned, b->axes, inside, q);
    stair_symmetrise(&b->structure->symmetry, q);
}

void stair_branch_f(const stair_branch *b, const stair_average *average, int r, double *f)
{
    stair_average_f(average, r, f);
    for (int i = 0; i < average->indices * average->indices; i++) f[i] *= b->model->blocks;
}

static void rests(const stair_branch *b, double *values) /* eigenvalues of 1 - Q, exact for small ones */
{
    double vectors[STAIR_SQUARE];
    stair_matrix_eigen(b->learned, b->y, values, vectors);
    for (int k = 0; k < b->learned; k++) values[k] = 1 / (1 + exp(values[k]));
}

double stair_branch_least(const stair_branch *b)
{
    double values[STAIR_MAX_INDICES], least = 1;
    rests(b, values);
    for (int k = 0; k < b->learned; k++) least = fmin(least, values[k]);
    return least;
}

double stair_branch_largest(const stair_branch *b)
{
    double values[STAIR_MAX_INDICES], most = 0;
    rests(b, values);
    for (int k = 0; k < b->learned; k++) most = fmax(most, values[k]);
    return most;
}

double stair_branch_mean(const stair_branch *b)
{
    double values[STAIR_MAX_INDICES], sum = 0;
    rests(b, values);
    for (int k = 0; k < b->learned; k++) sum += values[k];
    return b->learned ? sum / b->learned : 1;
}

void stair_branch_start(stair_branch *b)
{
    int p = b->model->info.indices;
    b->learned = 0;
    b->kernel = p;
    for (int i = 0; i < p * p; i++) b->rest[i] = i % (p + 1) == 0;
}

static bool is_diagonal(int p, const double *x)
{
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++)
            if (i != j && x[i * p + j] != 0) return false;
    return true;
}

/* Splits R^P by the eigenvectors of x + (what is learned already). */
void stair_branch_learn(stair_branch *b, const double *x, double amount)
{
    int p = b->model->info.indices, kept = 0, lost = 0;
    double q[STAIR_SQUARE], sum[STAIR_SQUARE], values[STAIR_MAX_INDICES], vectors[STAIR_SQUARE], top = 0;
    stair_branch_overlap(b, q);
    for (int i = 0; i < p; i++) top = fmax(top, x[i * (p + 1)]);
    if (top > 0 && !is_diagonal(p, x)) { /* along combinations of rows more than any entry */
        stair_matrix_eigen(p, x, values, vectors);
        top = fmax(top, values[p - 1]);
    }
    for (int i = 0; i < p * p; i++) sum[i] = q[i] + (top > 0 ? amount * x[i] / top : 0);
    stair_matrix_eigen(p, sum, values, vectors);
    double floor_value = tuning.unlearned * amount;
    for (int k = 0; k < p; k++) kept += values[k] > floor_value;
    b->learned = kept;
    b->kernel = p - kept;
    kept = 0;
    for (int k = 0; k < p; k++) {
        bool in = values[k] > floor_value;
        for (int i = 0; i < p; i++)
            *(in ? &b->axes[i * b->learned + kept] : &b->rest[i * b->kernel + lost]) = vectors[i * p + k];
        kept += in;
        lost += !in;
    }
    double inside[STAIR_SQUARE];
    stair_spectral_project(p, b->learned, b->axes, sum, inside);
    stair_spectral_map(b->learned, inside, log_odds, tuning.inside, b->y);
}

void stair_branch_place(stair_branch *b, const double *q)
{
    double top = 0;
    for (int i = 0; i < b->model->info.indices; i++) top = fmax(top, q[i * (b->model->info.indices + 1)]);
    stair_branch_start(b);
    if (top > 0) stair_branch_learn(b, q, top);
}

stair_status stair_branch_prepare(stair_branch *b, stair_context *context, const stair_model *model,
                                  const stair_asymptotics_options *o)
{
    memset(b, 0, sizeof *b);
    b->context = context;
    b->model = model;
    STAIR_TRY(stair_structure_find(context, model, &b->structure));
    b->fine = stair_effort_fine(o);
    b->coarse = stair_effort_coarse(b->structure, o);
    b->side = o->side;
    b->tolerance = o->tolerance > 0 ? o->tolerance : tuning.tolerance * o->precision;
    b->perfect = o->perfect;
    b->most_steps = o->max_iterations;
    b->patience = stair_effort_patience(o);
    stair_context_allow(context, b->patience);
    stair_branch_start(b);
    return STAIR_OK;
}

bool stair_branch_sharpen(stair_branch *b, const stair_branch_point *point, double error, double wanted)
{
    if (!(error > wanted) || !point->random) return false; /* equidistant nodes are no samples */
    return point->rule->sharpen(&b->fine, point->bias, error, wanted);
}
