/* The option table, and the way from argv through it into a plain struct. */
#include "options.h"
#include "core/text.h"

#include <string.h>

#define FIELD(title, type, field) .name = title, .kind = type, .offset = offsetof(cli_options, field)

static const char *const scales[] = {"dim", "rank", NULL}, *const paddings[] = {"full", "batch", NULL},
                         *const decays[] = {"torch", "paper", NULL},
                         *const starting_points[] = {"both", "uninformed", "informed", NULL},
                         *const variants[] =
                             {"gamp",      "full",         "bp", "no-onsager", "printed-onsager",
                              "printed-g", "printed-side", NULL},
                         *const theories[] = {"none", "fixed", "trajectory", NULL};

/* clang-format off: one option, one line */
const cli_option option_table[] = {
    /* what to compute */
    {FIELD("points", OPTION_INT, points), .value = "N", .text = "number of random points", .low = 1,
     .high = 1e12},
    {FIELD("cov-low", OPTION_DOUBLE, cov_low), .value = "X",
     .text = "smallest eigenvalue of the random covariances", .low = 1e-300, .high = 1},
    {FIELD("cov-high", OPTION_DOUBLE, cov_high), .value = "X",
     .text = "largest eigenvalue of the random covariances", .low = 1e-300, .high = 1},
    {FIELD("full", OPTION_FLAG, full), .text = "random axes for the covariances, not diagonal ones"},
    {FIELD("one-cov", OPTION_FLAG, one_cov), .text = "one covariance for all random points"},
    {FIELD("logits", OPTION_PATH, logits), .value = "FILE", .text = "labels as row log-softmax, NPY (n,M,M)"},
    {FIELD("y", OPTION_PATH, y), .value = "FILE", .text = "labels as plain outputs, NPY (n,M,M) or (n,K)"},
    {FIELD("omega", OPTION_PATH, omega), .value = "FILE", .text = "prior means, NPY (n,P,M)"},
    {FIELD("cov", OPTION_PATH, cov), .value = "FILE", .text = "prior covariances, NPY (P,P) or (n,P,P)"},
    {FIELD("precision", OPTION_DOUBLE, precision), .value = "X", .text = "target relative error",
     .low = 1e-13, .high = 1},
    {FIELD("method", OPTION_TEXT, method), .value = "NAME",
     .text = "integrator: auto, exact, layered, lattice, nested or sampling"},
    {FIELD("max-nodes", OPTION_INT, max_nodes), .value = "N",
     .text = "most integrand evaluations for one sample", .low = 256, .high = 1e15},
    {FIELD("cutoff", OPTION_DOUBLE, cutoff), .value = "X",
     .text = "skip nodes below exp(-X) times the precision", .low = 0, .high = 600},
    {FIELD("seed", OPTION_UINT64, seed), .value = "N", .text = "seed of every random number"},
    /* training */
    {FIELD("alpha", OPTION_LIST, alpha), .value = "LIST", .text = "samples per dimension, N = alpha D",
     .low = 0, .high = 1e9},
    {FIELD("dim", OPTION_INT, dim), .value = "D", .text = "dimension of a token", .low = 1, .high = 1 << 24},
    {FIELD("data", OPTION_PATH, data), .value = "FILE",
     .text = "labelled questions, one a line: NUM:date When ... ?"},
    {FIELD("vocab", OPTION_PATH, vocab), .value = "FILE", .text = "WordPiece vocabulary, one token a line"},
    {FIELD("test", OPTION_PATH, test), .value = "FILE", .text = "labelled questions for a last test"},
    {FIELD("classes", OPTION_TEXT, classes), .value = "NAMES",
     .text = "the labels there are, commas between"},
    {FIELD("longest", OPTION_INT, longest), .value = "N",
     .text = "most ids of a question, [CLS] and [SEP] included", .low = 2, .high = 4096},
    {FIELD("weights", OPTION_PATH, weights), .value = "FILE", .text = "trained weights, NPZ: no training"},
    {FIELD("predict", OPTION_PATH, predict), .value = "FILE", .text = "questions to label"},
    {FIELD("save", OPTION_PATH, save), .value = "FILE", .text = "keep the trained weights, NPZ", .how = true},
    {FIELD("rank", OPTION_INT, rank), .value = "P", .text = "rank of an attention layer", .low = 1,
     .high = 65536},
    {FIELD("layers", OPTION_INT, layers), .value = "L", .text = "attention layers", .low = 1, .high = 16},
    {FIELD("scale", OPTION_TEXT, scale), .value = "NAME",
     .text = "scores are divided by dim: D, rank: sqrt(P)", .choices = scales},
    {FIELD("bias", OPTION_FLAG, bias), .text = "attention layers have biases"},
    {FIELD("padding", OPTION_TEXT, padding), .value = "NAME",
     .text = "pad questions to full: --longest, batch: the longest of a batch", .choices = paddings},
    {FIELD("start", OPTION_DOUBLE, start), .value = "X", .text = "standard deviation of the first weights",
     .low = 0, .high = 1e6},
    {FIELD("rate", OPTION_DOUBLE, rate), .value = "X", .text = "learning rate", .low = 0, .high = 1e9},
    {FIELD("weight-decay", OPTION_DOUBLE, weight_decay), .value = "X",
     .text = "weight decay (sgd: -1 is 0.07/D)", .low = -1, .high = 1e9},
    {FIELD("decay", OPTION_TEXT, decay), .value = "NAME",
     .text = "a step takes torch: rate*decay, paper: decay off the weights", .choices = decays},
    {FIELD("beta1", OPTION_DOUBLE, beta1), .value = "X", .text = "AdamW: memory of the first moment",
     .low = 0, .high = 1},
    {FIELD("beta2", OPTION_DOUBLE, beta2), .value = "X", .text = "AdamW: memory of the second moment",
     .low = 0, .high = 1},
    {FIELD("epsilon", OPTION_DOUBLE, epsilon), .value = "X",
     .text = "AdamW: added to the root of the second moment", .low = 0, .high = 1},
    {FIELD("batch", OPTION_INT, batch), .value = "N", .text = "samples in a batch", .low = 1,
     .high = 1 << 30},
    {FIELD("repeat", OPTION_INT, repeat), .value = "N", .text = "consecutive steps on each batch", .low = 1,
     .high = 1 << 30},
    {FIELD("epochs", OPTION_INT, epochs), .value = "N", .text = "passes over the data", .low = 0,
     .high = 1 << 30},
    {FIELD("shuffle", OPTION_FLAG, shuffle), .text = "a new order of samples in each epoch"},
    {FIELD("wide", OPTION_FLAG, wide), .text = "keep the samples in double precision"},
    {FIELD("validation", OPTION_DOUBLE, validation), .value = "X", .text = "share of the questions held out",
     .low = 0, .high = 1},
    {FIELD("test-samples", OPTION_INT, test_samples), .value = "N",
     .text = "fresh samples for the test error", .low = 0, .high = 1 << 30},
    {FIELD("records", OPTION_INT, records), .value = "N",
     .text = "records per factor of 10 of training time (sgd), per epoch (train)", .low = 1, .high = 10000},
    {FIELD("settle", OPTION_DOUBLE, settle), .value = "X",
     .text = "similarity above which a layer counts as learned", .low = 0, .high = 1},
    {FIELD("seeds", OPTION_INT, seeds), .value = "K", .text = "runs, with seeds N, N+1, ...", .low = 1,
     .high = 100000},
    /* asymptotics */
    {FIELD("set", OPTION_TEXTS, set), .value = "KEY=LIST",
     .text = "a grid: one model for each value of a model key", .take = 1},
    {FIELD("from", OPTION_TEXT, from), .value = "NAME", .text = "start: both, uninformed or informed",
     .choices = starting_points},
    {FIELD("side", OPTION_DOUBLE, side), .value = "X", .text = "side information lambda", .low = 0,
     .high = 0.999999},
    {FIELD("steps", OPTION_INT, steps), .value = "K", .text = "stop after K weak-recovery steps, 0 for all",
     .low = 0, .high = 1000},
    {FIELD("samples", OPTION_INT, samples), .value = "N",
     .text = "samples of the outer expectation, 0 to follow --precision", .low = 0, .high = 1e12},
    {FIELD("replicates", OPTION_INT, replicates), .value = "N",
     .text = "independent parts of the outer expectation; below 8 errors are wide (Student's t)", .low = 2,
     .high = 64},
    {FIELD("widening", OPTION_DOUBLE, widening), .value = "X",
     .text = "draw samples that much wider than the Gaussian", .low = 1, .high = 3},
    {FIELD("inner", OPTION_DOUBLE, inner), .value = "X",
     .text = "precision of the channel, 0 to follow --precision", .low = 0, .high = 1},
    {FIELD("max-iterations", OPTION_INT, max_iterations), .value = "N", .text = "most iterations", .low = 1,
     .high = 1e9},
    /* message passing */
    {FIELD("data", OPTION_TEXTS, pair), .value = "X Y",
     .text = "samples (n,M,D) and labels (n,M,M) or (n,K), NPY", .take = 2, .command = "amp"},
    {FIELD("logits", OPTION_FLAG, log_labels), .text = "Y holds row log-softmax, not plain outputs",
     .command = "amp"},
    {FIELD("predict", OPTION_PATH, predict), .value = "FILE",
     .text = "new samples (n,M,D), NPY: predict their outputs", .command = "amp"},
    {FIELD("save", OPTION_PATH, save), .value = "FILE",
     .text = "keep posterior mean and covariance of W, NPZ", .how = true, .command = "amp"},
    {FIELD("start", OPTION_DOUBLE, start), .value = "X",
     .text = "standard deviation of random first weights, 0 for 1/sqrt(D)", .low = 0, .high = 1e6,
     .command = "amp"},
    {FIELD("test-samples", OPTION_INT, test_samples), .value = "N",
     .text = "points behind the errors on fresh data", .low = 8, .high = 1 << 30, .command = "amp"},
    {FIELD("samples", OPTION_INT, samples), .value = "N",
     .text = "samples behind a trajectory of state evolution", .low = 128, .high = 1 << 28, .command = "amp"},
    {FIELD("start-overlap", OPTION_DOUBLE, start_overlap), .value = "X",
     .text = "start from an estimate with this overlap, then forget it", .low = 0, .high = 0.999999},
    {FIELD("damping", OPTION_DOUBLE, damping), .value = "X",
     .text = "share of the old estimate in the new one", .low = 0, .high = 0.999},
    {FIELD("adaptive", OPTION_FLAG, adaptive),
     .text = "more damping where self-overlap and variance disagree"},
    {FIELD("tolerance", OPTION_DOUBLE, tolerance), .value = "X",
     .text = "relative change of W at which to stop", .low = 1e-15, .high = 0.5},
    {FIELD("perfect", OPTION_DOUBLE, perfect), .value = "X",
     .text = "variance below which recovery counts as perfect", .low = 1e-15, .high = 0.5},
    {FIELD("variant", OPTION_TEXT, variant), .value = "NAME",
     .text = "gamp; full, bp to verify; no-onsager, printed-* to see them fail", .choices = variants},
    {FIELD("theory", OPTION_TEXT, theory), .value = "NAME",
     .text = "state evolution beside: none, fixed point, or the whole trajectory", .choices = theories},
    {FIELD("regenerate", OPTION_FLAG, regenerate),
     .text = "never store X: draw each tile again when it is needed"},
    {FIELD("history", OPTION_FLAG, history), .text = "a row for every iteration", .how = true},
    {FIELD("summary", OPTION_FLAG, summary),
     .text = "a row for every alpha: means over the seeds, theory, z-scores", .how = true},
    /* how to run and report */
    {FIELD("checkpoint", OPTION_PATH, checkpoint), .value = "FILE",
     .text = "keep the state of run k in FILE.k [OUT.state]", .how = true},
    {FIELD("checkpoint-every", OPTION_DOUBLE, checkpoint_every), .value = "S",
     .text = "seconds between checkpoints", .low = 0, .high = 1e9, .how = true},
    {FIELD("resume", OPTION_FLAG, resume), .text = "go on from the checkpoint, to the same result",
     .how = true},
    {FIELD("threads", OPTION_INT, threads), .value = "N",
     .text = "threads, 0 for all cores; results do not depend on it", .low = 0, .high = 4096, .how = true},
    {FIELD("json", OPTION_FLAG, json), .text = "JSON on standard output", .how = true},
    {FIELD("csv", OPTION_FLAG, csv), .text = "CSV on standard output", .how = true},
    {FIELD("out", OPTION_PATH, out), .value = "FILE", .text = "also write FILE.csv, FILE.json or FILE.npz",
     .how = true},
    {FIELD("force", OPTION_FLAG, force), .text = "replace an existing output file", .how = true},
    {FIELD("quiet", OPTION_FLAG, quiet), .text = "no progress on standard error", .how = true},
    {FIELD("help", OPTION_FLAG, help), .text = "this text", .how = true},
    {0},
};
/* clang-format on */

const cli_option *option_find(const cli_option *table, const char *name)
{
    for (; table->name; table++)
        if (!table->command && !strcmp(table->name, name)) return table;
    return NULL;
}

const cli_option *option_of(const cli_option *table, const char *command, const char *name)
{
    for (const cli_option *entry = table; command && entry->name; entry++)
        if (entry->command && !strcmp(entry->command, command) && !strcmp(entry->name, name)) return entry;
    return option_find(table, name);
}

bool option_given(const option_parse *parse, const char *name)
{
    const cli_option *entry = option_of(parse->table, parse->command, name);
    return entry && parse->given[entry - parse->table];
}

static stair_status unknown(stair_context *context, const option_parse *parse, const char *name)
{
    const char *near = stair_closest(name, parse->names);
    if (near)
        return stair_fail(context, STAIR_BAD_INPUT, "unknown option --%s; did you mean --%s?", name, near);
    return stair_fail(context, STAIR_BAD_INPUT, "unknown option --%s; see stair %s --help", name,
                      parse->command);
}

static const cli_option *find_listed(const option_parse *parse, const char *name)
{
    for (const char *const *listed = parse->names; *listed; listed++)
        if (!strcmp(*listed, name)) return option_of(parse->table, parse->command, name);
    return NULL;
}

/* `--no-full` takes back a flag, so that one whose default is on can be turned off. */
static bool is_refusal(const option_parse *parse, const char *name)
{
    const cli_option *entry = strncmp(name, "no-", 3) ? NULL : find_listed(parse, name + 3);
    return entry && entry->kind == OPTION_FLAG;
}

static stair_status check_range(stair_context *context, const cli_option *entry, double value)
{
    if (value >= entry->low && value <= entry->high) return STAIR_OK;
    return stair_fail(context, STAIR_BAD_INPUT, "--%s must be between %.15g and %.15g, not %.15g",
                      entry->name, entry->low, entry->high, value);
}

static stair_status not_a(stair_context *context, const cli_option *entry, const char *what, const char *text)
{
    return stair_fail(context, STAIR_BAD_INPUT, "--%s needs %s, not '%.80s'", entry->name, what, text);
}

static stair_status store_text(stair_context *context, const cli_option *entry, const char *text, void *field)
{
    if (!*text)
        return stair_fail(context, STAIR_BAD_INPUT, "--%s needs a value, not an empty one", entry->name);
    *(const char **)field = text;
    if (!entry->choices) return STAIR_OK;
    for (const char *const *choice = entry->choices; *choice; choice++)
        if (!strcmp(*choice, text)) return STAIR_OK;
    const char *near = stair_closest(text, entry->choices);
    return stair_fail(context, STAIR_BAD_INPUT, "--%s cannot be '%.80s'; did you mean %s?", entry->name, text,
                      near ? near : entry->choices[0]);
}

static stair_status store(stair_context *context, const cli_option *entry, const char *text, void *field)
{
    switch (entry->kind) {
    case OPTION_FLAG:
        return STAIR_OK; /* has no value */
    case OPTION_INT:
        if (!option_parse_int(text, field)) return not_a(context, entry, "an integer", text);
        return check_range(context, entry, (double)*(int64_t *)field);
    case OPTION_UINT64:
        if (!option_parse_uint64(text, field))
            return not_a(context, entry, "an integer from 0 to 2^64-1", text);
        return STAIR_OK;
    case OPTION_DOUBLE:
        if (!option_parse_double(text, field)) return not_a(context, entry, "a finite number", text);
        return check_range(context, entry, *(double *)field);
    case OPTION_LIST:
        return option_list_read(context, entry, text, field);
    case OPTION_TEXT:
    case OPTION_PATH:
        return store_text(context, entry, text, field);
    case OPTION_TEXTS:
        break;
    }
    option_texts *texts = field;
    if (texts->count == OPTION_MOST_TEXTS)
        return stair_fail(context, STAIR_BAD_INPUT, "--%s given too often", entry->name);
    return store_text(context, entry, text, &texts->items[texts->count++]);
}

/* Values that follow the option at argv[*i]; only `--name=value` may carry one that starts with "--". */
static stair_status read_values(stair_context *context, const cli_option *entry, int argc, char *const *argv,
                                int *i, void *field)
{
    int take = entry->kind == OPTION_TEXTS && entry->take > 1 ? entry->take : 1;
    for (int k = 0; k < take; k++) {
        if (*i + 1 >= argc || !strncmp(argv[*i + 1], "--", 2))
            return stair_fail(context, STAIR_BAD_INPUT, "--%s needs %s: --%s %s", entry->name,
                              take > 1 ? "more values" : "a value", entry->name, entry->value);
        STAIR_TRY(store(context, entry, argv[++*i], field));
    }
    return STAIR_OK;
}

static stair_status read_option(stair_context *context, option_parse *parse, int argc, char *const *argv,
                                int *i, void *target)
{
    const char *text = argv[*i] + 2, *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    char name[64];
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1, text);
    bool refused = is_refusal(parse, name);
    const cli_option *entry = find_listed(parse, refused ? name + 3 : name);
    if (!entry) return unknown(context, parse, name);
    parse->given[entry - parse->table] = true;
    void *field = (char *)target + entry->offset;
    if (entry->kind == OPTION_FLAG && equals)
        return stair_fail(context, STAIR_BAD_INPUT, "--%s takes no value", entry->name);
    if (entry->kind == OPTION_FLAG) {
        *(bool *)field = !refused;
        return STAIR_OK;
    }
    if (equals) {
        if (entry->kind == OPTION_TEXTS && entry->take > 1)
            return stair_fail(context, STAIR_BAD_INPUT, "--%s needs %d values: --%s %s", name, entry->take,
                              name, entry->value);
        return store(context, entry, equals + 1, field);
    }
    return read_values(context, entry, argc, argv, i, field);
}

stair_status options_read(stair_context *context, option_parse *parse, int argc, char *const *argv,
                          void *target)
{
    bool only_words = false;
    for (int i = 0; i < argc; i++) {
        if (!only_words && !strcmp(argv[i], "--"))
            only_words = true;
        else if (!only_words && !strncmp(argv[i], "--", 2))
            STAIR_TRY(read_option(context, parse, argc, argv, &i, target));
        else if (!only_words && argv[i][0] == '-')
            return stair_fail(context, STAIR_BAD_INPUT, "unknown option %s; options start with two dashes",
                              argv[i]);
        else if (parse->count == parse->most)
            return stair_fail(context, STAIR_BAD_INPUT, "unexpected argument '%.80s'; see stair %s --help",
                              argv[i], parse->command);
        else
            parse->words[parse->count++] = argv[i];
    }
    return STAIR_OK;
}
