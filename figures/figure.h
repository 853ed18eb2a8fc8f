/* Figures: what each is called, how its numbers are computed, and what its plot shows.
 *
 * A figure is a const struct figure_kind at the end of its file and a line in the table of kinds.c.  Its
 * numbers come from the library in parts, each kept when it is done, so that a run that was interrupted goes
 * on; the plot is made from the table alone.  make.c does the rest: checks, files, drawing. */
#ifndef STAIR_FIGURES_FIGURE_H
#define STAIR_FIGURES_FIGURE_H

#include "plot.h"

typedef struct {
    stair_context *context;
    const char *folder;       /* where files go */
    const char *model;        /* MODEL that was given, or NULL */
    const char *data, *vocab; /* questions that were given, or NULL */
    const char *overlay;      /* folder with published tables, or NULL */
    bool quick, tex, force, resume;
    figure_size size;
    stair_asymptotics_options how;
    bool precise;        /* how.precision was asked for */
    const char *options; /* " --quick --seed 2": those behind the name in the command of one figure */
    /* Called before each part of all that is to do: number `part` of `parts`.  May be NULL. */
    void (*stage)(void *user, const char *name, int part, int parts);
    void *user;
} figure_request;

typedef struct figure_job {
    const figure_request *request;
    stair_context *context;
    const struct figure_kind *kind;
    char spec[512];     /* MODEL; empty where the figure has several of its own */
    stair_model *model; /* or NULL */
    stair_model_info info;
    bool quick;
    figure_table *table;
    figure_table *overlay[4]; /* published tables that are drawn beside */
    int overlays;
    double missed; /* largest error of an overlap that is above the precision asked for, or 0 */
} figure_job;

typedef struct figure_kind {
    const char *name;                       /* of the files: fig1-left-prenoise */
    const char *group;                      /* of the figure that a user asks for: fig1-left */
    const char *text;                       /* one line */
    const char *model;                      /* MODEL of the figure, NULL: it has several */
    bool takes_model;                       /* another one can be given */
    bool prenoise;                          /* the variant of the paper's setting, prenoise=1e-3 */
    bool takes_data;                        /* questions can be given */
    const struct figure_kind *numbers_of;   /* a figure made before that has the same numbers, or NULL */
    stair_status (*check)(figure_job *job); /* of what was given, before anything is computed; or NULL */
    void (*columns)(const figure_job *job, char *names, size_t size);
    int (*parts)(const figure_job *job);
    stair_status (*compute)(figure_job *job, int part); /* adds rows to the table */
    stair_status (*draw)(figure_job *job, figure_plot *plot);
} figure_kind;

extern const figure_kind *const figure_kinds[]; /* ended by NULL */

/* Whether `name` ("all", a figure, or one variant of it) asks for this kind. */
bool figure_is_asked(const figure_kind *kind, const figure_request *request, const char *name);

/* What became of a figure. */
typedef struct {
    const figure_kind *kind;
    char spec[512];
    int rows;
    bool kept; /* its numbers were there already */
    double missed;
    const figure_table *table; /* while it is told; afterwards NULL */
} figure_result;
typedef stair_status figure_tell(void *user, const figure_result *result);

/* Makes all figures that `name` asks for, and tells of each.  Before anything is computed: names, models,
 * files that would be lost, gnuplot.  STAIR_NOT_CONVERGED where a figure is drawn but misses its precision.
 * A folder that was made and stays empty is removed. */
stair_status figures_make(const figure_request *request, const char *name, figure_tell *tell, void *user);

/* ---- for the figures: common.c ---------------------------------------------------------------------- */

/* Options of asymptotics with the precision of the figure, unless another was asked for. */
stair_asymptotics_options figure_how(const figure_job *job, double quick, double full);
/* STAIR_NOT_CONVERGED becomes OK, and is remembered with the error that was reached. */
stair_status figure_reached(figure_job *job, stair_status status, double error);
/* Names of a column for index k from 1: "Q11", "Q11_error"; with more than nine indices "Q1_1". */
void figure_overlap_name(int indices, int k, bool error, char name[FIGURE_NAME]);
/* Steps as marks, and marks as shaded ranges and labelled lines. */
stair_status figure_mark_steps(figure_job *job, int count, const stair_step *steps);
void figure_draw_steps(const figure_job *job, figure_plot *plot, double most, double height);
/* A published table of the overlay folder; NULL where there is none. */
stair_status figure_overlay(figure_job *job, const char *file, const figure_table **table);
/* The grid from, from + step, ... to, numbers as one would type them. */
double figure_grid(double from, double step, int i);
/* Mean of n numbers and its error. */
void figure_mean(int n, const double *values, double *mean, double *error);
/* "run1", "run2", ...: series of runs, FIGURE_RUNS at most. */
#define FIGURE_RUNS 16
const char *figure_run_name(int run);
/* Of series that have the same values in the first column, row by row: a series "mean" of the runs from 0 on,
 * where columns 1, 3, ... are values and 2, 4, ... their errors.  A run that is shorter than the first is
 * left out from there on. */
stair_status figure_add_means(figure_job *job, int runs);
bool figure_is_attention(const figure_job *job);

#endif
