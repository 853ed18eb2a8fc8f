/* For mutate.py: which places of the library ran, one byte each, in a file that all processes share. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PLACES = 1 << 24 };
extern const char __ehdr_start __attribute__((visibility("hidden"))); /* where the library was loaded */
static unsigned char *ran;

void __sanitizer_cov_trace_pc(void);

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("COVER");
    int file = path ? open(path, O_RDWR | O_CREAT, 0644) : -1;
    if (file < 0 || ftruncate(file, PLACES)) return;
    void *memory = mmap(NULL, PLACES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) ran = memory;
    close(file);
}

void __sanitizer_cov_trace_pc(void)
{
    uintptr_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&__ehdr_start;
    if (ran && at < PLACES && !ran[at]) ran[at] = 1;
}
