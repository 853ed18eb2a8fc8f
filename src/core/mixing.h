/* Anderson mixing of a fixed-point map y -> image(y): the next y is the mix of the latest images whose
 * residual image - y is least (Walker and Ni, SIAM J. Numer. Anal. 49, 2011). */
#ifndef STAIR_CORE_MIXING_H
#define STAIR_CORE_MIXING_H

#define STAIR_MIXING_MEMORY 4 /* iterates that are mixed; more did not help maps of a few coordinates */

typedef struct {
    int count, cells; /* iterates kept; numbers of one */
    double *memory;   /* (2, STAIR_MIXING_MEMORY, cells): y and images, oldest first; the caller's */
} stair_mixing;

#define STAIR_MIXING_ROOM(cells) (2 * STAIR_MIXING_MEMORY * (cells))

/* Keeps an iterate, the oldest one going when there is no room. */
void stair_mixing_add(stair_mixing *mixing, const double *y, const double *image);
/* next (cells), from at least one iterate. */
void stair_mixing_next(const stair_mixing *mixing, double *next);

#endif
