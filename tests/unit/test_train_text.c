/* WordPiece and question files through the public interface. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/stair-text-XXXXXX";

static void write_file(const char *text, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
}

static stair_vocab *vocabulary(void)
{
    static const char text[] =
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\naff\n,\n\xE4\xB8\xAD\ncafe\n##s\nthe\n";
    stair_vocab *vocab;
    write_file(text, sizeof text - 1);
    assert_int_equal(stair_vocab_load(context, path, &vocab), STAIR_OK);
    return vocab;
}

static void assert_ids(const stair_vocab *vocab, const char *text, int longest, const char *expected)
{
    int32_t ids[64];
    int count;
    char got[512] = "";
    assert_int_equal(stair_tokenize(context, vocab, text, strlen(text), longest, ids, &count), STAIR_OK);
    for (int i = 1; i + 1 < count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i > 1 ? " " : "",
                 stair_vocab_token(vocab, ids[i]));
    assert_string_equal(got, expected);
    assert_string_equal(stair_vocab_token(vocab, ids[0]), "[CLS]");
    assert_string_equal(stair_vocab_token(vocab, ids[count - 1]), "[SEP]");
}

static void test_longest_piece_comes_first(void **state)
{
    (void)state;
    stair_vocab *vocab = vocabulary();
    assert_int_equal(stair_vocab_size(vocab), 13);
    assert_int_equal(stair_vocab_find(vocab, "##able"), 6);
    assert_int_equal(stair_vocab_find(vocab, "##abl"), -1);
    assert_null(stair_vocab_token(vocab, 13));
    assert_ids(vocab, "Unaffable", 32, "un ##aff ##able");
    assert_ids(vocab, "unaffablex", 32, "[UNK]");
    assert_ids(vocab, "the,the", 32, "the , the");
    assert_ids(vocab, "CAF\xC3\x89s caf\x65\xCC\x81", 32, "cafe ##s cafe");
    assert_ids(vocab, "the\xE4\xB8\xAD\xE4\xB8\xADthe", 32, "the \xE4\xB8\xAD \xE4\xB8\xAD the");
    assert_ids(vocab,
               "t\x01h\x7f"
               "e\xE2\x80\x8B",
               32, "the");
    assert_ids(vocab, "", 32, "");
    stair_vocab_destroy(&vocab);
}

/* A word on the first line has the number 0, and is as good as others. */
static void test_first_line_is_a_word(void **state)
{
    (void)state;
    static const char text[] = "the\n[UNK]\n[CLS]\n[SEP]\n##m\n[PAD]\n";
    stair_vocab *vocab;
    write_file(text, sizeof text - 1);
    assert_int_equal(stair_vocab_load(context, path, &vocab), STAIR_OK);
    assert_int_equal(stair_vocab_find(vocab, "the"), 0);
    assert_ids(vocab, "them the", 32, "the ##m the");
    assert_null(stair_vocab_token(vocab, -1));
    stair_vocab_destroy(&vocab);
}

static void test_truncation_keeps_the_ends(void **state)
{
    (void)state;
    stair_vocab *vocab = vocabulary();
    assert_ids(vocab, "the unaffable", 5, "the un ##aff");
    assert_ids(vocab, "the unaffable", 2, "");
    int32_t ids[4];
    int count;
    assert_int_equal(stair_tokenize(context, vocab, "the", 3, 1, ids, &count), STAIR_BAD_INPUT);
    assert_int_equal(stair_tokenize(context, vocab, "\xFF", 1, 4, ids, &count), STAIR_BAD_INPUT);
    stair_vocab_destroy(&vocab);
}

static void test_hundred_letters_are_a_word(void **state)
{
    (void)state;
    static char text[512];
    memcpy(text, "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##a\n", 31);
    stair_vocab *vocab;
    int32_t ids[256];
    int count;
    write_file(text, strlen(text));
    assert_int_equal(stair_vocab_load(context, path, &vocab), STAIR_OK);
    memset(text, 'a', 101);
    assert_int_equal(stair_tokenize(context, vocab, text, 100, 256, ids, &count), STAIR_OK);
    assert_int_equal(count, 102);
    assert_int_equal(stair_tokenize(context, vocab, text, 101, 256, ids, &count), STAIR_OK);
    assert_int_equal(count, 3);
    assert_int_equal(ids[1], 1);
    stair_vocab_destroy(&vocab);
}

static void expect_questions(const stair_vocab *vocab, const char *text, const char *classes, int count,
                             const char *message)
{
    stair_questions_options how = {.longest = 8, .classes = classes};
    stair_questions *questions;
    write_file(text, strlen(text));
    stair_status status = stair_questions_load(context, vocab, path, &how, &questions);
    if (message) {
        assert_int_equal(status, STAIR_BAD_INPUT);
        if (!strstr(stair_context_message(context), message)) fail_msg("%s", stair_context_message(context));
        return;
    }
    assert_int_equal(status, STAIR_OK);
    assert_int_equal(questions->count, count);
    for (int i = 0; i < count; i++)
        for (int k = questions->length[i]; k < 8; k++) assert_int_equal(questions->ids[i * 8 + k], 0);
    stair_questions_destroy(&questions);
}

static void test_lines_are_questions(void **state)
{
    (void)state;
    stair_vocab *vocab = vocabulary();
    expect_questions(vocab, "A:x the\nB:y un\n", "A,B", 2, NULL);
    expect_questions(vocab,
                     "\xEF\xBB\xBF"
                     "A:x the\r\nB un",
                     "A,B", 2, NULL); /* mark, CR LF, no line end, bare class */
    expect_questions(vocab, "the un\nNUM:date the\n", NULL, 2, NULL);
    expect_questions(vocab, "A:x the\n \t\nB:y un\n", "A,B", 0, ":2: empty line");
    expect_questions(vocab, "A:x the\nC:y un\n", "A,B", 0, ":2: unknown label 'C'");
    expect_questions(vocab, "A:x\n", "A,B", 0, ":1: a label without a question");
    expect_questions(vocab, "A:x \xC3\n", "A,B", 0, ":1: byte 5 (0xC3)");
    expect_questions(vocab, "", "A,B", 0, "no questions");
    expect_questions(vocab, "A:x the\n", "A,,B", 0, "classes must be");
    stair_vocab_destroy(&vocab);
}

/* The accuracy on test questions is the share of those that the last weights get right. */
static void test_accuracy_is_that_of_predictions(void **state)
{
    (void)state;
    static const char text[] =
        "A:x the\nB:y un\nA:x the the\nB:y cafe\nA:x un the\nB:y unaff\nB:y the\nB:z un un\n";
    stair_vocab *vocab = vocabulary();
    stair_questions_options how = {.longest = 8, .classes = "A,B"};
    stair_train_options o = stair_train_defaults();
    stair_questions *all;
    stair_train_result *result;
    int label[8], right = 0;
    assert_int_equal(stair_questions_parse(context, vocab, "text", text, sizeof text - 1, &how, &all),
                     STAIR_OK);
    o.dim = 8, o.rank = 4, o.epochs = 3, o.batch = 2, o.start = 0.3, o.rate = 1e-2;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        o.seed = seed;
        assert_int_equal(stair_train(context, vocab, all, "A,B", all, &o, &result), STAIR_OK);
        assert_int_equal(stair_classifier_predict(context, result->run[0].classifier, all, label, NULL),
                         STAIR_OK);
        right = 0;
        for (int i = 0; i < 8; i++) right += label[i] == all->label[i];
        assert_true(result->run[0].test_accuracy == right / 8.0 && right > 0);
        stair_train_result_destroy(&result);
        assert_int_equal(stair_train(context, vocab, all, "A,B", NULL, &o, &result), STAIR_OK);
        assert_true(isnan(result->run[0].test_accuracy));
        stair_train_result_destroy(&result);
    }
    stair_questions_destroy(&all);
    stair_vocab_destroy(&vocab);
}

static int open_file(void **state)
{
    int fd = mkstemp(path);
    if (fd < 0) return 1;
    close(fd);
    return open_context(state);
}

static int close_file(void **state)
{
    unlink(path);
    return close_context(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longest_piece_comes_first),
        cmocka_unit_test(test_truncation_keeps_the_ends),
        cmocka_unit_test(test_first_line_is_a_word),
        cmocka_unit_test(test_accuracy_is_that_of_predictions),
        cmocka_unit_test(test_hundred_letters_are_a_word),
        cmocka_unit_test(test_lines_are_questions),
    };
    return cmocka_run_group_tests(tests, open_file, close_file);
}
