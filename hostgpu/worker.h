/* worker.h - what one OS thread needs to run blocks, shared by block.c, warp.c, shared.c and
 * diagnose.c. */
#ifndef HOSTGPU_WORKER_H
#define HOSTGPU_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "executor.h"
#include "fiber.h"
#include "sanitize.h"

enum {
    HOSTGPU_MAX_THREADS = 1024, /* of a block */
    HOSTGPU_WARP_SIZE = 32,
    HOSTGPU_MAX_WARPS = HOSTGPU_MAX_THREADS / HOSTGPU_WARP_SIZE,
    HOSTGPU_MAX_SHARED = 227 << 10,    /* bytes of a block, dynamic and static */
    HOSTGPU_DEFAULT_SHARED = 48 << 10, /* without cudaFuncSetAttribute */
    HOSTGPU_MAX_SHARED_ARRAYS = 32     /* static ones of a kernel */
};

typedef enum { THREAD_READY, THREAD_AT_BARRIER, THREAD_AT_WARP_OP, THREAD_EXITED } thread_state;

/* Where a thread waits. */
typedef struct {
    hostgpu_site site;
    hostgpu_warp_op op; /* at a warp operation ... */
    unsigned mask;      /* ... of these lanes */
} cuda_wait;

/* A line of a cache, as workers are aligned: a switch reads and writes one thread after another. */
typedef struct {
    uint3 index;
    unsigned rank;        /* within the block, x fastest */
    hostgpu_fiber *fiber; /* NULL until it starts */
    struct cuda_warp *warp;
    cuda_wait wait;
    thread_state state;
} cuda_thread;
_Static_assert(sizeof(cuda_thread) == 64, "a thread is no line of a cache");

typedef struct cuda_warp {
    unsigned present; /* lanes that the block has */
    unsigned live;    /* of these, not exited */
    unsigned arrived; /* waiting at a warp operation ... */
    bool may_differ;  /* ... and false only if all of these ... */
    cuda_wait first;  /* ... wait as the first of them does */
    unsigned source[HOSTGPU_WARP_SIZE];
    uint64_t value[HOSTGPU_WARP_SIZE], result[HOSTGPU_WARP_SIZE];
    hostgpu_join_function *join;                     /* of HOSTGPU_JOIN */
    char race_arrive, race_leave[HOSTGPU_WARP_SIZE]; /* addresses for ThreadSanitizer */
} cuda_warp;

typedef struct {
    const void *key;
    void *data;
    size_t bytes;
    uint64_t block; /* number of the block that it was filled for */
} shared_array;

/* One launch as all workers see it. */
typedef struct {
    const hostgpu_kernel *kernel;
    uint64_t block_count;
    atomic_uint_fast64_t next_block;
    atomic_int error; /* cudaError_t of the first fault */
} hostgpu_job;

typedef struct hostgpu_worker {
    cuda_thread thread[HOSTGPU_MAX_THREADS];
    hostgpu_job *job;
    hostgpu_place *place;    /* hostgpu_here of the OS thread that it runs on */
    hostgpu_fiber scheduler; /* the OS thread itself */
    uint64_t random;         /* state of the shuffle; 0: in order */
    uint64_t block;          /* counts the blocks of the launch that ran here, from 1 */

    cuda_thread *running;
    cuda_warp warp[HOSTGPU_MAX_WARPS];
    unsigned thread_count, exited, at_barrier;
    unsigned votes;            /* of the barrier that fills ... */
    hostgpu_site barrier_site; /* ... where its first thread came from ... */
    bool barriers_differ;      /* ... and whether another came from elsewhere */

    unsigned ready[HOSTGPU_MAX_THREADS]; /* ring of ranks */
    unsigned ready_first, ready_count;
    unsigned long long switches; /* by this worker, since it was made */
    unsigned idle_turns;         /* yields since a thread did anything else */

    hostgpu_fiber fiber[HOSTGPU_MAX_THREADS];
    hostgpu_fiber *idle[HOSTGPU_MAX_THREADS]; /* between threads: may be given another */
    unsigned fiber_count, idle_count;
    char *stacks;         /* HOSTGPU_MAX_THREADS of them, each above its guard page ... */
    unsigned guard_count; /* ... of which the first so many have been made */

    shared_array shared[HOSTGPU_MAX_SHARED_ARRAYS];
    unsigned shared_count;

    char race_start, race_end, race_barrier[2];
    unsigned barrier_count;
} hostgpu_worker;

/* Within the library there is no other object of this name: all that is thread-local here has one
 * address to be asked for. */
extern __thread hostgpu_place hostgpu_here __attribute__((visibility("protected")));

/* block.c */
void hostgpu_run_blocks(hostgpu_worker *w, hostgpu_job *job);
hostgpu_fiber *hostgpu_take_fiber(hostgpu_worker *w);

/* shared.c: memory of the launch's blocks on this worker. */
bool hostgpu_acquire_shared(hostgpu_worker *w);
void hostgpu_clear_shared(const hostgpu_worker *w);
void hostgpu_release_shared(hostgpu_worker *w);

/* diagnose.c: says what is wrong and where all threads stand, and abandons the block. */
void hostgpu_fault(hostgpu_worker *w, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

/* True for two waits in the same place. */
static inline bool hostgpu_same_site(hostgpu_site a, hostgpu_site b)
{
    return a.line == b.line && (a.file == b.file || !strcmp(a.file, b.file));
}

/* True for two warp operations that lanes can join. */
static inline bool hostgpu_same_wait(const cuda_wait *a, const cuda_wait *b)
{
    return a->mask == b->mask && a->op == b->op && hostgpu_same_site(a->site, b->site);
}

/* diagnose.c: has AddressSanitizer's reports name the CUDA thread. */
void hostgpu_name_thread_in_reports(void);

#endif
