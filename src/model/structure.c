/* Finds the structure of a model: symmetries first, then the fibre of one label, then the special forms that
 * need both. */
#include "model/structure.h"

#include <math.h>
#include <stdlib.h>

#include "core/breaks.h"
#include "core/rng.h"
#include "model/last_pair.h"
#include "model/last_row.h"
#include "model/linear.h"

static const struct {
    int lines;        /* random ones along which kinks and jumps are looked for, */
    double reach;     /* so many deviations to both sides; */
    double tolerance; /* those of a link of size one that are weaker change no posterior that is asked for */
    double beside;    /* next to a place, above the error of that of a root, */
    double nearer;    /* and this part as far */
} tuning = {.lines = 32, .reach = 4, .tolerance = 1e-9, .beside = 1e-3, .nearer = 0.1};

/* Z = from + x along, of which y is the sum of all outputs, with weights that do not undo each other. */
typedef struct {
    const stair_model *model;
    double from[STAIR_MAX_CELLS], along[STAIR_MAX_CELLS], weight[STAIR_MAX_LABEL];
    double z[STAIR_MAX_CELLS * STAIR_BLOCK], out[STAIR_MAX_LABEL * STAIR_BLOCK];
} random_line;

/* Of up to STAIR_BLOCK points, which a link may take at once. */
static void along_line(void *user, int n, const double *x, double *y)
{
    random_line *line = user;
    const stair_model *model = line->model;
    int cells = model->info.indices * model->info.tokens;
    double *z = line->z, *out = line->out;
    bool block = model->ops->block;
    int apart = block ? STAIR_BLOCK : 1; /* coordinates of a point, and its outputs */
    for (int i = 0; i < n; i++)
        for (int k = 0; k < cells; k++)
            z[k * apart + (block ? i : i * cells)] = line->from[k] + x[i] * line->along[k];
    if (block) model->ops->block(model, n, z, out);
    for (int i = 0; i < n; i++) {
        if (!block) model->ops->forward(model, z + i * cells, out, NULL);
        y[i] = 0;
        for (int k = 0; k < model->info.label_size; k++)
            y[i] += line->weight[k] * out[k * apart + (block ? i : 0)];
    }
}

/* Whether y is not the closer on both sides of a place the nearer they are. */
static bool is_jump(random_line *line, double place)
{
    double x[4] = {place - tuning.beside, place + tuning.beside, place - tuning.nearer * tuning.beside,
                   place + tuning.nearer * tuning.beside},
           y[4];
    along_line(line, 4, x, y);
    return fabs(y[3] - y[2]) > 0.5 * fabs(y[1] - y[0]);
}

/* Looks for what says that a link that is not known to be analytic is not. */
static stair_status look_for_breaks(stair_context *context, stair_structure *s)
{
    enum { N = STAIR_BLOCK };
    const stair_model *model = s->model;
    double x[N], y[N], place[STAIR_MOST_BREAKS], step = 2 * tuning.reach / (N - 1);
    int cells = model->info.indices * model->info.tokens;
    if (!model->info.output_noisy || model->ops->smooth) return STAIR_OK;
    random_line *line = malloc(sizeof *line);
    if (!line) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_values curve = {.values = along_line, .user = line, .tolerance = tuning.tolerance};
    line->model = model;
    for (int i = 0; i < N; i++) x[i] = i * step - tuning.reach;
    for (int k = 0; k < tuning.lines && !s->jumps; k++) {
        stair_rng_normals(3, STAIR_RNG_POINTS, (uint64_t)k, cells, line->from);
        stair_rng_normals(4, STAIR_RNG_POINTS, (uint64_t)k, cells, line->along);
        stair_rng_normals(5, STAIR_RNG_POINTS, (uint64_t)k, model->info.label_size, line->weight);
        along_line(line, N, x, y);
        int count = stair_breaks_find(&curve, N, x[0], step, y, NULL, place);
        s->broken |= count > 0;
        for (int i = 0; i < count; i++) s->jumps |= is_jump(line, place[i]);
    }
    free(line);
    return STAIR_OK;
}

/* The fibre of the label of a random Z. */
static stair_status look_at_fibre(stair_context *context, stair_structure *s)
{
    const stair_model *model = s->model;
    double z[STAIR_MAX_CELLS], omega[STAIR_MAX_CELLS] = {0}, label[STAIR_MAX_LABEL];
    stair_fibre fibre;
    s->dim = -1;
    if (model->info.output_noisy) return STAIR_OK;
    STAIR_TRY(stair_fibre_create(context, model, &fibre));
    stair_rng_normals(1, STAIR_RNG_POINTS, 0, model->info.indices * model->info.tokens, z);
    model->ops->forward(model, z, NULL, label);
    if (stair_fibre_open(context, label, omega, &fibre) == STAIR_OK && !fibre.residuals) {
        s->dim = fibre.dim;
        s->free_rows = fibre.free_rows;
        s->charts = fibre.charts;
        s->angles = fibre.angles;
        s->mirrored = fibre.mirrored;
    }
    stair_fibre_destroy(&fibre);
    return STAIR_OK;
}

/* Of two layers or more: one is no committee. */
static bool is_committee(const stair_model *model)
{
    int layers;
    double share;
    return model->ops->committee && model->ops->committee(model, &layers, &share) && layers > 1;
}

static stair_status look_at(stair_context *context, stair_structure *s)
{
    const stair_model_info *info = &s->model->info;
    stair_symmetry_find(s->model, &s->symmetry);
    s->even = stair_symmetry_is_even(s->model);
    s->constant = stair_symmetry_is_complete(s->model);
    s->many_hidden = (info->indices - 1) * info->tokens > 2;
    STAIR_TRY(look_at_fibre(context, s));
    s->point = s->dim == 0 && s->mirrored && s->charts == 1;
    STAIR_TRY(stair_last_row_holds(context, s, &s->last_row));
    STAIR_TRY(stair_last_pair_holds(context, s, &s->last_pair, &s->by_shape));
    s->committee = is_committee(s->model);
    STAIR_TRY(look_for_breaks(context, s));
    return stair_linear_rank(context, s->model, &s->rank);
}

stair_status stair_structure_find(stair_context *context, const stair_model *model,
                                  const stair_structure **structure)
{
    stair_structure *found = atomic_load(&model->known->structure);
    if (!found) {
        stair_structure *made = calloc(1, sizeof *made);
        if (!made) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
        made->model = model;
        stair_context local = *context; /* what does not hold is no error of the caller's */
        stair_status status = look_at(&local, made);
        if (status != STAIR_OK) {
            free(made);
            return stair_fail(context, status, "%s", stair_context_message(&local));
        }
        if (atomic_compare_exchange_strong(&model->known->structure, &found, made))
            found = made;
        else
            free(made); /* another thread was faster; it found the same */
    }
    *structure = found;
    return STAIR_OK;
}

bool stair_structure_rows_even(const stair_structure *s, int rows)
{
    for (int i = 0; i < rows; i++)
        if (!s->symmetry.even[i]) return false;
    return true;
}
