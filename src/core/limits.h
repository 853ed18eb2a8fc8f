/* Every limit of models, requests, files and of the channel in one place, with the reason for it.
 *
 * Sizes of models, requests and files may be raised: that costs memory and no digit.  Blocks and what the
 * channel samples at fix the order of sums: another value gives other last digits. */
#ifndef STAIR_CORE_LIMITS_H
#define STAIR_CORE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* ---- sizes of a model: buffers of one sample stand on the stack ------------------------------- */

#define STAIR_MAX_TOKENS  16 /* M: an (M, M) matrix of doubles is 2 kB */
#define STAIR_MAX_INDICES 24 /* P: dg has (P M)^2 entries a sample, 1.2 MB at both limits */
#define STAIR_MAX_LAYERS  16 /* L: records of training in the public headers have a place for each */
#define STAIR_MAX_DIM     96 /* of a fibre: a (dim, dim) matrix is 72 kB, in a worker, not on the stack */

/* K: an attention matrix is the largest label. */
#define STAIR_MAX_LABEL (STAIR_MAX_TOKENS * STAIR_MAX_TOKENS)

#define STAIR_MAX_CELLS (STAIR_MAX_INDICES * STAIR_MAX_TOKENS)  /* numbers of Z */
#define STAIR_SQUARE    (STAIR_MAX_INDICES * STAIR_MAX_INDICES) /* entries of an overlap */

/* ---- requests ---------------------------------------------------------------------------------- */

#define STAIR_MOST_DATA_DIM   (1 << 24) /* D: (P, D) doubles are 3 GB at both limits */
#define STAIR_MOST_SAMPLES    1e12      /* N: more would take years, and its labels terabytes */
#define STAIR_MOST_MESSAGES   1e7       /* N D of belief propagation: each is an evaluation of the channel */
#define STAIR_MOST_SNAPSHOTS  (1 << 24) /* of the weights of a training run: all are kept until its end */
#define STAIR_MOST_CLASSES    64        /* of questions; TREC has 6 */
#define STAIR_MOST_CLASS_NAME 64        /* bytes of its name, where it is printed */
#define STAIR_MOST_IDS        4096      /* of a question: its scores are an (ids, ids) matrix */
#define STAIR_MOST_REPLICATES 64        /* of an average: one number each stands on the stack */

/* ---- files: what a damaged or hostile header cannot make us allocate --------------------------- */

#define STAIR_LARGEST_TEXT ((size_t)1 << 31) /* bytes of a text file, which is read whole */
#define STAIR_LARGEST_ARRAY                                                                                  \
    ((uint64_t)1 << 30) /* bytes of one array of an NPZ, which is read whole; a caller                       \
                           may raise it, stair_context_set_largest_array */
#define STAIR_LARGEST_AXIS ((uint64_t)1 << 48) /* of an NPY: its products with a size do not overflow */
#define STAIR_NPY_HEADER                                                                                     \
    10240                    /* bytes of the header of an array; one of STAIR_NPY_RANK axes is far shorter */
#define STAIR_NPY_RANK     8 /* dimensions of an array; the program writes at most 4 */
#define STAIR_MOST_MEMBERS 16384 /* arrays of an NPZ: an entry of a matrix (P, P) is one */

/* ---- pages of results: what a browser opens in a moment ---------------------------------------- */

#define STAIR_LARGEST_RESULT    ((size_t)1 << 26) /* bytes of a result file, and of an array in one */
#define STAIR_MOST_PAGE_CELLS   2000000 /* numbers on one page: 20 MB of text, 200 MB while it is made */
#define STAIR_MOST_PAGE_COLUMNS 4096    /* of one table */
#define STAIR_MOST_PAGE_ENTRIES 256     /* of an array in one row of an NPZ; larger ones are named only */

/* ---- averages ---------------------------------------------------------------------------------- */

#define STAIR_MOST_KERNEL   6 /* unlearned rows up to which all pairs are coordinates of the operator: 21^2 */
#define STAIR_MOST_OVERLAPS 24 /* coordinates that symmetries leave, beyond: 24^2 numbers of each sample */

/* ---- blocks ------------------------------------------------------------------------------------ */

#define STAIR_THREAD_STACK                                                                                   \
    ((size_t)2 << 20) /* bytes of a thread, at least: frames are below 64 kB, and refinement of lines goes   \
                         tens of them deep; musl gives 128 kB */

#define STAIR_BLOCK 64 /* nodes of a fibre at a time: a row of them is eight cache lines */
#define STAIR_GROUP 8  /* samples of a training block: a multiple of LANES of core/lanes.h everywhere */

/* ---- MODEL strings ----------------------------------------------------------------------------- */

#define STAIR_MOST_KEYS   24   /* of one model; attention has 11 */
#define STAIR_MOST_VALUE  128  /* bytes of a key's value with its end: the widest cell that tables print */
#define STAIR_MOST_SPEC   1024 /* bytes of a MODEL string with its end; a formula may fill it */
#define STAIR_MOST_MODELS 64   /* in the registry, for "did you mean" */

/* ---- links written as a formula --------------------------------------------------------------- */

#define STAIR_MOST_NODES       256  /* of a program: values of a block of them are 128 kB, in a worker */
#define STAIR_MOST_NESTING     64   /* of parentheses and signs: each is a call on the stack */
#define STAIR_MOST_OUTPUTS     16   /* of a formula */
#define STAIR_FORMULA_CELLS    8    /* numbers of Z in one formula: beyond, posteriors have no useful error */
#define STAIR_MOST_POWER       64   /* of an integer exponent: 10^64 is far from overflow */
#define STAIR_LARGEST_CONSTANT 1e12 /* of a formula: products of a few stay finite */

/* ---- numbers ----------------------------------------------------------------------------------- */

#define STAIR_EXACT 9007199254740992.0 /* 2^53: doubles are all integers up to here */

/* ---- the channel: tables shared by samples, scratch of a worker -------------------------------- */

#define STAIR_MOST_MODES     16   /* modes of one integrand: each has two (dim, dim) matrices */
#define STAIR_PILOT          512  /* scattered points of a first look */
#define STAIR_PILOT_MOST     1024 /* points of the finest grid of a first look, 32 by 32 */
#define STAIR_LATTICE_DIM    4    /* beyond, most of a ball of lattice points is where nothing is */
#define STAIR_LATTICE_COSETS 64   /* of one lattice: six doublings in two dimensions, the most of any */
#define STAIR_LATTICE_SIZES  2    /* tables of a coset: the usual radius, and one for wide integrands */
#define STAIR_LATTICE_FINE   8    /* radii are looked up in steps of 1 / STAIR_LATTICE_FINE */
#define STAIR_MAP_RADIUS     8    /* steps from the centre of a lattice map to its edge: 19^4 cells, 1 MB */

#endif
