/* context.h - CUDA contexts: which one a thread works in, and whether it is still the one that it
 * was. What Tandem keeps on a GPU belongs to a context, and a reset takes it along; the next
 * context of the GPU may be at the same address. */
#ifndef TD_CONTEXT_H
#define TD_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

/* One address that contexts have had; stays for the life of the process, so that it can always be
 * asked. */
typedef struct td_context {
    CUcontext handle;
    atomic_uint life; /* counts the contexts that have been seen at the address, from 1 */
    int ordinal;      /* of the device of the last of them */
    void *page;       /* of host memory, known to CUDA as long as that one lives */
    struct td_context *next;
} td_context;

/* The one that the calling thread works in; NULL, without a word, if there is none to be had. Safe
 * in any thread and during stream capture. */
td_context *td_context_current(void);

/* True while the context lives that was the life-th. */
bool td_context_is_alive(const td_context *context, unsigned life);

/* True for success; else leaves no error of ours behind for the next user of the same CUDA
 * runtime. */
bool td_cuda_ok(cudaError_t error);

/* Between the two, calls are allowed that CUDA refuses while any stream is being captured, as
 * allocating and loading kernels: nothing in them waits for a stream that is. */
typedef enum cudaStreamCaptureMode td_capture_mode;
td_capture_mode td_capture_allow(void);
void td_capture_restore(td_capture_mode mode);

/* For fork() alone (../call/process.c). */
extern pthread_mutex_t td_contexts_lock;

/* True if what could not be made for want of memory is worth another try, once so many would have
 * had it since: the 1st, 2nd, 4th, 8th ... of them. So it costs little where no memory comes. */
static inline bool td_is_worth_a_try(unsigned asked) { return (asked & (asked - 1)) == 0; }

#endif
