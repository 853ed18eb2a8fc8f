/* Values of a link of one output where the density of its label may be singular, or ends. */
#ifndef STAIR_AVERAGE_LABEL_PLACES_H
#define STAIR_AVERAGE_LABEL_PLACES_H

#include "model/expr.h"

#define STAIR_LABEL_PLACES 48 /* at most */

/* Inserts `at` where no value within the relative difference `same` is in the rising list yet. */
void stair_label_insert(double at, double same, int most, int *count, double *list);

/* Rising values between low and high, added to `place`: those of the critical points of the link with
 * |z_c| <= wide, of the corners of its bends and jumps, and of the corners of that box. */
void stair_label_places(const stair_program *program, double wide, double same, double low, double high,
                        int *count, double *place);

#endif
