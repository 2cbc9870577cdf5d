/* lu_one_block.h - LU factorisation of a panel of columns by one block of threads, and the
 * exchanges of its rows in other columns: what any device can run. For host C. */
#ifndef TD_LU_ONE_BLOCK_H
#define TD_LU_ONE_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of a matrix from its diagonal on, rows x columns, of binary64 or complex binary64. Its
 * pivots and the number of a pivot that is 0 count from the matrix's first row; `before` rows lie
 * above the panel. */
typedef struct {
    bool is_complex;
    void *a;
    int64_t ld, rows, columns, before;
    void *pivots; /* the panel's; NULL: rows are not exchanged */
    bool has_wide_pivots;
    int *info; /* set if a pivot is 0 and it is 0 yet */
} td_one_block_panel;

/* True on the host device; others would wait for one block. */
bool td_one_block_fits(void);

/* P A = L U in place of the panel. The pivot of a column is the first of its largest elements, of
 * complex ones by |re| + |im| as LAPACK measures them; a pivot of 0 divides
 * nothing. */
cudaError_t td_one_block_factor_run(const td_one_block_panel *panel, cudaStream_t stream);

/* Exchanges the rows of `columns` columns at `to`, which begin in the panel's first row, as the
 * panel's pivots say; `solves`: and has L^-1 of the rows beside the panel's triangle there, each
 * element a chain of fused multiply-adds in the order of the panel's columns. */
cudaError_t td_one_block_exchange_run(const td_one_block_panel *panel, void *to, int64_t columns,
                                      bool solves, cudaStream_t stream);

/* Loads the kernels on the current device: once, before the first launch. */
cudaError_t td_one_block_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
