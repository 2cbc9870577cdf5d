#include "ahead.h"

#include <pthread.h>
#include <stdlib.h>

enum { AHEADS = 4 };

/* What belongs to a context, and ends with it. */
typedef struct td_aheads {
    unsigned forks; /* of the process that made them */
    unsigned life;  /* of the context */
    td_ahead of[AHEADS];
} td_aheads;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned forks; /* that the process has come of */

/* Threads of the parent's had the lock, and streams, that nobody gives back here. */
void td_ahead_after_fork(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    forks++;
}

/* Streams and events of a context that is gone, or of the parent, are forgotten. NULL without
 * memory. */
static td_aheads *aheads_of(td_device *device)
{
    const unsigned life = atomic_load(&device->life);
    if (!device->aheads) device->aheads = calloc(1, sizeof *device->aheads);
    td_aheads *s = device->aheads;
    if (s && (s->life != life || s->forks != forks)) *s = (td_aheads){.forks = forks, .life = life};
    return s;
}

static bool make_event(cudaEvent_t *event)
{
    return *event || td_cuda_ok(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
}

/* The stream's priority is the highest: the next step of a factorisation waits for it. */
static bool make(td_ahead *ahead)
{
    int least, most;
    if (!td_cuda_ok(cudaDeviceGetStreamPriorityRange(&least, &most))) return false;
    return (ahead->stream || td_cuda_ok(cudaStreamCreateWithPriority(
                                 &ahead->stream, cudaStreamNonBlocking, most))) &&
           make_event(&ahead->step) && make_event(&ahead->panel) && make_event(&ahead->begun);
}

static td_ahead *take(td_aheads *aheads)
{
    for (int i = 0; i < AHEADS; i++) {
        td_ahead *ahead = &aheads->of[i];
        if (ahead->is_taken) continue;
        ahead->is_taken = make(ahead);
        return ahead->is_taken ? ahead : NULL;
    }
    return NULL;
}

td_ahead *td_ahead_take(td_device *device)
{
    const td_capture_mode mode = td_capture_allow();
    pthread_mutex_lock(&lock);
    td_aheads *aheads = aheads_of(device);
    td_ahead *ahead = aheads ? take(aheads) : NULL;
    pthread_mutex_unlock(&lock);
    td_capture_restore(mode);
    return ahead;
}

void td_ahead_give_back(td_ahead *ahead)
{
    pthread_mutex_lock(&lock);
    ahead->is_taken = false;
    pthread_mutex_unlock(&lock);
}

bool td_ahead_wait(cudaStream_t waiting, cudaEvent_t event, cudaStream_t other)
{
    return td_cuda_ok(cudaEventRecord(event, other)) &&
           td_cuda_ok(cudaStreamWaitEvent(waiting, event, 0));
}
