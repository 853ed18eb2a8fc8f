/* stair merge: result files of the parts of one job, one after the other, as one file.
 *
 * Files are joined as text, so that no digit changes: CSV has one line of names; JSON, as report_json.c
 * writes it, a first line with what was asked for, a line for each result and a last line.  Where the parts
 * are slices of one --set or one list of alphas, in order, the whole has the bytes of a run over all of it.
 */
#include "command.h"
#include "io/atomic_file.h"
#include "io/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *path;
    stair_text text;
    const char *head, *rows, *end; /* the first line, the lines of results, and what is behind them */
} part;

typedef struct {
    cli_request *request;
    bool json;
    part *parts;
    int count;
} merge_job;

/* Lists that slices of a job differ in: what stands before and behind them in the first line. */
static const struct {
    const char *open;
    char close;
} lists[] = {{"\"set\": [\"", '"'}, {"\"alpha\": [", ']'}};

enum { LISTS = sizeof lists / sizeof *lists };

static stair_status refuse(const merge_job *job, const part *p, const char *why)
{
    return stair_fail(job->request->context, STAIR_BAD_INPUT, "%s: %s", p->path, why);
}

static bool ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path), size = strlen(ending);
    return length > size && !strcmp(path + length - size, ending);
}

static stair_status cut(const merge_job *job, part *p)
{
    static const char opening[] = "\"results\": [", closing[] = "\n]}\n";
    const char *data = p->text.data, *line = strchr(data, '\n');
    if (!line || strlen(data) != p->text.size) return refuse(job, p, "not a result file");
    p->head = data;
    p->rows = line + 1;
    p->end = data + p->text.size;
    if (!job->json) return STAIR_OK;
    size_t head = (size_t)(line - data), tail = sizeof closing - 1;
    if (*data != '{' || head < sizeof opening ||
        memcmp(line - sizeof opening + 1, opening, sizeof opening - 1) || p->text.size < tail ||
        memcmp(p->end - tail, closing, tail))
        return refuse(job, p, "not what --json or --out of this program writes");
    p->end -= tail;
    if (p->end < p->rows) p->end = p->rows; /* no results */
    return STAIR_OK;
}

/* The item of list k in a first line, or NULL; of several --set none is the one. */
static const char *find_list(const char *head, int k, size_t *length)
{
    const char *line = strchr(head, '\n'), *at = strstr(head, lists[k].open);
    if (!at || at > line) return NULL;
    at += strlen(lists[k].open);
    *length = strcspn(at, (char[]){lists[k].close, 0});
    return k == 0 && at[*length + 1] != ']' ? NULL : at;
}

/* Copies a first line, lists left out: what all parts must have in common. */
static char *common(const char *head)
{
    size_t size = strcspn(head, "\n"), length;
    char *copy = malloc(size + 1);
    if (!copy) return NULL;
    memcpy(copy, head, size);
    copy[size] = 0;
    for (int k = 0; k < LISTS; k++) {
        const char *item = find_list(head, k, &length);
        char *at = item ? strstr(copy, lists[k].open) : NULL;
        if (!at) continue;
        at += strlen(lists[k].open);
        if (k == 0 && memchr(at, '=', length)) { /* the key of --set stays */
            size_t key = (size_t)((char *)memchr(at, '=', length) - at) + 1;
            at += key;
            length -= key;
        }
        memmove(at, at + length, strlen(at + length) + 1);
    }
    return copy;
}

static stair_status compare(const merge_job *job, const part *p)
{
    char *first = common(job->parts[0].head), *here = common(p->head);
    stair_status status = STAIR_OK;
    if (!first || !here)
        status = stair_fail(job->request->context, STAIR_NO_MEMORY, "out of memory");
    else if (strcmp(first, here))
        status = refuse(job, p,
                        job->json ? "another command, model, version or other options than the first file's"
                                  : "other columns than the first file's");
    free(first);
    free(here);
    return status;
}

/* The first line of the whole: lists of all parts behind each other. */
static void write_head(const merge_job *job, FILE *out)
{
    const char *at = job->parts[0].head, *end = strchr(at, '\n') + 1;
    while (at < end) {
        size_t length = 0;
        const char *item = NULL;
        int list = 0;
        for (int k = 0; k < LISTS && job->json; k++) {
            const char *here = find_list(job->parts[0].head, k, &length);
            if (here && here >= at && (!item || here < item)) item = here, list = k;
        }
        if (!item) break;
        fwrite(at, 1, (size_t)(item - at), out);
        for (int p = 0; p < job->count; p++) {
            const char *more = find_list(job->parts[p].head, list, &length);
            const char *key = list == 0 && p ? memchr(more, '=', length) : NULL; /* once */
            if (key) length -= (size_t)(key + 1 - more), more = key + 1;
            if (p) fputs(list == 0 ? "," : ", ", out);
            fwrite(more, 1, length, out);
        }
        find_list(job->parts[0].head, list, &length);
        at = item + length;
    }
    fwrite(at, 1, (size_t)(end - at), out);
}

static void write_all(const merge_job *job, FILE *out)
{
    bool any = false;
    write_head(job, out);
    for (int p = 0; p < job->count; p++) {
        const part *here = &job->parts[p];
        if (here->end == here->rows) continue;
        if (any && job->json) fputs(",\n", out);
        fwrite(here->rows, 1, (size_t)(here->end - here->rows), out);
        if (!job->json && here->end[-1] != '\n') putc('\n', out);
        any = true;
    }
    if (job->json) fputs(any ? "\n]}\n" : "]}\n", out);
}

static stair_status publish(const merge_job *job)
{
    const cli_options *o = &job->request->options;
    stair_context *context = job->request->context;
    stair_atomic_file out;
    if (!o->out) {
        write_all(job, stdout);
        return STAIR_OK;
    }
    if (!ends_with(o->out, job->json ? ".json" : ".csv"))
        return stair_fail(context, STAIR_BAD_INPUT, "--out %s: the name must end in %s, as the files do",
                          o->out, job->json ? ".json" : ".csv");
    STAIR_TRY(stair_atomic_open(context, o->out, o->force, &out));
    write_all(job, out.file);
    return stair_atomic_commit(context, &out);
}

static stair_status read_parts(merge_job *job)
{
    cli_request *request = job->request;
    job->json = ends_with(request->parse.words[0], ".json");
    for (int k = 0; k < job->count; k++) {
        part *p = &job->parts[k];
        p->path = request->parse.words[k];
        if (!ends_with(p->path, job->json ? ".json" : ".csv"))
            return refuse(job, p, "files to merge are all .csv, or all .json");
        STAIR_TRY(stair_text_read(request->context, p->path, &p->text));
        STAIR_TRY(cut(job, p));
        STAIR_TRY(compare(job, p));
    }
    return STAIR_OK;
}

static stair_status run(cli_request *request)
{
    merge_job job = {.request = request, .count = request->parse.count};
    if (!job.count)
        return stair_fail(request->context, STAIR_BAD_INPUT,
                          "merge needs result files: stair merge part-*.csv --out whole.csv");
    job.parts = calloc((size_t)job.count, sizeof *job.parts);
    if (!job.parts) return stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = read_parts(&job);
    if (status == STAIR_OK) status = publish(&job);
    for (int k = 0; k < job.count; k++) stair_text_free(&job.parts[k].text);
    free(job.parts);
    return status;
}

static const char *const names[] = {"out", "force", "help", NULL};

const cli_command command_merge = {
    .name = "merge",
    .words = "FILE...",
    .summary = "One result file from the parts of a job, such as those of an array of a batch system",
    .details =
        "FILEs are what --out of one command wrote, all .csv or all .json, with the same options but for "
        "the\n"
        "list of one --set, or of --alpha.  They are joined in the order they are given; no digit changes.\n"
        "Where the parts are slices of a list, in order, the whole has the bytes of one run over all of "
        "it.\n",
    .examples = "stair merge part-1.csv part-2.csv --out whole.csv\n"
                "stair merge part-*.json > whole.json\n",
    .options = names,
    .most_words = OPTION_MOST_WORDS,
    .alone = true,
    .run = run,
};
