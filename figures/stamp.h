/* A picture that gnuplot drew: is it whole, and the same with a line of text in its metadata. */
#ifndef STAIR_FIGURES_STAMP_H
#define STAIR_FIGURES_STAMP_H

#include "core/context.h"

#include <stdio.h>

/* Whether the bytes are a complete picture of this kind: pdf, svg or png. */
bool figure_picture_is_whole(const char *kind, const char *data, size_t size);

/* Writes it to `file` with `title` and `text` in its metadata: Title and Subject of a PDF, title and desc of
 * an SVG, tEXt chunks of a PNG.  The picture is whole. */
void figure_picture_write(const char *kind, const char *data, size_t size, const char *title,
                          const char *text, FILE *file);

#endif
