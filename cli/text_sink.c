/* The spool has no name, so an interrupted run leaves nothing; memory stays bounded however many
 * rows there are. */
#include "text_sink.h"
#include "io/atomic_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without a name, in TMPDIR where that can be used. */
static FILE *open_spool(void)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    if (!folder || !*folder || snprintf(path, sizeof path, "%s/stair-XXXXXX", folder) >= (int)sizeof path)
        return tmpfile();
    int fd = mkstemp(path);
    if (fd < 0) return tmpfile();
    unlink(path);
    FILE *file = fdopen(fd, "w+b");
    if (!file) close(fd);
    return file;
}

stair_status text_sink_open(cli_report *report, cli_sink *sink)
{
    stair_context *context = report->request->context;
    if (!sink->path) {
        sink->file = open_spool();
        if (sink->file) return STAIR_OK;
        return stair_fail(context, STAIR_FAILED, "no temporary file for standard output: %s",
                          strerror(errno));
    }
    stair_atomic_file *out = calloc(1, sizeof *out);
    if (!out) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = stair_atomic_open(context, sink->path, report->request->options.force, out);
    if (status != STAIR_OK) {
        free(out);
        return status;
    }
    sink->state = out;
    sink->file = out->file;
    return STAIR_OK;
}

static stair_status copy_to_stdout(stair_context *context, FILE *spool)
{
    char buffer[65536];
    size_t got;
    if (fflush(spool) || ferror(spool))
        return stair_fail(context, STAIR_FAILED, "spool of standard output: %s", strerror(errno));
    rewind(spool);
    while ((got = fread(buffer, 1, sizeof buffer, spool)) > 0)
        if (fwrite(buffer, 1, got, stdout) != got) break;
    if (ferror(spool) || ferror(stdout) || fflush(stdout))
        return stair_fail(context, STAIR_FAILED, "standard output: %s", strerror(errno));
    return STAIR_OK;
}

stair_status text_sink_publish(cli_report *report, cli_sink *sink)
{
    if (!sink->path) return copy_to_stdout(report->request->context, sink->file);
    sink->file = NULL; /* commit closes it */
    return stair_atomic_commit(report->request->context, sink->state);
}

void text_sink_discard(cli_sink *sink)
{
    if (!sink->path && sink->file) fclose(sink->file);
    stair_atomic_file *out = sink->state;
    if (out) {
        if (out->path) stair_atomic_discard(out);
        free(out);
    }
    sink->file = NULL;
    sink->state = NULL;
}
