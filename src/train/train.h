/* One training run under way: what its files share. */
#ifndef STAIR_TRAIN_TRAIN_H
#define STAIR_TRAIN_TRAIN_H

#include "train/adamw.h"
#include "train/classifier.h"
#include "io/checkpoint.h"

typedef struct {
    const stair_train_options *options;
    const stair_questions *questions;
    uint64_t seed;
    stair_classifier *c;
    stair_adamw adam;
    stair_pass pass;
    double *m, *v;          /* (dense): moments */
    double *row_m, *row_v;  /* (vocab, dim8) */
    int64_t *last;          /* (vocab): step up to which a row has been brought; 0: as first drawn */
    int *slot, *used, uses; /* (vocab): place of a token in `used`, or -1; tokens of the batch */
    double *row_gradient;   /* (tokens of a batch, dim8) */
    int *split;             /* (count): questions held out first, then those trained on */
    int held_out, trained_on;
    int *order; /* (trained_on): of the questions in epoch `ordered` */
    int *label; /* (batch): of the batch at hand */
    int64_t ordered;
    int64_t step, steps, per_epoch;
    double loss; /* sums over the epoch under way */
    int correct, seen;
    float *snapshots; /* (points of all epochs + 1, L, P, D) */
    stair_train_run *out;
} stair_training;

stair_status stair_training_open(stair_context *context, const stair_vocab *vocab,
                                 const stair_questions *questions, const char *classes,
                                 const stair_train_options *options, uint64_t seed, stair_train_run *out,
                                 stair_training *t);
void stair_training_close(stair_training *t);

int64_t stair_training_per_epoch(const stair_train_options *options, int questions);
int stair_training_held_out(const stair_train_options *options, int questions);

/* Row `row` of the embedding and its moments as after `step`, which is not before last[row]. */
void stair_training_bring(stair_training *t, int row, int64_t step);
void stair_training_step(stair_training *t);     /* one batch */
void stair_training_evaluate(stair_training *t); /* closes an epoch: its line in out->epoch */
void stair_training_finish(stair_training *t);   /* brings every row to the last step; similarities */

/* Takes every snapshot of the weights that is due at this step. */
void stair_training_snapshot(stair_training *t);

void stair_training_put(const stair_training *t, stair_state *state);
void stair_training_get(stair_training *t, stair_state *state);

#endif
