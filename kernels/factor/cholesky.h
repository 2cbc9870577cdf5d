/* cholesky.h - the Cholesky factor of a matrix, or of a panel of its columns, in one kernel. For
 * host C. Of a matrix in its lower triangle L with A = L L'; in its upper one L', and so rows and
 * columns change places: the same elements, with the same bits. Complex numbers have functions of
 * their own; of a Hermitian matrix's diagonal only the real parts are read. */
#ifndef TD_FACTOR_CHOLESKY_H
#define TD_FACTOR_CHOLESKY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Columns that are factored by one block of threads, and of which all elements are written, or
 * none. */
enum { TD_CHOLESKY_TILE = 64 };

/* Columns of L from a diagonal element on, in binary64: those rows of the triangle and all below,
 * so that rows >= columns. Where there are more rows, columns are a multiple of TD_CHOLESKY_TILE.
 * `before` columns are factored already. */
typedef struct {
    double *a; /* of complex numbers, their parts; sizes are in numbers */
    int64_t ld, rows, columns, before;
    bool is_upper;
    int *info;   /* the first minor that is not positive; 0: none yet. Nothing is done after it */
    void *notes; /* td_cholesky_bytes() of device memory */
} td_cholesky_panel;

/* True if the current device has room for the kernel. */
bool td_cholesky_fits(void);

/* Bytes of notes of a panel of so many rows. */
size_t td_cholesky_bytes(int64_t rows);

/* Factors the panel, whose earlier columns are taken away already. Each element of L is one chain
 * of fused multiply-adds in the order of columns; within a block of 16 x 16 on the diagonal the
 * factors are those of L D L', whose columns are multiplied by the roots' reciprocals last. */
cudaError_t td_cholesky_run(const td_cholesky_panel *panel, cudaStream_t stream);

/* Loads the kernels on the current device: once, before the first launch. */
cudaError_t td_cholesky_prepare(void);

/* As above for complex numbers, where td_cholesky_fits(). Each element is a chain of td_minus() of
 * ../batched_lu/number.h, columns are a multiple of half of TD_CHOLESKY_TILE where there are more
 * rows, and of so many all elements are written, or none. */
size_t td_cholesky_complex_bytes(int64_t rows);
cudaError_t td_cholesky_complex_run(const td_cholesky_panel *panel, cudaStream_t stream);
cudaError_t td_cholesky_complex_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
