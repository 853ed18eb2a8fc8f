/* The columns of every command in words: meaning and unit.  `overlap` is a number between 0 (nothing is
 * known) and 1 (all is known); `samples/D` counts samples per dimension, alpha = N/D; errors of prediction
 * are in units of y squared, summed over the numbers of a label.  python/tools/make_reference.py fails where
 * a result has a column that is not here. */
#include "column_words.h"

#include <stddef.h>
#include <string.h>

#define ALPHA  "samples/D"
#define COUNT  "count"
#define SEED   "number of a seed"
#define Y2     "y^2"
#define EPOCHS "epochs"
#define NATS   "nats/D"

static const cli_column_word threshold[] = {
    {"kind", "weak, spinodal or perfect",
     "what begins: something is learned, the overlap jumps though nothing is unstable, or all is exact"},
    {"alpha", ALPHA, "where the step is; never where it does not come, null in JSON"},
    {"error", ALPHA, "of alpha"},
    {"learns", "numbers from 1", "the layers, or indices of a model without layers, that it learns"},
    {"jump", "yes or no", "whether the overlap leaps there"},
    {"eigenvalue", "D/samples", "of the operator that loses stability; alpha times it is 1"},
    {"overlap", "overlap (P)", "the diagonal of Q where the step begins, Q11, Q22, ... in CSV"},
    {"direction", "share (P)",
     "what each index has of the direction that is learned first; they add up to 1"},
    {NULL, NULL, NULL}};

static const cli_column_word evolve[] = {
    {"alpha", ALPHA, "as it was asked for"},
    {"start", "uninformed or informed", "whether state evolution begins with no or with full knowledge"},
    {"Q", "overlap (P, P)", "of the estimate with the teacher at the fixed point"},
    {"iterations", COUNT, "of state evolution; 0 where the point was read off a curve"},
    {"residual", "relative", "of log Qhat at the fixed point"},
    {"stop", "text", "why it ended: converged, perfect, zero or iterations"},
    {"errors.bayes", Y2, "error of the best prediction of a new label"},
    {"errors.plugin", Y2, "error of the network with the mean of the weights"},
    {"errors.gibbs", Y2, "error of the network with weights drawn from the posterior: twice bayes"},
    {"errors.weights", "1 - overlap^2", "error of the weights, 1 - |Q|^2/P"},
    {NULL, NULL, NULL}};

static const cli_column_word entropy[] = {
    {"alpha", ALPHA, "as it was asked for"},
    {"bayes_Q", "overlap (P, P)", "what the data determine: the fixed point with the largest free entropy"},
    {"amp_Q", "overlap (P, P)", "what message passing finds, from no knowledge"},
    {"bayes_entropy", NATS, "the largest free entropy S(Q) - S(0)"},
    {"entropy", NATS " (4)",
     "S(Q) - S(0) at the fixed points from no and full knowledge, and from overlaps 0.3 and 0.7"},
    {"hard", "yes or no", "whether message passing stays short of what the data determine"},
    {"information_threshold", ALPHA " (2)", "between which alphas of the list something is first determined"},
    {"algorithmic_threshold", ALPHA " (2)", "between which alphas message passing first finds something"},
    {"information", ALPHA, "with --phases: from where on more can be known than message passing finds"},
    {"algorithmic", ALPHA, "with --phases: where message passing finds it; never, null in JSON"},
    {"kind", "weak, spinodal or perfect", "with --phases: the step of the staircase that is there"},
    {NULL, NULL, NULL}};

static const cli_column_word channel[] = {
    {"sample", "number from 0", "of the point"},
    {"logz", "nats", "log of the density of the label"},
    {"g", "1/Z (P, M)", "derivative of log Z in the prior mean"},
    {"dg", "1/Z^2 (PM, PM)", "second derivative; row and column count p*M + m"},
    {"error", "relative", "the largest of the errors of g and dg, and of log Z, which is absolute"},
    {"nodes", COUNT, "points of Z at which the integrand was taken"},
    {"method", "text", "the rule that served the sample"},
    {NULL, NULL, NULL}};

#define RUN_ERRORS                                                                                           \
    {"errors.bayes", Y2, "error of the posterior mean on fresh data"},                                       \
    {                                                                                                        \
        "errors.plugin", Y2, "error of the network with the mean of the weights"                             \
    }

static const cli_column_word amp[] = {
    {"alpha", ALPHA, "N/D of the run"},
    {"seed", SEED, "of data, teacher and start"},
    {"iterations", COUNT, "done"},
    {"iteration", "number from 0", "with --history, or inside history"},
    {"stop", "text", "why it ended: converged, perfect, zero, iterations or diverged"},
    {"Q", "overlap (P, P)", "of the estimate with itself, W W^T/D"},
    {"M", "overlap (P, P)", "of the estimate with the teacher, W W*^T/D"},
    {"V", "overlap (P, P)", "posterior variance of the weights, 1 - Q where all is right"},
    {"cosine", "-1 to 1 (P)", "of each row of W with that of the teacher"},
    RUN_ERRORS,
    {"mismatch", "overlap", "how far self-overlap and variance disagree, |tr(W W^T/D) - tr(1 - V)|/P"},
    {"change", "relative", "of W in this iteration"},
    {"damping", "share", "of the old estimate in the new one"},
    {"channel_error", "relative", "mean of the errors of the denoiser"},
    {"theory.Q", "overlap (P, P)", "what state evolution says of M"},
    {"theory.bayes", Y2, "what state evolution says of errors.bayes"},
    {"theory.plugin", Y2, "what state evolution says of errors.plugin"},
    {"history", "list", "the iterations, with the same columns"},
    {"runs", COUNT, "with --summary: that did not diverge"},
    {"diverged", COUNT, "with --summary: that did"},
    {"M_spread", "overlap (P, P)", "with --summary: standard deviation over runs"},
    {"z_M", "errors (P)", "with --summary: distance of M from theory, in units of its error"},
    {"z_Q", "errors (P)", "with --summary: the same of Q"},
    {"sample", "number from 0", "with --predict: row of the new X"},
    {"mean", "y (K)", "with --predict: posterior mean of y"},
    {"deviation", "y (K)", "with --predict: posterior standard deviation"},
    {"plugin", "y (K)", "with --predict: y of the mean of the weights"},
    {"samples", COUNT, "with --dry-run: N"},
    {"x_bytes", "bytes", "with --dry-run: of X where it is stored"},
    {"bytes", "bytes", "with --dry-run: of memory at most, of one rank"},
    {"free", "bytes", "with --dry-run: of memory, now"},
    {"card_bytes", "bytes", "with --dry-run: of the memory of a card"},
    {"card_free", "bytes", "with --dry-run: of that, now"},
    {"draw_seconds", "seconds", "with --dry-run: before each run"},
    {"iteration_seconds", "seconds", "with --dry-run: of an iteration"},
    {"seconds", "seconds", "with --dry-run: of all runs, if each takes --max-iterations"},
    {NULL, NULL, NULL}};

static const cli_column_word sgd[] = {
    {"alpha", ALPHA, "N/D of the run"},
    {"seed", SEED, "of data, teacher and start"},
    {"batches", COUNT, "seen so far"},
    {"steps", COUNT, "of descent so far: each batch is used several times"},
    {"epoch", EPOCHS, "passes through the data"},
    {"errors.train", Y2, "mean over the training samples"},
    {"errors.test", Y2, "mean over fresh samples"},
    {"cosine", "0 to 1 (layers)", "of a layer with that of the teacher; a rotation inside it does not count"},
    {"norm", "relative (layers)", "|w| / sqrt(D P): the teacher has about 1"},
    {"settled", EPOCHS " (layers)", "from when the cosine stays above --settle"},
    {NULL, NULL, NULL}};

static const cli_column_word train[] = {
    {"seed", SEED, "of split, start and order"},
    {"step", COUNT, "of AdamW so far"},
    {"epoch", EPOCHS, "passes through the questions"},
    {"train_loss", "nats/question", "cross-entropy over the epoch, as it went"},
    {"train_accuracy", "share", "of training questions classified rightly"},
    {"validation_loss", "nats/question", "cross-entropy of the questions held out"},
    {"validation_accuracy", "share", "of the questions held out"},
    {"similarity", "0 to 1 (layers)", "of w^T w with that at the end"},
    {"similarity_rank", "0 to 1 (layers)", "of w w^T with that at the end"},
    {"norm", "units of w (layers)", "|w|"},
    {"settled", EPOCHS " (layers)", "from when the similarity stays above --settle"},
    {"test_accuracy", "share", "of the questions of --test, at the end"},
    {"line", "number from 1", "with --predict: of the file"},
    {"label", "text", "with --predict: the likeliest class"},
    {"probability", "0 to 1", "with --predict: of that class"},
    {NULL, NULL, NULL}};

static const cli_column_word diagnose[] = {
    {"identity", "text", "what has to hold"},
    {"violation", "of the identity", "the worst over the points"},
    {"tolerance", "of the identity", "what the errors that were reported allow there"},
    {"points", COUNT, "at which it was tried"},
    {"resolved", COUNT, "of them whose errors are small enough to tell"},
    {"verdict", "holds, fails or not resolved", "in a word"},
    {"passed", "yes or no", "whether it holds"},
    {NULL, NULL, NULL}};

static const cli_column_word exponents[] = {
    {"index", "number from 1", "row of Z"},
    {"information", "degree",
     "information exponent: the first Hermite coefficient of y with a part of this row"},
    {"information_term", "text", "the Hermite polynomial it belongs to"},
    {"information_coefficient", "y", "E[y h(Z)]"},
    {"information_error", "y", "of the coefficient"},
    {"information_leap", "degree", "of the term in rows that are not known before"},
    {"information_stage", "number from 1", "when the row becomes known"},
    {"generative", "degree", "generative exponent: the same after the best transformation of y"},
    {"generative_term", "text", "the Hermite polynomial it belongs to"},
    {"generative_coefficient", "1", "E of E[h(Z)|y]^2, a lower bound"},
    {"generative_error", "1", "of the coefficient"},
    {"generative_leap", "degree", "of the term in rows that are not known before"},
    {"generative_stage", "number from 1", "when the row becomes known"},
    {NULL, NULL, NULL}};

static const cli_column_word models[] = {{"name", "text", "what a MODEL string begins with"},
                                         {"formula", "text", "y as a function of Z"},
                                         {"summary", "text", "in one line"},
                                         {"example", "text", "a MODEL string worth trying"},
                                         {NULL, NULL, NULL}};

static const struct {
    const char *command;
    const cli_column_word *words;
} table[] = {{"threshold", threshold}, {"evolve", evolve},     {"entropy", entropy},
             {"channel", channel},     {"amp", amp},           {"sgd", sgd},
             {"train", train},         {"diagnose", diagnose}, {"exponents", exponents},
             {"models", models}};

const cli_column_word *column_words(const char *command)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].command, command) == 0) return table[i].words;
    return NULL;
}
