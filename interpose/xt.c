/* xt.c - wrappers of cublasXt's matrix products, whose matrices are on the host or on any device.
 * cublasXt's own products never reach an exported function, so its entry is where they are seen:
 * what an engine is to run is copied to a device, multiplied there, and copied back, before the
 * call returns. A product that half of a device's memory has room for is one product, on the first
 * device that the handle has; a larger one is cut into tiles of C (lib/call/tiles.h), one for each
 * of its devices at a time. A tile that no engine runs is cublasXt's. */
#include <cublasXt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/call/tiles.h"
#include "../lib/cuda/context.h"
#include "../lib/cuda/device.h"
#include "../lib/loader/owners.h"
#include "wrap.h"

/* ---- handles ---- */

/* The devices that a handle was told to use. */
typedef struct {
    cublasXtHandle_t handle;
    int count, ordinal[TD_MAX_DEVICES];
} selection;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static selection *selections; /* under the lock, as their count is */
static size_t selection_count;

/* Under the lock. */
static selection *find_selection(cublasXtHandle_t handle)
{
    for (size_t i = 0; i < selection_count; i++)
        if (selections[i].handle == handle) return &selections[i];
    return NULL;
}

static void forget(cublasXtHandle_t handle)
{
    pthread_mutex_lock(&lock);
    selection *found = find_selection(handle);
    if (found) *found = selections[--selection_count];
    pthread_mutex_unlock(&lock);
}

/* Without memory, or if there are too many devices, it is not known. */
static void remember(cublasXtHandle_t handle, int count, const int devices[])
{
    forget(handle);
    if (count > TD_MAX_DEVICES) return;
    pthread_mutex_lock(&lock);
    selection *grown = realloc(selections, (selection_count + 1) * sizeof *grown);
    if (grown) {
        selections = grown;
        selection *added = &selections[selection_count++];
        added->handle = handle;
        added->count = count;
        memcpy(added->ordinal, devices, (size_t)count * sizeof *devices);
    }
    pthread_mutex_unlock(&lock);
}

/* Copies what is known of the handle; false if nothing is. */
static bool recall(cublasXtHandle_t handle, selection *copy)
{
    pthread_mutex_lock(&lock);
    const selection *found = find_selection(handle);
    if (found) *copy = *found;
    pthread_mutex_unlock(&lock);
    return found;
}

static void before_fork(void) { pthread_mutex_lock(&lock); }

static void after_fork(void) { pthread_mutex_unlock(&lock); }

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

TD_EXPORT cublasStatus_t cublasXtCreate(cublasXtHandle_t *handle)
{
    td_library *library = TD_LIBRARY_OF(NULL, cublasXtCreate);
    __typeof__(&cublasXtCreate) original = TD_ORIGINAL(library, cublasXtCreate);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    const cublasStatus_t status = original(handle);
    if (status == CUBLAS_STATUS_SUCCESS) td_owner_set(*handle, library);
    return status;
}

TD_EXPORT cublasStatus_t cublasXtDestroy(cublasXtHandle_t handle)
{
    td_library *library = TD_LIBRARY_OF(handle, cublasXtDestroy);
    __typeof__(&cublasXtDestroy) original = TD_ORIGINAL(library, cublasXtDestroy);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    td_owner_set(handle, NULL);
    forget(handle);
    return original(handle);
}

TD_EXPORT cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t handle, int nbDevices,
                                              int deviceId[])
{
    td_library *library = TD_LIBRARY_OF(handle, cublasXtDeviceSelect);
    __typeof__(&cublasXtDeviceSelect) original = TD_ORIGINAL(library, cublasXtDeviceSelect);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    const cublasStatus_t status = original(handle, nbDevices, deviceId);
    if (status == CUBLAS_STATUS_SUCCESS) remember(handle, nbDevices, deviceId);
    return status;
}

/* ---- calls ---- */

typedef struct call {
    td_entry entry;
    td_library *library;
    cublasXtHandle_t handle;
    const void *alpha, *beta; /* on the host */
    td_problem p;             /* with the caller's matrices */

    /* Calls the original function for the product, or for a tile of it. */
    cublasStatus_t (*run)(const struct call *x, const td_problem *tile);
} call;

/* The product without its matrices, which no kernel may look at where they are. */
static td_problem sizes_of(const td_problem *p)
{
    td_problem sizes = *p;
    sizes.a.data = sizes.b.data = sizes.c.data = NULL;
    return sizes;
}

static cublasStatus_t run_native(const call *x, const td_problem *tile, const char *reason)
{
    const td_problem sizes = sizes_of(tile);
    td_call seen;
    td_wrap_begin_native(x->entry, &sizes, reason, &seen);
    const cublasStatus_t status = x->run(x, tile);
    td_wrap_end(&seen, status == CUBLAS_STATUS_SUCCESS);
    return status;
}

/* ---- devices at work ---- */

/* A device with room for one tile. */
typedef struct {
    int ordinal;
    char *memory; /* of its pool, in the order of its default stream */
    td_problem tile;
    td_extent result; /* of the tile, in `memory` */
    td_call call;
    enum { IDLE, EMULATED, NATIVE } state;
} worker;

static bool enter(const worker *w) { return td_cuda_ok(cudaSetDevice(w->ordinal)); }

static bool open_worker(worker *w, size_t bytes)
{
    void *memory = NULL;
    const td_device *device = enter(w) ? td_device_current() : NULL;
    if (!device || !td_cuda_ok(cudaMallocFromPoolAsync(&memory, bytes, device->pool, NULL)))
        return false;
    w->memory = memory;
    return true;
}

static void close_worker(worker *w)
{
    if (w->memory && enter(w)) td_cuda_ok(cudaFreeAsync(w->memory, NULL));
    w->memory = NULL;
}

/* Enqueues a copy between two places of a matrix. */
static bool copy(const td_extent *to, const td_extent *from, int64_t element_bytes)
{
    const size_t element = (size_t)element_bytes;
    if (from->rows == 0 || from->columns == 0) return true;
    return td_cuda_ok(cudaMemcpy2DAsync(to->matrix.data, (size_t)to->matrix.ld * element,
                                        from->matrix.data, (size_t)from->matrix.ld * element,
                                        (size_t)from->rows * element, (size_t)from->columns,
                                        cudaMemcpyDefault, NULL));
}

/* Where a matrix of a tile goes in device memory from *at on, which moves behind it. */
static td_extent place(const td_extent *of, int64_t element_bytes, char **at)
{
    td_extent placed = *of;
    const size_t bytes = (size_t)(of->rows * of->columns * element_bytes);
    placed.matrix = (td_matrix){.data = *at, .ld = of->rows > 1 ? of->rows : 1};
    *at += (bytes + TD_TILE_ALIGNMENT - 1) / TD_TILE_ALIGNMENT * TD_TILE_ALIGNMENT;
    return placed;
}

/* Copies what the worker's tile reads to its device, and describes the product there; false if
 * a matrix cannot be copied. */
static bool copy_in(worker *w, td_problem *there)
{
    const td_memory memory = td_problem_memory(&w->tile);
    const int64_t element = memory.element_bytes;
    char *at = w->memory;
    const td_extent a = place(&memory.read[0], element, &at),
                    b = place(&memory.read[1], element, &at);
    w->result = place(&memory.written, element, &at);
    *there = w->tile;
    there->c = w->result.matrix;
    if (!td_problem_only_scales(&w->tile)) {
        there->a = a.matrix;
        there->b = b.matrix;
    }
    return copy(&a, &memory.read[0], element) && copy(&b, &memory.read[1], element) &&
           (!td_problem_has_beta(&w->tile) || copy(&w->result, &memory.written, element));
}

/* Enqueues a tile, or has it wait for the original function. */
static void start(worker *w, const call *x, const td_problem *tile)
{
    td_problem there;
    w->tile = *tile;
    w->state = EMULATED;
    if (!enter(w) || !copy_in(w, &there)) {
        const td_problem sizes = sizes_of(tile);
        td_wrap_begin_native(x->entry, &sizes, td_reason_operand, &w->call);
        w->state = NATIVE;
    } else if (td_wrap_begin_legacy(x->entry, true, &there, &w->call)) {
        w->state = NATIVE;
    }
    if (w->state == NATIVE) td_wrap_wait(&w->call);
}

static cublasStatus_t fetch(const worker *w)
{
    const td_memory memory = td_problem_memory(&w->tile);
    cublasStatus_t status = td_wrap_status(&w->call);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    return copy(&memory.written, &w->result, memory.element_bytes) &&
                   td_cuda_ok(cudaStreamSynchronize(NULL))
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* Has the worker's tile in the caller's C when it returns. */
static cublasStatus_t finish(worker *w, const call *x)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (w->state == IDLE) return status;
    if (!enter(w)) status = CUBLAS_STATUS_EXECUTION_FAILED;
    if (w->state == EMULATED && status == CUBLAS_STATUS_SUCCESS) status = fetch(w);
    if (w->state == NATIVE) {
        td_wrap_resume(&w->call, 1);
        status = x->run(x, &w->tile);
        td_wrap_end(&w->call, status == CUBLAS_STATUS_SUCCESS);
    }
    w->state = IDLE;
    return status;
}

/* ---- products ---- */

/* A product in tiles, of which each worker has one at a time. */
typedef struct {
    td_tile_size size;
    int64_t tiles;
    int count;
    worker *workers;
} plan;

static void close_all(plan *of)
{
    for (int i = 0; i < of->count; i++) close_worker(&of->workers[i]);
}

static bool open_all(plan *of, const td_problem *p)
{
    td_problem largest = td_tile_at(p, of->size, 0);
    const size_t bytes = (size_t)td_tile_bytes(&largest);
    for (int i = 0; i < of->count; i++)
        if (!open_worker(&of->workers[i], bytes)) {
            close_all(of);
            return false;
        }
    return true;
}

/* Half the memory of the smallest device: the other half is for workspaces, and for others. */
static double room_of(const selection *devices)
{
    double room = 0.0;
    for (int i = 0; i < devices->count; i++) {
        size_t unused, total = 0;
        if (!td_cuda_ok(cudaSetDevice(devices->ordinal[i])) ||
            !td_cuda_ok(cudaMemGetInfo(&unused, &total)))
            return 0.0;
        if (i == 0 || (double)total < 2.0 * room) room = (double)total / 2.0;
    }
    return room;
}

/* Finds tiles that the devices have memory for, and opens workers; false if there are none. */
static bool make_plan(plan *of, const selection *devices, const td_problem *p, int64_t block)
{
    for (double room = room_of(devices);; room /= 2.0) {
        of->size = td_tile_fitting(p, block, room);
        if (of->size.m == 0) return false;
        of->tiles = td_tile_count(p, of->size);
        of->count = of->tiles < devices->count ? (int)of->tiles : devices->count;
        if (open_all(of, p)) return true;
    }
}

static cublasStatus_t run_tiles(const plan *of, const call *x)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int64_t first = 0; first < of->tiles && !status; first += of->count) {
        for (int i = 0; i < of->count && first + i < of->tiles; i++) {
            const td_problem tile = td_tile_at(&x->p, of->size, first + i);
            start(&of->workers[i], x, &tile);
        }
        for (int i = 0; i < of->count; i++) {
            const cublasStatus_t one = finish(&of->workers[i], x);
            if (!status) status = one;
        }
    }
    return status;
}

/* The side of cublasXt's own tiles. */
static int64_t block_of(const call *x)
{
    __typeof__(&cublasXtGetBlockDim) get = TD_ORIGINAL(x->library, cublasXtGetBlockDim);
    int block = 0;
    return get && get(x->handle, &block) == CUBLAS_STATUS_SUCCESS && block > 0 ? block : 1;
}

/* With the first device current. */
static cublasStatus_t emulate(const call *x, const selection *devices)
{
    plan made = {.workers = calloc((size_t)devices->count, sizeof *made.workers)};
    cublasStatus_t status;
    for (int i = 0; made.workers && i < devices->count; i++)
        made.workers[i].ordinal = devices->ordinal[i];
    if (made.workers && make_plan(&made, devices, &x->p, block_of(x))) {
        status = run_tiles(&made, x);
        close_all(&made);
    } else {
        status = run_native(x, &x->p, td_reason_memory);
    }
    free(made.workers);
    return status;
}

static cublasStatus_t multiply(const call *x)
{
    selection devices;
    int before;
    if (!td_wrap_is_seen(x->entry) || !recall(x->handle, &devices) ||
        !td_cuda_ok(cudaGetDevice(&before)) || !td_cuda_ok(cudaSetDevice(devices.ordinal[0])))
        return x->run(x, &x->p);
    const char *reason = td_wrap_foresee(x->entry, &x->p);
    const cublasStatus_t status = reason ? run_native(x, &x->p, reason) : emulate(x, &devices);
    td_cuda_ok(cudaSetDevice(before));
    return status;
}

#define DEFINE_XT_GEMM(function, number, type_)                                                    \
    static cublasStatus_t run_##function(const call *x, const td_problem *t)                       \
    {                                                                                              \
        __typeof__(&(function)) original = TD_ORIGINAL(x->library, function);                      \
        if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;                                       \
        return original(x->handle, (cublasOperation_t)t->op_a, (cublasOperation_t)t->op_b,         \
                        (size_t)t->m, (size_t)t->n, (size_t)t->k, x->alpha, t->a.data,             \
                        (size_t)t->a.ld, t->b.data, (size_t)t->b.ld, x->beta, t->c.data,           \
                        (size_t)t->c.ld);                                                          \
    }                                                                                              \
    TD_EXPORT cublasStatus_t function(                                                             \
        cublasXtHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, size_t m,     \
        size_t n, size_t k, const number *alpha, const number *A, size_t lda, const number *B,     \
        size_t ldb, const number *beta, number *C, size_t ldc)                                     \
    {                                                                                              \
        call x = {.entry = TD_ENTRY_##function,                                                    \
                  .library = TD_LIBRARY_OF(handle, function),                                      \
                  .handle = handle,                                                                \
                  .alpha = alpha,                                                                  \
                  .beta = beta,                                                                    \
                  .p = {.kind = TD_PRODUCT,                                                        \
                        .type = type_,                                                             \
                        .op_a = (td_op)transa,                                                     \
                        .op_b = (td_op)transb,                                                     \
                        .m = (int64_t)m,                                                           \
                        .n = (int64_t)n,                                                           \
                        .k = (int64_t)k,                                                           \
                        .a = {.data = (void *)(uintptr_t)A, .ld = (int64_t)lda},                   \
                        .b = {.data = (void *)(uintptr_t)B, .ld = (int64_t)ldb},                   \
                        .c = {.data = C, .ld = (int64_t)ldc},                                      \
                        .batch = 1,                                                                \
                        .caller = __builtin_return_address(0)},                                    \
                  .run = run_##function};                                                          \
        if (!alpha || !beta) return x.run(&x, &x.p);                                               \
        td_wrap_set_scalars(&x.p, alpha, beta, false);                                             \
        return multiply(&x);                                                                       \
    }

DEFINE_XT_GEMM(cublasXtDgemm, double, TD_BINARY64)
DEFINE_XT_GEMM(cublasXtZgemm, cuDoubleComplex, TD_COMPLEX_BINARY64)
