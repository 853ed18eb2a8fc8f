/* From the precision that is asked for to how careful averages are. */
#ifndef STAIR_ASYMPTOTICS_EFFORT_H
#define STAIR_ASYMPTOTICS_EFFORT_H

#include "average/average.h"

/* What numbers are reported with, */
stair_average_effort stair_effort_fine(const stair_asymptotics_options *options);
/* and what the way to them is looked for with. */
stair_average_effort stair_effort_coarse(const stair_structure *structure,
                                         const stair_asymptotics_options *options);
/* Seconds of one core that a request may take; with samples given, any. */
double stair_effort_patience(const stair_asymptotics_options *options);

#endif
