/* cublas_lu.c - batched LU routines through LAPACK, and solutions with triangles. Without pivots by
 * plain loops. */
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "cublas_internal.h"
#include "lapack.h"

/* Matrices of a batch. */
typedef struct {
    const char *function, *operand;
    const lapack_type *type;
    const void *const *array;
    int rows, columns, ld, count;
} stack;

static bool is_readable(const stack *s)
{
    const size_t bytes = matrix_extent(s->rows, s->columns, s->ld) * s->type->bytes;
    if (!hostgpu_check_operand(s->function, s->operand, s->array,
                               (size_t)s->count * sizeof *s->array))
        return false;
    for (int i = 0; i < s->count; i++)
        if (!hostgpu_check_operand(s->function, s->operand, s->array[i], bytes)) return false;
    return true;
}

static bool are_ints_readable(const stack *s, const char *operand, const int *of, int each)
{
    return hostgpu_check_operand(s->function, operand, of,
                                 (size_t)each * (size_t)s->count * sizeof *of);
}

static cublasStatus_t factor(cublasHandle_t handle, const stack *s, int *pivots, int *info)
{
    REQUIRE(is_handle(handle), CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE(s->rows >= 0 && s->count >= 0 && is_ld(s->ld, s->rows), CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(is_readable(s) && are_ints_readable(s, "info", info, 1) &&
                (!pivots || are_ints_readable(s, "P", pivots, s->rows)),
            CUBLAS_STATUS_EXECUTION_FAILED);
    hostgpu_begin_blas();
    for (int i = 0; i < s->count; i++) {
        void *a = (void *)(uintptr_t)s->array[i];
        info[i] = pivots ? s->type->getrf(s->rows, s->rows, a, s->ld,
                                          pivots + (size_t)i * (size_t)s->rows)
                         : s->type->getrf_plain(s->rows, s->rows, a, s->ld);
    }
    hostgpu_end_blas();
    return CUBLAS_STATUS_SUCCESS;
}

/* C = the inverse of the factors in C. */
static cublasStatus_t invert_in_place(const stack *c, int index, const int *pivots, int *info)
{
    const int n = c->rows, size = n > 0 ? 32 * n : 1;
    void *work = malloc((size_t)size * c->type->bytes);
    int *own = pivots ? NULL : hostgpu_identity_pivots(n);
    if (work && (pivots || own))
        *info = c->type->getri(n, (void *)(uintptr_t)c->array[index], c->ld, pivots ? pivots : own,
                               work, size);
    const bool done = work && (pivots || own);
    free(work);
    free(own);
    return done ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

static void copy(const stack *from, const stack *to, int index)
{
    for (int j = 0; j < from->columns; j++)
        memcpy((char *)(uintptr_t)to->array[index] + (size_t)j * (size_t)to->ld * to->type->bytes,
               (const char *)from->array[index] + (size_t)j * (size_t)from->ld * from->type->bytes,
               (size_t)from->rows * from->type->bytes);
}

static cublasStatus_t invert(cublasHandle_t handle, const stack *a, const int *pivots,
                             const stack *c, int *info)
{
    REQUIRE(is_handle(handle), CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE(a->rows >= 0 && a->count >= 0 && is_ld(a->ld, a->rows) && is_ld(c->ld, c->rows),
            CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(is_readable(a) && is_readable(c) && are_ints_readable(a, "info", info, 1) &&
                (!pivots || are_ints_readable(a, "P", pivots, a->rows)),
            CUBLAS_STATUS_EXECUTION_FAILED);
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    hostgpu_begin_blas();
    for (int i = 0; i < a->count && status == CUBLAS_STATUS_SUCCESS; i++) {
        copy(a, c, i);
        status =
            invert_in_place(c, i, pivots ? pivots + (size_t)i * (size_t)a->rows : NULL, &info[i]);
    }
    hostgpu_end_blas();
    return status;
}

static cublasStatus_t invert_whole(cublasHandle_t handle, const stack *a, const stack *c, int *info)
{
    REQUIRE(is_handle(handle), CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE(a->rows >= 0 && a->rows <= 32 && a->count >= 0 && is_ld(a->ld, a->rows) &&
                is_ld(c->ld, c->rows),
            CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(is_readable(a) && is_readable(c) && are_ints_readable(a, "info", info, 1),
            CUBLAS_STATUS_EXECUTION_FAILED);
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    hostgpu_begin_blas();
    for (int i = 0; i < a->count && status == CUBLAS_STATUS_SUCCESS; i++) {
        int pivots[32];
        copy(a, c, i);
        info[i] = a->type->getrf(a->rows, a->rows, (void *)(uintptr_t)c->array[i], c->ld, pivots);
        if (info[i] == 0) status = invert_in_place(c, i, pivots, &info[i]);
    }
    hostgpu_end_blas();
    return status;
}

static cublasStatus_t solve(cublasHandle_t handle, cublasOperation_t op, const stack *a,
                            const int *pivots, const stack *b, int *info)
{
    REQUIRE(is_handle(handle), CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE(is_op(op) && a->rows >= 0 && b->columns >= 0 && a->count >= 0 &&
                is_ld(a->ld, a->rows) && is_ld(b->ld, b->rows) && info,
            CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(is_readable(a) && is_readable(b) &&
                (!pivots || are_ints_readable(a, "devIpiv", pivots, a->rows)),
            CUBLAS_STATUS_EXECUTION_FAILED);
    int *own = pivots ? NULL : hostgpu_identity_pivots(a->rows);
    REQUIRE(pivots || own, CUBLAS_STATUS_ALLOC_FAILED);
    hostgpu_begin_blas();
    for (int i = 0; i < a->count; i++)
        (void)a->type->getrs("NTC"[op], a -> rows, b -> columns, a -> array[i], a -> ld,
                             pivots ? pivots + (size_t)i *(size_t)a -> rows : own,
                             (void *)(uintptr_t)b -> array[i], b -> ld);
    hostgpu_end_blas();
    free(own);
    *info = 0;
    return CUBLAS_STATUS_SUCCESS;
}

/* Solutions with triangles: sizes and flags as cuBLAS has them. */
typedef struct {
    cublasSideMode_t side;
    cublasFillMode_t uplo;
    cublasOperation_t op;
    cublasDiagType_t diag;
    const void *alpha;
} triangle;

static void solve_triangle(const triangle *t, const stack *a, const stack *b, int index)
{
    static const CBLAS_TRANSPOSE ops[] = {CblasNoTrans, CblasTrans, CblasConjTrans};
    const CBLAS_SIDE side = t->side == CUBLAS_SIDE_LEFT ? CblasLeft : CblasRight;
    const CBLAS_UPLO uplo = t->uplo == CUBLAS_FILL_MODE_LOWER ? CblasLower : CblasUpper;
    const CBLAS_DIAG diag = t->diag == CUBLAS_DIAG_UNIT ? CblasUnit : CblasNonUnit;
    const void *x = a->array[index];
    void *y = (void *)(uintptr_t)b->array[index];
    if (a->type == &hostgpu_lapack_S)
        cblas_strsm(CblasColMajor, side, uplo, ops[t->op], diag, b->rows, b->columns,
                    *(const float *)t->alpha, x, a->ld, y, b->ld);
    else if (a->type == &hostgpu_lapack_D)
        cblas_dtrsm(CblasColMajor, side, uplo, ops[t->op], diag, b->rows, b->columns,
                    *(const double *)t->alpha, x, a->ld, y, b->ld);
    else if (a->type == &hostgpu_lapack_C)
        cblas_ctrsm(CblasColMajor, side, uplo, ops[t->op], diag, b->rows, b->columns, t->alpha, x,
                    a->ld, y, b->ld);
    else
        cblas_ztrsm(CblasColMajor, side, uplo, ops[t->op], diag, b->rows, b->columns, t->alpha, x,
                    a->ld, y, b->ld);
}

static cublasStatus_t solve_triangles(cublasHandle_t handle, const triangle *t, const stack *a,
                                      const stack *b)
{
    REQUIRE(is_handle(handle), CUBLAS_STATUS_NOT_INITIALIZED);
    REQUIRE(is_op(t->op) && (unsigned)t->side <= CUBLAS_SIDE_RIGHT &&
                (unsigned)t->uplo <= CUBLAS_FILL_MODE_UPPER &&
                (unsigned)t->diag <= CUBLAS_DIAG_UNIT && b->rows >= 0 && b->columns >= 0 &&
                a->count >= 0 && is_ld(a->ld, a->rows) && is_ld(b->ld, b->rows) && t->alpha,
            CUBLAS_STATUS_INVALID_VALUE);
    if (b->rows == 0 || b->columns == 0) return CUBLAS_STATUS_SUCCESS;
    REQUIRE(is_readable(a) && is_readable(b) &&
                (handle->pointer_mode == CUBLAS_POINTER_MODE_HOST ||
                 hostgpu_check_operand(a->function, "alpha", t->alpha, a->type->bytes)),
            CUBLAS_STATUS_EXECUTION_FAILED);
    hostgpu_begin_blas();
    for (int i = 0; i < a->count; i++) solve_triangle(t, a, b, i);
    hostgpu_end_blas();
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- entry points ---- */

#define STACK(function_, operand_, letter, array_, rows_, columns_, ld_, count_)                   \
    {                                                                                              \
        .function = function_, .operand = operand_, .type = &hostgpu_lapack_##letter,              \
        .array = (const void *const *)(array_), .rows = (int)(rows_), .columns = (int)(columns_),  \
        .ld = (int)(ld_), .count = (int)(count_)                                                   \
    }

#define DEFINE(letter, number)                                                                     \
    cublasStatus_t cublas##letter##getrfBatched(cublasHandle_t handle, int n, number *const A[],   \
                                                int lda, int *P, int *info, int batchSize)         \
    {                                                                                              \
        const stack a =                                                                            \
            STACK("cublas" #letter "getrfBatched", "A", letter, A, n, n, lda, batchSize);          \
        return factor(handle, &a, P, info);                                                        \
    }                                                                                              \
    cublasStatus_t cublas##letter##getriBatched(                                                   \
        cublasHandle_t handle, int n, const number *const A[], int lda, const int *P,              \
        number *const C[], int ldc, int *info, int batchSize)                                      \
    {                                                                                              \
        const stack a =                                                                            \
            STACK("cublas" #letter "getriBatched", "A", letter, A, n, n, lda, batchSize);          \
        const stack c =                                                                            \
            STACK("cublas" #letter "getriBatched", "C", letter, C, n, n, ldc, batchSize);          \
        return invert(handle, &a, P, &c, info);                                                    \
    }                                                                                              \
    cublasStatus_t cublas##letter##matinvBatched(                                                  \
        cublasHandle_t handle, int n, const number *const A[], int lda, number *const Ainv[],      \
        int lda_inv, int *info, int batchSize)                                                     \
    {                                                                                              \
        const stack a =                                                                            \
            STACK("cublas" #letter "matinvBatched", "A", letter, A, n, n, lda, batchSize);         \
        const stack c = STACK("cublas" #letter "matinvBatched", "Ainv", letter, Ainv, n, n,        \
                              lda_inv, batchSize);                                                 \
        return invert_whole(handle, &a, &c, info);                                                 \
    }                                                                                              \
    cublasStatus_t cublas##letter##getrsBatched(                                                   \
        cublasHandle_t handle, cublasOperation_t trans, int n, int nrhs,                           \
        const number *const Aarray[], int lda, const int *devIpiv, number *const Barray[],         \
        int ldb, int *info, int batchSize)                                                         \
    {                                                                                              \
        const stack a = STACK("cublas" #letter "getrsBatched", "Aarray", letter, Aarray, n, n,     \
                              lda, batchSize);                                                     \
        const stack b = STACK("cublas" #letter "getrsBatched", "Barray", letter, Barray, n, nrhs,  \
                              ldb, batchSize);                                                     \
        return solve(handle, trans, &a, devIpiv, &b, info);                                        \
    }

#define DEFINE_TRSM(letter, number, integer, suffix)                                               \
    cublasStatus_t cublas##letter##trsmBatched##suffix(                                            \
        cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,                       \
        cublasOperation_t trans, cublasDiagType_t diag, integer m, integer n, const number *alpha, \
        const number *const A[], integer lda, number *const B[], integer ldb, integer batchCount)  \
    {                                                                                              \
        const triangle t = {side, uplo, trans, diag, alpha};                                       \
        const integer order = side == CUBLAS_SIDE_LEFT ? m : n;                                    \
        const stack a =                                                                            \
            STACK("cublas" #letter "trsmBatched", "A", letter, A, order, order, lda, batchCount);  \
        const stack b =                                                                            \
            STACK("cublas" #letter "trsmBatched", "B", letter, B, m, n, ldb, batchCount);          \
        return solve_triangles(handle, &t, &a, &b);                                                \
    }

#define DEFINE_BOTH_TRSM(letter, number)                                                           \
    DEFINE_TRSM(letter, number, int, )                                                             \
    DEFINE_TRSM(letter, number, int64_t, _64)

#define FOR_TYPES(X)                                                                               \
    X(S, float)                                                                                    \
    X(D, double)                                                                                   \
    X(C, cuComplex)                                                                                \
    X(Z, cuDoubleComplex)
FOR_TYPES(DEFINE)
FOR_TYPES(DEFINE_BOTH_TRSM)
