/* Models whose link is a program (model/expr.h): what `expr` and the zoo share.
 *
 *   y_k = f_k(Z) for a formula that names tokens, else y_mk = f_k(Z_1m, Z_2m ...) for every token m by itself
 */
#ifndef STAIR_MODEL_FORMULA_H
#define STAIR_MODEL_FORMULA_H

#include "model/expr.h"
#include "model/model.h"

typedef struct stair_formula {
    stair_program program;
    int copies; /* tokens that the program is applied to one by one; 1 where it names tokens */
    bool flat;  /* all outputs only jump: labels are discrete */
    bool round; /* y_m = shift + scale sum_k Z_km^2 over all indices, two at least */
    double shift, scale;
} stair_formula;

/* Fills info, ranks and state of a model from the text of its link; rows: at least so many indices. */
stair_status stair_formula_create(stair_context *context, stair_model *model, const char *text, int rows);

/* Operations of such a model, for its table. */
void stair_formula_forward(const stair_model *model, const double *z, double *y, double *label);
stair_status stair_formula_label(stair_context *context, const stair_model *model, const double *y,
                                 double *label);
void stair_formula_gradient(const stair_model *model, const double *z, const double *cotangent,
                            double *gradient);
const stair_formula *stair_formula_of(const stair_model *model);
extern const stair_batch_ops stair_formula_batch;

/* Of a label that is a sum of squares: formula_closed.c. */
extern const stair_closed_ops stair_formula_closed;

#define STAIR_FORMULA_OPS                                                                                    \
    .closed = &stair_formula_closed, .forward = stair_formula_forward,                                       \
    .label_from_output = stair_formula_label, .label_is_output = true, .gradient = stair_formula_gradient,   \
    .batch = &stair_formula_batch, .program = stair_formula_of

/* Numbers of Z and of the label that copy t of the program has. */
static inline int stair_formula_cell(const stair_model *model, const stair_formula *f, int t, int cell)
{
    return f->program.row[cell] * model->info.tokens + (f->copies > 1 ? t : f->program.token[cell]);
}

#endif
