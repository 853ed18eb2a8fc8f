/* Arrays out of NPZ archives, stored or deflated. */
#ifndef STAIR_TRAIN_NPZ_READ_H
#define STAIR_TRAIN_NPZ_READ_H

#include "core/npy.h"

typedef struct zip stair_archive;

stair_status stair_archive_open(stair_context *context, const char *path, stair_archive **archive);
void stair_archive_close(stair_archive **archive);

/* values (header->count), to be freed, of array `name`: real numbers in C order, all finite. */
stair_status stair_archive_array(stair_context *context, stair_archive *archive, const char *path,
                                 const char *name, stair_npy_header *header, double **values);

#endif
