/* The file of a plug-in, looked at before any of it runs. */
#ifndef STAIR_PLUGIN_FILE_H
#define STAIR_PLUGIN_FILE_H

#include "core/context.h"

/* BAD_INPUT, with the reason, unless path names a regular file by a path with a '/', nobody but its owner may
 * write to it, and it is a whole shared library for this machine.  digest: of its bytes. */
stair_status stair_plugin_file_check(stair_context *context, const char *path, uint64_t *digest);

#endif
