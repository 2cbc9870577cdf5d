/* problem.h - one call of a linear algebra routine as every entry point describes it, and its
 * validity. Pure: no CUDA calls. */
#ifndef TD_PROBLEM_H
#define TD_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../kernels/view/memory.h"
#include "../../kernels/view/region.h"
#include "../../kernels/view/view.h"

/* What a type is called, and its size and alignment in bytes. */
typedef struct {
    const char *name;
    int size, alignment;
} td_type_info;
extern const td_type_info td_types[TD_TYPE_COUNT];

/* Kinds of routine. A "triangle" is the half of a symmetric or triangular matrix that `triangle`
 * names; of C only that is written, of A only that is read. In brackets: what else counts. */
typedef enum {
    /* C <- alpha op(A) op(B) + beta C; op(A) is m x k, op(B) k x n, C m x n. */
    TD_PRODUCT,

    /* C <- alpha A B + beta C or alpha B A + beta C, as `side` says; A is symmetric, or Hermitian
     * if is_hermitian; B and C are m x n. [side, triangle] */
    TD_SYMMETRIC_PRODUCT,

    /* C <- alpha op(A) op(A)' + beta C, alpha op(A) op(B)' + beta C, and alpha op(A) op(B)' +
     * alpha' op(B) op(A)' + beta C; op(A) and op(B) are n x k, with op_a for both, C is n x n. X'
     * is the transpose, or, if is_hermitian, the conjugate transpose: alpha' is conj(alpha) then,
     * beta real, alpha of the first too, and C's diagonal becomes real. [triangle] */
    TD_RANK_K,
    TD_RANK_KX,
    TD_RANK_2K,

    /* B <- alpha op(A)^-1 B or alpha B op(A)^-1, as `side` says; B is m x n. [side, triangle,
     * diagonal] */
    TD_TRIANGULAR_SOLVE,

    /* C <- alpha op(A) B or alpha B op(A); B and C are m x n. [side, triangle, diagonal] */
    TD_TRIANGULAR_PRODUCT,

    /* A, n x n, becomes its triangular factors: P A = L U. [pivots, info] */
    TD_LU_FACTOR,

    /* B <- op(A)^-1 B, A being such factors; B is n x k. [pivots, has_wide_pivots, info] */
    TD_LU_SOLVE,

    /* C <- A^-1, A being such factors, or any n x n matrix. [pivots, info] */
    TD_LU_INVERT,
    TD_INVERT,

    /* A, m x n, becomes its triangular factors, P A = L U: L, m x min(m, n), below the diagonal, on
     * which it is 1, and U, min(m, n) x n. [pivots, has_wide_pivots, info] */
    TD_FACTOR_LU,

    /* A, n x n, symmetric, or Hermitian if complex: its triangle becomes L with A = L L', or, of
     * the upper one, L'. [triangle, info] */
    TD_FACTOR_CHOLESKY,
    /* A, m x n, becomes its factors A = Q R: R, min(m, n) x n, on and above the diagonal, and below
     * it the columns of the reflectors of which Q is the product. [tau, info] */
    TD_FACTOR_QR,

    /* A, m x n, becomes the first n columns of the Q that k reflectors make, which are where A has
     * been factored. [tau, info] */
    TD_FORM_Q,

    /* C <- op(Q) C or C op(Q), as `side` says; C is m x n, and Q of k such reflectors. [side, tau,
     * info] */
    TD_APPLY_Q,

    /* B <- A^-1 B, A being the matrix of which the triangle has a Cholesky factor; B is n x k; and
     * that triangle of A^-1 in place of the factor. [triangle, info] */
    TD_CHOLESKY_SOLVE,
    TD_CHOLESKY_INVERT,

    /* A, n x n, symmetric, becomes its eigenvectors X: A X = X D, where D has `values`, ascending,
     * on its diagonal. [triangle, values, lacks_vectors, info, solver] */
    TD_EIGEN,
    TD_KIND_COUNT
} td_kind;

/* Rows of a matrix as it is stored: none, if the kind has no such matrix; a size; m, n or k as an
 * operation says, the first if it is N; the order of A on its side. */
typedef enum {
    TD_NO_ROWS,
    TD_M_ROWS,
    TD_N_ROWS,
    TD_M_OR_K_ROWS,
    TD_N_OR_K_ROWS,
    TD_K_OR_N_ROWS,
    TD_ROWS_OF_SIDE
} td_rows;

/* What a kind of routine is called with beside n, and how many rows its matrices have: of the last
 * that it has the elements are written. */
typedef struct {
    bool has_m, has_k; /* sizes of their own */
    int operations;    /* none, A's, or A's and B's */
    bool has_side, has_triangle, has_diagonal;
    td_rows a, b, c;
} td_kind_info;
extern const td_kind_info td_kinds[TD_KIND_COUNT];

/* True of the updates of one triangle of C, a sum of products with a transpose. */
static inline bool td_kind_is_update(td_kind kind)
{
    return kind == TD_RANK_K || kind == TD_RANK_KX || kind == TD_RANK_2K;
}

/* True of what makes reflectors, or is made of them. */
static inline bool td_kind_has_reflectors(td_kind kind)
{
    return kind == TD_FACTOR_QR || kind == TD_FORM_Q || kind == TD_APPLY_Q;
}

/* True of the factorisations of one matrix, by cuSOLVER, among them X D X', and of what is made of
 * reflectors. */
static inline bool td_kind_is_factorisation(td_kind kind)
{
    return kind == TD_FACTOR_LU || kind == TD_FACTOR_CHOLESKY || kind == TD_EIGEN ||
           td_kind_has_reflectors(kind);
}

/* True of what is made by the triangular factors of one matrix, or of each matrix of a batch. */
static inline bool td_kind_is_by_factors(td_kind kind)
{
    return kind == TD_LU_SOLVE || kind == TD_CHOLESKY_SOLVE || kind == TD_CHOLESKY_INVERT;
}

typedef enum { TD_OP_N, TD_OP_T, TD_OP_C } td_op;
typedef enum { TD_LEFT, TD_RIGHT } td_side;
typedef enum { TD_NON_UNIT_DIAGONAL, TD_UNIT_DIAGONAL } td_diagonal;

/* Device memory for work in the stream, which nobody else uses meanwhile; NULL: none. */
typedef struct {
    void *memory;
    size_t bytes;
} td_loan;

/* How the cuSOLVER of a call finds the eigenvectors of a symmetric matrix of binary32: in the lower
 * triangle of `a`, n x n in columns of n elements, which they replace, by ascending values. */
typedef struct {
    /* The least elements of a workspace; -1: nobody can say. */
    int (*elements)(const void *call, int n, float *a, float *values);

    /* Runs in the call's stream, and may wait for it; false if cuSOLVER refuses. All in device
     * memory. */
    bool (*run)(const void *call, int n, float *a, float *values, float *work, int elements,
                int *info);
    const void *call; /* as long as the wrapper runs */
} td_eigen_solver;

/* One call: a routine on each of `batch` problems. A plain call has batch 1; matrices of a batch
 * lie a stride apart, or where an array of pointers says. What a kind does not name is 0. No bytes
 * lie between fields, where an initialiser leaves what it finds: calls are compared as bytes. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"
typedef struct {
    td_kind kind;
    td_type type; /* of matrices and scalars */
    td_op op_a, op_b;
    td_side side;
    td_triangle triangle;
    td_diagonal diagonal;
    bool is_hermitian;

    /* Of a solve from the left with a lower triangular op(A) and an alpha of 1: B is lower
     * triangular, as X is; nothing above its diagonal is read or written. */
    bool is_lower_b;

    /* Of a product: the elements of A or B stand for their complex conjugates. */
    bool is_conjugate_a, is_conjugate_b;

    /* Of a product: the matrix lies in rows. `c` or `addend` is its transpose in columns then. */
    bool c_in_rows, addend_in_rows;
    bool has_wide_pivots; /* they are int64_t, not int */
    bool lacks_vectors;   /* of eigenvalues: nobody asks for vectors, and A may hold anything */
    bool is_pedantic; /* the handle's math mode forbids other arithmetic than the matrices' own */
    /* cuBLAS is to emulate binary64 itself: the call asks for that by its compute type, or the
     * handle's math mode allows it */
    bool asks_emulation, allows_emulation;
    bool unused;

    /* Where matrices are on the host: what copies take round the call if it is emulated, and what
     * cuBLAS's own take at the least, while it multiplies. */
    double copying_seconds, native_copying_seconds;

    int64_t m, n, k;
    td_scalar alpha, beta;
    td_matrix a, b, c;
    /* what beta multiplies, where it is not C itself, of C's size; data NULL: C */
    td_matrix addend;
    /* of factors, n for each member, or min(m, n) of an m x n matrix: rows as LAPACK numbers them,
     * from 1; NULL: no rows are exchanged */
    void *pivots;
    void *tau;                     /* of reflectors: as LAPACK has them, of the matrices' type */
    void *values;                  /* of eigenvalues: n of them */
    const td_eigen_solver *solver; /* of eigenvalues; NULL: there is none */
    /* of factorisations, one for each member, as LAPACK has it; NULL: the routine has none */
    int *info;
    int64_t batch;
    td_stream stream;
    td_loan lent;
    /* enqueues the call as the program made it, in a stream; NULL: it is one of cuBLAS's handles
     * (../engines/native_call.h) */
    bool (*enqueue)(const void *call, cudaStream_t stream);
    const void *enqueued; /* the call; as long as the wrapper runs */
    /* bytes on which that call depends besides all of this, as long as the wrapper runs; NULL:
     * nobody knows them */
    const void *enqueued_by;
    size_t enqueued_by_bytes;
    const void *caller; /* address in the program that the call returns to; NULL: not known */
} td_problem;
#pragma GCC diagnostic pop

/* True if operations, sizes and leading dimensions are ones that cuBLAS accepts, and no operand
 * that the kind names is NULL (which cuBLAS accepts at times). Pivots and info are for the entry
 * point to check. */
bool td_problem_is_valid(const td_problem *p);

/* Elements that are in no memory of 64-bit addresses. So many complex numbers have bytes that an
 * int64_t counts. */
#define TD_MOST_ELEMENTS 0x1p56

/* True if no size, leading dimension or stride is above TD_MOST_ELEMENTS, and no matrix of all
 * members has more. Nothing is to be computed of other sizes: their products would overflow. */
bool td_problem_is_countable(const td_problem *p);

/* True if there is nothing to compute and every matrix stays as it is: the result has no
 * elements. */
bool td_problem_is_empty(const td_problem *p);

/* True if no product of matrices is wanted, as far as the host knows: k or alpha is 0. */
bool td_problem_only_scales(const td_problem *p);

/* Steps of a factorisation of A: the smaller one of its sizes. */
int64_t td_problem_order(const td_problem *p);

/* How many reflectors the call makes or has. */
int64_t td_problem_reflectors(const td_problem *p);

/* True of a system with one triangle: no batch, each member of which is small. */
bool td_problem_is_solve(const td_problem *p);

/* What a solve or a factorisation reads and writes, of a problem that is valid; of other kinds,
 * nothing. */
td_memory td_problem_memory(const td_problem *p);

/* What the routine's scalars are: of the matrices' type, or real numbers of a Hermitian one. */
td_type td_problem_type_of_alpha(const td_problem *p);
td_type td_problem_type_of_beta(const td_problem *p);

/* The type of real numbers, or parts, of a type. */
td_type td_real_type(td_type type);

/* What makes a matrix of the type its adjoint: the transpose, or, of complex numbers, the conjugate
 * one. */
td_op td_adjoint(td_type type);

/* A number of binary64, as a scalar of the host for binary64 matrices, real or complex. */
td_scalar td_scalar_of(td_type type, double value);

/* True unless the host knows that the scalar is 0. */
bool td_scalar_counts(const td_scalar *s, td_type type);

/* A matrix with an operation, under which it has so many rows and columns. */
td_extent td_operand(const td_matrix *x, td_op op, int64_t rows, int64_t columns);

/* The matrix that the routine writes. */
const td_matrix *td_problem_result(const td_problem *p);

#endif
