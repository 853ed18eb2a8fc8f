/* Plug-ins: a model of your own in a shared library, for the MODEL string plugin:./FILE.so,noise=X.
 *
 * Part of the interface of stair.h, which includes this file.  A plug-in is one C function y = g(z) and one
 * table that says how large z and y are; examples/plugin/ has one that can be copied.  Noise on y is added by
 * the library, which finds posteriors, thresholds, curves and runs from g alone.
 *
 *   cc -shared -fPIC -O2 agreement.c -o agreement.so && stair threshold plugin:./agreement.so,noise=0.3
 *
 * The table is versioned: a library refuses tables of another version, and never guesses. */
#ifndef STAIR_PLUGIN_H
#define STAIR_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STAIR_PLUGIN_VERSION 1

typedef struct {
    uint32_t version;             /* STAIR_PLUGIN_VERSION */
    uint32_t size;                /* sizeof(stair_plugin) */
    int tokens, indices, outputs; /* M, P and K, as in stair_link */
    /* y (K) = g(z), z (P, M) row by row.  Called from several threads at once: it writes to y alone, and the
     * same z gives the same y. */
    void (*function)(const double *z, double *y);
    /* gradient (P, M) of sum_k cotangent_k y_k; NULL: by differences, to about nine digits. */
    void (*gradient)(const double *z, const double *cotangent, double *gradient);
} stair_plugin;

/* What a plug-in defines: const stair_plugin STAIR_PLUGIN_TABLE = {...}; */
#define STAIR_PLUGIN_TABLE stair_plugin_table
extern const stair_plugin STAIR_PLUGIN_TABLE;

#ifdef __cplusplus
}
#endif
#endif
