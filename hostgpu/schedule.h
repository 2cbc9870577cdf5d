/* schedule.h - which thread of a block runs next on an OS thread: a ring of those that can run, and
 * the switch from one to the next. Inline, as a switch and what is around it takes a few
 * nanoseconds: each call and return would add to them. For block.c and warp.c. */
#ifndef HOSTGPU_SCHEDULE_H
#define HOSTGPU_SCHEDULE_H

#include "worker.h"

/* The thread can run, after all others that can. */
static inline void hostgpu_make_ready(hostgpu_worker *w, unsigned rank)
{
    w->thread[rank].state = THREAD_READY;
    w->ready[(w->ready_first + w->ready_count++) % HOSTGPU_MAX_THREADS] = rank;
}

/* The thread can run, before all others that can. */
static inline void hostgpu_make_next(hostgpu_worker *w, unsigned rank)
{
    w->thread[rank].state = THREAD_READY;
    w->ready[--w->ready_first % HOSTGPU_MAX_THREADS] = rank;
    w->ready_count++;
}

/* All lanes of a whole warp can run, in order, before all others that can. */
static inline void hostgpu_make_warp_next(hostgpu_worker *w, unsigned first_rank)
{
    w->ready_first -= HOSTGPU_WARP_SIZE;
    w->ready_count += HOSTGPU_WARP_SIZE;
    for (unsigned l = 0; l < HOSTGPU_WARP_SIZE; l++) {
        w->thread[first_rank + l].state = THREAD_READY;
        w->ready[(w->ready_first + l) % HOSTGPU_MAX_THREADS] = first_rank + l;
    }
}

/* All of the block's threads can run, in order; none could before. */
static inline void hostgpu_make_all_ready(hostgpu_worker *w)
{
    for (unsigned i = 0; i < w->thread_count; i++) {
        w->thread[i].state = THREAD_READY;
        w->ready[i] = i;
    }
    w->ready_first = 0;
    w->ready_count = w->thread_count;
}

/* Knuth's linear congruential generator; the high half is random enough for an order. */
static inline unsigned hostgpu_random_below(hostgpu_worker *w, unsigned bound)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return bound ? (unsigned)(w->random >> 33) % bound : 0;
}

/* Takes the first thread that can run out of the ring; with a seed, any. */
static inline unsigned hostgpu_take_ready(hostgpu_worker *w)
{
    unsigned *first = &w->ready[w->ready_first % HOSTGPU_MAX_THREADS];

    if (w->random) {
        unsigned chosen = w->ready_first + hostgpu_random_below(w, w->ready_count);
        unsigned *other = &w->ready[chosen % HOSTGPU_MAX_THREADS];
        unsigned rank = *other;

        *other = *first;
        *first = rank;
    }
    w->ready_first++;
    w->ready_count--;
    return *first;
}

/* Has the processor fetch the frames of the thread that is the first one ready, which runs after
 * the one that is switched to: the frames of a block's threads are more than its first-level cache
 * holds. */
static inline void hostgpu_prefetch_ready(const hostgpu_worker *w)
{
    const cuda_thread *t = &w->thread[w->ready[w->ready_first % HOSTGPU_MAX_THREADS]];

    if (t->fiber) hostgpu_fiber_prefetch(t->fiber);
}

/* Makes a thread that can run the running one. Returns the turn by which it goes on, or starts. */
static inline hostgpu_turn hostgpu_next_turn(hostgpu_worker *w, hostgpu_fiber *from)
{
    const unsigned rank = hostgpu_take_ready(w);
    cuda_thread *next = &w->thread[rank];

    w->switches++;
    if (!next->fiber) next->fiber = hostgpu_take_fiber(w);
    w->running = next;
    w->place->rank = rank;
    w->place->thread = next->index;
    w->place->result = next->warp->result[rank % HOSTGPU_WARP_SIZE];
    hostgpu_prefetch_ready(w);
    return (hostgpu_turn){from, next->fiber};
}

/* The turn that has other threads run until the running one can go on. awaited: what it acquires
 * then, or NULL. */
static inline hostgpu_turn hostgpu_wait(hostgpu_worker *w, char *awaited)
{
    HOSTGPU_RELEASE(&w->race_end); /* in case it never goes on */
    if (!w->ready_count) hostgpu_fault(w, "threads wait for others that never come");
    if (hostgpu_is_race_check) w->running->fiber->awaited = awaited;
    return hostgpu_next_turn(w, w->running->fiber);
}

#endif
