/* handles.c - wrappers that learn of a handle what cuBLAS does not tell: which cuBLAS made it,
 * where its calls go, whoever makes them; and what workspace it was given. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "../lib/loader/owners.h"
#include "wrap.h"

/* ---- workspaces ---- */

/* One was given for work in a stream. */
typedef struct {
    cublasHandle_t handle;
    cudaStream_t stream;
    void *memory;
    size_t bytes;
} loan;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static loan *loans; /* under the lock */
static atomic_size_t loan_count;

/* Under the lock. */
static loan *find_loan(cublasHandle_t handle)
{
    for (size_t i = 0; i < loan_count; i++)
        if (loans[i].handle == handle) return &loans[i];
    return NULL;
}

static void forget_loan(cublasHandle_t handle)
{
    if (!atomic_load(&loan_count)) return;
    pthread_mutex_lock(&lock);
    loan *found = find_loan(handle);
    if (found) *found = loans[--loan_count];
    pthread_mutex_unlock(&lock);
}

/* Without memory it is not known. */
static void remember_loan(const loan *given)
{
    forget_loan(given->handle);
    if (!given->memory || !given->bytes) return;
    pthread_mutex_lock(&lock);
    loan *grown = realloc(loans, (loan_count + 1) * sizeof *grown);
    if (grown) {
        loans = grown;
        loans[loan_count++] = *given;
    }
    pthread_mutex_unlock(&lock);
}

static void before_fork(void) { pthread_mutex_lock(&lock); }

static void after_fork(void) { pthread_mutex_unlock(&lock); }

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

void td_wrap_find_loan(cublasHandle_t handle, td_problem *p)
{
    if (!atomic_load(&loan_count)) return;
    pthread_mutex_lock(&lock);
    const loan *found = find_loan(handle);
    if (found && found->stream == p->stream) {
        p->lent = found->memory;
        p->lent_bytes = found->bytes;
    }
    pthread_mutex_unlock(&lock);
}

TD_EXPORT cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    td_library *library = TD_LIBRARY_OF(handle, cublasSetWorkspace_v2);
    __typeof__(&cublasSetWorkspace_v2) original = TD_ORIGINAL(library, cublasSetWorkspace_v2);
    __typeof__(&cublasGetStream_v2) get_stream = TD_ORIGINAL(library, cublasGetStream_v2);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    loan given = {handle, NULL, workspace, bytes};
    const cublasStatus_t status = original(handle, workspace, bytes);
    if (status == CUBLAS_STATUS_SUCCESS && get_stream &&
        get_stream(handle, &given.stream) == CUBLAS_STATUS_SUCCESS)
        remember_loan(&given);
    return status;
}

/* As cuBLAS documents: the handle has its own workspace again. */
TD_EXPORT cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    td_library *library = TD_LIBRARY_OF(handle, cublasSetStream_v2);
    __typeof__(&cublasSetStream_v2) original = TD_ORIGINAL(library, cublasSetStream_v2);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    forget_loan(handle);
    return original(handle, stream);
}

/* ---- owners ---- */

TD_EXPORT cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    td_library *library = TD_LIBRARY_OF(NULL, cublasCreate_v2);
    __typeof__(&cublasCreate_v2) original = TD_ORIGINAL(library, cublasCreate_v2);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    const cublasStatus_t status = original(handle);
    if (status == CUBLAS_STATUS_SUCCESS) td_owner_set(*handle, library);
    return status;
}

TD_EXPORT cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    td_library *library = TD_LIBRARY_OF(handle, cublasDestroy_v2);
    __typeof__(&cublasDestroy_v2) original = TD_ORIGINAL(library, cublasDestroy_v2);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    td_owner_set(handle, NULL);
    forget_loan(handle);
    return original(handle);
}
