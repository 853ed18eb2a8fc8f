/* The integration rules of the channel, all of one shape: integrate the current sample's integrand,
 * leave log Z, g, dg in `out` and an honest estimate of their error.
 *
 * A rule is a const struct at the bottom of its own file and one line in the table of channel.c, which alone
 * says what there is, in which order rules are tried, and what --method may name. */
#ifndef STAIR_CHANNEL_RULES_H
#define STAIR_CHANNEL_RULES_H

#include "channel/lattice_map.h"
#include "channel/modes.h"

/* Numbers of rules in results: they stay, whatever comes. */
enum {
    STAIR_RULE_EXACT,
    STAIR_RULE_LAYERED,
    STAIR_RULE_LATTICE,
    STAIR_RULE_NESTED,
    STAIR_RULE_SAMPLING,
    STAIR_RULE_CLOSED,
    STAIR_RULE_PLANE,
    STAIR_RULE_MARGINAL,
    STAIR_RULE_LINES,
    STAIR_RULE_BOXES
};

/* Scratch of one thread, shared by all rules. */
typedef struct {
    stair_integrand f;
    stair_modes modes;
    stair_lattice_map map;
    struct stair_layered *layered;         /* made when first needed, */
    struct stair_sampler *sampler;         /* as this is, */
    struct stair_plane *plane;             /* this, */
    struct stair_marginal *marginal;       /* this, */
    struct stair_lines *lines;             /* this, */
    struct stair_boxes *boxes;             /* this, */
    double *panels;                        /* and this: moments of the panels of nested */
    stair_moments total, extra, part[2];   /* sums */
    stair_posterior first, second, coarse; /* to compare */
    stair_posterior spare;                 /* for results nobody asked for */
    stair_posterior kept;                  /* of the last rule that found anything and did not get there */
    stair_posterior half[2];               /* by halves of the nodes, where the rule is random, */
    bool halved;                           /* which it says here */
    double *memory;
    double work;            /* done for all its samples so far, in seconds of a usual core */
    uint64_t sample;        /* number of the sample, for random shifts */
    const double *label;    /* (K): its label */
    stair_context *context; /* for the message of a rule that refuses it */
} stair_worker;

stair_status stair_worker_create(stair_context *context, const stair_model *model, stair_worker *w);
void stair_worker_destroy(stair_worker *w);

typedef struct {
    double error;        /* as stair_posterior_distance() */
    bool converged;      /* error within the requested precision */
    stair_status status; /* not OK: the label is refused, for the reason on the worker's context */
} stair_rule_result;

typedef struct stair_channel_rule {
    const char *name; /* for --method */
    int number;       /* in results: STAIR_RULE_... */
    bool random;      /* nodes are random: results come in independent halves, and errors fall slowly */
    /* Whether it serves this integrand; forced: --method asks for it, it is not weighed against others. */
    bool (*fits)(const stair_integrand *f, bool forced);
    stair_rule_result (*evaluate)(stair_worker *w, const stair_channel_options *options,
                                  stair_posterior *out);
    double cost; /* of its nodes in units of usual ones, for what a request would take; 0: one */
} stair_channel_rule;

/* In the order in which they are tried:
 * closed: a formula of the model; exact: a finite fibre; boxes: a link that sees
 * cuts of up to three numbers alone; lines: a link written as a program, coordinate after coordinate;
 * layered: a lattice in head and tail of a fibre; lattice: 1 to 4 free coordinates, shifted lattices in the
 * frame of the modes; nested: 2 free coordinates, any shape of integrand, adaptive Gauss-Kronrod in each;
 * plane: 2 coordinates that are no rows of Z, equidistant nodes that spread from the modes; marginal: rows
 * that the label is linear in are integrated out, the others sampled; sampling: any number of coordinates,
 * importance sampling on randomly shifted lattices. */
extern const stair_channel_rule stair_rule_closed, stair_rule_exact, stair_rule_boxes, stair_rule_lines,
    stair_rule_layered, stair_rule_lattice, stair_rule_nested, stair_rule_plane, stair_rule_marginal,
    stair_rule_sampling;

/* Rule k of the table, or NULL past the end. */
const stair_channel_rule *stair_channel_rule_at(int k);

/* Whether all coordinates are rows of Z, in one chart; and the noise on y, infinite where there is none. */
bool stair_rule_euclidean(const stair_integrand *f);
double stair_rule_noise(const stair_integrand *f);

/* Counts x from the leading of w->modes. */
void stair_rule_origin(stair_worker *w);

/* Whether a result is final: it meets options->precision, or no rule could do better.  If not, and g or dg
 * turned out small beside the moments they come from, goal->precision is set to what the moments need
 * and the rule should run once more.  Adds rounding to the error of a final result. */
bool stair_rule_accept(const stair_integrand *f, const stair_channel_options *options,
                       const stair_posterior *out, stair_channel_options *goal, stair_rule_result *result);

void stair_layered_destroy(struct stair_layered *layered);
void stair_sampler_destroy(struct stair_sampler *sampler);
void stair_plane_destroy(struct stair_plane *plane);
void stair_lines_destroy(struct stair_lines **lines);
void stair_boxes_destroy(struct stair_boxes *boxes);
/* Whether the rule `boxes` can be asked for. */
bool stair_boxes_serve(const stair_model *model);

/* Two free coordinates, as long as V is enough of a frame; false when it is not, and nothing is lost but
 * time. */
bool stair_lattice_prior(stair_worker *w, const stair_channel_options *options, stair_posterior *out,
                         stair_rule_result *result);

#endif
