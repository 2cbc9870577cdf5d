/* check_legacy.c - the interface of cublas.h. */
#include <cublas.h>

#include "expect.h"

TEST(test_legacy)
{
    const double host[4] = {1, 2, 3, 4};
    double *a = NULL, *c = NULL;

    assert_int_equal(cublasInit(), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasAlloc(4, sizeof *a, (void **)&a), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasAlloc(4, sizeof *c, (void **)&c), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetMatrix(2, 2, sizeof *a, host, 2, a, 2), CUBLAS_STATUS_SUCCESS);
    cublasDgemm('t', 'N', 2, 2, 2, 2, a, 2, a, 2, 0, c, 2);
    assert_int_equal(cublasGetError(), CUBLAS_STATUS_SUCCESS);
    assert_true(c[0] == 10 && c[1] == 22 && c[2] == 22 && c[3] == 50);
    cublasDgemm('X', 'N', 2, 2, 2, 2, a, 2, a, 2, 0, c, 2);
    assert_int_equal(cublasGetError(), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasGetError(), CUBLAS_STATUS_SUCCESS);
    cublasDsymm('r', 'U', 2, 2, 1, a, 2, a, 2, 0, c, 2); /* A is symmetric: 1, 3, 4 */
    assert_int_equal(cublasGetError(), CUBLAS_STATUS_SUCCESS);
    assert_true(c[0] == 10 && c[1] == 14 && c[2] == 15 && c[3] == 22);
    cublasDsyrk('l', 'N', 2, 2, 1, a, 2, 0, c, 2);
    assert_true(c[0] == 10 && c[1] == 14 && c[2] == 15 && c[3] == 20);
    cublasDsyr2k('L', 't', 2, 2, 0.5, a, 2, a, 2, 0, c, 2);
    assert_true(c[0] == 5 && c[1] == 11 && c[2] == 15 && c[3] == 25);
    cublasDtrmm('L', 'L', 'T', 'u', 2, 2, 1, a, 2, c, 2); /* [1 2; 0 1] C */
    assert_true(c[0] == 27 && c[1] == 11 && c[2] == 65 && c[3] == 25);
    cublasDtrsm('L', 'L', 'T', 'U', 2, 2, 1, a, 2, c, 2);
    assert_true(c[0] == 5 && c[1] == 11 && c[2] == 15 && c[3] == 25);
    assert_int_equal(cublasGetError(), CUBLAS_STATUS_SUCCESS);
    cublasDtrmm('L', 'L', 'T', 'x', 2, 2, 1, a, 2, c, 2);
    assert_int_equal(cublasGetError(), CUBLAS_STATUS_INVALID_VALUE);
    cublasDsymm('x', 'L', 2, 2, 1, a, 2, a, 2, 0, c, 2);
    assert_int_equal(cublasGetError(), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasFree(a), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasFree(c), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasShutdown(), CUBLAS_STATUS_SUCCESS);
}
