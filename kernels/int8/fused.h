/* fused.h - products of residues that become C in the kernel that makes them: residues of short k stay on the multiprocessor. For
 * host C and for kernels. */
#ifndef TD_FUSED_H
#define TD_FUSED_H

#include "../ozaki/residues.h"
#include "panels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Longest k that it is for: residues modulo all but one of the moduli are made of short sums (residue.h). */
enum { TD_FUSED_K = 1024 };

/* True if the current device has the kernel, and the product suits it: a single member, all of k in one piece, tiles for all
 * multiprocessors. Then, where the data choose TD_COMMON_MODULI moduli (td_is_fused), td_fused_run makes C but for the elements
 * that it leaves: their bits in the masks are set, and their residues are where the other kernels leave them. */
bool td_fused_suits(const td_panels *panels);
cudaError_t td_fused_run(const td_panels *panels, const td_finish *finish, cudaStream_t stream);
cudaError_t td_fused_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
