/* xt_handles.c - wrappers that learn which devices a handle of cublasXt was told to use, and which
 * cuBLAS made it. */
#include <string.h>

#include "notes.h"
#include "unseen.h"
#include "xt.h"

static td_notes selections = {.size = sizeof(td_xt_selection)};

bool td_xt_recall(cublasXtHandle_t handle, td_xt_selection *copy)
{
    return td_notes_find(&selections, handle, copy);
}

void td_unseen_selections(void) { td_notes_forget_all(&selections); }

/* Of too many devices nothing is known. */
TD_EXPORT cublasStatus_t cublasXtDeviceSelect(cublasXtHandle_t handle, int nbDevices,
                                              int deviceId[])
{
    td_library *library = TD_LIBRARY_OF(handle, cublasXtDeviceSelect);
    __typeof__(&cublasXtDeviceSelect) original = TD_ORIGINAL(library, cublasXtDeviceSelect);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    const cublasStatus_t status = original(handle, nbDevices, deviceId);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (nbDevices > TD_MAX_DEVICES) {
        td_notes_forget(&selections, handle);
        return status;
    }
    td_xt_selection made = {.handle = handle, .count = nbDevices};
    memcpy(made.ordinal, deviceId, (size_t)nbDevices * sizeof *deviceId);
    td_notes_set(&selections, &made);
    return status;
}

TD_DEFINE_CREATE(cublas, cublasXtCreate, cublasXtHandle_t)
TD_DEFINE_DESTROY(cublas, cublasXtDestroy, cublasXtHandle_t, &selections)
