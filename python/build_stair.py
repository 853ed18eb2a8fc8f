"""The C side of the package: cffi in API mode over the public headers of libstair.

    build_stair.py OUT.c        writes the source of the extension module stair._stair

What is declared is what include/*.h declares, read from the headers themselves, so that a new function of
the library is there without a line here.  The C compiler compares every declaration with the header."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(os.path.dirname(HERE), "include")
HEADERS = ["stair.h", "stair_asymptotics.h", "stair_gamp.h", "stair_options.h", "stair_train.h"]

# A call in progress: what the library tells, and whether it shall stop.  Python is entered a few times a second
# only, for blocks may take microseconds.
SOURCE = """
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <time.h>
#include <stair.h>

typedef struct {
    double next;  /* when Python is asked next, seconds */
    double every; /* how long it is left alone */
    int stop;
} pystair_call;

static double pystair_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool pystair_tick(void *user, double done, double total);

static bool pystair_progress(void *user, double done, double total)
{
    pystair_call *call = user;
    if (call->stop) return false;
    double now = pystair_clock();
    if (now < call->next) return true;
    call->next = now + call->every;
    if (!pystair_tick(user, done, total)) call->stop = 1;
    return !call->stop;
}

static void pystair_begin(stair_context *context, pystair_call *call)
{
    call->next = pystair_clock() + call->every;
    stair_context_set_progress(context, pystair_progress, call);
}

/* The tables are const, and cffi calls no function behind a const struct by itself. */
static void pystair_defaults(const stair_options_table *table, void *options)
{
    table->defaults(options);
}

static const char *pystair_version(void)
{
    return STAIR_VERSION;
}

/* The first value that is not finite, or n: x - x is 0, or NaN.  Eight sums that do not wait for each other. */
static size_t pystair_not_finite(const void *x, bool single, size_t n)
{
    enum { BLOCK = 4096, SUMS = 8 };
    for (size_t first = 0; first < n; first += BLOCK) {
        size_t count = n - first < BLOCK ? n - first : BLOCK, whole = count / SUMS * SUMS;
        double sum[SUMS] = {0}, all = 0;
        const float *f = (const float *)x + first;
        const double *d = (const double *)x + first;
        for (size_t i = 0; i < whole; i += SUMS)
            for (int k = 0; k < SUMS; k++) sum[k] += single ? (double)(f[i + k] - f[i + k]) : d[i + k] - d[i + k];
        for (int k = 0; k < SUMS; k++) all += sum[k];
        for (size_t i = all == 0 ? whole : 0; i < count; i++)
            if (single ? !isfinite(f[i]) : !isfinite(d[i])) return first + i;
    }
    return n;
}
"""
EXTRA = """
typedef struct { double next, every; int stop; } pystair_call;
void pystair_begin(stair_context *context, pystair_call *call);
void pystair_defaults(const stair_options_table *table, void *options);
size_t pystair_not_finite(const void *x, bool single, size_t n);
const char *pystair_version(void);
extern "Python" static bool pystair_tick(void *user, double done, double total);
extern "Python" static void pystair_link(void *user, const double *z, double *y);
extern "Python" static void pystair_block(void *user, size_t n, size_t stride, const double *z, double *y);
"""


def declarations(folder=INCLUDE):
    """The headers as cffi reads them: no comments, no preprocessor but numbers, no extern "C" {."""
    text = ""
    for name in HEADERS:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            body = re.sub(r"/\*.*?\*/|//[^\n]*", " ", file.read(), flags=re.S)
        body = re.sub(r'#ifdef __cplusplus\s.*?#endif', " ", body, flags=re.S)
        numbers = re.findall(r"^#define (\w+)\s+(\d+)\s*$", body, re.M)
        body = re.sub(r"^\s*#.*$", " ", body, flags=re.M)
        text += "".join(f"#define {key} {value}\n" for key, value in numbers) + body
    return text


def builder():
    import cffi

    ffi = cffi.FFI()
    ffi.cdef(declarations() + EXTRA)
    ffi.set_source("stair._stair", SOURCE, libraries=["stair"])
    return ffi


if __name__ == "__main__":
    builder().emit_c_code(sys.argv[1])
