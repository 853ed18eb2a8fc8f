/* What symmetry alone says of a posterior about rows that nothing is known of: omega = 0 there, and V does
 * not couple them to others.
 *
 *   rows whose signs may change (together):  E[Z] = 0, and no correlation with other rows
 *   rows that may turn into each other:      Cov(Z_ia, Z_jb) = delta_ij C_ab
 *
 * Rotations of such rows leave the integrand as it is, so their angles need no integral.  State evolution
 * starts there, and so does every first step. */
#ifndef STAIR_CHANNEL_IGNORANCE_H
#define STAIR_CHANNEL_IGNORANCE_H

#include "channel/moments.h"

/* Finds what holds at the omega and V of f, and takes angles that do not matter out of its coordinates. */
void stair_ignorance_find(stair_integrand *f);

/* Puts it into `out`, rows in the order of Z. */
void stair_ignorance_apply(const stair_integrand *f, stair_posterior *out);

#endif
