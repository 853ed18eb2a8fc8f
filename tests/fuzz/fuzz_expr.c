/* Formulas of arbitrary bytes: refused with a column, or a program whose values lie within its bounds and
 * whose level sets have the label. */
#include "model/expr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A label of the program, looked for along each cell: points must be solutions, and be where bounds allow. */
static void check(const stair_program *p)
{
    double z[STAIR_FORMULA_CELLS], value[STAIR_MOST_NODES];
    stair_level_set *set = malloc(sizeof *set);
    stair_line *line = malloc(sizeof *line);
    for (int c = 0; c < p->cells; c++) z[c] = 0.7 * c - 0.9;
    stair_program_values(p, z, value);
    for (int c = 0; c < p->cells && set && line; c++) {
        double y = value[p->output[0]];
        if (!isfinite(y)) break;
        stair_line_set(line, p, c, 0);
        stair_line_fix(line, z);
        stair_bound b = stair_line_bound(line, z[c] - 0.25, z[c] + 0.25);
        double slack = 1e-9 * (1 + fabs(y));
        if (!b.empty && !(y >= b.value.low - slack && y <= b.value.high + slack)) abort();
        if (b.empty) abort();
        stair_line_solve(line, y, -32, 32, 0, NULL, set);
        if (set->points < 0 || set->points > STAIR_LINE_MOST) abort();
    }
    free(set);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stair_context *context;
    stair_program *program = malloc(sizeof *program);
    char *text = malloc(size + 1);
    if (!program || !text || stair_context_create(&context) != STAIR_OK) {
        free(program);
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    text[size] = 0;
    if (stair_program_parse(context, text, program) == STAIR_OK) {
        if (program->outputs < 1 || program->count > STAIR_MOST_NODES) abort();
        check(program);
    } else if (!strstr(stair_context_message(context), "column"))
        abort();
    stair_context_destroy(&context);
    free(program);
    free(text);
    return 0;
}
