/* What the files of the levels share; see lines.h. */
#ifndef STAIR_CHANNEL_LINES_LEVELS_H
#define STAIR_CHANNEL_LINES_LEVELS_H

#include "channel/lines.h"

/* All levels from this one on. */
void stair_lines_descend(stair_lines *s, int level);
/* Prior mean of the cell of a level, given those before. */
double stair_lines_centre(const stair_lines *s, int level);
/* Where roots of a level are looked for. */
void stair_lines_limits(const stair_lines *s, int level, double mean, double *low, double *high);
/* One node of a level: x, and log of its share; z of the cell is set by the caller. */
void stair_lines_node(stair_lines *s, int level, double x, double log_share);
/* Log of the likelihood of outputs that no level has seen to, -infinity where a label differs. */
double stair_lines_judge(const stair_lines *s);
void stair_lines_add_leaf(stair_lines *s, double log_weight);

/* Fills s->ends. */
void stair_lines_end_nodes(stair_lines *s);
void stair_lines_outer(stair_lines *s, int level);
void stair_lines_noisy(stair_lines *s, int level);

#endif
