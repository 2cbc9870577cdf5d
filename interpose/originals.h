/* originals.h - the cuBLAS functions behind the wrappers, looked up at run time. */
#ifndef TD_ORIGINALS_H
#define TD_ORIGINALS_H

#include "../lib/entries.h"

/* X(function): what the wrappers need of cuBLAS beside the intercepted functions. */
#define TD_HELPERS(X)                                                                              \
    X(cublasGetStream_v2)                                                                          \
    X(cublasGetPointerMode_v2)                                                                     \
    X(cublasSetKernelStream)

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

#endif
