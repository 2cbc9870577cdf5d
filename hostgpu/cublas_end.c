/* cublas_end.c - threads that are in OpenBLAS when the process ends or forks. OpenBLAS's destructor
 * frees the buffers that they work in, and a child would find its locks taken by threads that it
 * does not have: so the destructor here, which comes first, and fork() wait until none is there. */
#include "cublas_internal.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* Longest wait, in milliseconds. */
enum { PATIENCE = 10000 };

static atomic_int at_work; /* calls between begin and end */
/* Those of this thread: a product that a callback has left by longjmp or an exception has no end,
 * and the thread that ends the process does not wait for its own. */
static __thread int own;
static atomic_bool is_ending;
static atomic_int forks; /* threads that fork */
static pthread_t last;   /* the thread that ends the process */

/* Without a point of cancellation, unlike a sleep. */
static void wait_for_forks(void)
{
    while (atomic_load(&forks) > 0) (void)sched_yield();
}

/* A thread that comes while the process ends stays here. */
void hostgpu_begin_blas(void)
{
    const bool is_inside = own++ > 0;

    atomic_fetch_add(&at_work, 1);
    while (!is_inside && atomic_load(&forks) > 0) {
        atomic_fetch_sub(&at_work, 1);
        wait_for_forks();
        atomic_fetch_add(&at_work, 1);
    }
    if (!atomic_load(&is_ending) || pthread_equal(pthread_self(), last)) return;
    atomic_fetch_sub(&at_work, 1);
    for (;;) (void)pause();
}

void hostgpu_end_blas(void)
{
    own--;
    atomic_fetch_sub(&at_work, 1);
}

__attribute__((destructor)) static void wait_for_others(void)
{
    last = pthread_self();
    atomic_store(&is_ending, true);
    for (int i = 0; i < PATIENCE && atomic_load(&at_work) > own; i++) (void)usleep(1000);
}

static int64_t milliseconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void before_fork(void)
{
    const int64_t end = milliseconds() + PATIENCE;

    atomic_fetch_add(&forks, 1);
    while (atomic_load(&at_work) > own && milliseconds() < end) (void)sched_yield();
}

static void in_parent(void) { atomic_fetch_sub(&forks, 1); }

/* A child has none of its parent's other threads. */
static void in_child(void)
{
    atomic_store(&at_work, own);
    atomic_store(&forks, 0);
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, in_parent, in_child);
}
