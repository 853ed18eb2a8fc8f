/* The first look at an integrand, kept in stair_modes. */
#ifndef STAIR_CHANNEL_PILOT_H
#define STAIR_CHANNEL_PILOT_H

#include "channel/modes.h"

/* Two free coordinates: the pilot is a grid, modes->side wide. */
bool stair_pilot_is_grid(const stair_integrand *f);

/* Fills the pilot and modes->stiff. */
void stair_pilot_look(stair_integrand *f, double cutoff, stair_modes *modes);

/* Prior deviations beyond which nothing is within `cutoff` of the best pilot, where all of Z is coordinates:
 * the exponent is at most that of the prior. */
double stair_pilot_radius(double cutoff, const stair_modes *modes);

/* Points of the widened prior, for any number of coordinates. */
void stair_pilot_scatter(stair_integrand *f, stair_modes *modes);

/* One mode with the mean and covariance of the pilot, a grid widened by its cell; false when they are
 * degenerate. */
bool stair_pilot_moments(const stair_integrand *f, stair_modes *modes);

/* Prior standard deviation of coordinate k; u = prior mean plus prior factor times t. */
double stair_prior_scale(const stair_integrand *f, int k);
void stair_prior_point(const stair_integrand *f, const double *t, double *u);

#endif
