/* Between the option table and stair_asymptotics_options. */
#include "asymptotics.h"

void asymptotics_defaults(cli_options *o)
{
    stair_asymptotics_options d = stair_asymptotics_defaults();
    o->precision = d.precision;
    o->samples = d.points;
    o->replicates = d.replicates;
    o->widening = d.widening;
    o->inner = d.inner;
    o->side = d.side;
    o->max_iterations = d.max_iterations;
    o->seed = d.seed;
}

stair_asymptotics_options asymptotics_wanted(const cli_options *o)
{
    stair_asymptotics_options d = stair_asymptotics_defaults();
    d.precision = o->precision;
    d.points = o->samples;
    d.replicates = (int)o->replicates;
    d.widening = o->widening;
    d.inner = o->inner;
    d.side = o->side;
    d.max_iterations = (int)o->max_iterations;
    d.seed = o->seed;
    return d;
}
