/* A file on a page without scripts: what it says of itself, pictures, and its rows. */
#include "json_text.h"
#include "number.h"
#include "page.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 2000 /* of a table without a script: browsers lay out every one */

static void write_value(FILE *to, const json_t *value)
{
    char text[NUMBER_MOST];
    if (json_is_string(value))
        page_html(to, json_string_value(value));
    else if (json_is_real(value))
        fputs(number_text(json_real_value(value), text), to);
    else if (json_is_integer(value))
        fprintf(to, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "yes" : "no", to);
    else if (!value || json_is_null(value))
        fputs("-", to);
    else {
        char *dump = NULL;
        size_t size = 0;
        FILE *memory = open_memstream(&dump, &size);
        if (!memory) return;
        json_write(memory, value);
        if (fclose(memory) == 0) page_html(to, dump);
        free(dump);
    }
}

static void write_options(FILE *to, const json_t *options)
{
    json_t *object = (json_t *)options;
    if (!json_object_size(options)) return;
    fputs("<details class='options'><summary>Options</summary><dl>", to);
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        fputs("<dt>", to);
        page_html(to, json_object_iter_key(at));
        fputs("</dt><dd>", to);
        write_value(to, json_object_iter_value(at));
        fputs("</dd>", to);
    }
    fputs("</dl></details>", to);
}

static void write_fact(FILE *to, const char *name, const json_t *value)
{
    if (!value || json_is_null(value)) return;
    fprintf(to, "<div><dt>%s</dt><dd>", name);
    write_value(to, value);
    fputs("</dd></div>", to);
}

static void write_rows(FILE *to, const json_t *table)
{
    const json_t *columns = json_object_get(table, "columns"), *column;
    json_int_t rows = json_integer_value(json_object_get(table, "rows"));
    size_t c;
    fputs("<div class='scroll' tabindex='0'><table><thead><tr>", to);
    json_array_foreach(columns, c, column)
    {
        if (json_object_get(column, "made")) continue;
        const json_t *first = json_array_get(json_object_get(column, "values"), 0);
        fputs(json_is_string(first) ? "<th scope='col' class='text'>" : "<th scope='col'>", to);
        page_html(to, json_string_value(json_object_get(column, "name")));
        fputs("</th>", to);
    }
    fputs("</tr></thead><tbody>", to);
    for (json_int_t row = 0; row < rows && row < MOST_ROWS; row++) {
        fputs("<tr>", to);
        json_array_foreach(columns, c, column)
        {
            const json_t *value = json_array_get(json_object_get(column, "values"), (size_t)row);
            if (json_object_get(column, "made")) continue;
            fputs(json_is_string(value) ? "<td class='text'>" : "<td>", to);
            write_value(to, value);
            fputs("</td>", to);
        }
        fputs("</tr>\n", to);
    }
    fputs("</tbody></table></div>", to);
    if (rows > MOST_ROWS)
        fprintf(to, "<p class='note'>%d of %" JSON_INTEGER_FORMAT " rows are shown.</p>", MOST_ROWS, rows);
}

static void write_table(FILE *to, const json_t *table)
{
    const json_t *plots = json_object_get(table, "plots"), *plot;
    size_t k;
    fputs("<div class='plots'>", to);
    json_array_foreach(plots, k, plot)
    {
        fputs("<figure><figcaption>", to);
        page_html(to, json_string_value(json_object_get(plot, "title")));
        fputs("</figcaption>", to);
        page_svg(to, table, plot);
        fputs("</figure>", to);
    }
    fputs("</div><h3>", to);
    page_html(to, json_string_value(json_object_get(table, "name")));
    fprintf(to, " <small>%" JSON_INTEGER_FORMAT " rows</small></h3>",
            json_integer_value(json_object_get(table, "rows")));
    write_rows(to, table);
}

void page_plain_file(FILE *to, const json_t *file)
{
    const json_t *item, *options = json_object_get(file, "options"), *line = json_object_get(file, "line");
    size_t k;
    fputs("<section class='file'><h2>", to);
    page_html(to, json_string_value(json_object_get(file, "file")));
    fputs("</h2><dl class='facts'>", to);
    write_fact(to, "command", json_object_get(file, "command"));
    write_fact(to, "model", json_object_get(file, "model"));
    write_fact(to, "seed", json_object_get(options, "seed"));
    write_fact(to, "stair", json_object_get(file, "stair"));
    fputs("</dl>", to);
    if (line) {
        fputs("<pre class='line'><code>", to);
        page_html(to, json_string_value(line));
        fputs("</code></pre>", to);
    }
    write_options(to, options);
    json_array_foreach(json_object_get(file, "notes"), k, item)
    {
        fputs("<p class='note'>", to);
        page_html(to, json_string_value(item));
        fputs("</p>", to);
    }
    json_array_foreach(json_object_get(file, "tables"), k, item) write_table(to, item);
    fputs("</section>", to);
}
