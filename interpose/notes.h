/* notes.h - what is remembered of handles: a note for each, all of a store of one size, and which
 * library made it. Safe in any thread, and across fork(). */
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
void td_notes_forget_all(td_notes *store);

/* Wrappers of the functions that make a handle of such a type, and that end one, of which `store`
 * may have a note; maker is cublas or cusolver. Calls with the handle go to the library that made
 * it, whoever makes them. cuBLAS waits for the device when a handle ends, so that all calls have a
 * time then; often the context ends next (cudaDeviceReset). */
#define TD_DEFINE_CREATE(maker, function, type)                                                    \
    TD_EXPORT maker##Status_t function(type *handle)                                               \
    {                                                                                              \
        td_library *library = TD_LIBRARY_OF(NULL, function);                                       \
        __typeof__(&(function)) original = TD_ORIGINAL(library, function);                         \
        if (!original) return TD_NOT_INITIALIZED_##maker;                                          \
        const maker##Status_t status = original(handle);                                           \
        if (status == TD_SUCCESS_##maker) td_owner_set(*handle, library);                          \
        return status;                                                                             \
    }
#define TD_DEFINE_DESTROY(maker, function, type, store)                                            \
    TD_EXPORT maker##Status_t function(type handle)                                                \
    {                                                                                              \
        td_library *library = TD_LIBRARY_OF(handle, function);                                     \
        __typeof__(&(function)) original = TD_ORIGINAL(library, function);                         \
        if (!original) return TD_NOT_INITIALIZED_##maker;                                          \
        td_owner_set(handle, NULL);                                                                \
        td_notes_forget(store, handle);                                                            \
        const maker##Status_t status = original(handle);                                           \
        td_process_keep_times();                                                                   \
        return status;                                                                             \
    }
#define TD_SUCCESS_cublas           CUBLAS_STATUS_SUCCESS
#define TD_SUCCESS_cusolver         CUSOLVER_STATUS_SUCCESS
#define TD_NOT_INITIALIZED_cublas   CUBLAS_STATUS_NOT_INITIALIZED
#define TD_NOT_INITIALIZED_cusolver CUSOLVER_STATUS_NOT_INITIALIZED

#endif
