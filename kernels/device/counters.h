/* counters.h - where kernels count: in device memory, since an addition to host memory takes a
 * microsecond each. What a call counted goes to host memory when its last kernel is done. */
#ifndef TD_COUNTERS_H
#define TD_COUNTERS_H

#include <cuda_runtime_api.h>

#include "counts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counters for lines of the report, and after them for single calls, in turn: as many as can be
 * under way, so that none meets the counts of another. */
enum { TD_COUNTER_SLOTS = 4096, TD_CALL_SLOTS = 4096 };

/* The current device's own counters, TD_COUNTER_SLOTS + TD_CALL_SLOTS of them, zeros at first. */
cudaError_t td_counters_find(td_counters **counters);

/* What becomes of a call's counts. Other than `from`, which is in device memory, all is in host
 * memory that is mapped into the device. */
typedef struct {
    td_counters *from;
    td_counters *to;          /* they are added up here; NULL: nowhere */
    unsigned long long *word; /* the outcome (outcome.h) is left here; NULL: nowhere */
    unsigned long long tiles; /* of the call's C, at least 1 */
    unsigned ticket;          /* of the outcome */
} td_counts_move;

/* Moves counts and leaves zeros in move->from. Any number of streams may do so at a time. */
cudaError_t td_counters_move(const td_counts_move *move, cudaStream_t stream);

/* Loads the kernel on the current device: once, before the first launch. */
cudaError_t td_counters_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
