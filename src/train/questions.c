/* Labelled questions, one a line, in the format of TREC: "NUM:date When did it happen ?".
 *
 * The class is what stands before the colon.  Text of other sources, without labels, is read when
 * no classes are given.  Invariant: every question has between 2 and `longest` ids, then [PAD].
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "stair_train.h"
#include "train/text.h"

typedef struct {
    const char *start[STAIR_MOST_CLASSES];
    size_t length[STAIR_MOST_CLASSES];
    int count;
} class_list;

static stair_status read_classes(stair_context *context, const char *text, class_list *list)
{
    list->count = 0;
    for (const char *at = text; at && *at;) {
        size_t length = strcspn(at, ",");
        if (length == 0 || list->count == STAIR_MOST_CLASSES)
            return stair_fail(context, STAIR_BAD_INPUT,
                              "classes must be 1 to %d names with commas between, not '%s'",
                              STAIR_MOST_CLASSES, text);
        list->start[list->count] = at;
        list->length[list->count++] = length;
        at += length + (at[length] == ',');
    }
    return STAIR_OK;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static stair_line trim(stair_line line)
{
    while (line.length && blank(line.start[line.length - 1])) line.length--;
    while (line.length && blank(*line.start)) line.start++, line.length--;
    return line;
}

/* Length of a first word like "NUM:date", or 0. */
static size_t label_length(stair_line line)
{
    size_t at = 0;
    while (at < line.length &&
           (isupper((unsigned char)line.start[at]) || (at && isdigit((unsigned char)line.start[at]))))
        at++;
    if (at == 0 || at == line.length || line.start[at] != ':') return 0;
    size_t colon = at++;
    while (at < line.length &&
           (isalnum((unsigned char)line.start[at]) || line.start[at] == '_' || line.start[at] == '-'))
        at++;
    return at > colon + 1 && at < line.length && line.start[at] == ' ' ? at : 0;
}

static stair_status read_label(stair_context *context, const char *path, const class_list *classes,
                               stair_line line, int *label)
{
    size_t length = 0;
    while (length < line.length && !blank(line.start[length]) && line.start[length] != ':') length++;
    for (int k = 0; k < classes->count; k++)
        if (classes->length[k] == length && memcmp(classes->start[k], line.start, length) == 0) {
            *label = k;
            return STAIR_OK;
        }
    return stair_fail(context, STAIR_BAD_INPUT, "%s:%d: unknown label '%.*s'", path, line.number,
                      (int)(length < 40 ? length : 40), line.start);
}

static stair_status add_question(stair_context *context, const char *path, const stair_vocab *vocab,
                                 const class_list *classes, stair_line line, stair_questions *q)
{
    int i = q->count;
    line = trim(line);
    if (line.length == 0) return stair_fail(context, STAIR_BAD_INPUT, "%s:%d: empty line", path, line.number);
    q->label[i] = -1;
    size_t skip = label_length(line);
    if (classes->count) {
        STAIR_TRY(read_label(context, path, classes, line, &q->label[i]));
        for (skip = 0; skip < line.length && !blank(line.start[skip]);) skip++;
    }
    stair_line rest = trim((stair_line){line.start + skip, line.length - skip, line.number});
    if (rest.length == 0)
        return stair_fail(context, STAIR_BAD_INPUT, "%s:%d: a label without a question", path, line.number);
    int32_t *ids = q->ids + (size_t)i * (size_t)q->longest;
    STAIR_TRY(stair_tokenize(context, vocab, rest.start, rest.length, q->longest, ids, &q->length[i]));
    int pad = stair_vocab_find(vocab, "[PAD]");
    for (int k = q->length[i]; k < q->longest; k++) ids[k] = pad;
    q->count++;
    return STAIR_OK;
}

static stair_status fill(stair_context *context, const stair_vocab *vocab, const char *path,
                         const class_list *classes, stair_text *text, stair_questions *q)
{
    size_t lines = 1, longest = (size_t)q->longest;
    for (size_t i = 0; i < text->size; i++) lines += text->data[i] == '\n';
    q->ids = malloc(lines * longest * sizeof *q->ids);
    q->length = malloc(lines * sizeof *q->length);
    q->label = malloc(lines * sizeof *q->label);
    if (!q->ids || !q->length || !q->label)
        return stair_fail(context, STAIR_NO_MEMORY, "%s: out of memory", path);
    stair_line line = {0};
    for (size_t offset = 0; stair_text_line(text, &offset, &line);) {
        STAIR_TRY(stair_text_check_line(context, path, text, line));
        STAIR_TRY(add_question(context, path, vocab, classes, line, q));
    }
    if (q->count == 0) return stair_fail(context, STAIR_BAD_INPUT, "%s: no questions", path);
    return STAIR_OK;
}

static stair_status read_text(stair_context *context, const stair_vocab *vocab, const char *path,
                              const stair_questions_options *options, stair_text *text,
                              stair_questions **questions)
{
    class_list classes;
    STAIR_TRY(read_classes(context, options->classes, &classes));
    stair_questions *q = calloc(1, sizeof *q);
    if (!q) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    q->longest = options->longest;
    q->classes = classes.count;
    stair_status status = fill(context, vocab, path, &classes, text, q);
    *questions = q;
    if (status != STAIR_OK) stair_questions_destroy(questions);
    return status;
}

/* Options are refused before a file is read. */
static stair_status check_options(stair_context *context, const stair_questions_options *options)
{
    class_list classes;
    STAIR_TRY(read_classes(context, options->classes, &classes));
    return stair_questions_check(context, options);
}

stair_status stair_questions_load(stair_context *context, const stair_vocab *vocab, const char *path,
                                  const stair_questions_options *options, stair_questions **questions)
{
    stair_text text;
    *questions = NULL;
    STAIR_TRY(check_options(context, options));
    STAIR_TRY(stair_text_read(context, path, &text));
    stair_status status = read_text(context, vocab, path, options, &text, questions);
    stair_text_free(&text);
    return status;
}

stair_status stair_questions_parse(stair_context *context, const stair_vocab *vocab, const char *name,
                                   const char *data, size_t size, const stair_questions_options *options,
                                   stair_questions **questions)
{
    *questions = NULL;
    STAIR_TRY(check_options(context, options));
    stair_text text = {.data = malloc(size + 1), .size = size, .capacity = size + 1};
    if (!text.data) return stair_fail(context, STAIR_NO_MEMORY, "%s: out of memory", name);
    memcpy(text.data, data, size);
    text.data[size] = 0;
    stair_status status = read_text(context, vocab, name, options, &text, questions);
    stair_text_free(&text);
    return status;
}

void stair_questions_destroy(stair_questions **questions)
{
    if (!*questions) return;
    free((*questions)->ids);
    free((*questions)->length);
    free((*questions)->label);
    free(*questions);
    *questions = NULL;
}
