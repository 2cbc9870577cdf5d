/* sampled_product.h - a product of binary64 matrices on the device, and how it is verified. */
#ifndef SAMPLED_PRODUCT_H
#define SAMPLED_PRODUCT_H

#include "sampled.h"
#include "tests/kernels/support/problem.h"

typedef struct {
    const problem *p;
    td_problem gemm;
    sampled_call call;
    double *a, *b, *c; /* device memory, guards included */
} sampled_product;

/* In a mode by its name, with no prices. p must outlive it. */
sampled_product sampled_product_make(const char *name, const problem *p);
void sampled_product_free(sampled_product *r);

#endif
