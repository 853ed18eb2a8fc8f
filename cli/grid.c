/* Models from --set, and the checkpoint of finished points.
 *
 * The checkpoint is one file, rewritten whole after each point (io/checkpoint.h: checksum, fingerprint of
 * the request, the one before is kept).  Rows come back bit for bit, so a resumed run prints the same bytes.
 * Ranks that compute units by themselves keep each in a file of its own, FILE.UNIT; whoever resumes, on any
 * number of ranks, reads both. */
#include "grid.h"
#include "number.h"
#include "spec.h"
#include "io/checkpoint.h"
#include "training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_MODELS 100000 /* of one grid */

static stair_status multiply(cli_grid *grid, const char *key, char **values, size_t count)
{
    stair_context *context = grid->request->context;
    if (count * grid->models > MOST_MODELS)
        return stair_fail(context, STAIR_BAD_INPUT, "--set makes more than %d models", MOST_MODELS);
    char **made = calloc(count * grid->models, sizeof *made);
    if (!made) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    bool failed = false;
    for (size_t m = 0; m < grid->models; m++)
        for (size_t v = 0; v < count; v++)
            failed |= !(made[m * count + v] = spec_with(grid->specs[m], key, values[v]));
    for (size_t m = 0; m < grid->models; m++) free(grid->specs[m]);
    free(grid->specs);
    grid->specs = made;
    grid->models *= count;
    return failed ? stair_fail(context, STAIR_NO_MEMORY, "--set %s: out of memory", key) : STAIR_OK;
}

/* key=LIST: words between commas, or from:to:step. */
static stair_status set_key(cli_grid *grid, const char *item)
{
    stair_context *context = grid->request->context;
    const char *equals = strchr(item, '=');
    if (!equals || equals == item || !equals[1])
        return stair_fail(context, STAIR_BAD_INPUT, "--set needs KEY=V1,V2,..., not '%.80s'", item);
    char text[SPEC_MOST], *values[SPEC_MOST / 2], key[64];
    size_t count = 0;
    snprintf(key, sizeof key, "%.*s", (int)(equals - item), item);
    if (strchr(equals, ':')) {
        static const stair_option number = {.name = "set", .low = -1e300, .high = 1e300};
        option_list list = {0};
        stair_status status = option_list_read(context, &number, equals + 1, &list);
        size_t used = 0;
        char digits[NUMBER_MOST];
        text[0] = 0;
        for (size_t i = 0; status == STAIR_OK && i < list.count && used < sizeof text; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "," : "",
                                     number_text(list.values[i], digits));
        free(list.values);
        STAIR_TRY(status);
        if (used >= sizeof text)
            return stair_fail(context, STAIR_BAD_INPUT, "--set %s: too many values", key);
    } else if (snprintf(text, sizeof text, "%s", equals + 1) >= (int)sizeof text)
        return stair_fail(context, STAIR_BAD_INPUT, "--set %s: too many values", key);
    for (char *word = text, *end; word; word = end) {
        end = word + spec_item_length(word);
        end = *end ? (*end = 0, end + 1) : NULL;
        if (*word) values[count++] = word;
    }
    if (!count) return stair_fail(context, STAIR_BAD_INPUT, "--set %s: no values", key);
    return multiply(grid, key, values, count);
}

static stair_status make_models(cli_grid *grid)
{
    cli_request *request = grid->request;
    grid->models = 1;
    grid->specs = calloc(1, sizeof *grid->specs);
    if (grid->specs) grid->specs[0] = malloc(SPEC_MOST);
    if (!grid->specs || !grid->specs[0])
        return stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    snprintf(grid->specs[0], SPEC_MOST, "%s", stair_model_spec(request->model));
    for (int i = 0; i < request->options.set.count; i++)
        STAIR_TRY(set_key(grid, request->options.set.items[i]));
    grid->indices = calloc(grid->models, sizeof *grid->indices);
    if (!grid->indices) return stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    for (size_t m = 0; m < grid->models; m++) { /* refuse the last one before computing the first */
        stair_model *model;
        STAIR_TRY(stair_model_create(request->context, grid->specs[m], &model));
        stair_model_info info = stair_model_describe(model);
        stair_model_destroy(&model);
        grid->indices[m] = info.indices;
        if (info.indices > grid->most_indices) grid->most_indices = info.indices;
        if (info.row_layers > grid->most_layers) grid->most_layers = info.row_layers;
    }
    return STAIR_OK;
}

/* The value of an option, all of it. */
static uint64_t mark_option(uint64_t mark, const option_entry *entry, const cli_options *options)
{
    const char *base = (const char *)options + entry->base, *field = base + entry->is->offset;
    const option_list *list = (const option_list *)field;
    const option_texts *texts = (const option_texts *)field;
    char number[64];
    switch (option_many(entry)) {
    case OPTION_LIST:
        return stair_mark_bytes(mark, list->values, list->count * sizeof *list->values);
    case OPTION_TEXTS:
        for (int i = 0; i < texts->count; i++) mark = stair_mark_text(mark, texts->items[i]);
        return mark;
    case OPTION_ONE:
        break;
    }
    if (entry->is->kind == STAIR_OPTION_TEXT || entry->is->kind == STAIR_OPTION_PATH) {
        const char *text = *(const char *const *)field;
        return stair_mark_text(mark, text ? text : "");
    }
    stair_option_get(entry->is, base, number, sizeof number);
    return stair_mark_text(mark, number);
}

/* Whatever decides the numbers: command, models, options that say what to compute. */
static uint64_t fingerprint(const cli_grid *grid)
{
    const cli_request *request = grid->request;
    uint64_t mark = stair_mark_begin(request->command->name);
    for (size_t m = 0; m < grid->models; m++) mark = stair_mark_text(mark, grid->specs[m]);
    for (const char *const *name = request->command->options; *name; name++) {
        option_entry entry = option_of(&request->parse.scope, *name);
        if (entry.is->how) continue;
        mark = stair_mark_text(mark, *name);
        mark = mark_option(mark, &entry, &request->options);
    }
    return mark;
}

stair_status grid_damaged(const cli_grid *grid)
{
    return stair_fail(grid->request->context, STAIR_FAILED,
                      "%s: checkpoint damaged; remove it to start again", grid->request->options.checkpoint);
}

bool grid_whole(double value, double least, double most)
{
    return value >= least && value <= most && value == (double)(int64_t)value;
}

bool grid_known(const cli_grid *grid, size_t row)
{
    return row % grid->unit < grid->known[row / grid->unit];
}

/* Rows that are complete, without a gap. */
static size_t count_done(const cli_grid *grid)
{
    size_t done = 0;
    while (done < grid->rows && grid_known(grid, done)) done++;
    return done;
}

/* Rows from `first` on, as many as there are in the file, at most `most`. */
static stair_status load_rows(cli_grid *grid, stair_context *context, const char *path, size_t first,
                              size_t most, size_t *rows)
{
    stair_state state;
    bool found;
    uint64_t done = 0;
    STAIR_TRY(stair_state_load(context, path, grid->fingerprint, &state, &found));
    if (found) {
        stair_state_get(&state, &done, sizeof done);
        if (done <= most)
            stair_state_get(&state, grid_row(grid, first), (size_t)done * grid->row_size * sizeof(double));
        bool bad = state.failed || done > most || state.at != state.size;
        stair_state_free(&state);
        if (bad)
            return stair_fail(context, STAIR_FAILED, "%s: checkpoint damaged; remove it to start again",
                              path);
    }
    *rows = (size_t)done;
    return STAIR_OK;
}

/* The file of all rows so far, and those of units that ranks computed by themselves. */
static stair_status load(cli_grid *grid, stair_context *context)
{
    const char *path = grid->request->options.checkpoint;
    size_t done, units = grid->rows / grid->unit;
    STAIR_TRY(load_rows(grid, context, path, 0, grid->rows, &done));
    for (size_t u = 0; u < units; u++) {
        size_t rows = 0, before = done > u * grid->unit ? done - u * grid->unit : 0;
        grid->known[u] = (uint32_t)(before < grid->unit ? before : grid->unit);
        if (grid->known[u] == grid->unit) continue;
        char *piece = stair_state_name(path, u);
        if (!piece) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
        stair_status status = STAIR_OK;
        if (!access(piece, F_OK)) status = load_rows(grid, context, piece, u * grid->unit, grid->unit, &rows);
        if (status == STAIR_OK && rows > grid->known[u]) grid->known[u] = (uint32_t)rows;
        free(piece);
        STAIR_TRY(status);
    }
    return STAIR_OK;
}

/* The first rank reads for all. */
static stair_status resume(cli_grid *grid)
{
    stair_context *context = grid->request->context, alone = *context;
    alone.link = NULL;
    if (!grid->request->options.checkpoint)
        return stair_fail(context, STAIR_BAD_INPUT, "--resume needs --out or --checkpoint");
    stair_status status = stair_ranks_first(context) ? load(grid, &alone) : STAIR_OK;
    if (status != STAIR_OK) stair_fail(context, status, "%s", alone.message);
    if (!stair_ranks_many(context)) return status;
    STAIR_TRY(stair_ranks_copy(context, status, grid->known, grid->rows / grid->unit * sizeof *grid->known));
    return stair_ranks_copy(context, STAIR_OK, grid->table, grid->rows * grid->row_size * sizeof(double));
}

stair_status grid_open(cli_request *request, size_t per_model, size_t unit, size_t head, size_t matrices,
                       cli_grid *grid)
{
    *grid = (cli_grid){.request = request, .unit = unit};
    stair_status status = training_checkpoint(request, &request->options.checkpoint);
    if (status == STAIR_OK && request->checkpoint)
        status = stair_state_probe(request->context, request->checkpoint, "");
    if (status == STAIR_OK) status = make_models(grid);
    if (status == STAIR_OK) {
        grid->rows = per_model * grid->models;
        grid->row_size = (head + sizeof(double) - 1) / sizeof(double) +
                         matrices * (size_t)(grid->most_indices * grid->most_indices);
        grid->table = calloc(grid->rows ? grid->rows : 1, grid->row_size * sizeof(double));
        grid->known = calloc(grid->rows / unit + 1, sizeof *grid->known);
        grid->fingerprint = fingerprint(grid);
        if (!grid->table || !grid->known)
            status = stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    }
    if (status == STAIR_OK && request->options.resume) status = resume(grid);
    if (status != STAIR_OK) grid_close(grid, false);
    return status;
}

/* Column of a key: numbers where all values are, else text as wide as the widest. */
static cli_column key_column(const cli_grid *grid, const char *key)
{
    char value[SPEC_MOST];
    double number;
    bool numbers = true;
    cli_column column = {.name = key, .heading = key, .key = key, .width = 1, .given = true};
    for (size_t m = 0; m < grid->models; m++) {
        spec_value(grid->specs[m], key, value);
        numbers &= stair_parse_double(value, &number);
        if ((int)strlen(value) > column.width) column.width = (int)strlen(value);
    }
    column.kind = numbers ? CELL_REAL : CELL_TEXT;
    column.where = numbers ? IN_DATA : IN_ALL;
    return column;
}

/* Adds the columns of one item of --set, unless its key has been there; keys are kept in the grid. */
static stair_status add_key(cli_grid *grid, const char *item, int *count)
{
    char *key = strdup(item);
    if (!key) return stair_fail(grid->request->context, STAIR_NO_MEMORY, "out of memory");
    key[strcspn(key, "=")] = 0;
    for (int k = 0; k < grid->keys; k++)
        if (!strcmp(grid->key[k], key)) {
            free(key);
            return STAIR_OK;
        }
    grid->key[grid->keys++] = key;
    cli_column column = key_column(grid, key);
    grid->columns[(*count)++] = column;
    if (column.kind == CELL_TEXT) return STAIR_OK;
    column.kind = CELL_TEXT; /* in a table numbers stand as they were given: with all their digits */
    column.where = IN_TABLE;
    grid->columns[(*count)++] = column;
    return STAIR_OK;
}

stair_status grid_report(cli_grid *grid, const cli_column *columns, int count, cli_report **report)
{
    const option_texts *set = &grid->request->options.set;
    int used = 1;
    if (!set->count) return report_open(grid->request, columns, count, report);
    grid->columns = calloc((size_t)(count + 2 * set->count), sizeof *grid->columns);
    if (!grid->columns) return stair_fail(grid->request->context, STAIR_NO_MEMORY, "out of memory");
    for (int i = 0; i < set->count; i++) STAIR_TRY(add_key(grid, set->items[i], &used));
    grid->columns[0] = columns[0];
    grid->columns[0].where = IN_DATA; /* a table shows what differs */
    for (size_t m = 0; m < grid->models; m++) {
        int length = (int)strlen(grid->specs[m]);
        if (length > grid->columns[0].width) grid->columns[0].width = length;
    }
    memcpy(grid->columns + used, columns + 1, sizeof *columns * (size_t)(count - 1));
    return report_open(grid->request, grid->columns, used + count - 1, report);
}

double *grid_row(const cli_grid *grid, size_t row)
{
    return grid->table + row * grid->row_size;
}

stair_status grid_keep(cli_grid *grid, size_t row)
{
    const char *path = grid->request->options.checkpoint;
    size_t unit = row / grid->unit, first = grid->piece ? unit * grid->unit : 0;
    stair_state state = {0};
    grid->known[unit] = (uint32_t)(row % grid->unit + 1);
    uint64_t done = grid->piece ? grid->known[unit] : count_done(grid);
    if (!path) return STAIR_OK;
    char *name = grid->piece ? stair_state_name(path, unit) : NULL;
    if (grid->piece && !name) return stair_fail(grid->request->context, STAIR_NO_MEMORY, "out of memory");
    stair_state_put(&state, &done, sizeof done);
    stair_state_put(&state, grid_row(grid, first), (size_t)done * grid->row_size * sizeof(double));
    stair_status status =
        stair_state_save(grid->request->context, name ? name : path, grid->fingerprint, &state);
    stair_state_free(&state);
    free(name);
    return status;
}

/* ---- ranks ------------------------------------------------------------------------------------------ */

typedef struct {
    cli_grid *grid;
    grid_body *body;
    void *user;
} share_job;

static stair_status one_unit(void *user, size_t unit, int thread, stair_context *local)
{
    const share_job *job = user;
    cli_request request = *job->grid->request;
    cli_grid own = *job->grid;
    (void)thread;
    if (own.known[unit] == own.unit) return STAIR_OK;
    request.context = local;
    own.request = &request;
    own.piece = true;
    return job->body(job->user, &own, unit);
}

static size_t unit_bytes(const cli_grid *grid)
{
    return grid->unit * grid->row_size * sizeof(double);
}

static stair_status pack_unit(void *user, size_t unit, stair_context *context, void **bytes, size_t *size)
{
    const cli_grid *grid = ((const share_job *)user)->grid;
    *size = unit_bytes(grid);
    *bytes = malloc(*size + 1);
    if (!*bytes) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    memcpy(*bytes, grid_row(grid, unit * grid->unit), *size);
    return STAIR_OK;
}

static stair_status unpack_unit(void *user, size_t unit, stair_context *context, const void *bytes,
                                size_t size)
{
    const cli_grid *grid = ((const share_job *)user)->grid;
    (void)context;
    memcpy(grid_row(grid, unit * grid->unit), bytes, size);
    grid->known[unit] = (uint32_t)grid->unit;
    return STAIR_OK;
}

stair_status grid_share(cli_grid *grid, grid_body *body, void *user)
{
    stair_context *context = grid->request->context;
    size_t units = grid->rows / grid->unit;
    share_job job = {grid, body, user};
    if (!stair_ranks_many(context) || units < (size_t)stair_context_ranks(context)) return STAIR_OK;
    stair_points_shared how = {
        .points = units, .wide = true, .body = one_unit, .pack = pack_unit, .unpack = unpack_unit};
    return stair_share_points(context, &how, &job);
}

static void remove_with_old(const char *path)
{
    char old[4096];
    remove(path);
    snprintf(old, sizeof old, "%s.old", path);
    remove(old);
}

/* The file of all rows, and those of units. */
static void forget(const cli_grid *grid)
{
    const char *path = grid->request->options.checkpoint;
    remove_with_old(path);
    if (stair_context_ranks(grid->request->context) > 1 || grid->request->options.resume)
        stair_checkpoint_remove(path, (int)(grid->rows / grid->unit));
}

void grid_close(cli_grid *grid, bool finished)
{
    if (finished && grid->request->options.checkpoint && stair_ranks_first(grid->request->context))
        forget(grid);
    for (size_t m = 0; grid->specs && m < grid->models; m++) free(grid->specs[m]);
    for (int k = 0; k < grid->keys; k++) free(grid->key[k]);
    free(grid->specs);
    free(grid->indices);
    free(grid->columns);
    free(grid->known);
    free(grid->table);
    *grid = (cli_grid){.request = grid->request};
}
