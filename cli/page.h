/* Result files as tables, and the page that shows them.
 *
 * What a page holds is one JSON object a file, the same that its script reads:
 *   {"file": name, "stair": version, "command", "model", "options": {...}, "line": the command to copy,
 *    "tables": [{"name", "rows": n, "columns": [{"name", "values": [n: number, text or null]}],
 *                "plots": [{"title", "x", "y": [{"column", "error"}], "group": [names], "style", "log"}]}]}
 * What a format does not tell is left out: CSV and NPZ have tables alone.  Names of columns are those of
 * entries.h in every format.  Files are not trusted: what is wrong is one sentence on the context. */
#ifndef STAIR_CLI_PAGE_H
#define STAIR_CLI_PAGE_H

#include "command.h"

#include <jansson.h>
#include <stdio.h>

/* ---- tables ------------------------------------------------------------------------------------- */

/* A table that grows by rows.  Columns appear as they are met; what a row does not have is null. */
typedef struct {
    stair_context *context;
    const char *path;  /* for messages */
    json_t *columns;   /* as on the page */
    json_t *places;    /* name: number of the column */
    size_t rows;       /* that are complete */
    size_t *room_left; /* cells that the page may still have */
} page_table;

stair_status page_table_open(stair_context *context, const char *path, size_t *room_left, page_table *table);
void page_table_free(page_table *table);
/* Takes `value`, which may be NULL where memory ran out; a name may be put once in a row. */
stair_status page_table_put(page_table *table, const char *name, json_t *value);
/* Says that column `name` is dropped in the end if it equals column `other` in all rows. */
stair_status page_table_mirror(page_table *table, const char *name, const char *other);
stair_status page_table_end_row(page_table *table);
/* The table as on the page, a new reference; the columns go with it. */
stair_status page_table_close(page_table *table, const char *name, json_t **out);

/* Values of a column of a table on the page, NULL where it has none of that name. */
const json_t *page_values(const json_t *table, const char *name);

/* ---- files -------------------------------------------------------------------------------------- */

/* Reads a result file, by the ending of its name; `file` is a new reference. */
stair_status page_file_read(stair_context *context, const char *path, size_t *room_left, json_t **file);
/* The readers of each format append to tables; that of JSON sets the other fields, too. */
stair_status page_read_json(stair_context *context, const char *path, size_t *room_left, json_t *file);
stair_status page_read_csv(stair_context *context, const char *path, size_t *room_left, json_t *file);
stair_status page_read_npz(stair_context *context, const char *path, size_t *room_left, json_t *file);

stair_status page_no_memory(stair_context *context);
/* Appends a closed table to those of a file. */
stair_status page_file_add(page_table *table, const char *name, json_t *file);

/* The command that a file echoes, as it would be typed; NULL where it cannot be told, or out of memory. */
char *page_command_line(const json_t *file);

/* ---- plots -------------------------------------------------------------------------------------- */

/* The plots that make sense of a table, a new reference; NULL out of memory.  May add columns to it. */
json_t *page_plots(json_t *table);

/* ---- the page ----------------------------------------------------------------------------------- */

/* Made at build time from web/: the style, the bundled script and its SHA-256 in base64.  Script and digest
 * are empty where there was no node. */
extern const unsigned char page_style[], page_script[], page_script_digest[];
extern const size_t page_style_size, page_script_size, page_script_digest_size;

typedef struct {
    const char *title;
    json_t *files; /* array */
    bool plain;    /* no script: pictures and whole tables */
} page_content;
stair_status page_write(stair_context *context, FILE *to, const page_content *page);

void page_html(FILE *to, const char *text); /* with &, <, > and quotes escaped */
/* Picture of one plot; colours are classes of the style. */
void page_svg(FILE *to, const json_t *table, const json_t *plot);
/* Everything about a file without a script. */
void page_plain_file(FILE *to, const json_t *file);

#endif
