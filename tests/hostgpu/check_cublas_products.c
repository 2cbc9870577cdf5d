/* check_cublas_products.c - matrix products of the stand-in for cuBLAS against plain loops. */
#include <cublasXt.h>

#include "cublas_expect.h"

static int columns(cublasOperation_t op, int rows_if_plain, int columns_if_plain)
{
    return op == CUBLAS_OP_N ? columns_if_plain : rows_if_plain;
}

static void check_dgemm(cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                        double alpha, double beta)
{
    const shape s = {op_a,
                     op_b,
                     m,
                     n,
                     k,
                     (op_a == CUBLAS_OP_N ? m : k) + 2,
                     (op_b == CUBLAS_OP_N ? k : n) + 1,
                     m + 3,
                     alpha,
                     beta};
    double *a = random_doubles(s.lda * (columns(op_a, m, k) + 1));
    double *b = random_doubles(s.ldb * (columns(op_b, k, n) + 1));
    double *old = random_doubles(s.ldc * n + 1), *c = copy_of(old, s.ldc * n + 1);

    expect_ok(
        cublasDgemm(handle, op_a, op_b, m, n, k, &alpha, a, s.lda, b, s.ldb, &beta, c, s.ldc));
    compare(&s, a, b, old, c, DBL_EPSILON);
    free_memory(a, b, old, c);
}

TEST(test_dgemm)
{
    static const int sizes[][3] = {{1, 1, 1}, {7, 5, 3}, {17, 33, 9}, {40, 1, 100}, {64, 65, 66}};
    static const double scalars[][2] = {{1, 0}, {-1, 1}, {0.5, -2}, {0, 3}, {2, 0}, {0, 0}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int op = 0; op < 9; op++)
            for (size_t s = 0; s < sizeof scalars / sizeof *scalars; s++)
                check_dgemm(ops[op / 3], ops[op % 3], sizes[i][0], sizes[i][1], sizes[i][2],
                            scalars[s][0], scalars[s][1]);
    check_dgemm(CUBLAS_OP_N, CUBLAS_OP_N, 5, 4, 0, 2, 0.5);
    check_dgemm(CUBLAS_OP_N, CUBLAS_OP_T, 5, 4, 0, 2, 0);
}

/* NaN and infinities in every place, alone and against zeros. */
TEST(test_special_values)
{
    static const double special[] = {NAN, INFINITY, -INFINITY};
    enum { N = 37 };
    const double one = 1, zero = 0;

    for (int round = 0; round < 60; round++) {
        const shape s = {ops[round % 2], ops[round / 2 % 2], N, N, N, N, N, N, 1, round / 4 % 2};
        double *a = random_doubles(N * N), *b = random_doubles(N * N);
        double *old = random_doubles(N * N), *c;

        for (int i = 0; i < N; i++) /* zeros that must not hide what they are multiplied with */
            a[i + N * (round % N)] = b[round % N + N * i] = 0;
        a[(round * 41) % (N * N)] = special[round % 3];
        b[(round * 97 + 5) % (N * N)] = special[(round + 1) % 3];
        old[(round * 71) % (N * N)] = special[(round + 2) % 3];
        c = copy_of(old, N * N);
        expect_ok(cublasDgemm(handle, s.op_a, s.op_b, N, N, N, &one, a, N, b, N,
                              s.beta != 0 ? &one : &zero, c, N));
        compare(&s, a, b, old, c, DBL_EPSILON);
        free_memory(a, b, old, c);
    }
}

/* alpha = 0 or k = 0 must not even look at A and B, nor beta = 0 at C. */
TEST(test_nothing_is_read)
{
    const double zero = 0, two = 2;
    double *c = random_doubles(4);

    c[0] = NAN;
    c[1] = 1.5;
    expect_ok(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 5, &zero, NULL, 2, NULL, 5, &two,
                          c, 2));
    assert_true(isnan(c[0]) && c[1] == 3);
    expect_ok(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 0, &two, NULL, 2, NULL, 1, &zero,
                          c, 2));
    assert_true(c[0] == 0 && c[1] == 0);
    expect_ok(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 0, 2, 2, &two, NULL, 1, NULL, 2, &zero,
                          NULL, 1));
    cudaFree(c);
}

TEST(test_pointer_modes)
{
    cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
    double *a = random_doubles(4), *b = random_doubles(4), *c = random_doubles(4);
    double *scalars = acquire(2 * sizeof *scalars), *old = copy_of(c, 4);
    const double host[2] = {3, -1};
    const shape s = {CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, 2, 2, 2, 3, -1};

    memcpy(scalars, host, sizeof host);
    expect_ok(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    expect_ok(cublasGetPointerMode(handle, &mode));
    assert_int_equal(mode, CUBLAS_POINTER_MODE_DEVICE);
    expect_ok(cublasDgemm(handle, s.op_a, s.op_b, 2, 2, 2, scalars, a, 2, b, 2, scalars + 1, c, 2));
    compare(&s, a, b, old, c, DBL_EPSILON);
    const capture said = start_capture();
    expect_status(cublasDgemm(handle, s.op_a, s.op_b, 2, 2, 2, host, a, 2, b, 2, host + 1, c, 2),
                  CUBLAS_STATUS_EXECUTION_FAILED);
    free(end_capture(said));
    expect_ok(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    free_memory(a, b, c, old, scalars);
}

TEST(test_invalid_arguments)
{
    const double one = 1;
    double *x = random_doubles(16);
    const struct {
        cublasHandle_t handle;
        int op_a, op_b, m, n, k, lda, ldb, ldc;
        const double *alpha, *beta;
        cublasStatus_t status;
    } cases[] = {
        {NULL, 0, 0, 2, 2, 2, 2, 2, 2, &one, &one, CUBLAS_STATUS_NOT_INITIALIZED},
        {handle, 9, 0, 2, 2, 2, 2, 2, 2, &one, &one, CUBLAS_STATUS_INVALID_VALUE},
        {handle, 0, 3, 2, 2, 2, 2, 2, 2, &one, &one, CUBLAS_STATUS_INVALID_VALUE},
        {handle, 0, 0, -1, 2, 2, 2, 2, 2, &one, &one, CUBLAS_STATUS_INVALID_VALUE},
        {handle, 0, 0, 2, -1, 2, 2, 2, 2, &one, &one, CUBLAS_STATUS_INVALID_VALUE},
        {handle, 0, 0, 2, 2, -1, 2, 2, 2, &one, &one, CUBLAS_STATUS_INVALID_VALUE},
        {handle, 0, 0, 3, 2, 2, 2, 2, 3, &one, &one, CUBLAS_STATUS_INVALID_VALUE},
        {handle, 1, 0, 2, 2, 3, 2, 3, 2, &one, &one, CUBLAS_STATUS_INVALID_VALUE},
        {handle, 0, 0, 2, 2, 3, 2, 2, 2, &one, &one, CUBLAS_STATUS_INVALID_VALUE},
        {handle, 0, 1, 2, 3, 2, 2, 2, 2, &one, &one, CUBLAS_STATUS_INVALID_VALUE},
        {handle, 0, 0, 2, 2, 2, 2, 2, 1, &one, &one, CUBLAS_STATUS_INVALID_VALUE},
        {handle, 0, 0, 0, 0, 0, 0, 1, 1, &one, &one, CUBLAS_STATUS_INVALID_VALUE},
        {handle, 0, 0, 2, 2, 2, 2, 2, 2, NULL, &one, CUBLAS_STATUS_INVALID_VALUE},
        {handle, 0, 0, 2, 2, 2, 2, 2, 2, &one, NULL, CUBLAS_STATUS_INVALID_VALUE},
        {handle, 2, 2, 2, 2, 2, 2, 2, 2, &one, &one, CUBLAS_STATUS_SUCCESS},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const cublasStatus_t status = cublasDgemm(
            cases[i].handle, (cublasOperation_t)cases[i].op_a, (cublasOperation_t)cases[i].op_b,
            cases[i].m, cases[i].n, cases[i].k, cases[i].alpha, x, cases[i].lda, x + 4,
            cases[i].ldb, cases[i].beta, x + 8, cases[i].ldc);

        if (status != cases[i].status)
            fail_msg("case %zu: %s, not %s", i, cublasGetStatusName(status),
                     cublasGetStatusName(cases[i].status));
    }
    expect_status(cublasDgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, x,
                                 (int64_t)1 << 31, x + 4, 2, &one, x + 8, 2),
                  CUBLAS_STATUS_NOT_SUPPORTED);
    cudaFree(x);
}

/* Operands that a device could not reach are named. */
TEST(test_unreachable_operands)
{
    const double one = 1;
    double host[4] = {0};
    double *x = random_doubles(4);
    capture c = start_capture();
    const cublasStatus_t outside =
        cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, host, 2, x, 2, &one, x, 2);
    const cublasStatus_t beyond =
        cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, x, 2, x, 3, &one, x, 2);
    char *said = end_capture(c);

    expect_status(outside, CUBLAS_STATUS_EXECUTION_FAILED);
    expect_status(beyond, CUBLAS_STATUS_EXECUTION_FAILED);
    assert_non_null(strstr(said, "tandem: host device: cublasDgemm_v2: A, 32 bytes at "));
    assert_non_null(strstr(said, "tandem: host device: cublasDgemm_v2: B, 40 bytes at "));
    free(said);
    cudaFree(x);
}

/* ---- batches and types ---- */

TEST(test_batches)
{
    enum { N = 6, BATCH = 5, SIZE = N * N };
    const shape s = {CUBLAS_OP_T, CUBLAS_OP_N, N, N, N, N, N, N, 2, -1};
    double *a = random_doubles(SIZE * BATCH), *b = random_doubles(SIZE);
    double *old = random_doubles(SIZE * BATCH);
    double *strided = copy_of(old, SIZE * BATCH), *listed = copy_of(old, SIZE * BATCH);
    double **lists = acquire(3 * BATCH * sizeof *lists);

    for (int i = 0; i < BATCH; i++) {
        lists[i] = a + (BATCH - 1 - i) * SIZE;
        lists[BATCH + i] = b;
        lists[2 * BATCH + i] = listed + i * SIZE;
    }
    expect_ok(cublasDgemmStridedBatched(handle, s.op_a, s.op_b, N, N, N, &s.alpha, a, N, SIZE, b, N,
                                        0, &s.beta, strided, N, SIZE, BATCH));
    expect_ok(cublasDgemmBatched_64(
        handle, s.op_a, s.op_b, N, N, N, &s.alpha, (const double *const *)lists, N,
        (const double *const *)lists + BATCH, N, &s.beta, lists + 2 * BATCH, N, BATCH));
    for (int i = 0; i < BATCH; i++) {
        compare(&s, a + i * SIZE, b, old + i * SIZE, strided + i * SIZE, DBL_EPSILON);
        compare(&s, a + (BATCH - 1 - i) * SIZE, b, old + i * SIZE, listed + i * SIZE, DBL_EPSILON);
    }
    free_memory(a, b, old, strided, listed, lists);
}

TEST(test_gemm_ex)
{
    enum { M = 5, N = 7, K = 300 };
    const shape s = {CUBLAS_OP_N, CUBLAS_OP_T, M, N, K, M, N, M, 1.5, 0.5};
    double *a = random_doubles(M * K), *b = random_doubles(N * K);
    double *old = random_doubles(M * N), *c = copy_of(old, M * N);

    expect_ok(cublasGemmEx(handle, s.op_a, s.op_b, M, N, K, &s.alpha, a, CUDA_R_64F, M, b,
                           CUDA_R_64F, N, &s.beta, c, CUDA_R_64F, M, CUBLAS_COMPUTE_64F,
                           CUBLAS_GEMM_DEFAULT));
    compare(&s, a, b, old, c, DBL_EPSILON);
    expect_status(cublasGemmEx(handle, s.op_a, s.op_b, M, N, K, &s.alpha, a, CUDA_R_64F, M, b,
                               CUDA_R_32F, N, &s.beta, c, CUDA_R_64F, M, CUBLAS_COMPUTE_64F,
                               CUBLAS_GEMM_DEFAULT),
                  CUBLAS_STATUS_NOT_SUPPORTED);
    free_memory(a, b, old, c);
}

/* Two groups of one and two members, as single products of them; the second group's k as given. */
static cublasStatus_t multiply_groups(double **lists, int second_k)
{
    const cublasOperation_t op_a[] = {CUBLAS_OP_N, CUBLAS_OP_T},
                            op_b[] = {CUBLAS_OP_T, CUBLAS_OP_N};
    const int m[] = {5, 3}, n[] = {4, 6}, k[] = {7, second_k}, ld[] = {8, 8}, members[] = {1, 2};
    const double alpha[] = {2, -1}, beta[] = {0.5, 0};
    return cublasDgemmGroupedBatched(
        handle, op_a, op_b, m, n, k, alpha, (const double *const *)lists, ld,
        (const double *const *)lists + 3, ld, beta, lists + 6, ld, 2, members);
}

TEST(test_groups)
{
    enum { SIZE = 64 };
    const shape shapes[] = {{CUBLAS_OP_N, CUBLAS_OP_T, 5, 4, 7, 8, 8, 8, 2, 0.5},
                            {CUBLAS_OP_T, CUBLAS_OP_N, 3, 6, 8, 8, 8, 8, -1, 0}};
    double *x = random_doubles(9 * SIZE), *old = copy_of(x, 9 * SIZE);
    double **lists = acquire(9 * sizeof *lists);

    for (int i = 0; i < 9; i++) lists[i] = x + i * SIZE;
    expect_status(multiply_groups(lists, -1), CUBLAS_STATUS_INVALID_VALUE);
    assert_memory_equal(x, old, 9 * SIZE * sizeof *x); /* nor is the first group made */
    expect_ok(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    expect_status(multiply_groups(lists, 8), CUBLAS_STATUS_NOT_SUPPORTED);
    expect_ok(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    expect_ok(multiply_groups(lists, 8));
    for (int i = 0; i < 3; i++)
        compare(&shapes[i > 0], x + i * SIZE, x + (3 + i) * SIZE, old + (6 + i) * SIZE,
                x + (6 + i) * SIZE, DBL_EPSILON);
    free_memory(x, old, lists);
}

/* Of matrices that no device has. */
TEST(test_xt)
{
    enum { M = 6, N = 4, K = 9 };
    const shape s = {CUBLAS_OP_N, CUBLAS_OP_T, M, N, K, M, N, M, 1.5, -0.5};
    double a[M * K], b[N * K], c[M * N], old[M * N];
    int device = 0, absent = 1000, block = 0;
    cublasXtHandle_t xt;

    for (int i = 0; i < M * K; i++) a[i] = random_number();
    for (int i = 0; i < N * K; i++) b[i] = random_number();
    for (int i = 0; i < M * N; i++) c[i] = old[i] = random_number();
    expect_ok(cublasXtCreate(&xt));
    expect_status(cublasXtDgemm(xt, s.op_a, s.op_b, M, N, K, &s.alpha, a, M, b, N, &s.beta, c, M),
                  CUBLAS_STATUS_NOT_INITIALIZED);
    expect_status(cublasXtDeviceSelect(xt, 1, &absent), CUBLAS_STATUS_INVALID_VALUE);
    expect_ok(cublasXtDeviceSelect(xt, 1, &device));
    expect_status(
        cublasXtDgemm(xt, s.op_a, s.op_b, M, N, K, &s.alpha, a, M - 1, b, N, &s.beta, c, M),
        CUBLAS_STATUS_INVALID_VALUE);
    expect_ok(cublasXtDgemm(xt, s.op_a, s.op_b, M, N, K, &s.alpha, a, M, b, N, &s.beta, c, M));
    compare(&s, a, b, old, c, DBL_EPSILON);
    expect_status(cublasXtSetBlockDim(xt, 0), CUBLAS_STATUS_INVALID_VALUE);
    expect_ok(cublasXtSetBlockDim(xt, 64));
    expect_ok(cublasXtGetBlockDim(xt, &block));
    assert_int_equal(block, 64);
    expect_ok(cublasXtDestroy(xt));
}

TEST(test_sgemm)
{
    enum { M = 9, N = 8, K = 50 };
    const float alpha = 2, beta = -1;
    float *a = acquire(M * K * sizeof *a), *b = acquire(K * N * sizeof *b);
    float *c = acquire(M * N * sizeof *c);

    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 5 - 2);
    for (int i = 0; i < M * N; i++) c[i] = (float)i;
    expect_ok(
        cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, &alpha, a, K, b, K, &beta, c, M));
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            float sum = 0; /* of whole numbers: exact */

            for (int l = 0; l < K; l++) sum += a[l + i * K] * b[l + j * K];
            assert_true(c[i + j * M] == 2 * sum - (float)(i + j * M));
        }
    free_memory(a, b, c);
}

/* Sums modulo 2^32; matrices without padding. */
static void check_int8(cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                       int32_t alpha, int32_t beta)
{
    const int lda = op_a == CUBLAS_OP_N ? m : k, ldb = op_b == CUBLAS_OP_N ? k : n;
    int8_t *a = acquire((size_t)(m * k)), *b = acquire((size_t)(k * n));
    const size_t bytes = (size_t)(m * n) * sizeof(int32_t);
    int32_t *c = acquire(bytes), *old = acquire(bytes);

    for (int i = 0; i < m * k; i++) a[i] = (int8_t)(i % 5 ? (int)(127 * random_number()) : -128);
    for (int i = 0; i < k * n; i++) b[i] = (int8_t)(i % 3 ? (int)(127 * random_number()) : -128);
    for (int i = 0; i < m * n; i++) c[i] = old[i] = 1000 * i - 17;
    expect_ok(cublasGemmEx(handle, op_a, op_b, m, n, k, &alpha, a, CUDA_R_8I, lda, b, CUDA_R_8I,
                           ldb, &beta, c, CUDA_R_32I, m, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            int64_t sum = 0;

            for (int l = 0; l < k; l++)
                sum += a[op_a == CUBLAS_OP_N ? i + l * lda : l + i * lda] *
                       b[op_b == CUBLAS_OP_N ? l + j * ldb : j + l * ldb];
            assert_int_equal(c[i + j * m], (int32_t)(alpha * sum + (int64_t)beta * old[i + j * m]));
        }
    free_memory(a, b, c, old);
}

TEST(test_int8)
{
    for (int op = 0; op < 4; op++) {
        check_int8(ops[op / 2], ops[op % 2], 8, 12, 1000, 1, 0);
        check_int8(ops[op / 2], ops[op % 2], 7, 9, 2500, -2, 3);
        check_int8(ops[op / 2], ops[op % 2], 1, 1, 1, 5, -1);
        check_int8(ops[op / 2], ops[op % 2], 3, 2, 4096, 12345, 1 << 20);
    }
}

int main(void) { return test_run(.set_up = create, .tear_down = destroy); }
