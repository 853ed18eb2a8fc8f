/* A plug-in: a model of your own as a MODEL string, y = tanh(2 z_1 z_2) + noise.
 *
 *   cc -shared -fPIC -O2 agreement.c -o agreement.so
 *   stair threshold plugin:./agreement.so,noise=0.3 --precision 5e-3
 *
 * To make it yours, change `agreement`, its gradient (or leave that out) and the sizes at the end. */
#include <math.h>
#include <stair.h>

#define STEEPNESS 2.0

/* z has P = 2 numbers, y has K = 1.  Called from several threads: nothing but y is written to. */
static void agreement(const double *z, double *y)
{
    y[0] = tanh(STEEPNESS * z[0] * z[1]);
}

/* For `stair sgd`: of sum_k cotangent_k y_k, in z. */
static void agreement_gradient(const double *z, const double *cotangent, double *gradient)
{
    double y = tanh(STEEPNESS * z[0] * z[1]), slope = STEEPNESS * (1 - y * y) * cotangent[0];
    gradient[0] = slope * z[1];
    gradient[1] = slope * z[0];
}

const stair_plugin STAIR_PLUGIN_TABLE = {
    .version = STAIR_PLUGIN_VERSION,
    .size = sizeof(stair_plugin),
    .tokens = 1,
    .indices = 2,
    .outputs = 1,
    .function = agreement,
    .gradient = agreement_gradient,
};
