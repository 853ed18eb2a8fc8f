/* Arbitrary bytes as a result file of each format: refused, or shown on both kinds of pages. */
#include "core/limits.h"
#include "fuzz_file.h"
#include "page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(stair_context *context, json_t *file)
{
    json_t *files = json_pack("[O]", file);
    FILE *to = fopen("/dev/null", "w");
    for (int plain = 0; to && files && plain < 2; plain++) {
        page_content made = {.title = "t", .files = files, .plain = plain};
        if (page_write(context, to, &made) != STAIR_OK) abort();
    }
    free(page_command_line(file));
    if (to) fclose(to);
    json_decref(files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    typedef stair_status read(stair_context *, const char *, size_t *, json_t *);
    static read *const readers[] = {page_read_json, page_read_csv, page_read_npz};
    char path[FUZZ_NAME];
    stair_context *context;
    fuzz_name("", path);
    if (fuzz_put(path, data, size) && stair_context_create(&context) == STAIR_OK) {
        for (int k = 0; k < 3; k++) {
            size_t room = STAIR_MOST_PAGE_CELLS;
            json_t *file = json_pack("{s:s, s:[]}", "file", "f", "tables");
            if (file && readers[k](context, path, &room, file) == STAIR_OK) show(context, file);
            json_decref(file);
        }
        stair_context_destroy(&context);
    }
    unlink(path);
    return 0;
}
