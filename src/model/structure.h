/* What is known of a model beyond its formula: symmetries, the shape of its fibres, and which of the
 * special forms hold that make posteriors and averages cheap.
 *
 * Everything is found by trying it at random Z, once for each model, and kept with the model.  No rule tests
 * the name of a model: it asks here. */
#ifndef STAIR_MODEL_STRUCTURE_H
#define STAIR_MODEL_STRUCTURE_H

#include "model/symmetry.h"

typedef struct stair_structure {
    const stair_model *model;
    stair_symmetry symmetry;
    bool even;     /* Z and -Z have the same label */
    bool constant; /* all Z have */
    /* The fibre of a typical label; dim is -1 where there is none: noise on y, or a model without fibres. */
    int dim, free_rows, charts, angles;
    bool mirrored;
    bool point;     /* a label leaves {Z, -Z} */
    bool last_row;  /* given the others, the last row is linear in the label: model/last_row.h, */
    bool last_pair; /* or the last two are, up to a rotation: model/last_pair.h; */
    bool by_shape;  /* and there two hidden rows matter through their shape alone */
    bool
        many_hidden; /* the rows before the last have more than two coordinates: nodes over them are random */
    bool committee;  /* exchangeable hidden layers: posterior/exchange.c */
    bool broken;     /* with noise on y: the link is seen to have kinks or jumps, */
    bool jumps;      /* and jumps among them */
    int rank;        /* of dy/dZ, the independent equations of a label; -1: Z is too large to tell */
} stair_structure;

/* The structure of a model, found when first asked for.  It lives as long as the model; several threads may
 * ask at once. */
stair_status stair_structure_find(stair_context *context, const stair_model *model,
                                  const stair_structure **structure);

/* Whether the first `rows` rows may each change sign. */
bool stair_structure_rows_even(const stair_structure *structure, int rows);

#endif
