/* One plot as SVG: what a page has where there is no script.
 *
 * Series are the columns y, once for each group of rows; a colour for each column, a dash for each group.
 * Both are classes of the style, so that pictures follow light and dark.  Points say their value and error
 * when they are pointed at. */
#include "number.h"
#include "page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In units of the picture: */
#define WIDTH      720
#define HEIGHT     380
#define LEFT       70
#define RIGHT      16
#define TOP        14
#define BOTTOM     52
#define COLOURS    8   /* in the style */
#define DASHES     4   /* in the style */
#define MOST_TITLE 400 /* points of a series that say their value; more would swell the page */
#define LABEL_MOST 256 /* bytes of the label of a group */

typedef struct {
    double low, high;
    bool log;
    double from, to;        /* of the picture */
    const json_t *texts;    /* of a column of words: its values, else NULL */
    const char *labels[24]; /* of these, in order of appearance; later ones share the last place */
    int label_count;
} svg_axis;

typedef struct {
    FILE *to;
    const json_t *table, *plot;
    size_t rows;
    svg_axis x, y;
    json_t *groups; /* labels of groups, in order of appearance */
    int *group;     /* (rows) */
} picture;

static double place(const svg_axis *axis, double value)
{
    double low = axis->log ? log10(axis->low) : axis->low, high = axis->log ? log10(axis->high) : axis->high,
           at = axis->log ? log10(value) : value;
    return axis->from + (at - low) / (high - low) * (axis->to - axis->from);
}

/* A number of a column, or the place of a word; NaN where there is none that the axis can show. */
static double value_at(svg_axis *axis, const json_t *values, size_t row)
{
    const json_t *value = json_array_get(values, row);
    if (axis->texts) {
        const char *text = json_is_string(value) ? json_string_value(value) : "-";
        int k = 0;
        while (k < axis->label_count && strcmp(axis->labels[k], text)) k++;
        if (k == axis->label_count && k < (int)(sizeof axis->labels / sizeof *axis->labels))
            axis->labels[axis->label_count++] = text;
        return k;
    }
    double number = json_is_number(value) ? json_number_value(value) : NAN;
    return axis->log && !(number > 0) ? NAN : number;
}

static void widen(svg_axis *axis, double value)
{
    if (!isfinite(value) || (axis->log && value <= 0)) return;
    if (!(axis->low <= value)) axis->low = value;
    if (!(axis->high >= value)) axis->high = value;
}

/* Room around the data, and a width where all are the same. */
static void settle(svg_axis *axis, double share)
{
    if (!isfinite(axis->low)) axis->low = axis->log ? 0.1 : 0, axis->high = 1;
    if (axis->log) {
        double factor = pow(axis->high / axis->low, share);
        if (axis->low == axis->high) factor = 2;
        axis->low /= factor;
        axis->high *= factor;
        return;
    }
    double room = share * (axis->high - axis->low);
    if (room == 0) room = axis->high != 0 ? 0.1 * fabs(axis->high) : 1;
    axis->low -= room;
    axis->high += room;
}

/* ---- axes --------------------------------------------------------------------------------------- */

static void text_at(const picture *p, bool is_x, double at, const char *text)
{
    if (is_x)
        fprintf(p->to, "<text x='%.1f' y='%d' text-anchor='middle'>", at, HEIGHT - BOTTOM + 18);
    else
        fprintf(p->to, "<text x='%d' y='%.1f' text-anchor='end'>", LEFT - 8, at + 4);
    page_html(p->to, text);
    fputs("</text>", p->to);
}

static void tick(const picture *p, const svg_axis *axis, bool is_x, double value, const char *text)
{
    double at = place(axis, value);
    if (is_x)
        fprintf(p->to, "<path class='grid' d='M%.1f %dV%d'/>", at, TOP, HEIGHT - BOTTOM);
    else
        fprintf(p->to, "<path class='grid' d='M%d %.1fH%d'/>", LEFT, at, WIDTH - RIGHT);
    text_at(p, is_x, at, text);
}

/* Steps of 1, 2 or 5 times a power of ten. */
static void ticks(const picture *p, const svg_axis *axis, bool is_x)
{
    char text[NUMBER_MOST];
    if (axis->texts) {
        for (int k = 0; k < axis->label_count; k++) {
            snprintf(text, sizeof text, "%.20s", axis->label_count > 8 ? "" : axis->labels[k]);
            tick(p, axis, is_x, k, text);
        }
        return;
    }
    if (axis->log && axis->high / axis->low > 10) {
        int first = (int)ceil(log10(axis->low)), last = (int)floor(log10(axis->high)),
            by = (last - first) / 7 + 1;
        for (int k = first; k <= last; k += by)
            tick(p, axis, is_x, pow(10, k), number_text(pow(10, k), text));
        return;
    }
    double raw = (axis->high - axis->low) / 5, power = pow(10, floor(log10(raw))), ratio = raw / power,
           step = power * (ratio > 5   ? 10
                           : ratio > 2 ? 5
                           : ratio > 1 ? 2
                                       : 1);
    double first = ceil(axis->low / step);
    for (int k = 0; k < 20 && (first + k) * step <= axis->high; k++) {
        snprintf(text, sizeof text, "%.6g", (first + k) * step + 0.0);
        tick(p, axis, is_x, (first + k) * step, text);
    }
}

static void frame(const picture *p)
{
    fprintf(p->to, "<svg class='plot' viewBox='0 0 %d %d' role='img' aria-label='", WIDTH, HEIGHT);
    page_html(p->to, json_string_value(json_object_get(p->plot, "title")));
    fputs("'>", p->to);
    ticks(p, &p->x, true);
    ticks(p, &p->y, false);
    fprintf(p->to, "<path class='frame' d='M%d %dV%dH%d'/>", LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
    fprintf(p->to, "<text class='name' x='%d' y='%d' text-anchor='middle'>", (LEFT + WIDTH - RIGHT) / 2,
            HEIGHT - 10);
    page_html(p->to, json_string_value(json_object_get(p->plot, "x")));
    fputs("</text>", p->to);
    const json_t *ys = json_object_get(p->plot, "y");
    if (json_array_size(ys) != 1) return; /* several are in the legend */
    fprintf(p->to, "<text class='name' transform='translate(14 %d) rotate(-90)' text-anchor='middle'>",
            (TOP + HEIGHT - BOTTOM) / 2);
    page_html(p->to, json_string_value(json_object_get(json_array_get(ys, 0), "column")));
    fputs("</text>", p->to);
}

/* ---- series ------------------------------------------------------------------------------------- */

typedef struct {
    double x, y, error;
} point;

static int by_x(const void *a, const void *b)
{
    double first = ((const point *)a)->x, second = ((const point *)b)->x;
    return (first > second) - (first < second);
}

static size_t collect(picture *p, const json_t *y, int group, point *points)
{
    const json_t *xs = page_values(p->table, json_string_value(json_object_get(p->plot, "x"))),
                 *ys = page_values(p->table, json_string_value(json_object_get(y, "column")));
    const char *error = json_string_value(json_object_get(y, "error"));
    const json_t *errors = error ? page_values(p->table, error) : NULL;
    size_t n = 0;
    for (size_t row = 0; row < p->rows; row++) {
        if (group >= 0 && p->group[row] != group) continue;
        const json_t *e = errors ? json_array_get(errors, row) : NULL;
        point at = {value_at(&p->x, xs, row), value_at(&p->y, ys, row),
                    json_is_number(e) ? fabs(json_number_value(e)) : 0};
        if (isfinite(at.x) && isfinite(at.y)) points[n++] = at;
    }
    qsort(points, n, sizeof *points, by_x);
    return n;
}

static void error_bar(const picture *p, const point *at)
{
    double low = at->y - at->error, high = at->y + at->error;
    if (!(at->error > 0)) return;
    if (low < p->y.low) low = p->y.low;
    if (high > p->y.high) high = p->y.high;
    fprintf(p->to, "M%.1f %.1fV%.1f", place(&p->x, at->x), place(&p->y, low), place(&p->y, high));
}

static void series(const picture *p, const char *label, const point *points, size_t n, int colour, int dash)
{
    bool lines = !strcmp(json_string_value(json_object_get(p->plot, "style")), "lines");
    if (n == 0) return;
    fprintf(p->to, "<g class='s%d'>", colour % COLOURS);
    if (lines) {
        fprintf(p->to, "<path class='line d%d' d='", dash % DASHES);
        for (size_t i = 0; i < n; i++)
            fprintf(p->to, "%c%.1f %.1f", i ? 'L' : 'M', place(&p->x, points[i].x),
                    place(&p->y, points[i].y));
        fputs("'/>", p->to);
    }
    fputs("<path class='bars' d='", p->to);
    for (size_t i = 0; i < n; i++) error_bar(p, &points[i]);
    fputs("'/>", p->to);
    for (size_t i = 0; i < n && (n <= MOST_TITLE || !lines); i++) {
        fprintf(p->to, "<circle cx='%.1f' cy='%.1f' r='%s'>", place(&p->x, points[i].x),
                place(&p->y, points[i].y), lines ? "2" : "3.5");
        if (n <= MOST_TITLE) {
            fputs("<title>", p->to);
            page_html(p->to, label);
            fprintf(p->to, " = %.8g", points[i].y);
            if (points[i].error > 0) fprintf(p->to, " ± %.2g", points[i].error);
            fputs("</title>", p->to);
        }
        fputs("</circle>", p->to);
    }
    fputs("</g>", p->to);
}

/* ---- groups ------------------------------------------------------------------------------------- */

static void label_row(const picture *p, size_t row, char *label)
{
    const json_t *names = json_object_get(p->plot, "group"), *name;
    size_t k, used = 0;
    *label = 0;
    json_array_foreach(names, k, name)
    {
        const json_t *value = json_array_get(page_values(p->table, json_string_value(name)), row);
        char number[NUMBER_MOST];
        if (used >= LABEL_MOST) return;
        if (json_is_string(value))
            used += (size_t)snprintf(label + used, LABEL_MOST - used, "%s%s", k ? ", " : "",
                                     json_string_value(value));
        else
            used += (size_t)snprintf(
                label + used, LABEL_MOST - used, "%s%s %s", k ? ", " : "", json_string_value(name),
                json_is_number(value) ? number_text(json_number_value(value), number) : "-");
    }
}

static bool find_groups(picture *p)
{
    p->groups = json_object(); /* label: number */
    p->group = calloc(p->rows + 1, sizeof *p->group);
    if (!p->groups || !p->group) return false;
    for (size_t row = 0; row < p->rows; row++) {
        char label[LABEL_MOST];
        label_row(p, row, label);
        const json_t *known = json_object_get(p->groups, label);
        p->group[row] = known ? (int)json_integer_value(known) : (int)json_object_size(p->groups);
        if (!known && json_object_set_new_nocheck(p->groups, label, json_integer(p->group[row])))
            return false;
    }
    return true;
}

static void find_ranges(picture *p, point *points)
{
    const json_t *ys = json_object_get(p->plot, "y"), *y;
    const char *logs = json_string_value(json_object_get(p->plot, "log"));
    size_t k;
    p->x = (svg_axis){
        .low = NAN, .high = NAN, .from = LEFT, .to = WIDTH - RIGHT, .log = strchr(logs, 'x') != NULL};
    p->y = (svg_axis){
        .low = NAN, .high = NAN, .from = HEIGHT - BOTTOM, .to = TOP, .log = strchr(logs, 'y') != NULL};
    const json_t *xs = page_values(p->table, json_string_value(json_object_get(p->plot, "x")));
    for (size_t row = 0; row < p->rows; row++)
        if (json_is_string(json_array_get(xs, row))) p->x.texts = xs, p->x.log = false;
    json_array_foreach(ys, k, y)
    {
        size_t n = collect(p, y, -1, points);
        for (size_t i = 0; i < n; i++) {
            widen(&p->x, points[i].x);
            widen(&p->y, points[i].y - points[i].error);
            widen(&p->y, points[i].y);
            widen(&p->y, points[i].y + points[i].error);
        }
    }
    settle(&p->x, p->x.texts ? 0.15 : 0.01);
    settle(&p->y, 0.04);
}

static void legend(const picture *p)
{
    const json_t *ys = json_object_get(p->plot, "y"), *y;
    size_t k, groups = json_object_size(p->groups);
    bool single = json_array_size(ys) == 1;
    fputs("<ul class='legend'>", p->to);
    json_array_foreach(ys, k, y)
    {
        if (single) break; /* it is the name of the axis */
        fprintf(p->to, "<li class='s%d'><i></i>", (int)k % COLOURS);
        page_html(p->to, json_string_value(json_object_get(y, "column")));
        fputs("</li>", p->to);
    }
    if (groups > 1 && groups <= 12)
        for (void *at = json_object_iter(p->groups); at; at = json_object_iter_next(p->groups, at)) {
            int number = (int)json_integer_value(json_object_iter_value(at));
            fprintf(p->to, "<li class='%s%d'><i class='d%d'></i>", single ? "s" : "n", number % COLOURS,
                    number % DASHES);
            page_html(p->to, json_object_iter_key(at));
            fputs("</li>", p->to);
        }
    fputs("</ul>", p->to);
}

static void draw(picture *p, point *points)
{
    const json_t *ys = json_object_get(p->plot, "y"), *y;
    size_t k;
    bool single = json_array_size(ys) == 1;
    find_ranges(p, points);
    frame(p);
    for (void *at = json_object_iter(p->groups); at; at = json_object_iter_next(p->groups, at)) {
        int group = (int)json_integer_value(json_object_iter_value(at));
        json_array_foreach(ys, k, y)
        {
            char label[2 * LABEL_MOST];
            snprintf(label, sizeof label, "%.200s%s%s", json_string_value(json_object_get(y, "column")),
                     *json_object_iter_key(at) ? ", " : "", json_object_iter_key(at));
            size_t n = collect(p, y, group, points);
            series(p, label, points, n, single ? group : (int)k, group);
        }
    }
    fputs("</svg>", p->to);
    legend(p);
}

void page_svg(FILE *to, const json_t *table, const json_t *plot)
{
    picture p = {.to = to,
                 .table = table,
                 .plot = plot,
                 .rows = (size_t)json_integer_value(json_object_get(table, "rows"))};
    point *points = malloc((p.rows + 1) * sizeof *points);
    if (points && find_groups(&p)) draw(&p, points);
    json_decref(p.groups);
    free(p.group);
    free(points);
}
