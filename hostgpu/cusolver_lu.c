/* cusolver_lu.c - cuSOLVER's LU factors of a matrix, and solutions by them. Interchanges count from
 * 1, as LAPACK's do; without pivots there are none, and a pivot that is 0 ends the work. */
#include <stdlib.h>

#include "cusolver_internal.h"

/* ---- factors ---- */

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

static bool are_pivots(const solver_call *c, int64_t count)
{
    const size_t bytes = c->wide_pivots ? sizeof(int64_t) : sizeof(int);
    return !c->pivots ||
           hostgpu_check_operand(c->name, "devIpiv", c->pivots, (size_t)count * bytes);
}

static bool are_factor_operands(const solver_call *c)
{
    return hostgpu_is_solver_matrix(c, "A", c->a, c->m, c->n, c->lda) &&
           are_pivots(c, least(c->m, c->n));
}

static bool factor_with_wide_pivots(const solver_call *c, int *info)
{
    const int count = (int)least(c->m, c->n);
    int64_t *wide = c->pivots;
    int *pivots = malloc((size_t)count * sizeof *pivots);

    if (!pivots) return false;
    *info = c->type->getrf((int)c->m, (int)c->n, c->a, (int)c->lda, pivots);
    for (int i = 0; i < count; i++) wide[i] = pivots[i];
    free(pivots);
    return true;
}

static bool factor(const solver_call *c, int *info)
{
    const int m = (int)c->m, n = (int)c->n, lda = (int)c->lda;

    if (c->pivots && c->wide_pivots) return factor_with_wide_pivots(c, info);
    *info = c->pivots ? c->type->getrf(m, n, c->a, lda, c->pivots)
                      : c->type->getrf_plain(m, n, c->a, lda);
    return true;
}

static const solver_routine getrf = {hostgpu_find_wrong_matrix, hostgpu_elements_of_row,
                                     are_factor_operands, factor, .can_be_captured = true};

#define DEFINE_GETRF(letter, number, real, o, s)                                                   \
    DEFINE_SOLVER(cusolverDn##letter##getrf, letter, getrf, MATRIX_CALL,                           \
                  (int m, int n, number *a, int lda),                                              \
                  (int m, int n, number *a, int lda, number *work, int *pivots),                   \
                  "m n a lda work pivots", .work = work, .lwork = UNTOLD, .pivots = pivots)
FOR_SOLVER_TYPES(DEFINE_GETRF)

DEFINE_TYPED_SOLVER(cusolverDnXgetrf, hostgpu_solver_type(type, computations), getrf, MATRIX_CALL,
                    (int64_t m, int64_t n, cudaDataType type, const void *a, int64_t lda,
                     cudaDataType computations),
                    (int64_t m, int64_t n, cudaDataType type, void *a, int64_t lda, int64_t *pivots,
                     cudaDataType computations),
                    "m n type a lda pivots computations", .pivots = pivots, .wide_pivots = true,
                    .info = info)

/* ---- solutions ---- */

static const char *find_wrong_solve(const solver_call *c)
{
    FIND_WRONG(is_op(c->op), "op");
    FIND_WRONG(c->n >= 0, "n");
    FIND_WRONG(c->nrhs >= 0, "nrhs");
    FIND_WRONG(is_ld(c->lda, c->n), "lda");
    FIND_WRONG(is_ld(c->ldb, c->n), "ldb");
    return NULL;
}

static bool are_solve_operands(const solver_call *c)
{
    return hostgpu_is_solver_matrix(c, "A", c->a, c->n, c->n, c->lda) &&
           hostgpu_is_solver_matrix(c, "B", c->b, c->n, c->nrhs, c->ldb) && are_pivots(c, c->n);
}

/* The pivots as LAPACK has them, for free(), or NULL without memory. */
static int *copy_of_pivots(const solver_call *c)
{
    int *pivots = hostgpu_identity_pivots((int)c->n);

    for (int64_t i = 0; pivots && c->pivots && i < c->n; i++)
        pivots[i] = c->wide_pivots ? (int)((int64_t *)c->pivots)[i] : ((int *)c->pivots)[i];
    return pivots;
}

static bool solve(const solver_call *c, int *info)
{
    int *pivots = copy_of_pivots(c);

    if (!pivots) return false;
    *info = c->type->getrs("NTC"[c->op], (int)c -> n, (int)c -> nrhs, c -> a, (int)c -> lda, pivots,
                           c -> b, (int)c -> ldb);
    free(pivots);
    return true;
}

static const solver_routine getrs = {find_wrong_solve, NULL, are_solve_operands, solve,
                                     .can_be_captured = true};

#define GETRS(name_, ...)                                                                          \
    SOLVER_CALL(name_, .op = op, .m = n, .n = n, .nrhs = nrhs,                                     \
                .pivots = (void *)(uintptr_t)pivots, .b = b, .ldb = ldb, .lwork = UNTOLD,          \
                .info = info, __VA_ARGS__)

#define DEFINE_GETRS(letter, number, real, o, s)                                                   \
    cusolverStatus_t cusolverDn##letter##getrs(cusolverDnHandle_t handle, cublasOperation_t op,    \
                                               int n, int nrhs, const number *a, int lda,          \
                                               const int *pivots, number *b, int ldb, int *info)   \
    {                                                                                              \
        return hostgpu_solver_run(handle, &getrs,                                                  \
                                  GETRS("cusolverDn" #letter "getrs",                              \
                                        .parameters = "op n nrhs a lda pivots b ldb info",         \
                                        .type = &hostgpu_lapack_##letter));                        \
    }
FOR_SOLVER_TYPES(DEFINE_GETRS)

cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  cublasOperation_t op, int64_t n, int64_t nrhs, cudaDataType type,
                                  const void *a, int64_t lda, const int64_t *pivots,
                                  cudaDataType type_b, void *b, int64_t ldb, int *info)
{
    return hostgpu_solver_run(
        handle, &getrs,
        GETRS("cusolverDnXgetrs", .parameters = "params op n nrhs type a lda pivots type_b b ldb",
              .params = params, .type = hostgpu_solver_type(type, type_b), .wide_pivots = true));
}
