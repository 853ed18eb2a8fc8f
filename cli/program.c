/* The program: finds the command, fills its options, runs it, and turns its status into an exit code
 * and at most one line on standard error.  With ranks all of them do so together, and rank 0 speaks. */
#include "program.h"
#include "command.h"
#include "help.h"
#include "plain.h"
#include "progress.h"
#include "training.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* File names and model strings may hold anything; the message stays one readable line. */
static void complain(const char *message)
{
    fputs("stair: ", stderr);
    plain_write(stderr, message);
    putc('\n', stderr);
}

/* A signal that came after the results were written changes nothing. */
static bool was_interrupted(stair_status status, int signal)
{
    return signal && status != STAIR_OK && status != STAIR_NOT_CONVERGED;
}

static int exit_code(stair_status status, int signal)
{
    if (was_interrupted(status, signal)) return 128 + signal;
    switch (status) {
    case STAIR_OK:
        return 0;
    case STAIR_BAD_INPUT:
    case STAIR_UNSUPPORTED:
    case STAIR_COSTLY:
        return 2;
    case STAIR_NOT_CONVERGED:
        return 3;
    case STAIR_FAILED:
    case STAIR_NO_MEMORY:
        break;
    }
    return 1;
}

static int finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    if (!code) fprintf(stderr, "stair: standard output: %s\n", strerror(errno)); /* else it has been said */
    return code ? code : 1;
}

static int unknown_command(const char *name)
{
    const char *names[32];
    int count = 0;
    for (const cli_command *const *c = command_table; *c && count < 31; c++) names[count++] = (*c)->name;
    names[count] = NULL;
    const char *near = stair_closest(name, names);
    char message[256];
    if (near)
        snprintf(message, sizeof message, "unknown command '%.80s'; did you mean %s?", name, near);
    else
        snprintf(message, sizeof message, "unknown command '%.80s'; stair --help lists them", name);
    complain(message);
    return 2;
}

static stair_status open_model(cli_request *request)
{
    const cli_command *command = request->command;
    if (!command->needs_model) return STAIR_OK;
    if (request->parse.count == 0)
        return stair_fail(request->context, STAIR_BAD_INPUT,
                          "%s needs a MODEL, such as attention:layers=2; stair models lists them",
                          command->name);
    return stair_model_create(request->context, request->parse.words[0], &request->model);
}

static stair_status read_largest_array(stair_context *context, const char *text)
{
    double bytes;
    if (!text || !*text) return STAIR_OK;
    if (!stair_parse_double(text, &bytes) || !(bytes >= 1 && bytes <= 0x1p62))
        return stair_fail(context, STAIR_BAD_INPUT,
                          "STAIR_LARGEST_ARRAY needs a number of bytes, not '%.40s'", text);
    stair_context_set_largest_array(context, (uint64_t)bytes);
    return STAIR_OK;
}

static stair_status carry_out(cli_request *request, int argc, char **argv)
{
    const cli_command *command = request->command;
    stair_context *context = request->context;
    const char *isa = getenv("STAIR_ISA");
    if (isa && *isa) STAIR_TRY(stair_isa_set_most(context, isa));
    STAIR_TRY(read_largest_array(context, getenv("STAIR_LARGEST_ARRAY")));
    request->parse = (option_parse){.scope = command_scope(command), .most = command->most_words};
    command_defaults(command, &request->options);
    STAIR_TRY(options_read(context, &request->parse, argc, argv, &request->options));
    if (request->options.help) {
        help_command(stdout, command);
        return STAIR_OK;
    }
    STAIR_TRY(stair_context_set_threads(context, request->options.threads));
    if (request->options.device) STAIR_TRY(stair_context_set_device(context, request->options.device));
    STAIR_TRY(open_model(request));
    return command->run(request);
}

/* What ranks share they share through the context of the request.  A command that one rank does alone has
 * another for that: the ranks meet at its end only. */
static stair_status on_ranks(cli_request *request, const stair_ranks *ranks, int argc, char **argv,
                             int *signal)
{
    stair_context *meeting = request->context, *own = NULL;
    stair_status status = ranks ? stair_context_set_ranks(meeting, ranks) : STAIR_OK;
    bool alone = ranks && request->command->alone;
    if (alone && status == STAIR_OK) status = stair_context_create(&own);
    if (own) request->context = own;
    if (status == STAIR_OK && !(alone && ranks->rank)) status = carry_out(request, argc, argv);
    *signal = signals_caught();
    if (own && status != STAIR_OK) stair_fail(meeting, status, "%s", stair_context_message(own));
    request->context = meeting;
    stair_context_destroy(&own);
    return stair_context_agree(meeting, status, signal);
}

static void tell(const cli_request *request, stair_status status, int signal)
{
    if (was_interrupted(status, signal))
        complain(training_kept(request) ? "interrupted; --resume goes on from the checkpoint"
                                        : "interrupted; nothing was written");
    else if (status != STAIR_OK)
        complain(stair_context_message(request->context));
}

static int run_command(const cli_command *command, const stair_ranks *ranks, int argc, char **argv)
{
    cli_request request = {.command = command, .started = time(NULL)};
    int signal = 0;
    if (stair_context_create(&request.context) != STAIR_OK) {
        complain("out of memory");
        return 1;
    }
    signals_catch();
    stair_status status = on_ranks(&request, ranks, argc, argv, &signal);
    int code = exit_code(status, signal);
    if (!ranks || !ranks->rank) tell(&request, status, signal);
    stair_model_destroy(&request.model);
    options_free(own_options, &request.options);
    stair_context_destroy(&request.context);
    return finish(code);
}

/* A file opened where standard output was closed would take its number, and the results with it.  What is
 * opened instead cannot be written to, so that the loss is noticed. */
static void fill_standard_files(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY);
}

/* Ranks but the first say nothing: what they would say is said already. */
static void fall_silent(void)
{
    if (!freopen("/dev/null", "w", stdout)) fclose(stdout);
}

int program_run(int argc, char **argv, const stair_ranks *ranks)
{
    fill_standard_files();
    bool first = !ranks || ranks->rank == 0;
    if (!first) fall_silent();
    if (argc < 2) {
        if (first) help_usage(stderr);
        return 2;
    }
    const char *word = argv[1];
    if (!strcmp(word, "--version")) {
        puts("stair " STAIR_VERSION);
        return finish(0);
    }
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
        const cli_command *about = argc > 2 ? command_find(argv[2]) : NULL;
        if (argc > 2 && !about) return first ? unknown_command(argv[2]) : 2;
        if (about)
            help_command(stdout, about);
        else
            help_program(stdout);
        return finish(0);
    }
    const cli_command *command = command_find(word);
    if (!command) return first ? unknown_command(word) : 2;
    return run_command(command, ranks, argc - 2, argv + 2);
}
