/* typed_problem.h - products of multi-float matrices to test. */
#ifndef TYPED_PROBLEM_H
#define TYPED_PROBLEM_H

#include "problem.h"
#include "typed.h"

/* A scalar of a type. */
typedef struct {
    _Alignas(16) char bytes[16];
} typed_scalar;

typed_scalar typed_scalar_of(const ref_format *format, double x);

/* x / 9 with all its parts: no binary64 number has them. */
typed_scalar typed_ninth_of(const ref_format *format, double x);

/* Makes numbers with all their parts of binary64 ones: each becomes a third of itself. */
void typed_lengthen(typed_matrix *x);

/* The operands on the host. */
typedef struct {
    product of;
    const ref_format *format;
    typed_matrix a, b, c;
    typed_scalar alpha, beta;
} typed_problem;

/* Elements and scalars are those of problem_make(), and so is what is poison. */
typed_problem typed_problem_make(const ref_format *format, const product *of);

/* With leading dimensions and elements around the matrices that follow from ops, of which bit 0
 * transposes A and bit 1 B. */
typed_problem typed_problem_varied(const ref_format *format, const char *data, int m, int n, int k,
                                   int ops, double alpha, double beta, uint64_t seed);
void typed_problem_free(typed_problem *t);

/* For the references, with C at c. */
ref_typed typed_problem_gemm(const typed_problem *t, const typed_matrix *c);

/* C as the device computes it; the borders are checked. */
typed_matrix typed_problem_compute(const typed_problem *t,
                                   tandem_status (*gemm)(const ref_typed *p));

#endif
