/* cublas_fork.c - fork() waits for threads that make or destroy handles, so that the child finds
 * no lock taken by one that it does not have. */
#include <pthread.h>

#include "cublas_internal.h"

/* In the order in which a thread takes them. */
static pthread_mutex_t *const locks[] = {&hostgpu_legacy_lock, &hostgpu_handles_lock};
enum { LOCKS = sizeof locks / sizeof locks[0] };

static void before_fork(void)
{
    for (int i = 0; i < LOCKS; i++) pthread_mutex_lock(locks[i]);
}

static void after_fork(void)
{
    for (int i = LOCKS; i-- > 0;) pthread_mutex_unlock(locks[i]);
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}
