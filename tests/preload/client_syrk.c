/* client_syrk.c - a program that knows nothing of Tandem: cublasDsyrk in all its forms, for
 * check_preload_syrk.py. One line for each call: function, what it was called with, status, the
 * largest error relative to abs(A)abs(A)', and how many elements outside the triangle changed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

/* As cublas.h, which cannot be included together with cublas_v2.h, declares them. */
cublasStatus_t cublasInit(void);
cublasStatus_t cublasGetError(void);
#undef cublasDsyrk
void cublasDsyrk(char uplo, char trans, int n, int k, double alpha, const double *a, int lda,
                 double beta, double *c, int ldc);

enum { N = 150, K = 70, LD_A = 155, LD_C = 163, C_SIZE = LD_C * N, A_SIZE = LD_A * N };

typedef struct {
    cublasFillMode_t uplo;
    cublasOperation_t op;
    int n, k, lda, ldc;
    double alpha, beta;
} call;

static cublasHandle_t handle;
static double *a, *c, *scalars; /* on the device; alpha, then beta */
static double host_a[A_SIZE], before[C_SIZE], after[C_SIZE];

static cublasStatus_t plain(const call *x)
{
    return cublasDsyrk_v2(handle, x->uplo, x->op, x->n, x->k, &x->alpha, a, x->lda, &x->beta, c,
                          x->ldc);
}

static cublasStatus_t large(const call *x)
{
    return cublasDsyrk_v2_64(handle, x->uplo, x->op, x->n, x->k, &x->alpha, a, x->lda, &x->beta, c,
                             x->ldc);
}

static cublasStatus_t on_device(const call *x)
{
    const double values[2] = {x->alpha, x->beta};
    cudaMemcpy(scalars, values, sizeof values, cudaMemcpyHostToDevice);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    const cublasStatus_t status = cublasDsyrk_v2(handle, x->uplo, x->op, x->n, x->k, scalars, a,
                                                 x->lda, scalars + 1, c, x->ldc);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
    return status;
}

static cublasStatus_t legacy(const call *x)
{
    const char uplo = x->uplo == CUBLAS_FILL_MODE_LOWER   ? 'l'
                      : x->uplo == CUBLAS_FILL_MODE_UPPER ? 'U'
                                                          : 'x',
               op = x->op == CUBLAS_OP_N   ? 'n'
                    : x->op == CUBLAS_OP_T ? 'T'
                    : x->op == CUBLAS_OP_C ? 'c'
                                           : 'x';
    cublasDsyrk(uplo, op, x->n, x->k, x->alpha, a, x->lda, x->beta, c, x->ldc);
    return cublasGetError();
}

static const struct {
    const char *name;
    cublasStatus_t (*run)(const call *x);
} forms[] = {{"cublasDsyrk_v2", plain},
             {"cublasDsyrk_v2_64", large},
             {"device", on_device},
             {"cublasDsyrk", legacy}};

static double element(const call *x, int i, int l)
{
    return host_a[x->op == CUBLAS_OP_N ? i + l * x->lda : l + i * x->lda];
}

static double error_of(const call *x, int i, int j)
{
    const long double c0 = x->beta == 0.0 ? 0.0L : (long double)x->beta * before[i + j * x->ldc];
    long double sum = 0.0L, size = 0.0L;
    for (int l = 0; l < x->k && x->alpha != 0.0; l++) {
        const long double product = (long double)element(x, i, l) * element(x, j, l);
        sum += product;
        size += fabsl(product);
    }
    size = fabsl(x->alpha * size) + fabsl(c0);
    const long double off = fabsl(x->alpha * sum + c0 - after[i + j * x->ldc]);
    return off == 0.0L ? 0.0 : (double)(off / size);
}

/* C is filled with NaN where the call must not look: outside the triangle, and inside too if beta
 * is 0. */
static void fill(const call *x)
{
    for (int e = 0; e < C_SIZE; e++) {
        const int i = e % x->ldc, j = e / x->ldc;
        const int inside =
            i < x->n && j < x->n && (x->uplo == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j);
        before[e] = inside && x->beta != 0.0 ? (double)(i - 2 * j) / 7.0 : nan("17");
    }
    cudaMemcpy(c, before, sizeof before, cudaMemcpyHostToDevice);
}

static void check(int form, const call *x)
{
    double worst = 0.0;
    int touched = 0;
    fill(x);
    const cublasStatus_t status = forms[form].run(x);
    cudaMemcpy(after, c, sizeof after, cudaMemcpyDeviceToHost);
    for (int e = 0; e < C_SIZE; e++) {
        const int i = e % x->ldc, j = e / x->ldc;
        const int inside = status == CUBLAS_STATUS_SUCCESS && i < x->n && j < x->n &&
                           (x->uplo == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j);
        if (!inside)
            touched += memcmp(&before[e], &after[e], sizeof before[e]) != 0;
        else if (!(error_of(x, i, j) <= worst))
            worst = error_of(x, i, j);
    }
    printf("%s %d %d %d %d %d %d %g %g : %d %.3g %d\n", forms[form].name, (int)x->uplo, (int)x->op,
           x->n, x->k, x->lda, x->ldc, x->alpha, x->beta, (int)status, worst, touched);
}

static void check_all(int form)
{
    const call usual = {CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, N, K, LD_A, LD_C, 1.0, 0.0};
    for (int i = 0; i < 24; i++) {
        call x = usual;
        x.uplo = i % 2 ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
        x.op = (cublasOperation_t)(i / 2 % 3);
        x.alpha = i / 6 % 2 ? -1.5 : i / 12 ? 0.0 : 1.0;
        x.beta = i % 5 < 2 ? 0.0 : 0.75;
        if (i % 7 == 6) x.k = 0;
        if (i % 8 == 7) x.n = 0;
        check(form, &x);
    }
    /* What cuBLAS refuses. */
    call bad[6];
    for (int i = 0; i < 6; i++) bad[i] = usual;
    bad[0].n = -1;
    bad[1].k = -1;
    bad[2].lda = N - 1;
    bad[3].ldc = N - 1;
    bad[4].uplo = (cublasFillMode_t)CUBLAS_FILL_MODE_FULL;
    bad[5].op = (cublasOperation_t)7;
    for (int i = 0; i < 6; i++) {
        check(form, &bad[i]);
    }
}

int main(void)
{
    cudaMalloc((void **)&a, sizeof host_a);
    cudaMalloc((void **)&c, sizeof before);
    cudaMalloc((void **)&scalars, 2 * sizeof *scalars);
    if (!a || !c || !scalars || cublasCreate(&handle) || cublasInit()) return EXIT_FAILURE;
    for (int e = 0; e < A_SIZE; e++) host_a[e] = sin(e * 1.7) * exp(e % 11 - 5.0);
    cudaMemcpy(a, host_a, sizeof host_a, cudaMemcpyHostToDevice);
    for (int form = 0; form < (int)(sizeof forms / sizeof *forms); form++) check_all(form);
    return cublasDestroy(handle) ? EXIT_FAILURE : EXIT_SUCCESS;
}
