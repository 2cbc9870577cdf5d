/* legacy.c - wrappers of cublas.h, the interface without handles. Its stream cannot be asked for,
 * so calls that set it, or end it, are watched. Its products return nothing: their errors are asked
 * for afterwards. */
#include "unseen.h"
#include "wrap.h"

#include <stdatomic.h>
#include <string.h>

#include "../lib/call/process.h"

/* As cublas.h, which cannot be included together with cublas_api.h, declares them all. */
TD_EXPORT cublasStatus_t cublasSetKernelStream(cudaStream_t stream);
TD_EXPORT cublasStatus_t cublasShutdown(void);
TD_EXPORT cublasStatus_t cublasGetError(void);

/* ---- the stream ---- */

static atomic_int setters;           /* threads that have set a stream */
static atomic_uint unseen;           /* how often it may have changed without a call that is seen */
static _Thread_local bool is_setter; /* this is one of them */
static _Thread_local cudaStream_t my_stream; /* what this thread set last */
static _Thread_local unsigned seen;          /* what `unseen` was then */

void td_unseen_stream(void) { atomic_fetch_add(&unseen, 1); }

cublasStatus_t cublasSetKernelStream(cudaStream_t stream)
{
    td_library *library = TD_LIBRARY_OF(NULL, cublasSetKernelStream);
    __typeof__(&cublasSetKernelStream) original = TD_ORIGINAL(library, cublasSetKernelStream);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    cublasStatus_t status = original(stream);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (!is_setter) atomic_fetch_add(&setters, 1);
    is_setter = true;
    my_stream = stream;
    seen = atomic_load(&unseen);
    return status;
}

/* The interface begins anew in the default stream. What another thread has set may be gone as
 * well. */
static void forget_stream(void)
{
    if (is_setter)
        atomic_fetch_sub(&setters, 1);
    else if (atomic_load(&setters) > 0)
        td_unseen_stream();
    is_setter = false;
    my_stream = NULL;
    seen = atomic_load(&unseen);
}

cublasStatus_t cublasShutdown(void)
{
    td_library *library = TD_LIBRARY_OF(NULL, cublasShutdown);
    __typeof__(&cublasShutdown) original = TD_ORIGINAL(library, cublasShutdown);
    if (!original) return CUBLAS_STATUS_NOT_INITIALIZED;
    const cublasStatus_t status = original();
    if (status == CUBLAS_STATUS_SUCCESS) forget_stream();
    td_process_keep_times(); /* as where a handle ends (notes.h) */
    return status;
}

/* The stream is certain while no other thread has set one, and all calls that set one are seen. */
static bool stream_is_known(void)
{
    return atomic_load(&setters) == (is_setter ? 1 : 0) && atomic_load(&unseen) == seen;
}

/* ---- errors ---- */

/* Of this thread's calls that ran no original function, which would have kept it: the last one that
 * was not asked for yet. */
static _Thread_local cublasStatus_t my_error = CUBLAS_STATUS_SUCCESS;

static void keep_error(cublasStatus_t status)
{
    if (status != CUBLAS_STATUS_SUCCESS) my_error = status;
}

cublasStatus_t cublasGetError(void)
{
    td_library *library = TD_LIBRARY_OF(NULL, cublasGetError);
    __typeof__(&cublasGetError) original = TD_ORIGINAL(library, cublasGetError);
    const cublasStatus_t its = original ? original() : CUBLAS_STATUS_NOT_INITIALIZED,
                         mine = my_error;
    my_error = CUBLAS_STATUS_SUCCESS;
    return its != CUBLAS_STATUS_SUCCESS ? its : mine;
}

/* ---- products ---- */

/* The place of a letter, small or capital, among those of an enumeration's values; -1: it is none
 * of them. */
static int place_of(char letter, const char *letters)
{
    const int capital = letter & ~('a' - 'A');
    const char *found = capital ? strchr(letters, capital) : NULL;
    return found ? (int)(found - letters) : -1;
}

/* Enumerations are letters, and scalars arguments themselves. */
#define SIDE               char
#define TRIANGLE           char
#define OPERATION          char
#define DIAGONAL           char
#define SCALAR(type)       type
#define SIDE_OF(x)         ((td_side)place_of((x), "LR"))
#define TRIANGLE_OF(x)     ((td_triangle)place_of((x), "LU"))
#define OPERATION_OF(x)    ((td_op)place_of((x), "NTC"))
#define DIAGONAL_OF(x)     ((td_diagonal)place_of((x), "NU"))
#define ADDRESS_OF(scalar) (&(scalar))
#include "shapes.h"

/* The wrapper of a function: its shape (shapes.h) and kind of routine, and its types. */
#define DEFINE(shape, kind, function, ...) DEFINE_OF_TYPES(shape, kind, function, __VA_ARGS__)
#define DEFINE_OF_TYPES(shape, kind_, function, number, alpha_type, beta_type, type_, hermitian)   \
    TD_EXPORT void function(shape##_PARAMETERS(int, number, alpha_type, beta_type));               \
    void function(shape##_PARAMETERS(int, number, alpha_type, beta_type))                          \
    {                                                                                              \
        td_problem p = {.kind = (kind_),                                                           \
                        .type = (type_),                                                           \
                        .is_hermitian = (hermitian),                                               \
                        .batch = 1,                                                                \
                        .stream = my_stream,                                                       \
                        .allows_emulation = td_wrap_may_emulate(CUBLAS_DEFAULT_MATH),              \
                        .caller = __builtin_return_address(0),                                     \
                        shape##_FIELDS};                                                           \
        td_call call;                                                                              \
        td_wrap_set_scalars(&p, &alpha, shape##_BETA, false);                                      \
        td_library *library = TD_LIBRARY_OF(NULL, function);                                       \
        if (!td_wrap_begin_legacy(TD_ENTRY_##function, stream_is_known(), &p, &call)) {            \
            keep_error(td_wrap_status(&call));                                                     \
            return;                                                                                \
        }                                                                                          \
        __typeof__(&(function)) original = TD_ORIGINAL(library, function);                         \
        if (original) original(shape##_ARGUMENTS);                                                 \
        td_wrap_end(&call, original != NULL);                                                      \
    }

/* The shapes of cublas.h, whose triangular product is in place of B. */
#define LEGACY_GEMM  GEMM
#define LEGACY_SYMM  SYMM
#define LEGACY_SYRK  SYRK
#define LEGACY_SYR2K SYR2K
#define LEGACY_TRMM  TRMM_IN_PLACE
#define LEGACY_TRSM  TRSM

/* The forms that are of cublas.h. */
#define DEFINE_sized(...)
#define DEFINE_blas(shape, kind, function, ...) DEFINE(LEGACY_##shape, kind, function, __VA_ARGS__)
#define LEVEL3(name, forms, shape, kind, types, family)                                            \
    DEFINE_##forms(shape, kind, cublas##name, types)
#include "../lib/routine/routines.def"
