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

#define DEFINE_IN_PLACE(letter, number, routine)                                                   \
    cusolverStatus_t cusolverDn##letter##routine##_bufferSize(                                     \
        cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, number *a, int lda, int *lwork)   \
    {                                                                                              \
        return hostgpu_solver_size(handle, &routine,                                               \
                                   TRIANGLE("cusolverDn" #letter #routine "_bufferSize",           \
                                            .type = &hostgpu_lapack_##letter),                     \
                                   lwork);                                                         \
    }                                                                                              \
    cusolverStatus_t cusolverDn##letter##routine(cusolverDnHandle_t handle, cublasFillMode_t uplo, \
                                                 int n, number *a, int lda, number *work,          \
                                                 int lwork, int *info)                             \
    {                                                                                              \
        return hostgpu_solver_run(handle, &routine,                                                \
                                  TRIANGLE("cusolverDn" #letter #routine,                          \
                                           .parameters = "uplo n a lda work lwork info",           \
                                           .type = &hostgpu_lapack_##letter, .work = work,         \
                                           .lwork = lwork, .info = info));                         \
    }

#define SOLVE(name_, ...)                                                                          \
    TRIANGLE(name_, .nrhs = nrhs, .b = b, .ldb = ldb, .lwork = UNTOLD, .info = info, __VA_ARGS__)

#define DEFINE(letter, number, real, o, s)                                                         \
    DEFINE_IN_PLACE(letter, number, potrf)                                                         \
    DEFINE_IN_PLACE(letter, number, potri)                                                         \
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

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cublasFillMode_t uplo, int64_t n, cudaDataType type,
                                             const void *a, int64_t lda, cudaDataType computations,
                                             size_t *on_device, size_t *on_host)
{
    return hostgpu_solver_bytes(handle, &potrf,
                                TRIANGLE("cusolverDnXpotrf_bufferSize", .params = params,
                                         .type = hostgpu_solver_type(type, computations)),
                                on_device, on_host);
}

cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  cublasFillMode_t uplo, int64_t n, cudaDataType type, void *a,
                                  int64_t lda, cudaDataType computations, void *work,
                                  size_t work_bytes, void *host_work, size_t host_bytes, int *info)
{
    const lapack_type *known = hostgpu_solver_type(type, computations);

    (void)host_work, (void)host_bytes;
    return hostgpu_solver_run(
        handle, &potrf,
        TRIANGLE("cusolverDnXpotrf",
                 .parameters = "params uplo n type a lda computations work lwork", .params = params,
                 .type = known, .work = work, .lwork = hostgpu_elements_in(known, work_bytes),
                 .info = info));
}

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
