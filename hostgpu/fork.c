/* fork.c - fork() waits for what other threads do in the runtime, so that the child finds nothing
 * half done, and no lock taken by a thread that it does not have. */
#include "cudart_internal.h"

static pthread_mutex_t *const locks[] = {
    &hostgpu_launching,     &hostgpu_pool_lock,     &hostgpu_kernels_lock, &hostgpu_captures_lock,
    &hostgpu_contexts_lock, &hostgpu_registry_lock, &hostgpu_pools_lock,
};
enum { LOCKS = sizeof locks / sizeof locks[0] };

static void before_fork(void)
{
    for (int i = 0; i < LOCKS; i++) pthread_mutex_lock(locks[i]);
}

static void after_fork(void)
{
    for (int i = LOCKS; i-- > 0;) pthread_mutex_unlock(locks[i]);
}

static void in_child(void)
{
    hostgpu_forget_helpers();
    after_fork();
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, in_child);
}
