/* cublas_level3.c - products with symmetric, Hermitian and triangular matrices, updates of rank k
 * and 2k, and triangular systems, for all four types, through OpenBLAS. */
#include <cblas.h>
#include <cublasXt.h>
#include <string.h>

#include "cublas_internal.h"

/* A call of any of these functions; b is NULL where there is none, and C itself for a system that
 * is solved in place. */
typedef struct {
    cublasHandle_t handle;
    cublasXtHandle_t xt;
    bool is_xt; /* it is cublasXt's: it has `xt` for `handle`, and operands anywhere */
    const char *name;
    bool is_hermitian, is_one_product;
    cublasSideMode_t side;
    cublasFillMode_t uplo;
    cublasOperation_t op;
    cublasDiagType_t diag;
    int64_t m, n, k;
    const void *alpha, *a, *b, *beta;
    void *c;
    int64_t lda, ldb, ldc;
} level3_call;

typedef enum { ALL, TRIANGLE } part_of_c;

/* ---- checks ---- */

static bool is_side(const level3_call *p)
{
    return p->side == CUBLAS_SIDE_LEFT || p->side == CUBLAS_SIDE_RIGHT;
}

static bool is_fill(const level3_call *p)
{
    return p->uplo == CUBLAS_FILL_MODE_LOWER || p->uplo == CUBLAS_FILL_MODE_UPPER;
}

static bool is_diag(const level3_call *p)
{
    return p->diag == CUBLAS_DIAG_UNIT || p->diag == CUBLAS_DIAG_NON_UNIT;
}

/* Transposes of complex matrices are plain in symmetric functions and adjoint in Hermitian ones; of
 * real ones they are the same. */
static bool is_rank_k_op(const level3_call *p, bool is_complex)
{
    if (!is_complex) return is_op(p->op);
    return p->op == CUBLAS_OP_N || p->op == (p->is_hermitian ? CUBLAS_OP_C : CUBLAS_OP_T);
}

static bool are_small(const level3_call *p)
{
    return is_small(p->m) && is_small(p->n) && is_small(p->k) && is_small(p->lda) &&
           is_small(p->ldb) && is_small(p->ldc);
}

/* What a call has of a handle of either type. */
#define BLAS_HANDLE(handle) _Generic((handle), cublasHandle_t : (handle), default : NULL)
#define XT_HANDLE(handle)   _Generic((handle), cublasXtHandle_t : (handle), default : NULL)
#define IS_XT(handle)       _Generic((handle), cublasXtHandle_t : true, default : false)
#define HANDLES(handle_)                                                                           \
    .handle = BLAS_HANDLE(handle_), .xt = XT_HANDLE(handle_), .is_xt = IS_XT(handle_)

static cublasStatus_t check_ready(const level3_call *p)
{
    return p->is_xt ? hostgpu_check_xt(p->xt) : hostgpu_check_not_captured(p->handle, p->name);
}

/* Where scalars are. */
static cublasPointerMode_t mode_of_scalars(const level3_call *p)
{
    return p->is_xt ? CUBLAS_POINTER_MODE_HOST : p->handle->pointer_mode;
}

/* Whether the scalar may be read where it is. */
static bool is_scalar(const level3_call *p, const char *operand, const void *at, size_t bytes)
{
    const cublasPointerMode_t mode = mode_of_scalars(p);

    return hostgpu_check_scalar(p->name, operand, mode, at, bytes);
}

static bool is_matrix(const level3_call *p, const char *operand, const void *at, int64_t rows,
                      int64_t columns, int64_t ld, size_t element_bytes)
{
    return p->is_xt || hostgpu_check_operand(p->name, operand, at,
                                             matrix_extent(rows, columns, ld) * element_bytes);
}

/* ---- BLAS's names ---- */

static CBLAS_SIDE side_of(const level3_call *p)
{
    return p->side == CUBLAS_SIDE_LEFT ? CblasLeft : CblasRight;
}

static CBLAS_UPLO fill_of(const level3_call *p)
{
    return p->uplo == CUBLAS_FILL_MODE_LOWER ? CblasLower : CblasUpper;
}

static CBLAS_TRANSPOSE transpose_of(const level3_call *p)
{
    if (p->op == CUBLAS_OP_N) return CblasNoTrans;
    return p->op == CUBLAS_OP_T ? CblasTrans : CblasConjTrans; /* the same of real matrices */
}

/* ---- the types ---- */

#define TEXT_(name) #name
#define TEXT(name)  TEXT_(name)

/* The elements of a complex matrix are pairs, in the order of C11's complex types. */
#define REAL_PART(x) ((REAL)(x))

#define IS_COMPLEX 0
#define SCALAR(x)  (x)

#define REAL         double
#define ELEMENT      double
#define CUDA_ELEMENT double
#define LETTER       D
#define LOWER        d
#include "cublas_level3_template.h"

#define REAL         float
#define ELEMENT      float
#define CUDA_ELEMENT float
#define LETTER       S
#define LOWER        s
#include "cublas_level3_template.h"

#undef IS_COMPLEX
#undef SCALAR
#define IS_COMPLEX 1
#define SCALAR(x)  (&(x))

#define REAL         double
#define ELEMENT      double _Complex
#define CUDA_ELEMENT cuDoubleComplex
#define LETTER       Z
#define LOWER        z
#include "cublas_level3_template.h"

#define REAL         float
#define ELEMENT      float _Complex
#define CUDA_ELEMENT cuComplex
#define LETTER       C
#define LOWER        c
#include "cublas_level3_template.h"
