/* plugin: the link is a C function in a shared library, y = g(Z) + noise.
 *
 *   plugin:./FILE.so,noise=X
 *
 * include/stair_plugin.h says what the library has to define.  Its file is checked before it is loaded
 * (file.c), its table after; then the function is tried: it has to be finite (link.c), repeat itself, keep to
 * its outputs and have the gradient it says.  Last the identities that every posterior obeys: a g that is too
 * rough for the quadrature is refused rather than answered wrongly.  The echo of the model has a digest of
 * the file, so that results and checkpoints know which code they are of; a digest that is given has to be
 * that of the file. */
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "model/keys.h"
#include "model/link.h"
#include "plugin/file.h"

#define GUARD 8 /* numbers after y that must stay as they are */

#define TEXT(name)    TEXT_OF(name)
#define TEXT_OF(name) #name

static const struct {
    int trials;       /* random z at which the function has to repeat itself, */
    double step;      /* and differences to be the gradient, in steps of, */
    double slope;     /* within, relative, */
    int least;        /* at so many of them: there may be edges */
    size_t points;    /* of the identities: each is several posteriors */
    double precision; /* of these */
    double cov_low;   /* least eigenvalue of V: narrower ones cost more */
    double doubt;     /* times what an identity allows, above which it fails */
} tuning = {.trials = 8,
            .step = 1e-5,
            .slope = 1e-4,
            .least = 5,
            .points = 12,
            .precision = 1e-2,
            .cov_low = 0.3,
            .doubt = 3};

static const stair_model_key keys[] = {
    {"file", NULL, "FILE.so"}, {STAIR_NAME_NOISE, "0.1", "variance of Gaussian noise on y, above 0"},
    STAIR_KEY_PRENOISE,        {"digest", "any", "of the bytes of the file, 16 hexadecimal digits"},
    {NULL, NULL, NULL},
};

/* What `user` of the link points to, and model->state begins with the link. */
typedef struct {
    void *library;
    const stair_plugin *table;
} loaded;

static void call_function(void *user, const double *z, double *y)
{
    const loaded *l = user;
    l->table->function(z, y);
}

static void call_gradient(void *user, const double *z, const double *cotangent, double *gradient)
{
    const loaded *l = user;
    l->table->gradient(z, cotangent, gradient);
}

static void unload(loaded *l)
{
    if (l && l->library) dlclose(l->library);
    free(l);
}

static void destroy(stair_model *model)
{
    const stair_link *link = model->state;
    if (link) unload(link->user);
}

static stair_status check_table(stair_context *context, const char *path, const stair_plugin *table)
{
    if (!table)
        return stair_fail(context, STAIR_BAD_INPUT, "plugin '%.200s': does not define %s (stair_plugin.h)",
                          path, TEXT(STAIR_PLUGIN_TABLE));
    if (table->version != STAIR_PLUGIN_VERSION)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "plugin '%.200s': has version %" PRIu32 " of its table, this library takes %d",
                          path, table->version, STAIR_PLUGIN_VERSION);
    if (table->size != sizeof *table)
        return stair_fail(context, STAIR_BAD_INPUT,
                          "plugin '%.200s': its table has %" PRIu32
                          " bytes, not %zu: build it with this stair_plugin.h",
                          path, table->size, sizeof *table);
    if (!table->function)
        return stair_fail(context, STAIR_BAD_INPUT, "plugin '%.200s': its table has no function", path);
    return STAIR_OK;
}

static stair_status load(stair_context *context, const char *path, loaded *l)
{
    l->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!l->library) {
        const char *why = dlerror();
        return stair_fail(context, STAIR_BAD_INPUT, "plugin '%.200s': cannot be loaded: %.200s", path,
                          why ? why : "no reason given");
    }
    l->table = dlsym(l->library, TEXT(STAIR_PLUGIN_TABLE));
    return check_table(context, path, l->table);
}

/* The echo names the digest. */
static stair_status name_digest(stair_context *context, stair_model *model, uint64_t digest,
                                const char *given)
{
    char text[17], *spec;
    snprintf(text, sizeof text, "%016" PRIx64, digest);
    if (strcmp(given, "any") && strcmp(given, text))
        return stair_fail(context, STAIR_BAD_INPUT, "plugin: the file has digest %s, not %.40s", text, given);
    size_t head = strlen(model->spec) - strlen(given);
    spec = malloc(head + sizeof text);
    if (!spec) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    memcpy(spec, model->spec, head);
    memcpy(spec + head, text, sizeof text);
    free(model->spec);
    model->spec = spec;
    return STAIR_OK;
}

/* One evaluation into y (K); false where more than K numbers were written. */
static bool evaluate(const stair_plugin *table, const double *z, double *y)
{
    double room[STAIR_MAX_LABEL + GUARD];
    for (int k = 0; k < table->outputs + GUARD; k++) room[k] = -1234.5 - k;
    table->function(z, room);
    memcpy(y, room, sizeof(double) * (size_t)table->outputs);
    for (int k = table->outputs; k < table->outputs + GUARD; k++)
        if (room[k] != -1234.5 - k) return false;
    return true;
}

/* Whether the gradient of sum_k cotangent_k y_k at z is that of differences. */
static bool slopes_agree(const stair_plugin *table, uint64_t trial, double *z)
{
    int cells = table->indices * table->tokens;
    double cotangent[STAIR_MAX_LABEL], gradient[STAIR_MAX_CELLS], up[STAIR_MAX_LABEL], down[STAIR_MAX_LABEL];
    stair_rng_normals(2, STAIR_RNG_POINTS, trial, table->outputs, cotangent);
    table->gradient(z, cotangent, gradient);
    for (int i = 0; i < cells; i++) {
        double kept = z[i], slope = 0;
        z[i] = kept + tuning.step;
        evaluate(table, z, up);
        z[i] = kept - tuning.step;
        evaluate(table, z, down);
        z[i] = kept;
        for (int k = 0; k < table->outputs; k++)
            slope += cotangent[k] * (up[k] - down[k]) / (2 * tuning.step);
        if (!(fabs(slope - gradient[i]) <= tuning.slope * (1 + fabs(slope)))) return false;
    }
    return true;
}

/* The same z gives the same y whatever was asked before, in no more than K numbers; the gradient is one. */
static stair_status try_plugin(stair_context *context, const char *path, const stair_plugin *table)
{
    double z[STAIR_MAX_CELLS], first[STAIR_MAX_LABEL], y[STAIR_MAX_LABEL];
    size_t bytes = sizeof(double) * (size_t)table->outputs;
    int agree = 0, cells = table->indices * table->tokens;
    stair_rng_normals(1, STAIR_RNG_POINTS, 0, cells, z);
    bool whole = evaluate(table, z, first), repeats = true;
    for (int trial = 1; trial <= tuning.trials && repeats && whole; trial++) {
        stair_rng_normals(1, STAIR_RNG_POINTS, (uint64_t)trial, cells, z);
        whole = evaluate(table, z, y);
        if (table->gradient) agree += slopes_agree(table, (uint64_t)trial, z);
        stair_rng_normals(1, STAIR_RNG_POINTS, 0, cells, z);
        whole = whole && evaluate(table, z, y);
        repeats = !memcmp(first, y, bytes);
    }
    const char *wrong = !whole     ? "its function writes more outputs than its table has"
                        : !repeats ? "the same z does not give the same y"
                        : table->gradient && agree < tuning.least ? "its gradient is not that of its function"
                                                                  : NULL;
    return wrong ? stair_fail(context, STAIR_BAD_INPUT, "plugin '%.200s': %s", path, wrong) : STAIR_OK;
}

/* Rows and layers are named when create() is over; the identities need them before. */
static stair_status check_identities(stair_context *context, const char *path, stair_model *model)
{
    stair_identity rows[32];
    stair_diagnose_options options = stair_diagnose_defaults();
    int count = 0;
    options.points = tuning.points;
    options.precision = tuning.precision;
    options.cov_low = tuning.cov_low;
    for (int i = 0; i < model->info.indices; i++) model->layer[i] = 0;
    STAIR_TRY(stair_diagnose(context, model, &options, (int)(sizeof rows / sizeof *rows), rows, &count));
    for (int k = 0; k < count; k++)
        if (rows[k].verdict == STAIR_FAILS && rows[k].violation > tuning.doubt * rows[k].tolerance)
            return stair_fail(context, STAIR_BAD_INPUT,
                              "plugin '%.200s': identity '%s' is violated by %.2g: its function is too rough "
                              "for this noise",
                              path, rows[k].name, rows[k].violation);
    return STAIR_OK;
}

static stair_status adopt(stair_context *context, stair_model *model, const char *path, loaded *l)
{
    stair_link link = {.name = "plugin",
                       .tokens = l->table->tokens,
                       .indices = l->table->indices,
                       .outputs = l->table->outputs,
                       .noise = model->info.noise,
                       .prenoise = model->info.prenoise,
                       .function = call_function,
                       .gradient = l->table->gradient ? call_gradient : NULL,
                       .user = l};
    stair_status status = stair_link_adopt(context, model, &link);
    if (!model->state) unload(l); /* else it belongs to the model */
    STAIR_TRY(status);
    STAIR_TRY(try_plugin(context, path, l->table));
    return check_identities(context, path, model);
}

static stair_status create(stair_context *context, stair_model *model, const char *const *values)
{
    const char *path = values[0];
    uint64_t digest = 0;
    if (!(model->info.noise > 0))
        return stair_fail(
            context, STAIR_BAD_INPUT,
            "plugin '%.200s': noise must be above 0: without noise on y the posterior is on the "
            "set of Z with that label, which a function alone does not give",
            path);
    STAIR_TRY(stair_plugin_file_check(context, path, &digest));
    STAIR_TRY(name_digest(context, model, digest, values[3]));
    loaded *l = calloc(1, sizeof *l);
    if (!l) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = load(context, path, l);
    if (status != STAIR_OK) {
        unload(l);
        return status;
    }
    return adopt(context, model, path, l);
}

const stair_model_ops stair_plugin_ops = {
    .name = "plugin",
    .summary = "a C function in a shared library, with noise",
    .formula = "y = g(Z) + sqrt(noise) xi, g from FILE.so; examples/plugin has one",
    .example = "plugin:./agreement.so,noise=0.3",
    .keys = keys,
    .positional = true,
    .create = create,
    .destroy = destroy,
    STAIR_LINK_OPS,
};
