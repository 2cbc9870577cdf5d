/* cholesky_case.h - what the tests of Cholesky factors share: matrices of many kinds, and their
 * factors by the device. */
#ifndef TESTS_CHOLESKY_CASE_H
#define TESTS_CHOLESKY_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kinds.h"
#include "lib/engines/factor/cholesky.h"

typedef struct {
    int n, ld;
    td_triangle triangle;
    const char *data;
    uint64_t seed;
    bool is_complex;
} matrix;

static inline int parts_of(const matrix *x) { return x->is_complex ? 2 : 1; }
static inline int tile_of(const matrix *x) { return 64 / parts_of(x); }

/* Real numbers of a matrix. */
static inline size_t reals_of(const matrix *x)
{
    return (size_t)x->ld * (size_t)x->n * (size_t)parts_of(x);
}

/* For messages, until the next call. */
const char *cholesky_text(const matrix *x);

/* Where the element of L in that row and column is, in real numbers. An upper triangle is the lower
 * one of the conjugate matrix, so that nothing here tells them apart. */
static inline size_t place_of(const matrix *x, int row, int column)
{
    const size_t place = x->triangle == TD_UPPER ? (size_t)column + (size_t)row * (size_t)x->ld
                                                 : (size_t)row + (size_t)column * (size_t)x->ld;
    return place * (size_t)parts_of(x);
}

static inline number get(const matrix *x, const double *a, size_t place)
{
    return (number){a[place], x->is_complex ? a[place + 1] : 0.0};
}

static inline void put(const matrix *x, double *a, size_t place, number value)
{
    a[place] = value.re;
    if (x->is_complex) a[place + 1] = value.im;
}

/* Their elements are not behind the diagonal. */
enum { CHOLESKY_KINDS = 13 };
extern const factor_kind cholesky_kinds[CHOLESKY_KINDS];

/* One triangle; all else is poison, which is NaN, as is what a diagonal has beside its real part.
 * Of complex matrices rows and columns are turned, each by an angle of its own. */
double *cholesky_matrix(const matrix *x);

typedef struct {
    double *a;
    int info;
} factors;

/* How matrices are cut: as their sizes have it, if there are no columns of a panel. */
extern td_cholesky_cut cholesky_cut;

/* Enqueues the factorisation of a matrix in device memory by a stream. */
void cholesky_enqueue(const matrix *x, void *a, void *info, const td_engine *engine,
                      cudaStream_t stream);

factors cholesky_run(const matrix *x, const double *a, const td_engine *engine);

#endif
