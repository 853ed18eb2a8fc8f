/* The page: style, data and script in one file that asks nothing of a network.
 *
 * Nothing in a result file can become markup or code.  Text outside of the data is escaped; inside, every <
 * is written \u003c, so that no string ends the element.  The policy in the head lets the one script run
 * whose digest it names, and nothing be loaded. */
#include "json_text.h"
#include "page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void page_html(FILE *to, const char *text)
{
    for (; text && *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '&')
            fputs("&amp;", to);
        else if (c == '<')
            fputs("&lt;", to);
        else if (c == '>')
            fputs("&gt;", to);
        else if (c == '"')
            fputs("&quot;", to);
        else if (c == '\'')
            fputs("&#39;", to);
        else if ((c < ' ' && c != '\n' && c != '\t') || c == 127)
            putc('?', to);
        else
            putc(c, to);
    }
}

/* JSON inside an element that ends at the first </script. */
static bool write_data(FILE *to, const json_t *files)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) return false;
    bool good = json_write(memory, files);
    good = fclose(memory) == 0 && good;
    for (size_t i = 0; good && i < size; i++) {
        if (text[i] == '<')
            fputs("\\u003c", to);
        else
            putc(text[i], to);
    }
    free(text);
    return good;
}

static void write_head(FILE *to, const page_content *page)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
          "style-src 'unsafe-inline'; ",
          to);
    if (page->plain)
        fputs("script-src 'none'", to);
    else
        fprintf(to, "script-src 'sha256-%.*s'", (int)page_script_digest_size,
                (const char *)page_script_digest);
    fputs("; base-uri 'none'; form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta name=\"generator\" content=\"stair " STAIR_VERSION
          "\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
          to);
    page_html(to, page->title);
    fputs("</title>\n<style>\n", to);
    fwrite(page_style, 1, page_style_size, to);
    fputs("</style>\n</head>\n", to);
}

static void write_plain(FILE *to, const page_content *page)
{
    const json_t *file;
    size_t k;
    fputs("<body class=\"plain\">\n<header><h1>", to);
    page_html(to, page->title);
    fputs("</h1></header>\n<main>\n<p class=\"note\">", to);
    fputs(page_script_size ? "Made with --plain: plots are pictures, and tables do not sort."
                           : "This stair was built without node: plots are pictures, and tables do not sort.",
          to);
    fputs("</p>\n", to);
    json_array_foreach(page->files, k, file) page_plain_file(to, file);
    fputs("</main>\n<footer>stair " STAIR_VERSION "</footer>\n</body>\n</html>\n", to);
}

static bool write_live(FILE *to, const page_content *page)
{
    fputs("<body>\n<header><h1>", to);
    page_html(to, page->title);
    fputs("</h1></header>\n<main id=\"main\">\n<noscript><p class=\"note\">The plots and tables of this page "
          "need "
          "JavaScript; stair report --plain makes one that does not.</p></noscript>\n</main>\n"
          "<footer id=\"footer\">stair " STAIR_VERSION
          "</footer>\n<script type=\"application/json\" id=\"data\">",
          to);
    bool good = write_data(to, page->files);
    fputs("</script>\n<script>", to);
    fwrite(page_script, 1, page_script_size, to);
    fputs("</script>\n</body>\n</html>\n", to);
    return good;
}

stair_status page_write(stair_context *context, FILE *to, const page_content *page)
{
    write_head(to, page);
    if (page->plain)
        write_plain(to, page);
    else if (!write_live(to, page))
        return page_no_memory(context);
    if (ferror(to))
        return stair_fail(context, STAIR_FAILED, "the page could not be written: %s", strerror(errno));
    return STAIR_OK;
}
