/* check_cublaslt.c - descriptors of the stand-in for cublasLt, and what it refuses. Products, in
 * every order and operation, are compared with exact ones by tests/preload/check_lt.py. */
#include <cublasLt.h>
#include <cuda_runtime.h>

#include "../support/test.h"

#define expect(call, status) assert_int_equal((call), CUBLAS_STATUS_##status)

TEST(test_attributes)
{
    cublasLtMatmulDesc_t operation = NULL;
    int32_t value = -1, transposed = CUBLAS_OP_T;
    size_t written = 0;

    expect(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_64F, CUDA_R_64F), SUCCESS);
    expect(cublasLtMatmulDescGetAttribute(operation, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &value,
                                          sizeof value, &written),
           SUCCESS);
    assert_int_equal(value, CUBLAS_COMPUTE_64F);
    assert_int_equal(written, sizeof value);
    expect(cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &transposed,
                                          sizeof transposed),
           SUCCESS);
    expect(cublasLtMatmulDescGetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &value,
                                          sizeof value, NULL),
           SUCCESS);
    assert_int_equal(value, CUBLAS_OP_T);
    expect(
        cublasLtMatmulDescGetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, NULL, 0, &written),
        SUCCESS);
    assert_int_equal(written, sizeof value);
    expect(cublasLtMatmulDescDestroy(operation), SUCCESS);
}

TEST(test_bad_attributes)
{
    cublasLtMatrixLayout_t layout = NULL;
    int64_t value = 1;

    expect(cublasLtMatrixLayoutCreate(&layout, CUDA_R_64F, 3, 4, 3), SUCCESS);
    expect(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_LD, &value, 4),
           INVALID_VALUE);
    expect(cublasLtMatrixLayoutSetAttribute(layout, (cublasLtMatrixLayoutAttribute_t)99, &value,
                                            sizeof value),
           INVALID_VALUE);
    expect(cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_LD, &value, 4, NULL),
           INVALID_VALUE);
    expect(cublasLtMatrixLayoutGetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_LD, &value, sizeof value,
                                            NULL),
           SUCCESS);
    assert_int_equal(value, 3);
    expect(cublasLtMatrixLayoutCreate(NULL, CUDA_R_64F, 3, 4, 3), INVALID_VALUE);
    expect(cublasLtMatrixLayoutDestroy(layout), SUCCESS);
}

/* Calls that end before anything is read: a 2 x 3 matrix times one of `inner` x 2. */
static cublasStatus_t multiply(cudaDataType_t type, uint64_t inner, int64_t ld)
{
    static double memory[8];
    const double one = 1.0;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, c;

    expect(cublasLtCreate(&handle), SUCCESS);
    expect(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_64F, CUDA_R_64F), SUCCESS);
    expect(cublasLtMatrixLayoutCreate(&a, type, 2, 3, ld), SUCCESS);
    expect(cublasLtMatrixLayoutCreate(&b, CUDA_R_64F, inner, 2, (int64_t)inner), SUCCESS);
    expect(cublasLtMatrixLayoutCreate(&c, CUDA_R_64F, 2, 2, 2), SUCCESS);
    const cublasStatus_t status = cublasLtMatmul(handle, operation, &one, memory, a, memory, b,
                                                 &one, memory, c, memory, c, NULL, NULL, 0, NULL);
    expect(cublasLtMatrixLayoutDestroy(a), SUCCESS);
    expect(cublasLtMatrixLayoutDestroy(b), SUCCESS);
    expect(cublasLtMatrixLayoutDestroy(c), SUCCESS);
    expect(cublasLtMatmulDescDestroy(operation), SUCCESS);
    expect(cublasLtDestroy(handle), SUCCESS);
    return status;
}

TEST(test_refusals)
{
    expect(multiply(CUDA_R_32F, 3, 2), NOT_SUPPORTED);
    expect(multiply(CUDA_R_64F, 4, 2), INVALID_VALUE);
    expect(multiply(CUDA_R_64F, 3, 1), INVALID_VALUE);
    expect(multiply(CUDA_R_64F, 3, 2), EXECUTION_FAILED); /* not in device memory, as stderr says */
}

static cublasLtMatrixLayout_t layout_of_batch(int32_t count, int64_t stride)
{
    cublasLtMatrixLayout_t layout;

    expect(cublasLtMatrixLayoutCreate(&layout, CUDA_R_64F, 1, 1, 1), SUCCESS);
    expect(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                            sizeof count),
           SUCCESS);
    expect(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                            &stride, sizeof stride),
           SUCCESS);
    return layout;
}

/* D <- A B for three members of one element: A's begin at `a` and lie one before the other. */
static cublasStatus_t multiply_backwards(const double *a, const double *b, double *d)
{
    const double one = 1.0, zero = 0.0;
    cublasLtMatrixLayout_t backwards = layout_of_batch(3, -1), onwards = layout_of_batch(3, 1);
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t operation;

    expect(cublasLtCreate(&handle), SUCCESS);
    expect(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_64F, CUDA_R_64F), SUCCESS);
    const cublasStatus_t status =
        cublasLtMatmul(handle, operation, &one, a, backwards, b, onwards, &zero, d, onwards, d,
                       onwards, NULL, NULL, 0, NULL);
    expect(cublasLtMatmulDescDestroy(operation), SUCCESS);
    expect(cublasLtMatrixLayoutDestroy(onwards), SUCCESS);
    expect(cublasLtMatrixLayoutDestroy(backwards), SUCCESS);
    expect(cublasLtDestroy(handle), SUCCESS);
    return status;
}

TEST(test_negative_stride)
{
    const double a[] = {2.0, 3.0, 5.0}, b[] = {7.0, 11.0, 13.0};
    double *memory, d[3];

    assert_int_equal(cudaMalloc((void **)&memory, 9 * sizeof *memory), cudaSuccess);
    assert_int_equal(cudaMemcpy(memory, a, sizeof a, cudaMemcpyHostToDevice), cudaSuccess);
    assert_int_equal(cudaMemcpy(memory + 3, b, sizeof b, cudaMemcpyHostToDevice), cudaSuccess);
    expect(multiply_backwards(memory + 2, memory + 3, memory + 6), SUCCESS);
    assert_int_equal(cudaMemcpy(d, memory + 6, sizeof d, cudaMemcpyDeviceToHost), cudaSuccess);
    assert_true(d[0] == 35.0 && d[1] == 33.0 && d[2] == 26.0);
    expect(multiply_backwards(memory + 1, memory + 3, memory + 6), EXECUTION_FAILED);
    assert_int_equal(cudaFree(memory), cudaSuccess);
}
