/* Posterior moments of many samples that share one covariance: rules, and the one place that chooses.
 *
 * A rule is a const struct at the end of its file and a line in the table of denoiser.c; the first that fits
 * serves.  The last one is the channel, which fits every model. */
#ifndef STAIR_POSTERIOR_DENOISER_H
#define STAIR_POSTERIOR_DENOISER_H

#include "core/ranks.h"
#include "model/structure.h"

/* Estimates of one sample: by all nodes of a rule, by the first half of them, by the second. */
#define STAIR_PARTS_OF_RULE 3

/* Results, the caller's; the place of part k of sample i is stair_denoised_at(). */
typedef struct {
    size_t n;        /* samples of the last evaluation */
    double *logz;    /* (n, parts) */
    double *g;       /* (n, parts, P*M) */
    double *dg;      /* (n, parts, P*M, P*M) */
    double *error;   /* (n): of the channel; of rules with halves, half their distance in log Z */
    double *anchors; /* (n, M): room */
} stair_denoised;

/* How careful. */
typedef struct {
    double fineness; /* of nodes in a plane, 1 for errors of 1e-4 or less; 0: the channel alone */
    size_t nodes;    /* of each half where nodes are a lattice, a power of two */
    uint64_t seed;   /* of random nodes */
    stair_channel_options channel;
} stair_denoiser_effort;

typedef struct stair_denoiser_rule {
    const char *name;
    bool (*fits)(const stair_structure *structure, const double *cov); /* cov (P, P) */
    stair_status (*create)(stair_context *context, const stair_structure *structure, const double *cov,
                           const stair_denoiser_effort *effort, void **state);
    void (*destroy)(void **state);
    bool (*random)(const void *state); /* the seed matters; NULL: never */
    bool (*kept)(const void *state);   /* a backend has its nodes, and sums cost little; NULL: never */
    /* Largest change of the last row with the label: labels vary over that much less.  NULL: not known. */
    double (*steepest)(const void *state);
    /* Over which posteriors vary with the last row at the anchor, at these means of the last row (M).  NULL:
     * its standard deviation by `steepest`. */
    double (*label_width)(const void *state, const double *mean);
    /* drawn (n, P, M): Z of the samples, near which nodes may be looked for, or NULL.  Writes logz, g, dg. */
    stair_status (*evaluate)(stair_context *context, void *state, uint64_t first, size_t n,
                             const double *labels, const double *omega, const double *drawn,
                             stair_denoised *result);
    /* Parts stand sample by sample, and `error` is to be taken from the halves; else the wholes of all
     * samples come first, and the rule writes `error` itself. */
    bool by_sample;
    bool whole; /* there are no halves: one estimate of each sample */
} stair_denoiser_rule;

extern const stair_denoiser_rule stair_denoiser_exchange, stair_denoiser_one_row, stair_denoiser_two_rows,
    stair_denoiser_channel;
extern const stair_denoiser_rule *const stair_denoiser_rules[]; /* the table, ended by NULL */

typedef struct {
    const stair_structure *structure;
    const stair_denoiser_rule *rule;
    void *state;
    const double *cov; /* (P, P), the caller's */
    stair_channel_options channel;
    int parts; /* estimates of each sample: 1, or STAIR_PARTS_OF_RULE, which take the bias of random nodes out
                */
} stair_denoiser;

stair_status stair_denoiser_create(stair_context *context, const stair_structure *structure,
                                   const double *cov, const stair_denoiser_effort *effort,
                                   stair_denoiser *denoiser);
void stair_denoiser_destroy(stair_denoiser *denoiser);
stair_status stair_denoiser_evaluate(stair_context *context, stair_denoiser *denoiser, uint64_t first,
                                     size_t n, const double *labels, const double *omega, const double *drawn,
                                     stair_denoised *result);

/* stair_parallel_shared over blocks of `samples` samples, each of which has `parts` estimates of the result
 * side by side. */
stair_status stair_denoised_share(stair_context *context, const stair_model *model, size_t samples, int parts,
                                  stair_parallel_body *body, void *job, size_t n, stair_denoised *result);

/* Where part k of sample i stands in the arrays. */
size_t stair_denoised_at(const stair_denoiser *denoiser, const stair_denoised *result, size_t i, int part);

bool stair_denoiser_is_random(const stair_denoiser *denoiser);  /* a new seed makes new nodes */
bool stair_denoiser_is_kept(const stair_denoiser *denoiser);    /* by a backend */
double stair_denoiser_steepest(const stair_denoiser *denoiser); /* 0: not known */
double stair_denoiser_label_width(const stair_denoiser *denoiser, const double *mean); /* 0: not known */

/* Share of part k in an average of something nonlinear in the sums: 1 for the whole; where nodes are random
 * 2, -1/2, -1/2, which is free of the bias of order 1/nodes. */
double stair_denoiser_share(const stair_denoiser *denoiser, int part);
double stair_part_share(bool random, int part);

#endif
