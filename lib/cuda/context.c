#include "context.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

pthread_mutex_t td_contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(td_context *) contexts; /* added to under the lock */

bool td_cuda_ok(cudaError_t error)
{
    if (error != cudaSuccess) (void)cudaGetLastError();
    return error == cudaSuccess;
}

td_capture_mode td_capture_allow(void)
{
    td_capture_mode mode = cudaStreamCaptureModeRelaxed;
    td_cuda_ok(cudaThreadExchangeStreamCaptureMode(&mode));
    return mode;
}

void td_capture_restore(td_capture_mode mode)
{
    td_cuda_ok(cudaThreadExchangeStreamCaptureMode(&mode));
}

/* ---- the calling thread's ---- */

typedef CUresult (*get_current)(CUcontext *context);
static get_current find_current; /* the driver's function, which the runtime finds */

static void find_function(void)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult result;
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 4000,
                                                               cudaEnableDefault, &result);
    if (td_cuda_ok(error) && function) memcpy(&find_current, &function, sizeof find_current);
}

static CUcontext handle_of_thread(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CUcontext handle = NULL;
    pthread_once(&once, find_function);
    if (!find_current) return NULL;
    if (find_current(&handle) == CUDA_SUCCESS && handle) return handle;
    const td_capture_mode mode = td_capture_allow();
    td_cuda_ok(cudaFree(NULL)); /* the thread's first call: the runtime chooses */
    td_capture_restore(mode);
    return find_current(&handle) == CUDA_SUCCESS ? handle : NULL;
}

/* ---- lives ---- */

/* CUDA forgets host memory that was registered in a context together with the context. */
static bool is_registered(const void *page)
{
    struct cudaPointerAttributes attributes;
    return page && td_cuda_ok(cudaPointerGetAttributes(&attributes, page)) &&
           attributes.type == cudaMemoryTypeHost;
}

bool td_context_is_alive(const td_context *context, unsigned life)
{
    return atomic_load(&context->life) == life && is_registered(context->page);
}

static td_context *find(CUcontext handle)
{
    td_context *c = atomic_load(&contexts);
    while (c && c->handle != handle) c = c->next;
    return c;
}

/* Under the lock, as the next. */
static td_context *add(CUcontext handle)
{
    td_context *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->handle = handle;
    c->page = aligned_alloc(PAGE_BYTES, PAGE_BYTES);
    c->next = atomic_load(&contexts);
    if (c->page) {
        atomic_store(&contexts, c);
        return c;
    }
    free(c);
    return NULL;
}

/* The context that is current now is the next life at its address. */
static bool begin_life(td_context *c)
{
    const td_capture_mode mode = td_capture_allow();
    const bool done = td_cuda_ok(cudaGetDevice(&c->ordinal)) &&
                      td_cuda_ok(cudaHostRegister(c->page, PAGE_BYTES, cudaHostRegisterDefault));
    td_capture_restore(mode);
    if (done) atomic_fetch_add(&c->life, 1);
    return done;
}

td_context *td_context_current(void)
{
    CUcontext handle = handle_of_thread();
    if (!handle) return NULL;
    td_context *c = find(handle);
    if (c && is_registered(c->page)) return c;
    pthread_mutex_lock(&td_contexts_lock);
    c = find(handle);
    if (!c) c = add(handle);
    const bool is_ready = c && (is_registered(c->page) || begin_life(c));
    pthread_mutex_unlock(&td_contexts_lock);
    return is_ready ? c : NULL;
}
