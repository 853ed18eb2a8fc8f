/* stair tokenize: WordPiece ids, a line per question. */
#include "command.h"
#include "stair_train.h"

#include <stdio.h>

static void defaults(cli_options *o)
{
    o->questions.classes = NULL; /* labels are dropped */
}

static stair_status run(cli_request *request)
{
    const cli_options *o = &request->options;
    if (!o->vocab || request->parse.count == 0)
        return stair_fail(request->context, STAIR_BAD_INPUT,
                          "tokenize needs a vocabulary and a file: stair tokenize "
                          "--vocab vocab.txt questions.label");
    stair_vocab *vocab;
    stair_questions *questions = NULL;
    STAIR_TRY(stair_vocab_load(request->context, o->vocab, &vocab));
    stair_status status =
        stair_questions_load(request->context, vocab, request->parse.words[0], &o->questions, &questions);
    stair_vocab_destroy(&vocab);
    STAIR_TRY(status);
    for (int i = 0; i < questions->count; i++)
        for (int k = 0; k < questions->length[i]; k++)
            printf("%d%c", (int)questions->ids[(size_t)i * (size_t)questions->longest + (size_t)k],
                   k + 1 < questions->length[i] ? ' ' : '\n');
    stair_questions_destroy(&questions);
    return STAIR_OK;
}

static const char *const tables[] = {"questions", NULL};
static const char *const names[] = {"vocab", "longest", "help", NULL};

const cli_command command_tokenize = {
    .name = "tokenize",
    .words = "FILE",
    .summary = "WordPiece ids of questions, as BERT uncased cuts them",
    .details =
        "One line of ids for every line of FILE, [CLS] and [SEP] included.  A label such as NUM:date at\n"
        "the start of a line is dropped.\n",
    .examples = "stair tokenize --vocab data/vocab.txt data/questions.label\n",
    .options = names,
    .tables = tables,
    .most_words = 1,
    .defaults = defaults,
    .run = run,
};
