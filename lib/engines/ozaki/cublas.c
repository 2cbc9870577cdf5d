#include "cublas.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include <cublas_api.h>

#include "../../options/log.h"
#include "../../loader/originals.h"
#include "../native_call.h"

/* A handle has one stream and one workspace at a time, so a product is enqueued under its lock. */
typedef struct td_cublas {
    pthread_mutex_t lock;
    unsigned forks;        /* of the process that made it */
    unsigned life;         /* of the device's context, that the handle belongs to and ends with */
    cublasHandle_t handle; /* as it was made: scalars on the host */
    unsigned asked;        /* for a handle that is not there */
    bool is_refused;       /* there is no cuBLAS */
} context;

typedef struct {
    __typeof__(&cublasCreate_v2) create;
    __typeof__(&cublasSetStream_v2) set_stream;
    __typeof__(&cublasSetWorkspace_v2) set_workspace;
    __typeof__(&cublasGemmStridedBatchedEx) multiply;
} functions;

static bool find_functions(functions *f)
{
    td_library *library = td_library_own();
    if (!library) return false;
    f->create = TD_ORIGINAL(library, cublasCreate_v2);
    f->set_stream = TD_ORIGINAL(library, cublasSetStream_v2);
    f->set_workspace = TD_ORIGINAL(library, cublasSetWorkspace_v2);
    f->multiply = TD_ORIGINAL(library, cublasGemmStridedBatchedEx);
    return f->create && f->set_stream && f->set_workspace && f->multiply;
}

/* cuBLAS may load kernels and allocate. */
static td_capture_mode enter(void)
{
    td_original_enter(TD_CUBLAS);
    return td_capture_allow();
}

static void leave(td_capture_mode mode)
{
    td_capture_restore(mode);
    td_original_leave(TD_CUBLAS);
}

static void create_handle(context *c, const functions *f)
{
    const td_capture_mode mode = enter();
    const cublasStatus_t status = f->create(&c->handle);
    leave(mode);
    if (status == CUBLAS_STATUS_SUCCESS) return;
    c->handle = NULL;
    (void)td_cuda_ok(cudaGetLastError());
    TD_LOG_ONCE(TD_LOG_WARN,
                "cuBLAS makes no handle (status %d); until it does, products that need it run "
                "native",
                (int)status);
}

/* Under the lock. While a capture holds up the legacy stream no handle is made: cuBLAS 13.10 works
 * in that stream to make one, which ends the capture. */
static bool is_ready(context *c, functions *f)
{
    if (c->is_refused) return false;
    if (!find_functions(f)) {
        c->is_refused = true;
        TD_LOG_ONCE(TD_LOG_WARN, "the loader finds no cuBLAS (libcublas.so.13, 12 or 11); products "
                                 "that need it run native");
        return false;
    }
    if (!c->handle && !td_stream_is_capturing(cudaStreamLegacy) && td_is_worth_a_try(++c->asked))
        create_handle(c, f);
    return c->handle != NULL;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned forks; /* that the process has come of */

/* A thread of the parent's may have had locks, and a handle between two streams. */
void td_cublas_after_fork(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    forks++;
}

static context *create_context(void)
{
    context *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    pthread_mutex_init(&c->lock, NULL);
    c->forks = forks;
    return c;
}

/* A handle of a context that is gone is forgotten: cuBLAS could not even destroy it. NULL without
 * memory. */
static context *lock_context(td_device *device)
{
    const unsigned life = atomic_load(&device->life);
    pthread_mutex_lock(&lock);
    if (!device->cublas || device->cublas->forks != forks) device->cublas = create_context();
    context *c = device->cublas;
    pthread_mutex_unlock(&lock);
    if (!c) return NULL;
    pthread_mutex_lock(&c->lock);
    if (c->life != life) {
        c->life = life;
        c->handle = NULL;
        c->asked = 0;
        c->is_refused = false;
    }
    return c;
}

bool td_cublas_ready(td_device *device)
{
    functions f;
    context *c = lock_context(device);
    if (!c) return false;
    const bool ready = is_ready(c, &f);
    pthread_mutex_unlock(&c->lock);
    return ready;
}

/* Panels' products are exact, so no TF32 and no sums of bfloat16 products will do, whatever the
 * environment asks for. */
static const struct {
    cudaDataType_t in, out;
    cublasComputeType_t compute;
} types[] = {
    [TD_PANEL_INT8] = {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I},
    [TD_PANEL_FLOAT] = {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC},
};

typedef union {
    int32_t i;
    float f;
} scalar;

static scalar scalar_of(td_panel_type type, int value)
{
    return type == TD_PANEL_INT8 ? (scalar){.i = value} : (scalar){.f = (float)value};
}

/* The stream comes first: setting it takes the workspace away, for one that streams share. */
static cublasStatus_t prepare(cublasHandle_t handle, const functions *f, cudaStream_t stream,
                              void *workspace, size_t bytes)
{
    const cublasStatus_t status = f->set_stream(handle, stream);
    return status == CUBLAS_STATUS_SUCCESS ? f->set_workspace(handle, workspace, bytes) : status;
}

/* What is enqueued on a handle: panels, or a routine on binary64 matrices. */
typedef struct {
    const td_panels *panels; /* or NULL */
    const td_problem *problem;
    cudaStream_t stream;
    void *workspace;
    size_t workspace_bytes;
} work;

static cublasStatus_t enqueue_panels(cublasHandle_t handle, const functions *f, const td_panels *p)
{
    const scalar alpha = scalar_of(p->type, 1), beta = scalar_of(p->type, p->accumulate);
    const cudaDataType_t in = types[p->type].in, out = types[p->type].out;
    const bool of_planes = p->batch == 1;
    return f->multiply(
        handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)p->m, (int)p->n, (int)p->k, &alpha, p->a, in,
        (int)p->layout.ld_a, of_planes ? p->layout.plane_a : p->layout.member_a, p->b, in,
        (int)p->layout.ld_b, of_planes ? p->layout.plane_b : p->layout.member_b, &beta, p->c, out,
        (int)p->layout.ld_c, of_planes ? p->layout.plane_c : p->layout.member_c,
        p->planes * p->batch, types[p->type].compute, CUBLAS_GEMM_DEFAULT);
}

static cublasStatus_t enqueue(cublasHandle_t handle, const functions *f, const work *w)
{
    const cublasStatus_t status = prepare(handle, f, w->stream, w->workspace, w->workspace_bytes);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return w->panels ? enqueue_panels(handle, f, w->panels)
                     : td_native_call(td_library_own(), handle, w->problem);
}

static bool multiply(td_device *device, const work *w)
{
    functions f;
    cublasStatus_t status = CUBLAS_STATUS_NOT_INITIALIZED;
    context *c = lock_context(device);
    if (!c) return false;
    const bool ready = is_ready(c, &f);
    if (ready) {
        const td_capture_mode mode = enter();
        status = enqueue(c->handle, &f, w);
        leave(mode);
    }
    pthread_mutex_unlock(&c->lock);
    if (!ready || status == CUBLAS_STATUS_SUCCESS) return status == CUBLAS_STATUS_SUCCESS;
    (void)td_cuda_ok(cudaGetLastError());
    TD_LOG_ONCE(TD_LOG_WARN, "cuBLAS refuses a product of %s (status %d); said once",
                w->panels ? "panels" : "binary64 matrices", (int)status);
    return false;
}

bool td_cublas_multiply(td_device *device, const td_panels *panels, cudaStream_t stream)
{
    const work w = {.panels = panels,
                    .stream = stream,
                    .workspace = panels->workspace.memory,
                    .workspace_bytes = panels->workspace.bytes};
    return multiply(device, &w);
}

bool td_cublas_counts(int64_t k, int64_t batch, const td_matrix *a, const td_matrix *b)
{
    return batch == 1 && k <= INT_MAX && a->ld <= INT_MAX && b->ld <= INT_MAX;
}

bool td_cublas_run(td_device *device, const td_problem *p, void *workspace, size_t workspace_bytes)
{
    const work w = {.problem = p,
                    .stream = p->stream,
                    .workspace = workspace,
                    .workspace_bytes = workspace_bytes};
    return multiply(device, &w);
}
