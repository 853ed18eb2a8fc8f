/* The folder that gnuplot runs in: `.stair-figure-PID-K` below the one of the figures. */
#ifndef STAIR_FIGURES_WORK_H
#define STAIR_FIGURES_WORK_H

#include "stair.h"

#define FIGURE_PATH_MOST 4096 /* bytes of a file's name */

typedef struct {
    char path[FIGURE_PATH_MOST]; /* empty: none */
    int lock;                    /* file descriptor of it */
} figure_work;

/* Makes one below `folder`, after those of processes that are gone were removed. */
stair_status figure_work_open(stair_context *context, const char *folder, figure_work *work);

/* path (FIGURE_PATH_MOST) of one of its files */
void figure_work_path(const figure_work *work, const char *file, char *path);

/* Removes its files, or it. */
void figure_work_clean(const figure_work *work);
void figure_work_close(figure_work *work);

#endif
