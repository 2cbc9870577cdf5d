/* cusolver.c - wrappers of cuSOLVER's factorisations, of what is made of their factors, and of the
 * functions that tell what no getter does: which cuSOLVER made a handle, and which algorithms a
 * program asks for. All are as deterministic as cuSOLVER's are by default, so that the
 * deterministic mode is not asked. */
#include <cusolverDn.h>

#include "notes.h"
#include "shapes.h"
#include "unseen.h"
#include "wrap.h"

/* CUSOLVER_FP64_EMULATED_FIXEDPOINT_MATH, which older headers lack. */
enum { FP64_EMULATED = 4 };

/* ---- parameters of the functions with 64-bit sizes ---- */

/* Functions as bits by cusolverDnFunction_t: those of which it is known whether they shall use
 * their default algorithm, and of these the ones that shall not. */
typedef struct {
    cusolverDnParams_t params;
    unsigned known, others;
} wish;

static td_notes wishes = {.size = sizeof(wish)};

void td_unseen_wishes(void) { td_notes_forget_all(&wishes); }

/* True if they were made, and not destroyed since. */
static bool are_noted(cusolverDnParams_t params)
{
    wish w;
    return td_notes_find(&wishes, params, &w);
}

/* The function of a factorisation that has several algorithms; -1: other kinds have one. */
static int function_of(td_kind kind)
{
    return kind == TD_FACTOR_LU         ? (int)CUSOLVERDN_GETRF
           : kind == TD_FACTOR_CHOLESKY ? (int)CUSOLVERDN_POTRF
                                        : -1;
}

/* Why a call with these parameters is cuSOLVER's: it shall not use the default algorithm, or may
 * not. NULL: it shall. */
static const char *refusal(cusolverDnParams_t params, td_kind kind)
{
    const int function = function_of(kind);
    wish w = {.params = params};
    if (!params || function < 0) return NULL;
    (void)td_notes_find(&wishes, params, &w);
    return w.others >> function & 1u     ? td_reason_algorithm
           : !(w.known >> function & 1u) ? td_reason_algorithms
                                         : NULL;
}

TD_EXPORT cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *params)
{
    td_library *library = TD_LIBRARY_OF(NULL, cusolverDnCreateParams);
    __typeof__(&cusolverDnCreateParams) original = TD_ORIGINAL(library, cusolverDnCreateParams);
    if (!original) return CUSOLVER_STATUS_NOT_INITIALIZED;
    const cusolverStatus_t status = original(params);
    if (status != CUSOLVER_STATUS_SUCCESS) return status;
    td_notes_set(&wishes, &(wish){.params = *params, .known = ~0u});
    return status;
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
    w.known |= bit;
    td_notes_set(&wishes, &w);
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
    cusolverDnParams_t params; /* NULL: those of a function that has none, or the usual ones */
    size_t needed_bytes;       /* of workspace on the device */
    bool is_refused; /* by cuSOLVER when it was asked for these, or it will want more on the host */
} asked;

/* True if a program has brought the workspace that cuSOLVER asks for. */
static bool is_brought(const void *memory, size_t bytes, size_t needed)
{
    return (memory || needed == 0) && bytes >= needed;
}

/* Starts a wrapped call whose matrix and sizes are in *p. Arguments that cuSOLVER refuses are for
 * cuSOLVER to refuse. True if the original function must run. */
static bool begin(td_entry entry, const asked *a, td_problem *p, td_call *call)
{
    const bool has_all =
        p->info && !a->is_refused && is_brought(p->lent.memory, p->lent.bytes, a->needed_bytes);
    if (!td_wrap_is_seen(entry)) return td_wrap_pass(entry, call);
    const char *reason = !query_handle(a->library, a->handle, p) || !has_all
                             ? td_reason_invalid
                             : refusal(a->params, p->kind);
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

/* True if the call may be Tandem's by all that is known without its workspace and its site. Only
 * then cuSOLVER is asked how large the workspace has to be. */
static bool is_taken(td_entry entry, const td_problem *p)
{
    return td_wrap_is_seen(entry) && td_wrap_decide(entry, p).engine;
}

/* Begins a wrapper: `a` is its call, `p` its problem. All have parameters handle, n, A and lda. */
#define DESCRIBE(function, params_, kind_, type_, ...)                                             \
    asked a = {.library = TD_LIBRARY_OF(handle, function), .handle = handle, .params = params_};   \
    td_problem p = {.kind = kind_,                                                                 \
                    .type = type_,                                                                 \
                    .n = n,                                                                        \
                    .a = MATRIX(A, lda),                                                           \
                    .batch = 1,                                                                    \
                    .caller = __builtin_return_address(0),                                         \
                    __VA_ARGS__};

/* A workspace of that many elements. */
#define LENT(work, elements)                                                                       \
    .lent = {work, (elements) > 0 ? (size_t)(elements) * sizeof *(work) : 0}

/* Sets the bytes of workspace that the call needs, by `function`_bufferSize with the call's own
 * arguments: cuSOLVER refuses less. That of ASK_FOR_ELEMENTS counts elements, each as large as
 * *number, that of ASK_FOR_BYTES bytes, also of one on the host. They stay 0 if nobody can say. */
#define ASK_FOR_ELEMENTS(function, number, ...)                                                    \
    if (is_taken(TD_ENTRY_##function, &p)) {                                                       \
        __typeof__(&(function##_bufferSize)) ask = TD_ORIGINAL(a.library, function##_bufferSize);  \
        int elements = 0;                                                                          \
        a.is_refused = ask && ask(handle, __VA_ARGS__, &elements) != CUSOLVER_STATUS_SUCCESS;      \
        if (elements > 0) a.needed_bytes = (size_t)elements * sizeof *(number);                    \
    }
#define ASK_FOR_BYTES(function, ...)                                                               \
    if (is_taken(TD_ENTRY_##function, &p)) {                                                       \
        __typeof__(&(function##_bufferSize)) ask = TD_ORIGINAL(a.library, function##_bufferSize);  \
        size_t on_host = 0;                                                                        \
        a.is_refused = ask && (ask(handle, params, __VA_ARGS__, &a.needed_bytes, &on_host) !=      \
                                   CUSOLVER_STATUS_SUCCESS ||                                      \
                               !is_brought(bufferOnHost, workspaceInBytesOnHost, on_host));        \
    }

/* Has the parameters of a function without a workspace looked at by `other`_bufferSize, which has
 * the same, unless they are noted: those that are none any more are for cuSOLVER to refuse. */
#define ASK_FOR_NOTHING(function, other, ...)                                                      \
    if (params && !are_noted(params) && is_taken(TD_ENTRY_##function, &p)) {                       \
        __typeof__(&(other##_bufferSize)) ask = TD_ORIGINAL(a.library, other##_bufferSize);        \
        size_t on_device = 0, on_host = 0;                                                         \
        a.is_refused = ask && ask(handle, params, __VA_ARGS__, &on_device, &on_host) !=            \
                                  CUSOLVER_STATUS_SUCCESS;                                         \
    }

/* Runs the original function with these arguments: `status` is what it returns. */
#define RUN_ORIGINAL(function, ...)                                                                \
    __typeof__(&(function)) original = TD_ORIGINAL(a.library, function);                           \
    const cusolverStatus_t status =                                                                \
        original ? original(handle, __VA_ARGS__) : CUSOLVER_STATUS_NOT_INITIALIZED

/* The rest of a wrapper, once `p` and `a` are complete. */
#define WRAP(function, ...)                                                                        \
    td_call call;                                                                                  \
    if (!begin(TD_ENTRY_##function, &a, &p, &call)) return status_of(&call);                       \
    RUN_ORIGINAL(function, __VA_ARGS__);                                                           \
    td_wrap_end(&call, status == CUSOLVER_STATUS_SUCCESS);                                         \
    return status

/* The types that are among the arguments; TD_TYPE_COUNT: others than binary64. */
static td_type type_of(cudaDataType matrices, cudaDataType computations)
{
    if (matrices != computations) return TD_TYPE_COUNT;
    return matrices == CUDA_R_64F   ? TD_BINARY64
           : matrices == CUDA_C_64F ? TD_COMPLEX_BINARY64
                                    : TD_TYPE_COUNT;
}

/* The body of a wrapper of a function with types among its arguments, which asks cuSOLVER about its
 * workspace, or its parameters, by ASK. Calls with other types are cuSOLVER's, and not counted. */
#define WRAP_TYPED(function, ASK, ...)                                                             \
    if (p.type == TD_TYPE_COUNT) {                                                                 \
        RUN_ORIGINAL(function, params, __VA_ARGS__);                                               \
        return status;                                                                             \
    }                                                                                              \
    ASK;                                                                                           \
    WRAP(function, params, __VA_ARGS__)

/* The last parameters of a function with types among its arguments. */
#define TYPED_PARAMETERS                                                                           \
    void *bufferOnDevice, size_t workspaceInBytesOnDevice, void *bufferOnHost,                     \
        size_t workspaceInBytesOnHost, int *info
#define TYPED_ARGUMENTS                                                                            \
    bufferOnDevice, workspaceInBytesOnDevice, bufferOnHost, workspaceInBytesOnHost, info
#define TYPED_FIELDS .info = info, .lent = {bufferOnDevice, workspaceInBytesOnDevice}

/* ---- LU ---- */

/* The program does not tell how large its workspace is: it is taken to be as large as is needed. */
#define DEFINE_FACTOR_LU(function, number, alpha_type, beta_type, type_, hermitian)                \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, int m, int n, number *A,        \
                                        int lda, number *Workspace, int *devIpiv, int *devInfo)    \
    {                                                                                              \
        DESCRIBE(function, NULL, TD_FACTOR_LU, type_, .m = m, .pivots = devIpiv, .info = devInfo,  \
                 .lent = {.memory = Workspace})                                                    \
        ASK_FOR_ELEMENTS(function, A, m, n, A, lda)                                                \
        p.lent.bytes = a.needed_bytes;                                                             \
        WRAP(function, m, n, A, lda, Workspace, devIpiv, devInfo);                                 \
    }

#define DEFINE_FACTOR_LU_TYPED(function, ...)                                                      \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cusolverDnParams_t params,      \
                                        int64_t m, int64_t n, cudaDataType dataTypeA, void *A,     \
                                        int64_t lda, int64_t *ipiv, cudaDataType computeType,      \
                                        TYPED_PARAMETERS)                                          \
    {                                                                                              \
        DESCRIBE(function, params, TD_FACTOR_LU, type_of(dataTypeA, computeType), .m = m,          \
                 .pivots = ipiv, .has_wide_pivots = true, TYPED_FIELDS)                            \
        WRAP_TYPED(function, ASK_FOR_BYTES(function, m, n, dataTypeA, A, lda, dataTypeA), m, n,    \
                   dataTypeA, A, lda, ipiv, computeType, TYPED_ARGUMENTS);                         \
    }

/* ---- Cholesky ---- */

/* A function that works in place in one triangle of A. */
#define DEFINE_IN_TRIANGLE(function, number, kind_, type_)                                         \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n,   \
                                        number *A, int lda, number *Workspace, int Lwork,          \
                                        int *devInfo)                                              \
    {                                                                                              \
        DESCRIBE(function, NULL, kind_, type_, .triangle = (td_triangle)uplo, .info = devInfo,     \
                 LENT(Workspace, Lwork))                                                           \
        ASK_FOR_ELEMENTS(function, A, uplo, n, A, lda)                                             \
        WRAP(function, uplo, n, A, lda, Workspace, Lwork, devInfo);                                \
    }

#define DEFINE_FACTOR_CHOLESKY(function, number, alpha_type, beta_type, type_, hermitian)          \
    DEFINE_IN_TRIANGLE(function, number, TD_FACTOR_CHOLESKY, type_)

#define DEFINE_FACTOR_CHOLESKY_TYPED(function, ...)                                                \
    TD_EXPORT cusolverStatus_t function(                                                           \
        cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t uplo, int64_t n,    \
        cudaDataType dataTypeA, void *A, int64_t lda, cudaDataType computeType, TYPED_PARAMETERS)  \
    {                                                                                              \
        DESCRIBE(function, params, TD_FACTOR_CHOLESKY, type_of(dataTypeA, computeType),            \
                 .triangle = (td_triangle)uplo, TYPED_FIELDS)                                      \
        WRAP_TYPED(function, ASK_FOR_BYTES(function, uplo, n, dataTypeA, A, lda, dataTypeA), uplo, \
                   n, dataTypeA, A, lda, computeType, TYPED_ARGUMENTS);                            \
    }

/* ---- solutions by factors ---- */

#define RIGHT_SIDES .k = nrhs, .b = MATRIX(B, ldb)

#define DEFINE_SOLVE_LU(function, number, alpha_type, beta_type, type_, hermitian)                 \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cublasOperation_t trans, int n, \
                                        int nrhs, const number *A, int lda, const int *devIpiv,    \
                                        number *B, int ldb, int *devInfo)                          \
    {                                                                                              \
        DESCRIBE(function, NULL, TD_LU_SOLVE, type_, .op_a = (td_op)trans, RIGHT_SIDES,            \
                 .pivots = (void *)devIpiv, .info = devInfo)                                       \
        WRAP(function, trans, n, nrhs, A, lda, devIpiv, B, ldb, devInfo);                          \
    }

#define DEFINE_SOLVE_LU_TYPED(function, ...)                                                       \
    TD_EXPORT cusolverStatus_t function(                                                           \
        cusolverDnHandle_t handle, cusolverDnParams_t params, cublasOperation_t trans, int64_t n,  \
        int64_t nrhs, cudaDataType dataTypeA, const void *A, int64_t lda, const int64_t *ipiv,     \
        cudaDataType dataTypeB, void *B, int64_t ldb, int *info)                                   \
    {                                                                                              \
        DESCRIBE(function, params, TD_LU_SOLVE, type_of(dataTypeA, dataTypeB),                     \
                 .op_a = (td_op)trans, RIGHT_SIDES, .pivots = (void *)ipiv,                        \
                 .has_wide_pivots = true, .info = info)                                            \
        WRAP_TYPED(                                                                                \
            function,                                                                              \
            ASK_FOR_NOTHING(function, cusolverDnXgetrf, n, n, dataTypeA, A, lda, dataTypeA),       \
            trans, n, nrhs, dataTypeA, A, lda, ipiv, dataTypeB, B, ldb, info);                     \
    }

#define DEFINE_SOLVE_CHOLESKY(function, number, alpha_type, beta_type, type_, hermitian)           \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n,   \
                                        int nrhs, const number *A, int lda, number *B, int ldb,    \
                                        int *devInfo)                                              \
    {                                                                                              \
        DESCRIBE(function, NULL, TD_CHOLESKY_SOLVE, type_, .triangle = (td_triangle)uplo,          \
                 RIGHT_SIDES, .info = devInfo)                                                     \
        WRAP(function, uplo, n, nrhs, A, lda, B, ldb, devInfo);                                    \
    }

#define DEFINE_SOLVE_CHOLESKY_TYPED(function, ...)                                                 \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cusolverDnParams_t params,      \
                                        cublasFillMode_t uplo, int64_t n, int64_t nrhs,            \
                                        cudaDataType dataTypeA, const void *A, int64_t lda,        \
                                        cudaDataType dataTypeB, void *B, int64_t ldb, int *info)   \
    {                                                                                              \
        DESCRIBE(function, params, TD_CHOLESKY_SOLVE, type_of(dataTypeA, dataTypeB),               \
                 .triangle = (td_triangle)uplo, RIGHT_SIDES, .info = info)                         \
        WRAP_TYPED(                                                                                \
            function,                                                                              \
            ASK_FOR_NOTHING(function, cusolverDnXpotrf, uplo, n, dataTypeA, A, lda, dataTypeA),    \
            uplo, n, nrhs, dataTypeA, A, lda, dataTypeB, B, ldb, info);                            \
    }

#define DEFINE_INVERT_CHOLESKY(function, number, alpha_type, beta_type, type_, hermitian)          \
    DEFINE_IN_TRIANGLE(function, number, TD_CHOLESKY_INVERT, type_)

/* ---- QR ---- */

#define DEFINE_FACTOR_QR(function, number, alpha_type, beta_type, type_, hermitian)                \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, int m, int n, number *A,        \
                                        int lda, number *TAU, number *Workspace, int Lwork,        \
                                        int *devInfo)                                              \
    {                                                                                              \
        DESCRIBE(function, NULL, TD_FACTOR_QR, type_, .m = m, .tau = TAU, .info = devInfo,         \
                 LENT(Workspace, Lwork))                                                           \
        ASK_FOR_ELEMENTS(function, A, m, n, A, lda)                                                \
        WRAP(function, m, n, A, lda, TAU, Workspace, Lwork, devInfo);                              \
    }

#define DEFINE_FACTOR_QR_TYPED(function, ...)                                                      \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cusolverDnParams_t params,      \
                                        int64_t m, int64_t n, cudaDataType dataTypeA, void *A,     \
                                        int64_t lda, cudaDataType dataTypeTau, void *tau,          \
                                        cudaDataType computeType, TYPED_PARAMETERS)                \
    {                                                                                              \
        DESCRIBE(function, params, TD_FACTOR_QR,                                                   \
                 dataTypeTau == dataTypeA ? type_of(dataTypeA, computeType) : TD_TYPE_COUNT,       \
                 .m = m, .tau = tau, TYPED_FIELDS)                                                 \
        WRAP_TYPED(function,                                                                       \
                   ASK_FOR_BYTES(function, m, n, dataTypeA, A, lda, dataTypeA, tau, dataTypeA), m, \
                   n, dataTypeA, A, lda, dataTypeTau, tau, computeType, TYPED_ARGUMENTS);          \
    }

/* ---- Q ---- */

#define DEFINE_FORM_Q(function, number, alpha_type, beta_type, type_, hermitian)                   \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, int m, int n, int k, number *A, \
                                        int lda, const number *tau, number *work, int lwork,       \
                                        int *info)                                                 \
    {                                                                                              \
        DESCRIBE(function, NULL, TD_FORM_Q, type_, .m = m, .k = k, .tau = (void *)tau,             \
                 .info = info, LENT(work, lwork))                                                  \
        ASK_FOR_ELEMENTS(function, A, m, n, k, A, lda, tau)                                        \
        WRAP(function, m, n, k, A, lda, tau, work, lwork, info);                                   \
    }

#define DEFINE_APPLY_Q(function, number, alpha_type, beta_type, type_, hermitian)                  \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cublasSideMode_t side,          \
                                        cublasOperation_t trans, int m, int n, int k,              \
                                        const number *A, int lda, const number *tau, number *C,    \
                                        int ldc, number *work, int lwork, int *devInfo)            \
    {                                                                                              \
        DESCRIBE(function, NULL, TD_APPLY_Q, type_, .side = (td_side)side, .op_a = (td_op)trans,   \
                 .m = m, .k = k, .c = MATRIX(C, ldc), .tau = (void *)tau, .info = devInfo,         \
                 LENT(work, lwork))                                                                \
        ASK_FOR_ELEMENTS(function, C, side, trans, m, n, k, A, lda, tau, C, ldc)                   \
        WRAP(function, side, trans, m, n, k, A, lda, tau, C, ldc, work, lwork, devInfo);           \
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

#define EIGEN_FIELDS                                                                               \
    .triangle = (td_triangle)uplo, .values = W, .lacks_vectors = jobz != CUSOLVER_EIG_MODE_VECTOR, \
    .solver = &(td_eigen_solver)                                                                   \
    {                                                                                              \
        elements_of_narrow, solve_narrow, &a                                                       \
    }

#define DEFINE_EIGEN(function, number, alpha_type, beta_type, type_, hermitian)                    \
    TD_EXPORT cusolverStatus_t function(cusolverDnHandle_t handle, cusolverEigMode_t jobz,         \
                                        cublasFillMode_t uplo, int n, number *A, int lda,          \
                                        number *W, number *work, int lwork, int *info)             \
    {                                                                                              \
        DESCRIBE(function, NULL, TD_EIGEN, type_, EIGEN_FIELDS, .info = info, LENT(work, lwork))   \
        ASK_FOR_ELEMENTS(function, A, CUSOLVER_EIG_MODE_VECTOR, uplo, n, A, lda, W)                \
        WRAP(function, jobz, uplo, n, A, lda, W, work, lwork, info);                               \
    }

#define DEFINE_EIGEN_TYPED(function, ...)                                                          \
    TD_EXPORT cusolverStatus_t function(                                                           \
        cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t jobz,              \
        cublasFillMode_t uplo, int64_t n, cudaDataType dataTypeA, void *A, int64_t lda,            \
        cudaDataType dataTypeW, void *W, cudaDataType computeType, TYPED_PARAMETERS)               \
    {                                                                                              \
        DESCRIBE(function, params, TD_EIGEN,                                                       \
                 dataTypeW == CUDA_R_64F ? type_of(dataTypeA, computeType) : TD_TYPE_COUNT,        \
                 EIGEN_FIELDS, TYPED_FIELDS)                                                       \
        WRAP_TYPED(function,                                                                       \
                   ASK_FOR_BYTES(function, CUSOLVER_EIG_MODE_VECTOR, uplo, n, dataTypeA, A, lda,   \
                                 dataTypeA, W, dataTypeA),                                         \
                   jobz, uplo, n, dataTypeA, A, lda, dataTypeW, W, computeType, TYPED_ARGUMENTS);  \
    }

#define FACTOR_OF_TYPES(shape, ...) DEFINE_##shape(__VA_ARGS__)
#define FACTOR(name, forms, shape, kind, types, family)                                            \
    FACTOR_OF_TYPES(shape, cusolverDn##name, types)
#include "../lib/routine/routines.def"
