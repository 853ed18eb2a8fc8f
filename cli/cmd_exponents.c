/* stair exponents: information and generative exponent of each index, and the leaps. */
#include "columns.h"
#include "progress.h"

#include <stdlib.h>

enum {
    INDEX,
    INFORMATION,
    INFORMATION_TERM,
    INFORMATION_COEFFICIENT,
    INFORMATION_ERROR,
    INFORMATION_LEAP,
    INFORMATION_STAGE,
    GENERATIVE,
    GENERATIVE_TERM,
    GENERATIVE_COEFFICIENT,
    GENERATIVE_ERROR,
    GENERATIVE_LEAP,
    GENERATIVE_STAGE,
    COLUMNS
};

static void fill_columns(cli_column *columns)
{
    columns[INDEX] = column_int("index", "index");
    columns[INFORMATION] = column_int("information", "information");
    columns[INFORMATION_TERM] = column_text("information_term", "term", 64);
    columns[INFORMATION_COEFFICIENT] = column_real("information_coefficient", "coefficient", 6);
    columns[INFORMATION_ERROR] = column_real("information_error", "error", 0);
    columns[INFORMATION_LEAP] = column_int("information_leap", "leap");
    columns[INFORMATION_STAGE] = column_int("information_stage", "stage");
    columns[GENERATIVE] = column_int("generative", "generative");
    columns[GENERATIVE_TERM] = column_text("generative_term", "term", 64);
    columns[GENERATIVE_COEFFICIENT] = column_real("generative_coefficient", "strength", 6);
    columns[GENERATIVE_ERROR] = column_real("generative_error", "error", 0);
    columns[GENERATIVE_LEAP] = column_int("generative_leap", "leap");
    columns[GENERATIVE_STAGE] = column_int("generative_stage", "stage");
}

static void fill_cells(const stair_exponent_of *of, cli_cell *cells)
{
    cells[0].integer = of->exponent;
    cells[1].text = of->exponent ? of->term : NULL;
    cells[2].real = of->coefficient;
    cells[3].real = of->error;
    cells[4].integer = of->leap;
    cells[5].integer = of->stage;
}

static stair_status report_all(cli_report *report, int indices, const stair_exponent *list)
{
    for (int i = 0; i < indices; i++) {
        cli_cell cells[COLUMNS] = {[INDEX] = {.integer = i + 1}};
        fill_cells(&list[i].information, cells + INFORMATION);
        fill_cells(&list[i].generative, cells + GENERATIVE);
        STAIR_TRY(report_row(report, cells));
    }
    return STAIR_OK;
}

static stair_status run(cli_request *request)
{
    int indices = stair_model_describe(request->model).indices;
    stair_exponent *list = calloc((size_t)indices, sizeof *list);
    cli_column columns[COLUMNS] = {0};
    cli_report *report;
    cli_progress progress;
    if (!list) return stair_fail(request->context, STAIR_NO_MEMORY, "out of memory");
    progress_start(&progress, request->context, request->options.quiet);
    progress_stage(&progress, 0, 1, 1);
    stair_status status = stair_exponents(request->context, request->model, request->options.degree,
                                          request->options.diagnose.seed, list);
    progress_finish(&progress);
    fill_columns(columns);
    if (status == STAIR_OK) status = report_open(request, columns, COLUMNS, &report);
    if (status == STAIR_OK) status = report_close(&report, report_all(report, indices, list));
    free(list);
    return status;
}

static void defaults(cli_options *options)
{
    options->degree = 4;
}

static const char *const tables[] = {"diagnose", NULL};
static const char *const names[] = {"degree", COMMON_OPTIONS, NULL};

const cli_command command_exponents = {
    .name = "exponents",
    .words = "MODEL",
    .summary = "Information and generative exponent of each index, and the leaps",
    .details =
        "The information exponent of an index is the least degree of a Hermite polynomial of Z that has\n"
        "a part of it and a mean with the label, E[y h(Z)]; the generative exponent is the same for any\n"
        "function of the label.  0: none up to --degree.  term is the polynomial with the largest\n"
        "coefficient at that degree, z1^2 z2 for He_2(z1) He_1(z2), normalised; strength is the mean of\n"
        "E[h|y]^2, a lower bound, by up to 64 cells of the label.  leap counts degrees only in indices\n"
        "that are not known after the stages before.  A coefficient counts above six of its errors.  Noise\n"
        "changes no exponent and is left out.\n",
    .examples = "stair exponents staircase\nstair exponents parity:indices=3 --json\n",
    .options = names,
    .tables = tables,
    .most_words = 1,
    .needs_model = true,
    .defaults = defaults,
    .run = run,
};
