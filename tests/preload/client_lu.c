/* client_lu.c - a program that knows nothing of Tandem: batched LU routines of cuBLAS in all types,
 * for check_preload_lu.py. One line for each call: routine, type, order, status, the largest info,
 * and the residual in units of n norms epsilon. */
#include "../support/test.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cublas_v2.h>

#include "../kernels/support/device.h"
#include "../kernels/batched_lu/lu_batch.h"

enum { COUNT = 2, COLUMNS = 20, MOST_ORDER = 280 };

static cublasHandle_t handle;
static int *pivots, *info; /* on the device */

/* A function of the four types with the arguments that follow the handle; T is the type of
 * numbers. */
#define CALL(s, function, ...)                                                                     \
    ((s)->type == TD_LU_S   ? CALL_AS(S, float, function, __VA_ARGS__)                             \
     : (s)->type == TD_LU_D ? CALL_AS(D, double, function, __VA_ARGS__)                            \
     : (s)->type == TD_LU_C ? CALL_AS(C, cuComplex, function, __VA_ARGS__)                         \
                            : CALL_AS(Z, cuDoubleComplex, function, __VA_ARGS__))
#define CALL_AS(letter, number, function, ...) function(letter, number, __VA_ARGS__)

#define GETRF(letter, number, a)                                                                   \
    cublas##letter##getrfBatched(handle, a.rows, (number **)a.pointers, a.ld, pivots, info, COUNT)
#define GETRI(letter, number, a, c)                                                                \
    cublas##letter##getriBatched(handle, a.rows, (const number **)a.pointers, a.ld, pivots,        \
                                 (number **)c.pointers, c.ld, info, COUNT)
#define MATINV(letter, number, a, c)                                                               \
    cublas##letter##matinvBatched(handle, a.rows, (const number **)a.pointers, a.ld,               \
                                  (number **)c.pointers, c.ld, info, COUNT)
#define GETRS(letter, number, a, b, host_info)                                                     \
    cublas##letter##getrsBatched(handle, CUBLAS_OP_N, a.rows, b.cols, (const number **)a.pointers, \
                                 a.ld, pivots, (number **)b.pointers, b.ld, host_info, COUNT)
#define TRSM(letter, number, a, b, alpha)                                                          \
    cublas##letter##trsmBatched(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,     \
                                CUBLAS_DIAG_NON_UNIT, b.rows, b.cols, (const number *)alpha,       \
                                (const number **)a.pointers, a.ld, (number **)b.pointers, b.ld,    \
                                COUNT)

static double norm(const lu_batch *s, int index)
{
    double most = 0.0;
    for (int j = 0; j < s->cols; j++) {
        double sum = 0.0;
        for (int i = 0; i < s->rows; i++) sum += cabs(lu_get(s, index, i, j));
        if (!(sum <= most)) most = sum;
    }
    return most;
}

/* norm(A X - B) by norms; only A's upper triangle counts if is_upper; B NULL: the identity. */
static double residual(const lu_batch *a, const lu_batch *x, const lu_batch *b, bool is_upper)
{
    const bool is_double = a->type == TD_LU_D || a->type == TD_LU_Z;
    double worst = 0.0;
    for (int index = 0; index < COUNT; index++) {
        double most = 0.0;
        for (int j = 0; j < x->cols; j += 1 + a->rows / 50) {
            double sum = 0.0;
            for (int i = 0; i < a->rows; i++) {
                double complex r = b ? lu_get(b, index, i, j) : i == j ? 1.0 : 0.0;
                for (int k = is_upper ? i : 0; k < a->cols; k++)
                    r -= lu_get(a, index, i, k) * lu_get(x, index, k, j);
                sum += cabs(r);
            }
            if (!(sum <= most)) most = sum;
        }
        const double scale =
            a->rows * norm(a, index) * norm(x, index) * (is_double ? DBL_EPSILON : FLT_EPSILON);
        if (!(most / scale <= worst)) worst = most / scale;
    }
    return worst;
}

static void report(const char *routine, const lu_batch *s, cublasStatus_t status, double r)
{
    int host[COUNT] = {0}, most = 0;
    device_check_clean(routine);
    CHECK_CUDA(cudaMemcpy(host, info, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++) most = host[i] > most ? host[i] : most;
    printf("%s %c %d %d %d %.3g\n", routine, "SDCZ"[s->type], s -> rows, (int)status, most, r);
}

/* In place of an info a number that differs if pivots do. */
static void report_pivots(const lu_batch *s)
{
    uint32_t sum = 2166136261u;
    int host[COUNT * MOST_ORDER];
    const size_t count = (size_t)(COUNT * s->rows);
    CHECK_CUDA(cudaMemcpy(host, pivots, count * sizeof *host, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < count; i++) sum = (sum ^ (uint32_t)host[i]) * 16777619u;
    printf("pivots %c %d 0 %u 0\n", "SDCZ"[s->type], s -> rows, sum);
}

static void run(td_lu_type type, int n)
{
    const double one[2] = {1.0, 0.0};
    const float narrow_one[2] = {1.0f, 0.0f};
    const bool is_double = type == TD_LU_D || type == TD_LU_Z;
    const void *alpha = is_double ? (const void *)one : narrow_one;
    test_random random = random_start((uint64_t)n * 4 + type);
    lu_batch a = lu_batch_make(type, n, n, 1, COUNT), b = lu_batch_make(type, n, COLUMNS, 2, COUNT);
    for (int i = 0; i < COUNT; i++)
        lu_fill(&a, i, LU_RANDOM, &random), lu_fill(&b, i, LU_RANDOM, &random);
    lu_batch_upload(&a);
    lu_batch_upload(&b);
    lu_batch factors = lu_batch_copy(&a), c = lu_batch_make(type, n, n, 0, COUNT),
             x = lu_batch_copy(&b);
    int host_info = -1;

    cublasStatus_t status = CALL(&a, GETRF, factors);
    report("getrf", &a, status, 0.0);
    report_pivots(&a);
    status = CALL(&a, GETRI, factors, c);
    lu_batch_download(&c);
    report("getri", &a, status, residual(&a, &c, NULL, false));
    status = CALL(&a, GETRS, factors, x, &host_info);
    lu_batch_download(&x);
    CHECK(host_info == 0, "info of getrs is %d", host_info);
    report("getrs", &a, status, residual(&a, &x, &b, false));
    memcpy(x.host, b.host, b.bytes);
    lu_batch_upload(&x);
    status = CALL(&a, TRSM, factors, x, alpha);
    lu_batch_download(&x);
    lu_batch_download(&factors);
    report("trsm", &a, status, residual(&factors, &x, &b, true));
    if (n <= 32) {
        status = CALL(&a, MATINV, a, c);
        lu_batch_download(&c);
        report("matinv", &a, status, residual(&a, &c, NULL, false));
    }
    lu_batch_free(&a), lu_batch_free(&b), lu_batch_free(&factors), lu_batch_free(&c),
        lu_batch_free(&x);
}

/* A call without rows, columns or members, for which there are no matrices. */
static void solve_nothing(int rows, int columns, int count)
{
    const double one = 1.0;
    const cublasStatus_t status =
        cublasDtrsmBatched(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                           CUBLAS_DIAG_NON_UNIT, rows, columns, &one, NULL, 3, NULL, 3, count);
    printf("nothing D %dx%dx%d %d 0 0\n", rows, columns, count, (int)status);
}

/* A call that cuBLAS refuses: its info is cuBLAS's to write. */
static void solve_refused(void)
{
    int host_info = 77;
    const cublasStatus_t status = cublasDgetrsBatched(handle, CUBLAS_OP_N, 3, -1, NULL, 3, pivots,
                                                      NULL, 3, &host_info, COUNT);
    printf("refused D getrs %d %d 0\n", (int)status, host_info);
}

int main(void)
{
    static const int orders[] = {2, 9, 32, 48, 64, 100, 200, MOST_ORDER};
    device_require();
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
    if (cudaMalloc((void **)&pivots, COUNT * MOST_ORDER * sizeof(int)) != cudaSuccess ||
        cudaMalloc((void **)&info, COUNT * sizeof(int)) != cudaSuccess ||
        cudaMemset(info, 0, COUNT * sizeof(int)) != cudaSuccess)
        return 1;
    for (int t = 0; t < TD_LU_TYPES; t++)
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) run((td_lu_type)t, orders[i]);
    const cublasStatus_t status = cublasDgetrfBatched(handle, -1, NULL, 1, pivots, info, COUNT);
    printf("invalid D -1 %d 0 0\n", (int)status);
    solve_refused();
    solve_nothing(0, 3, COUNT);
    solve_nothing(3, 0, COUNT);
    solve_nothing(3, 3, 0);
    return cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS ? 0 : 1;
}
