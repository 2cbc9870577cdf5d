/* originals.h - cuBLAS's and cuSOLVER's own functions, behind the wrappers and for the engines:
 * looked up at run time. A process may hold several of each; a call goes to the one that made its
 * handle, or else to the one that the caller's object is bound to. */
#ifndef TD_ORIGINALS_H
#define TD_ORIGINALS_H

#include <stdbool.h>

#include "../routine/entries.h"
#include "bound.h"

/* X(function): what the wrappers and the engines need of cuBLAS and cuSOLVER beside the intercepted
 * functions. */
#define TD_HELPERS(X)                                                                              \
    X(cublasGetStream_v2)                                                                          \
    X(cublasGetPointerMode_v2)                                                                     \
    X(cublasGetMathMode)                                                                           \
    X(cublasSetKernelStream)                                                                       \
    X(cublasShutdown)                                                                              \
    X(cublasGetError)                                                                              \
    X(cublasCreate_v2)                                                                             \
    X(cublasDestroy_v2)                                                                            \
    X(cublasSetPointerMode_v2)                                                                     \
    X(cublasSetStream_v2)                                                                          \
    X(cublasSetWorkspace_v2)                                                                       \
    X(cublasSetMathMode)                                                                           \
    X(cublasSetEmulationStrategy)                                                                  \
    X(cublasGetFixedPointEmulationMantissaBitCountPointer)                                         \
    X(cublasSetFixedPointEmulationMantissaBitCountPointer)                                         \
    X(cublasXtCreate)                                                                              \
    X(cublasXtDestroy)                                                                             \
    X(cublasXtDeviceSelect)                                                                        \
    X(cublasXtGetBlockDim)                                                                         \
    X(cublasXtGetPinningMemMode)                                                                   \
    X(cublasLtMatmulDescGetAttribute)                                                              \
    X(cublasLtMatrixLayoutGetAttribute)                                                            \
    X(cusolverDnCreate)                                                                            \
    X(cusolverDnDestroy)                                                                           \
    X(cusolverDnGetStream)                                                                         \
    X(cusolverDnDgetrf_bufferSize)                                                                 \
    X(cusolverDnZgetrf_bufferSize)                                                                 \
    X(cusolverDnXgetrf_bufferSize)                                                                 \
    X(cusolverDnDpotrf_bufferSize)                                                                 \
    X(cusolverDnZpotrf_bufferSize)                                                                 \
    X(cusolverDnXpotrf_bufferSize)                                                                 \
    X(cusolverDnDpotri_bufferSize)                                                                 \
    X(cusolverDnZpotri_bufferSize)                                                                 \
    X(cusolverDnDgeqrf_bufferSize)                                                                 \
    X(cusolverDnZgeqrf_bufferSize)                                                                 \
    X(cusolverDnXgeqrf_bufferSize)                                                                 \
    X(cusolverDnDorgqr_bufferSize)                                                                 \
    X(cusolverDnZungqr_bufferSize)                                                                 \
    X(cusolverDnDormqr_bufferSize)                                                                 \
    X(cusolverDnZunmqr_bufferSize)                                                                 \
    X(cusolverDnDsyevd_bufferSize)                                                                 \
    X(cusolverDnXsyevd_bufferSize)                                                                 \
    X(cusolverDnSsyevd)                                                                            \
    X(cusolverDnSsyevd_bufferSize)                                                                 \
    X(cusolverDnGetMathMode)                                                                       \
    X(cusolverDnCreateParams)                                                                      \
    X(cusolverDnSetAdvOptions)                                                                     \
    X(cusolverDnDestroyParams)

#define TD_ORIGINAL_ENTRY(function, family, name) TD_ORIGINAL_##function,
#define TD_ORIGINAL_HELPER(function)              TD_ORIGINAL_##function,
#define ROUTINE(name, forms, shape, kind, types, family)                                           \
    TD_FORMS_##forms(TD_ORIGINAL_ENTRY, name, family)
typedef enum {
#include "../routine/routines.def"
    TD_HELPERS(TD_ORIGINAL_HELPER) TD_ORIGINAL_COUNT
} td_original;
#undef TD_ORIGINAL_ENTRY
#undef TD_ORIGINAL_HELPER

typedef void (*td_function)(void);

/* What an address from dlsym is of. */
td_function td_function_of(void *address);

/* One cuBLAS or cublasLt, 11 to 13, or cuSOLVER, 11 or 12, of the process; once found, it stays
 * loaded. */
typedef struct td_library td_library;

/* The library of a call of `which`: the one that a bound call is bound to (below); else the one
 * that made the handle, if that is known and has the function; else the one that the object with
 * `caller`, an address in its code, would have called; else the program's, or the newest that is
 * loaded. NULL if there is none. handle may be NULL. Every wrapper asks once, first of all. */
td_library *td_library_of(const void *handle, const void *caller, td_original which);

/* The cuBLAS that Tandem's own handles are of: the program's, or the newest that is loaded; where
 * none is, the newest that the loader finds is loaded. */
td_library *td_library_own(void);

/* True if an address is in the code of a cuBLAS or cublasLt: a call from there is one of its
 * own. */
bool td_library_is_caller(const void *caller);

/* The library that an address belongs to, as td_owner_set was told or else by its image; NULL if it
 * belongs to none, or there are more than TD_MOST_LIBRARIES. May leave an error for dlerror. */
td_library *td_library_at(const void *address);

/* A program that looks a function up in one library calls that one, whatever others there are. So
 * what Tandem gives it are entrances of its own, one for each library and function
 * (interpose/dlsym_*.S): they hand their number plus 1 to td_bound_set and jump to the
 * wrapper. Numbers: library * TD_BOUND_STRIDE + function. */
void td_bound_set(unsigned call);
unsigned td_bound_number(const td_library *library, td_original which);

/* True if an image is a cuBLAS or cublasLt. */
struct td_image;
bool td_original_is_cublas(const struct td_image *image);

/* The name of the function. */
const char *td_original_name(td_original which);

/* The function of a library, or, before it, of an object that is preloaded after Tandem; NULL, and
 * a line in the log once for each, if there is none, or no library. */
td_function td_original_find(td_library *library, td_original which);

/* As td_original_find, of a function that older versions lack: nothing is said of it. */
td_function td_original_look_for(td_library *library, td_original which);

/* The original of a function, with its type, which the including file declares. */
#define TD_ORIGINAL(library, function)                                                             \
    ((__typeof__(&(function)))td_original_find((library), TD_ORIGINAL_##function))

/* In a wrapper: the library of its caller. */
#define TD_LIBRARY_OF(handle, function)                                                            \
    td_library_of((handle), __builtin_return_address(0), TD_ORIGINAL_##function)

/* Round every call of an original that could call functions of its own library: in between,
 * wrappers of the same maker's functions that this thread enters pass their calls on unseen. An
 * original that is left by longjmp or an exception does not come to td_original_leave:
 * td_original_is_running finds out. */
void td_original_enter(td_maker maker);
void td_original_leave(td_maker maker);
bool td_original_is_running(td_maker maker);

#endif
