#include "timer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../cuda/context.h"
#include "../cuda/device.h"

enum { TIMERS = 256 }; /* of a context */

struct td_timer {
    enum { FREE, STARTED, STOPPED } state;
    bool made;
    cudaEvent_t start, stop;
    td_record *record;
};

/* Of one context, with which events end. */
typedef struct pool {
    td_context *context;
    unsigned life; /* of the context, that the events belong to */
    td_timer timers[TIMERS];
    unsigned next_timer;   /* to start; counts on, modulo TIMERS a place in `timers` */
    unsigned next_to_read; /* what was started before has been collected */
    struct pool *next;
} pool;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pool *pools; /* each made at a context's first timed call */

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

/* Collects calls in the order in which they began, up to the first one that has not ended, so that
 * little is lost where the context ends before somebody collects all. */
static void collect_first(pool *p)
{
    if (p->next_timer - p->next_to_read > TIMERS) p->next_to_read = p->next_timer - TIMERS;
    for (; p->next_to_read != p->next_timer; p->next_to_read++) {
        td_timer *t = &p->timers[p->next_to_read % TIMERS];
        collect(t);
        if (t->state == STOPPED) return;
    }
}

static td_timer *start(pool *p, cudaStream_t stream)
{
    collect_first(p);
    for (int tried = 0; tried < TIMERS; tried++) {
        td_timer *t = &p->timers[p->next_timer++ % TIMERS];
        collect(t);
        if (t->state == STOPPED) break; /* the oldest call still runs: so do the others */
        if (t->state != FREE || !make_events(t)) continue;
        if (!td_cuda_ok(cudaEventRecord(t->start, stream))) continue;
        t->state = STARTED;
        return t;
    }
    return NULL;
}

static void forget(pool *p)
{
    p->next_timer = p->next_to_read = 0;
    memset(p->timers, 0, sizeof p->timers);
}

/* The context's; NULL without memory. */
static pool *pool_of(td_context *context)
{
    const unsigned life = atomic_load(&context->life);
    pool *p = pools;
    while (p && p->context != context) p = p->next;
    if (!p) {
        p = calloc(1, sizeof *p);
        if (!p) return NULL;
        p->context = context;
        p->next = pools;
        pools = p;
    }
    if (p->life != life) forget(p);
    p->life = life;
    return p;
}

td_timer *td_timer_start(cudaStream_t stream)
{
    td_timer *timer = NULL;
    td_context *context = td_context_current();
    if (!context) return NULL;
    const td_capture_mode mode = td_capture_allow(); /* another thread may capture */
    pthread_mutex_lock(&lock);
    pool *p = pool_of(context);
    if (p) timer = start(p, stream);
    pthread_mutex_unlock(&lock);
    td_capture_restore(mode);
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

static bool has_stopped(const pool *p)
{
    int i = 0;
    while (i < TIMERS && p->timers[i].state != STOPPED) i++;
    return i < TIMERS;
}

/* Asks nothing of CUDA, which may not even be there, where nothing was timed. */
static void collect_all(pool *p)
{
    if (!has_stopped(p)) return;
    const td_capture_mode mode = td_capture_allow();
    if (td_context_is_alive(p->context, p->life))
        for (int i = 0; i < TIMERS; i++) collect(&p->timers[i]);
    td_capture_restore(mode);
}

void td_timer_collect(void)
{
    pthread_mutex_lock(&lock);
    for (pool *p = pools; p; p = p->next) collect_all(p);
    pthread_mutex_unlock(&lock);
}

void td_timer_before_fork(void) { pthread_mutex_lock(&lock); }

/* A call round the fork has its timer yet: its pool stays. */
void td_timer_after_fork(bool is_child)
{
    for (pool *p = is_child ? pools : NULL; p; p = p->next) forget(p);
    pthread_mutex_unlock(&lock);
}
