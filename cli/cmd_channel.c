/* stair channel: log Z, g and dg at random or given points, streamed in blocks of samples. */
#include "points.h"
#include "progress.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define BLOCK_SAMPLES 8192       /* most that are evaluated at a time, */
#define BLOCK_BYTES   (32 << 20) /* and most that their results take */
#define SHOWN_POINTS  16         /* random points where none are asked for */

enum { SAMPLE, LOGZ, G, DG, ERROR, NODES, METHOD, LABELS, OMEGA, COV, COLUMNS };

typedef struct {
    cli_request *request;
    cli_report *report;
    cli_points points;
    size_t pm, pp, k;
    stair_channel_options how;
    stair_channel_result result;
    double worst;
    uint64_t worst_sample, missed;
} channel_job;

static void defaults(cli_options *o)
{
    o->points = SHOWN_POINTS;
}

/* Random inputs go into the NPZ too, under the names of the options that read them back. */
static void fill_columns(const channel_job *job, const stair_model_info *info, cli_column *columns)
{
    int p = info->indices, m = info->tokens, k = info->label_size;
    int digits = 1 + (int)ceil(-log10(job->how.precision)); /* as many as the precision asked for supports */
    unsigned inputs = job->points.from_files ? 0 : IN_NPZ;
    columns[SAMPLE] = (cli_column){
        .name = "sample", .heading = "sample", .kind = CELL_INT, .where = IN_TABLE | IN_CSV | IN_JSON};
    columns[LOGZ] =
        (cli_column){.name = "logz", .heading = "log Z", .where = IN_ALL, .digits = digits, .fixed = true};
    columns[G] = (cli_column){
        .name = "g", .heading = "|g|", .where = IN_ALL, .digits = digits, .rank = 2, .shape = {p, m}};
    columns[DG] = (cli_column){.name = "dg",
                               .heading = "|dg|",
                               .where = IN_ALL,
                               .digits = digits,
                               .rank = 2,
                               .shape = {p * m, p * m}};
    columns[ERROR] = (cli_column){.name = "error", .heading = "error", .where = IN_ALL};
    columns[NODES] = (cli_column){.name = "nodes", .heading = "nodes", .kind = CELL_INT, .where = IN_ALL};
    columns[METHOD] =
        (cli_column){.name = "method", .heading = "method", .kind = CELL_TEXT, .where = IN_ALL, .width = 8};
    columns[LABELS] =
        (cli_column){.name = info->label_is_log ? "logits" : "y", .where = inputs, .rank = 1, .shape = {k}};
    if (k == m * m)
        columns[LABELS] =
            (cli_column){.name = columns[LABELS].name, .where = inputs, .rank = 2, .shape = {m, m}};
    columns[OMEGA] = (cli_column){.name = "omega", .where = inputs, .rank = 2, .shape = {p, m}};
    columns[COV] = (cli_column){.name = "cov", .where = inputs, .rank = 2, .shape = {p, p}};
}

static stair_status write_sample(channel_job *job, uint64_t first, size_t i)
{
    const stair_channel_result *r = &job->result;
    if (!(r->error[i] <= job->how.precision)) {
        job->missed++;
        if (!(r->error[i] <= job->worst)) {
            job->worst = r->error[i];
            job->worst_sample = first + i;
        }
    }
    cli_cell cells[COLUMNS] = {
        [SAMPLE] = {.integer = (int64_t)(first + i)},
        [LOGZ] = {.real = r->logz[i]},
        [G] = {.array = r->g + i * job->pm},
        [DG] = {.array = r->dg + i * job->pm * job->pm},
        [ERROR] = {.real = r->error[i]},
        [NODES] = {.integer = r->nodes[i]},
        [METHOD] = {.text = stair_channel_method_name(r->method[i])},
        [LABELS] = {.array = job->points.label_block + i * job->k},
        [OMEGA] = {.array = job->points.omega_block + i * job->pm},
        [COV] = {.array = job->points.cov_block + (job->points.covs > 1 ? i * job->pp : 0)},
    };
    return report_row(job->report, cells);
}

static stair_status stream(channel_job *job, cli_progress *progress)
{
    cli_points *in = &job->points;
    for (uint64_t first = 0; first < in->n; first += in->block) {
        size_t n = in->n - first < in->block ? (size_t)(in->n - first) : in->block;
        progress_stage(progress, (double)first, (double)n, (double)in->n);
        STAIR_TRY(points_read(in, first, n));
        stair_status status =
            stair_channel_evaluate(in->context, in->model, &job->how, first, n, in->label_block,
                                   in->omega_block, in->covs, in->cov_block, &job->result);
        if (status != STAIR_OK && status != STAIR_NOT_CONVERGED) return points_blame(in, status);
        for (size_t i = 0; i < n; i++) STAIR_TRY(write_sample(job, first, i));
        if (signals_caught()) return stair_fail(in->context, STAIR_FAILED, "interrupted");
    }
    return STAIR_OK;
}

static stair_status verdict(const channel_job *job)
{
    if (!job->missed) return STAIR_OK;
    return stair_fail(job->request->context, STAIR_NOT_CONVERGED,
                      "%" PRIu64 " of %" PRIu64 " samples miss --precision %g, worst sample %" PRIu64
                      " with error %.2g; raise --max-nodes or relax --precision",
                      job->missed, job->points.n, job->how.precision, job->worst_sample, job->worst);
}

/* One allocation holds the results of a block. */
static stair_status allocate(channel_job *job, void **memory)
{
    size_t n = job->points.block, pm = job->pm;
    double *at = *memory = malloc(n * ((3 + pm + pm * pm) * sizeof(double) + sizeof(int)));
    if (!at) return stair_fail(job->request->context, STAIR_NO_MEMORY, "out of memory");
    job->result =
        (stair_channel_result){.logz = at, .error = at + n, .g = at + 2 * n, .dg = at + (2 + pm) * n};
    job->result.nodes = (int64_t *)(at + (2 + pm + pm * pm) * n);
    job->result.method = (int *)(job->result.nodes + n);
    return STAIR_OK;
}

static stair_status evaluate(channel_job *job, const stair_model_info *info)
{
    cli_column columns[COLUMNS];
    cli_progress progress;
    void *memory = NULL;
    fill_columns(job, info, columns);
    STAIR_TRY(allocate(job, &memory));
    stair_status status = report_open(job->request, columns, COLUMNS, &job->report);
    if (status == STAIR_OK) {
        progress_start(&progress, job->request->context, job->request->options.quiet);
        status = stream(job, &progress);
        progress_finish(&progress);
        status = report_close(&job->report, status);
        if (status == STAIR_OK) status = verdict(job);
    }
    free(memory);
    return status;
}

static stair_status run(cli_request *request)
{
    stair_model_info info = stair_model_describe(request->model);
    channel_job job = {.request = request, .how = request->options.channel, .k = (size_t)info.label_size};
    job.pm = (size_t)info.indices * (size_t)info.tokens;
    job.pp = (size_t)info.indices * (size_t)info.indices;
    STAIR_TRY(stair_channel_check(request->context, &job.how));
    size_t sample_bytes = 8 * (5 + 2 * job.k + 3 * job.pm + job.pp + job.pm * job.pm),
           block = BLOCK_BYTES / sample_bytes;
    STAIR_TRY(points_open(request, block > BLOCK_SAMPLES ? BLOCK_SAMPLES : block ? block : 1, &job.points));
    stair_status status = evaluate(&job, &info);
    points_close(&job.points);
    return status;
}

static const char *const tables[] = {"channel", "points", NULL};
static const char *const names[] = {"points", "cov-low",   "cov-high", "full",         "one-cov",
                                    "logits", "y",         "omega",    "cov",          "precision",
                                    "method", "max-nodes", "cutoff",   COMMON_OPTIONS, NULL};

const cli_command command_channel = {
    .name = "channel",
    .words = "MODEL",
    .summary = "Posterior moments of Z given its label: log Z, g and dg, each with its error",
    .details =
        "Without files the points are random; with --logits or --y, --omega and --cov they are read\n"
        "from NPY files.  --out r.npz holds logz (n), g (n,P,M), dg (n,PM,PM; index p*M+m), error (n),\n"
        "nodes and method, and for random points also the inputs.  Files of any length are streamed.\n",
    .examples = "stair channel attention:layers=2,tokens=2,skip=1\n"
                "stair channel attention:layers=2 --points 1000 --full --cov-low 1e-6 --out r.npz\n"
                "stair channel attention:layers=2 --logits l.npy --omega w.npy --cov v.npy --json\n",
    .options = names,
    .tables = tables,
    .most_words = 1,
    .needs_model = true,
    .defaults = defaults,
    .run = run,
};
