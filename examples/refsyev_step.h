/* refsyev_step.h - refinement of symmetric eigenvectors by matrix products alone.
 *
 * Ogita and Aishima, Iterative refinement for symmetric eigenvalue decomposition, JJIAM 35 (2018):
 * a step squares the error of X as long as its products are accurate enough and the eigenvalues are
 * apart. */
#ifndef EXAMPLES_REFSYEV_STEP_H
#define EXAMPLES_REFSYEV_STEP_H

#include <stdbool.h>

#include <cublas_v2.h>

/* How much of what does not fit one binary64 number is kept. */
typedef enum {
    KEEP_NOTHING, /* the method's four products */
    KEEP_PRODUCT, /* A X as the sum of two matrices: six products */
    KEEP_VECTORS  /* X too: eleven products */
} refsyev_kept;

typedef struct refsyev refsyev;

/* C <- alpha op(A) B + beta C, n x n, in the default stream. False, with a message, if it fails. */
typedef bool refsyev_multiply(const refsyev *f, double alpha, cublasOperation_t op_a,
                              const double *a, const double *b, double beta, double *c);

/* n x n matrices in device memory, column-major, leading dimension n. */
struct refsyev {
    cublasHandle_t blas; /* host pointer mode, default stream */
    /* cublasDgemm, unless the caller sets another one after refsyev_make */
    refsyev_multiply *multiply;
    refsyev_kept kept;
    int n;
    double *a;
    double *b;           /* NULL: the identity */
    double *x_hi, *x_lo; /* X = x_hi + x_lo; x_lo is zero unless vectors are kept */
    double *p_hi, *p_lo; /* A X */
    double *r, *s, *e;   /* I - X'B X, X'A X, and the correction: X <- X + X E */
    double *next;        /* room for the next X, or for X E */
    double *host;        /* three such matrices in host memory */
    /* in host memory: n Rayleigh quotients of the X that the last step began with */
    double *lambda;
};

/* Allocates everything, with A, B and X given in host memory. B, symmetric and positive definite,
 * is NULL for A x = lambda x; else the eigenvectors of A x = lambda B x are refined, X'B X takes
 * the place of X'X, and `kept` is not KEEP_VECTORS. False, with a message, if that fails; to be
 * freed by refsyev_free in either case. */
bool refsyev_make(int n, refsyev_kept kept, const double *a, const double *b, const double *x,
                  refsyev *f);
void refsyev_free(refsyev *f);

/* X <- X + X E. False, with a message, if a call fails. */
bool refsyev_step(refsyev *f);

/* Copies X to host memory. */
bool refsyev_vectors(const refsyev *f, double *hi, double *lo);

#endif
