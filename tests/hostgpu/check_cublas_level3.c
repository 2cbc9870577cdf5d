/* check_cublas_level3.c - products with symmetric, Hermitian and triangular matrices, updates of
 * rank k and 2k, triangular systems, and complex products, of every type against plain loops. What
 * must not be read is NaN. */
#include <complex.h>
#include <stdbool.h>

#include "cublas_expect.h"

typedef double complex number;

/* ---- the types, by functions whose pointers have no type ---- */

typedef cublasStatus_t symm_function(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, int, int,
                                     const void *, const void *, int, const void *, int,
                                     const void *, void *, int);
typedef cublasStatus_t rank_k_function(cublasHandle_t, cublasFillMode_t, cublasOperation_t, int,
                                       int, const void *, const void *, int, const void *, void *,
                                       int);
typedef cublasStatus_t rank_2k_function(cublasHandle_t, cublasFillMode_t, cublasOperation_t, int,
                                        int, const void *, const void *, int, const void *, int,
                                        const void *, void *, int);
typedef cublasStatus_t trmm_function(cublasHandle_t, cublasSideMode_t, cublasFillMode_t,
                                     cublasOperation_t, cublasDiagType_t, int, int, const void *,
                                     const void *, int, const void *, int, void *, int);
typedef cublasStatus_t trsm_function(cublasHandle_t, cublasSideMode_t, cublasFillMode_t,
                                     cublasOperation_t, cublasDiagType_t, int, int, const void *,
                                     const void *, int, void *, int);
typedef cublasStatus_t gemm_function(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                     int, const void *, const void *, int, const void *, int,
                                     const void *, void *, int);

#define DEFINE_CONVERSION(letter, element)                                                         \
    static void *make_##letter(const number *x, int count)                                         \
    {                                                                                              \
        element *y = acquire((size_t)count * sizeof *y);                                           \
        for (int i = 0; i < count; i++) y[i] = (element)x[i];                                      \
        return y;                                                                                  \
    }                                                                                              \
    static number get_##letter(const void *x, int i) { return ((const element *)x)[i]; }
DEFINE_CONVERSION(D, double)
DEFINE_CONVERSION(S, float)
DEFINE_CONVERSION(Z, double complex)
DEFINE_CONVERSION(C, float complex)

typedef struct {
    const char *name;
    bool is_complex;
    double unit;
    void *(*make)(const number *x, int count); /* in device memory */
    number (*get)(const void *x, int i);
    symm_function *symm, *hemm;
    rank_k_function *syrk, *herk;
    rank_2k_function *syr2k, *her2k, *syrkx, *herkx;
    trmm_function *trmm;
    trsm_function *trsm;
    gemm_function *gemm;
} type;

#define SYMMETRIC(letter)                                                                          \
    .name = #letter, .make = make_##letter, .get = get_##letter,                                   \
    .symm = (symm_function *)cublas##letter##symm_v2,                                              \
    .syrk = (rank_k_function *)cublas##letter##syrk_v2,                                            \
    .syr2k = (rank_2k_function *)cublas##letter##syr2k_v2,                                         \
    .syrkx = (rank_2k_function *)cublas##letter##syrkx,                                            \
    .trmm = (trmm_function *)cublas##letter##trmm_v2,                                              \
    .trsm = (trsm_function *)cublas##letter##trsm_v2,                                              \
    .gemm = (gemm_function *)cublas##letter##gemm_v2
#define HERMITIAN(letter)                                                                          \
    .is_complex = true, .hemm = (symm_function *)cublas##letter##hemm_v2,                          \
    .herk = (rank_k_function *)cublas##letter##herk_v2,                                            \
    .her2k = (rank_2k_function *)cublas##letter##her2k_v2,                                         \
    .herkx = (rank_2k_function *)cublas##letter##herkx
static const type types[] = {
    {SYMMETRIC(D), .unit = DBL_EPSILON},
    {SYMMETRIC(S), .unit = FLT_EPSILON},
    {SYMMETRIC(Z), HERMITIAN(Z), .unit = 2 * DBL_EPSILON},
    {SYMMETRIC(C), HERMITIAN(C), .unit = 2 * FLT_EPSILON},
};
enum { TYPES = sizeof types / sizeof *types };

/* ---- matrices on the host, without padding ---- */

enum { M = 9, N = 6, K = 5, MOST = M * M };

static void fill(const type *t, number *x)
{
    for (int i = 0; i < MOST; i++) {
        x[i] = random_number();
        if (t->is_complex) x[i] += I * random_number();
    }
}

static number element_of(const number *x, int ld, cublasOperation_t op, int row, int column)
{
    const number at = op == CUBLAS_OP_N ? x[row + column * ld] : x[column + row * ld];

    return op == CUBLAS_OP_C ? conj(at) : at;
}

static bool is_stored(cublasFillMode_t uplo, int row, int column)
{
    return uplo == CUBLAS_FILL_MODE_LOWER ? row >= column : row <= column;
}

/* C <- alpha op(A) op(B) + beta C. */
static void multiply(cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                     number alpha, const number *a, int lda, const number *b, int ldb, number beta,
                     number *c)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            number sum = 0;

            for (int l = 0; l < k; l++)
                sum += element_of(a, lda, op_a, i, l) * element_of(b, ldb, op_b, l, j);
            c[i + j * m] = alpha * sum + (beta == 0 ? 0 : beta * c[i + j * m]);
        }
}

/* Elements are of magnitude 1, sums of at most MOST of them. */
static void compare_all(const type *t, const char *what, int variant, const number *want,
                        const void *got, int count)
{
    for (int i = 0; i < count; i++) {
        const number is = t->get(got, i);

        if (isnan(creal(want[i])) ? !isnan(creal(is)) : !(cabs(is - want[i]) <= 200 * t->unit))
            fail_msg("%s%s, variant %d, element %d is %g + %gi, not %g + %gi", t->name, what,
                     variant, i, creal(is), cimag(is), creal(want[i]), cimag(want[i]));
    }
}

/* A scalar in device memory, where functions find it in either pointer mode, as that is the host's;
 * and the type of real ones. */
static void *scalar(const type *t, number x) { return t->make(&x, 1); }
static const type *real_of(const type *t) { return t->is_complex ? t - 2 : t; }

/* ---- tests ---- */

static void check_symm(const type *t, int variant, bool is_hermitian)
{
    const cublasSideMode_t side = variant & 1 ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
    const cublasFillMode_t uplo = variant & 2 ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    const int order = side == CUBLAS_SIDE_LEFT ? M : N;
    const number alpha = t->is_complex ? 1.5 - 0.5 * I : 1.5, beta = variant & 4 ? -0.5 : 0;
    number a[MOST], b[MOST], c[MOST], full[MOST];
    void *x, *y, *z;

    fill(t, a), fill(t, b), fill(t, c);
    for (int j = 0; j < order; j++)
        for (int i = 0; i < order; i++) {
            const number mirrored = a[j + i * order];
            const number at = is_stored(uplo, i, j) ? a[i + j * order]
                              : is_hermitian        ? conj(mirrored)
                                                    : mirrored;

            full[i + j * order] = i == j && is_hermitian ? creal(at) : at;
        }
    for (int j = 0; j < order; j++)
        for (int i = 0; i < order; i++)
            if (!is_stored(uplo, i, j)) a[i + j * order] = NAN;
    if (beta == 0) c[0] = NAN;
    x = t->make(a, order * order), y = t->make(b, M * N), z = t->make(c, M * N);
    expect_ok((is_hermitian ? t->hemm : t->symm)(handle, side, uplo, M, N, scalar(t, alpha), x,
                                                 order, y, M, scalar(t, beta), z, M));
    if (side == CUBLAS_SIDE_LEFT)
        multiply(CUBLAS_OP_N, CUBLAS_OP_N, M, N, M, alpha, full, M, b, M, beta, c);
    else
        multiply(CUBLAS_OP_N, CUBLAS_OP_N, M, N, N, alpha, b, M, full, N, beta, c);
    compare_all(t, is_hermitian ? "hemm" : "symm", variant, c, z, M * N);
}

/* Updates by one matrix, by two in both orders, and by two in one order. */
typedef enum { RANK_K, RANK_2K, RANK_KX } update;

static rank_2k_function *by_two(const type *t, bool is_hermitian, update which)
{
    if (which == RANK_2K) return is_hermitian ? t->her2k : t->syr2k;
    return is_hermitian ? t->herkx : t->syrkx;
}

static void check_rank_k(const type *t, int variant, bool is_hermitian, update which)
{
    static const char *const names[] = {" rank k", " rank 2k", " rank kx"};
    const cublasFillMode_t uplo = variant & 1 ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    const cublasOperation_t other = is_hermitian ? CUBLAS_OP_C : CUBLAS_OP_T,
                            op = variant & 2 ? other : CUBLAS_OP_N,
                            opposite = variant & 2 ? CUBLAS_OP_N : other;
    const bool is_alpha_real = !t->is_complex || (is_hermitian && which == RANK_K);
    const number alpha = is_alpha_real ? 1.5 : 1.5 - 0.5 * I, beta = variant & 4 ? -0.5 : 0;
    const int lda = op == CUBLAS_OP_N ? N : K;
    void *const alpha_at = scalar(is_alpha_real ? real_of(t) : t, alpha),
                *const beta_at = scalar(is_hermitian ? real_of(t) : t, beta);
    number a[MOST], b[MOST], c[MOST], old[MOST];
    void *x, *y, *z;

    fill(t, a), fill(t, b), fill(t, c);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            if (!is_stored(uplo, i, j)) c[i + j * N] = NAN;
    if (beta == 0) c[N + 1] = NAN;
    x = t->make(a, N * K), y = t->make(b, N * K), z = t->make(c, N * N);
    memcpy(old, c, sizeof old);
    for (int i = 0; i < N && is_hermitian; i++) c[i + i * N] = creal(c[i + i * N]);
    if (which == RANK_K)
        expect_ok((is_hermitian ? t->herk : t->syrk)(handle, uplo, op, N, K, alpha_at, x, lda,
                                                     beta_at, z, N));
    else
        expect_ok(by_two(t, is_hermitian, which)(handle, uplo, op, N, K, alpha_at, x, lda, y, lda,
                                                 beta_at, z, N));
    multiply(op, opposite, N, N, K, alpha, a, lda, which == RANK_K ? a : b, lda, beta, c);
    for (int i = 0; i < N && is_hermitian && which == RANK_KX; i++)
        c[i + i * N] = creal(c[i + i * N]);
    if (which == RANK_2K)
        multiply(op, opposite, N, N, K, is_hermitian ? conj(alpha) : alpha, b, lda, a, lda, 1, c);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            if (!is_stored(uplo, i, j)) c[i + j * N] = old[i + j * N];
    for (int i = 0; i < N && is_hermitian; i++) assert_true(cimag(t->get(z, i + i * N)) == 0);
    compare_all(t, names[which], variant, c, z, N * N);
}

/* Sets the whole of op(A) and takes away what is not stored; the diagonal is large, so that systems
 * are well conditioned. */
static void make_triangle(cublasFillMode_t uplo, cublasOperation_t op, cublasDiagType_t diag,
                          int order, number *a, number *whole)
{
    for (int j = 0; j < order; j++)
        for (int i = 0; i < order; i++) {
            number *at = &a[i + j * order];

            if (!is_stored(uplo, i, j)) *at = 0;
            if (i == j) *at = diag == CUBLAS_DIAG_UNIT ? 1 : 4 + i;
        }
    for (int j = 0; j < order; j++)
        for (int i = 0; i < order; i++) whole[i + j * order] = element_of(a, order, op, i, j);
    for (int j = 0; j < order; j++)
        for (int i = 0; i < order; i++)
            if (!is_stored(uplo, i, j) || (i == j && diag == CUBLAS_DIAG_UNIT))
                a[i + j * order] = NAN;
}

static void check_triangular(const type *t, int variant)
{
    const cublasSideMode_t side = variant & 1 ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
    const cublasFillMode_t uplo = variant & 2 ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    const cublasDiagType_t diag = variant & 4 ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    const cublasOperation_t op = ops[variant / 8];
    const int order = side == CUBLAS_SIDE_LEFT ? M : N;
    const number alpha = t->is_complex ? 0.25 + 0.5 * I : 0.25;
    number a[MOST], b[MOST], c[MOST], product[MOST] = {0}, whole[MOST];
    void *x, *y, *z;

    fill(t, a), fill(t, b);
    make_triangle(uplo, op, diag, order, a, whole);
    x = t->make(a, order * order), y = t->make(b, M * N), z = t->make(c, M * N);
    expect_ok(t->trmm(handle, side, uplo, op, diag, M, N, scalar(t, alpha), x, order, y, M, z, M));
    if (side == CUBLAS_SIDE_LEFT)
        multiply(CUBLAS_OP_N, CUBLAS_OP_N, M, N, M, alpha, whole, M, b, M, 0, c);
    else
        multiply(CUBLAS_OP_N, CUBLAS_OP_N, M, N, N, alpha, b, M, whole, N, 0, c);
    compare_all(t, "trmm", variant, c, z, M * N);
    compare_all(t, "trmm's B", variant, b, y, M * N);
    expect_ok(t->trmm(handle, side, uplo, op, diag, M, N, scalar(t, alpha), x, order, y, M, y, M));
    compare_all(t, "trmm in place", variant, c, y, M * N);

    z = t->make(b, M * N);
    expect_ok(t->trsm(handle, side, uplo, op, diag, M, N, scalar(t, alpha), x, order, z, M));
    for (int i = 0; i < M * N; i++) {
        c[i] = t->get(z, i);
        b[i] *= alpha;
    }
    if (side == CUBLAS_SIDE_LEFT)
        multiply(CUBLAS_OP_N, CUBLAS_OP_N, M, N, M, 1, whole, M, c, M, 0, product);
    else
        multiply(CUBLAS_OP_N, CUBLAS_OP_N, M, N, N, 1, c, M, whole, N, 0, product);
    for (int i = 0; i < M * N; i++)
        if (!(cabs(product[i] - b[i]) <= 1e4 * t->unit))
            fail_msg("%strsm, variant %d, residual %g", t->name, variant, cabs(product[i] - b[i]));
}

static void check_gemm(const type *t, int variant)
{
    const cublasOperation_t op_a = ops[variant % 3], op_b = ops[variant / 3 % 3];
    const number alpha = t->is_complex ? 1.5 - 0.5 * I : 1.5, beta = variant < 9     ? 0
                                                                     : t->is_complex ? 0.5 * I
                                                                                     : -0.5;
    const int lda = op_a == CUBLAS_OP_N ? M : K, ldb = op_b == CUBLAS_OP_N ? K : N;
    number a[MOST], b[MOST], c[MOST];
    void *x, *y, *z;

    fill(t, a), fill(t, b), fill(t, c);
    if (beta == 0) c[3] = NAN;
    x = t->make(a, M * K), y = t->make(b, K * N), z = t->make(c, M * N);
    expect_ok(t->gemm(handle, op_a, op_b, M, N, K, scalar(t, alpha), x, lda, y, ldb,
                      scalar(t, beta), z, M));
    multiply(op_a, op_b, M, N, K, alpha, a, lda, b, ldb, beta, c);
    compare_all(t, "gemm", variant, c, z, M * N);
}

TEST(test_values)
{
    for (int i = 0; i < 2 * TYPES; i++) {
        const type *t = &types[i / 2];

        expect_ok(cublasSetPointerMode(handle, i % 2 ? CUBLAS_POINTER_MODE_DEVICE
                                                     : CUBLAS_POINTER_MODE_HOST));
        for (int variant = 0; variant < 8; variant++) {
            check_symm(t, variant, false);
            for (int which = RANK_K; which <= RANK_KX; which++)
                check_rank_k(t, variant, false, (update)which);
            if (!t->is_complex) continue;
            check_symm(t, variant, true);
            for (int which = RANK_K; which <= RANK_KX; which++)
                check_rank_k(t, variant, true, (update)which);
        }
        for (int variant = 0; variant < 24; variant++) check_triangular(t, variant);
        for (int variant = 0; variant < 18; variant++) check_gemm(t, variant);
    }
    expect_ok(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
}

/* alpha = 0 reads neither A nor B, and a hand-over of 0 columns nothing. */
TEST(test_nothing_to_read)
{
    const cuDoubleComplex zero = {0, 0}, two = {2, 0};
    const double real_zero = 0, one = 1;
    cuDoubleComplex *c = acquire(4 * sizeof *c);

    for (int i = 0; i < 4; i++) c[i] = (cuDoubleComplex){i + 1, 1};
    expect_ok(cublasZhemm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, 2, 2, &zero, NULL, 2,
                          NULL, 2, &two, c, 2));
    assert_true(c[3].x == 8 && c[3].y == 2);
    expect_ok(cublasZherk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 2, 3, &real_zero, NULL, 2,
                          &one, c, 2));
    assert_true(c[3].x == 8 && c[3].y == 2); /* not touched at all */
    expect_ok(cublasZtrmm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                          CUBLAS_DIAG_UNIT, 2, 2, &zero, NULL, 2, NULL, 2, c, 2));
    for (int i = 0; i < 4; i++) assert_true(c[i].x == 0 && c[i].y == 0);
    cudaFree(c);
}

TEST(test_refusals)
{
    const cuDoubleComplex two = {2, 0};
    const double one = 1;
    cuDoubleComplex *c = acquire(4 * sizeof *c);
    cuDoubleComplex host[4] = {{1, 0}};

    expect_status(
        cublasZherk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, 2, 2, &one, c, 2, &one, c, 2),
        CUBLAS_STATUS_INVALID_VALUE);
    expect_status(
        cublasZsyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_C, 2, 2, &two, c, 2, &two, c, 2),
        CUBLAS_STATUS_INVALID_VALUE);
    expect_status(cublasZsymm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_FULL, 2, 2, &two, c, 2, c,
                              2, &two, c, 2),
                  CUBLAS_STATUS_INVALID_VALUE);
    expect_status(cublasZtrmm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                              CUBLAS_DIAG_UNIT, 2, 2, &two, c, 1, c, 2, c, 2),
                  CUBLAS_STATUS_INVALID_VALUE);
    expect_status(cublasZsyr2k_64(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 2, 1LL << 40, &two,
                                  c, 2, c, 2, &two, c, 2),
                  CUBLAS_STATUS_NOT_SUPPORTED);
    const capture said = start_capture();
    expect_status(cublasZher2k(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 2, 2, &two, c, 2, host,
                               2, &one, c, 2),
                  CUBLAS_STATUS_EXECUTION_FAILED);
    char *text = end_capture(said);
    assert_non_null(strstr(text, "cublasZher2k_v2: B, 64 bytes at "));
    free(text);
    cudaFree(c);
}

/* With all memory that the tests acquired. */
static int end(void **state) { return destroy(state) || cudaDeviceReset() != cudaSuccess; }

int main(void) { return test_run(.set_up = create, .tear_down = end); }
