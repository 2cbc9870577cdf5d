/* probe.h - looks at a few lines of both operands before anything else is done with them, and says
 * whether a product by residues would take less time than cuBLAS's own. For host C; every function
 * enqueues on `stream`, waits for nothing, and returns the launch's status.
 *
 * Sixteen tiles of TD_PROBE_LINES rows of op(A) by as many columns of op(B), in four groups of
 * neighbours each, are spread over the operands, or over the members of a batch. Their lines are
 * measured along all of k, their elements' bounds of abs(A)abs(B) are made as the estimate makes
 * them (estimate.h), and what each candidate costs by the prices is compared with native's. Shifts
 * along k are not looked at. */
#ifndef TD_PROBE_H
#define TD_PROBE_H

#include "../unfold/unfold.h"
#include "select.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TD_PROBE_TILES = 16, TD_PROBE_LINES = 16, TD_PROBE_SLICES = 32 };

typedef struct {
    td_folded factor[2]; /* op(A), m x k, and op(B), k x n, in elements of the matrices */
    int64_t lines[2], k;
    int64_t batch;
    td_scalar alpha; /* of the matrices' type; nothing is read if it is 0 */
    bool alpha_is_real;
    td_rule rule;         /* of the real product, of 2k terms if the matrices are complex */
    char *work;           /* td_probe_bytes(), 256-byte aligned; need not be set */
    td_verdict otherwise; /* the verdict where residues are not worth their time */
    int32_t *verdict;     /* a td_verdict: set */
    int32_t *looseness;   /* [2], of td_probed_lines: set */
} td_probe;

size_t td_probe_bytes(void);
cudaError_t td_probe_run(const td_probe *probe, cudaStream_t stream);

/* Loads these kernels on the current device: once, before the first launch. */
cudaError_t td_probe_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
