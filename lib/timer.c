#include "timer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum { TIMERS = 256 }; /* of a device */

struct td_timer {
    enum { FREE, STARTED, STOPPED } state;
    bool made;
    cudaEvent_t start, stop;
    td_record *record;
};

/* Of one device. */
typedef struct {
    td_timer timers[TIMERS];
    unsigned next;
} pool;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pool *pools[TD_MAX_DEVICES]; /* made at a device's first timed call */

static bool make_events(td_timer *t)
{
    if (t->made) return true;
    if (!td_cuda_ok(cudaEventCreate(&t->start))) return false;
    if (!td_cuda_ok(cudaEventCreate(&t->stop))) {
        td_cuda_ok(cudaEventDestroy(t->start));
        return false;
    }
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

static td_timer *start(pool *p, cudaStream_t stream)
{
    for (int tried = 0; tried < TIMERS; tried++) {
        td_timer *t = &p->timers[p->next++ % TIMERS];
        collect(t);
        if (t->state == STOPPED) break; /* the oldest call still runs: so do the others */
        if (t->state != FREE || !make_events(t)) continue;
        if (!td_cuda_ok(cudaEventRecord(t->start, stream))) continue;
        t->state = STARTED;
        return t;
    }
    return NULL;
}

td_timer *td_timer_start(cudaStream_t stream)
{
    int ordinal;
    td_timer *timer = NULL;
    if (td_stream_is_capturing(stream) || !td_cuda_ok(cudaGetDevice(&ordinal)) || ordinal < 0 ||
        ordinal >= TD_MAX_DEVICES)
        return NULL;
    pthread_mutex_lock(&lock);
    if (!pools[ordinal]) pools[ordinal] = calloc(1, sizeof *pools[ordinal]);
    if (pools[ordinal]) timer = start(pools[ordinal], stream);
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
    for (int d = 0; d < TD_MAX_DEVICES; d++)
        for (int i = 0; pools[d] && i < TIMERS; i++) collect(&pools[d]->timers[i]);
    pthread_mutex_unlock(&lock);
}

void td_timer_before_fork(void) { pthread_mutex_lock(&lock); }

void td_timer_after_fork(bool is_child)
{
    for (int d = 0; is_child && d < TD_MAX_DEVICES; d++)
        if (pools[d])
            memset(pools[d], 0, sizeof *pools[d]); /* a call round the fork has its timer yet */
    pthread_mutex_unlock(&lock);
}
