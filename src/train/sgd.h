/* The pieces of SGD that its files share. */
#ifndef STAIR_TRAIN_SGD_H
#define STAIR_TRAIN_SGD_H

#include "stair_train.h"
#include "train/batch.h"

/* One run under way. */
typedef struct {
    const stair_sgd_options *options;
    uint64_t seed;
    stair_net net;
    stair_net_work work;
    stair_samples train, test, mixed;     /* mixed: one batch in shuffled order */
    double *teacher, *weights, *gradient; /* (P, D) */
    uint32_t *order;                      /* (N): of epoch `ordered` */
    int64_t ordered;
    int64_t batch, batches; /* done, and in all */
    stair_sgd_run *out;
} stair_descent;

/* Teacher, training and test samples, first weights. */
stair_status stair_descent_open(stair_context *context, const stair_model *model,
                                const stair_sgd_options *options, uint64_t seed, stair_sgd_run *out,
                                stair_descent *d);
void stair_descent_close(stair_descent *d);

size_t stair_sgd_samples(const stair_sgd_options *options);
int64_t stair_sgd_batches(const stair_sgd_options *options);

/* One batch, `repeat` steps.  False when the weights have left the finite numbers. */
bool stair_descent_batch(stair_descent *d);

/* Takes the errors and cosines of now into the history. */
stair_status stair_descent_record(stair_context *context, stair_descent *d);

#endif
