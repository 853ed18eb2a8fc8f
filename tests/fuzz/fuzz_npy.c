/* NPY files of arbitrary bytes: refused or read, never a crash. */
#include "fuzz_file.h"
#include "io/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_whole(stair_context *context, const stair_npy *npy)
{
    if (npy->header.rank < 1 || npy->header.count > 4096) return;
    double *out = malloc((npy->header.count + 1) * sizeof *out);
    if (out)
        (void)stair_npy_read(context, npy, 0, npy->header.row_size ? (size_t)npy->header.shape[0] : 0, out);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_NAME];
    stair_context *context;
    stair_npy_header header;
    stair_npy npy;
    if (stair_context_create(&context) != STAIR_OK) return 0;
    (void)stair_npy_header_parse(context, "fuzz", (const char *)data, size, &header);
    fuzz_name(".npy", path);
    if (fuzz_put(path, data, size) && stair_npy_open(context, path, &npy) == STAIR_OK) {
        read_whole(context, &npy);
        stair_npy_close(&npy);
    }
    unlink(path);
    stair_context_destroy(&context);
    return 0;
}
