/* check_cublas_others.c - the other functions of the stand-in for cuBLAS. */
#include "cublas_expect.h"

/* ---- other matrix functions ---- */

TEST(test_trsm)
{
    enum { M = 9, N = 6 };
    const double alpha = 2;

    for (int variant = 0; variant < 16; variant++) {
        const cublasSideMode_t side = variant & 1 ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
        const cublasFillMode_t uplo = variant & 2 ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
        const cublasOperation_t op = variant & 4 ? CUBLAS_OP_T : CUBLAS_OP_N;
        const cublasDiagType_t diag = variant & 8 ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
        const int order = side == CUBLAS_SIDE_LEFT ? M : N;
        double *a = random_doubles(order * order), *old = random_doubles(M * N);
        double *x = copy_of(old, M * N), full[M * M] = {0};

        for (int j = 0; j < order; j++)
            for (int i = 0; i < order; i++) {
                const int is_stored = i == j || (uplo == CUBLAS_FILL_MODE_UPPER ? i < j : i > j);

                if (i == j) a[i + j * order] = diag == CUBLAS_DIAG_UNIT ? (double)NAN : 4 + i;
                if (!is_stored) a[i + j * order] = NAN; /* must not be read */
                full[op == CUBLAS_OP_N ? i + j * order : j + i * order] =
                    !is_stored                           ? 0
                    : i == j && diag == CUBLAS_DIAG_UNIT ? 1
                                                         : a[i + j * order];
            }
        expect_ok(cublasDtrsm(handle, side, uplo, op, diag, M, N, &alpha, a, order, x, M));
        for (int j = 0; j < N; j++)
            for (int i = 0; i < M; i++) {
                double sum = 0;

                for (int l = 0; l < order; l++)
                    sum += side == CUBLAS_SIDE_LEFT ? full[i + l * order] * x[l + j * M]
                                                    : x[i + l * M] * full[l + j * order];
                if (!(fabs(sum - 2 * old[i + j * M]) <= 1e-12))
                    fail_msg("variant %d, residual(%d,%d) is %g", variant, i, j,
                             sum - 2 * old[i + j * M]);
            }
        free_memory(a, old, x);
    }
}

static void check_syrk(cublasFillMode_t uplo, cublasOperation_t op, double beta)
{
    enum { N = 21, K = 10 };
    const double alpha = -1.5;
    const int lda = op == CUBLAS_OP_N ? N : K;
    const cublasOperation_t other = op == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;
    const shape s = {op, other, N, N, K, lda, lda, N, alpha, beta};
    double *a = random_doubles(N * K), *old = random_doubles(N * N);
    double *c = copy_of(old, N * N), *product = copy_of(old, N * N);

    old[0] = c[0] = product[0] = NAN;
    expect_ok(cublasDsyrk(handle, uplo, op, N, K, &alpha, a, lda, &beta, c, N));
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            const int at = i + j * N;
            const int is_stored = uplo == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;

            if (is_stored)
                product[at] = c[at];
            else
                assert_memory_equal(&c[at], &old[at], sizeof c[at]);
        }
    for (int j = 0; j < N; j++) /* the other triangle by symmetry, to compare whole matrices */
        for (int i = 0; i < N; i++)
            if (uplo == CUBLAS_FILL_MODE_LOWER ? i < j : i > j) {
                product[i + j * N] = product[j + i * N];
                old[i + j * N] = old[j + i * N];
            }
    compare(&s, a, a, old, product, DBL_EPSILON);
    free_memory(a, old, c, product);
}

TEST(test_syrk)
{
    for (int variant = 0; variant < 8; variant++)
        check_syrk(variant & 1 ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER,
                   ops[variant / 2 % 2], variant / 4);
}

TEST(test_geam)
{
    enum { M = 4, N = 6 };
    const double alpha = 2, beta = -3, zero = 0;
    double *a = random_doubles(M * N), *b = random_doubles(M * N), *c = random_doubles(M * N);

    expect_ok(cublasDgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, &alpha, a, N, &beta, b, M, c, M));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            assert_true(c[i + j * M] == 2 * a[j + i * N] + -3 * b[i + j * M]);
    expect_ok(
        cublasDgeam(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, &alpha, a, M, &zero, NULL, M, c, M));
    assert_true(c[5] == 2 * a[5]);
    expect_status(
        cublasDgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, &alpha, c, N, &beta, b, M, c, M),
        CUBLAS_STATUS_INVALID_VALUE);
    free_memory(a, b, c);
}

/* ---- vectors ---- */

TEST(test_gemv_and_ger)
{
    enum { M = 5, N = 3 };
    const double alpha = 2, beta = 0;
    double *a = random_doubles(M * N), *x = random_doubles(2 * M), *y = random_doubles(M);
    double *old = copy_of(a, M * N);

    y[0] = NAN;
    expect_ok(cublasDgemv(handle, CUBLAS_OP_T, M, N, &alpha, a, M, x, 2, &beta, y, -1));
    for (int j = 0; j < N; j++) {
        double sum = 0;

        for (int i = 0; i < M; i++) sum += a[i + j * M] * x[2 * i];
        assert_true(fabs(y[N - 1 - j] - 2 * sum) <= 1e-14);
    }
    expect_ok(cublasDger(handle, M, N, &alpha, x, 1, y, 1, a, M));
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++)
            assert_true(fabs(a[i + j * M] - old[i + j * M] - 2 * x[i] * y[j]) <= 1e-14);
    free_memory(a, x, y, old);
}

TEST(test_vectors)
{
    static const double values[] = {3, -4, 0, 12};
    const double alpha = 2;
    double *x = acquire(sizeof values), *y = acquire(sizeof values);
    double result = 0;
    int place = 0;
    int64_t place_64 = 0;

    expect_ok(cublasSetVector(4, sizeof *x, values, 1, x, 1));
    expect_ok(cublasDcopy(handle, 4, x, 1, y, -1));
    assert_true(y[0] == 12 && y[3] == 3);
    expect_ok(cublasDaxpy(handle, 2, &alpha, x, 1, y, 2)); /* y = 12+6, 0, -4-8, 3 */
    assert_true(y[0] == 18 && y[1] == 0 && y[2] == -12 && y[3] == 3);
    expect_ok(cublasDswap(handle, 1, x, 1, y, 1));
    assert_true(x[0] == 18 && y[0] == 3);
    expect_ok(cublasDswap(handle, 1, x, 1, y, 1));
    expect_ok(cublasDnrm2(handle, 4, x, 1, &result));
    assert_true(fabs(result - 13) <= 1e-14);
    expect_ok(cublasDasum(handle, 4, x, 1, &result));
    assert_true(result == 19);
    expect_ok(cublasDdot_64(handle, 4, x, 1, x, -1, &result));
    assert_true(result == 72);
    expect_ok(cublasIdamax(handle, 4, x, 1, &place));
    assert_int_equal(place, 4);
    expect_ok(cublasIdamax_64(handle, 2, x, 1, &place_64));
    assert_int_equal(place_64, 2);
    expect_ok(cublasIdamin(handle, 4, x, 1, &place));
    assert_int_equal(place, 3);
    expect_ok(cublasIdamax(handle, 0, x, 1, &place));
    assert_int_equal(place, 0);
    x[2] = NAN;
    expect_ok(cublasDscal(handle, 4, &alpha, x, 1));
    assert_true(x[0] == 6 && isnan(x[2]) && x[3] == 24);
    expect_status(cublasDnrm2(handle, 4, x, 1, NULL), CUBLAS_STATUS_INVALID_VALUE);
    expect_status(cublasDscal(NULL, 4, &alpha, x, 1), CUBLAS_STATUS_NOT_INITIALIZED);
    free_memory(x, y);
}

TEST(test_set_and_get_matrix)
{
    double host[6] = {1, 2, 3, 4, 5, 6}, back[4] = {0};
    double *device = random_doubles(8);

    expect_ok(cublasSetMatrix(2, 2, sizeof *host, host, 3, device, 4));
    assert_true(device[0] == 1 && device[1] == 2 && device[4] == 4 && device[5] == 5);
    expect_ok(cublasGetMatrix(2, 2, sizeof *host, device, 4, back, 2));
    assert_true(back[0] == 1 && back[1] == 2 && back[2] == 4 && back[3] == 5);
    expect_status(cublasSetMatrix(2, 2, sizeof *host, host, 1, device, 4),
                  CUBLAS_STATUS_INVALID_VALUE);
    expect_status(cublasSetVector(2, 0, host, 1, device, 1), CUBLAS_STATUS_INVALID_VALUE);
    expect_status(cublasSetVector(2, sizeof *host, host, 1, back, 1), CUBLAS_STATUS_MAPPING_ERROR);
    cudaFree(device);
    cudaGetLastError();
}

/* ---- handles ---- */

TEST(test_handle)
{
    cublasMath_t math = CUBLAS_PEDANTIC_MATH;
    cudaStream_t stream = NULL, own = NULL;
    int version = 0, major = 0;

    expect_success(cudaStreamCreate(&own));
    expect_ok(cublasSetStream(handle, own));
    expect_ok(cublasGetStream(handle, &stream));
    assert_ptr_equal(stream, own);
    expect_ok(cublasSetStream(handle, NULL));
    expect_success(cudaStreamDestroy(own));
    expect_ok(cublasGetMathMode(handle, &math));
    assert_int_equal(math, CUBLAS_DEFAULT_MATH);
    expect_status(cublasSetMathMode(handle, (cublasMath_t)99), CUBLAS_STATUS_INVALID_VALUE);
    expect_ok(cublasGetVersion(handle, &version));
    assert_int_equal(version, CUBLAS_VERSION);
    expect_ok(cublasGetProperty(MAJOR_VERSION, &major));
    assert_int_equal(major, CUBLAS_VER_MAJOR);
    assert_string_equal(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED),
                        "CUBLAS_STATUS_NOT_SUPPORTED");
    expect_status(cublasCreate(NULL), CUBLAS_STATUS_INVALID_VALUE);
    expect_status(cublasSetStream(NULL, NULL), CUBLAS_STATUS_NOT_INITIALIZED);
}

int main(void) { return test_run(.set_up = create, .tear_down = destroy); }
