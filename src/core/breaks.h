/* Places along a line where a function that is known by its values alone has a kink or a jump. */
#ifndef STAIR_CORE_BREAKS_H
#define STAIR_CORE_BREAKS_H

#include <stdbool.h>

#define STAIR_MOST_BREAKS 64  /* of one line: more cost more than what lies between them is worth */
#define STAIR_BREAKS_SCAN 512 /* most places of a first look */

typedef struct {
    /* y (n) at x (n), n up to 9 */
    void (*values)(void *user, int n, const double *x, double *y);
    void *user;
    double tolerance; /* what changes y by less is not looked for */
} stair_values;

/* Breaks of the curve, ascending, into place (STAIR_MOST_BREAKS); how many: that many may not be all.  y (n):
 * its values at low + i step; skip (n - 1), or NULL: intervals of this look that need not be searched. */
int stair_breaks_find(const stair_values *curve, int n, double low, double step, const double *y,
                      const bool *skip, double *place);

#endif
