/* The default place of checkpoints: beside the output, so that --resume needs no other name. */
#include "training.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

stair_status training_checkpoint(cli_request *request, const char **checkpoint)
{
    static char path[4096]; /* lives as long as the options that point to it */
    const char *out = request->options.out;
    if (!*checkpoint && out) {
        int length = snprintf(path, sizeof path, "%s.state", out);
        if (length < 0 || (size_t)length >= sizeof path)
            return stair_fail(request->context, STAIR_BAD_INPUT, "--out: name too long");
        *checkpoint = path;
    }
    request->checkpoint = *checkpoint;
    return STAIR_OK;
}

void training_forget(const cli_request *request, const char *checkpoint, int runs)
{
    if (checkpoint && !stair_context_rank(request->context)) stair_checkpoint_remove(checkpoint, runs);
}

/* A file of an earlier run that this one did not go on from does not count. */
static bool is_of_this_run(const cli_request *request, const char *folder, const char *name)
{
    char path[8192];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &about) == 0 &&
           (option_given(&request->parse, "resume") || about.st_mtime >= request->started);
}

bool training_kept(const cli_request *request)
{
    char folder[4096];
    bool kept = false;
    if (!request->checkpoint) return false;
    const char *slash = strrchr(request->checkpoint, '/'), *base = slash ? slash + 1 : request->checkpoint;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - request->checkpoint) + 1 : 1,
             slash ? request->checkpoint : ".");
    size_t length = strlen(base);
    DIR *all = opendir(folder);
    for (const struct dirent *entry; all && !kept && (entry = readdir(all));)
        kept = !strncmp(entry->d_name, base, length) &&
               (!entry->d_name[length] || entry->d_name[length] == '.') &&
               is_of_this_run(request, folder, entry->d_name);
    if (all) closedir(all);
    return kept;
}
