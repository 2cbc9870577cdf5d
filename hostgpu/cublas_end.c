/* cublas_end.c - threads that are in OpenBLAS when the process ends. Its destructor frees the
 * buffers that they work in, so the destructor here, which comes first, waits until none is. */
#include "cublas_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* Longest wait, in milliseconds. */
enum { PATIENCE = 10000 };

static atomic_int at_work; /* calls between begin and end */
/* Those of this thread: a product that a callback has left by longjmp or an exception has no end,
 * and the thread that ends the process does not wait for its own. */
static __thread int own;
static atomic_bool is_ending;
static pthread_t last; /* the thread that ends the process */

/* A thread that comes too late stays here: the process ends meanwhile. */
void hostgpu_begin_blas(void)
{
    own++;
    atomic_fetch_add(&at_work, 1);
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

/* A child has none of its parent's other threads. */
static void forget_others(void) { atomic_store(&at_work, own); }

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forget_others);
}
