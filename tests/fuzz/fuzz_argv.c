/* Arbitrary bytes as command line: one word a line, the first byte chooses the command.  Options are read and
 * written back; grids of --set are made and thrown away. */
#include "option_json.h"
#include "command.h"
#include "grid.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST 40 /* words */

static void echo(const cli_request *request)
{
    char text[128];
    for (const char *const *name = request->command->options; *name; name++) {
        option_entry entry = option_of(&request->parse.scope, *name);
        option_to_text(&entry, &request->options, text, sizeof text);
        json_decref(option_to_json(&entry, &request->options));
    }
}

static void make_grid(cli_request *request)
{
    cli_grid grid;
    if (!request->command->needs_model || !request->parse.count || request->options.out) return;
    request->options.checkpoint = NULL;
    request->options.resume = false;
    if (stair_model_create(request->context, request->parse.words[0], &request->model) != STAIR_OK) return;
    if (grid_open(request, 1, 1, 8, 0, &grid) == STAIR_OK) grid_close(&grid, false);
    stair_model_destroy(&request->model);
}

static void read_words(const cli_command *command, int count, char **words)
{
    cli_request request = {.command = command};
    if (stair_context_create(&request.context) != STAIR_OK) return;
    request.parse = (option_parse){.scope = command_scope(command), .most = command->most_words};
    command_defaults(command, &request.options);
    stair_status status = options_read(request.context, &request.parse, count, words, &request.options);
    if (status == STAIR_OK) {
        echo(&request);
        make_grid(&request);
    } else if (!*stair_context_message(request.context))
        abort();
    options_free(own_options, &request.options);
    stair_context_destroy(&request.context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *words[MOST];
    int commands = 0, count = 0;
    if (!text || size < 1) {
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    text[size] = 0;
    while (command_table[commands]) commands++;
    for (char *at = text + 1; at && *at && count < MOST;) {
        char *end = strchr(at, '\n');
        if (end) *end++ = 0;
        words[count++] = at;
        at = end;
    }
    read_words(command_table[data[0] % commands], count, words);
    free(text);
    return 0;
}
