/* routines - times of cuBLAS's FP64 level 3 routines, real and complex, in the sizes that
 * docs/speed.md lists. An ordinary client of cuBLAS: run it natively, and with Tandem preloaded in
 * each mode.
 *
 *   routines [NAME ...]
 *
 * Prints a line for each row of the table whose routine's name begins with one of the NAMEs: the
 * routine, m, n, k, the median of the times of up to 15 calls in milliseconds, and real TFLOP/s (a
 * complex multiply-add is eight operations). The device rests before each row: a card that has just
 * multiplied at its limit of power runs the next row at a lower clock. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cublas_v2.h>

#include "../examples/common.h"
#include "harness/timing.h"

const char program_name[] = "routines";

/* A call: C, n x m or as the routine has it, from A and B, with alpha = 1 and beta = 0. A solve's
 * name may end with side, triangle and operation; without them these are LLN. */
typedef struct {
    const char *name;
    int m, n, k;
} row;

static const row rows[] = {
    {"dgemm", 4096, 4096, 4096}, {"dgemm", 512, 512, 200000}, {"dgemm", 512, 128, 200000},
    {"zgemm", 1024, 1024, 1024}, {"zgemm", 2048, 2048, 2048}, {"zgemm", 4096, 4096, 4096},
    {"zgemm", 8192, 8192, 8192}, {"zgemm", 8192, 8192, 512},  {"zgemm_64", 512, 512, 512},
    {"dsyrk", 0, 4096, 4096},    {"dsyrk", 0, 8192, 8192},    {"dsyrk", 0, 8192, 512},
    {"dsyrk", 0, 2048, 1024},    {"dsyrk", 0, 4096, 512},     {"dsyrk", 0, 16384, 1024},
    {"dsyrk", 0, 512, 200000},   {"dsyrk", 0, 256, 200000},   {"dsyrk", 0, 1024, 100000},
    {"dsyrk", 0, 512, 8192},     {"dsyrk", 0, 64, 200000},    {"dsyrk", 0, 16, 200000},
    {"zherk", 0, 16, 200000},    {"zherk", 0, 64, 200000},    {"zherk", 0, 256, 200000},
    {"zherk", 0, 512, 50000},    {"zherk", 0, 4096, 4096},    {"zhemm", 4096, 4096, 0},
    {"dsyr2k", 0, 8192, 128},    {"dsyr2k", 0, 4096, 4096},   {"dsyr2k", 0, 16, 65536},
    {"dsyr2k", 0, 64, 65536},    {"dsyr2k", 0, 256, 65536},   {"dsyr2k", 0, 512, 65536},
    {"zher2k", 0, 4096, 4096},   {"zher2k", 0, 16, 65536},    {"zher2k", 0, 64, 65536},
    {"zher2k", 0, 256, 65536},   {"zher2k", 0, 512, 65536},   {"dsymm", 4096, 4096, 0},
    {"dsymm", 8192, 8192, 0},    {"dtrmm", 4096, 4096, 0},    {"dtrmm", 8192, 8192, 0},
    {"ztrmm", 4096, 4096, 0},    {"dtrsm", 8192, 8192, 0},    {"dtrsm", 8192, 512, 0},
    {"dtrsm", 8192, 64, 0},      {"dtrsm", 512, 8192, 0},     {"dtrsm", 1024, 1024, 0},
    {"dtrsm", 256, 4096, 0},     {"dtrsm", 64, 8192, 0},      {"dtrsm_LUN", 8192, 512, 0},
    {"dtrsm_LLT", 8192, 512, 0}, {"dtrsm_RLT", 8192, 512, 0}, {"dtrsm_RUN", 8192, 512, 0},
    {"ztrsm", 4096, 4096, 0},    {"ztrsm_RLC", 4096, 512, 0},
};

typedef struct {
    const row *of;
    cublasHandle_t handle;
    double *a, *b, *c, *x; /* x: a buffer of random numbers for B of solves, which are in place */
} work;

#define SIDE CUBLAS_SIDE_LEFT
#define LOW  CUBLAS_FILL_MODE_LOWER
#define N    CUBLAS_OP_N
#define T    CUBLAS_OP_T
#define H    CUBLAS_OP_C

static bool is_solve(const row *r) { return strncmp(r->name + 1, "trsm", 4) == 0; }
static const char *form_of(const row *r) { return r->name[5] ? r->name + 6 : "LLN"; }
static bool is_right(const row *r) { return is_solve(r) && form_of(r)[0] == 'R'; }

/* Rows of a triangle that is solved with. */
static int order_of(const row *r) { return is_right(r) ? r->n : r->m; }

/* In place of C. */
static cublasStatus_t solve(const work *w, double *operations)
{
    static const double one = 1.0;
    static const cuDoubleComplex z1 = {1.0, 0.0};
    const row *r = w->of;
    const char *form = form_of(r);
    const cublasSideMode_t side = is_right(r) ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
    const cublasFillMode_t triangle = form[1] == 'U' ? CUBLAS_FILL_MODE_UPPER : LOW;
    const cublasOperation_t op = form[2] == 'N' ? N : form[2] == 'T' ? T : H;
    const cublasDiagType_t diagonal = CUBLAS_DIAG_NON_UNIT;
    const int order = order_of(r);
    const bool is_real = r->name[0] == 'd';
    if (operations) {
        *operations = (is_real ? 1.0 : 4.0) * r->m * (double)r->n * order;
        return CUBLAS_STATUS_SUCCESS;
    }
    if (is_real)
        return cublasDtrsm(w->handle, side, triangle, op, diagonal, r->m, r->n, &one, w->a, order,
                           w->c, r->m);
    return cublasZtrsm(w->handle, side, triangle, op, diagonal, r->m, r->n, &z1,
                       (const cuDoubleComplex *)w->a, order, (cuDoubleComplex *)w->c, r->m);
}

#define ROUTINE(text, count, ...)                                                                  \
    if (strcmp(r->name, text) == 0) {                                                              \
        if (operations) *operations = (count);                                                     \
        return operations ? CUBLAS_STATUS_SUCCESS : (__VA_ARGS__);                                 \
    }

static cublasStatus_t call_real(const work *w, double *operations)
{
    static const double one = 1.0, zero = 0.0;
    const row *r = w->of;
    const int m = r->m, n = r->n, k = r->k;
    const double dm = m, dn = n, dk = k, half = dn * (dn + 1.0);
    ROUTINE("dgemm", 2.0 * dm * dn * dk,
            cublasDgemm(w->handle, N, N, m, n, k, &one, w->a, m, w->b, k, &zero, w->c, m))
    ROUTINE("dsyrk", half * dk,
            n < k ? cublasDsyrk(w->handle, LOW, T, n, k, &one, w->a, k, &zero, w->c, n)
                  : cublasDsyrk(w->handle, LOW, N, n, k, &one, w->a, n, &zero, w->c, n))
    ROUTINE("dsyr2k", 2.0 * half * dk,
            cublasDsyr2k(w->handle, LOW, N, n, k, &one, w->a, n, w->b, n, &zero, w->c, n))
    ROUTINE("dsymm", 2.0 * dm * dm * dn,
            cublasDsymm(w->handle, SIDE, LOW, m, n, &one, w->a, m, w->b, m, &zero, w->c, m))
    ROUTINE("dtrmm", dm * dm * dn,
            cublasDtrmm(w->handle, SIDE, LOW, N, CUBLAS_DIAG_NON_UNIT, m, n, &one, w->a, m, w->b, m,
                        w->c, m))
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

static cublasStatus_t call_complex(const work *w, double *operations)
{
    static const double one = 1.0, zero = 0.0;
    static const cuDoubleComplex z1 = {1.0, 0.0}, z0 = {0.0, 0.0};
    const row *r = w->of;
    const int m = r->m, n = r->n, k = r->k;
    const double dm = m, dn = n, dk = k, half = dn * (dn + 1.0);
    const cuDoubleComplex *za = (const cuDoubleComplex *)w->a, *zb = (const cuDoubleComplex *)w->b;
    cuDoubleComplex *zc = (cuDoubleComplex *)w->c;
    ROUTINE("zgemm", 8.0 * dm * dn * dk,
            cublasZgemm(w->handle, N, N, m, n, k, &z1, za, m, zb, k, &z0, zc, m))
    ROUTINE("zgemm_64", 64 * 8.0 * dm * dn * dk,
            cublasZgemmStridedBatched(w->handle, N, N, m, n, k, &z1, za, m, (long long)m * k, zb, k,
                                      (long long)k * n, &z0, zc, m, (long long)m * n, 64))
    ROUTINE("zherk", 4.0 * half * dk,
            cublasZherk(w->handle, LOW, N, n, k, &one, za, n, &zero, zc, n))
    ROUTINE("zhemm", 8.0 * dm * dm * dn,
            cublasZhemm(w->handle, SIDE, LOW, m, n, &z1, za, m, zb, m, &z0, zc, m))
    ROUTINE("zher2k", 8.0 * half * dk,
            cublasZher2k(w->handle, LOW, N, n, k, &z1, za, n, zb, n, &zero, zc, n))
    ROUTINE(
        "ztrmm", 4.0 * dm * dm * dn,
        cublasZtrmm(w->handle, SIDE, LOW, N, CUBLAS_DIAG_NON_UNIT, m, n, &z1, za, m, zb, m, zc, m))
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

/* The routine of that name, or its operations in *operations if that is not NULL. */
static cublasStatus_t call(const work *w, double *operations)
{
    if (is_solve(w->of)) return solve(w, operations);
    return w->of->name[0] == 'd' ? call_real(w, operations) : call_complex(w, operations);
}

static bool run(const void *of)
{
    const cublasStatus_t status = call(of, NULL);
    if (status != CUBLAS_STATUS_SUCCESS) complain("a routine returned status %d", (int)status);
    return status == CUBLAS_STATUS_SUCCESS;
}

enum { MOST = 1 << 27 }; /* doubles of a matrix: 8192 x 8192 complex numbers */

/* Numbers in (-0.5, 0.5) (splitmix64). */
static void fill(double *to)
{
    uint64_t state = 1;
    for (int64_t i = 0; i < MOST; i++) {
        uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        to[i] = ((double)((z ^ (z >> 31)) >> 12) + 0.5) * 0x1p-52 - 0.5;
    }
}

/* A diagonal of as many as there are rows, for a triangle that is solved with: solutions stay
 * small. */
static bool set_diagonal(const work *w)
{
    static double host[2 * 8192];
    const row *r = w->of;
    const bool is_complex = r->name[0] == 'z';
    const size_t element = is_complex ? 2 * sizeof(double) : sizeof(double);
    const int order = order_of(r);
    for (int i = 0; i < order; i++) {
        host[is_complex ? 2 * i : i] = (double)order;
        if (is_complex) host[2 * i + 1] = 0.0;
    }
    return cuda_succeeded(cudaMemcpy2D(w->a, (size_t)(order + 1) * element, host, element, element,
                                       (size_t)order, cudaMemcpyHostToDevice),
                          "cudaMemcpy2D");
}

static const struct timespec rest = {0, 300000000};

static bool measure(work *w)
{
    timing t;
    double operations = 0.0;
    const row *r = w->of;
    const size_t bytes = (size_t)MOST * sizeof(double);
    if (!cuda_succeeded(cudaMemcpy(w->c, w->x, bytes, cudaMemcpyDeviceToDevice), "cudaMemcpy") ||
        !cuda_succeeded(cudaMemcpy(w->a, w->x, bytes, cudaMemcpyDeviceToDevice), "cudaMemcpy"))
        return false;
    if (is_solve(r) && !set_diagonal(w)) return false;
    call(w, &operations);
    if (!cuda_succeeded(cudaDeviceSynchronize(), "cudaDeviceSynchronize")) return false;
    nanosleep(&rest, NULL);
    if (!timing_measure(run, w, 0.4, &t)) return false;
    printf("%-9s %6d %6d %7d %9.4f ms %6.1f TFLOP/s\n", r->name, r->m, r->n, r->k, 1e3 * t.seconds,
           1e-12 * operations / t.seconds);
    fflush(stdout);
    return true;
}

static bool is_wanted(const char *name, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
    return count == 0;
}

int main(int argc, char **argv)
{
    const size_t bytes = (size_t)MOST * sizeof(double);
    work w = {0};
    double *host = malloc(bytes);
    bool is_done = host != NULL;
    double **const matrices[] = {&w.a, &w.b, &w.c, &w.x};
    for (int i = 0; i < 4 && is_done; i++)
        is_done = cuda_succeeded(cudaMalloc((void **)matrices[i], bytes), "cudaMalloc");
    if (is_done && cublasCreate(&w.handle) != CUBLAS_STATUS_SUCCESS) {
        complain("cublasCreate failed");
        is_done = false;
    }
    if (is_done) fill(host);
    for (int i = 1; i < 4 && is_done; i += 2)
        is_done = cuda_succeeded(cudaMemcpy(*matrices[i], host, bytes, cudaMemcpyHostToDevice),
                                 "cudaMemcpy");
    for (size_t i = 0; i < sizeof rows / sizeof *rows && is_done; i++) {
        w.of = &rows[i];
        if (is_wanted(rows[i].name, argc - 1, argv + 1)) is_done = measure(&w);
    }
    if (w.handle) cublasDestroy(w.handle);
    for (int i = 0; i < 4; i++) cudaFree(*matrices[i]);
    free(host);
    return is_done ? EXIT_SUCCESS : EXIT_FAILURE;
}
