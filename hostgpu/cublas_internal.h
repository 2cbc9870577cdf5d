/* cublas_internal.h - shared by the files of the stand-in for cuBLAS. */
#ifndef HOSTGPU_CUBLAS_INTERNAL_H
#define HOSTGPU_CUBLAS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include <cublas_api.h>

#include "executor.h"

/* Destroyed handles are kept, for those that are made later: so what is no handle any more is
 * refused. */
struct cublasContext {
    struct cublasContext *next;           /* of all that were made */
    struct cublasContext *next_destroyed; /* of those that wait to be used again */
    unsigned is_handle;                   /* IS_HANDLE, or it is none (any more) */
    unsigned long long context;           /* that it was made in, by its life's number */
    cudaStream_t stream;
    cublasPointerMode_t pointer_mode;
    cublasMath_t math_mode;
    cublasAtomicsMode_t atomics_mode;
    int sm_count_target;
    cublasEmulationStrategy_t emulation_strategy;
};

enum { IS_HANDLE = 0x7a9d3c51 };

static inline bool is_handle(cublasHandle_t handle)
{
    return handle && handle->is_handle == IS_HANDLE;
}

/* Every function exists with int sizes and, under a name ending in _64, with int64_t sizes. */
#define FOR_BOTH_WIDTHS(X)                                                                         \
    X(int, )                                                                                       \
    X(int64_t, _64)

/* Leaves the function where a check fails. */
#define REQUIRE(condition, status)                                                                 \
    do {                                                                                           \
        if (!(condition)) return status;                                                           \
    } while (0)

/* Leaves the function with a status that is an error. */
#define REQUIRE_SUCCESS(expression)                                                                \
    do {                                                                                           \
        const cublasStatus_t found = (expression);                                                 \
        if (found) return found;                                                                   \
    } while (0)

/* Leaves the function where the handle's work cannot be done now. */
#define REQUIRE_READY(handle, name) REQUIRE_SUCCESS(hostgpu_check_not_captured(handle, name))

/* Names of functions of one type, for templates. */
#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c)  JOIN_(a, b, c)

/* Of four parts at once: cublas_v2.h gives names without _v2 another meaning. */
#define JOIN_FOUR_(a, b, c, d) a##b##c##d
#define JOIN_FOUR(a, b, c, d)  JOIN_FOUR_(a, b, c, d)

static inline bool is_op(cublasOperation_t op)
{
    return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

static inline bool is_ld(int64_t ld, int64_t rows) { return ld >= (rows > 1 ? rows : 1); }

/* True if the size fits the BLAS below, which counts in int. */
static inline bool is_small(int64_t size) { return size <= INT32_MAX; }

/* More than any memory holds, and few enough that their bytes can be counted. */
#define HOSTGPU_MOST_ELEMENTS (INT64_MAX / 64)

/* Elements from the first to behind the last of a rows x columns matrix, and of a vector. */
static inline size_t matrix_extent(int64_t rows, int64_t columns, int64_t ld)
{
    int64_t extent;

    if (!rows || !columns) return 0;
    if (__builtin_mul_overflow(columns - 1, ld, &extent) ||
        __builtin_add_overflow(extent, rows, &extent) || extent > HOSTGPU_MOST_ELEMENTS)
        return HOSTGPU_MOST_ELEMENTS;
    return (size_t)extent;
}

static inline size_t vector_extent(int64_t n, int64_t step)
{
    return n > 0 ? (size_t)((n - 1) * (step < 0 ? -step : step) + 1) : 0;
}

/* cublas_handle.c: CUBLAS_STATUS_SUCCESS if work of the function can be done now for the handle;
 * else says on stderr why not. */
cublasStatus_t hostgpu_check_handle(cublasHandle_t handle, const char *function);
cublasStatus_t hostgpu_check_not_captured(cublasHandle_t handle, const char *function);

/* True if a device could use `bytes` bytes from pointer; else says on stderr which operand of
 * which function it is. No bytes: always true. */
bool hostgpu_check_operand(const char *function, const char *operand, const void *pointer,
                           size_t bytes);

/* True if cuBLAS could read a scalar of `bytes` bytes at pointer: in host memory it has to be
 * aligned to its size, for cuBLAS loads both parts of a complex number by one instruction. Else
 * says on stderr which operand of which function it is. */
bool hostgpu_check_scalar(const char *function, const char *operand, cublasPointerMode_t mode,
                          const void *pointer, size_t bytes);

/* cublas_end.c: around all that OpenBLAS computes. */
void hostgpu_begin_blas(void);
void hostgpu_end_blas(void);

/* cublas_legacy.c: keeps the status for cublasGetError() of cublas.h, and returns it. */
cublasStatus_t hostgpu_record_legacy(cublasStatus_t status);

/* cublas_xt.c: CUBLAS_STATUS_SUCCESS if the handle was told of a device. */
struct cublasXtContext;
cublasStatus_t hostgpu_check_xt(struct cublasXtContext *handle);

/* ---- cublas_gemm.c ---- */

typedef enum {
    PRODUCT_F64,
    PRODUCT_F32,
    PRODUCT_C64, /* of two binary64 */
    PRODUCT_C32,
    PRODUCT_I8,
    PRODUCT_UNKNOWN
} product_type;

/* A batch of column-major matrices; matrix i starts at array[i], or at data + i * stride
 * elements. */
typedef struct {
    const void *data;
    const void *const *array;
    int64_t ld, stride;
} product_operand;

/* C <- alpha op(A) op(B) + beta C, `batch` times. */
typedef struct {
    const char *function;
    product_type type;
    cublasOperation_t op_a, op_b;
    int64_t m, n, k, batch;
    const void *alpha, *beta; /* of the matrices' type, or int32 for int8 products */
    product_operand a, b, c;
} product;

/* What hostgpu_multiply would refuse of the arguments themselves, wherever they point. */
cublasStatus_t hostgpu_check_product(cublasHandle_t handle, const product *p);

/* Now, or, if the handle's stream is being captured, when the graph runs. */
cublasStatus_t hostgpu_multiply(cublasHandle_t handle, const product *p);

/* At once, for scalars on the host and matrices wherever the host reads and writes. */
cublasStatus_t hostgpu_multiply_anywhere(const product *p);

#endif
