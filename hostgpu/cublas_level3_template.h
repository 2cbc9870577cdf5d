/* cublas_level3_template.h - functions of symmetric, Hermitian and triangular matrices for one
 * type. C is scaled by beta here, as in cublas_gemm.c. cublas_level3.c includes this file once per
 * type and defines
 *   ELEMENT, CUDA_ELEMENT (cuDoubleComplex), REAL, LETTER (Z), LOWER (z), IS_COMPLEX,
 *   SCALAR(x)   a scalar as BLAS takes it: the number, or, if it is complex, where it is
 * No include guard: it is meant to be included again, for which the first five are undefined. */

#define LOCAL(name)         JOIN(LOWER, _, name)
#define cblas(name)         JOIN(cblas_, LOWER, name)
#define ENTRY(name, suffix) JOIN_FOUR(cublas, LETTER, name, suffix) /* cublasZtrmm_v2_64 */
#define XT_ENTRY(name)      JOIN(cublasXt, LETTER, name)

/* The call's alpha or beta; those of a Hermitian function may be real. */
static ELEMENT LOCAL(scalar)(const void *at, bool is_real)
{
    return is_real ? (ELEMENT) * (const REAL *)at : *(const ELEMENT *)at;
}

/* C <- beta C, all of it or a triangle with its diagonal, which is real in a Hermitian C. */
static void LOCAL(scale)(const level3_call *p, part_of_c part, ELEMENT beta)
{
    ELEMENT *c = p->c;
    const bool is_lower = p->uplo == CUBLAS_FILL_MODE_LOWER;

    for (int64_t j = 0; j < p->n; j++) {
        const int64_t first = part == TRIANGLE && is_lower ? j : 0;
        const int64_t end = part == ALL ? p->m : is_lower ? p->n : j + 1;

        for (int64_t i = first; i < end && beta != 1; i++)
            c[i + j * p->ldc] = beta == 0 ? 0 : beta * c[i + j * p->ldc];
        if (p->is_hermitian && part == TRIANGLE) c[j + j * p->ldc] = REAL_PART(c[j + j * p->ldc]);
    }
}

/* ---- C <- alpha A B + beta C or alpha B A + beta C, A symmetric or Hermitian ---- */

static void LOCAL(add_symm)(const level3_call *p, ELEMENT alpha)
{
    const ELEMENT one = 1;
    const int m = (int)p->m, n = (int)p->n, lda = (int)p->lda, ldb = (int)p->ldb, ldc = (int)p->ldc;
    const CBLAS_SIDE side = side_of(p);
    const CBLAS_UPLO uplo = fill_of(p);

#if IS_COMPLEX
    if (p->is_hermitian) {
        cblas(hemm)(CblasColMajor, side, uplo, m, n, SCALAR(alpha), p->a, lda, p->b, ldb,
                    SCALAR(one), p->c, ldc);
        return;
    }
#endif
    cblas(symm)(CblasColMajor, side, uplo, m, n, SCALAR(alpha), p->a, lda, p->b, ldb, SCALAR(one),
                p->c, ldc);
}

static cublasStatus_t LOCAL(symm)(const level3_call *p)
{
    const int64_t order = p->side == CUBLAS_SIDE_LEFT ? p->m : p->n;
    const size_t bytes = sizeof(ELEMENT);
    ELEMENT alpha;

    REQUIRE_SUCCESS(check_ready(p));
    REQUIRE(is_side(p) && is_fill(p) && p->m >= 0 && p->n >= 0 && is_ld(p->lda, order) &&
                is_ld(p->ldb, p->m) && is_ld(p->ldc, p->m) && p->alpha && p->beta,
            CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(are_small(p), CUBLAS_STATUS_NOT_SUPPORTED);
    if (!p->m || !p->n) return CUBLAS_STATUS_SUCCESS;
    REQUIRE(is_scalar(p, "alpha", p->alpha, bytes) && is_scalar(p, "beta", p->beta, bytes),
            CUBLAS_STATUS_EXECUTION_FAILED);
    alpha = LOCAL(scalar)(p->alpha, false);
    REQUIRE((alpha == 0 || (is_matrix(p, "A", p->a, order, order, p->lda, bytes) &&
                            is_matrix(p, "B", p->b, p->m, p->n, p->ldb, bytes))) &&
                is_matrix(p, "C", p->c, p->m, p->n, p->ldc, bytes),
            CUBLAS_STATUS_EXECUTION_FAILED);
    LOCAL(scale)(p, ALL, LOCAL(scalar)(p->beta, false));
    hostgpu_begin_blas();
    if (alpha != 0) LOCAL(add_symm)(p, alpha);
    hostgpu_end_blas();
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- one triangle of C <- alpha op(A) op(A)^T + beta C, and of the same with two operands ---- */

/* With two: C <- alpha (op(A) op(B)^T + op(B) op(A)^T) + beta C, or, if is_one_product, C <- alpha
 * op(A) op(B)^T + beta C. */

/* The one product, a column of C at a time. */
static void LOCAL(add_rank_kx)(const level3_call *p, ELEMENT alpha)
{
    const ELEMENT one = 1, *a = p->a, *b = p->b;
    ELEMENT *c = p->c;
    const int n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb, ldc = (int)p->ldc;
    const CBLAS_TRANSPOSE op = transpose_of(p), opposite = op != CblasNoTrans ? CblasNoTrans
                                                           : p->is_hermitian  ? CblasConjTrans
                                                                              : CblasTrans;
    const int64_t row_a = op == CblasNoTrans ? 1 : lda, row_b = op == CblasNoTrans ? 1 : ldb;

    for (int j = 0; j < n; j++) {
        const bool is_lower = p->uplo == CUBLAS_FILL_MODE_LOWER;
        const int first = is_lower ? j : 0, rows = is_lower ? n - j : j + 1;

        cblas(gemm)(CblasColMajor, op, opposite, rows, 1, k, SCALAR(alpha), a + first * row_a, lda,
                    b + j * row_b, ldb, SCALAR(one), c + first + (int64_t)j * ldc, ldc);
        if (p->is_hermitian) c[j + (int64_t)j * ldc] = REAL_PART(c[j + (int64_t)j * ldc]);
    }
}

static void LOCAL(add_rank_k)(const level3_call *p, int operands, ELEMENT alpha)
{
    const ELEMENT one = 1;
    const int n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb, ldc = (int)p->ldc;
    const CBLAS_UPLO uplo = fill_of(p);
    const CBLAS_TRANSPOSE op = transpose_of(p);

    if (p->is_one_product) {
        LOCAL(add_rank_kx)(p, alpha);
        return;
    }
#if IS_COMPLEX
    if (p->is_hermitian && operands == 1) {
        cblas(herk)(CblasColMajor, uplo, op, n, k, REAL_PART(alpha), p->a, lda, 1, p->c, ldc);
        return;
    }
    if (p->is_hermitian) {
        cblas(her2k)(CblasColMajor, uplo, op, n, k, SCALAR(alpha), p->a, lda, p->b, ldb, 1, p->c,
                     ldc);
        return;
    }
#endif
    if (operands == 1)
        cblas(syrk)(CblasColMajor, uplo, op, n, k, SCALAR(alpha), p->a, lda, SCALAR(one), p->c,
                    ldc);
    else
        cblas(syr2k)(CblasColMajor, uplo, op, n, k, SCALAR(alpha), p->a, lda, p->b, ldb,
                     SCALAR(one), p->c, ldc);
}

static cublasStatus_t LOCAL(rank_k)(const level3_call *p, int operands)
{
    const int64_t rows = p->op == CUBLAS_OP_N ? p->n : p->k, columns = p->n + p->k - rows;
    const bool is_alpha_real = p->is_hermitian && operands == 1;
    const size_t bytes = sizeof(ELEMENT);
    ELEMENT alpha, beta;

    REQUIRE_SUCCESS(check_ready(p));
    REQUIRE(is_fill(p) && is_rank_k_op(p, IS_COMPLEX) && p->n >= 0 && p->k >= 0 &&
                is_ld(p->lda, rows) && is_ld(p->ldb, rows) && is_ld(p->ldc, p->n) && p->alpha &&
                p->beta,
            CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(are_small(p), CUBLAS_STATUS_NOT_SUPPORTED);
    if (!p->n) return CUBLAS_STATUS_SUCCESS;
    REQUIRE(is_scalar(p, "alpha", p->alpha, is_alpha_real ? sizeof(REAL) : bytes) &&
                is_scalar(p, "beta", p->beta, p->is_hermitian ? sizeof(REAL) : bytes),
            CUBLAS_STATUS_EXECUTION_FAILED);
    alpha = LOCAL(scalar)(p->alpha, is_alpha_real);
    beta = LOCAL(scalar)(p->beta, p->is_hermitian);
    if (!p->k) alpha = 0;
    REQUIRE((alpha == 0 ||
             (is_matrix(p, "A", p->a, rows, columns, p->lda, bytes) &&
              (operands == 1 || is_matrix(p, "B", p->b, rows, columns, p->ldb, bytes)))) &&
                is_matrix(p, "C", p->c, p->n, p->n, p->ldc, bytes),
            CUBLAS_STATUS_EXECUTION_FAILED);
    /* As cuBLAS does: nobody on the host knows scalars that are on the device. */
    if (mode_of_scalars(p) == CUBLAS_POINTER_MODE_HOST && alpha == 0 && beta == 1)
        return CUBLAS_STATUS_SUCCESS;
    LOCAL(scale)(p, TRIANGLE, beta);
    hostgpu_begin_blas();
    if (alpha != 0) LOCAL(add_rank_k)(p, operands, alpha);
    hostgpu_end_blas();
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- C <- alpha op(A) B or alpha B op(A), A triangular; or by op(A)'s inverse, B being C ---- */

/* C <- B, which may be in the same place. */
static void LOCAL(copy_b)(const level3_call *p)
{
    const ELEMENT *b = p->b;
    ELEMENT *c = p->c;

    for (int64_t j = 0; j < p->n && b != c; j++)
        memcpy(c + j * p->ldc, b + j * p->ldb, (size_t)p->m * sizeof *c);
}

static void LOCAL(apply_triangle)(const level3_call *p, bool solves)
{
    const ELEMENT one = 1;
    const int m = (int)p->m, n = (int)p->n, lda = (int)p->lda, ldc = (int)p->ldc;
    const CBLAS_DIAG diag = p->diag == CUBLAS_DIAG_UNIT ? CblasUnit : CblasNonUnit;

    if (solves)
        cblas(trsm)(CblasColMajor, side_of(p), fill_of(p), transpose_of(p), diag, m, n, SCALAR(one),
                    p->a, lda, p->c, ldc);
    else
        cblas(trmm)(CblasColMajor, side_of(p), fill_of(p), transpose_of(p), diag, m, n, SCALAR(one),
                    p->a, lda, p->c, ldc);
}

static cublasStatus_t LOCAL(triangular)(const level3_call *p, bool solves)
{
    const int64_t order = p->side == CUBLAS_SIDE_LEFT ? p->m : p->n;
    const size_t bytes = sizeof(ELEMENT);
    ELEMENT alpha;

    REQUIRE_SUCCESS(check_ready(p));
    REQUIRE(is_side(p) && is_fill(p) && is_op(p->op) && is_diag(p) && p->m >= 0 && p->n >= 0 &&
                is_ld(p->lda, order) && is_ld(p->ldb, p->m) && is_ld(p->ldc, p->m) && p->alpha,
            CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(are_small(p), CUBLAS_STATUS_NOT_SUPPORTED);
    if (!p->m || !p->n) return CUBLAS_STATUS_SUCCESS;
    REQUIRE(is_scalar(p, "alpha", p->alpha, bytes), CUBLAS_STATUS_EXECUTION_FAILED);
    alpha = LOCAL(scalar)(p->alpha, false);
    REQUIRE((alpha == 0 || (is_matrix(p, "A", p->a, order, order, p->lda, bytes) &&
                            is_matrix(p, "B", p->b, p->m, p->n, p->ldb, bytes))) &&
                is_matrix(p, solves ? "B" : "C", p->c, p->m, p->n, p->ldc, bytes),
            CUBLAS_STATUS_EXECUTION_FAILED);
    if (alpha != 0) LOCAL(copy_b)(p);
    LOCAL(scale)(p, ALL, alpha);
    hostgpu_begin_blas();
    if (alpha != 0) LOCAL(apply_triangle)(p, solves);
    hostgpu_end_blas();
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- entry points ---- */

#define DEFINE_SYMM(handle_type, integer, entry, hermitian)                                        \
    cublasStatus_t entry(handle_type handle, cublasSideMode_t side, cublasFillMode_t uplo,         \
                         integer m, integer n, const CUDA_ELEMENT *alpha, const CUDA_ELEMENT *a,   \
                         integer lda, const CUDA_ELEMENT *b, integer ldb,                          \
                         const CUDA_ELEMENT *beta, CUDA_ELEMENT *c, integer ldc)                   \
    {                                                                                              \
        return LOCAL(symm)(                                                                        \
            &(level3_call){HANDLES(handle), .name = TEXT(entry), .is_hermitian = hermitian,        \
                           .side = side, .uplo = uplo, .m = (int64_t)m, .n = (int64_t)n,           \
                           .alpha = alpha, .a = a, .lda = (int64_t)lda, .b = b,                    \
                           .ldb = (int64_t)ldb, .beta = beta, .c = c, .ldc = (int64_t)ldc});       \
    }

#define DEFINE_RANK_K(handle_type, integer, entry, hermitian, alpha_type, beta_type)               \
    cublasStatus_t entry(handle_type handle, cublasFillMode_t uplo, cublasOperation_t op,          \
                         integer n, integer k, const alpha_type *alpha, const CUDA_ELEMENT *a,     \
                         integer lda, const beta_type *beta, CUDA_ELEMENT *c, integer ldc)         \
    {                                                                                              \
        return LOCAL(rank_k)(&(level3_call){HANDLES(handle), .name = TEXT(entry),                  \
                                            .is_hermitian = hermitian, .uplo = uplo, .op = op,     \
                                            .n = (int64_t)n, .k = (int64_t)k, .alpha = alpha,      \
                                            .a = a, .lda = (int64_t)lda, .ldb = (int64_t)lda,      \
                                            .beta = beta, .c = c, .ldc = (int64_t)ldc},            \
                             1);                                                                   \
    }

#define DEFINE_RANK_2K(handle_type, integer, entry, is_one, hermitian, beta_type)                  \
    cublasStatus_t entry(handle_type handle, cublasFillMode_t uplo, cublasOperation_t op,          \
                         integer n, integer k, const CUDA_ELEMENT *alpha, const CUDA_ELEMENT *a,   \
                         integer lda, const CUDA_ELEMENT *b, integer ldb, const beta_type *beta,   \
                         CUDA_ELEMENT *c, integer ldc)                                             \
    {                                                                                              \
        return LOCAL(rank_k)(                                                                      \
            &(level3_call){HANDLES(handle), .name = TEXT(entry), .is_hermitian = hermitian,        \
                           .is_one_product = is_one, .uplo = uplo, .op = op, .n = (int64_t)n,      \
                           .k = (int64_t)k, .alpha = alpha, .a = a, .lda = (int64_t)lda, .b = b,   \
                           .ldb = (int64_t)ldb, .beta = beta, .c = c, .ldc = (int64_t)ldc},        \
            2);                                                                                    \
    }

#define TRIANGULAR(entry, solves, matrix_b, step_b, matrix_c, step_c)                              \
    LOCAL(triangular)                                                                              \
    (&(level3_call){HANDLES(handle), .name = TEXT(entry), .side = side, .uplo = uplo, .op = op,    \
                    .diag = diag, .m = (int64_t)m, .n = (int64_t)n, .alpha = alpha, .a = a,        \
                    .lda = (int64_t)lda, .b = matrix_b, .ldb = (int64_t)(step_b), .c = matrix_c,   \
                    .ldc = (int64_t)(step_c)},                                                     \
     solves)

#define DEFINE_TRMM(handle_type, integer, entry)                                                   \
    cublasStatus_t entry(handle_type handle, cublasSideMode_t side, cublasFillMode_t uplo,         \
                         cublasOperation_t op, cublasDiagType_t diag, integer m, integer n,        \
                         const CUDA_ELEMENT *alpha, const CUDA_ELEMENT *a, integer lda,            \
                         const CUDA_ELEMENT *b, integer ldb, CUDA_ELEMENT *c, integer ldc)         \
    {                                                                                              \
        return TRIANGULAR(entry, false, b, ldb, c, ldc);                                           \
    }

#define DEFINE_TRSM(handle_type, integer, entry)                                                   \
    cublasStatus_t entry(handle_type handle, cublasSideMode_t side, cublasFillMode_t uplo,         \
                         cublasOperation_t op, cublasDiagType_t diag, integer m, integer n,        \
                         const CUDA_ELEMENT *alpha, const CUDA_ELEMENT *a, integer lda,            \
                         CUDA_ELEMENT *b, integer ldb)                                             \
    {                                                                                              \
        return TRIANGULAR(entry, true, b, ldb, b, ldb);                                            \
    }

/* All functions of an interface; v2 and plain give their names. */
#define DEFINE_SYMMETRIC(handle_type, integer, v2, plain)                                          \
    DEFINE_SYMM(handle_type, integer, v2(symm), false)                                             \
    DEFINE_RANK_K(handle_type, integer, v2(syrk), false, CUDA_ELEMENT, CUDA_ELEMENT)               \
    DEFINE_RANK_2K(handle_type, integer, v2(syr2k), false, false, CUDA_ELEMENT)                    \
    DEFINE_RANK_2K(handle_type, integer, plain(syrkx), true, false, CUDA_ELEMENT)                  \
    DEFINE_TRMM(handle_type, integer, v2(trmm))                                                    \
    DEFINE_TRSM(handle_type, integer, v2(trsm))
#define DEFINE_HERMITIAN(handle_type, integer, v2, plain)                                          \
    DEFINE_SYMM(handle_type, integer, v2(hemm), true)                                              \
    DEFINE_RANK_K(handle_type, integer, v2(herk), true, REAL, REAL)                                \
    DEFINE_RANK_2K(handle_type, integer, v2(her2k), false, true, REAL)                             \
    DEFINE_RANK_2K(handle_type, integer, plain(herkx), true, true, REAL)

#define V2(name)       ENTRY(name, _v2)
#define V2_64(name)    ENTRY(name, _v2_64)
#define PLAIN(name)    ENTRY(name, )
#define PLAIN_64(name) ENTRY(name, _64)

DEFINE_SYMMETRIC(cublasHandle_t, int, V2, PLAIN)
DEFINE_SYMMETRIC(cublasHandle_t, int64_t, V2_64, PLAIN_64)
DEFINE_SYMMETRIC(cublasXtHandle_t, size_t, XT_ENTRY, XT_ENTRY)

#if IS_COMPLEX
DEFINE_HERMITIAN(cublasHandle_t, int, V2, PLAIN)
DEFINE_HERMITIAN(cublasHandle_t, int64_t, V2_64, PLAIN_64)
DEFINE_HERMITIAN(cublasXtHandle_t, size_t, XT_ENTRY, XT_ENTRY)
#endif

#undef V2
#undef V2_64
#undef PLAIN
#undef PLAIN_64
#undef DEFINE_SYMMETRIC
#undef DEFINE_HERMITIAN
#undef DEFINE_TRMM
#undef DEFINE_TRSM
#undef TRIANGULAR
#undef DEFINE_RANK_2K
#undef DEFINE_RANK_K
#undef DEFINE_SYMM
#undef ENTRY
#undef XT_ENTRY
#undef cblas
#undef LOCAL
#undef REAL
#undef ELEMENT
#undef CUDA_ELEMENT
#undef LETTER
#undef LOWER
