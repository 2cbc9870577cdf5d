/* lu_cluster.h - LU factorisation of a panel of columns by one cluster of thread blocks, of sm_90
 * and later, and what it does to other columns. For host C. Every element is the same chain of
 * fused multiply-adds as by one block (lu_one_block.h), and pivots are by the same rule. */
#ifndef TD_LU_CLUSTER_H
#define TD_LU_CLUSTER_H

#include <stddef.h>

#include "lu_one_block.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most columns of a panel of real or of complex numbers, and most rows. */
enum { TD_CLUSTER_COLUMNS = 128, TD_CLUSTER_COMPLEX_COLUMNS = 64, TD_CLUSTER_ROWS = 65536 };

/* True if the current device has such clusters, and the panel fits one. */
bool td_cluster_fits(const td_one_block_panel *panel);

/* Bytes of what a panel leaves for other columns: its triangle, and where rows go. */
size_t td_cluster_order_bytes(bool is_complex);

/* P A = L U in place of the panel; *order, in device memory, is written. `begun`, unless it is
 * NULL, is recorded as soon as all blocks of the cluster have their places. */
cudaError_t td_cluster_factor_run(const td_one_block_panel *panel, void *order, cudaEvent_t begun,
                                  cudaStream_t stream);

/* Exchanges the rows of the `before` columns in front of the panel's, and of `columns` columns at
 * `to`, which begin in the panel's first row, as the panel's were, and has L^-1 of the rows beside
 * the panel's triangle in the latter. */
cudaError_t td_cluster_exchange_run(const td_one_block_panel *panel, const void *order, void *to,
                                    int64_t columns, int64_t before, cudaStream_t stream);

/* Loads the kernels on the current device: once, before the first launch. */
cudaError_t td_cluster_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
