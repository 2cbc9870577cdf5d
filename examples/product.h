/* product.h - one matrix product: its size and scalars, random operands, and its error. */
#ifndef EXAMPLES_PRODUCT_H
#define EXAMPLES_PRODUCT_H

#include <stdbool.h>

#include "common.h"

/* C <- alpha op(A) op(B) + beta C; op(A) is m x k, op(B) k x n, C m x n. All matrices are
 * column-major without padding, so the leading dimensions are their row counts. */
typedef struct {
    int m, n, k;
    char trans_a, trans_b; /* 'N', 'T' or 'C' */
    double alpha, beta;
} product;

/* Operands on the host, to be freed with operands_free. */
typedef struct {
    double *a, *b, *c; /* c: before the product */
} operands;

/* Rows and columns of A as it is stored; the same for B. */
int product_rows_a(const product *p);
int product_columns_a(const product *p);
int product_rows_b(const product *p);
int product_columns_b(const product *p);

/* Fills A, B and C with (u - 1/2) exp(phi g), u uniform in [0, 1) and g normal: the larger phi, the
 * wider the exponents spread. C is all NaN if beta is 0, because then it must not be read. False,
 * with a message, if there is no memory. */
bool operands_make(const product *p, double phi, long seed, operands *o);
void operands_free(operands *o);

/* The largest |C - exact| / (|alpha| |A| |B| + |beta| |C0|) over 24 rows x 24 columns (fewer if C
 * is smaller) spread evenly, first and last included. o: the operands, with C0; c: what was
 * computed. The exact element is a sum in binary128: its own error is below k 2^-112. NaN if C
 * holds one there. */
double product_error(const product *p, const operands *o, const double *c);

#endif
