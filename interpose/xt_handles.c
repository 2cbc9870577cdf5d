/* xt_handles.c - wrappers that learn which devices a handle of cublasXt was told to use. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/loader/owners.h"
#include "wrap.h"
#include "xt.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static td_xt_selection *selections; /* under the lock, as their count is */
static size_t selection_count;

/* Under the lock. */
static td_xt_selection *find_selection(cublasXtHandle_t handle)
{
    for (size_t i = 0; i < selection_count; i++)
        if (selections[i].handle == handle) return &selections[i];
    return NULL;
}

static void forget(cublasXtHandle_t handle)
{
    pthread_mutex_lock(&lock);
    td_xt_selection *found = find_selection(handle);
    if (found) *found = selections[--selection_count];
    pthread_mutex_unlock(&lock);
}

/* Without memory, or if there are too many devices, it is not known. */
static void remember(cublasXtHandle_t handle, int count, const int devices[])
{
    forget(handle);
    if (count > TD_MAX_DEVICES) return;
    pthread_mutex_lock(&lock);
    td_xt_selection *grown = realloc(selections, (selection_count + 1) * sizeof *grown);
    if (grown) {
        selections = grown;
        td_xt_selection *added = &selections[selection_count++];
        added->handle = handle;
        added->count = count;
        memcpy(added->ordinal, devices, (size_t)count * sizeof *devices);
    }
    pthread_mutex_unlock(&lock);
}

bool td_xt_recall(cublasXtHandle_t handle, td_xt_selection *copy)
{
    pthread_mutex_lock(&lock);
    const td_xt_selection *found = find_selection(handle);
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
