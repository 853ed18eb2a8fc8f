/* Every allocation of some work fails in turn: an error status, no crash, no leak; or fresh memory is full of
 * one byte.  The C library's allocator is replaced, so sanitizers sit this one out.  To be included by one
 * file of a program. */
#ifndef STAIR_TESTS_FAILING_MEMORY_H
#define STAIR_TESTS_FAILING_MEMORY_H

#include "stair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REPLACED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define REPLACED 0
#endif
#endif
#ifndef REPLACED
#define REPLACED 1
#endif

static long countdown = -1; /* allocations until one fails; negative: none does */
static long balance;
/* byte of fresh memory; negative: whatever was there.  Not used where a sanitizer has its own allocator. */
static int filling __attribute__((unused)) = -1;

#if REPLACED && defined(__GLIBC__)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *pointer);

static bool refuse(void)
{
    return countdown >= 0 && countdown-- == 0;
}

static void *counted(void *got)
{
    balance += got != NULL;
    return got;
}

static void *filled(void *got, size_t size)
{
    if (got && filling >= 0) memset(got, filling, size);
    return got;
}

void *malloc(size_t size)
{
    return refuse() ? NULL : filled(counted(__libc_malloc(size)), size);
}

void *calloc(size_t n, size_t size)
{
    return refuse() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *pointer, size_t size)
{
    if (refuse()) return NULL;
    balance -= pointer != NULL;
    return counted(__libc_realloc(pointer, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return refuse() ? NULL : filled(counted(__libc_memalign(alignment, size)), size);
}

void free(void *pointer)
{
    balance -= pointer != NULL;
    __libc_free(pointer);
}
#endif

static inline void fail_in_turn(stair_status (*work)(stair_context *context), long stride)
{
    stair_context *context;
    assert_int_equal(stair_context_create(&context), STAIR_OK);
    assert_int_equal(stair_context_set_threads(context, 1), STAIR_OK);
    assert_int_equal(work(context), STAIR_OK); /* what is allocated once and kept is so now */
    for (long n = 0;; n += stride) {
        long before = balance;
        countdown = n;
        stair_status status = work(context);
        bool reached = countdown < 0;
        countdown = -1;
        assert_int_equal(balance, before);
        if (!reached) {
            assert_int_equal(status, STAIR_OK);
            break;
        }
        if (!REPLACED) break;
    }
    stair_context_destroy(&context);
}

#endif
