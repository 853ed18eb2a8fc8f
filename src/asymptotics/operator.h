/* The weak-recovery operator F on what is not yet learned, and its leading eigenvector. */
#ifndef STAIR_ASYMPTOTICS_OPERATOR_H
#define STAIR_ASYMPTOTICS_OPERATOR_H

#include "average/average.h"
#include "model/symmetry.h"

typedef struct {
    double value, error;                        /* largest eigenvalue */
    double by_replicate[STAIR_MOST_REPLICATES]; /* <X, F_r(X)> */
    double x[STAIR_SQUARE];                     /* (P, P): X in the space of Q, trace 1, X >= 0 */
} stair_leading;

/* basis (P, kernel) as given to stair_average_evaluate. */
void stair_operator_leading(const stair_average *average, const stair_symmetry *symmetry, const double *basis,
                            stair_leading *leading);

#endif
