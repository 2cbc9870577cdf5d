/* shapes.h - what the parameters of level 3 routines can be (../lib/routine/routines.def), from
 * which the wrappers of cuBLAS, cublas.h and cublasXt are made. Shape R has
 *   R_PARAMETERS(size, number, alpha_type, beta_type)  its parameters, but for a handle
 *   R_ARGUMENTS                                        their names, for the original function
 *   R_BETA                                             the address of beta
 *   R_FIELDS                                           what they are in a td_problem.
 * The interfaces differ in what the including file defines before:
 *   SIDE, TRIANGLE, OPERATION, DIAGONAL, SCALAR(type)  types of parameters
 *   SIDE_OF(x), TRIANGLE_OF(x) and so on               such a parameter as the library has it
 *   ADDRESS_OF(scalar)                                 where a scalar is */
#ifndef TD_SHAPES_H
#define TD_SHAPES_H

/* The matrix that an argument points to, or those of a batch; nothing writes to those that are
 * const. */
#define MATRIX(p, ld_)                                                                             \
    {                                                                                              \
        .data = (void *)(uintptr_t)(p), .ld = (int64_t)(ld_)                                       \
    }
#define MATRICES(p, ld_)                                                                           \
    {                                                                                              \
        .array = (void *const *)(uintptr_t)(p), .ld = (ld_)                                        \
    }

/* The types that a routine has: of matrices, alpha and beta, that of matrices as Tandem has it, and
 * whether it is Hermitian; nothing where they are arguments. */
#define REAL32       float, float, float, TD_BINARY32, false
#define REAL         double, double, double, TD_BINARY64, false
#define COMPLEX32    cuComplex, cuComplex, cuComplex, TD_COMPLEX_BINARY32, false
#define COMPLEX      cuDoubleComplex, cuDoubleComplex, cuDoubleComplex, TD_COMPLEX_BINARY64, false
#define HERMITIAN    cuDoubleComplex, cuDoubleComplex, cuDoubleComplex, TD_COMPLEX_BINARY64, true
#define HERMITIAN_K  cuDoubleComplex, double, double, TD_COMPLEX_BINARY64, true
#define HERMITIAN_2K cuDoubleComplex, cuDoubleComplex, double, TD_COMPLEX_BINARY64, true
#define ANY

#define M_AND_N   .m = (int64_t)m, .n = (int64_t)n
#define A_AND_B   .a = MATRIX(A, lda), .b = MATRIX(B, ldb)
#define A_B_AND_C A_AND_B, .c = MATRIX(C, ldc)

/* C <- alpha op(A) op(B) + beta C. */
#define GEMM_PARAMETERS(size, number, alpha_type, beta_type)                                       \
    OPERATION transa, OPERATION transb, size m, size n, size k, SCALAR(alpha_type) alpha,          \
        const number *A, size lda, const number *B, size ldb, SCALAR(beta_type) beta, number *C,   \
        size ldc
#define GEMM_ARGUMENTS transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc
#define GEMM_BETA      ADDRESS_OF(beta)
#define GEMM_FIELDS                                                                                \
    .op_a = OPERATION_OF(transa), .op_b = OPERATION_OF(transb), M_AND_N, .k = (int64_t)k, A_B_AND_C

/* C <- alpha A B + beta C or alpha B A + beta C, A symmetric or Hermitian. */
#define SYMM_PARAMETERS(size, number, alpha_type, beta_type)                                       \
    SIDE side, TRIANGLE uplo, size m, size n, SCALAR(alpha_type) alpha, const number *A, size lda, \
        const number *B, size ldb, SCALAR(beta_type) beta, number *C, size ldc
#define SYMM_ARGUMENTS side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc
#define SYMM_BETA      ADDRESS_OF(beta)
#define SYMM_FIELDS    .side = SIDE_OF(side), .triangle = TRIANGLE_OF(uplo), M_AND_N, A_B_AND_C

/* Updates of a triangle of C. */
#define UPDATE_FIELDS                                                                              \
    .op_a = OPERATION_OF(trans), .triangle = TRIANGLE_OF(uplo), .n = (int64_t)n, .k = (int64_t)k

/* C <- alpha op(A) op(A)' + beta C. */
#define SYRK_PARAMETERS(size, number, alpha_type, beta_type)                                       \
    TRIANGLE uplo, OPERATION trans, size n, size k, SCALAR(alpha_type) alpha, const number *A,     \
        size lda, SCALAR(beta_type) beta, number *C, size ldc
#define SYRK_ARGUMENTS uplo, trans, n, k, alpha, A, lda, beta, C, ldc
#define SYRK_BETA      ADDRESS_OF(beta)
#define SYRK_FIELDS    UPDATE_FIELDS, .a = MATRIX(A, lda), .c = MATRIX(C, ldc)

/* Such updates with two matrices. */
#define SYR2K_PARAMETERS(size, number, alpha_type, beta_type)                                      \
    TRIANGLE uplo, OPERATION trans, size n, size k, SCALAR(alpha_type) alpha, const number *A,     \
        size lda, const number *B, size ldb, SCALAR(beta_type) beta, number *C, size ldc
#define SYR2K_ARGUMENTS uplo, trans, n, k, alpha, A, lda, B, ldb, beta, C, ldc
#define SYR2K_BETA      ADDRESS_OF(beta)
#define SYR2K_FIELDS    UPDATE_FIELDS, A_B_AND_C

/* B <- alpha op(A)^-1 B or alpha B op(A)^-1, A triangular. */
#define TRSM_PARAMETERS(size, number, alpha_type, beta_type)                                       \
    SIDE side, TRIANGLE uplo, OPERATION trans, DIAGONAL diag, size m, size n,                      \
        SCALAR(alpha_type) alpha, const number *A, size lda, number *B, size ldb
#define TRSM_ARGUMENTS side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb
#define TRSM_BETA      (&td_no_scalar)
#define TRIANGULAR_FIELDS                                                                          \
    .op_a = OPERATION_OF(trans), .side = SIDE_OF(side), .triangle = TRIANGLE_OF(uplo),             \
    .diagonal = DIAGONAL_OF(diag), M_AND_N
#define TRSM_FIELDS TRIANGULAR_FIELDS, A_AND_B

/* C <- alpha op(A) B or alpha B op(A), A triangular; B may be C. */
#define TRMM_PARAMETERS(size, number, alpha_type, beta_type)                                       \
    SIDE side, TRIANGLE uplo, OPERATION trans, DIAGONAL diag, size m, size n,                      \
        SCALAR(alpha_type) alpha, const number *A, size lda, const number *B, size ldb, number *C, \
        size ldc
#define TRMM_ARGUMENTS TRSM_ARGUMENTS, C, ldc
#define TRMM_BETA      TRSM_BETA
#define TRMM_FIELDS    TRSM_FIELDS, .c = MATRIX(C, ldc)

/* A triangular product in place of B, as cublas.h has it. */
#define TRMM_IN_PLACE_PARAMETERS TRSM_PARAMETERS
#define TRMM_IN_PLACE_ARGUMENTS  TRSM_ARGUMENTS
#define TRMM_IN_PLACE_BETA       TRSM_BETA
#define TRMM_IN_PLACE_FIELDS     TRSM_FIELDS, .c = MATRIX(B, ldb)

#endif
