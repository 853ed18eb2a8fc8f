/* Gradient training: SGD on the teacher of a model, and an attention classifier of questions.
 *
 * Part of the interface of stair.h, which includes this file.  Results that grow are objects: read
 * their fields, destroy them with their own function.  Everything drawn is a function of the seed;
 * results do not depend on the number of threads. */
#ifndef STAIR_H
#include "stair.h"
#endif
#ifndef STAIR_TRAIN_H
#define STAIR_TRAIN_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- WordPiece: text to token ids as BERT uncased does it ----------------------------------- */

typedef struct stair_vocab stair_vocab;

/* One token per line, its id the line number from 0; [PAD] [UNK] [CLS] [SEP] must be among them. */
stair_status stair_vocab_load(stair_context *context, const char *path, stair_vocab **vocab);
void stair_vocab_destroy(stair_vocab **vocab);
int stair_vocab_size(const stair_vocab *vocab);
int stair_vocab_find(const stair_vocab *vocab, const char *token); /* its id, or -1 */
const char *stair_vocab_token(const stair_vocab *vocab, int id);   /* NULL out of range */

/* ids (longest) of text (length bytes, UTF-8): [CLS], at most longest - 2 pieces, [SEP]; count of them. */
stair_status stair_tokenize(stair_context *context, const stair_vocab *vocab, const char *text, size_t length,
                            int longest, int32_t *ids, int *count);

/* ---- question files: "LABEL:detail words ..." on every line ---------------------------------- */

typedef struct {
    int longest; /* ids of a question, with [CLS] and [SEP] */
    const char
        *classes; /* "ABBR,DESC,..."; NULL: labels are dropped where there are any, else kept out of ids */
} stair_questions_options;

typedef struct {
    int count, longest, classes;
    int32_t *ids; /* (count, longest), [PAD] after the end */
    int *length;  /* (count): ids before the padding */
    int *label;   /* (count): class, or -1 */
} stair_questions;

stair_questions_options stair_questions_defaults(void);
stair_status stair_questions_check(stair_context *context, const stair_questions_options *options);

/* Empty lines, unknown labels and bytes that are not UTF-8 are BAD_INPUT, named by file and line. */
stair_status stair_questions_load(stair_context *context, const stair_vocab *vocab, const char *path,
                                  const stair_questions_options *options, stair_questions **questions);
/* The same from text in memory; `name` stands in messages where a file's name would. */
stair_status stair_questions_parse(stair_context *context, const stair_vocab *vocab, const char *name,
                                   const char *data, size_t size, const stair_questions_options *options,
                                   stair_questions **questions);
void stair_questions_destroy(stair_questions **questions);

/* Removes the checkpoints of `runs` runs, once their results are safe. */
void stair_checkpoint_remove(const char *checkpoint, int runs);

/* ---- sgd: gradient descent on the teacher ----------------------------------------------------- */

/* One step on batch B:  w <- w - rate * (1/D) sum_B grad |y* - y(w)|^2 - decay w, where decay is
 * rate * weight_decay (coupled, as PyTorch's SGD) or weight_decay (as the paper prints). */
typedef struct {
    int dim;             /* D */
    double alpha;        /* N = round(alpha D) */
    double rate;         /* eta */
    double weight_decay; /* lambda; negative: 0.07 / D */
    bool coupled;        /* the decay is multiplied by the rate */
    double start;        /* standard deviation of the first weights */
    int batch;           /* samples in a batch; the last one of an epoch may be smaller */
    int repeat;          /* consecutive steps on the same batch */
    int epochs;
    bool shuffle;           /* a new order of samples each epoch; false: the same batches in the same order */
    bool double_data;       /* X kept and multiplied in double rather than single precision */
    int test;               /* fresh samples on which the test error is measured */
    int points;             /* records per factor of 10 of training time */
    double settle;          /* a layer is learned when its cosine stays above this */
    int seeds;              /* runs */
    uint64_t seed;          /* of the first run; the others follow */
    const char *checkpoint; /* FILE, or NULL: run k keeps its state in FILE.k */
    double checkpoint_every; /* seconds */
    bool resume;             /* go on from the checkpoint, when there is one */
} stair_sgd_options;

typedef struct {
    int64_t batches, steps; /* batches seen, descent steps done */
    double epoch;
    double train, test; /* mean of |y* - y|^2 per sample */
    double cosine[16];  /* per layer: |w_l w*_l^T|_F / sqrt(|w_l w_l^T|_F |w*_l w*_l^T|_F) */
    double norm[16];    /* per layer: |w_l|_F / sqrt(D P_l) */
} stair_sgd_record;

typedef struct {
    uint64_t seed;
    int count;
    stair_sgd_record *history; /* (count) */
    double settled[16];        /* per layer: epoch of the record from which its cosine stays above `settle`;
                                  infinite when it ends below */
    double *weights;           /* (P, D), the last ones */
    bool diverged;             /* a weight stopped being finite: history ends there */
} stair_sgd_run;

typedef struct {
    int runs, layers, indices, dim;
    size_t samples;
    stair_sgd_run *run; /* (runs) */
} stair_sgd_result;

stair_sgd_options stair_sgd_defaults(void);
stair_status stair_sgd_check(stair_context *context, const stair_sgd_options *options);
stair_status stair_sgd(stair_context *context, const stair_model *model, const stair_sgd_options *options,
                       stair_sgd_result **result);
void stair_sgd_result_destroy(stair_sgd_result **result);

/* Mean of |y* - y(w)|^2 over n samples and its gradient (P, D) in w (P, D): x (n, M, D), y (n, K). */
stair_status stair_sgd_gradient(stair_context *context, const stair_model *model, int dim, size_t n,
                                const double *x, const double *y, const double *weights, double *loss,
                                double *gradient);

/* ---- classifier: embedding, tied attention layers, mean pooling, readout ---------------------- */

typedef struct stair_classifier stair_classifier;

typedef struct {
    int vocab, dim, rank, layers, classes, longest;
    double scale; /* of the attention scores: softmax(h h^T / scale) */
    bool bias, pad_batch;
    const char *names; /* "ABBR,DESC,..." */
} stair_classifier_info;

stair_classifier_info stair_classifier_describe(const stair_classifier *classifier);
void stair_classifier_destroy(stair_classifier **classifier);

/* NPZ: embedding (V, D), attention (L, P, D), attention_bias (L, P), readout (C, D), readout_bias (C),
 * shape (longest, pad, bias, pad_batch), scale (1), classes (bytes of the names). */
stair_status stair_classifier_save(stair_context *context, const stair_classifier *classifier,
                                   const char *path, bool overwrite);
stair_status stair_classifier_load(stair_context *context, const char *path, stair_classifier **classifier);

/* label (count) and probability (count, classes) of questions; either may be NULL. */
stair_status stair_classifier_predict(stair_context *context, const stair_classifier *classifier,
                                      const stair_questions *questions, int *label, double *probability);

/* Mean cross-entropy over the n questions pick[], one batch, and its gradient: embedding (V, D),
 * attention (L, P, D), attention_bias (L, P), readout (C, D), readout_bias (C), any of them NULL. */
typedef struct {
    double *embedding, *attention, *attention_bias, *readout, *readout_bias;
} stair_classifier_gradient;
stair_status stair_classifier_loss(stair_context *context, const stair_classifier *classifier,
                                   const stair_questions *questions, int n, const int *pick, double *loss,
                                   stair_classifier_gradient *gradient);

/* ---- train: AdamW on questions ---------------------------------------------------------------- */

typedef struct {
    int dim, rank, layers;
    bool scale_rank; /* scores divided by sqrt(P), as the authors' notebook does, not by D */
    bool bias;       /* attention layers have biases */
    bool pad_batch;  /* pad to the longest question of a batch, not to `longest` */
    double start;    /* standard deviation of the first attention weights */
    double rate, beta1, beta2, epsilon, weight_decay;
    int batch, epochs;
    double validation; /* share of the questions kept for validation */
    int points;        /* snapshots of the attention weights per epoch */
    double settle;     /* a layer has settled when its similarity stays above this */
    int runs;
    uint64_t seed;           /* of the first run; the others follow */
    const char *checkpoint;  /* FILE, or NULL: run k keeps its state in FILE.k */
    double checkpoint_every; /* seconds */
    bool resume;
} stair_train_options;

typedef struct {
    int epoch;                                   /* from 1 */
    double train_loss, train_accuracy;           /* over the epoch, as it went */
    double validation_loss, validation_accuracy; /* after it; NaN without validation */
} stair_train_epoch;

typedef struct {
    int64_t step;
    double epoch;
    double similarity[16];      /* tr(G G*)/(|G||G*|), G = w^T w (D, D) now, G* at the end */
    double similarity_rank[16]; /* the same of w w^T (P, P), which a rotation of w changes */
    double norm[16];            /* |w|_F */
} stair_train_snapshot;

typedef struct {
    uint64_t seed;
    int epochs, snapshots;
    stair_train_epoch *epoch;       /* (epochs) */
    stair_train_snapshot *snapshot; /* (snapshots) */
    double settled[16];             /* epoch of the snapshot from which similarity stays above `settle` */
    double test_accuracy;           /* NaN without test questions */
    stair_classifier *classifier;   /* the last weights */
} stair_train_run;

typedef struct {
    int runs, layers, questions, held_out;
    stair_train_run *run; /* (runs) */
} stair_train_result;

stair_train_options stair_train_defaults(void);
stair_status stair_train_check(stair_context *context, const stair_train_options *options);

/* classes: the names behind the labels.  test may be NULL. */
stair_status stair_train(stair_context *context, const stair_vocab *vocab, const stair_questions *questions,
                         const char *classes, const stair_questions *test, const stair_train_options *options,
                         stair_train_result **result);
void stair_train_result_destroy(stair_train_result **result);

#ifdef __cplusplus
}
#endif
#endif
