/* cublas_gemm.c - the matrix products of every entry point: binary64, binary32 and complex ones
 * through OpenBLAS, int8 exactly. C is scaled by beta here, and OpenBLAS only adds to it: then beta
 * = 0 reads nothing of C, alpha = 0 or k = 0 nothing of A and B, and NaN and infinities go where
 * IEEE 754 sends them, whatever short cuts OpenBLAS takes. */
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "cublas_internal.h"

/* ---- C <- beta C ---- */

#define DEFINE_SCALE(name, type, multiply)                                                         \
    static bool is_zero_##name(const void *scalar) { return *(const type *)scalar == 0; }          \
    static void scale_##name(const product *p, void *matrix)                                       \
    {                                                                                              \
        const type beta = *(const type *)p->beta;                                                  \
        type *c = matrix;                                                                          \
                                                                                                   \
        for (int64_t j = 0; j < p->n && beta != 1; j++) {                                          \
            type *column = c + j * p->c.ld;                                                        \
                                                                                                   \
            for (int64_t i = 0; i < p->m; i++)                                                     \
                column[i] = beta == 0 ? 0 : multiply(beta, column[i]);                             \
        }                                                                                          \
    }
#define TIMES(a, b)      ((a) * (b))
#define WRAP_TIMES(a, b) ((int32_t)((uint32_t)(a) * (uint32_t)(b)))
DEFINE_SCALE(f64, double, TIMES)
DEFINE_SCALE(f32, float, TIMES)
DEFINE_SCALE(c64, double _Complex, TIMES)
DEFINE_SCALE(c32, float _Complex, TIMES)
DEFINE_SCALE(i8, int32_t, WRAP_TIMES)

/* ---- C <- C + alpha op(A) op(B) ---- */

static CBLAS_TRANSPOSE transpose(cublasOperation_t op)
{
    if (op == CUBLAS_OP_N) return CblasNoTrans;
    return op == CUBLAS_OP_T ? CblasTrans : CblasConjTrans; /* the same of real matrices */
}

/* C <- alpha op(A) op(B) + C by BLAS, which has complex scalars by their address. */
#define DEFINE_ADD(type, letter, alpha, one)                                                       \
    static cublasStatus_t add_##type(const product *p, const void *a, const void *b, void *c)      \
    {                                                                                              \
        cblas_##letter##gemm(CblasColMajor, transpose(p->op_a), transpose(p->op_b), (int)p->m,     \
                             (int)p->n, (int)p->k, alpha, a, (int)p->a.ld, b, (int)p->b.ld, one,   \
                             c, (int)p->c.ld);                                                     \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }
DEFINE_ADD(f64, d, *(const double *)p->alpha, 1.0)
DEFINE_ADD(f32, s, *(const float *)p->alpha, 1.0f)
DEFINE_ADD(c64, z, p->alpha, ((const double[]){1, 0}))
DEFINE_ADD(c32, c, p->alpha, ((const float[]){1, 0}))

/* Products of int8 matrices: tiles of ROWS x COLUMNS elements of C, over K_BLOCK of k at a time, of
 * panels of int16, which compilers multiply and add in pairs. */
enum { ROWS = 2, COLUMNS = 4, K_BLOCK = 1024 };

/* Vectors (rows of op(A), or columns of op(B)) of int8: element l of vector i is at i * step_i + l
 * * step_l. */
typedef struct {
    const int8_t *data;
    int64_t count, step_i, step_l;
} vectors;

/* Copies elements `first` to first + k of the vectors next to each other, and zeros for those up to
 * `padded`. */
static void pack(int16_t *packed, int64_t padded, const vectors *v, int64_t first, int64_t k)
{
    for (int64_t i = 0; i < v->count; i++)
        for (int64_t l = 0; l < k; l++)
            packed[i * k + l] = (int16_t)v->data[i * v->step_i + (first + l) * v->step_l];
    memset(packed + v->count * k, 0, (size_t)((padded - v->count) * k) * sizeof *packed);
}

/* Panels are arrays of this file, which sanitizers do not watch here, only where they are made: of
 * their elements there are more than of all else. */
#define UNWATCHED __attribute__((no_sanitize("address", "undefined")))

/* Products of ROWS rows x with COLUMNS columns y, k elements each: below 2^24 for k to K_BLOCK. */
UNWATCHED static void multiply_tile(const int16_t *x, const int16_t *y, int64_t k,
                                    int32_t tile[ROWS][COLUMNS])
{
    int32_t s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;

    for (int64_t l = 0; l < k; l++) {
        s00 += x[l] * y[l];
        s01 += x[l] * y[l + k];
        s02 += x[l] * y[l + 2 * k];
        s03 += x[l] * y[l + 3 * k];
        s10 += x[l + k] * y[l];
        s11 += x[l + k] * y[l + k];
        s12 += x[l + k] * y[l + 2 * k];
        s13 += x[l + k] * y[l + 3 * k];
    }
    memcpy(tile[0], (int32_t[]){s00, s01, s02, s03}, sizeof tile[0]);
    memcpy(tile[1], (int32_t[]){s10, s11, s12, s13}, sizeof tile[1]);
}

/* Modulo 2^32, as a device's integer units. */
static void add_tile(const product *p, int64_t i0, int64_t j0, int32_t tile[ROWS][COLUMNS],
                     int32_t *c)
{
    const uint32_t alpha = *(const uint32_t *)p->alpha;

    for (int64_t j = 0; j < COLUMNS && j0 + j < p->n; j++)
        for (int64_t i = 0; i < ROWS && i0 + i < p->m; i++) {
            int32_t *target = &c[i0 + i + (j0 + j) * p->c.ld];

            *target = (int32_t)((uint32_t)*target + alpha * (uint32_t)tile[i][j]);
        }
}

static int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

static cublasStatus_t add_i8(const product *p, const void *a, const void *b, void *c)
{
    const bool is_a_plain = p->op_a == CUBLAS_OP_N, is_b_plain = p->op_b == CUBLAS_OP_N;
    const vectors rows = {a, p->m, is_a_plain ? 1 : p->a.ld, is_a_plain ? p->a.ld : 1};
    const vectors columns = {b, p->n, is_b_plain ? p->b.ld : 1, is_b_plain ? 1 : p->b.ld};
    const int64_t m = round_up(p->m, ROWS), n = round_up(p->n, COLUMNS);
    const int64_t k_block = p->k < K_BLOCK ? p->k : K_BLOCK;
    int16_t *packed = malloc((size_t)((m + n) * k_block) * sizeof *packed);
    int32_t tile[ROWS][COLUMNS];

    REQUIRE(packed, CUBLAS_STATUS_ALLOC_FAILED);
    for (int64_t l = 0; l < p->k; l += K_BLOCK) {
        const int64_t k = p->k - l < K_BLOCK ? p->k - l : K_BLOCK;

        pack(packed, m, &rows, l, k);
        pack(packed + m * k, n, &columns, l, k);
        for (int64_t j = 0; j < n; j += COLUMNS)
            for (int64_t i = 0; i < m; i += ROWS) {
                multiply_tile(packed + i * k, packed + (m + j) * k, k, tile);
                add_tile(p, i, j, tile, c);
            }
    }
    free(packed);
    return CUBLAS_STATUS_SUCCESS;
}

/* What is known of a type of product. Operands and scalars are where the host may read them. */
#define TYPE(name, in, out)                                                                        \
    {                                                                                              \
        sizeof(in), sizeof(out), sizeof(out), is_zero_##name, scale_##name, add_##name             \
    }
static const struct {
    size_t in, out, scalar; /* bytes of an element of A and B, of C, and of alpha and beta */
    bool (*is_zero)(const void *scalar);
    void (*scale)(const product *p, void *c);
    cublasStatus_t (*add)(const product *p, const void *a, const void *b, void *c);
} types[] = {
    [PRODUCT_F64] = TYPE(f64, double, double),
    [PRODUCT_F32] = TYPE(f32, float, float),
    [PRODUCT_C64] = TYPE(c64, double _Complex, double _Complex),
    [PRODUCT_C32] = TYPE(c32, float _Complex, float _Complex),
    [PRODUCT_I8] = TYPE(i8, int8_t, int32_t),
};

/* ---- checks ---- */

static int64_t rows_of_a(const product *p) { return p->op_a == CUBLAS_OP_N ? p->m : p->k; }
static int64_t columns_of_a(const product *p) { return p->op_a == CUBLAS_OP_N ? p->k : p->m; }
static int64_t rows_of_b(const product *p) { return p->op_b == CUBLAS_OP_N ? p->k : p->n; }
static int64_t columns_of_b(const product *p) { return p->op_b == CUBLAS_OP_N ? p->n : p->k; }

static cublasStatus_t check_arguments(const product *p)
{
    REQUIRE(p->type != PRODUCT_UNKNOWN, CUBLAS_STATUS_NOT_SUPPORTED);
    REQUIRE(is_op(p->op_a) && is_op(p->op_b), CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(p->m >= 0 && p->n >= 0 && p->k >= 0 && p->batch >= 0, CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(is_ld(p->a.ld, rows_of_a(p)) && is_ld(p->b.ld, rows_of_b(p)) && is_ld(p->c.ld, p->m),
            CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(p->alpha && p->beta, CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(is_small(p->m) && is_small(p->n) && is_small(p->k) && is_small(p->a.ld) &&
                is_small(p->b.ld) && is_small(p->c.ld),
            CUBLAS_STATUS_NOT_SUPPORTED);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t hostgpu_check_product(cublasHandle_t handle, const product *p)
{
    const cublasStatus_t status = hostgpu_check_handle(handle, p->function);

    return status ? status : check_arguments(p);
}

static bool is_scalar_readable(cublasPointerMode_t mode, const product *p)
{
    const size_t bytes = types[p->type].scalar;

    return hostgpu_check_scalar(p->function, "alpha", mode, p->alpha, bytes) &&
           hostgpu_check_scalar(p->function, "beta", mode, p->beta, bytes);
}

static const char *matrix_at(const product_operand *x, int64_t i, size_t element_bytes)
{
    if (x->array) return x->array[i];
    return (const char *)x->data + i * x->stride * (int64_t)element_bytes;
}

static bool is_matrix_readable(const product *p, const char *name, const product_operand *x,
                               size_t elements, size_t element_bytes)
{
    if (x->array &&
        !hostgpu_check_operand(p->function, name, x->array, (size_t)p->batch * sizeof *x->array))
        return false;
    for (int64_t i = 0; i < p->batch; i++)
        if (!hostgpu_check_operand(p->function, name, matrix_at(x, i, element_bytes),
                                   elements * element_bytes))
            return false;
    return true;
}

/* Whether a device could read and write what the product reads and writes. */
static bool are_operands_readable(const product *p, bool reads_a_and_b)
{
    const size_t in = types[p->type].in, out = types[p->type].out;
    const size_t a = matrix_extent(rows_of_a(p), columns_of_a(p), p->a.ld);
    const size_t b = matrix_extent(rows_of_b(p), columns_of_b(p), p->b.ld);
    const size_t c = matrix_extent(p->m, p->n, p->c.ld);

    return is_matrix_readable(p, "C", &p->c, c, out) &&
           (!reads_a_and_b ||
            (is_matrix_readable(p, "A", &p->a, a, in) && is_matrix_readable(p, "B", &p->b, b, in)));
}

/* A product as a graph keeps it, with the scalars that the host gave. */
typedef struct {
    product of;
    bool has_own_scalars;
    double _Complex alpha, beta; /* of any type */
} kept_product;

static kept_product keep(cublasHandle_t handle, const product *p)
{
    kept_product kept = {.of = *p,
                         .has_own_scalars = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST};

    if (kept.has_own_scalars) {
        memcpy(&kept.alpha, p->alpha, types[p->type].scalar);
        memcpy(&kept.beta, p->beta, types[p->type].scalar);
    }
    return kept;
}

/* Operands and scalars are where the host may read them. */
static cublasStatus_t multiply_members(const product *p)
{
    const bool adds = p->k && !types[p->type].is_zero(p->alpha);
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;

    hostgpu_begin_blas();
    for (int64_t i = 0; i < p->batch && !status; i++) {
        const char *a = adds ? matrix_at(&p->a, i, types[p->type].in) : NULL;
        const char *b = adds ? matrix_at(&p->b, i, types[p->type].in) : NULL;
        char *c = (char *)(uintptr_t)matrix_at(&p->c, i, types[p->type].out);

        types[p->type].scale(p, c);
        if (adds) status = types[p->type].add(p, a, b, c);
    }
    hostgpu_end_blas();
    return status;
}

static cudaError_t multiply(void *arguments)
{
    const kept_product *kept = arguments;
    product p = kept->of;

    if (kept->has_own_scalars) {
        p.alpha = &kept->alpha;
        p.beta = &kept->beta;
    }
    if (!are_operands_readable(&p, p.k && !types[p.type].is_zero(p.alpha)))
        return cudaErrorIllegalAddress;
    return multiply_members(&p) ? cudaErrorMemoryAllocation : cudaSuccess;
}

/* What a product says of its emulation, and where. */
typedef struct {
    int *where, bits;
} told_bits;

static cudaError_t write_bits(void *arguments)
{
    const told_bits *told = arguments;
    *told->where = told->bits;
    return cudaSuccess;
}

/* A product that may be emulated is made in binary64, and said to have been: with as many bits as
 * the handle fixes, or else with those of binary64. */
static cudaError_t tell_bits(cublasHandle_t handle, const product *p)
{
    const bool is_fixed = handle->mantissa_control == CUDA_EMULATION_MANTISSA_CONTROL_FIXED,
               is_emulated = (p->type == PRODUCT_F64 || p->type == PRODUCT_C64) &&
                             (p->asks_emulation ||
                              (handle->math_mode & CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH));
    const int bits = is_fixed ? handle->most_mantissa_bits : 53 + handle->mantissa_bit_offset;
    told_bits told = {handle->emulated_bits, is_emulated ? bits : -1};
    return hostgpu_enqueue(handle->stream, cudaGraphNodeTypeKernel, write_bits, &told, sizeof told);
}

cublasStatus_t hostgpu_multiply(cublasHandle_t handle, const product *p)
{
    cublasStatus_t status = hostgpu_check_product(handle, p);

    if (status || !p->m || !p->n || !p->batch) return status;
    REQUIRE(is_scalar_readable(handle->pointer_mode, p), CUBLAS_STATUS_EXECUTION_FAILED);
    REQUIRE(p->c.data || p->c.array, CUBLAS_STATUS_INVALID_VALUE);
    kept_product kept = keep(handle, p);
    cudaError_t error =
        hostgpu_enqueue(handle->stream, cudaGraphNodeTypeKernel, multiply, &kept, sizeof kept);
    if (!error && handle->emulated_bits) error = tell_bits(handle, p);
    if (error == cudaErrorMemoryAllocation) return CUBLAS_STATUS_ALLOC_FAILED;
    return error ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t hostgpu_multiply_anywhere(const product *p)
{
    const cublasStatus_t status = check_arguments(p);

    if (status || !p->m || !p->n || !p->batch) return status;
    REQUIRE(p->a.data && p->b.data && p->c.data, CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(is_scalar_readable(CUBLAS_POINTER_MODE_HOST, p), CUBLAS_STATUS_EXECUTION_FAILED);
    return multiply_members(p);
}
