/* originals.h - cuBLAS's own functions, behind the wrappers and for the engines: looked up at run time. */
#ifndef TD_ORIGINALS_H
#define TD_ORIGINALS_H

#include <stdbool.h>

#include "entries.h"

/* X(function): what the wrappers and the engines need of cuBLAS beside the intercepted functions. */
#define TD_HELPERS(X)                                                                              \
    X(cublasGetStream_v2)                                                                          \
    X(cublasGetPointerMode_v2)                                                                     \
    X(cublasSetKernelStream)                                                                       \
    X(cublasCreate_v2)                                                                             \
    X(cublasSetStream_v2)                                                                          \
    X(cublasSetWorkspace_v2)                                                                       \
    X(cublasGemmStridedBatchedEx)

#define TD_ORIGINAL_ENTRY(function, family) TD_ORIGINAL_##function,
#define TD_ORIGINAL_HELPER(function)        TD_ORIGINAL_##function,
typedef enum {
    TD_ENTRIES(TD_ORIGINAL_ENTRY) TD_HELPERS(TD_ORIGINAL_HELPER) TD_ORIGINAL_COUNT
} td_original;
#undef TD_ORIGINAL_ENTRY
#undef TD_ORIGINAL_HELPER

typedef void (*td_function)(void);

/* The function of the next object in search order, or of a cuBLAS that is loaded elsewhere (11 to 13); NULL, and a
 * line in the log once for each, if there is none. */
td_function td_original_find(td_original which);

/* The same, but loads the newest cuBLAS that the loader finds where none is loaded; NULL, without a word, if there is
 * none. */
td_function td_original_load(td_original which);

/* The original of a function, with its type, which the including file declares. */
#define TD_ORIGINAL(function) ((__typeof__(&(function)))td_original_find(TD_ORIGINAL_##function))
#define TD_ORIGINAL_LOADED(function)                                                               \
    ((__typeof__(&(function)))td_original_load(TD_ORIGINAL_##function))

/* Round every call of an original that could call functions of its own library: in between, wrappers that this thread
 * enters pass their calls on unseen. */
void td_original_enter(void);
void td_original_leave(void);
bool td_original_is_running(void);

#endif
