/* Samples and labels of the user's, as NPY files. */
#ifndef STAIR_CLI_AMP_DATA_H
#define STAIR_CLI_AMP_DATA_H

#include "command.h"
#include "file_list.h"
#include "io/npy.h"

typedef struct {
    void *memory; /* a whole file, or NULL */
    size_t size;
} amp_map;

typedef struct {
    file_list files;
    stair_gamp_data data;
    stair_gamp_part *parts; /* (files): X of each */
    amp_map *maps;          /* (files) */
    char kind;              /* of numbers, as in the header of the first file, */
    int size;               /* and their bytes */
    bool mapped;            /* all of them */
    double *copy, *labels;  /* what could not be mapped; labels as the model carries them */
} amp_data;

/* x (n, M, D) of one file or several, as file_list_read takes them: mapped where all are float or double in C
 * order, else converted in memory.  `dim` 0: any. */
stair_status amp_data_open(cli_request *request, const char *word, int dim, amp_data *data);
/* Reads the labels of data->data.samples samples, of one file or several; `logits`: as logarithms. */
stair_status amp_data_labels(cli_request *request, const char *word, bool logits, amp_data *data);
void amp_data_close(amp_data *data);

#endif
