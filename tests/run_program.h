/* The program inside a test: runs a line and keeps what it prints.  To be included by one file of a test.
 *
 *   assert_int_equal(run_program("stair models --csv"), 0);  then printed and complained hold both streams
 *
 * Words are separated by blanks.  The folder is a fresh one, in which nothing is left when the group ends. */
#ifndef STAIR_TESTS_RUN_PROGRAM_H
#define STAIR_TESTS_RUN_PROGRAM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

static char *printed, *complained; /* on standard output and on standard error */
static char run_folder[] = "/tmp/stair-run-XXXXXX", run_root[4096];

static inline int open_run_folder(void **state)
{
    (void)state;
    return !getcwd(run_root, sizeof run_root) || !mkdtemp(run_folder) || chdir(run_folder);
}

static inline int close_run_folder(void **state)
{
    char command[64];
    (void)state;
    free(printed);
    free(complained);
    printed = complained = NULL;
    snprintf(command, sizeof command, "rm -rf %s", run_folder);
    return chdir(run_root) || system(command) != 0;
}

/* To be freed; NULL where there is no such file. */
static inline char *text_of_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *text = malloc(1 << 20);
    size_t size = text ? fread(text, 1, (1 << 20) - 1, file) : 0;
    fclose(file);
    if (text) text[size] = 0;
    return text;
}

static inline int redirect(int stream, const char *path)
{
    int kept = dup(stream), file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (kept < 0 || file < 0 || dup2(file, stream) < 0) abort();
    close(file);
    return kept;
}

static inline void put_back(int stream, int kept)
{
    if (dup2(kept, stream) < 0) abort();
    close(kept);
}

/* Exit code of a line, run by one of several ranks or by none. */
static inline int run_program_on(const stair_ranks *ranks, const char *line)
{
    char *copy = strdup(line), *words[300], *rest = NULL;
    int count = 0;
    for (char *word = strtok_r(copy, " ", &rest); word && count < 299; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    words[count] = NULL;
    int code = program_run(count, words, ranks);
    free(copy);
    return code;
}

/* What `call` prints. */
static inline void capture(void (*call)(void *user), void *user)
{
    fflush(stdout);
    fflush(stderr);
    int out = redirect(STDOUT_FILENO, ".printed"), err = redirect(STDERR_FILENO, ".complained");
    call(user);
    fflush(stdout);
    fflush(stderr);
    put_back(STDOUT_FILENO, out);
    put_back(STDERR_FILENO, err);
    free(printed);
    free(complained);
    printed = text_of_file(".printed");
    complained = text_of_file(".complained");
    remove(".printed");
    remove(".complained");
}

typedef struct {
    const char *line;
    int code;
} program_line;

static inline void run_line(void *user)
{
    program_line *run = user;
    run->code = run_program_on(NULL, run->line);
}

static inline int run_program(const char *line)
{
    program_line run = {.line = line};
    capture(run_line, &run);
    return run.code;
}

#endif
