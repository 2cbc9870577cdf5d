/* launch.c - checks a launch against a device's limits and gives its blocks to the workers. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cudart_internal.h"
#include "settings.h"
#include "worker.h"

enum { MAX_WORKERS = 1024 };

/* Worker 0 belongs to the thread that launches, one launch at a time; the others to threads that live as long
 * as the process. */
static struct {
    pthread_mutex_t launching;
    hostgpu_worker *worker[MAX_WORKERS];

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t begin, end;
    unsigned helpers; /* threads started */
    unsigned wanted;  /* helpers that may still join the job */
    unsigned busy;    /* helpers at work on it */
    hostgpu_job *job;
} pool = {
    .launching = PTHREAD_MUTEX_INITIALIZER,
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .begin = PTHREAD_COND_INITIALIZER,
    .end = PTHREAD_COND_INITIALIZER,
};

/* ---- helpers ---- */

static void *help(void *worker)
{
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        hostgpu_job *job;

        while (!pool.wanted) pthread_cond_wait(&pool.begin, &pool.lock);
        pool.wanted--;
        pool.busy++;
        job = pool.job;
        pthread_mutex_unlock(&pool.lock);

        hostgpu_run_blocks(worker, job);

        pthread_mutex_lock(&pool.lock);
        if (!--pool.busy) pthread_cond_signal(&pool.end);
    }
    return NULL;
}

static hostgpu_worker *get_worker(unsigned i)
{
    if (!pool.worker[i]) pool.worker[i] = calloc(1, sizeof *pool.worker[i]);
    return pool.worker[i];
}

/* Starts threads until there are `count`, or as many as the system gives. */
static unsigned start_helpers(unsigned count)
{
    while (pool.helpers < count) {
        hostgpu_worker *worker = get_worker(pool.helpers + 1);
        pthread_t thread;

        if (!worker || pthread_create(&thread, NULL, help, worker)) break;
        pthread_detach(thread);
        pool.helpers++;
    }
    return pool.helpers < count ? pool.helpers : count;
}

static void call_helpers(hostgpu_job *job)
{
    uint64_t count = hostgpu_get_settings()->workers;

    if (count > job->block_count) count = job->block_count;
    if (count <= 1) return;
    pthread_mutex_lock(&pool.lock);
    pool.job = job;
    pool.wanted = start_helpers((unsigned)count - 1);
    pthread_cond_broadcast(&pool.begin);
    pthread_mutex_unlock(&pool.lock);
}

static void await_helpers(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.wanted = 0;
    while (pool.busy) pthread_cond_wait(&pool.end, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

static cudaError_t run(hostgpu_job *job)
{
    hostgpu_worker *own;

    pthread_mutex_lock(&pool.launching);
    hostgpu_name_thread_in_reports();
    own = get_worker(0);
    if (own) {
        call_helpers(job);
        hostgpu_run_blocks(own, job);
        await_helpers();
    } else {
        atomic_store(&job->error, cudaErrorMemoryAllocation);
    }
    pthread_mutex_unlock(&pool.launching);
    return (cudaError_t)atomic_load(&job->error);
}

unsigned long long hostgpu_switches(void)
{
    unsigned long long all = 0;

    pthread_mutex_lock(&pool.launching);
    for (unsigned i = 0; i < MAX_WORKERS && pool.worker[i]; i++) all += pool.worker[i]->switches;
    pthread_mutex_unlock(&pool.launching);
    return all;
}

/* ---- limits ---- */

static bool is_valid_shape(struct dim3 grid, struct dim3 block)
{
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;

    return grid.x >= 1 && grid.x <= INT32_MAX && grid.y >= 1 && grid.y <= 65535 && grid.z >= 1 &&
           grid.z <= 65535 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 && threads >= 1 &&
           threads <= HOSTGPU_MAX_THREADS;
}

/* A launch as a node of a graph keeps it: the kernel's parameters follow. */
typedef struct {
    hostgpu_kernel kernel;
    _Alignas(64) unsigned char arguments[];
} kept_launch;

static cudaError_t run_blocks(const hostgpu_kernel *kernel)
{
    hostgpu_job job = {.kernel = kernel,
                       .block_count = (uint64_t)kernel->grid.x * kernel->grid.y * kernel->grid.z};

    return run(&job);
}

static cudaError_t run_kept(void *arguments)
{
    kept_launch *kept = arguments;
    hostgpu_kernel kernel = kept->kernel;

    if (kernel.argument_bytes) kernel.arguments = kept->arguments;
    return run_blocks(&kernel);
}

static cudaError_t check(const hostgpu_kernel *kernel)
{
    if (hostgpu_self) return cudaErrorNotSupported; /* a launch from a kernel */
    if (!is_valid_shape(kernel->grid, kernel->block)) return cudaErrorInvalidConfiguration;
    if (!hostgpu_is_stream(kernel->stream) || !hostgpu_is_own_stream(kernel->stream))
        return cudaErrorInvalidResourceHandle;
    if (kernel->shared_bytes > hostgpu_shared_limit(kernel->function)) return cudaErrorInvalidValue;
    return hostgpu_load(kernel->function);
}

/* A capture copies the launch; otherwise its parameters stay where they are. */
static cudaError_t enqueue(const hostgpu_kernel *kernel)
{
    const size_t bytes = sizeof(kept_launch) + kernel->argument_bytes;
    kept_launch *kept;
    cudaError_t error;

    if (!hostgpu_captures()) return run_blocks(kernel);
    kept = aligned_alloc(_Alignof(kept_launch), (bytes + 63) / 64 * 64);
    if (!kept) return cudaErrorMemoryAllocation;
    kept->kernel = *kernel;
    if (kernel->argument_bytes) memcpy(kept->arguments, kernel->arguments, kernel->argument_bytes);
    error = hostgpu_enqueue(kernel->stream, cudaGraphNodeTypeKernel, run_kept, kept, bytes);
    free(kept);
    return error;
}

cudaError_t hostgpu_launch(const hostgpu_kernel *kernel)
{
    const cudaError_t error = check(kernel);

    return hostgpu_record(error ? error : enqueue(kernel));
}
