/* The posterior that `stair amp --save` kept: weights (P, D), cov (P, P), the seed of the run and the MODEL
 * string, all of which have to fit the request. */
#include "amp_job.h"
#include "core/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    stair_npy_header header;
    double *values;
} loaded;

/* Array `name` of the given rank and shape; a length of 0 may be any. */
static stair_status get(cli_request *request, stair_archive *archive, const char *name, int rank,
                        const uint64_t *shape, loaded *out)
{
    const char *path = request->options.load;
    char found[200], wanted[96];
    STAIR_TRY(stair_archive_header(request->context, archive, path, name, &out->header));
    bool fits = out->header.rank == rank;
    for (int i = 0; i < rank && fits; i++)
        fits = shape[i] ? out->header.shape[i] == shape[i] : out->header.shape[i] > 0;
    if (fits) return stair_archive_array(request->context, archive, path, name, &out->header, &out->values);
    if (rank == 1 && shape[0])
        snprintf(wanted, sizeof wanted, "(%" PRIu64 ",)", shape[0]);
    else if (rank == 1)
        snprintf(wanted, sizeof wanted, "(n,)");
    else if (shape[1])
        snprintf(wanted, sizeof wanted, "(%" PRIu64 ", %" PRIu64 ")", shape[0], shape[1]);
    else
        snprintf(wanted, sizeof wanted, "(%" PRIu64 ", D)", shape[0]);
    return stair_fail(request->context, STAIR_BAD_INPUT, "%s: %s of %s need shape %s, not %s", path, name,
                      stair_model_spec(request->model), wanted,
                      stair_npy_shape_text(&out->header, found, sizeof found));
}

static stair_status check_model(cli_request *request, const loaded *model)
{
    const char *spec = stair_model_spec(request->model);
    bool same = strlen(spec) == model->header.count;
    for (uint64_t i = 0; i < model->header.count && same; i++) same = model->values[i] == (double)spec[i];
    if (same) return STAIR_OK;
    char text[200] = "";
    for (uint64_t i = 0; i < model->header.count && i < sizeof text - 1; i++) {
        double c = model->values[i];
        text[i] = c >= ' ' && c < 127 ? (char)c : '?';
    }
    return stair_fail(request->context, STAIR_BAD_INPUT, "%s is the posterior of another model, %s",
                      request->options.load, text);
}

static stair_status find_seed(cli_request *request, const loaded *saved, uint64_t *seed)
{
    *seed = request->options.gamp.seed;
    if (option_given(&request->parse, "seed")) return STAIR_OK;
    double value = saved->values[0];
    if (!(value >= 0 && value < STAIR_EXACT && value == (double)(uint64_t)value))
        return stair_fail(request->context, STAIR_BAD_INPUT, "%s: its seed is beyond 2^53; give it as --seed",
                          request->options.load);
    *seed = request->options.gamp.seed = (uint64_t)value;
    return STAIR_OK;
}

static stair_status read_all(cli_request *request, stair_archive *archive, loaded parts[4],
                             stair_gamp_result **result)
{
    uint64_t p = (uint64_t)stair_model_describe(request->model).indices, seed;
    STAIR_TRY(get(request, archive, "weights", 2, (uint64_t[]){p, 0}, &parts[0]));
    STAIR_TRY(get(request, archive, "cov", 2, (uint64_t[]){p, p}, &parts[1]));
    STAIR_TRY(get(request, archive, "seed", 1, (uint64_t[]){1}, &parts[2]));
    STAIR_TRY(get(request, archive, "model", 1, (uint64_t[]){0}, &parts[3]));
    STAIR_TRY(check_model(request, &parts[3]));
    STAIR_TRY(find_seed(request, &parts[2], &seed));
    if (parts[0].header.shape[1] > 1 << 24)
        return stair_fail(request->context, STAIR_BAD_INPUT, "%s: dimension beyond 2^24",
                          request->options.load);
    return stair_gamp_result_from(request->context, request->model, (int)parts[0].header.shape[1],
                                  parts[0].values, parts[1].values, seed, result);
}

stair_status amp_load_posterior(cli_request *request, stair_gamp_result **result)
{
    stair_archive *archive;
    loaded parts[4] = {{.values = NULL}};
    *result = NULL;
    STAIR_TRY(stair_archive_open(request->context, request->options.load, &archive));
    stair_status status = read_all(request, archive, parts, result);
    for (int k = 0; k < 4; k++) free(parts[k].values);
    stair_archive_close(&archive);
    return status;
}
