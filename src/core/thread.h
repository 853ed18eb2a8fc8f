/* The few things the library asks of POSIX threads, and what stands in for them where there are none
 * (STAIR_SERIAL, set by cmake -DSTAIR_THREADS=OFF): no thread starts, and nobody waits for a lock. */
#ifndef STAIR_CORE_THREAD_H
#define STAIR_CORE_THREAD_H

#include <stdbool.h>

typedef void *stair_thread_body(void *argument);

#ifdef STAIR_SERIAL

typedef char stair_thread, stair_lock, stair_signal;
#define STAIR_LOCK_FREE 0 /* what a lock starts as: it is never taken */

static inline bool stair_thread_start(stair_thread *thread, stair_thread_body *body, void *argument)
{
    (void)thread, (void)body, (void)argument;
    return false;
}
static inline void stair_thread_join(stair_thread *thread)
{
    (void)thread;
}
static inline void stair_lock_create(stair_lock *lock)
{
    *lock = STAIR_LOCK_FREE;
}
static inline void stair_lock_destroy(stair_lock *lock)
{
    (void)lock;
}
static inline void stair_lock_take(stair_lock *lock)
{
    (void)lock;
}
static inline void stair_lock_release(stair_lock *lock)
{
    (void)lock;
}
static inline void stair_signal_create(stair_signal *signal)
{
    *signal = 0;
}
static inline void stair_signal_destroy(stair_signal *signal)
{
    (void)signal;
}
static inline void stair_signal_wait(stair_signal *signal, stair_lock *lock)
{
    (void)signal, (void)lock;
}
static inline void stair_signal_all(stair_signal *signal)
{
    (void)signal;
}
static inline long stair_process(void)
{
    return 0;
}

#else

#include "core/limits.h"

#include <pthread.h>
#include <unistd.h>

typedef pthread_t stair_thread;
typedef pthread_mutex_t stair_lock;
typedef pthread_cond_t stair_signal;
#define STAIR_LOCK_FREE PTHREAD_MUTEX_INITIALIZER

/* False when the system has no thread to give.  It has the stack that the system gives, and enough. */
static inline bool stair_thread_start(stair_thread *thread, stair_thread_body *body, void *argument)
{
    pthread_attr_t how;
    size_t stack = 0;
    if (pthread_attr_init(&how)) return false;
    pthread_attr_getstacksize(&how, &stack);
    if (stack < STAIR_THREAD_STACK) pthread_attr_setstacksize(&how, STAIR_THREAD_STACK);
    bool started = pthread_create(thread, &how, body, argument) == 0;
    pthread_attr_destroy(&how);
    return started;
}
static inline void stair_thread_join(stair_thread *thread)
{
    pthread_join(*thread, NULL);
}
static inline void stair_lock_create(stair_lock *lock)
{
    pthread_mutex_init(lock, NULL);
}
static inline void stair_lock_destroy(stair_lock *lock)
{
    pthread_mutex_destroy(lock);
}
static inline void stair_lock_take(stair_lock *lock)
{
    pthread_mutex_lock(lock);
}
static inline void stair_lock_release(stair_lock *lock)
{
    pthread_mutex_unlock(lock);
}

static inline void stair_signal_create(stair_signal *signal)
{
    pthread_cond_init(signal, NULL);
}
static inline void stair_signal_destroy(stair_signal *signal)
{
    pthread_cond_destroy(signal);
}
/* With the lock taken, which others have meanwhile. */
static inline void stair_signal_wait(stair_signal *signal, stair_lock *lock)
{
    pthread_cond_wait(signal, lock);
}
static inline void stair_signal_all(stair_signal *signal)
{
    pthread_cond_broadcast(signal);
}
/* A fork has no threads but the one that called it. */
static inline long stair_process(void)
{
    return (long)getpid();
}

#endif

/* Between two looks at what another thread is about to write. */
static inline void stair_thread_pause(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#endif
}
#endif
