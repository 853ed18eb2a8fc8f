/* PNG: a signature, then chunks (length, kind, data, CRC); tEXt chunks go behind the first, IHDR.
 * SVG: elements <title> and <desc> behind the opening tag.
 * PDF: an update at the end, with a new information dictionary, as section 7.5.6 of ISO 32000 has it. */
#include "stamp.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PNG_SIGNATURE "\x89PNG\r\n\x1a\n"
#define PNG_HEAD      33 /* bytes: signature and IHDR */
#define PNG_TAIL      12 /* bytes: IEND */

/* The last place of `word` in the last `most` bytes, or NULL. */
static const char *find_last(const char *data, size_t size, size_t most, const char *word)
{
    size_t length = strlen(word), from = size > most ? size - most : 0;
    for (size_t at = size >= length ? size - length + 1 : 0; at-- > from;)
        if (!memcmp(data + at, word, length)) return data + at;
    return NULL;
}

static const char *find_first(const char *data, size_t size, const char *word)
{
    size_t length = strlen(word);
    for (size_t at = 0; at + length <= size; at++)
        if (!memcmp(data + at, word, length)) return data + at;
    return NULL;
}

bool figure_picture_is_whole(const char *kind, const char *data, size_t size)
{
    if (!strcmp(kind, "png"))
        return size > PNG_HEAD + PNG_TAIL && !memcmp(data, PNG_SIGNATURE, 8) &&
               !memcmp(data + size - PNG_TAIL + 4, "IEND", 4);
    if (!strcmp(kind, "svg")) return find_first(data, size, "<svg") && find_last(data, size, 64, "</svg>");
    return size > 64 && !memcmp(data, "%PDF-", 5) && find_last(data, size, 64, "%%EOF");
}

/* ---- PNG ---------------------------------------------------------------------------------------------- */

static uint32_t crc_of(uint32_t crc, const char *data, size_t size)
{
    for (size_t k = 0; k < size; k++) {
        crc ^= (unsigned char)data[k];
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return crc;
}

static void put_32(uint32_t value, FILE *file)
{
    for (int shift = 24; shift >= 0; shift -= 8) putc((int)(value >> shift & 255), file);
}

/* Key and value with a NUL between; Latin-1, so bytes beyond ASCII become question marks. */
static void write_chunk(const char *key, const char *value, FILE *file)
{
    size_t head = strlen(key) + 1, size = head + strlen(value);
    char *data = malloc(size + 1);
    if (!data) return;
    memcpy(data, key, head);
    for (size_t k = 0; value[k]; k++) data[head + k] = value[k] >= 32 || value[k] == '\n' ? value[k] : '?';
    uint32_t crc = ~crc_of(crc_of(0xFFFFFFFFu, "tEXt", 4), data, size);
    put_32((uint32_t)size, file);
    fwrite("tEXt", 1, 4, file);
    fwrite(data, 1, size, file);
    put_32(crc, file);
    free(data);
}

static void write_png(const char *data, size_t size, const char *title, const char *text, FILE *file)
{
    fwrite(data, 1, PNG_HEAD, file);
    write_chunk("Title", title, file);
    write_chunk("Description", text, file);
    write_chunk("Software", "stair " STAIR_VERSION, file);
    fwrite(data + PNG_HEAD, 1, size - PNG_HEAD, file);
}

/* ---- SVG ---------------------------------------------------------------------------------------------- */

static void write_escaped(const char *text, FILE *file)
{
    for (; *text; text++)
        if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '>')
            fputs("&gt;", file);
        else if (*text == '&')
            fputs("&amp;", file);
        else if ((unsigned char)*text >= 32 || *text == '\n')
            putc(*text, file);
}

/* gnuplot writes a title and a desc of its own, which would be the ones that count. */
static const char *skip_element(const char *data, const char *end, const char *name)
{
    char open[16], close[16];
    snprintf(open, sizeof open, "<%s>", name);
    snprintf(close, sizeof close, "</%s>", name);
    const char *at = data;
    while (at < end && (*at == '\n' || *at == ' ' || *at == '\r')) at++;
    if ((size_t)(end - at) < strlen(open) || memcmp(at, open, strlen(open)) != 0) return data;
    const char *stop = find_first(at, (size_t)(end - at), close);
    return stop ? stop + strlen(close) : data;
}

/* Those who have not the font get another one with serifs. */
static void write_with_fonts(const char *data, size_t size, FILE *file)
{
    static const char name[] = "font-family=\"CMU Serif\"";
    const char *at;
    while ((at = find_first(data, size, name))) {
        fwrite(data, 1, (size_t)(at - data), file);
        fputs("font-family=\"CMU Serif, Latin Modern Roman, STIX Two Text, Times, serif\"", file);
        size -= (size_t)(at - data) + strlen(name);
        data = at + strlen(name);
    }
    fwrite(data, 1, size, file);
}

static void write_svg(const char *data, size_t size, const char *title, const char *text, FILE *file)
{
    const char *tag = find_first(data, size, "<svg"), *end = data + size;
    const char *body = memchr(tag, '>', (size_t)(end - tag));
    body = body ? body + 1 : end;
    /* blanks between words in different fonts count */
    fwrite(data, 1, (size_t)(tag - data), file);
    fputs("<svg xml:space=\"preserve\"", file);
    fwrite(tag + 4, 1, (size_t)(body - tag - 4), file);
    fputs("\n<title>", file);
    write_escaped(title, file);
    fputs("</title>\n<desc>", file);
    write_escaped(text, file);
    fputs("</desc>\n", file);
    body = skip_element(skip_element(body, end, "title"), end, "desc");
    write_with_fonts(body, (size_t)(end - body), file);
}

/* ---- PDF ---------------------------------------------------------------------------------------------- */

static void write_string(const char *text, FILE *file)
{
    putc('(', file);
    for (; *text; text++) {
        if (strchr("()\\", *text)) putc('\\', file);
        putc((unsigned char)*text < 32 ? ' ' : (unsigned char)*text > 126 ? '?' : *text, file);
    }
    putc(')', file);
}

/* "/Size 12" in the last trailer. */
static bool number_after(const char *data, size_t size, const char *key, long *value)
{
    const char *at = find_last(data, size, 1024, key);
    return at && sscanf(at + strlen(key), " %ld", value) == 1;
}

/* Where the file has no plain trailer (a compressed cross-reference), the text stands in a comment. */
static void write_pdf(const char *data, size_t size, const char *title, const char *text, FILE *file)
{
    long objects, root, before;
    fwrite(data, 1, size, file);
    bool ended = size && data[size - 1] == '\n';
    if (!ended) putc('\n', file);
    bool plain = find_last(data, size, 1024, "trailer") && number_after(data, size, "/Size", &objects) &&
                 number_after(data, size, "/Root", &root) && number_after(data, size, "startxref", &before);
    if (!plain) {
        fprintf(file, "%% ");
        write_string(text, file);
        putc('\n', file);
        return;
    }
    long start = ftell(file), at = start >= 0 ? start : (long)size + !ended;
    fprintf(file, "%ld 0 obj\n<< /Title ", objects);
    write_string(title, file);
    fputs("\n   /Subject ", file);
    write_string(text, file);
    fputs("\n   /Creator (stair " STAIR_VERSION ")\n>>\nendobj\n", file);
    long table = ftell(file);
    fprintf(file, "xref\n%ld 1\n%010ld 00000 n \n", objects, at);
    fprintf(file, "trailer\n<< /Size %ld /Root %ld 0 R /Info %ld 0 R /Prev %ld >>\nstartxref\n%ld\n%%%%EOF\n",
            objects + 1, root, objects, before, table);
}

void figure_picture_write(const char *kind, const char *data, size_t size, const char *title,
                          const char *text, FILE *file)
{
    if (!strcmp(kind, "png"))
        write_png(data, size, title, text, file);
    else if (!strcmp(kind, "svg"))
        write_svg(data, size, title, text, file);
    else
        write_pdf(data, size, title, text, file);
}
