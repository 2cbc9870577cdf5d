/* eigen_steps.h - the products of one step in which the eigenvectors X of a symmetric matrix A are
 * refined. Pure: no CUDA calls. */
#ifndef TD_EIGEN_STEPS_H
#define TD_EIGEN_STEPS_H

#include "product.h"

/* n x n each, in columns of n elements. */
typedef struct {
    int64_t n;
    double *a, *x;
    double *y; /* A X, and later the next X */
    double *s; /* X'A X, its lower triangle, and later the update E */
    double *r; /* I - X'X, its lower triangle */
    td_stream stream;
} td_eigen_matrices;

typedef enum {
    TD_EIGEN_AX,     /* y <- A X */
    TD_EIGEN_XX,     /* r <- r - X'X */
    TD_EIGEN_XAX,    /* s <- X'y */
    TD_EIGEN_UPDATE, /* y <- y + X E */
    TD_EIGEN_PRODUCTS
} td_eigen_product_id;

/* The products that say how good X is come first. */
enum { TD_EIGEN_CHECKS = TD_EIGEN_XX + 1 };

/* The most steps of a matrix. */
enum { TD_EIGEN_MOST_STEPS = 6 };

td_product td_eigen_product(const td_eigen_matrices *m, td_eigen_product_id which);

#endif
