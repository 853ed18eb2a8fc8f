/* The default place of checkpoints: beside the output, so that --resume needs no other name. */
#include "training.h"

#include <stdio.h>

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
    request->keeps_checkpoint = *checkpoint != NULL;
    return STAIR_OK;
}
