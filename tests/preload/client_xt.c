/* client_xt.c - a program that knows nothing of Tandem: cublasXt's products of matrices on the host
 * and on a device. Usage: client_xt [M N K BLOCK]
 *
 * Without sizes, calls of every kind, a line each:
 *
 *   FUNCTION CASE ; status N ; WHAT ; device N
 *
 * WHAT: `same` if C has the bits that cublasDgemm or cublasZgemm gives it on the device, `right` if
 * it is only near them, `wrong`, `damaged` if something beside C was written, or `unchanged`;
 * device: the current one after the call, which was the last one before. With sizes, one product by
 * tiles of BLOCK on all devices: `status N ; HASH`, of C's bits. */
#include <cublasXt.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/hash.h"
#include "require.h"

typedef enum { PAGEABLE, PINNED, DEVICE, MANAGED, PLACES } place;
static const char *const place_names[] = {"pageable", "pinned", "device", "managed"};

/* Matrices are arrays of doubles, of which an element has one or, if complex, two. */
typedef struct {
    int op_a, op_b;
    size_t m, n, k, pad;
    double alpha[2], beta[2];
    place place;
    bool is_complex;
} call;

static cublasXtHandle_t xt;
static cublasHandle_t handle;

static int parts(const call *x) { return x->is_complex ? 2 : 1; }

static size_t rows_of_a(const call *x) { return x->op_a == CUBLAS_OP_N ? x->m : x->k; }
static size_t columns_of_a(const call *x) { return x->op_a == CUBLAS_OP_N ? x->k : x->m; }
static size_t rows_of_b(const call *x) { return x->op_b == CUBLAS_OP_N ? x->k : x->n; }
static size_t columns_of_b(const call *x) { return x->op_b == CUBLAS_OP_N ? x->n : x->k; }

/* A matrix's numbers on the host, and where a call has them. */
typedef struct {
    size_t rows, columns, ld, bytes;
    double *host, *at;
    place place;
} matrix;

static double *allocate(size_t bytes, place where)
{
    void *p = NULL;
    if (where == PAGEABLE) p = malloc(bytes);
    if (where == PINNED) REQUIRE(cudaMallocHost(&p, bytes));
    if (where == DEVICE) REQUIRE(cudaMalloc(&p, bytes));
    if (where == MANAGED) REQUIRE(cudaMallocManaged(&p, bytes, cudaMemAttachGlobal));
    REQUIRE(!p);
    return p;
}

static void put(matrix *x, place where)
{
    x->place = where;
    x->at = allocate(x->bytes, where);
    REQUIRE(cudaMemcpy(x->at, x->host, x->bytes, cudaMemcpyDefault));
}

static void drop(const matrix *x)
{
    if (x->place == PAGEABLE)
        free(x->at);
    else
        REQUIRE(x->place == PINNED ? cudaFreeHost(x->at) : cudaFree(x->at));
}

/* Beside the matrix, and all over if it is not to be read, there is NaN. */
static matrix make(const call *x, size_t rows, size_t columns, int seed, bool is_read)
{
    const size_t ld = (rows ? rows : 1) + x->pad, count = ld * (columns + 1);
    matrix made = {rows, columns, ld,      count * (size_t)parts(x) * sizeof(double),
                   NULL, NULL,    PAGEABLE};
    made.host = malloc(made.bytes);
    REQUIRE(!made.host);
    for (size_t e = 0; e < count; e++)
        for (int part = 0; part < parts(x); part++) {
            const bool is_inside = is_read && e % ld < rows && e / ld < columns;
            made.host[e * (size_t)parts(x) + (size_t)part] =
                is_inside ? sin(1.7 * (double)e + seed + part) * exp((double)(e % 7)) : NAN;
        }
    return made;
}

static cublasStatus_t multiply_xt(const call *x, const matrix *a, const matrix *b, const matrix *c)
{
    const cublasOperation_t op_a = (cublasOperation_t)x->op_a, op_b = (cublasOperation_t)x->op_b;
    if (!x->is_complex)
        return cublasXtDgemm(xt, op_a, op_b, x->m, x->n, x->k, x->alpha, a->at, a->ld, b->at, b->ld,
                             x->beta, c->at, c->ld);
    return cublasXtZgemm(xt, op_a, op_b, x->m, x->n, x->k, (const cuDoubleComplex *)x->alpha,
                         (const cuDoubleComplex *)a->at, a->ld, (const cuDoubleComplex *)b->at,
                         b->ld, (const cuDoubleComplex *)x->beta, (cuDoubleComplex *)c->at, c->ld);
}

static cublasStatus_t multiply_device(const call *x, const matrix *a, const matrix *b,
                                      const matrix *c)
{
    const cublasOperation_t op_a = (cublasOperation_t)x->op_a, op_b = (cublasOperation_t)x->op_b;
    const int m = (int)x->m, n = (int)x->n, k = (int)x->k, lda = (int)a->ld, ldb = (int)b->ld,
              ldc = (int)c->ld;
    if (!x->is_complex)
        return cublasDgemm_v2(handle, op_a, op_b, m, n, k, x->alpha, a->at, lda, b->at, ldb,
                              x->beta, c->at, ldc);
    return cublasZgemm_v2(handle, op_a, op_b, m, n, k, (const cuDoubleComplex *)x->alpha,
                          (const cuDoubleComplex *)a->at, lda, (const cuDoubleComplex *)b->at, ldb,
                          (const cuDoubleComplex *)x->beta, (cuDoubleComplex *)c->at, ldc);
}

/* Makes a product of matrices at a place; its C's numbers are then at `result`. */
static cublasStatus_t run(const call *x, place where, bool by_xt, double **result, matrix *c)
{
    const bool reads = x->k > 0 && (x->alpha[0] != 0.0 || x->alpha[1] != 0.0);
    matrix a = make(x, rows_of_a(x), columns_of_a(x), 1, reads),
           b = make(x, rows_of_b(x), columns_of_b(x), 2, reads);
    *c = make(x, x->m, x->n, 3, x->beta[0] != 0.0 || x->beta[1] != 0.0);
    put(&a, where);
    put(&b, where);
    put(c, where);
    const cublasStatus_t status = (by_xt ? multiply_xt : multiply_device)(x, &a, &b, c);
    if (!by_xt) REQUIRE(cudaDeviceSynchronize());
    *result = malloc(c->bytes);
    REQUIRE(!*result);
    REQUIRE(cudaMemcpy(*result, c->at, c->bytes, cudaMemcpyDefault));
    const matrix *const all[] = {&a, &b, c};
    for (int i = 0; i < 3; i++) drop(all[i]);
    free(a.host);
    free(b.host);
    return status;
}

static const char *compare(const call *x, const matrix *c, const double *now, const double *want)
{
    const size_t line = c->ld * (size_t)parts(x), inside = c->rows * (size_t)parts(x);
    const char *what = "same";
    for (size_t e = 0; e < c->bytes / sizeof *now; e++) {
        const bool is_beside = e % line >= inside || e / line >= c->columns;
        if (is_beside && memcmp(&now[e], &c->host[e], sizeof *now) != 0) return "damaged";
        if (memcmp(&now[e], &want[e], sizeof *now) == 0) continue;
        what = "right";
        if (!(fabs(now[e] - want[e]) <= 0x1p-24 * (double)(x->k + 1))) return "wrong";
    }
    return what;
}

static void check(const call *x, const char *name)
{
    double *now, *want;
    matrix c, unused;
    int device = -1;
    const cublasStatus_t status = run(x, x->place, true, &now, &c);
    REQUIRE(cudaGetDevice(&device));
    const char *what = "unchanged";
    if (status) {
        if (memcmp(now, c.host, c.bytes) != 0) what = "damaged";
    } else {
        REQUIRE(run(x, DEVICE, false, &want, &unused));
        what = compare(x, &c, now, want);
        free(unused.host);
        free(want);
    }
    printf("%s %s ; status %d ; %s ; device %d\n",
           x->is_complex ? "cublasXtZgemm" : "cublasXtDgemm", name, (int)status, what, device);
    free(c.host);
    free(now);
}

static const call usual = {.m = 70,
                           .n = 45,
                           .k = 60,
                           .pad = 3,
                           .alpha = {1.25, -0.5},
                           .beta = {-0.75, 0.25},
                           .place = PAGEABLE};

static void check_products(bool is_complex)
{
    static const double scalars[][4] = {
        {1, 0, 0, 0}, {0, 0, 0.5, 1}, {0, 0, 0, 0}, {-1, 0, 1, 0}, {0, 2, 0, 0}};
    static const size_t sizes[][3] = {{0, 5, 5}, {5, 0, 5}, {5, 5, 0}, {1, 1, 1}, {129, 2, 300}};
    char name[64];
    for (int i = 0; i < 9 * PLACES; i++) {
        call x = usual;
        x.is_complex = is_complex;
        x.op_a = i % 3;
        x.op_b = i / 3 % 3;
        x.place = (place)(i / 9);
        snprintf(name, sizeof name, "%c%c %s", "NTC"[x.op_a], "NTC"[x.op_b], place_names[x.place]);
        check(&x, name);
    }
    for (int i = 0; i < 5; i++) {
        call x = usual;
        x.is_complex = is_complex;
        memcpy(x.alpha, scalars[i], sizeof x.alpha);
        memcpy(x.beta, &scalars[i][2], sizeof x.beta);
        snprintf(name, sizeof name, "scalars %g%+gi %g%+gi", x.alpha[0], x.alpha[1], x.beta[0],
                 x.beta[1]);
        check(&x, name);
    }
    for (int i = 0; i < 5; i++) {
        call x = usual;
        x.is_complex = is_complex;
        x.m = sizes[i][0], x.n = sizes[i][1], x.k = sizes[i][2];
        snprintf(name, sizeof name, "size %zu x %zu x %zu", x.m, x.n, x.k);
        check(&x, name);
    }
    call bad = usual;
    bad.is_complex = is_complex;
    bad.op_a = 7;
    check(&bad, "a bad operation");
}

/* Handles that were told of no device, or of one that is not there. */
static void check_handles(void)
{
    int absent = 99;
    cublasXtHandle_t given = xt;
    REQUIRE(cublasXtCreate(&xt));
    check(&usual, "no device");
    printf("cublasXtDeviceSelect ; status %d\n", (int)cublasXtDeviceSelect(xt, 1, &absent));
    check(&usual, "no such device");
    REQUIRE(cublasXtDestroy(xt));
    xt = given;
}

static void run_one(size_t m, size_t n, size_t k, int block)
{
    call x = usual;
    double *now;
    matrix c;
    x.m = m, x.n = n, x.k = k;
    REQUIRE(cublasXtSetBlockDim(xt, block));
    const cublasStatus_t status = run(&x, PAGEABLE, true, &now, &c);
    printf("status %d ; %016llx\n", (int)status,
           (unsigned long long)hash_bytes(HASH_START, now, c.bytes));
}

int main(int argc, char **argv)
{
    enum { MOST = 8 };
    int count = 0, devices[MOST] = {0};
    REQUIRE(cudaGetDeviceCount(&count));
    if (count > MOST) count = MOST;
    for (int i = 0; i < count; i++) devices[i] = i;
    REQUIRE(cublasXtCreate(&xt));
    REQUIRE(cublasXtDeviceSelect(xt, count, devices));
    REQUIRE(cudaSetDevice(count - 1));
    REQUIRE(cublasCreate_v2(&handle));
    if (argc == 5) {
        run_one((size_t)atol(argv[1]), (size_t)atol(argv[2]), (size_t)atol(argv[3]), atoi(argv[4]));
    } else {
        check_products(false);
        check_products(true);
        check_handles();
    }
    REQUIRE(cublasDestroy_v2(handle));
    REQUIRE(cublasXtDestroy(xt));
    return 0;
}
