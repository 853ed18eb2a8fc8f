/* The command that a result echoes, as it would be typed: options at their defaults are left out.
 *
 * The echo comes from a file that anybody may have written, and the line is made to be pasted into a shell:
 * only commands and options of this program appear, values are quoted, and with a control character
 * anywhere there is no line. */
#include "json_text.h"
#include "number.h"
#include "option_json.h"
#include "page.h"
#include "spec.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    FILE *to;
    bool bad; /* a value that cannot be typed */
} typed_line;

static void write_word(typed_line *line, const char *text)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:=+-/%@";
    if (!strncmp(text, "--", 2)) line->bad = true; /* would be an option */
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) line->bad = true;
    if (*text && strspn(text, safe) == strlen(text)) {
        fputs(text, line->to);
        return;
    }
    putc('\'', line->to);
    for (; *text; text++) fputs(*text == '\'' ? "'\\''" : (char[]){*text, 0}, line->to);
    putc('\'', line->to);
}

/* A number or a text; anything else cannot be typed. */
static void write_value(typed_line *line, const json_t *value)
{
    char text[NUMBER_MOST];
    if (json_is_string(value))
        write_word(line, json_string_value(value));
    else if (json_is_integer(value))
        fprintf(line->to, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fputs(number_text(json_real_value(value), text), line->to);
    else
        line->bad = true;
}

/* from:to:step where that gives the same numbers. */
static bool write_range(typed_line *line, const json_t *list)
{
    size_t n = json_array_size(list);
    char from[NUMBER_MOST], to[NUMBER_MOST], step[NUMBER_MOST];
    if (n < 4) return false;
    double first = json_number_value(json_array_get(list, 0));
    snprintf(step, sizeof step, "%.12g", json_number_value(json_array_get(list, 1)) - first);
    const double value[2] = {first, strtod(step, NULL)};
    number_text(first, from);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_number(item) || number_on_grid(from, step, value, i) != json_number_value(item))
            return false;
    }
    number_text(json_number_value(json_array_get(list, n - 1)), to);
    if (!(value[1] > 0)) return false;
    fprintf(line->to, "%s:%s:%s", from, to, step);
    return true;
}

static void write_list(typed_line *line, const json_t *list)
{
    const json_t *item;
    size_t i;
    if (write_range(line, list)) return;
    json_array_foreach(list, i, item)
    {
        if (i) putc(',', line->to);
        if (json_is_number(item))
            write_value(line, item);
        else
            line->bad = true;
    }
}

/* --set A --set B, or --data X Y. */
static void write_texts(typed_line *line, const char *name, const json_t *list, int take)
{
    const json_t *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        if (i % (size_t)take == 0) fprintf(line->to, " --%s", name);
        putc(' ', line->to);
        write_value(line, item);
    }
}

static void write_option(typed_line *line, const option_entry *entry, const json_t *value)
{
    const char *name = entry->is->name;
    if (entry->is->kind == STAIR_OPTION_FLAG) {
        fprintf(line->to, " --%s%s", json_is_true(value) ? "" : "no-", name);
        return;
    }
    if (option_many(entry) == OPTION_TEXTS) {
        write_texts(line, name, value, entry->own->take);
        return;
    }
    fprintf(line->to, " --%s ", name);
    if (option_many(entry) == OPTION_LIST)
        write_list(line, value);
    else
        write_value(line, value);
}

/* Values that the defaults give: 1 and 1.0 are the same. */
static bool is_default(const option_entry *entry, const cli_options *defaults, const json_t *value)
{
    json_t *usual = option_to_json(entry, defaults);
    bool same = json_equal(usual, value) ||
                (json_is_number(usual) && json_is_number(value) &&
                 json_number_value(usual) == json_number_value(value)) ||
                (json_is_array(value) && json_array_size(value) == 0);
    json_decref(usual);
    return same;
}

static void write_options(typed_line *line, const cli_command *command, const json_t *options)
{
    option_scope scope = command_scope(command);
    cli_options defaults;
    command_defaults(command, &defaults);
    for (const char *const *name = command->options; *name; name++) {
        option_entry entry = option_of(&scope, *name);
        const json_t *value = json_object_get(options, *name);
        if (!value || json_is_null(value) || is_default(&entry, &defaults, value)) continue;
        write_option(line, &entry, value);
    }
}

char *page_command_line(const json_t *file)
{
    const char *name = json_string_value(json_object_get(file, "command")),
               *model = json_string_value(json_object_get(file, "model"));
    const cli_command *command = name ? command_find(name) : NULL;
    char *text = NULL;
    size_t size = 0;
    typed_line line = {.to = command ? open_memstream(&text, &size) : NULL};
    if (!line.to) return NULL;
    fprintf(line.to, "stair %s", command->name);
    if (model) {
        char brief[SPEC_MOST];
        putc(' ', line.to);
        bool known = strlen(model) < SPEC_MOST && spec_model(model) >= 0;
        write_word(&line, known ? spec_short(model, brief) : model);
    }
    write_options(&line, command, json_object_get(file, "options"));
    if (fclose(line.to) == 0 && !line.bad) return text;
    free(text);
    return NULL;
}
