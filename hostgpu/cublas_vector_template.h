/* cublas_vector_template.h - vector functions for one type, in plain loops: a zero in one operand
 * must not hide a NaN in the other. cublas_vector.c includes this file once per type and defines
 *   REAL, LETTER (D), LETTER_TEXT ("D"), LOWER (d), FABS. No include guard: it is meant to be
 *   included again. */

#define LOCAL(name)          JOIN(LOWER, _, name) /* a static function of this type */
#define ENTRY(name, width)   JOIN(JOIN(cublas, LETTER, name), _v2, width) /* cublasDaxpy_v2_64 */
#define I_ENTRY(name, width) JOIN(JOIN(cublasI, LOWER, name), _v2, width) /* cublasIdamax_v2 */

/* Places of a vector's elements; with a negative step they run backwards from the far end, as in
 * BLAS. */
#define AT(x, step, i) ((x)[(i) * (step) + ((step) < 0 ? (1 - n) * (step) : 0)])

static bool LOCAL(is_vector)(const char *name, const char *operand, const REAL *x, int64_t n,
                             int64_t step)
{
    return hostgpu_check_operand(name, operand, x, vector_extent(n, step) * sizeof *x);
}

/* Whether results or scalars may be read and written where they are. */
static bool LOCAL(is_scalar)(cublasHandle_t handle, const char *name, const void *scalar,
                             size_t bytes)
{
    return hostgpu_check_scalar(name, "a scalar", handle->pointer_mode, scalar, bytes);
}

/* ---- y <- alpha x + y, x <- alpha x, copies ---- */

static cublasStatus_t LOCAL(axpy)(cublasHandle_t handle, int64_t n, const REAL *alpha,
                                  const REAL *x, int64_t step_x, REAL *y, int64_t step_y)
{
    const char *name = "cublas" LETTER_TEXT "axpy";

    REQUIRE_READY(handle, name);
    REQUIRE(alpha, CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(LOCAL(is_scalar)(handle, name, alpha, sizeof *alpha) &&
                LOCAL(is_vector)(name, "x", x, n, step_x) &&
                LOCAL(is_vector)(name, "y", y, n, step_y),
            CUBLAS_STATUS_EXECUTION_FAILED);
    for (int64_t i = 0; i < n && *alpha != 0; i++) AT(y, step_y, i) += *alpha * AT(x, step_x, i);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t LOCAL(scal)(cublasHandle_t handle, int64_t n, const REAL *alpha, REAL *x,
                                  int64_t step)
{
    const char *name = "cublas" LETTER_TEXT "scal";

    REQUIRE_READY(handle, name);
    REQUIRE(alpha, CUBLAS_STATUS_INVALID_VALUE);
    if (n <= 0 || step <= 0) return CUBLAS_STATUS_SUCCESS;
    REQUIRE(LOCAL(is_scalar)(handle, name, alpha, sizeof *alpha) &&
                LOCAL(is_vector)(name, "x", x, n, step),
            CUBLAS_STATUS_EXECUTION_FAILED);
    for (int64_t i = 0; i < n; i++) x[i * step] *= *alpha;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t LOCAL(copy)(cublasHandle_t handle, int64_t n, const REAL *x, int64_t step_x,
                                  REAL *y, int64_t step_y)
{
    const char *name = "cublas" LETTER_TEXT "copy";

    REQUIRE_READY(handle, name);
    REQUIRE(LOCAL(is_vector)(name, "x", x, n, step_x) && LOCAL(is_vector)(name, "y", y, n, step_y),
            CUBLAS_STATUS_EXECUTION_FAILED);
    for (int64_t i = 0; i < n; i++) AT(y, step_y, i) = AT(x, step_x, i);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t LOCAL(swap)(cublasHandle_t handle, int64_t n, REAL *x, int64_t step_x,
                                  REAL *y, int64_t step_y)
{
    const char *name = "cublas" LETTER_TEXT "swap";

    REQUIRE_READY(handle, name);
    REQUIRE(LOCAL(is_vector)(name, "x", x, n, step_x) && LOCAL(is_vector)(name, "y", y, n, step_y),
            CUBLAS_STATUS_EXECUTION_FAILED);
    for (int64_t i = 0; i < n; i++) {
        const REAL old = AT(x, step_x, i);

        AT(x, step_x, i) = AT(y, step_y, i);
        AT(y, step_y, i) = old;
    }
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- results that are one number ---- */

static cublasStatus_t LOCAL(dot)(cublasHandle_t handle, int64_t n, const REAL *x, int64_t step_x,
                                 const REAL *y, int64_t step_y, REAL *result)
{
    const char *name = "cublas" LETTER_TEXT "dot";
    REAL sum = 0;

    REQUIRE_READY(handle, name);
    REQUIRE(result, CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(LOCAL(is_scalar)(handle, name, result, sizeof *result) &&
                LOCAL(is_vector)(name, "x", x, n, step_x) &&
                LOCAL(is_vector)(name, "y", y, n, step_y),
            CUBLAS_STATUS_EXECUTION_FAILED);
    for (int64_t i = 0; i < n; i++) sum += AT(x, step_x, i) * AT(y, step_y, i);
    *result = sum;
    return CUBLAS_STATUS_SUCCESS;
}

/* The largest magnitude is taken out, so that no square overflows. */
static REAL LOCAL(norm)(int64_t n, const REAL *x, int64_t step)
{
    REAL largest = 0, sum = 0;

    for (int64_t i = 0; i < n; i++) {
        const REAL magnitude = FABS(x[i * step]);

        if (!(magnitude <= largest)) largest = magnitude; /* NaN included */
    }
    if (largest == 0 || !isfinite(largest)) return largest;
    for (int64_t i = 0; i < n; i++) {
        const REAL part = x[i * step] / largest;

        sum += part * part;
    }
    return largest * (REAL)sqrt((double)sum);
}

static REAL LOCAL(absolute_sum)(int64_t n, const REAL *x, int64_t step)
{
    REAL sum = 0;

    for (int64_t i = 0; i < n; i++) sum += FABS(x[i * step]);
    return sum;
}

/* Place, from 1, of the first largest magnitude (sign 1) or smallest (sign -1). */
static int64_t LOCAL(extreme)(int64_t n, const REAL *x, int64_t step, REAL sign)
{
    int64_t place = 0;

    for (int64_t i = 1; i < n; i++)
        if (sign * FABS(x[i * step]) > sign * FABS(x[place * step])) place = i;
    return place + 1;
}

/* A vector with no element, or a step below 1, gives 0. */
#define REDUCE(name, result_type, empty, value)                                                    \
    do {                                                                                           \
        REQUIRE_READY(handle, name);                                                               \
        REQUIRE(result, CUBLAS_STATUS_INVALID_VALUE);                                              \
        REQUIRE(LOCAL(is_scalar)(handle, name, result, sizeof *result) &&                          \
                    LOCAL(is_vector)(name, "x", x, n, step),                                       \
                CUBLAS_STATUS_EXECUTION_FAILED);                                                   \
        *result = (result_type)(n <= 0 || step <= 0 ? (empty) : (value));                          \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    } while (0)

/* ---- entry points ---- */

#define DEFINE_VECTOR(integer, width)                                                              \
    cublasStatus_t ENTRY(axpy, width)(cublasHandle_t handle, integer n, const REAL *alpha,         \
                                      const REAL *x, integer step_x, REAL *y, integer step_y)      \
    {                                                                                              \
        return LOCAL(axpy)(handle, n, alpha, x, step_x, y, step_y);                                \
    }                                                                                              \
    cublasStatus_t ENTRY(scal, width)(cublasHandle_t handle, integer n, const REAL *alpha,         \
                                      REAL *x, integer step)                                       \
    {                                                                                              \
        return LOCAL(scal)(handle, n, alpha, x, step);                                             \
    }                                                                                              \
    cublasStatus_t ENTRY(copy, width)(cublasHandle_t handle, integer n, const REAL *x,             \
                                      integer step_x, REAL *y, integer step_y)                     \
    {                                                                                              \
        return LOCAL(copy)(handle, n, x, step_x, y, step_y);                                       \
    }                                                                                              \
    cublasStatus_t ENTRY(swap, width)(cublasHandle_t handle, integer n, REAL * x, integer step_x,  \
                                      REAL * y, integer step_y)                                    \
    {                                                                                              \
        return LOCAL(swap)(handle, n, x, step_x, y, step_y);                                       \
    }                                                                                              \
    cublasStatus_t ENTRY(dot, width)(cublasHandle_t handle, integer n, const REAL *x,              \
                                     integer step_x, const REAL *y, integer step_y, REAL *result)  \
    {                                                                                              \
        return LOCAL(dot)(handle, n, x, step_x, y, step_y, result);                                \
    }                                                                                              \
    cublasStatus_t ENTRY(nrm2, width)(cublasHandle_t handle, integer n, const REAL *x,             \
                                      integer step, REAL *result)                                  \
    {                                                                                              \
        REDUCE("cublas" LETTER_TEXT "nrm2", REAL, 0, LOCAL(norm)(n, x, step));                     \
    }                                                                                              \
    cublasStatus_t ENTRY(asum, width)(cublasHandle_t handle, integer n, const REAL *x,             \
                                      integer step, REAL *result)                                  \
    {                                                                                              \
        REDUCE("cublas" LETTER_TEXT "asum", REAL, 0, LOCAL(absolute_sum)(n, x, step));             \
    }                                                                                              \
    cublasStatus_t I_ENTRY(amax, width)(cublasHandle_t handle, integer n, const REAL *x,           \
                                        integer step, integer *result)                             \
    {                                                                                              \
        REDUCE("cublasI" LETTER_TEXT "amax", integer, 0, LOCAL(extreme)(n, x, step, 1));           \
    }                                                                                              \
    cublasStatus_t I_ENTRY(amin, width)(cublasHandle_t handle, integer n, const REAL *x,           \
                                        integer step, integer *result)                             \
    {                                                                                              \
        REDUCE("cublasI" LETTER_TEXT "amin", integer, 0, LOCAL(extreme)(n, x, step, -1));          \
    }
FOR_BOTH_WIDTHS(DEFINE_VECTOR)

#undef DEFINE_VECTOR
#undef REDUCE
