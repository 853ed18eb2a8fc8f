/* The integration rules of the channel, all of one shape: integrate the current sample's integrand,
 * leave log Z, g, dg in `out` and an honest estimate of their error. */
#ifndef STAIR_CHANNEL_RULES_H
#define STAIR_CHANNEL_RULES_H

#include "channel/lattice_map.h"
#include "channel/modes.h"

enum {
    STAIR_RULE_EXACT,
    STAIR_RULE_LAYERED,
    STAIR_RULE_LATTICE,
    STAIR_RULE_NESTED,
    STAIR_RULE_SAMPLING,
    STAIR_RULES
};

/* Scratch of one thread, shared by all rules. */
typedef struct {
    stair_integrand f;
    stair_modes modes;
    stair_lattice_map map;
    struct stair_layered *layered;         /* made when first needed */
    stair_moments total, extra, part[2];   /* sums */
    stair_posterior first, second, coarse; /* to compare */
    stair_posterior spare;                 /* for results nobody asked for */
    stair_posterior half[2];               /* by halves of the nodes, where the rule is random, */
    bool halved;                           /* which it says here */
    double *memory;
    uint64_t sample; /* number of the sample, for random shifts */
} stair_worker;

stair_status stair_worker_create(stair_context *context, const stair_model *model, stair_worker *w);
void stair_worker_destroy(stair_worker *w);

typedef struct {
    double error;   /* as stair_posterior_distance() */
    bool converged; /* error within the requested precision */
} stair_rule_result;

/* Counts x from the leading of w->modes. */
void stair_rule_origin(stair_worker *w);

/* Whether a result is final: it meets options->precision, or no rule could do better.  If not, and g or dg
 * turned out small beside the moments they come from, goal->precision is set to what the moments need
 * and the rule should run once more.  Adds rounding to the error of a final result. */
bool stair_rule_accept(const stair_integrand *f, const stair_channel_options *options,
                       const stair_posterior *out, stair_channel_options *goal, stair_rule_result *result);

/* n = 0 coordinates: the fibre is a point and its mirror. */
stair_rule_result stair_rule_exact(stair_worker *w, stair_posterior *out);
/* A fibre with a head and a tail of two coordinates each: a lattice in both. */
bool stair_layered_fits(const stair_integrand *f);
void stair_layered_destroy(struct stair_layered *layered);
stair_rule_result stair_rule_layered(stair_worker *w, const stair_channel_options *options,
                                     stair_posterior *out);
/* 1 to 4 free coordinates: shifted lattices in the frame of the modes. */
stair_rule_result stair_rule_lattice(stair_worker *w, const stair_channel_options *options,
                                     stair_posterior *out);
/* Two free coordinates, as long as V is enough of a frame; false when it is not, and nothing is lost but
 * time. */
bool stair_lattice_prior(stair_worker *w, const stair_channel_options *options, stair_posterior *out,
                         stair_rule_result *result);
/* 2 free coordinates, any shape of integrand: adaptive Gauss-Kronrod in each. */
stair_rule_result stair_rule_nested(stair_worker *w, const stair_channel_options *options,
                                    stair_posterior *out);
/* any number of coordinates: importance sampling on randomly shifted lattices. */
stair_rule_result stair_rule_sampling(stair_worker *w, const stair_channel_options *options,
                                      stair_posterior *out);

#endif
