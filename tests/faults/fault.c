/* Preloaded into the program: the n-th call of one kind fails.
 *
 *   FAULT_KIND   memory, sync, rename, map or thread
 *   FAULT_AT     n, from 1; 0: none, calls are only counted
 *   FAULT_COUNT  file for the number of calls there were
 *   FAULT_FILL   byte that fresh memory is full of: nothing fails, and nothing may change
 *
 * Writes are not here, because the C library's own streams cannot be replaced: faults.py limits the size of
 * files instead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

typedef enum { NONE, MEMORY, SYNC, RENAME, MAP, THREAD } kind;

static kind chosen;
static long at;
static int filling = -1;
static atomic_long count;

__attribute__((constructor)) static void begin(void)
{
    static const char *const names[] = {"", "memory", "sync", "rename", "map", "thread"};
    const char *name = getenv("FAULT_KIND"), *number = getenv("FAULT_AT"), *fill = getenv("FAULT_FILL");
    at = number ? atol(number) : 0;
    filling = fill ? atoi(fill) : -1;
    for (int k = 1; name && k < 6; k++)
        if (!strcmp(name, names[k])) chosen = (kind)k;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAULT_COUNT");
    chosen = NONE;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", atomic_load(&count));
    fclose(file);
}

static int fails(kind of)
{
    return of == chosen && atomic_fetch_add(&count, 1) + 1 == at;
}

static void *none(void)
{
    errno = ENOMEM;
    return NULL;
}

static void *filled(void *got, size_t size)
{
    if (got && filling >= 0) memset(got, filling, size);
    return got;
}

void *malloc(size_t size)
{
    return fails(MEMORY) ? none() : filled(__libc_malloc(size), size);
}

void *calloc(size_t n, size_t size)
{
    return fails(MEMORY) ? none() : __libc_calloc(n, size);
}

void *realloc(void *pointer, size_t size)
{
    return fails(MEMORY) ? none() : __libc_realloc(pointer, size);
}

void *memalign(size_t alignment, size_t size)
{
    return fails(MEMORY) ? none() : filled(__libc_memalign(alignment, size), size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **pointer, size_t alignment, size_t size)
{
    void *got = memalign(alignment, size);
    if (!got) return ENOMEM;
    *pointer = got;
    return 0;
}

static int refuse(int reason)
{
    errno = reason;
    return -1;
}

int fsync(int fd)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return fails(SYNC) ? refuse(EIO) : next(fd);
}

int rename(const char *from, const char *to)
{
    int (*next)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    return fails(RENAME) ? refuse(EIO) : next(from, to);
}

int link(const char *from, const char *to)
{
    int (*next)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "link");
    return fails(RENAME) ? refuse(EPERM) : next(from, to);
}

void *mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset)
{
    void *(*next)(void *, size_t, int, int, int, off_t) =
        (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    return fails(MAP) ? (void)none(), MAP_FAILED : next(where, size, protection, flags, fd, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *user)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT,
                                                                                       "pthread_create");
    return fails(THREAD) ? EAGAIN : next(thread, attributes, start, user);
}
