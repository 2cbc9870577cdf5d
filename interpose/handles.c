/* handles.c - wrappers that learn of a handle what cuBLAS does not tell: which cuBLAS made it, and
 * what workspace it was given. */
#include "notes.h"
#include "unseen.h"

/* A workspace that was given for work in a stream. */
typedef struct {
    cublasHandle_t handle;
    cudaStream_t stream;
    void *memory;
    size_t bytes;
} loan;

static td_notes loans = {.size = sizeof(loan)};

void td_wrap_find_loan(cublasHandle_t handle, td_problem *p)
{
    loan found;
    if (!td_notes_find(&loans, handle, &found) || found.stream != p->stream) return;
    p->lent = (td_loan){found.memory, found.bytes};
}

void td_unseen_loans(void) { td_notes_forget_all(&loans); }

TD_EXPORT cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    td_library *library = TD_LIBRARY_OF(handle, cublasSetWorkspace_v2);
    __typeof__(&cublasSetWorkspace_v2) original = TD_ORIGINAL(library, cublasSetWorkspace_v2);
    __typeof__(&cublasGetStream_v2) get_stream = TD_ORIGINAL(library, cublasGetStream_v2);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    loan given = {handle, NULL, workspace, bytes};
    const cublasStatus_t status = original(handle, workspace, bytes);
    if (status != CUBLAS_STATUS_SUCCESS || !get_stream ||
        get_stream(handle, &given.stream) != CUBLAS_STATUS_SUCCESS)
        return status;
    if (workspace && bytes)
        td_notes_set(&loans, &given);
    else
        td_notes_forget(&loans, handle);
    return status;
}

/* As cuBLAS documents: the handle has its own workspace again. */
TD_EXPORT cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    td_library *library = TD_LIBRARY_OF(handle, cublasSetStream_v2);
    __typeof__(&cublasSetStream_v2) original = TD_ORIGINAL(library, cublasSetStream_v2);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    td_notes_forget(&loans, handle);
    return original(handle, stream);
}

TD_DEFINE_CREATE(cublas, cublasCreate_v2, cublasHandle_t)
TD_DEFINE_DESTROY(cublas, cublasDestroy_v2, cublasHandle_t, &loans)
