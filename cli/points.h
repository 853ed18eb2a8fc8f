/* Where the channel's samples come from: NPY files, or random draws; in blocks, never all at once. */
#ifndef STAIR_CLI_POINTS_H
#define STAIR_CLI_POINTS_H

#include "command.h"
#include "io/npy.h"

typedef struct cli_points {
    stair_context *context;
    const stair_model *model;
    stair_points_options random;
    bool from_files;
    bool plain; /* labels come as y */
    stair_npy labels, omega, cov;
    uint64_t n;          /* samples in all */
    size_t block;        /* most samples at a time */
    size_t covs;         /* covariances of the present block: 1 or its size */
    double *buffer;      /* one allocation behind the next five */
    double *label_block; /* (block, K) */
    double *plain_block; /* (block, K), y as read */
    double *omega_block; /* (block, P, M) */
    double *cov_block;   /* (block, P, P) or (P, P) */
    double *z_block;     /* (block, P, M), for random draws */
} cli_points;

/* Opens and checks everything that can be checked without computing: files, shapes, finite numbers. */
stair_status points_open(cli_request *request, size_t block, cli_points *points);
stair_status points_read(cli_points *points, uint64_t first, size_t n);
/* Puts the file that a failing sample came from in front of the context's message. */
stair_status points_blame(cli_points *points, stair_status status);
void points_close(cli_points *points);

#endif
