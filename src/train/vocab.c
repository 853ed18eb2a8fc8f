/* WordPiece: the vocabulary and the greedy longest match (Schuster & Nakajima 2012; BERT).
 *
 * A word is cut from the left, each time taking the longest piece in the vocabulary; pieces after
 * the first are looked up with "##" before them.  A word that cannot be cut, or is longer than 100
 * letters, is [UNK].  Invariant: `slots` is an open-addressing table at most half full, so a search
 * ends at an empty slot.
 */
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "stair_train.h"
#include "train/text.h"

enum { MOST_LETTERS = 100 }; /* of a word, as in the tokenizer published with BERT for PyTorch */

struct stair_vocab {
    stair_text text;     /* the file; every token ends with a NUL */
    const char **tokens; /* (size) */
    int size;
    uint32_t mask;  /* slots - 1 */
    int32_t *slots; /* id + 1, or 0 */
    size_t longest; /* bytes of the longest token */
    int pad, unknown, first, last;
};

static uint32_t hash(const char *prefix, const char *bytes, size_t length)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *prefix; prefix++) h = (h ^ (unsigned char)*prefix) * 16777619u;
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)bytes[i]) * 16777619u;
    return h ^ (h >> 15);
}

static bool same(const char *token, const char *prefix, const char *bytes, size_t length)
{
    size_t skip = strlen(prefix);
    return strncmp(token, prefix, skip) == 0 && strncmp(token + skip, bytes, length) == 0 &&
           token[skip + length] == '\0';
}

/* The slot of prefix + bytes, or the empty slot where it would stand. */
static uint32_t slot_of(const stair_vocab *v, const char *prefix, const char *bytes, size_t length)
{
    uint32_t slot = hash(prefix, bytes, length) & v->mask;
    while (v->slots[slot] && !same(v->tokens[v->slots[slot] - 1], prefix, bytes, length))
        slot = (slot + 1) & v->mask;
    return slot;
}

static int find(const stair_vocab *v, const char *prefix, const char *bytes, size_t length)
{
    return v->slots[slot_of(v, prefix, bytes, length)] - 1;
}

static stair_status add_line(stair_context *context, const char *path, stair_vocab *v, stair_line line)
{
    STAIR_TRY(stair_text_check_line(context, path, &v->text, line));
    if (line.length == 0)
        return stair_fail(context, STAIR_BAD_INPUT, "%s:%d: empty line in a vocabulary", path, line.number);
    if (memchr(line.start, 0, line.length))
        return stair_fail(context, STAIR_BAD_INPUT, "%s:%d: NUL in a vocabulary", path, line.number);
    v->text.data[line.start - v->text.data + (ptrdiff_t)line.length] = '\0';
    uint32_t slot = slot_of(v, "", line.start, line.length);
    if (v->slots[slot])
        return stair_fail(context, STAIR_BAD_INPUT, "%s:%d: '%.40s' stands already on line %d", path,
                          line.number, line.start, (int)v->slots[slot]);
    v->tokens[v->size++] = line.start;
    v->slots[slot] = v->size;
    if (line.length > v->longest) v->longest = line.length;
    return STAIR_OK;
}

static stair_status special(stair_context *context, const char *path, const stair_vocab *v, const char *token,
                            int *id)
{
    *id = stair_vocab_find(v, token);
    if (*id >= 0) return STAIR_OK;
    return stair_fail(context, STAIR_BAD_INPUT, "%s: not a WordPiece vocabulary: %s is missing", path, token);
}

static stair_status fill(stair_context *context, const char *path, stair_vocab *v)
{
    STAIR_TRY(stair_text_read(context, path, &v->text));
    size_t lines = 1;
    for (size_t i = 0; i < v->text.size; i++) lines += v->text.data[i] == '\n';
    size_t slots = 64;
    while (slots < 2 * lines) slots *= 2;
    v->mask = (uint32_t)(slots - 1);
    v->slots = calloc(slots, sizeof *v->slots);
    v->tokens = calloc(lines, sizeof *v->tokens);
    if (!v->slots || !v->tokens) return stair_fail(context, STAIR_NO_MEMORY, "%s: out of memory", path);
    stair_line line = {0};
    for (size_t offset = 0; stair_text_line(&v->text, &offset, &line);)
        STAIR_TRY(add_line(context, path, v, line));
    STAIR_TRY(special(context, path, v, "[PAD]", &v->pad));
    STAIR_TRY(special(context, path, v, "[UNK]", &v->unknown));
    STAIR_TRY(special(context, path, v, "[CLS]", &v->first));
    return special(context, path, v, "[SEP]", &v->last);
}

stair_status stair_vocab_load(stair_context *context, const char *path, stair_vocab **vocab)
{
    *vocab = calloc(1, sizeof **vocab);
    if (!*vocab) return stair_fail(context, STAIR_NO_MEMORY, "out of memory");
    stair_status status = fill(context, path, *vocab);
    if (status != STAIR_OK) stair_vocab_destroy(vocab);
    return status;
}

void stair_vocab_destroy(stair_vocab **vocab)
{
    if (!*vocab) return;
    stair_text_free(&(*vocab)->text);
    free((*vocab)->tokens);
    free((*vocab)->slots);
    free(*vocab);
    *vocab = NULL;
}

int stair_vocab_size(const stair_vocab *vocab)
{
    return vocab->size;
}

int stair_vocab_find(const stair_vocab *vocab, const char *token)
{
    return find(vocab, "", token, strlen(token));
}

const char *stair_vocab_token(const stair_vocab *vocab, int id)
{
    return id >= 0 && id < vocab->size ? vocab->tokens[id] : NULL;
}

static bool starts_letter(char byte)
{
    return ((unsigned char)byte & 0xC0) != 0x80;
}

static size_t letters(const char *word, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++) n += starts_letter(word[i]);
    return n;
}

/* The pieces of one word, or [UNK] where it cannot be cut, as many of them as `room` holds; their number. */
static int cut(const stair_vocab *v, const char *word, size_t length, int32_t *ids, int room)
{
    int count = 0;
    if (letters(word, length) > MOST_LETTERS) length = 0;
    for (size_t start = 0; start < length;) {
        const char *prefix = start ? "##" : "";
        size_t end = length - start > v->longest ? start + v->longest : length;
        int id = -1;
        for (; end > start; end--) {
            if (end < length && !starts_letter(word[end])) continue;
            id = find(v, prefix, word + start, end - start);
            if (id >= 0) break;
        }
        if (id < 0) {
            count = 0;
            break;
        }
        if (count < room) ids[count] = id;
        count++;
        start = end;
    }
    if (count == 0 && room > 0) ids[0] = v->unknown;
    if (count == 0) count = 1;
    return count < room ? count : room;
}

stair_status stair_tokenize(stair_context *context, const stair_vocab *vocab, const char *text, size_t length,
                            int longest, int32_t *ids, int *count)
{
    if (longest < 2 || longest > STAIR_MOST_IDS)
        return stair_fail(context, STAIR_BAD_INPUT, "longest must be between 2 and %d, not %d",
                          STAIR_MOST_IDS, longest);
    stair_text words = {0};
    stair_status status = stair_text_words(context, text, length, &words);
    int n = 0;
    ids[n++] = vocab->first;
    for (size_t at = 0; status == STAIR_OK && at < words.size && n < longest - 1;) {
        size_t size = strlen(words.data + at);
        n += cut(vocab, words.data + at, size, ids + n, longest - 1 - n);
        at += size + 1;
    }
    ids[n++] = vocab->last;
    *count = n;
    stair_text_free(&words);
    return status;
}
