/* Samples and labels of the user's, as NPY files. */
#ifndef STAIR_CLI_AMP_DATA_H
#define STAIR_CLI_AMP_DATA_H

#include "command.h"
#include "io/npy.h"

typedef struct {
    stair_npy x;
    stair_gamp_data data;
    void *map; /* of the whole file, or NULL */
    size_t map_size;
    double *copy, *labels; /* what could not be mapped; labels as the model carries them */
} amp_data;

/* x (n, M, D): mapped where it is float or double in C order, else converted in memory.  `dim` 0: any. */
stair_status amp_data_open(cli_request *request, const char *path, int dim, amp_data *data);
/* Reads the labels of data->data.samples samples; `logits`: as logarithms. */
stair_status amp_data_labels(cli_request *request, const char *path, bool logits, amp_data *data);
void amp_data_close(amp_data *data);

#endif
