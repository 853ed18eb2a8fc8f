/* Posterior moments of the whitened residual x = L^{-1} (Z - omega), V = L L^T.
 *
 * Every rule of the channel walks over nodes u of a fibre and ends in one stair_moments:
 *
 *   sum_i q_i weight_i sum_{+-} exp(E_i^{+-} - top) {1, x, x x^T},    E = -|x|^2 / 2
 *
 * from which log Z_out, g = L^{-T} E[x] and dg = L^{-T} (Cov x - 1) L^{-1} follow at once.  x is
 * counted from `origin`, a node near the maximum, so that nothing cancels when |x| is large.
 */
#ifndef STAIR_CHANNEL_MOMENTS_H
#define STAIR_CHANNEL_MOMENTS_H

#include "model/structure.h"

typedef struct {
    int rows, tokens, free_rows; /* P, M, rows that are coordinates */
    int residuals;
    bool mirrored;
    const double *whiten; /* (P, P) lower: L^{-1} */
    const double *offset; /* (P, M): L^{-1} omega */
    const double
        *shift; /* (P, M): what is left of it when free rows are counted from their mean: zero in those */
} stair_channel_shape;

/* One block of nodes on its way: structure of arrays, STAIR_BLOCK wide, one allocation. */
typedef struct {
    double *u;  /* (dim): set by the rule, free rows counted from their prior mean, so that a small V costs no
                   digits */
    double *at; /* (dim): the same counted from zero, what the fibre is asked for */
    double *z;  /* (P*M + residuals): dependent rows and residuals, set by the fibre */
    double *weight; /* set by the fibre; a rule may scale it */
    double *a;      /* (P*M): x = a + b, mirror a - b */
    double *b;
    double *plus;  /* E of x = a + b */
    double *minus; /* E of x = a - b, when mirrored */
} stair_nodes;

/* The integrand of one sample, owned by one thread. */
typedef struct {
    stair_fibre fibre;
    stair_channel_shape shape;
    const stair_structure *structure;
    int odd[STAIR_MAX_INDICES]; /* of row i of Z, see ignorance.h: not 0 where E[Z] vanishes; rows of unequal
                                   number are not correlated */
    int round[STAIR_MAX_INDICES]; /* not 0 for rows that may turn into those of the same number */
    double log_angles;            /* of the integral over angles that are no coordinates */
    int chart;
    stair_digits digits;                      /* of the map, that the rule is content with */
    int dim, size;                            /* coordinates; P*M */
    int count;                                /* numbers in a stair_moments: 1 + size + size (size + 1) / 2 */
    double *whiten, *offset, *lower, *origin; /* (P,P) (P*M) (P,P) (P*M) */
    double *shift, *mean;                     /* (P*M) (P*M): as in the shape; omega */
    double *variance;                         /* (P,P): V with prenoise */
    double half_logdet;
    double *lanes;                 /* accumulators of the kernel, stair_isa_lanes() per sum, */
    struct stair_moments *pending; /* not yet added to these moments */
    stair_nodes nodes;
    int64_t visited; /* nodes evaluated so far */
} stair_integrand;

typedef struct stair_moments {
    double top;  /* scale: all sums are times exp(top) */
    double *sum; /* (count): mass, first moments, second moments (i >= j) */
} stair_moments;

stair_status stair_integrand_create(stair_context *context, const stair_model *model, stair_integrand *f);
void stair_integrand_destroy(stair_integrand *f);

/* The most coordinates that any sample of its model has. */
int stair_integrand_most(const stair_integrand *f);

/* Sets omega (P, M) and V (P, P); prenoise is added here. False when V is not positive definite. */
bool stair_integrand_set(stair_integrand *f, const double *omega, const double *cov);

/* u (dim, STAIR_BLOCK) = centre + matrix points, one block; points (dim, stride) */
void stair_affine(int dim, const double *matrix, const double *centre, const double *points, size_t stride,
                  double *u);
/* mass = weight (exp(plus - top) + exp(minus - top)); minus may be NULL.  Arrays have room for whole lanes.
 */
void stair_mass(int n, const double *plus, const double *minus, double top, const double *weight,
                double *mass);

/* Energies of the first n nodes of f->nodes.u; returns their largest. */
double stair_integrand_energies(stair_integrand *f, int n);

/* Adds the block evaluated last, its weights times exp(bias_i) (bias may be NULL), to `moments`. */
void stair_integrand_add(stair_integrand *f, int n, const double *bias, double top, stair_moments *moments);

/* Starts empty moments at a known scale, which spares accumulate() a second pass over the first block. */
void stair_integrand_begin(stair_integrand *f, double top, stair_moments *moments);

/* Evaluates the first n nodes of f->nodes.u and adds them; returns the index of the last one whose energy is
 * within `cutoff` of the largest so far (rounded up to whole lanes), or -1. */
int stair_integrand_accumulate(stair_integrand *f, int n, double cutoff, stair_moments *moments);

/* Brings what is still in the accumulators into their moments; the functions below do it by themselves,
 * a reader of moments->sum must ask for it. */
void stair_integrand_flush(stair_integrand *f);

void stair_moments_clear(stair_integrand *f, stair_moments *moments);
/* into += exp(log_scale) from */
void stair_moments_merge(stair_integrand *f, stair_moments *into, const stair_moments *from,
                         double log_scale);

/* What the channel returns, from moments whose mass is the integral over u. */
typedef struct {
    double logz;
    double *g;  /* (P, M) */
    double *dg; /* (P*M, P*M) */
} stair_posterior;
void stair_moments_finish(stair_integrand *f, const stair_moments *moments, stair_posterior *out);

/* |a - b| (Frobenius) of n numbers, or |a| for b = NULL. */
double stair_posterior_norm(int n, const double *a, const double *b);

void stair_posterior_copy(const stair_integrand *f, const stair_posterior *from, stair_posterior *to);

/* How much larger the relative error of g or dg is than that of the moments they come from: both are
 * small differences when the label says little along a direction in which V is small. */
double stair_posterior_sensitivity(const stair_integrand *f, const stair_posterior *out);

/* Relative error of g or dg from leaving out nodes below exp(-cutoff). */
double stair_posterior_truncation(const stair_integrand *f, const stair_posterior *out, double cutoff);

/* Relative error of the moments from rounding: x = L^{-1} Z - L^{-1} omega cancels. No rule can beat it. */
double stair_integrand_rounding(const stair_integrand *f);

/* Largest of |log Z - log Z'|, |g - g'| / |g| and |dg - dg'| / |dg| (Frobenius), where |g| counts as at
 * least 1e-9 of what V alone sets, so that a g that vanishes by symmetry has a finite error. */
double stair_posterior_distance(const stair_integrand *f, const stair_posterior *a, const stair_posterior *b);

#endif
