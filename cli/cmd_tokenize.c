/* stair tokenize: WordPiece ids, a line per question. */
#include "command.h"
#include "stair_train.h"
#include "io/text_file.h"

#include <stdio.h>
#include <string.h>

#define STANDARD_INPUT "standard input"

static void defaults(cli_options *o)
{
    o->questions.classes = NULL; /* labels are dropped */
}

static stair_status read_questions(cli_request *request, const stair_vocab *vocab,
                                   stair_questions **questions)
{
    const stair_questions_options *how = &request->options.questions;
    const char *path = request->parse.count ? request->parse.words[0] : "-";
    stair_text text;
    if (strcmp(path, "-")) return stair_questions_load(request->context, vocab, path, how, questions);
    STAIR_TRY(stair_text_read_stream(request->context, STANDARD_INPUT, stdin, &text));
    stair_status status =
        stair_questions_parse(request->context, vocab, STANDARD_INPUT, text.data, text.size, how, questions);
    stair_text_free(&text);
    return status;
}

static stair_status run(cli_request *request)
{
    const cli_options *o = &request->options;
    if (!o->vocab)
        return stair_fail(request->context, STAIR_BAD_INPUT,
                          "tokenize needs a vocabulary: stair tokenize --vocab vocab.txt questions.label");
    stair_vocab *vocab;
    stair_questions *questions = NULL;
    STAIR_TRY(stair_vocab_load(request->context, o->vocab, &vocab));
    stair_status status = read_questions(request, vocab, &questions);
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
    .words = "[FILE]",
    .summary = "WordPiece ids of questions, as BERT uncased cuts them",
    .details =
        "One line of ids for every line of FILE, [CLS] and [SEP] included; without FILE, or with -, of\n"
        "standard input.  A label such as NUM:date at the start of a line is dropped.\n",
    .examples = "stair tokenize --vocab data/vocab.txt data/questions.label\n"
                "echo 'Who wrote Hamlet ?' | stair tokenize --vocab data/vocab.txt\n",
    .options = names,
    .tables = tables,
    .most_words = 1,
    .defaults = defaults,
    .alone = true,
    .run = run,
};
