/* cusolver_eigen.c - cuSOLVER's eigenvalues of symmetric and Hermitian matrices, and singular
 * values. They cannot be captured: cuSOLVER's own need the host, in whose memory the functions with
 * 64-bit sizes ask for a workspace. */
#include <stdlib.h>
#include <string.h>

#include "cusolver_internal.h"

static bool is_jobz(cusolverEigMode_t jobz)
{
    return jobz == CUSOLVER_EIG_MODE_NOVECTOR || jobz == CUSOLVER_EIG_MODE_VECTOR;
}

static bool are_values(const solver_call *c, const char *operand, int64_t count)
{
    return hostgpu_check_operand(c->name, operand, c->tau, (size_t)count * c->type->real_bytes);
}

/* ---- eigenvalues ---- */

static const char *find_wrong_eigen(const solver_call *c)
{
    FIND_WRONG(is_jobz(c->jobz), "jobz");
    FIND_WRONG(is_fill(c->uplo), "uplo");
    FIND_WRONG(c->n >= 0, "n");
    FIND_WRONG(is_ld(c->lda, c->n), "lda");
    return NULL;
}

/* What LAPACK's documentation asks for real types and vectors, which is most of all: so the other
 * workspaces fit into an int where this one does. */
static int64_t eigen_elements(const solver_call *c)
{
    if (c->n > INT32_MAX / 2) return INT64_MAX; /* nearly, and the product could overflow */
    return 1 + 6 * c->n + 2 * c->n * c->n;
}

/* Nothing is in it: programs have to bring some all the same. */
static size_t eigen_host_bytes(const solver_call *c) { return (size_t)c->n * c->type->bytes; }

static int64_t eigen_reals(int64_t n) { return 1 + 5 * n + 2 * n * n; }
static int64_t eigen_ints(int64_t n) { return 3 + 5 * n; }

static bool are_eigen_operands(const solver_call *c)
{
    return hostgpu_is_solver_matrix(c, "A", c->a, c->n, c->n, c->lda) && are_values(c, "W", c->n);
}

/* ---- copies of A ----
 * They have room for one column more: zgemv of OpenBLAS 0.3.21 reads, for some sizes, elements of a
 * column behind the last one, where a program's memory may end. */

static int64_t ld_of_copy(const solver_call *c) { return c->m > 1 ? c->m : 1; }

/* A's m x n elements, from one leading dimension to another. */
static void copy_elements(const solver_call *c, void *to, int64_t to_ld, const void *from,
                          int64_t from_ld)
{
    const size_t element = c->type->bytes;
    for (int64_t j = 0; j < c->n; j++)
        memcpy((char *)to + (size_t)(j * to_ld) * element,
               (const char *)from + (size_t)(j * from_ld) * element, (size_t)c->m * element);
}

/* NULL: there is no memory. To be freed. */
static void *copy_of_a(const solver_call *c)
{
    void *a = calloc((size_t)(ld_of_copy(c) * (c->n + 1)), c->type->bytes);
    if (a) copy_elements(c, a, ld_of_copy(c), c->a, c->lda);
    return a;
}

static void put_copy_back(const solver_call *c, const void *a)
{
    copy_elements(c, c->a, c->lda, a, ld_of_copy(c));
}

/* ---- eigenvalues ---- */

static bool find_eigen(const solver_call *c, int *info)
{
    const int64_t n = c->n, reals = eigen_reals(n), ints = eigen_ints(n);
    void *a = copy_of_a(c);
    void *real_work = malloc((size_t)reals * c->type->real_bytes);
    int *int_work = malloc((size_t)ints * sizeof *int_work);
    const bool has_memory = a && real_work && int_work;

    if (has_memory) {
        const char job = "NV"[c->jobz];
        *info = c->type->heevd(job, letter_of_fill(c->uplo), (int)n, a, (int)ld_of_copy(c), c->tau,
                               c->work, (int)eigen_elements(c), real_work, (int)reals, int_work,
                               (int)ints);
        put_copy_back(c, a);
    }
    free(a);
    free(real_work);
    free(int_work);
    return has_memory;
}

static const solver_routine heevd = {find_wrong_eigen,         eigen_elements,
                                     are_eigen_operands,       find_eigen,
                                     .can_be_captured = false, .host_bytes = eigen_host_bytes};

#define HEEVD(name_, ...)                                                                          \
    SOLVER_CALL(name_, .jobz = jobz, .uplo = uplo, .m = n, .n = n,                                 \
                .tau = (void *)(uintptr_t)values, __VA_ARGS__)

#define DEFINE_EVD(function, letter, number, real)                                                 \
    DEFINE_SOLVER(function, letter, heevd, HEEVD,                                                  \
                  (cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, const number *a, int lda, \
                   const real *values),                                                            \
                  (cusolverEigMode_t jobz, cublasFillMode_t uplo, int n, number *a, int lda,       \
                   real *values, number *work, int lwork),                                         \
                  "jobz uplo n a lda values work lwork", .work = work, .lwork = lwork)
#define DEFINE_EIGEN(letter, number, real, o, s)                                                   \
    DEFINE_EVD(cusolverDn##letter##s##evd, letter, number, real)
FOR_SOLVER_TYPES(DEFINE_EIGEN)

/* The type of A, if that of the values is its real one. */
static const lapack_type *type_of(cudaDataType type, cudaDataType type_values,
                                  cudaDataType computations)
{
    const lapack_type *known = hostgpu_solver_type(type, computations);
    return known && known->real_type == type_values ? known : NULL;
}

DEFINE_TYPED_SOLVER(cusolverDnXsyevd, type_of(type, type_values, computations), heevd, HEEVD,
                    (cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n, cudaDataType type,
                     const void *a, int64_t lda, cudaDataType type_values, const void *values,
                     cudaDataType computations),
                    (cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n, cudaDataType type,
                     void *a, int64_t lda, cudaDataType type_values, void *values,
                     cudaDataType computations),
                    "jobz uplo n type a lda type_values values computations", .info = info)

/* ---- singular values ---- */

/* Columns of U that a job asks for, or rows of V'; 0: none, or they are written over A. */
static int64_t vectors_of(signed char job, int64_t all, int64_t some)
{
    return job == 'A' ? all : job == 'S' ? some : 0;
}

static bool is_job(signed char job) { return job == 'A' || job == 'S' || job == 'O' || job == 'N'; }

/* m < n is not supported, as in cuSOLVER. */
static const char *find_wrong_svd(const solver_call *c)
{
    FIND_WRONG(is_job(c->job_u), "job_u");
    FIND_WRONG(is_job(c->job_vt) && (c->job_u != 'O' || c->job_vt != 'O'), "job_vt");
    FIND_WRONG(c->m >= 0, "m");
    FIND_WRONG(c->n >= 0 && c->n <= c->m, "n");
    FIND_WRONG(is_ld(c->lda, c->m), "lda");
    FIND_WRONG(is_ld(c->ldu, vectors_of(c->job_u, c->m, c->m)), "ldu");
    FIND_WRONG(is_ld(c->ldvt, vectors_of(c->job_vt, c->n, c->n)), "ldvt");
    return NULL;
}

/* At least what LAPACK's documentation asks for: max(3 n + m, 5 n). */
static int64_t svd_elements(const solver_call *c) { return 5 * (c->m + c->n); }

static bool are_svd_operands(const solver_call *c)
{
    return hostgpu_is_solver_matrix(c, "A", c->a, c->m, c->n, c->lda) && are_values(c, "S", c->n) &&
           hostgpu_is_solver_matrix(c, "U", c->u, c->m, vectors_of(c->job_u, c->m, c->n), c->ldu) &&
           hostgpu_is_solver_matrix(c, "VT", c->vt, vectors_of(c->job_vt, c->n, c->n), c->n,
                                    c->ldvt);
}

static bool find_singular(const solver_call *c, int *info)
{
    void *a = copy_of_a(c), *real_work = malloc((size_t)(5 * c->n) * c->type->real_bytes);
    const bool has_memory = a && real_work;

    if (has_memory) {
        *info = c->type->gesvd((char)c->job_u, (char)c->job_vt, (int)c->m, (int)c->n, a,
                               (int)ld_of_copy(c), c->tau, c->u, (int)c->ldu, c->vt, (int)c->ldvt,
                               c->work, (int)svd_elements(c), real_work);
        put_copy_back(c, a);
    }
    free(a);
    free(real_work);
    return has_memory;
}

static const solver_routine gesvd = {find_wrong_svd, svd_elements, are_svd_operands, find_singular,
                                     .can_be_captured = false};

#define DEFINE_GESVD(letter, number, real, o, s)                                                   \
    cusolverStatus_t cusolverDn##letter##gesvd_bufferSize(cusolverDnHandle_t handle, int m, int n, \
                                                          int *lwork)                              \
    {                                                                                              \
        const int lda = m > 1 ? m : 1;                                                             \
        const number *const a = NULL;                                                              \
        return hostgpu_solver_size(handle, &gesvd,                                                 \
                                   MATRIX_CALL("cusolverDn" #letter "gesvd_bufferSize",            \
                                               .type = &hostgpu_lapack_##letter, .job_u = 'N',     \
                                               .job_vt = 'N', .ldu = 1, .ldvt = 1),                \
                                   lwork);                                                         \
    }                                                                                              \
    cusolverStatus_t cusolverDn##letter##gesvd(                                                    \
        cusolverDnHandle_t handle, signed char job_u, signed char job_vt, int m, int n, number *a, \
        int lda, real *values, number *u, int ldu, number *vt, int ldvt, number *work, int lwork,  \
        real *superdiagonal, int *info)                                                            \
    {                                                                                              \
        (void)superdiagonal; /* which did not converge; not given */                               \
        return hostgpu_solver_run(                                                                 \
            handle, &gesvd,                                                                        \
            SOLVER_CALL("cusolverDn" #letter "gesvd",                                              \
                        .parameters =                                                              \
                            "job_u job_vt m n a lda values u ldu vt ldvt work lwork rwork info",   \
                        .type = &hostgpu_lapack_##letter, .job_u = job_u, .job_vt = job_vt,        \
                        .m = m, .n = n, .tau = values, .u = u, .ldu = ldu, .vt = vt, .ldvt = ldvt, \
                        .work = work, .lwork = lwork, .info = info));                              \
    }
FOR_SOLVER_TYPES(DEFINE_GESVD)
