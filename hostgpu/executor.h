/* executor.h - runs kernels on the host: one fiber per CUDA thread, blocks spread over worker
 * threads. Shared by the executor (C) and by kernel sources compiled for the host (C++, through
 * kernel.h). */
#ifndef HOSTGPU_EXECUTOR_H
#define HOSTGPU_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#define HOSTGPU_CONST const /* kernels may only read */
#else
#define HOSTGPU_CONST
#endif

/* The CUDA thread that runs on this OS thread. kernel.h has CUDA's names for its members. They are
 * in one object because a library that may be loaded late has to call a function for the address of
 * each thread-local object. */
typedef struct {
    uint3 thread, block;
    struct dim3 block_size, grid_size;
    unsigned rank;        /* of the thread within its block, x fastest; the lane is rank % 32 */
    unsigned votes;       /* threads whose predicate at the last barrier was not 0 */
    uint64_t result;      /* what the warp operation that the thread waited at gives its lane */
    void *dynamic_shared; /* the block's dynamic shared memory; NULL if it has none */
    struct hostgpu_worker *worker; /* the executor's own (worker.h); NULL outside a launch */
} hostgpu_place;
extern __thread HOSTGPU_CONST hostgpu_place hostgpu_here;

/* Where a thread waits; for diagnostics. */
typedef struct {
    const char *file;
    int line;
} hostgpu_site;

typedef enum {
    HOSTGPU_SYNC,
    HOSTGPU_SHUFFLE, /* each lane gets the value of the lane it names */
    HOSTGPU_BALLOT,  /* bit l: lane l's value is not 0 */
    HOSTGPU_MATCH,   /* bit l: lane l's value equals the caller's */
    HOSTGPU_JOIN,    /* what a function makes of the values of all 32 lanes */
    HOSTGPU_ADD,     /* the reductions are on unsigned 32 bits ... */
    HOSTGPU_AND,
    HOSTGPU_OR,
    HOSTGPU_XOR,
    HOSTGPU_MIN_UNSIGNED,
    HOSTGPU_MAX_UNSIGNED,
    HOSTGPU_MIN_SIGNED, /* ... or on int */
    HOSTGPU_MAX_SIGNED
} hostgpu_warp_op;

/* The fiber that a waiting thread leaves, and the one that runs in its place, which may be the
 * same. */
typedef struct {
    struct hostgpu_fiber *from, *to;
} hostgpu_turn;

/* One launch. call(arguments) is the kernel with its parameters; function identifies it for
 * attributes. */
typedef struct {
    const char *name;
    const void *function;
    struct dim3 grid, block;
    size_t shared_bytes; /* dynamic shared memory per block */
    cudaStream_t stream;
    void (*call)(void *arguments);
    void *arguments;
    size_t argument_bytes; /* which a captured launch copies */
} hostgpu_kernel;

/* Runs all blocks and returns when they are done; of a stream that is being captured, when the
 * graph runs. cudaErrorLaunchFailure if threads diverged at a barrier or warp operation (said on
 * stderr). The error is also the calling thread's last error. */
cudaError_t hostgpu_launch(const hostgpu_kernel *kernel);

/* The block's static shared array that key (a distinct address per array) stands for: `bytes`
 * bytes, aligned for every type, unset at the start of the block. */
void *hostgpu_static_shared(const void *key, const char *name, size_t bytes);

/* The thread has come to __syncthreads or one of its voting forms, and waits for all threads of the
 * block: its kernel takes the turn (fiber.h), and then finds the votes in hostgpu_here. Here and
 * below `worker` is that of hostgpu_here, which the kernel has at hand: asking for its address
 * again would take a tenth of the time. */
hostgpu_turn hostgpu_barrier(struct hostgpu_worker *worker, int predicate, hostgpu_site site);

/* The thread has come to a warp operation of the lanes in mask: its kernel takes the turn, and then
 * finds the result in hostgpu_here. source: for shuffles, the lane to read. */
hostgpu_turn hostgpu_warp(struct hostgpu_worker *worker, hostgpu_warp_op op, unsigned mask,
                          uint64_t value, unsigned source, hostgpu_site site);

/* Leaves in the first of a warp's 32 values what all of them are joined to. */
typedef void hostgpu_join_function(uint64_t *values);

/* Of all 32 lanes of a warp: the result is what `join` makes of their values, in every lane. */
hostgpu_turn hostgpu_warp_join(struct hostgpu_worker *worker, hostgpu_join_function *join,
                               uint64_t value, hostgpu_site site);

/* Lets the other threads of the block run; for loops that wait for another thread. */
void hostgpu_yield(struct hostgpu_worker *worker);

/* __trap: ends the launch with cudaErrorLaunchFailure. */
void hostgpu_trap(hostgpu_site site) __attribute__((noreturn));

/* 1 if the current device could read and write the bytes: they lie in one allocation that it
 * sees. */
int hostgpu_is_device_memory(const void *pointer, size_t bytes);

/* Number of the life of the context that the calling thread works in, unique in the process (a
 * reset ends it, the next call begins another); 0 if there is none. True while the life that has
 * the number lasts. */
unsigned long long hostgpu_context_number(void);
bool hostgpu_is_context_number(unsigned long long number);

/* Does the work now; if the stream is being captured, when the graph is launched, with a copy of
 * the arguments. */
typedef cudaError_t hostgpu_action(void *arguments);
cudaError_t hostgpu_enqueue(cudaStream_t stream, enum cudaGraphNodeType type, hostgpu_action *run,
                            void *arguments, size_t bytes);

/* How often any worker has gone on with another thread, or started one, since the process began:
 * what kernels cost here, whatever the machine's speed. Valid while no launch is under way. */
unsigned long long hostgpu_switches(void);

/* Kernels that are loaded into the current context: by a launch, or by asking for their
 * attributes. */
size_t hostgpu_loaded_kernels(void);

/* What a test can have fail: device memory and host memory that is registered
 * (cudaErrorMemoryAllocation), launches (cudaErrorLaunchOutOfResources), loading a kernel into a
 * context (cudaErrorNoKernelImageForDevice). */
typedef enum {
    HOSTGPU_FAULT_ALLOCATION,
    HOSTGPU_FAULT_LAUNCH,
    HOSTGPU_FAULT_LOAD,
    HOSTGPU_FAULT_KINDS
} hostgpu_fault_kind;

/* Of the process's next calls of the kind `count` fail, from number `first` on, the next one being
 * 1. No count: none. */
void hostgpu_fail_at(hostgpu_fault_kind kind, unsigned long long first, unsigned long long count);

/* How many have failed since. */
unsigned long long hostgpu_failures(hostgpu_fault_kind kind);

#ifdef __cplusplus
}
#endif

#endif
