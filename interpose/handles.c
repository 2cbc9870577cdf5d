/* handles.c - wrappers that learn which cuBLAS made a handle: its calls go there, whoever makes them. */
#include "../lib/owners.h"
#include "wrap.h"

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
    return original(handle);
}
