/* Attention whose label is the mixed sequence, y = S_L H_{L-1}: shared by its files. */
#ifndef STAIR_MODEL_SEQUENCE_H
#define STAIR_MODEL_SEQUENCE_H

#include "model/attention.h"

/* Two tokens: what a carried label (M, M) has in place (i, j).  The logarithm of y_ij off the diagonal; on it
 * log D, D = y_11 - y_21 = y_22 - y_12, of which plain y keeps no digits once both rows attend to one token.
 */
enum { STAIR_SEQUENCE_GAP = 0, STAIR_SEQUENCE_12 = 1, STAIR_SEQUENCE_21 = 2, STAIR_SEQUENCE_GAP_TOO = 3 };

/* Makes `model`, of which attention's create() has read the keys, one with this label; or refuses. */
stair_status stair_sequence_begin(stair_context *context, stair_model *model);

int stair_sequence_fibre_size(void); /* doubles of stair_fibre.data */
stair_status stair_sequence_fibre_open(stair_context *context, const stair_model *model, const double *label,
                                       const double *omega, stair_fibre *fibre);
void stair_sequence_fibre_map(const stair_fibre *fibre, int chart, stair_digits digits, int n,
                              const double *u, double *z, double *weight);

#endif
