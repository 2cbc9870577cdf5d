/* blas_end.c - threads that are in OpenBLAS when the process ends or forks. OpenBLAS's destructor
 * frees the buffers that they work in, and a child would find its locks taken by threads that it
 * does not have: so the destructor here, which comes first, and fork() wait until none is there. */
#include "blas.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

/* Longest wait, in milliseconds. */
enum { PATIENCE = 10000 };

static atomic_int at_work; /* calls between begin and end */
/* Calls of this thread between begin and end: a product that a callback has left by longjmp or an
 * exception has no end, and the thread that ends the process does not wait for its own. */
static __thread int own;
static atomic_bool is_ending;
static atomic_int forks; /* threads that fork */
static pthread_t last;   /* the thread that ends the process */

/* A thread waits here while another one forks, and stays here while the process ends. */
void hostgpu_begin_blas(void)
{
    const bool is_inside = own++ > 0;

    atomic_fetch_add(&at_work, 1);
    while (!is_inside && atomic_load(&forks) > 0) {
        atomic_fetch_sub(&at_work, 1);
        (void)sched_yield(); /* unlike a sleep, no point of cancellation */
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

static void wait_for_others(void)
{
    for (int i = 0; i < PATIENCE && atomic_load(&at_work) > own; i++) (void)usleep(1000);
}

__attribute__((destructor)) static void end(void)
{
    last = pthread_self();
    atomic_store(&is_ending, true);
    wait_for_others();
}

/* fork() is no point of cancellation, but a sleep is. */
static void before_fork(void)
{
    int cancel_state;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    atomic_fetch_add(&forks, 1);
    wait_for_others();
    (void)pthread_setcancelstate(cancel_state, NULL);
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
