/* solve.h - solutions with one diagonal block of a triangle by substitution in binary64, for host
 * C. Larger triangles are blocks and products (lib/engines/solve). */
#ifndef TD_SOLVE_H
#define TD_SOLVE_H

#include <cuda_runtime_api.h>

#include "../view/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most rows of a block, and products that are added up before they are taken away. */
enum { TD_SOLVE_ORDER = 64, TD_SOLVE_SUM = 8 };

/* X of T X = alpha B in place of B, T being lower triangular. A system of another form has this one
 * by steps that go backwards, or along rows for columns.
 *
 * Element i of a vector x of X is alpha b[i], less the sums of t[i][j] x[j] of 8 j each that are
 * all below i - i % 8, less t[i][j] x[j] one by one from there to i - 1, over t[i][i]. Sums and
 * what is less one by one are chains of FMAs over ascending j; alpha b[i] is rounded by itself.
 * Real quotients are correctly rounded. Complex ones are within a few units in the last place of
 * their larger part, and neither overflow nor underflow if the exact quotient does not. */
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

    int order;     /* rows of T: 1 to TD_SOLVE_ORDER */
    int64_t count; /* of vectors */

    /* The block is multiplied by alpha if is_first; of the others that has been done. An alpha of 0
     * makes every block 0, whatever T and B are. */
    td_scalar alpha;
    bool is_first;
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
