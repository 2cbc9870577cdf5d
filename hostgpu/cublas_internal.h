/* cublas_internal.h - shared by the files of the stand-in for cuBLAS. */
#ifndef HOSTGPU_CUBLAS_INTERNAL_H
#define HOSTGPU_CUBLAS_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include <cublas_api.h>

#include "blas.h"
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
    /* Of the emulation of binary64. `emulated_bits` is where a product writes the bits that it has
     * kept, -1 where it was not emulated; NULL: nowhere. */
    cudaEmulationSpecialValuesSupport special_values;
    cudaEmulationMantissaControl mantissa_control;
    int most_mantissa_bits, mantissa_bit_offset;
    int *emulated_bits;
};

enum { IS_HANDLE = 0x7a9d3c51 };

/* For fork() alone (cublas_fork.c): of all handles, and of cublas.h's. */
extern pthread_mutex_t hostgpu_handles_lock, hostgpu_legacy_lock;

static inline bool is_handle(cublasHandle_t handle)
{
    return handle && handle->is_handle == IS_HANDLE;
}

/* Every function exists with int sizes and, under a name ending in _64, with int64_t sizes. */
#define FOR_BOTH_WIDTHS(X)                                                                         \
    X(int, )                                                                                       \
    X(int64_t, _64)

/* Leaves the function with a status that is an error. */
#define REQUIRE_SUCCESS(expression)                                                                \
    do {                                                                                           \
        const cublasStatus_t found = (expression);                                                 \
        if (found) return found;                                                                   \
    } while (0)

/* Leaves the function where the handle's work cannot be done now. */
#define REQUIRE_READY(handle, name) REQUIRE_SUCCESS(hostgpu_check_not_captured(handle, name))

/* cublas_handle.c: CUBLAS_STATUS_SUCCESS if work of the function can be done now for the handle;
 * else says on stderr why not. */
cublasStatus_t hostgpu_check_handle(cublasHandle_t handle, const char *function);
cublasStatus_t hostgpu_check_not_captured(cublasHandle_t handle, const char *function);

/* True if cuBLAS could read a scalar of `bytes` bytes at pointer: in host memory it has to be
 * aligned to its size, for cuBLAS loads both parts of a complex number by one instruction. Else
 * says on stderr which operand of which function it is. */
bool hostgpu_check_scalar(const char *function, const char *operand, cublasPointerMode_t mode,
                          const void *pointer, size_t bytes);

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
    bool asks_emulation; /* by its type of computation */
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
