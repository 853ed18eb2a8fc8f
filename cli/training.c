/* The default place of checkpoints: beside the output, so that --resume needs no other name. */
#include "training.h"

#include <stdio.h>

stair_status training_checkpoint(cli_request *request)
{
    static char path[4096]; /* lives as long as the options that point to it */
    cli_options *o = &request->options;
    if (o->checkpoint || !o->out) return STAIR_OK;
    int length = snprintf(path, sizeof path, "%s.state", o->out);
    if (length < 0 || (size_t)length >= sizeof path)
        return stair_fail(request->context, STAIR_BAD_INPUT, "--out: name too long");
    o->checkpoint = path;
    return STAIR_OK;
}
