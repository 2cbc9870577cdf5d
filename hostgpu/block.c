/* block.c - runs the blocks of a launch on one OS thread: starts their threads, switches between
 * them, barriers. */
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "schedule.h"
#include "settings.h"
#include "unwritten.h"

__thread hostgpu_place hostgpu_here;

/* A first-level cache takes the place of a line from the address modulo CACHE_WAY. */
enum { CACHE_WAY = 4096, CACHE_LINE = 64 };

/* ---- fibers ---- */

/* Of a stack, with the most of stack_offset(): whole pages. */
static size_t stack_bytes(const hostgpu_settings *s)
{
    const size_t bytes = s->stack_bytes * HOSTGPU_STACK_FACTOR + CACHE_WAY;

    return (bytes + s->page_bytes - 1) & ~(s->page_bytes - 1);
}

/* From one stack to the next: a guard page, and the stack. Where pages have 4 KiB, the distance is
 * not a power of two: stacks would fall into the same sets of a second-level cache. */
static size_t stack_stride(const hostgpu_settings *s) { return s->page_bytes + stack_bytes(s); }

/* How many bytes below its end the i-th stack begins. In a first-level cache the frames of a warp's
 * threads would otherwise push each other out. */
static size_t stack_offset(unsigned i) { return i * 7 * CACHE_LINE % CACHE_WAY; }

static bool acquire_stacks(hostgpu_worker *w)
{
    if (w->stacks) return true;
    char *stacks = mmap(NULL, stack_stride(hostgpu_get_settings()) * HOSTGPU_MAX_THREADS,
                        PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED) return false;
    w->stacks = stacks;
    return true;
}

/* The stack of the worker's next fiber. Its guard page is made at its first use and stays: most
 * launches have far fewer fibers than HOSTGPU_MAX_THREADS, and a guard page costs a system call. */
static char *next_stack(hostgpu_worker *w, const hostgpu_settings *s)
{
    char *guard = w->stacks + w->fiber_count * stack_stride(s);

    if (w->fiber_count == w->guard_count) {
        mprotect(guard, s->page_bytes, PROT_NONE);
        w->guard_count++;
    }
    return guard + s->page_bytes;
}

static void run_threads(void);

/* Fibers start anew in every launch: the next one may run this worker on another OS thread, and
 * compilers keep addresses of thread-local objects over a switch. */
static hostgpu_fiber *create_fiber(hostgpu_worker *w)
{
    hostgpu_fiber *fiber = &w->fiber[w->fiber_count];
    const hostgpu_settings *settings = hostgpu_get_settings();
    const size_t bytes = stack_bytes(settings) - stack_offset(w->fiber_count);
    char *stack = next_stack(w, settings);

    w->fiber_count++;
    hostgpu_fiber_create(fiber, stack, bytes, run_threads);
    return fiber;
}

hostgpu_fiber *hostgpu_take_fiber(hostgpu_worker *w)
{
    return w->idle_count ? w->idle[--w->idle_count] : create_fiber(w);
}

/* For ThreadSanitizer a CUDA thread must know nothing that another one of its block did: fibers are
 * not created by a thread but here, before a block starts, and not used twice in a block. */
static void prepare_race_check(hostgpu_worker *w)
{
    while (w->fiber_count < w->thread_count) create_fiber(w);
    for (w->idle_count = 0; w->idle_count < w->fiber_count; w->idle_count++)
        w->idle[w->idle_count] = &w->fiber[w->idle_count];
}

/* ---- what threads do ---- */

/* The running thread has returned from the kernel. Its fiber takes over a thread that has not
 * begun, or waits in the idle list for one. */
static void finish_thread(hostgpu_worker *w)
{
    cuda_thread *t = w->running;
    hostgpu_fiber *fiber = t->fiber;

    t->state = THREAD_EXITED;
    t->fiber = NULL;
    w->exited++;
    t->warp->live &= ~(1u << t->rank % HOSTGPU_WARP_SIZE);
    if (!hostgpu_is_race_check) w->idle[w->idle_count++] = fiber;
    w->idle_turns = 0;

    if (w->exited == w->thread_count) {
        hostgpu_fiber_switch(fiber, &w->scheduler);
    } else if (w->ready_count) {
        hostgpu_take_turn(hostgpu_next_turn(w, fiber));
    } else {
        t->fiber = fiber;
        hostgpu_fault(w, "threads wait for others that never come");
    }
}

/* Where a thread's frames will be nobody has written; with HOSTGPU_UNWRITTEN alone. A stack of the
 * least size has twice the room. */
static __attribute__((noinline)) void unset_stack(void)
{
    char frames[8 << 10];

    hostgpu_unset(frames, sizeof frames);
    __asm__ volatile("" : : "r"(frames) : "memory");
}

/* What every fiber executes, for ever: the threads given to it, one after another. */
static void run_threads(void)
{
    hostgpu_worker *w = hostgpu_here.worker;

    for (;;) {
        HOSTGPU_ACQUIRE(&w->race_start);
        if (hostgpu_draws_unwritten()) unset_stack();
        w->job->kernel->call(w->job->kernel->arguments);
        HOSTGPU_RELEASE(&w->race_end);
        finish_thread(w);
    }
}

/* ---- barriers ---- */

static void release_barrier(hostgpu_worker *w)
{
    if (w->barriers_differ) hostgpu_fault(w, "threads wait at different barriers");
    w->place->votes = w->votes;
    w->votes = w->at_barrier = 0;
    w->barrier_count++;
    hostgpu_make_all_ready(w);
}

hostgpu_turn hostgpu_barrier(hostgpu_worker *w, int predicate, hostgpu_site site)
{
    cuda_thread *t = w->running;
    char *race = &w->race_barrier[w->barrier_count % 2];

    HOSTGPU_RELEASE(race);
    w->idle_turns = 0;
    t->state = THREAD_AT_BARRIER;
    t->wait.site = site;
    w->votes += predicate != 0;
    if (w->at_barrier == 0) w->barrier_site = site;
    if (!hostgpu_same_site(site, w->barrier_site)) w->barriers_differ = true;
    if (++w->at_barrier == w->thread_count) release_barrier(w);
    return hostgpu_wait(w, race);
}

/* Where all threads that can run have only yielded, the block waits for another one: its worker
 * then leaves the processor, which may be the one that the other block's worker lacks. */
void hostgpu_yield(hostgpu_worker *w)
{
    if (w->idle_turns++ > w->ready_count) {
        w->idle_turns = 0;
        sched_yield();
    }
    hostgpu_make_ready(w, w->running->rank);
    hostgpu_take_turn(hostgpu_wait(w, NULL));
}

void hostgpu_trap(hostgpu_site site)
{
    hostgpu_fault(hostgpu_here.worker, "__trap() at %s:%d by thread (%u,%u,%u)", site.file,
                  site.line, hostgpu_here.thread.x, hostgpu_here.thread.y, hostgpu_here.thread.z);
}

/* ---- blocks ---- */

/* The threads' places in their block, which are the same in all blocks of a launch. */
static void place_threads(hostgpu_worker *w)
{
    const struct dim3 size = w->job->kernel->block;

    w->thread_count = size.x * size.y * size.z;
    for (unsigned i = 0; i < w->thread_count; i++)
        w->thread[i] =
            (cuda_thread){.index = {i % size.x, i / size.x % size.y, i / size.x / size.y},
                          .rank = i,
                          .warp = &w->warp[i / HOSTGPU_WARP_SIZE]};
}

/* As they are at the start of a block; those of the one before have exited. */
static void set_threads(hostgpu_worker *w)
{
    hostgpu_make_all_ready(w);
    for (unsigned first = 0; first < w->thread_count; first += HOSTGPU_WARP_SIZE) {
        cuda_warp *warp = &w->warp[first / HOSTGPU_WARP_SIZE];
        unsigned lanes = w->thread_count - first;

        warp->present = lanes < HOSTGPU_WARP_SIZE ? (1u << lanes) - 1 : ~0u;
        warp->live = warp->present;
        warp->arrived = 0;
    }
}

/* number: in the order of the grid, x fastest. */
static void run_block(hostgpu_worker *w, uint64_t number)
{
    const struct dim3 grid = w->job->kernel->grid;
    const uint64_t seed = hostgpu_get_settings()->seed;

    hostgpu_here.block.x = (unsigned)(number % grid.x);
    hostgpu_here.block.y = (unsigned)(number / grid.x % grid.y);
    hostgpu_here.block.z = (unsigned)(number / grid.x / grid.y);
    w->block++;
    w->random = seed ? (seed * 0x9e3779b97f4a7c15u + number) | 1 : 0;
    w->exited = w->at_barrier = w->votes = 0;
    w->barriers_differ = false;
    w->ready_first = w->ready_count = 0;
    set_threads(w);
    hostgpu_clear_shared(w);

    if (hostgpu_is_race_check) prepare_race_check(w);
    HOSTGPU_RELEASE(&w->race_start);
    hostgpu_take_turn(hostgpu_next_turn(w, &w->scheduler));
    HOSTGPU_ACQUIRE(&w->race_end);
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* The i-th block to run: i itself, or with a seed i * step + start modulo count, which visits every
 * block once. */
static uint64_t block_at(uint64_t i, uint64_t count)
{
    const uint64_t seed = hostgpu_get_settings()->seed;
    uint64_t mixed = seed * 0x9e3779b97f4a7c15u, step = mixed % count;

    if (!seed) return i;
    while (greatest_common_divisor(step, count) != 1) step = (step + 1) % count;
    return (uint64_t)(((unsigned __int128)i * step + (mixed >> 32)) % count);
}

/* After a fault fibers are given up wherever they stand. */
static void forget_frames(hostgpu_worker *w)
{
    for (unsigned i = 0; i < w->fiber_count; i++) hostgpu_fiber_forget_frames(&w->fiber[i]);
}

/* Has the dynamic linker make this OS thread's thread-local objects, if it has none yet: the only
 * place where it does. glibc before 2.40 then loses vector registers, which compilers believe to
 * be kept where an address of such an object is asked for, but not over a call (glibc's bug
 * 31372). */
static __attribute__((noinline)) void meet_thread_locals(void)
{
    *(hostgpu_worker *volatile *)&hostgpu_here.worker = NULL;
}

void hostgpu_run_blocks(hostgpu_worker *w, hostgpu_job *job)
{
    uint64_t i;

    meet_thread_locals();
    w->job = job;
    w->block = 0;
    w->scheduler = (hostgpu_fiber){0};
    if (!acquire_stacks(w) || !hostgpu_acquire_shared(w)) {
        atomic_store(&job->error, cudaErrorMemoryAllocation);
        return;
    }
    place_threads(w);
    hostgpu_here.block_size = job->kernel->block;
    hostgpu_here.grid_size = job->kernel->grid;
    hostgpu_here.worker = w;
    w->place = &hostgpu_here;
    while (!atomic_load(&job->error) &&
           (i = atomic_fetch_add(&job->next_block, 1)) < job->block_count)
        run_block(w, block_at(i, job->block_count));
    hostgpu_here.worker = NULL;
    if (atomic_load(&job->error)) forget_frames(w);
    w->fiber_count = w->idle_count = 0;
    hostgpu_release_shared(w);
}
