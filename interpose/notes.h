/* notes.h - what is remembered of handles: a note for each, all of a store of one size, and which
 * cuBLAS made it. Safe in any thread, and across fork(). */
#ifndef TD_NOTES_H
#define TD_NOTES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "../lib/call/process.h"
#include "../lib/loader/owners.h"
#include "wrap.h"

/* A store of notes, which begin with their handle; its owner sets `size`, that of a note in bytes,
 * and leaves the rest to the functions below. */
typedef struct {
    const size_t size;
    atomic_size_t count;
    char *notes;
} td_notes;

/* Takes a note in the place of an earlier one of its handle. Without memory there is none. */
void td_notes_set(td_notes *store, const void *note);

/* Copies the note of a handle; false if there is none. */
bool td_notes_find(td_notes *store, const void *handle, void *copy);

void td_notes_forget(td_notes *store, const void *handle);

/* Wrappers of the functions that make a handle of such a type, and that end one, of which `store`
 * may have a note. Calls with the handle go to the cuBLAS that made it, whoever makes them. cuBLAS
 * waits for the device when a handle ends, so that all calls have a time then; often the context
 * ends next (cudaDeviceReset). */
#define TD_DEFINE_CREATE(function, type)                                                           \
    TD_EXPORT cublasStatus_t function(type *handle)                                                \
    {                                                                                              \
        td_library *library = TD_LIBRARY_OF(NULL, function);                                       \
        __typeof__(&(function)) original = TD_ORIGINAL(library, function);                         \
        if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;                                       \
        const cublasStatus_t status = original(handle);                                            \
        if (status == CUBLAS_STATUS_SUCCESS) td_owner_set(*handle, library);                       \
        return status;                                                                             \
    }
#define TD_DEFINE_DESTROY(function, type, store)                                                   \
    TD_EXPORT cublasStatus_t function(type handle)                                                 \
    {                                                                                              \
        td_library *library = TD_LIBRARY_OF(handle, function);                                     \
        __typeof__(&(function)) original = TD_ORIGINAL(library, function);                         \
        if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;                                       \
        td_owner_set(handle, NULL);                                                                \
        td_notes_forget(store, handle);                                                            \
        const cublasStatus_t status = original(handle);                                            \
        td_process_keep_times();                                                                   \
        return status;                                                                             \
    }

#endif
