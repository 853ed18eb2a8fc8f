/* Labels are written once, as LaTeX.  gnuplot's enhanced text is close to it: subscripts and superscripts
 * are the same, letters in mathematics have to be set in italics.  Greek letters stay upright: the italic
 * alpha of CMU Serif reads as an a. */
#include "plot.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *tex, *text;
} signs[] = {
    {"\\alpha", "α"},  {"\\beta", "β"}, {"\\eta", "η"}, {"\\lambda", "λ"}, {"\\infty", "∞"},
    {"\\times", "×"},  {"\\leq", "≤"},  {"\\geq", "≥"}, {"\\pm", "±"},     {"\\star", "*"},
    {"\\mathcal", ""}, {"\\,", " "},    {"\\%", "%"},   {"\\to", "→"},     {"\\ell", "{/:Italic l}"},
};

typedef struct {
    char *text;
    size_t size, used;
} label_writer;

static void put(label_writer *w, const char *text, size_t length)
{
    for (size_t k = 0; k < length && w->used + 1 < w->size; k++) w->text[w->used++] = text[k];
    w->text[w->used] = 0;
}

static const char *put_sign(label_writer *w, const char *tex)
{
    for (size_t k = 0; k < sizeof signs / sizeof *signs; k++) {
        size_t length = strlen(signs[k].tex);
        if (strncmp(tex, signs[k].tex, length) != 0) continue;
        put(w, signs[k].text, strlen(signs[k].text));
        return tex + length;
    }
    return tex + 1; /* a backslash that says nothing here */
}

static const char *put_italic(label_writer *w, const char *tex)
{
    size_t length = 0;
    while (isalpha((unsigned char)tex[length])) length++;
    put(w, "{/:Italic ", 10);
    put(w, tex, length);
    put(w, "}", 1);
    return tex + length;
}

void figure_label_gnuplot(const char *tex, char *text, size_t size)
{
    label_writer w = {text, size, 0};
    bool maths = false;
    text[0] = 0;
    while (*tex) {
        if (*tex == '$') {
            maths = !maths;
            tex++;
        } else if (*tex == '\\')
            tex = put_sign(&w, tex);
        else if (maths && isalpha((unsigned char)*tex))
            tex = put_italic(&w, tex);
        else if (!maths && strchr("_^@&~", *tex)) /* signs of the markup, here plain */
            tex++;
        else if (maths && *tex == '-') {
            put(&w, "−", strlen("−"));
            tex++;
        } else
            put(&w, tex++, 1);
    }
}
