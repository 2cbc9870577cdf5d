/* cusolver_internal.h - shared by the files of the stand-in for cuSOLVER: handles, and how a
 * routine is described, checked and run.
 *
 * Routines stay within OpenBLAS's LAPACK. A real cuSOLVER makes some of its products by exported
 * functions of cuBLAS, which Tandem intercepts. Which products these are is known from no
 * documentation: a stand-in that chose some would show what Tandem does inside another solver than
 * a program has on a GPU. So it makes none by cuBLAS, and its results do not depend on Tandem. */
#ifndef HOSTGPU_CUSOLVER_INTERNAL_H
#define HOSTGPU_CUSOLVER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include <cusolverDn.h>

#include "blas.h"
#include "lapack.h"

/* ---- cusolver_handle.c ---- */

/* What the library gives out and takes back. It is kept when it was destroyed, for one that is made
 * later: so what is none any more is refused. */
typedef struct object {
    struct object *next_destroyed; /* of those that wait to be used again */
    const void *pool;              /* that it was made from; NULL: it is destroyed */
} object;

struct cusolverDnContext {
    object base;
    unsigned long long context; /* that it was made in, by its life's number */
    cudaStream_t stream;
    cusolverDeterministicMode_t deterministic_mode;
    cusolverMathMode_t math_mode;
    cudaEmulationStrategy_t emulation_strategy;
};

/* CUSOLVER_STATUS_SUCCESS if the handle is one and its context is the current one; for another
 * context says so on stderr. */
cusolverStatus_t hostgpu_check_solver(cusolverDnHandle_t handle, const char *function);

/* True for NULL, which is for all usual settings, and for what cusolverDnCreateParams made. */
bool hostgpu_are_params(cusolverDnParams_t params);

/* ---- cusolver_call.c ---- */

/* The lwork of a function that is not told its workspace's size. */
#define UNTOLD INT64_MAX

/* A call of any routine. Sizes and leading dimensions are in elements; a routine leaves those that
 * it does not have at 0. */
typedef struct {
    const char *name; /* of the function */
    /* Words for the function's parameters behind the handle, in its order: the fields' names here.
     * A wrong parameter's place in the list is its number in devInfo. */
    const char *parameters;
    const lapack_type *type;   /* NULL: the program's type is none that the routine knows */
    cusolverDnParams_t params; /* NULL where the function has none */
    cublasSideMode_t side;
    cublasFillMode_t uplo;
    cublasOperation_t op;
    cusolverEigMode_t jobz;
    signed char job_u, job_vt; /* as LAPACK's gesvd has them: 'A', 'S', 'O' or 'N' */
    int64_t m, n;              /* rows and columns of A, or of C in unmqr; a square A has m = n */
    int64_t k;                 /* reflectors that A holds */
    int64_t nrhs;              /* columns of B */
    void *a, *b;               /* b: right-hand sides, or C in unmqr */
    void *tau;                 /* factors of the reflectors, or values of syevd and gesvd */
    void *u, *vt;              /* vectors of gesvd */
    int64_t lda, ldb, ldu, ldvt;
    void *pivots;     /* NULL: rows are not interchanged */
    bool wide_pivots; /* pivots are int64_t, not int */
    void *work;
    int64_t lwork;      /* elements that the program says are at work */
    bool has_host_work; /* the function takes a workspace on the host */
    void *host_work;
    size_t host_bytes; /* that the program says are there */
    int *info;
} solver_call;

/* What is known of a routine. All but `run` look at sizes, flags and pointers alone. */
typedef struct {
    /* The first parameter that is wrong, in the words of solver_call.parameters; NULL: none is. */
    const char *(*find_wrong)(const solver_call *);
    int64_t (*work_elements)(const solver_call *); /* NULL: it has no workspace */
    /* True if all operands but workspace and info are in device memory; else says which is not. */
    bool (*are_operands)(const solver_call *);
    /* Sets *info; false without memory. */
    bool (*run)(const solver_call *, int *info);
    bool can_be_captured;
    size_t (*host_bytes)(const solver_call *); /* of a workspace on the host; NULL: it has none */
} solver_routine;

/* The number of elements of the call's workspace, at least 1, into *lwork. */
cusolverStatus_t hostgpu_solver_size(cusolverDnHandle_t handle, const solver_routine *routine,
                                     const solver_call *call, int *lwork);

/* Bytes of the call's workspaces on the device and on the host. */
cusolverStatus_t hostgpu_solver_bytes(cusolverDnHandle_t handle, const solver_routine *routine,
                                      const solver_call *call, size_t *on_device, size_t *on_host);

/* Checks the call and does it in the order of the handle's stream, or, if that is being captured,
 * when the graph runs. A wrong parameter is CUSOLVER_STATUS_INVALID_VALUE, and in *info is its
 * number, negated, if that is in device memory. What the workspace held is overwritten. */
cusolverStatus_t hostgpu_solver_run(cusolverDnHandle_t handle, const solver_routine *routine,
                                    const solver_call *call);

/* A routine's find_wrong where all that can be wrong is an m x n matrix. */
const char *hostgpu_find_wrong_matrix(const solver_call *call);

/* A routine's work_elements where LAPACK needs none; programs have to bring some all the same. */
int64_t hostgpu_elements_of_row(const solver_call *call);

/* True if the matrix is in device memory, as hostgpu_check_operand says. */
bool hostgpu_is_solver_matrix(const solver_call *call, const char *operand, const void *matrix,
                              int64_t rows, int64_t columns, int64_t ld);

/* The type of matrices and of computations; NULL: none of the four, or they differ. */
const lapack_type *hostgpu_solver_type(cudaDataType matrices, cudaDataType computations);

/* Whole elements of the type in so many bytes. */
int64_t hostgpu_elements_in(const lapack_type *type, size_t bytes);

/* LAPACK's letters. */
static inline char letter_of_fill(cublasFillMode_t uplo)
{
    return uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U';
}

static inline bool is_fill(cublasFillMode_t uplo)
{
    return uplo == CUBLAS_FILL_MODE_LOWER || uplo == CUBLAS_FILL_MODE_UPPER;
}

/* In order of checking: what of find_wrong is the first one. */
#define FIND_WRONG(condition, parameter)                                                           \
    do {                                                                                           \
        if (!(condition)) return parameter;                                                        \
    } while (0)

/* The call of a function, by its matrix A under the usual names and what else it has. */
#define SOLVER_CALL(name_, ...)                                                                    \
    (&(solver_call){.name = name_, .a = (void *)(uintptr_t)a, .lda = lda, __VA_ARGS__})

#define MATRIX_CALL(name_, ...) SOLVER_CALL(name_, .m = m, .n = n, __VA_ARGS__)

/* A function and the one that tells its workspace's size. Their parameters are in parentheses: what
 * follows the handle, up to where the size goes, and up to info. CALL(name, ...) is the routine's
 * SOLVER_CALL, `words` are its parameters, and the rest are fields that the size does not need. */
#define IN_PARENTHESES(...) __VA_ARGS__
#define DEFINE_SOLVER(function, letter, routine, CALL, sized, given, words, ...)                   \
    cusolverStatus_t function##_bufferSize(cusolverDnHandle_t handle, IN_PARENTHESES sized,        \
                                           int *lwork)                                             \
    {                                                                                              \
        return hostgpu_solver_size(                                                                \
            handle, &(routine), CALL(#function "_bufferSize", .type = &hostgpu_lapack_##letter),   \
            lwork);                                                                                \
    }                                                                                              \
    cusolverStatus_t function(cusolverDnHandle_t handle, IN_PARENTHESES given, int *info)          \
    {                                                                                              \
        return hostgpu_solver_run(handle, &(routine),                                              \
                                  CALL(#function, .parameters = words " info",                     \
                                       .type = &hostgpu_lapack_##letter, .info = info,             \
                                       __VA_ARGS__));                                              \
    }

/* The same with 64-bit sizes, whose type, `known`, is among the parameters. */
#define DEFINE_TYPED_SOLVER(function, known, routine, CALL, sized, given, words, ...)              \
    cusolverStatus_t function##_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,   \
                                           IN_PARENTHESES sized, size_t *on_device,                \
                                           size_t *on_host)                                        \
    {                                                                                              \
        return hostgpu_solver_bytes(                                                               \
            handle, &(routine),                                                                    \
            CALL(#function "_bufferSize", .params = params, .type = known, .has_host_work = true), \
            on_device, on_host);                                                                   \
    }                                                                                              \
    cusolverStatus_t function(cusolverDnHandle_t handle, cusolverDnParams_t params,                \
                              IN_PARENTHESES given, void *work, size_t work_bytes,                 \
                              void *host_work, size_t host_bytes, int *info)                       \
    {                                                                                              \
        const lapack_type *const type_ = known;                                                    \
        return hostgpu_solver_run(                                                                 \
            handle, &(routine),                                                                    \
            CALL(#function, .parameters = "params " words " work lwork host_work host_lwork",      \
                 .params = params, .type = type_, .work = work,                                    \
                 .lwork = hostgpu_elements_in(type_, work_bytes), .has_host_work = true,           \
                 .host_work = host_work, .host_bytes = host_bytes, __VA_ARGS__));                  \
    }

/* X(letter, element, real element, orthogonal or unitary, symmetric or Hermitian) */
#define FOR_SOLVER_TYPES(X)                                                                        \
    X(S, float, float, or, sy)                                                                     \
    X(D, double, double, or, sy)                                                                   \
    X(C, cuComplex, float, un, he)                                                                 \
    X(Z, cuDoubleComplex, double, un, he)

#endif
