/* cusolver_qr.c - cuSOLVER's QR factors as reflectors, products with Q, and Q itself. R's diagonal
 * and tau are LAPACK's: Q is the product of I - tau v v'. */
#include "cusolver_internal.h"

/* LAPACK's usual block of columns. */
enum { BLOCK = 32 };

/* ---- factors ---- */

static int64_t elements_for_columns(const solver_call *c) { return BLOCK * c->n; }

static bool are_scales(const solver_call *c, int64_t count)
{
    return hostgpu_check_operand(c->name, "TAU", c->tau, (size_t)count * c->type->bytes);
}

static bool are_factor_operands(const solver_call *c)
{
    return hostgpu_is_solver_matrix(c, "A", c->a, c->m, c->n, c->lda) &&
           are_scales(c, c->m < c->n ? c->m : c->n);
}

static bool factor(const solver_call *c, int *info)
{
    *info = c->type->geqrf((int)c->m, (int)c->n, c->a, (int)c->lda, c->tau, c->work,
                           (int)elements_for_columns(c));
    return true;
}

static const solver_routine geqrf = {hostgpu_find_wrong_matrix, elements_for_columns,
                                     are_factor_operands, factor, .can_be_captured = true};

/* A call that makes reflectors, or reads them. */
#define QR_CALL(name_, ...) MATRIX_CALL(name_, .tau = (void *)(uintptr_t)tau, __VA_ARGS__)

#define DEFINE_GEQRF(letter, number, real, o, s)                                                   \
    DEFINE_SOLVER(cusolverDn##letter##geqrf, letter, geqrf, MATRIX_CALL,                           \
                  (int m, int n, number *a, int lda),                                              \
                  (int m, int n, number *a, int lda, number *tau, number *work, int lwork),        \
                  "m n a lda tau work lwork", .tau = tau, .work = work, .lwork = lwork)
FOR_SOLVER_TYPES(DEFINE_GEQRF)

/* The type of A and of tau, which is the same, and of the computations. */
static const lapack_type *type_of(cudaDataType type, cudaDataType type_tau,
                                  cudaDataType computations)
{
    return type == type_tau ? hostgpu_solver_type(type, computations) : NULL;
}

DEFINE_TYPED_SOLVER(cusolverDnXgeqrf, type_of(type, type_tau, computations), geqrf, QR_CALL,
                    (int64_t m, int64_t n, cudaDataType type, const void *a, int64_t lda,
                     cudaDataType type_tau, const void *tau, cudaDataType computations),
                    (int64_t m, int64_t n, cudaDataType type, void *a, int64_t lda,
                     cudaDataType type_tau, void *tau, cudaDataType computations),
                    "m n type a lda type_tau tau computations", .info = info)

/* ---- C <- op(Q) C or C op(Q) ---- */

/* Rows of the reflectors. */
static int64_t reflected(const solver_call *c) { return c->side == CUBLAS_SIDE_LEFT ? c->m : c->n; }

static const char *find_wrong_multiply(const solver_call *c)
{
    const cublasOperation_t adjoint = c->type->is_complex ? CUBLAS_OP_C : CUBLAS_OP_T;

    FIND_WRONG(c->side == CUBLAS_SIDE_LEFT || c->side == CUBLAS_SIDE_RIGHT, "side");
    FIND_WRONG(c->op == CUBLAS_OP_N || c->op == adjoint, "op");
    FIND_WRONG(c->m >= 0, "m");
    FIND_WRONG(c->n >= 0, "n");
    FIND_WRONG(c->k >= 0 && c->k <= reflected(c), "k");
    FIND_WRONG(is_ld(c->lda, reflected(c)), "lda");
    FIND_WRONG(is_ld(c->ldb, c->m), "ldb");
    return NULL;
}

static int64_t multiply_elements(const solver_call *c)
{
    return BLOCK * (c->side == CUBLAS_SIDE_LEFT ? c->n : c->m);
}

static bool are_multiply_operands(const solver_call *c)
{
    return hostgpu_is_solver_matrix(c, "A", c->a, reflected(c), c->k, c->lda) &&
           are_scales(c, c->k) && hostgpu_is_solver_matrix(c, "C", c->b, c->m, c->n, c->ldb);
}

static bool multiply(const solver_call *c, int *info)
{
    *info = c->type->unmqr("LR"[c->side], "NTC"[c->op], (int)c -> m, (int)c -> n, (int)c -> k,
                           c -> a, (int)c -> lda, c -> tau, c -> b, (int)c -> ldb, c -> work,
                           (int)multiply_elements(c));
    return true;
}

static const solver_routine unmqr = {find_wrong_multiply, multiply_elements, are_multiply_operands,
                                     multiply, .can_be_captured = true};

#define UNMQR(name_, ...)                                                                          \
    QR_CALL(name_, .side = side, .op = op, .k = k, .b = (void *)(uintptr_t)c, .ldb = ldc,          \
            __VA_ARGS__)

#define DEFINE_MQR(function, letter, number)                                                       \
    DEFINE_SOLVER(function, letter, unmqr, UNMQR,                                                  \
                  (cublasSideMode_t side, cublasOperation_t op, int m, int n, int k,               \
                   const number *a, int lda, const number *tau, const number *c, int ldc),         \
                  (cublasSideMode_t side, cublasOperation_t op, int m, int n, int k,               \
                   const number *a, int lda, const number *tau, number *c, int ldc, number *work,  \
                   int lwork),                                                                     \
                  "side op m n k a lda tau c ldb work lwork", .work = work, .lwork = lwork)

/* ---- A <- the first n columns of Q ---- */

static const char *find_wrong_generate(const solver_call *c)
{
    FIND_WRONG(c->m >= 0, "m");
    FIND_WRONG(c->n >= 0 && c->n <= c->m, "n");
    FIND_WRONG(c->k >= 0 && c->k <= c->n, "k");
    FIND_WRONG(is_ld(c->lda, c->m), "lda");
    return NULL;
}

static bool are_generate_operands(const solver_call *c)
{
    return hostgpu_is_solver_matrix(c, "A", c->a, c->m, c->n, c->lda) && are_scales(c, c->k);
}

static bool generate(const solver_call *c, int *info)
{
    *info = c->type->ungqr((int)c->m, (int)c->n, (int)c->k, c->a, (int)c->lda, c->tau, c->work,
                           (int)elements_for_columns(c));
    return true;
}

static const solver_routine ungqr = {find_wrong_generate, elements_for_columns,
                                     are_generate_operands, generate, .can_be_captured = true};

#define UNGQR(name_, ...) QR_CALL(name_, .k = k, __VA_ARGS__)

#define DEFINE_GQR(function, letter, number)                                                       \
    DEFINE_SOLVER(                                                                                 \
        function, letter, ungqr, UNGQR,                                                            \
        (int m, int n, int k, const number *a, int lda, const number *tau),                        \
        (int m, int n, int k, number *a, int lda, const number *tau, number *work, int lwork),     \
        "m n k a lda tau work lwork", .work = work, .lwork = lwork)

#define DEFINE_Q(letter, number, real, o, s)                                                       \
    DEFINE_MQR(cusolverDn##letter##o##mqr, letter, number)                                         \
    DEFINE_GQR(cusolverDn##letter##o##gqr, letter, number)
FOR_SOLVER_TYPES(DEFINE_Q)
