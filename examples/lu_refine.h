/* lu_refine.h - refinement of the solution of a linear system, and what it is worth. */
#ifndef EXAMPLES_LU_REFINE_H
#define EXAMPLES_LU_REFINE_H

#include <stdbool.h>

#include "lu.h"
#include "matrix_market.h"

/* The system A x = b + b_rest, factored, in device memory. */
typedef struct {
    const lu_system *factors; /* with pivots */
    double *a;                /* n x n, column-major, leading dimension n */
    double *b, *b_rest;       /* n */
    double *r;                /* room for n numbers */
    double *rows;             /* the same, in host memory */
} refinement;

/* A, b and b_rest are copied from host memory. False, with a message, if that fails; to be freed by
 * refinement_free in either case. */
bool refinement_make(const lu_system *factors, const double *a, const double *b,
                     const double *b_rest, refinement *f);
void refinement_free(refinement *f);

/* x <- x + inv(A) (b - A x + b_rest). The part b - A x is one product, whose arithmetic decides how
 * good x gets. x: n numbers in device memory. */
bool refinement_step(const refinement *f, double *x);

/* Errors of a solution. Let r = b + b_rest - A x, in binary128. */
typedef struct {
    double componentwise; /* max |r_i| / (|A| |x| + |b|)_i */
    double normwise;      /* |r| / (|A| |x| + |b|), maximum norms */
    double forward;       /* max |x_i - exact_i| / |exact_i| */
} solution_errors;

/* False, with a message, if there is no memory. */
bool solution_check(const dense_matrix *a, const double *b, const double *b_rest,
                    const double *exact, const double *x, solution_errors *errors);

/* What does not fit b: A x - b, summed in binary128, rounded. b_rest: n numbers in host memory.
 * False, with a message, if there is no memory. */
bool right_side_rest(const dense_matrix *a, const double *x, const double *b, double *b_rest);

#endif
