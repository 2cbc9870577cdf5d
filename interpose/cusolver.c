/* cusolver.c - wrappers of cuSOLVER's factorisations, of what is made of their factors, and of the
 * functions that tell what no getter does: which cuSOLVER made a handle, and which algorithms a
 * program asks for. All are as deterministic as cuSOLVER's are by default, so that the
 * deterministic mode is not asked. */
#include <cusolverDn.h>

#include "notes.h"
#include "shapes.h"
#include "wrap.h"

/* What stands for a function that has one algorithm alone. */
#define NO_ALGORITHMS ((cusolverDnFunction_t)31)

/* CUSOLVER_FP64_EMULATED_FIXEDPOINT_MATH, which older headers lack. */
enum { FP64_EMULATED = 4 };

/* ---- parameters of the functions with 64-bit sizes ---- */

/* The functions, as bits by cusolverDnFunction_t, that shall not use their default algorithm. */
typedef struct {
    cusolverDnParams_t params;
    unsigned others;
} wish;

static td_notes wishes = {.size = sizeof(wish)};

static bool asks_for_other(cusolverDnParams_t params, cusolverDnFunction_t function)
{
    wish w;
    return td_notes_find(&wishes, params, &w) && (w.others >> function & 1u);
}

TD_EXPORT cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t params,
                                                   cusolverDnFunction_t function,
                                                   cusolverAlgMode_t algo)
{
    enum { BITS = 32 };
    td_library *library = TD_LIBRARY_OF(NULL, cusolverDnSetAdvOptions);
    __typeof__(&cusolverDnSetAdvOptions) original = TD_ORIGINAL(library, cusolverDnSetAdvOptions);
    if (!original) return CUSOLVER_STATUS_NOT_INITIALIZED;
    const cusolverStatus_t status = original(params, function, algo);
    if (status != CUSOLVER_STATUS_SUCCESS || (unsigned)function >= BITS) return status;
    wish w = {.params = params};
    (void)td_notes_find(&wishes, params, &w);
    const unsigned bit = 1u << function;
    w.others = algo == CUSOLVER_ALG_0 ? w.others & ~bit : w.others | bit;
    if (w.others)
        td_notes_set(&wishes, &w);
    else
        td_notes_forget(&wishes, params);
    return status;
}

/* ---- handles ---- */

TD_DEFINE_CREATE(cusolver, cusolverDnCreate, cusolverDnHandle_t)
TD_DEFINE_DESTROY(cusolver, cusolverDnDestroy, cusolverDnHandle_t, &wishes)
TD_DEFINE_DESTROY(cusolver, cusolverDnDestroyParams, cusolverDnParams_t, &wishes)

/* Sets what the handle says about *p; false if it is no handle. */
static bool query_handle(td_library *library, cusolverDnHandle_t handle, td_problem *p)
{
    __typeof__(&cusolverDnGetStream) get_stream = TD_ORIGINAL(library, cusolverDnGetStream);
    __typeof__(&cusolverDnGetMathMode) get_math_mode =
        (__typeof__(&cusolverDnGetMathMode))td_original_look_for(library,
                                                                 TD_ORIGINAL_cusolverDnGetMathMode);
    cusolverMathMode_t math;
    if (!handle || !get_stream || get_stream(handle, &p->stream) != CUSOLVER_STATUS_SUCCESS)
        return false;
    p->allows_emulation = get_math_mode &&
                          get_math_mode(handle, &math) == CUSOLVER_STATUS_SUCCESS &&
                          ((int)math & FP64_EMULATED);
    return true;
}

/* ---- calls ---- */

/* A call's handle, and what is asked of it beside its problem. */
typedef struct {
    td_library *library;
    cusolverDnHandle_t handle;
    cusolverDnParams_t params;     /* NULL: those of a function that has none, or the usual ones */
    cusolverDnFunction_t function; /* that the call is of */
    size_t needed_bytes;           /* of workspace on the device */
    bool is_refused; /* cuSOLVER has refused the arguments when it was asked for these */
} asked;

/* Starts a wrapped call whose matrix and sizes are in *p. Arguments that cuSOLVER refuses are for
 * cuSOLVER to refuse. True if the original function must run. */
static bool begin(td_entry entry, const asked *a, td_problem *p, td_call *call)
{
    const bool has_all = p->info && !a->is_refused && (p->lent.memory || a->needed_bytes == 0) &&
                         p->lent.bytes >= a->needed_bytes;
    if (!td_wrap_is_seen(entry)) return td_wrap_pass(entry, call);
    const char *reason = !query_handle(a->library, a->handle, p)  ? td_reason_invalid
                         : !has_all                               ? td_reason_invalid
                         : asks_for_other(a->params, a->function) ? td_reason_algorithm
                                                                  : NULL;
    if (!reason) return td_wrap_begin_legacy(entry, true, p, call);
    td_wrap_begin_native(entry, p, reason, call);
    return true;
}

/* What a call that ran no original function returns. */
static cusolverStatus_t status_of(const td_call *call)
{
    return call->outcome == TD_CALL_BROKEN ? CUSOLVER_STATUS_EXECUTION_FAILED
                                           : CUSOLVER_STATUS_SUCCESS;
}

/* True if the call is for Tandem by all that is known without its workspace. Only then cuSOLVER is
 * asked how large that is. */
static bool is_taken(td_entry entry, const td_problem *p)
{
    return td_wrap_is_seen(entry) && td_wrap_decide(entry, p).engine;
}

/* Sets the bytes of workspace that the call needs, by `function`_bufferSize with the call's own
 * arguments: cuSOLVER refuses less. That of ASK_FOR_ELEMENTS counts elements, each as large as
 * *number, that of ASK_FOR_BYTES bytes. They stay 0 if nobody can say. */
#define ASK_FOR_ELEMENTS(function, a, p, number, ...)                                              \
    if (is_taken(TD_ENTRY_##function, &(p))) {                                                     \
        __typeof__(&(function##_bufferSize)) ask =                                                 \
            TD_ORIGINAL((a).library, function##_bufferSize);                                       \
        int elements = 0;                                                                          \
        (a).is_refused =                                                                           \
            ask && ask((a).handle, __VA_ARGS__, &elements) != CUSOLVER_STATUS_SUCCESS;             \
        if (elements > 0) (a).needed_bytes = (size_t)elements * sizeof *(number);                  \
    }
#define ASK_FOR_BYTES(function, a, p, ...)                                                         \
    if (is_taken(TD_ENTRY_##function, &(p))) {                                                     \
        __typeof__(&(function##_bufferSize)) ask =                                                 \
            TD_ORIGINAL((a).library, function##_bufferSize);                                       \
        size_t on_host = 0;                                                                        \
        (a).is_refused = ask && ask((a).handle, (a).params, __VA_ARGS__, &(a).needed_bytes,        \
                                    &on_host) != CUSOLVER_STATUS_SUCCESS;                          \
    }

/* The rest of a wrapper, once `p` describes the factorisation and `a` the call. */
#define WRAP(function, a, p, ...)                                                                  \
    (p).caller = __builtin_return_address(0);                                                      \
    td_call call;                                                                                  \
    if (!begin(TD_ENTRY_##function, &(a), &(p), &call)) return status_of(&call);                   \
    __typeof__(&(function)) original = TD_ORIGINAL((a).library, function);                         \
    const cusolverStatus_t status =                                                                \
        original ? original((a).handle, __VA_ARGS__) : CUSOLVER_STATUS_NOT_INITIALIZED;            \
    td_wrap_end(&call, status == CUSOLVER_STATUS_SUCCESS);                                         \
    return status

/* ---- LU ---- */

/* The program does not tell how large its workspace is: it is taken to be as large as is needed. */
#define DEFINE_FACTOR_LU(function, number, alpha_type, beta_type, type_, hermitian)                \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, int m, int n, number *A,        \
                                        int lda, number *Workspace, int *devIpiv, int *devInfo)    \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, NULL, CUSOLVERDN_GETRF, 0, false};     \
        td_problem p = {.kind = TD_FACTOR_LU,                                                      \
                        .type = type_,                                                             \
                        .m = m,                                                                    \
                        .n = n,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .pivots = devIpiv,                                                         \
                        .info = devInfo,                                                           \
                        .batch = 1,                                                                \
                        .lent = {.memory = Workspace}};                                            \
        ASK_FOR_ELEMENTS(function, a, p, A, m, n, A, lda);                                         \
        p.lent.bytes = a.needed_bytes;                                                             \
        WRAP(function, a, p, m, n, A, lda, Workspace, devIpiv, devInfo);                           \
    }

/* The types that are among the arguments; TD_TYPE_COUNT: others than binary64. */
static td_type type_of(cudaDataType matrices, cudaDataType computations)
{
    if (matrices != computations) return TD_TYPE_COUNT;
    return matrices == CUDA_R_64F   ? TD_BINARY64
           : matrices == CUDA_C_64F ? TD_COMPLEX_BINARY64
                                    : TD_TYPE_COUNT;
}

/* Calls with other types are cuSOLVER's, and not counted. */
#define PASS_OTHER_TYPES(function, a, p, ...)                                                      \
    if ((p).type == TD_TYPE_COUNT) {                                                               \
        __typeof__(&(function)) other = TD_ORIGINAL((a).library, function);                        \
        return other ? other((a).handle, __VA_ARGS__) : CUSOLVER_STATUS_NOT_INITIALIZED;           \
    }

#define DEFINE_FACTOR_LU_TYPED(function, ...)                                                      \
    TD_EXPORT cusolverStatus_t function(                                                           \
        cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,                \
        cudaDataType dataTypeA, void *A, int64_t lda, int64_t *ipiv, cudaDataType computeType,     \
        void *bufferOnDevice, size_t workspaceInBytesOnDevice, void *bufferOnHost,                 \
        size_t workspaceInBytesOnHost, int *info)                                                  \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, params, CUSOLVERDN_GETRF, 0, false};   \
        td_problem p = {.kind = TD_FACTOR_LU,                                                      \
                        .type = type_of(dataTypeA, computeType),                                   \
                        .m = m,                                                                    \
                        .n = n,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .pivots = ipiv,                                                            \
                        .has_wide_pivots = true,                                                   \
                        .info = info,                                                              \
                        .batch = 1,                                                                \
                        .lent = {bufferOnDevice, workspaceInBytesOnDevice}};                       \
        PASS_OTHER_TYPES(function, a, p, params, m, n, dataTypeA, A, lda, ipiv, computeType,       \
                         bufferOnDevice, workspaceInBytesOnDevice, bufferOnHost,                   \
                         workspaceInBytesOnHost, info);                                            \
        ASK_FOR_BYTES(function, a, p, m, n, dataTypeA, A, lda, dataTypeA);                         \
        WRAP(function, a, p, params, m, n, dataTypeA, A, lda, ipiv, computeType, bufferOnDevice,   \
             workspaceInBytesOnDevice, bufferOnHost, workspaceInBytesOnHost, info);                \
    }

/* ---- Cholesky ---- */

/* A function that works in place in one triangle of A. */
#define DEFINE_IN_TRIANGLE(function, number, kind_, type_, algorithms)                             \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n,   \
                                        number *A, int lda, number *Workspace, int Lwork,          \
                                        int *devInfo)                                              \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, NULL, algorithms, 0, false};           \
        td_problem p = {.kind = kind_,                                                             \
                        .type = type_,                                                             \
                        .triangle = (td_triangle)uplo,                                             \
                        .n = n,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .info = devInfo,                                                           \
                        .batch = 1,                                                                \
                        .lent = {Workspace, Lwork > 0 ? (size_t)Lwork * sizeof *A : 0}};           \
        ASK_FOR_ELEMENTS(function, a, p, A, uplo, n, A, lda);                                      \
        WRAP(function, a, p, uplo, n, A, lda, Workspace, Lwork, devInfo);                          \
    }

#define DEFINE_FACTOR_CHOLESKY(function, number, alpha_type, beta_type, type_, hermitian)          \
    DEFINE_IN_TRIANGLE(function, number, TD_FACTOR_CHOLESKY, type_, CUSOLVERDN_POTRF)

#define DEFINE_FACTOR_CHOLESKY_TYPED(function, ...)                                                \
    TD_EXPORT cusolverStatus_t function(                                                           \
        cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t uplo, int64_t n,    \
        cudaDataType dataTypeA, void *A, int64_t lda, cudaDataType computeType,                    \
        void *bufferOnDevice, size_t workspaceInBytesOnDevice, void *bufferOnHost,                 \
        size_t workspaceInBytesOnHost, int *info)                                                  \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, params, CUSOLVERDN_POTRF, 0, false};   \
        td_problem p = {.kind = TD_FACTOR_CHOLESKY,                                                \
                        .type = type_of(dataTypeA, computeType),                                   \
                        .triangle = (td_triangle)uplo,                                             \
                        .n = n,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .info = info,                                                              \
                        .batch = 1,                                                                \
                        .lent = {bufferOnDevice, workspaceInBytesOnDevice}};                       \
        PASS_OTHER_TYPES(function, a, p, params, uplo, n, dataTypeA, A, lda, computeType,          \
                         bufferOnDevice, workspaceInBytesOnDevice, bufferOnHost,                   \
                         workspaceInBytesOnHost, info);                                            \
        ASK_FOR_BYTES(function, a, p, uplo, n, dataTypeA, A, lda, dataTypeA);                      \
        WRAP(function, a, p, params, uplo, n, dataTypeA, A, lda, computeType, bufferOnDevice,      \
             workspaceInBytesOnDevice, bufferOnHost, workspaceInBytesOnHost, info);                \
    }

/* ---- solutions by factors ---- */

#define SOLUTION_BY(kind_, type_, ...)                                                             \
    {                                                                                              \
        .kind = kind_, .type = type_, .n = n, .k = nrhs, .a = MATRIX(A, lda), .b = MATRIX(B, ldb), \
        .batch = 1, __VA_ARGS__                                                                    \
    }

#define DEFINE_SOLVE_LU(function, number, alpha_type, beta_type, type_, hermitian)                 \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cublasOperation_t trans, int n, \
                                        int nrhs, const number *A, int lda, const int *devIpiv,    \
                                        number *B, int ldb, int *devInfo)                          \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, NULL, NO_ALGORITHMS, 0, false};        \
        td_problem p = SOLUTION_BY(TD_LU_SOLVE, type_, .op_a = (td_op)trans,                       \
                                   .pivots = (void *)devIpiv, .info = devInfo);                    \
        WRAP(function, a, p, trans, n, nrhs, A, lda, devIpiv, B, ldb, devInfo);                    \
    }

#define DEFINE_SOLVE_LU_TYPED(function, ...)                                                       \
    TD_EXPORT cusolverStatus_t function(                                                           \
        cusolverDnHandle_t handle, cusolverDnParams_t params, cublasOperation_t trans, int64_t n,  \
        int64_t nrhs, cudaDataType dataTypeA, const void *A, int64_t lda, const int64_t *ipiv,     \
        cudaDataType dataTypeB, void *B, int64_t ldb, int *info)                                   \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, params, NO_ALGORITHMS, 0, false};      \
        td_problem p =                                                                             \
            SOLUTION_BY(TD_LU_SOLVE, type_of(dataTypeA, dataTypeB), .op_a = (td_op)trans,          \
                        .pivots = (void *)ipiv, .has_wide_pivots = true, .info = info);            \
        PASS_OTHER_TYPES(function, a, p, params, trans, n, nrhs, dataTypeA, A, lda, ipiv,          \
                         dataTypeB, B, ldb, info);                                                 \
        WRAP(function, a, p, params, trans, n, nrhs, dataTypeA, A, lda, ipiv, dataTypeB, B, ldb,   \
             info);                                                                                \
    }

#define DEFINE_SOLVE_CHOLESKY(function, number, alpha_type, beta_type, type_, hermitian)           \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n,   \
                                        int nrhs, const number *A, int lda, number *B, int ldb,    \
                                        int *devInfo)                                              \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, NULL, NO_ALGORITHMS, 0, false};        \
        td_problem p =                                                                             \
            SOLUTION_BY(TD_CHOLESKY_SOLVE, type_, .triangle = (td_triangle)uplo, .info = devInfo); \
        WRAP(function, a, p, uplo, n, nrhs, A, lda, B, ldb, devInfo);                              \
    }

#define DEFINE_SOLVE_CHOLESKY_TYPED(function, ...)                                                 \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cusolverDnParams_t params,      \
                                        cublasFillMode_t uplo, int64_t n, int64_t nrhs,            \
                                        cudaDataType dataTypeA, const void *A, int64_t lda,        \
                                        cudaDataType dataTypeB, void *B, int64_t ldb, int *info)   \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, params, NO_ALGORITHMS, 0, false};      \
        td_problem p = SOLUTION_BY(TD_CHOLESKY_SOLVE, type_of(dataTypeA, dataTypeB),               \
                                   .triangle = (td_triangle)uplo, .info = info);                   \
        PASS_OTHER_TYPES(function, a, p, params, uplo, n, nrhs, dataTypeA, A, lda, dataTypeB, B,   \
                         ldb, info);                                                               \
        WRAP(function, a, p, params, uplo, n, nrhs, dataTypeA, A, lda, dataTypeB, B, ldb, info);   \
    }

#define DEFINE_INVERT_CHOLESKY(function, number, alpha_type, beta_type, type_, hermitian)          \
    DEFINE_IN_TRIANGLE(function, number, TD_CHOLESKY_INVERT, type_, NO_ALGORITHMS)

/* ---- QR ---- */

#define DEFINE_FACTOR_QR(function, number, alpha_type, beta_type, type_, hermitian)                \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, int m, int n, number *A,        \
                                        int lda, number *TAU, number *Workspace, int Lwork,        \
                                        int *devInfo)                                              \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, NULL, NO_ALGORITHMS, 0, false};        \
        td_problem p = {.kind = TD_FACTOR_QR,                                                      \
                        .type = type_,                                                             \
                        .m = m,                                                                    \
                        .n = n,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .tau = TAU,                                                                \
                        .info = devInfo,                                                           \
                        .batch = 1,                                                                \
                        .lent = {Workspace, Lwork > 0 ? (size_t)Lwork * sizeof *A : 0}};           \
        ASK_FOR_ELEMENTS(function, a, p, A, m, n, A, lda);                                         \
        WRAP(function, a, p, m, n, A, lda, TAU, Workspace, Lwork, devInfo);                        \
    }

#define DEFINE_FACTOR_QR_TYPED(function, ...)                                                      \
    TD_EXPORT cusolverStatus_t function(                                                           \
        cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,                \
        cudaDataType dataTypeA, void *A, int64_t lda, cudaDataType dataTypeTau, void *tau,         \
        cudaDataType computeType, void *bufferOnDevice, size_t workspaceInBytesOnDevice,           \
        void *bufferOnHost, size_t workspaceInBytesOnHost, int *info)                              \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, params, NO_ALGORITHMS, 0, false};      \
        td_problem p = {.kind = TD_FACTOR_QR,                                                      \
                        .type = dataTypeTau == dataTypeA ? type_of(dataTypeA, computeType)         \
                                                         : TD_TYPE_COUNT,                          \
                        .m = m,                                                                    \
                        .n = n,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .tau = tau,                                                                \
                        .info = info,                                                              \
                        .batch = 1,                                                                \
                        .lent = {bufferOnDevice, workspaceInBytesOnDevice}};                       \
        PASS_OTHER_TYPES(function, a, p, params, m, n, dataTypeA, A, lda, dataTypeTau, tau,        \
                         computeType, bufferOnDevice, workspaceInBytesOnDevice, bufferOnHost,      \
                         workspaceInBytesOnHost, info);                                            \
        ASK_FOR_BYTES(function, a, p, m, n, dataTypeA, A, lda, dataTypeA, tau, dataTypeA);         \
        WRAP(function, a, p, params, m, n, dataTypeA, A, lda, dataTypeTau, tau, computeType,       \
             bufferOnDevice, workspaceInBytesOnDevice, bufferOnHost, workspaceInBytesOnHost,       \
             info);                                                                                \
    }

/* ---- Q ---- */

#define DEFINE_FORM_Q(function, number, alpha_type, beta_type, type_, hermitian)                   \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, int m, int n, int k, number *A, \
                                        int lda, const number *tau, number *work, int lwork,       \
                                        int *info)                                                 \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, NULL, NO_ALGORITHMS, 0, false};        \
        td_problem p = {.kind = TD_FORM_Q,                                                         \
                        .type = type_,                                                             \
                        .m = m,                                                                    \
                        .n = n,                                                                    \
                        .k = k,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .tau = (void *)tau,                                                        \
                        .info = info,                                                              \
                        .batch = 1,                                                                \
                        .lent = {work, lwork > 0 ? (size_t)lwork * sizeof *A : 0}};                \
        ASK_FOR_ELEMENTS(function, a, p, A, m, n, k, A, lda, tau);                                 \
        WRAP(function, a, p, m, n, k, A, lda, tau, work, lwork, info);                             \
    }

#define DEFINE_APPLY_Q(function, number, alpha_type, beta_type, type_, hermitian)                  \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cublasSideMode_t side,          \
                                        cublasOperation_t trans, int m, int n, int k,              \
                                        const number *A, int lda, const number *tau, number *C,    \
                                        int ldc, number *work, int lwork, int *devInfo)            \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, NULL, NO_ALGORITHMS, 0, false};        \
        td_problem p = {.kind = TD_APPLY_Q,                                                        \
                        .type = type_,                                                             \
                        .side = (td_side)side,                                                     \
                        .op_a = (td_op)trans,                                                      \
                        .m = m,                                                                    \
                        .n = n,                                                                    \
                        .k = k,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .c = MATRIX(C, ldc),                                                       \
                        .tau = (void *)tau,                                                        \
                        .info = devInfo,                                                           \
                        .batch = 1,                                                                \
                        .lent = {work, lwork > 0 ? (size_t)lwork * sizeof *C : 0}};                \
        ASK_FOR_ELEMENTS(function, a, p, C, side, trans, m, n, k, A, lda, tau, C, ldc);            \
        WRAP(function, a, p, side, trans, m, n, k, A, lda, tau, C, ldc, work, lwork, devInfo);     \
    }

/* ---- eigenvalues ---- */

/* A td_eigen_solver's functions: cuSOLVER's own of binary32, on the handle of the call. */
static int elements_of_narrow(const void *call, int n, float *a, float *values)
{
    const asked *s = call;
    __typeof__(&cusolverDnSsyevd_bufferSize) ask =
        TD_ORIGINAL(s->library, cusolverDnSsyevd_bufferSize);
    int elements = 0;
    const bool is_known = ask && ask(s->handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, n,
                                     a, n, values, &elements) == CUSOLVER_STATUS_SUCCESS;
    return is_known ? elements : -1;
}

static bool solve_narrow(const void *call, int n, float *a, float *values, float *work,
                         int elements, int *info)
{
    const asked *s = call;
    __typeof__(&cusolverDnSsyevd) solve = TD_ORIGINAL(s->library, cusolverDnSsyevd);
    if (!solve) return false;
    td_original_enter(TD_CUSOLVER);
    const cusolverStatus_t status =
        solve(s->handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, n, a, n, values, work,
              elements, info);
    td_original_leave(TD_CUSOLVER);
    return status == CUSOLVER_STATUS_SUCCESS;
}

#define DEFINE_EIGEN(function, number, alpha_type, beta_type, type_, hermitian)                    \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cusolverEigMode_t jobz,         \
                                        cublasFillMode_t uplo, int n, number *A, int lda,          \
                                        number *W, number *work, int lwork, int *info)             \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, NULL, NO_ALGORITHMS, 0, false};        \
        td_problem p = {.kind = TD_EIGEN,                                                          \
                        .type = type_,                                                             \
                        .triangle = (td_triangle)uplo,                                             \
                        .n = n,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .values = W,                                                               \
                        .lacks_vectors = jobz != CUSOLVER_EIG_MODE_VECTOR,                         \
                        .solver = &(td_eigen_solver){elements_of_narrow, solve_narrow, &a},        \
                        .info = info,                                                              \
                        .batch = 1,                                                                \
                        .lent = {work, lwork > 0 ? (size_t)lwork * sizeof *A : 0}};                \
        ASK_FOR_ELEMENTS(function, a, p, A, CUSOLVER_EIG_MODE_VECTOR, uplo, n, A, lda, W);         \
        WRAP(function, a, p, jobz, uplo, n, A, lda, W, work, lwork, info);                         \
    }

#define DEFINE_EIGEN_TYPED(function, ...)                                                          \
    TD_EXPORT cusolverStatus_t function(                                                           \
        cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t jobz,              \
        cublasFillMode_t uplo, int64_t n, cudaDataType dataTypeA, void *A, int64_t lda,            \
        cudaDataType dataTypeW, void *W, cudaDataType computeType, void *bufferOnDevice,           \
        size_t workspaceInBytesOnDevice, void *bufferOnHost, size_t workspaceInBytesOnHost,        \
        int *info)                                                                                 \
    {                                                                                              \
        asked a = {TD_LIBRARY_OF(handle, function), handle, params, NO_ALGORITHMS, 0, false};      \
        td_problem p = {.kind = TD_EIGEN,                                                          \
                        .type = dataTypeW == CUDA_R_64F ? type_of(dataTypeA, computeType)          \
                                                        : TD_TYPE_COUNT,                           \
                        .triangle = (td_triangle)uplo,                                             \
                        .n = n,                                                                    \
                        .a = MATRIX(A, lda),                                                       \
                        .values = W,                                                               \
                        .lacks_vectors = jobz != CUSOLVER_EIG_MODE_VECTOR,                         \
                        .solver = &(td_eigen_solver){elements_of_narrow, solve_narrow, &a},        \
                        .info = info,                                                              \
                        .batch = 1,                                                                \
                        .lent = {bufferOnDevice, workspaceInBytesOnDevice}};                       \
        PASS_OTHER_TYPES(function, a, p, params, jobz, uplo, n, dataTypeA, A, lda, dataTypeW, W,   \
                         computeType, bufferOnDevice, workspaceInBytesOnDevice, bufferOnHost,      \
                         workspaceInBytesOnHost, info);                                            \
        ASK_FOR_BYTES(function, a, p, CUSOLVER_EIG_MODE_VECTOR, uplo, n, dataTypeA, A, lda,        \
                      dataTypeA, W, dataTypeA);                                                    \
        WRAP(function, a, p, params, jobz, uplo, n, dataTypeA, A, lda, dataTypeW, W, computeType,  \
             bufferOnDevice, workspaceInBytesOnDevice, bufferOnHost, workspaceInBytesOnHost,       \
             info);                                                                                \
    }

#define FACTOR_OF_TYPES(shape, ...) DEFINE_##shape(__VA_ARGS__)
#define FACTOR(name, forms, shape, kind, types, family)                                            \
    FACTOR_OF_TYPES(shape, cusolverDn##name, types)
#include "../lib/routine/routines.def"
