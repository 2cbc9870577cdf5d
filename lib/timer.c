#include "timer.h"

#include <pthread.h>
#include <stdbool.h>

#include "device.h"

enum { TIMERS = 256 };

struct td_timer {
    enum { FREE, STARTED, STOPPED } state;
    bool made;
    int ordinal; /* of the device that the events belong to */
    cudaEvent_t start, stop;
    td_record *record;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static td_timer timers[TIMERS];

static bool make_events(td_timer *t, int ordinal)
{
    if (t->made) return t->ordinal == ordinal;
    if (!td_cuda_ok(cudaEventCreate(&t->start))) return false;
    if (!td_cuda_ok(cudaEventCreate(&t->stop))) {
        td_cuda_ok(cudaEventDestroy(t->start));
        return false;
    }
    t->ordinal = ordinal;
    t->made = true;
    return true;
}

static void collect(td_timer *t)
{
    float milliseconds;
    if (t->state != STOPPED || !td_cuda_ok(cudaEventQuery(t->stop))) return;
    if (td_cuda_ok(cudaEventElapsedTime(&milliseconds, t->start, t->stop)))
        td_report_add_time(t->record, (double)milliseconds * 1e-3);
    t->state = FREE;
}

td_timer *td_timer_start(cudaStream_t stream)
{
    static unsigned next; /* under the lock */
    int ordinal;
    td_timer *timer = NULL;
    if (td_stream_is_capturing(stream) || !td_cuda_ok(cudaGetDevice(&ordinal))) return NULL;
    pthread_mutex_lock(&lock);
    for (int tried = 0; tried < TIMERS && !timer; tried++) {
        td_timer *t = &timers[next++ % TIMERS];
        collect(t);
        if (t->state == FREE && make_events(t, ordinal) &&
            td_cuda_ok(cudaEventRecord(t->start, stream)))
            timer = t;
        else if (t->state == STOPPED)
            break; /* the oldest call still runs: so do the others */
    }
    if (timer) timer->state = STARTED;
    pthread_mutex_unlock(&lock);
    return timer;
}

void td_timer_stop(td_timer *timer, cudaStream_t stream, td_record *record)
{
    if (!timer) return;
    pthread_mutex_lock(&lock);
    timer->record = record;
    timer->state = td_cuda_ok(cudaEventRecord(timer->stop, stream)) ? STOPPED : FREE;
    pthread_mutex_unlock(&lock);
}

void td_timer_drop(td_timer *timer)
{
    if (!timer) return;
    pthread_mutex_lock(&lock);
    timer->state = FREE;
    pthread_mutex_unlock(&lock);
}

void td_timer_collect(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < TIMERS; i++) collect(&timers[i]);
    pthread_mutex_unlock(&lock);
}
