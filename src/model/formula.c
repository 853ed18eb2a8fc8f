/* Forward, gradient and batches of a program. */
#include "model/formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"

static const struct {
    int trials; /* random Z at which a formula must be finite */
} tuning = {.trials = 16};

const stair_formula *stair_formula_of(const stair_model *model)
{
    return model->state;
}

static void gather(const stair_model *model, const stair_formula *f, int t, const double *z, double *cell)
{
    for (int c = 0; c < f->program.cells; c++) cell[c] = z[stair_formula_cell(model, f, t, c)];
}

void stair_formula_forward(const stair_model *model, const double *z, double *y, double *label)
{
    const stair_formula *f = model->state;
    const stair_program *p = &f->program;
    double cell[STAIR_FORMULA_CELLS], value[STAIR_MOST_NODES];
    for (int t = 0; t < f->copies; t++) {
        gather(model, f, t, z, cell);
        stair_program_values(p, cell, value);
        for (int k = 0; k < p->outputs; k++) {
            if (y) y[t * p->outputs + k] = value[p->output[k]];
            if (label) label[t * p->outputs + k] = value[p->output[k]];
        }
    }
}

stair_status stair_formula_label(stair_context *context, const stair_model *model, const double *y,
                                 double *label)
{
    memcpy(label, y, sizeof(double) * (size_t)model->info.label_size);
    return stair_label_check(context, model, label);
}

void stair_formula_gradient(const stair_model *model, const double *z, const double *cotangent,
                            double *gradient)
{
    const stair_formula *f = model->state;
    const stair_program *p = &f->program;
    double cell[STAIR_FORMULA_CELLS], value[STAIR_MOST_NODES], slope[STAIR_FORMULA_CELLS];
    memset(gradient, 0, sizeof(double) * (size_t)(model->info.indices * model->info.tokens));
    for (int t = 0; t < f->copies; t++) {
        gather(model, f, t, z, cell);
        stair_program_values(p, cell, value);
        stair_program_gradient(p, value, cotangent + t * p->outputs, slope);
        for (int c = 0; c < p->cells; c++) gradient[stair_formula_cell(model, f, t, c)] += slope[c];
    }
}

/* ---- eight at a time: cells and values stand in blocks, of which the first eight are used --------- */

static size_t batch_scratch(const stair_model *model)
{
    const stair_formula *f = model->state;
    return (size_t)(f->program.cells + f->program.count) * STAIR_BLOCK;
}

static void lane_gradient(const stair_model *model, const stair_formula *f, int t, int lane,
                          const double *value, const double *pull, double *grad_z)
{
    const stair_program *p = &f->program;
    double one[STAIR_MOST_NODES], slope[STAIR_FORMULA_CELLS], cotangent[STAIR_MOST_OUTPUTS];
    for (int k = 0; k < p->count; k++) one[k] = value[k * STAIR_BLOCK + lane];
    for (int k = 0; k < p->outputs; k++) cotangent[k] = pull[k * STAIR_GROUP + lane];
    stair_program_gradient(p, one, cotangent, slope);
    for (int c = 0; c < p->cells; c++)
        grad_z[stair_formula_cell(model, f, t, c) * STAIR_GROUP + lane] += slope[c];
}

static void batch_run(const stair_model *model, const double *z, const double *target, const double *weight,
                      const double *cotangent, double *scratch, double *y, double *loss, double *grad_z)
{
    const stair_formula *f = model->state;
    const stair_program *p = &f->program;
    double *cell = scratch, *value = scratch + (size_t)p->cells * STAIR_BLOCK;
    double pull[STAIR_MOST_OUTPUTS * STAIR_GROUP];
    size_t row = STAIR_GROUP * sizeof(double);
    if (grad_z) memset(grad_z, 0, row * (size_t)(model->info.indices * model->info.tokens));
    if (loss) memset(loss, 0, row);
    for (int t = 0; t < f->copies; t++) {
        for (int c = 0; c < p->cells; c++)
            memcpy(cell + c * STAIR_BLOCK, z + stair_formula_cell(model, f, t, c) * STAIR_GROUP, row);
        stair_program_block(p, STAIR_GROUP, cell, value);
        for (int k = 0; k < p->outputs; k++) {
            size_t at = (size_t)(t * p->outputs + k) * STAIR_GROUP;
            memcpy(y + at, value + p->output[k] * STAIR_BLOCK, row);
            if (cotangent) memcpy(pull + k * STAIR_GROUP, cotangent + at, row);
            for (int i = 0; i < STAIR_GROUP && target; i++) {
                double gap = y[at + (size_t)i] - target[at + (size_t)i];
                if (loss) loss[i] += weight[i] * gap * gap;
                if (!cotangent) pull[k * STAIR_GROUP + i] = 2 * weight[i] * gap;
            }
        }
        for (int i = 0; i < STAIR_GROUP && grad_z; i++) lane_gradient(model, f, t, i, value, pull, grad_z);
    }
}

const stair_batch_ops stair_formula_batch = {.scratch = batch_scratch, .run = batch_run};

/* ---- creation ------------------------------------------------------------------------------------- */

/* The label has to be finite where data are. */
static stair_status try_it(stair_context *context, const stair_model *model)
{
    double z[STAIR_MAX_CELLS], y[STAIR_MAX_LABEL];
    for (int trial = 0; trial < tuning.trials; trial++) {
        stair_rng_normals(1, STAIR_RNG_POINTS, (uint64_t)trial, model->info.indices * model->info.tokens, z);
        stair_formula_forward(model, z, y, NULL);
        for (int k = 0; k < model->info.label_size; k++)
            if (!isfinite(y[k]))
                return stair_fail(
                    context, STAIR_BAD_INPUT,
                    "formula: output %d is %s at a standard normal Z; it has to be a number for "
                    "almost every Z",
                    k + 1, isnan(y[k]) ? "not defined" : "infinite");
    }
    return STAIR_OK;
}

static stair_status check_sizes(stair_context *context, const stair_model *model, const stair_program *p)
{
    const stair_model_info *info = &model->info;
    if (p->tokens > info->tokens)
        return stair_fail(context, STAIR_BAD_INPUT, "the formula names token %d, of tokens=%d", p->tokens,
                          info->tokens);
    if (!p->tokens && p->outputs * info->tokens > STAIR_MAX_LABEL)
        return stair_fail(context, STAIR_BAD_INPUT, "%d outputs for %d tokens are too many", p->outputs,
                          info->tokens);
    return STAIR_OK;
}

stair_status stair_formula_create(stair_context *context, stair_model *model, const char *text, int rows)
{
    stair_formula *f = model->state = calloc(1, sizeof *f);
    stair_model_info *info = &model->info;
    if (!f) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    STAIR_TRY(stair_program_parse(context, text, &f->program));
    STAIR_TRY(check_sizes(context, model, &f->program));
    info->layers = 1;
    info->indices = model->ranks[0] = f->program.rows > rows ? f->program.rows : rows;
    f->copies = f->program.tokens ? 1 : info->tokens;
    info->label_size = f->program.outputs * f->copies;
    f->flat = true;
    for (int k = 0; k < f->program.outputs; k++) f->flat &= f->program.step[f->program.output[k]].flat;
    f->round = f->program.outputs == 1 && f->copies == info->tokens && f->program.cells == info->indices &&
               info->indices > 1 && stair_program_round(&f->program, 0, &f->shift, &f->scale);
    return try_it(context, model);
}
