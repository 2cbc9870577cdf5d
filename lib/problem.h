/* problem.h - one matrix product as every entry point describes it, and its validity. Pure: no CUDA calls. */
#ifndef TD_PROBLEM_H
#define TD_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct CUstream_st *td_stream;

typedef enum { TD_OP_N, TD_OP_T, TD_OP_C } td_op;

/* alpha or beta: a number on the host, or a number in device memory that only kernels may read. */
typedef struct {
    double value;         /* when device is NULL */
    const double *device; /* device pointer mode; NULL otherwise */
} td_scalar;

/* A batch of column-major matrices in device memory. Matrix i starts at array[i] (array itself in device
 * memory) if array is not NULL, else at data + i * stride. */
typedef struct {
    double *data;
    double *const *array;
    int64_t ld;     /* leading dimension, in elements */
    int64_t stride; /* distance between matrices of a batch, in elements; 0 shares one matrix */
} td_matrix;

/* C <- alpha op(A) op(B) + beta C for each of batch problems; op(A) is m x k, op(B) k x n, C m x n. */
typedef struct {
    td_op op_a, op_b;
    int64_t m, n, k;
    td_scalar alpha, beta;
    td_matrix a, b, c; /* a and b are only read */
    int64_t batch;     /* 1 for a plain product */
    td_stream stream;
} td_gemm;

/* True if the sizes and leading dimensions are ones that cuBLAS accepts, and no operand is NULL (which cuBLAS accepts
 * at times). */
bool td_gemm_is_valid(const td_gemm *p);

/* True if there is nothing to compute and C stays as it is: m, n or batch is 0. */
bool td_gemm_is_empty(const td_gemm *p);

#endif
