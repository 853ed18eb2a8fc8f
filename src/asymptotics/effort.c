/* Errors of f fall like points^-0.7, 64000 give about 1e-3; those of grids like exp(-fineness^2). */
#include "asymptotics/effort.h"

#include <math.h>

static const struct {
    double samples, power; /* samples at a precision of 1e-3, and how they grow as it is raised */
    double least_samples;  /* for slopes along a branch to be of use */
    double nodes;          /* hidden nodes of half a rule, times the precision, */
    double least_nodes, most_nodes;
    double least_fineness;
    double honest_fineness; /* of what is reported: coarser grids may agree with each other and be wrong */
    double noisy_fineness;  /* of the way, where hidden nodes are random, and of a result to 1e-2: finer grids
                               would cost more than nodes, of which the noise comes, */
    double finer_noisy;     /* and for each decade below */
    double inner, most_inner; /* precision of the channel: times that of the result, and at most that */
    double most_noise;        /* of single posteriors by random rules, which is the root of the precision: it
                                 averages out, and what it leaves in squares is taken out to first order */
    double patience_at;       /* the precision that patience is meant for, */
    double dearer;            /* and how cost grows below: samples, and nodes of each */
    double coarser;           /* times the precision is what the way is looked for with, */
    double scout, roughest;   /* and always between these */
    int coarse_replicates;
    size_t fewer_nodes; /* times fewer on the way */
} tuning = {.samples = 64000,
            .power = 1.4,
            .least_samples = 512,
            .nodes = 64,
            .least_nodes = 1024,
            .most_nodes = 262144,
            .least_fineness = 0.65,
            .honest_fineness = 0.87,
            .noisy_fineness = 0.5,
            .finer_noisy = 0.15,
            .inner = 3,
            .most_inner = 1e-2,
            .most_noise = 0.15,
            .patience_at = 1e-2,
            .dearer = 2.4,
            .coarser = 7,
            .scout = 5e-3,
            .roughest = 0.1,
            .coarse_replicates = 4,
            .fewer_nodes = 4};

/* At least three quarters of `least`. */
static size_t power_of_two(double least)
{
    size_t n = 16;
    while ((double)n < 0.75 * least) n *= 2;
    return n;
}

static stair_average_effort effort_for(const stair_asymptotics_options *o, double precision, int replicates)
{
    stair_average_effort effort = {.rule = stair_average_rule_named(o->method),
                                   .replicates = replicates,
                                   .widening = o->widening,
                                   .seed = o->seed,
                                   .channel = stair_channel_defaults()};
    double all = fmax(tuning.least_samples, tuning.samples * pow(1e-3 / precision, tuning.power));
    if (o->points) all = fmin(all, (double)o->points);
    effort.points = power_of_two(all / replicates);
    effort.fineness = fmax(tuning.least_fineness, sqrt(-log10(precision) / 4));
    effort.noisy = tuning.noisy_fineness + tuning.finer_noisy * fmin(1, fmax(0, -2 - log10(precision)));
    effort.nodes = power_of_two(fmin(tuning.most_nodes, fmax(tuning.least_nodes, tuning.nodes / precision)));
    effort.channel.precision = o->inner > 0 ? o->inner : fmin(tuning.most_inner, tuning.inner * o->precision);
    effort.channel.noise =
        o->inner > 0 ? o->inner : fmax(effort.channel.precision, fmin(tuning.most_noise, sqrt(precision)));
    effort.channel.seed = o->seed;
    return effort;
}

double stair_effort_patience(const stair_asymptotics_options *o)
{
    double finer = fmax(1, tuning.patience_at / o->precision);
    return o->patience > 0 && !o->points ? 60 * o->patience * pow(finer, tuning.dearer) : INFINITY;
}

stair_average_effort stair_effort_fine(const stair_asymptotics_options *o)
{
    stair_average_effort fine = effort_for(o, o->precision, o->replicates);
    fine.fineness = fmax(fine.fineness, tuning.honest_fineness);
    if (o->points) fine.points = power_of_two((double)o->points / o->replicates);
    return fine;
}

stair_average_effort stair_effort_coarse(const stair_structure *structure, const stair_asymptotics_options *o)
{
    double precision = fmin(tuning.roughest, fmax(tuning.scout, tuning.coarser * o->precision));
    stair_average_effort coarse = effort_for(o, precision, tuning.coarse_replicates);
    size_t least = (size_t)tuning.least_nodes;
    coarse.nodes = coarse.nodes > tuning.fewer_nodes * least ? coarse.nodes / tuning.fewer_nodes : least;
    if (structure->many_hidden) coarse.fineness = tuning.noisy_fineness;
    return coarse;
}
