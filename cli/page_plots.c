/* Which plots make sense of a table: told by its columns, so that CSV and NPZ, which do not name their
 * command, get the same ones as JSON.
 *
 * A rule fits a table that has the columns it needs; those of the first kind that fits are drawn, and what no
 * rule fits is drawn against its first numbers.  Column X_error holds the error bars of X. */
#include "page.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MOST  256 /* bytes of a name that rules look at; no rule wants a longer one */
#define MOST_DRAWN 4   /* columns drawn of a table that no rule fits */

/* y: names between blanks, with Q@ for the diagonal of Q and cosine# for cosine1, cosine2, ...  Columns
 * before `front` are keys of a grid. */
typedef struct {
    int kind;
    const char *title, *needs, *x, *y, *group, *front, *error, *style, *log;
} plot_rule;

#define BY_KEYS ""       /* x: the key of a grid, or the steps themselves */
#define STEP    "step"   /* made here: weak 1, weak 2, perfect */
#define SERIES  "series" /* of figures: theory, run1, run2, mean */
static const plot_rule rules[] = {
    {1, "Overlaps: Bayes-optimal, and message passing", "alpha bayes_Q11", "alpha", "bayes_Q@ amp_Q@", "",
     "alpha", NULL, "lines", ""},
    {1, "Free entropy from each start", "alpha bayes_Q11", "alpha", "entropy#", "", "alpha", NULL, "lines",
     ""},
    {2, "Overlaps", "alpha start Q11", "alpha", "Q@", "start", "alpha", NULL, "lines", ""},
    {2, "Errors", "alpha start bayes", "alpha", "bayes plugin gibbs weights", "start", "alpha", NULL, "lines",
     ""},
    {3, "Steps", "kind learns alpha error", BY_KEYS, "alpha", STEP, "kind", "error", "points", ""},
    {4, "Overlaps over iterations", "iteration M11", "iteration", "M@", "alpha seed", NULL, NULL, "lines",
     ""},
    {4, "Errors over iterations", "iteration bayes", "iteration", "bayes plugin", "alpha seed", NULL, NULL,
     "lines", ""},
    {5, "Overlaps of runs, and state evolution", "alpha M11", "alpha", "M@ theory_Q@", "", "alpha", NULL,
     "points", ""},
    {5, "Errors of runs", "alpha M11 bayes", "alpha", "bayes plugin", "", "alpha", NULL, "points", ""},
    {6, "Overlaps over epochs", "epoch cosine1", "epoch", "cosine#", "alpha seed", NULL, NULL, "lines", "x"},
    {6, "Errors over epochs", "epoch cosine1 test", "epoch", "train test", "alpha seed", NULL, NULL, "lines",
     "x"},
    {7, "Similarity to the final weights", "epoch similarity1", "epoch", "similarity#", "seed", NULL, NULL,
     "lines", ""},
    {7, "Accuracy", "epoch similarity1 train_accuracy", "epoch", "train_accuracy validation_accuracy", "seed",
     NULL, NULL, "lines", ""},
    {8, "log Z of each sample", "sample logz error", "sample", "logz", "", NULL, "error", "points", ""},
    {9, "Overlaps", "alpha Q11", "alpha", "Q@", "", "alpha", NULL, "lines", ""},
    {9, "Errors", "alpha bayes", "alpha", "bayes plugin weights", "", "alpha", NULL, "lines", ""},
    {10, "Violation of each identity", "identity violation tolerance", "identity", "violation tolerance", "",
     NULL, NULL, "points", "y"},
};
enum { RULES = sizeof rules / sizeof *rules };

/* ---- columns ------------------------------------------------------------------------------------ */

static size_t columns_of(const json_t *table)
{
    return json_array_size(json_object_get(table, "columns"));
}

static const char *name_of(const json_t *table, size_t c)
{
    return json_string_value(json_object_get(json_array_get(json_object_get(table, "columns"), c), "name"));
}

static bool is_numeric(const json_t *values)
{
    const json_t *value;
    size_t i, numbers = 0;
    json_array_foreach(values, i, value)
    {
        if (json_is_string(value)) return false;
        numbers += json_is_number(value);
    }
    return numbers > 0;
}

static bool varies(const json_t *values)
{
    for (size_t i = 1; i < json_array_size(values); i++)
        if (!json_equal(json_array_get(values, 0), json_array_get(values, i))) return true;
    return false;
}

/* The same within a series, where the table has such. */
static bool varies_within(const json_t *table, const json_t *values)
{
    const json_t *series = page_values(table, SERIES);
    for (size_t i = 1; series && i < json_array_size(values); i++)
        if (json_equal(json_array_get(series, i - 1), json_array_get(series, i)) &&
            !json_equal(json_array_get(values, i - 1), json_array_get(values, i)))
            return true;
    return !series && varies(values);
}

static bool is_error(const char *name)
{
    size_t length = strlen(name);
    return !strcmp(name, "error") || (length > 6 && !strcmp(name + length - 6, "_error"));
}

/* The next name of a list with blanks between; false past the last one. */
static bool next_name(const char **list, char *name)
{
    *list += strspn(*list, " ");
    size_t length = strcspn(*list, " ");
    snprintf(name, NAME_MOST, "%.*s", (int)length, *list);
    *list += length;
    return length > 0;
}

static bool has_all(const json_t *table, const char *needs)
{
    char name[NAME_MOST];
    while (next_name(&needs, name))
        if (!page_values(table, name)) return false;
    return true;
}

/* Whether `rest` is kk or k_k: an entry of the diagonal. */
static bool is_diagonal(const char *rest)
{
    size_t length = strlen(rest), half = length / 2;
    if (length < 2 || strspn(rest, "0123456789_") != length || !isdigit((unsigned char)*rest)) return false;
    if (length % 2) return rest[half] == '_' && !strncmp(rest, rest + half + 1, half);
    return !strchr(rest, '_') && !strncmp(rest, rest + half, half);
}

static bool matches(const char *pattern, const char *name)
{
    size_t stem = strcspn(pattern, "@#");
    if (!pattern[stem]) return !strcmp(pattern, name);
    if (strncmp(pattern, name, stem)) return false;
    const char *rest = name + stem;
    return pattern[stem] == '@' ? is_diagonal(rest) : *rest && strspn(rest, "0123456789") == strlen(rest);
}

/* ---- one plot ----------------------------------------------------------------------------------- */

static bool add_y(const json_t *table, json_t *y, const char *name, const char *error)
{
    char own[NAME_MOST + 8];
    snprintf(own, sizeof own, "%s_error", name);
    if (!error) error = own;
    bool there = strlen(name) < NAME_MOST && page_values(table, error);
    return json_array_append_new(
               y, json_pack("{s:s, s:s?}", "column", name, "error", there ? error : NULL)) == 0;
}

static bool add_matching(const json_t *table, const plot_rule *rule, json_t *y)
{
    char pattern[NAME_MOST];
    for (const char *list = rule->y; next_name(&list, pattern);)
        for (size_t c = 0; c < columns_of(table); c++)
            if (matches(pattern, name_of(table, c)) && is_numeric(page_values(table, name_of(table, c))) &&
                !add_y(table, y, name_of(table, c), rule->error))
                return false;
    return true;
}

/* Keys of a grid: the columns before `front` that differ from row to row. */
static bool add_keys(const json_t *table, const char *front, json_t *group)
{
    for (size_t c = 0; front && c < columns_of(table) && strcmp(name_of(table, c), front); c++)
        if (strcmp(name_of(table, c), "model") && varies(page_values(table, name_of(table, c))) &&
            json_array_append_new(group, json_string(name_of(table, c))))
            return false;
    return true;
}

static bool add_groups(const json_t *table, const char *list, json_t *group)
{
    char name[NAME_MOST];
    while (next_name(&list, name))
        if (page_values(table, name) && varies(page_values(table, name)) &&
            json_array_append_new(group, json_string(name)))
            return false;
    return true;
}

static json_t *draw(const json_t *table, const plot_rule *rule)
{
    json_t *y = json_array(), *group = json_array(), *plot = NULL;
    const char *x = rule->x, *style = rule->style;
    char key[NAME_MOST] = STEP;
    bool good = y && group && add_matching(table, rule, y) && add_keys(table, rule->front, group) &&
                (rule->front || add_groups(table, SERIES, group));
    if (good && !*x) {
        const char *first = json_string_value(json_array_get(group, 0));
        if (first) {
            snprintf(key, sizeof key, "%s", first);
            json_array_remove(group, 0);
            style = "lines";
        }
        x = key;
    }
    if (good && strcmp(x, STEP)) good = add_groups(table, rule->group, group);
    if (good)
        plot = json_pack("{s:s, s:s, s:O, s:O, s:s, s:s}", "title", rule->title, "x", x, "y", y, "group",
                         group, "style", style, "log", rule->log);
    json_decref(y);
    json_decref(group);
    return plot;
}

/* ---- steps -------------------------------------------------------------------------------------- */

static bool same_model(const json_t *table, size_t a, size_t b)
{
    for (size_t c = 0; c < columns_of(table) && strcmp(name_of(table, c), "kind"); c++) {
        const json_t *values = page_values(table, name_of(table, c));
        if (!json_equal(json_array_get(values, a), json_array_get(values, b))) return false;
    }
    return true;
}

/* Adds what each row of a staircase is called: weak 1, weak 2, ..., perfect. */
static bool name_steps(json_t *table)
{
    const json_t *kinds = page_values(table, "kind"), *kind;
    json_t *names = json_array();
    int weak = 0;
    size_t i;
    bool good = names != NULL;
    json_array_foreach(kinds, i, kind)
    {
        const char *text = json_is_string(kind) ? json_string_value(kind) : "?";
        if (i && !same_model(table, i - 1, i)) weak = 0;
        good =
            good && json_array_append_new(names, strcmp(text, "weak") ? json_string(text)
                                                                      : json_sprintf("weak %d", ++weak)) == 0;
    }
    json_t *column = good ? json_pack("{s:s, s:O, s:b}", "name", STEP, "values", names, "made", 1) : NULL;
    json_decref(names);
    return column && json_array_append_new(json_object_get(table, "columns"), column) == 0;
}

/* ---- all plots ---------------------------------------------------------------------------------- */

/* The first numbers against each other, where no rule fits. */
static bool draw_any(const json_t *table, json_t *plots)
{
    const char *x = NULL, *text = NULL, *style = page_values(table, SERIES) ? "lines" : "points";
    json_t *y = json_array(), *group = json_array();
    bool good = y && group && add_groups(table, SERIES, group);
    for (size_t c = 0; c < columns_of(table) && good; c++) {
        const char *name = name_of(table, c);
        const json_t *values = page_values(table, name);
        if (is_error(name) || !varies_within(table, values)) continue;
        if (!is_numeric(values))
            text = text ? text : name;
        else if (!x)
            x = name;
        else if (json_array_size(y) < MOST_DRAWN)
            good = add_y(table, y, name, NULL);
    }
    if (good && x && text && json_array_size(y) == 0) {
        good = add_y(table, y, x, NULL);
        x = text;
    }
    if (good && x && json_array_size(y))
        good = json_array_append_new(plots,
                                     json_pack("{s:s, s:s, s:O, s:O, s:s, s:s}", "title", "Columns", "x", x,
                                               "y", y, "group", group, "style", style, "log", "")) == 0;
    json_decref(y);
    json_decref(group);
    return good;
}

json_t *page_plots(json_t *table)
{
    json_t *plots = json_array();
    bool good = plots != NULL;
    int kind = 0;
    if (json_integer_value(json_object_get(table, "rows")) < 2) return plots;
    if (has_all(table, "kind learns alpha error") && !page_values(table, STEP))
        good = good && name_steps(table);
    for (int k = 0; k < RULES && good; k++) {
        if ((kind && rules[k].kind != kind) || !has_all(table, rules[k].needs)) continue;
        json_t *plot = draw(table, &rules[k]);
        kind = rules[k].kind;
        good = plot != NULL;
        if (good && json_array_size(json_object_get(plot, "y"))) good = json_array_append(plots, plot) == 0;
        json_decref(plot);
    }
    if (good && json_array_size(plots) == 0) good = draw_any(table, plots);
    if (good) return plots;
    json_decref(plots);
    return NULL;
}
