/* client_level3.c - a program that knows nothing of Tandem: the level 3 routines in all their
 * forms, for check_preload_level3.py. One line for each call: function, what it was
 * called with, status, the largest error of a real or imaginary part relative to abs(A)abs(B), or
 * of a residual relative to abs(A)abs(X), and how many elements changed that the call must not
 * write. The name of a form as argument: no other. A brief test compares some elements of C alone,
 * as the sums in long double take most of its time. */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "../support/level3.h"
#include "../support/test.h"
#include "client_level3.h"

cublasStatus_t cublasInit(void); /* of cublas.h */

typedef double _Complex number;

enum { M = 75, N = 67, K = 35, LD = 83, SIZE = LD * LD };

static cublasHandle_t handle;
static void *a, *b, *c, *scalars; /* on the device; alpha, then beta */
static number host_a[SIZE], host_b[SIZE], before[SIZE], after[SIZE];

/* ---- routines and their forms ---- */

typedef level3_routine routine;

typedef enum { PLAIN, LARGE, ON_DEVICE, LEGACY, FORMS } form;
static const char *const form_names[] = {"plain", "64", "device", "legacy"};

/* A triangular product is in place where its B has C's leading dimension. */
static bool is_in_place(const routine *r, const call *x)
{
    return level3_is_triangular(r) && x->ldb == x->ldc;
}

static cublasStatus_t run_function(const routine *r, level3_function *f, const call *x,
                                   const void *alpha, const void *beta, const void *from)
{
    const level3_arguments with = {.side = x->side,
                                   .uplo = x->uplo,
                                   .op = x->op,
                                   .diag = x->diag,
                                   .m = x->m,
                                   .n = x->n,
                                   .k = x->k,
                                   .lda = x->lda,
                                   .ldb = x->ldb,
                                   .ldc = x->ldc,
                                   .alpha = alpha,
                                   .a = a,
                                   .b = from,
                                   .beta = beta,
                                   .c = c};
    return level3_call(r, f, handle, &with);
}

static cublasStatus_t run_on_device(const routine *r, const call *x, const void *from)
{
    char *const at = scalars;
    cudaMemcpy(at, x->alpha, sizeof x->alpha, cudaMemcpyHostToDevice);
    cudaMemcpy(at + sizeof x->alpha, x->beta, sizeof x->beta, cudaMemcpyHostToDevice);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    const cublasStatus_t status = run_function(r, r->plain, x, at, at + sizeof x->alpha, from);
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
    return status;
}

static cublasStatus_t run(const routine *r, form f, const call *x)
{
    const void *const from = is_in_place(r, x) ? c : b;
    switch (f) {
    case PLAIN:
        return run_function(r, r->plain, x, x->alpha, x->beta, from);
    case LARGE:
        return run_function(r, r->large, x, x->alpha, x->beta, from);
    case ON_DEVICE:
        return run_on_device(r, x, from);
    default:
        return (cublasStatus_t)run_legacy(r->name, x, a, from, c);
    }
}

/* ---- what the result should be ---- */

static bool is_stored(const call *x, int i, int j) { return x->uplo == 0 ? i >= j : i <= j; }

static number with_op(const call *x, const number *at, int ld, int i, int l)
{
    if (x->op == CUBLAS_OP_N) return at[i + l * ld];
    return x->op == CUBLAS_OP_T ? at[l + i * ld] : conj(at[l + i * ld]);
}

static number mirrored(const routine *r, const call *x, int i, int j)
{
    const number at = is_stored(x, i, j) ? host_a[i + j * x->lda] : host_a[j + i * x->lda];
    if (!r->is_hermitian) return at;
    return i == j ? creal(at) : is_stored(x, i, j) ? at : conj(at);
}

static number triangular(const call *x, int i, int l)
{
    const bool is_given = x->op == CUBLAS_OP_N;
    if (!(is_given ? is_stored(x, i, l) : is_stored(x, l, i))) return 0.0;
    return i == l && x->diag == 1 ? 1.0 : with_op(x, host_a, x->lda, i, l);
}

/* Element (i, j) of an A with a side. */
static number sided(const routine *r, const call *x, int i, int j)
{
    return r->kind == SYMM ? mirrored(r, x, i, j) : triangular(x, i, j);
}

/* A sum of products, and the sum of their sizes. The size of a number is that of its parts. */
typedef struct {
    long double re, im;
    double size;
} total;

static double size_of(number x) { return fabs(creal(x)) + fabs(cimag(x)); }

/* The compiler's own product looks for infinities, of which there are none, and takes three times
 * as long. */
static void add(total *t, number x, number y)
{
    const long double a = creal(x), b = cimag(x), c = creal(y), d = cimag(y);
    t->re += a * c - b * d;
    t->im += a * d + b * c;
    t->size += size_of(x) * size_of(y);
}

/* The factors of a call's product, without its scalars: row i of the first one from i * LD on, and
 * column j of the second one from j * LD on. */
typedef struct {
    number row[SIZE], column[SIZE];
} factors;

/* Of syr2k and her2k the product of the other order, too. */
static factors plain, swapped;

static void take_sided(const routine *r, const call *x, int rows, int cols, int terms)
{
    const number *const other = r->kind == TRSM ? after : host_b;
    for (int l = 0; l < terms; l++) {
        for (int i = 0; i < rows; i++)
            plain.row[i * LD + l] = x->side == 0 ? sided(r, x, i, l) : other[i + l * x->ldb];
        for (int j = 0; j < cols; j++)
            plain.column[j * LD + l] = x->side == 0 ? other[l + j * x->ldb] : sided(r, x, l, j);
    }
}

static void take_updating(const routine *r, const call *x, const number *first, int ld_first,
                          const number *second, int ld_second, factors *to)
{
    for (int i = 0; i < x->n; i++)
        for (int l = 0; l < x->k; l++) {
            const number y = with_op(x, second, ld_second, i, l);
            to->row[i * LD + l] = with_op(x, first, ld_first, i, l);
            to->column[i * LD + l] = r->is_hermitian ? conj(y) : y;
        }
}

static void take_factors(const routine *r, const call *x)
{
    if (level3_has_side(r)) {
        take_sided(r, x, x->m, x->n, x->side == 0 ? x->m : x->n);
    } else if (r->kind == SYRK) {
        take_updating(r, x, host_a, x->lda, host_a, x->lda, &plain);
    } else {
        take_updating(r, x, host_a, x->lda, host_b, x->ldb, &plain);
        take_updating(r, x, host_b, x->ldb, host_a, x->lda, &swapped);
    }
}

/* Element (i, j) of a product. Of a real one, whose other parts are zeros, a fourth of the work. */
static total product_of(const routine *r, const factors *f, int i, int j, int terms)
{
    const number *const row = f->row + i * LD, *const column = f->column + j * LD;
    total t = {0};
    for (int l = 0; l < terms && r->is_complex; l++) add(&t, row[l], column[l]);
    for (int l = 0; l < terms && !r->is_complex; l++) {
        t.re += (long double)creal(row[l]) * creal(column[l]);
        t.size += fabs(creal(row[l]) * creal(column[l]));
    }
    return t;
}

static number scalar(const double *x, bool is_real) { return is_real ? x[0] : x[0] + I * x[1]; }

/* Adds a scalar times a sum to another one. */
static void add_scaled(total *to, number alpha, const total *t)
{
    const long double re = creal(alpha), im = cimag(alpha);
    to->re += re * t->re - im * t->im;
    to->im += re * t->im + im * t->re;
    to->size += size_of(alpha) * t->size;
}

/* How far a sum is off, relative to the size of its terms; NaN if a part is NaN. */
static double relative(const total *off)
{
    if (isnan(off->re) || isnan(off->im)) return NAN;
    const long double most = fmaxl(fabsl(off->re), fabsl(off->im));
    return most == 0.0L ? 0.0 : (double)(most / off->size);
}

/* Of a solution: op(A) X or X op(A), which is alpha B. */
static double residual_of(const routine *r, const call *x, int i, int j)
{
    const int terms = x->side == 0 ? x->m : x->n;
    const total product = product_of(r, &plain, i, j, terms);
    total off = {0};
    add_scaled(&off, -1.0, &product);
    add(&off, scalar(x->alpha, !r->is_complex), before[i + j * x->ldc]);
    return relative(&off);
}

/* True of an update that adds nothing: it leaves C as it is, unless its scalars are in device
 * memory, where cuBLAS makes a Hermitian one's diagonal real all the same. */
static bool returns_at_once(const routine *r, form f, const call *x)
{
    const bool adds_nothing = x->k == 0 || (x->alpha[0] == 0.0 && x->alpha[1] == 0.0);
    return !level3_has_side(r) && f != ON_DEVICE && adds_nothing && x->beta[0] == 1.0 &&
           x->beta[1] == 0.0;
}

static double error_of(const routine *r, form f, const call *x, int i, int j)
{
    if (r->kind == TRSM) return residual_of(r, x, i, j);
    const bool is_real = !r->is_complex, updates = !level3_has_side(r);
    const number alpha = scalar(x->alpha, is_real || (r->is_hermitian && r->kind == SYRK)),
                 beta = scalar(x->beta, is_real || (r->is_hermitian && updates));
    const bool reads_c = r->kind != TRMM && beta != 0.0,
               is_diagonal = r->is_hermitian && updates && i == j && !returns_at_once(r, f, x);
    const int terms = alpha == 0.0 ? 0 : updates ? x->k : x->side == 0 ? x->m : x->n;
    const number old = is_diagonal ? creal(before[i + j * x->ldc]) : before[i + j * x->ldc];
    const total product = product_of(r, &plain, i, j, terms),
                other = product_of(r, &swapped, i, j, r->kind == SYR2K ? terms : 0);
    total off = {0};
    add_scaled(&off, alpha, &product);
    add_scaled(&off, r->is_hermitian ? conj(alpha) : alpha, &other);
    if (reads_c) add(&off, beta, old);
    const number got = after[i + j * x->ldc];
    if (is_diagonal) off.im = 0.0L;
    off.re -= creal(got);
    off.im -= cimag(got);
    return relative(&off);
}

/* ---- a call ---- */

static bool is_written(const routine *r, const call *x, int i, int j)
{
    if (i >= (level3_has_side(r) ? x->m : x->n) || j >= x->n) return false;
    return level3_has_side(r) || is_stored(x, i, j);
}

/* A NaN that nothing computes. */
static number poison(void) { return nan("17") + I * nan("18"); }

/* Copies a matrix to the device as the routine's elements are. */
static void upload(const routine *r, void *to, const number *from)
{
    static double real[SIZE];
    for (int e = 0; e < SIZE; e++) real[e] = creal(from[e]);
    if (!r->is_complex)
        cudaMemcpy(to, real, sizeof real, cudaMemcpyHostToDevice);
    else
        cudaMemcpy(to, from, SIZE * sizeof *from, cudaMemcpyHostToDevice);
}

static void download(const routine *r, number *to, const void *from)
{
    static double real[SIZE];
    if (r->is_complex) {
        cudaMemcpy(to, from, SIZE * sizeof *to, cudaMemcpyDeviceToHost);
        return;
    }
    cudaMemcpy(real, from, sizeof real, cudaMemcpyDeviceToHost);
    for (int e = 0; e < SIZE; e++) to[e] = real[e];
}

/* What matrices are filled from: numbers of widely different sizes. */
typedef enum { FOR_A, FOR_TRIANGLE, FOR_B, FOR_C, SERIES } series;

static number values[SERIES][SIZE];

static void make_values(void)
{
    static const double phases[] = {0.0, 0.5, 1.0, 2.0};
    for (int s = 0; s < SERIES; s++)
        for (int e = 0; e < SIZE; e++)
            values[s][e] =
                exp(e % 11 - 5.0) * (sin(e * 1.7 + phases[s]) + I * cos(e * 2.3 + phases[s]));
}

static number value(const routine *r, int e, series of)
{
    return !r->is_complex ? creal(values[of][e]) : values[of][e];
}

/* A, B and C, poisoned where the call must not look: outside, in the triangle of A that is not
 * stored, on a unit diagonal, outside the triangle of C, and in all of C if beta is 0. */
static void fill(const routine *r, const call *x)
{
    const bool is_beta_0 = x->beta[0] == 0.0 && x->beta[1] == 0.0;
    const int order = x->side == 0 ? x->m : x->n;
    for (int e = 0; e < SIZE; e++) {
        const int i = e % x->lda, j = e / x->lda;
        const bool is_hidden =
            level3_has_side(r) && (i >= order || j >= order || !is_stored(x, i, j) ||
                                   (level3_is_triangular(r) && x->diag == 1 && i == j));
        /* A large diagonal without zeros keeps solutions finite. */
        const double share = r->kind == TRSM && i != j ? 1e-4 : 1.0;
        host_a[e] =
            is_hidden ? poison() : share * value(r, e, r->kind == TRSM ? FOR_TRIANGLE : FOR_A);
        host_b[e] = value(r, e, FOR_B);
    }
    for (int e = 0; e < SIZE; e++) {
        const int i = e % x->ldc, j = e / x->ldc;
        const bool is_read = is_written(r, x, i, j) && !is_beta_0 && !level3_is_triangular(r);
        before[e] = is_read ? value(r, e, FOR_C) : is_in_place(r, x) ? host_b[e] : poison();
    }
    upload(r, a, host_a);
    upload(r, b, host_b);
    upload(r, c, before);
    download(r, before, c);
}

/* True if the bits of two numbers differ, which may be NaN. */
static bool has_changed(const void *from, const void *to)
{
    return memcmp(from, to, sizeof(number)) != 0;
}

static void check(const routine *r, form f, const call *x)
{
    /* A brief test's elements are of all rows: no leading dimension has the divisor 29. */
    const int step = test_is_brief() ? 29 : 1;
    double worst = 0.0;
    int touched = 0;
    fill(r, x);
    const cublasStatus_t status = run(r, f, x);
    download(r, after, c);
    if (status == CUBLAS_STATUS_SUCCESS) take_factors(r, x);
    for (int e = 0; e < SIZE; e++) {
        const int i = e % x->ldc, j = e / x->ldc;
        if (status != CUBLAS_STATUS_SUCCESS || !is_written(r, x, i, j)) {
            touched += has_changed(&before[e], &after[e]);
            continue;
        }
        const double error = e % step == 0 ? error_of(r, f, x, i, j) : 0.0;
        if (!(error <= worst) && !isnan(worst)) worst = error;
    }
    printf("cublas%s %s %d %d %d %d %d %d %d %d %d %d %g,%g %g,%g : %d %.3g %d\n", r->name,
           form_names[f], x->side, x->uplo, x->op, x->diag, x->m, x->n, x->k, x->lda, x->ldb,
           x->ldc, x->alpha[0], x->alpha[1], x->beta[0], x->beta[1], (int)status, worst, touched);
}

/* Everything that may vary, by a number. */
static call varied(const routine *r, form f, int which)
{
    static const double alphas[][2] = {{1.0, 0.0}, {-1.5, 0.0}, {0.75, 0.5}, {0.0, 0.0}},
                        betas[][2] = {{0.0, 0.0}, {0.75, 0.0}, {-0.5, 0.25}};
    const bool is_update_of_complex = r->is_complex && !level3_has_side(r);
    const int shape = which / 2; /* so that forms that take every other number see all */
    call x = {.side = shape % 2,
              .uplo = shape / 2 % 2,
              .op = shape / 4 % 3,
              .diag = shape / 3 % 2,
              .m = M,
              .n = N,
              .k = which % 11 == 6 ? 0 : K,
              .lda = LD - which % 5,
              .ldb = LD - which % 4,
              .ldc = LD - which % 3};
    if (is_update_of_complex)
        x.op = shape / 4 % 2 ? (r->is_hermitian ? CUBLAS_OP_C : CUBLAS_OP_T) : CUBLAS_OP_N;
    if (r->kind == TRSM || (f == LEGACY && r->kind == TRMM)) x.ldb = x.ldc;
    if (which % 13 == 8) x.n = 0;
    memcpy(x.alpha, alphas[which * 5 / 3 % 4], sizeof x.alpha);
    memcpy(x.beta, betas[which % 3], sizeof x.beta);
    return x;
}

/* What cuBLAS refuses. */
static void check_refused(const routine *r, form f)
{
    const call good = varied(r, f, 1);
    call bad[6] = {good, good, good, good, good, good};
    bad[0].n = -1;
    bad[1].uplo = CUBLAS_FILL_MODE_FULL;
    bad[2].lda = level3_has_side(r) ? (good.side == 0 ? M : N) - 1 : (good.op == 0 ? N : K) - 1;
    bad[3].ldc = (level3_has_side(r) ? M : N) - 1;
    bad[4].op = level3_has_side(r) ? good.op : 7;
    bad[4].side = level3_has_side(r) ? 7 : good.side;
    bad[5].diag = 7; /* which triangular products and solutions refuse */
    for (int i = 0; i < (level3_is_triangular(r) ? 6 : 5); i++) check(r, f, &bad[i]);
}

/* Updates that add nothing to C itself: by their scalars, and by their terms. */
static void check_unchanged(const routine *r, form f)
{
    call x = varied(r, f, 1);
    x.alpha[0] = x.alpha[1] = x.beta[1] = 0.0;
    x.beta[0] = 1.0;
    check(r, f, &x);
    x.alpha[0] = 1.0;
    x.k = 0;
    check(r, f, &x);
}

static void check_form(const routine *r, form f)
{
    enum { VARIANTS = 24 };
    if (r->kind == GEMM) return;                 /* the other clients' */
    if (f == LEGACY && r->kind == SYRKX) return; /* cublas.h has none */
    for (int i = f % 2; i < VARIANTS; i += 2) {
        const call x = varied(r, f, i);
        check(r, f, &x);
    }
    if (!level3_has_side(r)) check_unchanged(r, f);
    check_refused(r, f);
}

int main(int argc, char **argv)
{
    cudaMalloc(&a, sizeof host_a);
    cudaMalloc(&b, sizeof host_b);
    cudaMalloc(&c, sizeof before);
    cudaMalloc(&scalars, 4 * sizeof(double));
    make_values();
    if (!a || !b || !c || !scalars || cublasCreate(&handle) || cublasInit()) return EXIT_FAILURE;
    for (const routine *r = level3_routines; r < level3_routines + LEVEL3_ROUTINES; r++)
        for (int f = 0; f < FORMS; f++)
            if (argc < 2 || !strcmp(argv[1], form_names[f])) check_form(r, (form)f);
    return cublasDestroy(handle) ? EXIT_FAILURE : EXIT_SUCCESS;
}
