/* Grids of models and what is known of them: `--set key=v1,v2` makes a list of models, every point of the
 * grid is a row of doubles, and finished rows are kept in a checkpoint from which --resume goes on. */
#ifndef STAIR_CLI_GRID_H
#define STAIR_CLI_GRID_H

#include "report.h"

typedef struct {
    cli_request *request;
    char **specs; /* MODEL strings */
    size_t models;
    int *indices; /* (models): P of each */
    int most_indices, most_layers;
    size_t rows, row_size; /* points in all; doubles of one */
    double *table;         /* (rows, row_size) */
    size_t unit;           /* rows that are computed together, one after the other */
    uint32_t *known;       /* (rows / unit): rows of each that are complete */
    bool piece;            /* of a rank that computes one unit by itself */
    uint64_t fingerprint;
    char *key[OPTION_MOST_TEXTS]; /* of --set */
    int keys;
    cli_column *columns; /* of the report */
} cli_grid;

/* Models of the request and its --set; `per_model` points each, of `head` bytes and `matrices` matrices (P,
 * P) of doubles: room for the largest model's, behind each other as the model has them.  unit: points that
 * depend on the ones before them come in runs of so many, 1 where none does.  Reads the checkpoint when
 * resuming. */
stair_status grid_open(cli_request *request, size_t per_model, size_t unit, size_t head, size_t matrices,
                       cli_grid *grid);
/* Opens a report whose first column is the MODEL string.  With --set each key has a column of its own behind
 * it, which report_row fills in. */
stair_status grid_report(cli_grid *grid, const cli_column *columns, int count, cli_report **report);
/* Rows of a checkpoint are somebody else's bytes: commands look at what is an index, a flag or a number of
 * things before they use it.  grid_damaged says so; grid_whole: an integer between two others. */
stair_status grid_damaged(const cli_grid *grid);
bool grid_whole(double value, double least, double most);
double *grid_row(const cli_grid *grid, size_t row);
bool grid_known(const cli_grid *grid, size_t row); /* complete */
/* Marks a row as complete and keeps it. */
stair_status grid_keep(cli_grid *grid, size_t row);
/* Ranks compute what is not known yet, unit by unit, whoever is free next; then all rows are known to all, as
 * after a resume.  body: computes and keeps the rows of one unit, in a grid whose request has a context of
 * its own.  Without ranks, or where units are fewer, nothing is done. */
typedef stair_status grid_body(void *user, cli_grid *grid, size_t unit);
stair_status grid_share(cli_grid *grid, grid_body *body, void *user);
/* `finished`: the results are out, the checkpoint goes. */
void grid_close(cli_grid *grid, bool finished);

#endif
