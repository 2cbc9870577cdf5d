/* launch.c - checks a launch against a device's limits and gives its blocks to the workers. */
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cudart_internal.h"
#include "settings.h"
#include "worker.h"

enum { MAX_WORKERS = 1024 };

pthread_mutex_t hostgpu_launching = PTHREAD_MUTEX_INITIALIZER; /* held during a launch */
pthread_mutex_t hostgpu_pool_lock = PTHREAD_MUTEX_INITIALIZER; /* of what the pool has below it */

/* Worker 0 belongs to the thread that launches, one launch at a time; the others to threads that
 * help it. */
static struct {
    hostgpu_worker *worker[MAX_WORKERS];

    pthread_cond_t begin, end;
    bool is_taken[MAX_WORKERS]; /* by a helper that lives */
    unsigned helpers;           /* threads that live */
    unsigned wanted;            /* helpers that may still join the job */
    unsigned busy;              /* helpers at work on it */
    hostgpu_job *job;
} pool = {
    .begin = PTHREAD_COND_INITIALIZER,
    .end = PTHREAD_COND_INITIALIZER,
};

/* A device's arithmetic is its own: how this thread rounds, whether it flushes small numbers and
 * what it traps is not heard by kernels, and they leave no exceptions behind. Helpers have that of
 * the thread that started them. */
static void run_blocks_of(hostgpu_worker *worker, hostgpu_job *job)
{
    fenv_t of_program;

    fegetenv(&of_program);
    fesetenv(FE_DFL_ENV);
    hostgpu_run_blocks(worker, job);
    fesetenv(&of_program);
}

/* ---- helpers ---- */

/* Waits, under the lock, until there is a job to join. False if there was none for a while: the
 * helper then ends, so that it does not keep a process whose own threads have all ended. The clock
 * is the one that glibc before 2.30 waits by; when it is set, a helper ends sooner or later. */
static bool await_job(void)
{
    enum { PATIENCE_NANOSECONDS = 100 * 1000 * 1000, SECOND = 1000 * 1000 * 1000 };
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (end.tv_nsec + PATIENCE_NANOSECONDS) / SECOND;
    end.tv_nsec = (end.tv_nsec + PATIENCE_NANOSECONDS) % SECOND;
    while (!pool.wanted)
        if (pthread_cond_timedwait(&pool.begin, &hostgpu_pool_lock, &end)) return pool.wanted != 0;
    return true;
}

static void *help(void *number)
{
    hostgpu_worker *const worker = pool.worker[(uintptr_t)number];

    pthread_mutex_lock(&hostgpu_pool_lock);
    while (await_job()) {
        hostgpu_job *job;

        pool.wanted--;
        pool.busy++;
        job = pool.job;
        pthread_mutex_unlock(&hostgpu_pool_lock);

        run_blocks_of(worker, job);

        pthread_mutex_lock(&hostgpu_pool_lock);
        if (!--pool.busy) pthread_cond_signal(&pool.end);
    }
    pool.is_taken[(uintptr_t)number] = false;
    pool.helpers--;
    pthread_mutex_unlock(&hostgpu_pool_lock);
    return NULL;
}

/* Its threads are each a line of a cache (worker.h). */
static hostgpu_worker *get_worker(unsigned i)
{
    hostgpu_worker *worker = pool.worker[i];

    if (worker) return worker;
    if (posix_memalign((void **)&worker, sizeof worker->thread[0], sizeof *worker)) return NULL;
    memset(worker, 0, sizeof *worker);
    return pool.worker[i] = worker;
}

/* One that takes no signals: the program's handlers would run on the stack of a CUDA thread. */
static bool start_helper(unsigned number)
{
    sigset_t all, before;
    pthread_t thread;

    if (!get_worker(number)) return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool is_started = !pthread_create(&thread, NULL, help, (void *)(uintptr_t)number);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_started) pthread_detach(thread);
    return is_started;
}

/* Starts threads until there are `count`, or as many as the system gives. */
static unsigned start_helpers(unsigned count)
{
    for (unsigned i = 1; i < MAX_WORKERS && pool.helpers < count; i++) {
        if (pool.is_taken[i]) continue;
        if (!start_helper(i)) break;
        pool.is_taken[i] = true;
        pool.helpers++;
    }
    return pool.helpers < count ? pool.helpers : count;
}

void hostgpu_forget_helpers(void)
{
    pool.helpers = pool.wanted = pool.busy = 0;
    memset(pool.is_taken, 0, sizeof pool.is_taken);
    pool.begin = pool.end = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

static void call_helpers(hostgpu_job *job)
{
    uint64_t count = hostgpu_get_settings()->workers;

    if (count > job->block_count) count = job->block_count;
    if (count <= 1) return;
    pthread_mutex_lock(&hostgpu_pool_lock);
    pool.job = job;
    pool.wanted = start_helpers((unsigned)count - 1);
    pthread_cond_broadcast(&pool.begin);
    pthread_mutex_unlock(&hostgpu_pool_lock);
}

static void await_helpers(void)
{
    pthread_mutex_lock(&hostgpu_pool_lock);
    pool.wanted = 0;
    while (pool.busy) pthread_cond_wait(&pool.end, &hostgpu_pool_lock);
    pthread_mutex_unlock(&hostgpu_pool_lock);
}

/* Nobody is cancelled in a launch, which the helpers are at work on, too: later, if at all. */
static cudaError_t run(hostgpu_job *job)
{
    int cancel_state;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pthread_mutex_lock(&hostgpu_launching);
    hostgpu_name_thread_in_reports();
    hostgpu_worker *own = get_worker(0);
    if (own) {
        call_helpers(job);
        run_blocks_of(own, job);
        await_helpers();
    } else {
        atomic_store(&job->error, cudaErrorMemoryAllocation);
    }
    pthread_mutex_unlock(&hostgpu_launching);
    pthread_setcancelstate(cancel_state, NULL);
    return (cudaError_t)atomic_load(&job->error);
}

unsigned long long hostgpu_switches(void)
{
    unsigned long long all = 0;

    pthread_mutex_lock(&hostgpu_launching);
    for (unsigned i = 0; i < MAX_WORKERS && pool.worker[i]; i++) all += pool.worker[i]->switches;
    pthread_mutex_unlock(&hostgpu_launching);
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
    if (hostgpu_here.worker) return cudaErrorNotSupported; /* a launch from a kernel */
    if (!is_valid_shape(kernel->grid, kernel->block)) return cudaErrorInvalidConfiguration;
    if (!hostgpu_is_stream(kernel->stream) || !hostgpu_is_own_stream(kernel->stream))
        return cudaErrorInvalidResourceHandle;
    if (kernel->shared_bytes > hostgpu_shared_limit(kernel->function)) return cudaErrorInvalidValue;
    if (hostgpu_fails(HOSTGPU_FAULT_LAUNCH)) return cudaErrorLaunchOutOfResources;
    return hostgpu_load(kernel->function);
}

/* A capture copies the launch; otherwise its parameters stay where they are. */
static cudaError_t enqueue(const hostgpu_kernel *kernel)
{
    const size_t bytes = sizeof(kept_launch) + kernel->argument_bytes;

    if (!hostgpu_captures()) return run_blocks(kernel);
    kept_launch *kept = aligned_alloc(_Alignof(kept_launch), (bytes + 63) / 64 * 64);
    if (!kept) return cudaErrorMemoryAllocation;
    kept->kernel = *kernel;
    if (kernel->argument_bytes) memcpy(kept->arguments, kernel->arguments, kernel->argument_bytes);
    const cudaError_t error =
        hostgpu_enqueue(kernel->stream, cudaGraphNodeTypeKernel, run_kept, kept, bytes);
    free(kept);
    return error;
}

cudaError_t hostgpu_launch(const hostgpu_kernel *kernel)
{
    const cudaError_t error = check(kernel);

    return hostgpu_record(error ? error : enqueue(kernel));
}
