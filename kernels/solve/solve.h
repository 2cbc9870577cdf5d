/* solve.h - solutions with one diagonal block of a triangle by substitution in binary64, for host
 * C. Larger triangles are blocks and products (lib/engines/solve). */
#ifndef TD_SOLVE_H
#define TD_SOLVE_H

#include <cuda_runtime_api.h>

#include "../view/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of real numbers of a tile, of a band of tiles, and at most of a block. A complex number
 * counts as the 2 x 2 block of real numbers (re, -im; im, re) in T, and as two rows in X. */
enum { TD_SOLVE_TILE = 16, TD_SOLVE_BAND = 64, TD_SOLVE_MOST = 512 };

/* X of T X = alpha B in place of B, T being lower triangular. A system of another form has this one
 * by steps that go backwards, or along rows for columns.
 *
 * Element i of a vector x of X is alpha b[i], less the sum of t[i][j] x[j] over each band before
 * that of i, in ascending order, less the sum over each tile of i's band before that of i, less
 * t[i][j] x[j] one by one from the start of i's tile on, times the correctly rounded reciprocal of
 * t[i][i]. Sums are chains of FMAs from 0 over ascending j, and what is less one by one is a chain
 * of FMAs, too; alpha b[i] is rounded by itself. The two roundings of the quotient are a change of
 * t[i][i] by two units of roundoff. Where t[i][i] is beyond 2^-TD_MILD .. 2^TD_MILD (quotient.h)
 * the quotient is x / t: a real one correctly rounded, a complex one within a few units in the
 * last place of its larger part. */
typedef struct {
    td_type type; /* of T, B and alpha: TD_BINARY64 or TD_COMPLEX_BINARY64 */

    /* Element (i, j) of T, or its conjugate if is_conjugate, is at triangle + i * row_step +
     * j * column_step, in elements. Only i >= j is read, and i > j if is_unit: then the diagonal is
     * ones. */
    const void *triangle;
    int64_t row_step, column_step;
    bool is_unit, is_conjugate;

    /* Element i of vector v of B is at vectors + i * element_step + v * vector_step. */
    void *vectors;
    int64_t element_step, vector_step;

    int order;     /* rows of T: 1 to TD_SOLVE_MOST, or half as many complex ones */
    int64_t count; /* of vectors */

    /* The block is multiplied by alpha if is_first; of the others that has been done. An alpha of 0
     * makes every block 0, whatever T and B are. */
    td_scalar alpha;
    bool is_first;

    /* Vectors of a block of threads: 8, 16 or 32; 0: by their number and the device. No bits depend
     * on it. */
    int panel;
} td_solve_block;

/* Enqueues it; returns the launch's status. A block that is not the first comes after another
 * kernel of the same call. */
cudaError_t td_solve_block_run(const td_solve_block *p, cudaStream_t stream);

/* Loads the kernels on the current device: once, before the first launch. */
cudaError_t td_solve_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
