/* cublas_matrix_template.h - matrix functions other than products, for one type; cublas_vector.c
 * includes it after cublas_vector_template.h, whose names it uses, once per type. */

/* cublasDgeam, cublasDgeam_64: the one function here without _v2 in its name */
#define GEAM_ENTRY(width) JOIN(JOIN(cublas, LETTER, geam), , width)

static bool LOCAL(is_matrix)(const char *name, const char *operand, const REAL *a, int64_t rows,
                             int64_t columns, int64_t ld)
{
    return hostgpu_check_operand(name, operand, a, matrix_extent(rows, columns, ld) * sizeof *a);
}

/* beta x, where beta = 0 does not look at x. */
static REAL LOCAL(scaled)(REAL beta, const REAL *x) { return beta == 0 ? 0 : beta * *x; }

/* ---- y <- alpha op(A) x + beta y ---- */

static cublasStatus_t LOCAL(gemv)(cublasHandle_t handle, cublasOperation_t op, int64_t m, int64_t n,
                                  const REAL *alpha, const REAL *a, int64_t lda, const REAL *x,
                                  int64_t step_x, const REAL *beta, REAL *y, int64_t step_y)
{
    const char *name = "cublas" LETTER_TEXT "gemv";
    const bool is_plain = op == CUBLAS_OP_N;
    const int64_t rows = is_plain ? m : n, terms = is_plain ? n : m;
    const int64_t step_row = is_plain ? 1 : lda, step_term = is_plain ? lda : 1;

    REQUIRE_READY(handle, name);
    REQUIRE(is_op(op) && m >= 0 && n >= 0 && is_ld(lda, m) && step_x && step_y && alpha && beta,
            CUBLAS_STATUS_INVALID_VALUE);
    if (!m || !n) return CUBLAS_STATUS_SUCCESS;
    REQUIRE(LOCAL(is_scalar)(handle, name, alpha, sizeof *alpha) &&
                LOCAL(is_scalar)(handle, name, beta, sizeof *beta) &&
                LOCAL(is_matrix)(name, "A", a, m, n, lda) &&
                LOCAL(is_vector)(name, "x", x, terms, step_x) &&
                LOCAL(is_vector)(name, "y", y, rows, step_y),
            CUBLAS_STATUS_EXECUTION_FAILED);
    x += step_x < 0 ? (1 - terms) * step_x : 0;
    y += step_y < 0 ? (1 - rows) * step_y : 0;
    for (int64_t i = 0; i < rows; i++) {
        REAL sum = 0;

        for (int64_t l = 0; l < terms && *alpha != 0; l++)
            sum += a[i * step_row + l * step_term] * x[l * step_x];
        y[i * step_y] = (*alpha == 0 ? 0 : *alpha * sum) + LOCAL(scaled)(*beta, &y[i * step_y]);
    }
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- A <- alpha x y^T + A ---- */

static cublasStatus_t LOCAL(ger)(cublasHandle_t handle, int64_t m, int64_t n, const REAL *alpha,
                                 const REAL *x, int64_t step_x, const REAL *y, int64_t step_y,
                                 REAL *a, int64_t lda)
{
    const char *name = "cublas" LETTER_TEXT "ger";

    REQUIRE_READY(handle, name);
    REQUIRE(m >= 0 && n >= 0 && is_ld(lda, m) && step_x && step_y && alpha,
            CUBLAS_STATUS_INVALID_VALUE);
    if (!m || !n) return CUBLAS_STATUS_SUCCESS;
    REQUIRE(LOCAL(is_scalar)(handle, name, alpha, sizeof *alpha) &&
                LOCAL(is_vector)(name, "x", x, m, step_x) &&
                LOCAL(is_vector)(name, "y", y, n, step_y) &&
                LOCAL(is_matrix)(name, "A", a, m, n, lda),
            CUBLAS_STATUS_EXECUTION_FAILED);
    if (*alpha == 0) return CUBLAS_STATUS_SUCCESS;
    x += step_x < 0 ? (1 - m) * step_x : 0;
    y += step_y < 0 ? (1 - n) * step_y : 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) a[i + j * lda] += *alpha * (x[i * step_x] * y[j * step_y]);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- C <- alpha op(A) + beta op(B) ---- */

static cublasStatus_t LOCAL(geam)(cublasHandle_t handle, cublasOperation_t op_a,
                                  cublasOperation_t op_b, int64_t m, int64_t n, const REAL *alpha,
                                  const REAL *a, int64_t lda, const REAL *beta, const REAL *b,
                                  int64_t ldb, REAL *c, int64_t ldc)
{
    const char *name = "cublas" LETTER_TEXT "geam";
    const bool is_a_plain = op_a == CUBLAS_OP_N, is_b_plain = op_b == CUBLAS_OP_N;
    const int64_t rows_a = is_a_plain ? m : n, rows_b = is_b_plain ? m : n;

    REQUIRE_READY(handle, name);
    REQUIRE(is_op(op_a) && is_op(op_b) && m >= 0 && n >= 0 && alpha && beta && is_ld(lda, rows_a) &&
                is_ld(ldb, rows_b) && is_ld(ldc, m),
            CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE((c != a || (is_a_plain && ldc == lda)) && (c != b || (is_b_plain && ldc == ldb)),
            CUBLAS_STATUS_INVALID_VALUE); /* in place only where each element meets itself */
    if (!m || !n) return CUBLAS_STATUS_SUCCESS;
    REQUIRE(LOCAL(is_scalar)(handle, name, alpha, sizeof *alpha) &&
                LOCAL(is_scalar)(handle, name, beta, sizeof *beta) &&
                (*alpha == 0 || LOCAL(is_matrix)(name, "A", a, rows_a, m + n - rows_a, lda)) &&
                (*beta == 0 || LOCAL(is_matrix)(name, "B", b, rows_b, m + n - rows_b, ldb)) &&
                LOCAL(is_matrix)(name, "C", c, m, n, ldc),
            CUBLAS_STATUS_EXECUTION_FAILED);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            const int64_t at_a = is_a_plain ? i + j * lda : j + i * lda;
            const int64_t at_b = is_b_plain ? i + j * ldb : j + i * ldb;

            c[i + j * ldc] = LOCAL(scaled)(*alpha, a + at_a) + LOCAL(scaled)(*beta, b + at_b);
        }
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- entry points ---- */

#define DEFINE_MATRIX(integer, width)                                                              \
    cublasStatus_t ENTRY(gemv, width)(cublasHandle_t handle, cublasOperation_t op, integer m,      \
                                      integer n, const REAL *alpha, const REAL *a, integer lda,    \
                                      const REAL *x, integer step_x, const REAL *beta, REAL *y,    \
                                      integer step_y)                                              \
    {                                                                                              \
        return LOCAL(gemv)(handle, op, m, n, alpha, a, lda, x, step_x, beta, y, step_y);           \
    }                                                                                              \
    cublasStatus_t ENTRY(ger, width)(cublasHandle_t handle, integer m, integer n,                  \
                                     const REAL *alpha, const REAL *x, integer step_x,             \
                                     const REAL *y, integer step_y, REAL *a, integer lda)          \
    {                                                                                              \
        return LOCAL(ger)(handle, m, n, alpha, x, step_x, y, step_y, a, lda);                      \
    }                                                                                              \
    cublasStatus_t GEAM_ENTRY(width)(                                                              \
        cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, integer m,          \
        integer n, const REAL *alpha, const REAL *a, integer lda, const REAL *beta, const REAL *b, \
        integer ldb, REAL *c, integer ldc)                                                         \
    {                                                                                              \
        return LOCAL(geam)(handle, op_a, op_b, m, n, alpha, a, lda, beta, b, ldb, c, ldc);         \
    }
FOR_BOTH_WIDTHS(DEFINE_MATRIX)

#undef DEFINE_MATRIX
#undef GEAM_ENTRY
#undef AT
#undef I_ENTRY
#undef ENTRY
#undef LOCAL
