/* row_exchange.h - what is needed beside solves and products to solve and to invert by the factors
 * of one matrix: exchanges of rows of right-hand sides, a unit matrix, and the first zero of a
 * diagonal. For host C. */
#ifndef TD_ROW_EXCHANGE_H
#define TD_ROW_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Exchanges of the rows of B, rows x columns: of rows i and pivots[i] - before, which count from 1,
 * for i from the first row to that of the last exchange; or, if is_backward, from there to the
 * first. */
typedef struct {
    bool is_complex;
    void *b;
    int64_t ld, rows, columns;
    int64_t exchanges;  /* at least 1, and at most as many as B has rows */
    const void *pivots; /* of each exchange, all of them rows of B once `before` is taken off */
    int64_t before;
    bool has_wide_pivots;
    bool is_backward;
} td_row_exchange;

/* Bytes of device memory that an exchange works in. */
size_t td_row_exchange_bytes(const td_row_exchange *x);

/* `work` has that many, and is aligned for complex numbers. B is read and written once. */
cudaError_t td_row_exchange_run(const td_row_exchange *x, void *work, cudaStream_t stream);

/* Makes at most TD_FEW_EXCHANGES exchanges, forwards, none of which is of a row above its own. It
 * needs no memory, and B's other rows are neither read nor written. */
enum { TD_FEW_EXCHANGES = 256 };
cudaError_t td_few_exchanges_run(const td_row_exchange *x, cudaStream_t stream);

/* A, n x n, becomes the unit matrix. */
cudaError_t td_unit_matrix_run(bool is_complex, void *a, int64_t ld, int64_t n,
                               cudaStream_t stream);

/* *info becomes the number, from 1 on, of A's first diagonal element that is 0; or 0. */
cudaError_t td_first_zero_run(bool is_complex, const void *a, int64_t ld, int64_t n, int *info,
                              cudaStream_t stream);

/* Loads the kernels on the current device: once, before the first launch. */
cudaError_t td_rows_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
