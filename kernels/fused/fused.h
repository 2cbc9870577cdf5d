/* fused.h - products of residues and C by one kernel: the residues of a tile stay on its
 * multiprocessor. For host C and kernels. */
#ifndef TD_FUSED_H
#define TD_FUSED_H

#include "../igemm/plane_gemm.h"
#include "../crt/crt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of td_residue_product.deferred for parts of m x n elements; and it, in such memory,
 * 256-byte aligned. */
size_t td_deferred_bytes(int64_t m, int64_t n, int64_t batch);
td_deferred td_deferred_in(void *memory, int64_t m, int64_t n, int64_t batch);

/* panels and finish are of the same product, of one slice and at most TD_FUSED_MOST_K elements of
 * k, where td_wgmma_exists. Residues of what is deferred are stored, and product->deferred says
 * which. By most_blocks blocks, or one on each multiprocessor if these are fewer, or if it is 0. */
cudaError_t td_fused_run(const td_panels *panels, const td_residue_product *product,
                         const td_finish *finish, int most_blocks, cudaStream_t stream);

/* Loads the kernel on the current device: once, before the first launch. */
cudaError_t td_fused_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
