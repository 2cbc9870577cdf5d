/* routine.h - calls of level 3 routines that are products, to test: any routine, sizes, scalars and
 * matrices by a seed, with poison where nothing must be read. */
#ifndef SUPPORT_ROUTINE_H
#define SUPPORT_ROUTINE_H

#include "lib/routine/problem.h"
#include "numbers.h"

/* A matrix on the host, of complex numbers whose imaginary parts are 0 if it is real. */
typedef struct {
    int64_t rows, columns, ld;
    number *at;
} matrix;

typedef struct {
    uint64_t seed;
    td_problem p; /* without matrices and scalars */
    bool is_complex, is_in_place, has_device_scalars, is_special;
    number alpha, beta;
    matrix a, b, c;
    matrix left, right; /* the factors written out: alpha left right is added */
} routine_case;

/* Any routine, or the one that p says, whose matrices and scalars are not looked at. */
routine_case routine_make(uint64_t seed);
routine_case routine_make_of(const td_problem *p, uint64_t seed);
void routine_free(routine_case *c);

/* One line for a failure. The text lives until the next call. */
const char *routine_text(const routine_case *c);

/* A matrix of zeros, of so many more elements to the next column. */
matrix matrix_of(int64_t rows, int64_t columns, int64_t pad);
number *element(const matrix *x, int64_t i, int64_t j);
size_t matrix_count(const matrix *x);

bool routine_has_side(const td_problem *p);

/* True if the triangle has element (i, j). */
bool routine_is_inside(td_triangle triangle, int64_t i, int64_t j);

/* Real matrices are so in device memory. What is downloaded is like `like`. */
matrix routine_download(const routine_case *c, const matrix *like, const void *device);

/* A scalar of a type, behind which there is poison if it is real; and the same in device memory. */
td_scalar routine_scalar(number x, td_type type);
td_scalar routine_on_device(td_scalar s, void **memory);

/* An element of C before the call, as the routine sees it: a diagonal of Hermitian updates is real,
 * whose imaginary parts are poison. */
number routine_before(const routine_case *c, int64_t i, int64_t j);

/* The problem p, which has the case's scalars, of these matrices in device memory: they are in
 * memory[0] to [2], and scalars perhaps in [3] and [4]; all to be freed, if not NULL. */
enum { ROUTINE_MEMORIES = 5 };
td_problem routine_call(const routine_case *c, td_problem p, const matrix *a, const matrix *b,
                        const matrix *of_c, void *memory[ROUTINE_MEMORIES]);

/* The case's problem with its scalars, which no matrices are in; and of its own matrices. */
td_problem routine_problem(const routine_case *c);
td_problem routine_own_call(const routine_case *c, void *memory[ROUTINE_MEMORIES]);

#endif
