#include "xt_calls.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>

#include "require.h"

size_t parts(const call *x) { return x->r->is_complex ? 2 : 1; }

bool is_rank_update(const call *x)
{
    return x->r->kind == SYRK || x->r->kind == SYRKX || x->r->kind == SYR2K;
}

static shape with_op(int op, size_t rows, size_t columns)
{
    return op == CUBLAS_OP_N ? (shape){rows, columns} : (shape){columns, rows};
}

shape shape_of_a(const call *x)
{
    const size_t order = x->side == CUBLAS_SIDE_LEFT ? x->m : x->n;
    if (level3_has_side(x->r)) return (shape){order, order};
    return with_op(x->op, is_rank_update(x) ? x->n : x->m, x->k);
}

shape shape_of_b(const call *x)
{
    if (x->r->kind == GEMM) return with_op(x->op_b, x->k, x->n);
    return is_rank_update(x) ? shape_of_a(x) : (shape){x->m, x->n};
}

shape shape_of_c(const call *x) { return (shape){is_rank_update(x) ? x->n : x->m, x->n}; }

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

void put(matrix *x, place where)
{
    x->place = where;
    x->at = allocate(x->bytes, where);
    REQUIRE(cudaMemcpy(x->at, x->host, x->bytes, cudaMemcpyDefault));
}

void drop(const matrix *x)
{
    if (x->place == PAGEABLE)
        free(x->at);
    else
        REQUIRE(x->place == PINNED ? cudaFreeHost(x->at) : cudaFree(x->at));
    free(x->host);
}

bool has(const call *x, area of, shape s, size_t row, size_t column)
{
    if (of == NONE || row >= s.rows || column >= s.columns) return false;
    if (of == ALL) return true;
    if (row == column) return of == TRIANGLE;
    return (x->uplo == CUBLAS_FILL_MODE_LOWER) == (row > column);
}

/* Columns from here on have numbers of more magnitudes: tiles with them, and tiles without, need
 * different numbers of moduli. */
enum { WIDE_FROM = 250 };

/* Numbers of many magnitudes; of a triangle those of a matrix that is easily inverted. */
static double number(const call *x, area of, size_t e, size_t column, bool is_diagonal, int seed)
{
    const double wave = sin(1.7 * (double)e + seed),
                 spread = column > WIDE_FROM ? ldexp(1.0, -(int)(e % 29)) : 1.0;
    if (!level3_is_triangular(x->r) || of == ALL) return spread * wave * exp((double)(e % 7));
    return is_diagonal ? 2.0 + wave : 0.02 * wave;
}

/* What the call must not read is NaN. */
matrix make(const call *x, shape s, area of, int seed)
{
    const size_t ld = (s.rows ? s.rows : 1) + x->pad, count = ld * (s.columns + 1);
    matrix made = {.shape = s, .ld = ld, .bytes = count * parts(x) * sizeof(double)};
    made.host = malloc(made.bytes);
    REQUIRE(!made.host);
    for (size_t e = 0; e < count; e++)
        for (size_t part = 0; part < parts(x); part++)
            made.host[e * parts(x) + part] =
                has(x, of, s, e % ld, e / ld)
                    ? number(x, of, e, e / ld, e % ld == e / ld, seed + (int)part)
                    : (double)NAN;
    return made;
}

static bool is_zero(const double scalar[2], bool is_complex)
{
    return scalar[0] == 0.0 && (!is_complex || scalar[1] == 0.0);
}

area area_of_a(const call *x)
{
    const bool has_k = !level3_has_side(x->r);
    const bool has_real_alpha = !x->r->is_complex || (x->r->kind == SYRK && x->r->is_hermitian);
    if (is_zero(x->alpha, !has_real_alpha) || (has_k && x->k == 0)) return NONE;
    if (has_k) return ALL;
    return level3_is_triangular(x->r) && x->diag == CUBLAS_DIAG_UNIT ? BESIDE_DIAGONAL : TRIANGLE;
}

/* Of the result before the call. */
area area_of_c(const call *x)
{
    const bool has_real_beta = !x->r->is_complex || (is_rank_update(x) && x->r->is_hermitian);
    if (level3_is_triangular(x->r))
        return x->is_in_place || x->r->kind == TRSM ? (area_of_a(x) == NONE ? NONE : ALL) : NONE;
    if (is_zero(x->beta, !has_real_beta)) return NONE;
    return is_rank_update(x) ? TRIANGLE : ALL;
}

/* ---- calls ---- */

cublasStatus_t apply(const call *x, function *f, void *its, const matrix *a, const matrix *b,
                     const matrix *c)
{
    const level3_arguments with = {.side = x->side,
                                   .uplo = x->uplo,
                                   .op = x->op,
                                   .op_b = x->op_b,
                                   .diag = x->diag,
                                   .m = (int64_t)x->m,
                                   .n = (int64_t)x->n,
                                   .k = (int64_t)x->k,
                                   .lda = (int64_t)a->ld,
                                   .ldb = (int64_t)b->ld,
                                   .ldc = (int64_t)c->ld,
                                   .alpha = x->alpha,
                                   .a = a->at,
                                   .b = b->at,
                                   .beta = x->beta,
                                   .c = c->at};
    return level3_call(x->r, f, its, &with);
}
