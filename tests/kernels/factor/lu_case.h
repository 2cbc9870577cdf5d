/* lu_case.h - what the tests of LU factors of one matrix share: matrices of many kinds, real or
 * complex, their factors by the device, and a main that runs all tests for both types. */
#ifndef TESTS_LU_CASE_H
#define TESTS_LU_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kinds.h"
#include "lib/engines/factor/lu.h"

extern td_type type; /* that is tested */

/* Real numbers of an element. */
static inline int parts(void) { return type == TD_COMPLEX_BINARY64 ? 2 : 1; }

typedef enum { NO_PIVOTS, PIVOTS, WIDE_PIVOTS, PIVOT_KINDS } pivot_kind;

typedef struct {
    int m, n, ld;
    pivot_kind pivots;
    const char *data;
    uint64_t seed;
    int block; /* columns of a block; 0: as many as the sizes have it */
    bool has_pieces;
} matrix;

static inline int least_of(const matrix *x) { return x->m < x->n ? x->m : x->n; }
static inline size_t reals_of(const matrix *x)
{
    return (size_t)x->ld * (size_t)x->n * (size_t)parts();
}

static inline double *at(const matrix *x, double *a, int i, int j)
{
    return a + (i + (int64_t)j * x->ld) * parts();
}

static inline number get(const matrix *x, const double *a, int i, int j)
{
    const double *const from = a + (i + (int64_t)j * x->ld) * parts();
    return (number){from[0], parts() == 2 ? from[1] : 0.0};
}

static inline void set(const matrix *x, double *a, int i, int j, number value)
{
    double *const to = at(x, a, i, j);
    to[0] = value.re;
    if (parts() == 2) to[1] = value.im;
}

static inline void exchange(const matrix *x, double *a, int i, int row, int j)
{
    const number kept = get(x, a, i, j);
    set(x, a, i, j, get(x, a, row, j));
    set(x, a, row, j, kept);
}

/* For messages, until the next call. */
const char *text_of(const matrix *x);

enum { KINDS = 12 };
extern const factor_kind kinds[KINDS];

/* The matrix; what lies between its columns is poison. */
double *make(const matrix *x);

typedef struct {
    double *a;
    int64_t *pivots; /* NULL: none */
    int info;
} factors;

/* By the device; a matrix that has blocks or pieces is cut into small ones. */
factors run(const matrix *x, const double *a, const td_engine *engine);
void free_factors(factors *f);

#endif
