/* system.h - triangular systems op(A) X = alpha B and X op(A) = alpha B to test: a description of a
 * few numbers, the matrices that follow from it, and how wrong a solution is. */
#ifndef SUPPORT_SYSTEM_H
#define SUPPORT_SYSTEM_H

#include <complex.h>
#include <stdbool.h>

#include "lib/routine/problem.h"
#include "tests/support/matrix.h"

typedef long double _Complex ref_number;

typedef struct {
    const char *data; /* a name of system_data */
    td_type type;     /* TD_BINARY64 or TD_COMPLEX_BINARY64 */
    td_side side;
    td_triangle triangle;
    td_op op;
    td_diagonal diagonal;
    int64_t order, vectors;
    double alpha[2];  /* real and imaginary part */
    int pad_a, pad_b; /* added to the least leading dimensions */
    int guard;        /* elements around each matrix */
    uint64_t seed;
} triangular;

/* Kinds of triangles: of ordinary numbers, graded along rows, along columns and along both, with
 * a diagonal that is nearly 0 in places, of normal numbers (whose condition grows like 2^order),
 * Kahan's, and with a diagonal at the ends of the range. */
extern const char *const system_data[];
enum { SYSTEM_DATA = 8 };

/* Any of side, triangle, op, diagonal, paddings and guard, by a number below 24 and more. */
triangular system_varied(const char *data, td_type type, int64_t order, int64_t vectors, int which);

/* The matrices on the host, elements being one or two doubles along the column. What must not be
 * read of A is poison, as is what is around both. Elements depend on data, type, seed and sizes
 * alone. */
typedef struct {
    triangular of;
    test_matrix a, b;
} system_matrices;
system_matrices system_make(const triangular *of);
void system_free(system_matrices *s);

/* The call, its matrices being in device memory as device_upload has them. */
td_problem system_call(const system_matrices *s, double *a, double *b);

/* Element i of vector v of a matrix like B, and element (i, j) of the lower triangle, in the order
 * of the solve: of every system op(A) X = B and X op(A) = B that is one with a lower triangle. */
ref_number system_vector(const triangular *of, const test_matrix *b, int64_t i, int64_t v);
ref_number system_element(const system_matrices *s, int64_t i, int64_t j);
void system_set_vector(const triangular *of, test_matrix *b, int64_t i, int64_t v, ref_number x);
void system_set_element(system_matrices *s, int64_t i, int64_t j, ref_number x);

/* The largest |alpha B - op(A) X| of any element, relative to |alpha B| + |op(A) X|, the last being
 * the sum of the sizes of its terms. The size of a complex number is that of its parts. */
double system_error(const system_matrices *s, const test_matrix *x);

/* B's solution by substitution, in the order of kernels/solve/solve.h: of a real system of one
 * block to the bit. */
test_matrix system_substitute(const system_matrices *s);

/* One line for a failure. The text lives until the next call. */
const char *system_text(const triangular *of);

#endif
