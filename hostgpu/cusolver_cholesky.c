/* cusolver_cholesky.c - cuSOLVER's Cholesky factors, solutions by them, and inverses. Only the
 * triangle that `uplo` names is read and written. */
#include "cusolver_internal.h"

static const char *find_wrong_triangle(const solver_call *c)
{
    FIND_WRONG(is_fill(c->uplo), "uplo");
    FIND_WRONG(c->n >= 0, "n");
    FIND_WRONG(is_ld(c->lda, c->n), "lda");
    return NULL;
}

static const char *find_wrong_solve(const solver_call *c)
{
    FIND_WRONG(is_fill(c->uplo), "uplo");
    FIND_WRONG(c->n >= 0, "n");
    FIND_WRONG(c->nrhs >= 0, "nrhs");
    FIND_WRONG(is_ld(c->lda, c->n), "lda");
    FIND_WRONG(is_ld(c->ldb, c->n), "ldb");
    return NULL;
}

static bool is_triangle(const solver_call *c)
{
    return hostgpu_is_solver_matrix(c, "A", c->a, c->n, c->n, c->lda);
}

static bool are_solve_operands(const solver_call *c)
{
    return is_triangle(c) && hostgpu_is_solver_matrix(c, "B", c->b, c->n, c->nrhs, c->ldb);
}

static bool factor(const solver_call *c, int *info)
{
    *info = c->type->potrf(letter_of_fill(c->uplo), (int)c->n, c->a, (int)c->lda);
    return true;
}

static bool invert(const solver_call *c, int *info)
{
    *info = c->type->potri(letter_of_fill(c->uplo), (int)c->n, c->a, (int)c->lda);
    return true;
}

static bool solve(const solver_call *c, int *info)
{
    *info = c->type->potrs(letter_of_fill(c->uplo), (int)c->n, (int)c->nrhs, c->a, (int)c->lda,
                           c->b, (int)c->ldb);
    return true;
}

static const solver_routine potrf = {find_wrong_triangle, hostgpu_elements_of_row, is_triangle,
                                     factor, .can_be_captured = true};
static const solver_routine potri = {find_wrong_triangle, hostgpu_elements_of_row, is_triangle,
                                     invert, .can_be_captured = true};
static const solver_routine potrs = {find_wrong_solve, NULL, are_solve_operands, solve,
                                     .can_be_captured = true};

#define TRIANGLE(name_, ...) SOLVER_CALL(name_, .uplo = uplo, .m = n, .n = n, __VA_ARGS__)

#define DEFINE_IN_PLACE(function, letter, number, routine)                                         \
    DEFINE_SOLVER(function, letter, routine, TRIANGLE,                                             \
                  (cublasFillMode_t uplo, int n, number *a, int lda),                              \
                  (cublasFillMode_t uplo, int n, number *a, int lda, number *work, int lwork),     \
                  "uplo n a lda work lwork", .work = work, .lwork = lwork)

#define SOLVE(name_, ...)                                                                          \
    TRIANGLE(name_, .nrhs = nrhs, .b = b, .ldb = ldb, .lwork = UNTOLD, .info = info, __VA_ARGS__)

#define DEFINE(letter, number, real, o, s)                                                         \
    DEFINE_IN_PLACE(cusolverDn##letter##potrf, letter, number, potrf)                              \
    DEFINE_IN_PLACE(cusolverDn##letter##potri, letter, number, potri)                              \
    cusolverStatus_t cusolverDn##letter##potrs(cusolverDnHandle_t handle, cublasFillMode_t uplo,   \
                                               int n, int nrhs, const number *a, int lda,          \
                                               number *b, int ldb, int *info)                      \
    {                                                                                              \
        return hostgpu_solver_run(handle, &potrs,                                                  \
                                  SOLVE("cusolverDn" #letter "potrs",                              \
                                        .parameters = "uplo n nrhs a lda b ldb info",              \
                                        .type = &hostgpu_lapack_##letter));                        \
    }
FOR_SOLVER_TYPES(DEFINE)

DEFINE_TYPED_SOLVER(cusolverDnXpotrf, hostgpu_solver_type(type, computations), potrf, TRIANGLE,
                    (cublasFillMode_t uplo, int64_t n, cudaDataType type, const void *a,
                     int64_t lda, cudaDataType computations),
                    (cublasFillMode_t uplo, int64_t n, cudaDataType type, void *a, int64_t lda,
                     cudaDataType computations),
                    "uplo n type a lda computations", .info = info)

cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  cublasFillMode_t uplo, int64_t n, int64_t nrhs, cudaDataType type,
                                  const void *a, int64_t lda, cudaDataType type_b, void *b,
                                  int64_t ldb, int *info)
{
    return hostgpu_solver_run(handle, &potrs,
                              SOLVE("cusolverDnXpotrs",
                                    .parameters = "params uplo n nrhs type a lda type_b b ldb",
                                    .params = params, .type = hostgpu_solver_type(type, type_b)));
}
