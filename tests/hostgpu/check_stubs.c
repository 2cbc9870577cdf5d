/* check_stubs.c - functions that the host device does not implement: they say their name once and
 * return that they are not supported. */
#include <cublas.h>
#include <cublasLt.h>

#include "expect.h"

/* Calls twice; what was said is about the first call alone. */
#define EXPECT_SAID(call, line)                                                                    \
    do {                                                                                           \
        capture c = start_capture();                                                               \
        call;                                                                                      \
        call;                                                                                      \
        char *said = end_capture(c);                                                               \
        assert_string_equal(said, "tandem: host device: " line "\n");                              \
        free(said);                                                                                \
    } while (0)

TEST(test_statuses)
{
    cublasHandle_t handle = NULL;
    cublasLtMatrixTransformDesc_t descriptor = NULL;
    cublasStatus_t status[3];
    double x = 0;

    assert_int_equal(cublasCreate_v2(&handle), CUBLAS_STATUS_SUCCESS);
    EXPECT_SAID(status[0] = cublasDspr2_v2(handle, CUBLAS_FILL_MODE_LOWER, 1, &x, &x, 1, &x, 1, &x),
                "cublasDspr2_v2 is not implemented: it returns CUBLAS_STATUS_NOT_SUPPORTED");
    EXPECT_SAID(status[1] =
                    cublasDspr2_v2_64(handle, CUBLAS_FILL_MODE_LOWER, 1, &x, &x, 1, &x, 1, &x),
                "cublasDspr2_v2_64 is not implemented: it returns CUBLAS_STATUS_NOT_SUPPORTED");
    EXPECT_SAID(status[2] = cublasLtMatrixTransformDescCreate(&descriptor, CUDA_R_64F),
                "cublasLtMatrixTransformDescCreate is not implemented: it returns "
                "CUBLAS_STATUS_NOT_SUPPORTED");
    for (int i = 0; i < 3; i++) assert_int_equal(status[i], CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(cublasGetError(), CUBLAS_STATUS_SUCCESS); /* of cublas.h alone */
    assert_int_equal(cublasDestroy_v2(handle), CUBLAS_STATUS_SUCCESS);
}

TEST(test_legacy)
{
    double x = 1, sum = 1;
    cuDoubleComplex z = {1, 1}, product = z;

    EXPECT_SAID(cublasDspr2('L', 1, 1, &x, 1, &x, 1, &x),
                "cublasDspr2 is not implemented: it does nothing");
    assert_int_equal(cublasGetError(), CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(cublasGetError(), CUBLAS_STATUS_SUCCESS);
    EXPECT_SAID(sum = cublasDasum(1, &x, 1), "cublasDasum is not implemented: it returns 0");
    EXPECT_SAID(product = cublasZdotu(1, &z, 1, &z, 1),
                "cublasZdotu is not implemented: it returns 0");
    assert_true(sum == 0 && product.x == 0 && product.y == 0);
    assert_int_equal(cublasGetError(), CUBLAS_STATUS_NOT_SUPPORTED);
}

/* Of programs that are compiled for a default stream of each thread. */
cudaError_t cudaMemset3D_ptds(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent);

TEST(test_runtime)
{
    cudaError_t error[2];

    EXPECT_SAID(error[0] = cudaGraphDebugDotPrint(NULL, "", 0),
                "cudaGraphDebugDotPrint is not implemented: it returns cudaErrorNotSupported");
    expect_error(error[0], cudaErrorNotSupported);
    EXPECT_SAID(error[1] = cudaMemset3D_ptds((struct cudaPitchedPtr){0}, 0, (struct cudaExtent){0}),
                "cudaMemset3D_ptds is not implemented: it returns cudaErrorNotSupported");
    expect_error(error[1], cudaErrorNotSupported);
}
