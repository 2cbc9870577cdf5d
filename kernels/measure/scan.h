/* scan.h - the exponents that every line of two operands spans. For host C and for kernels. */
#ifndef TD_MEASURE_SCAN_H
#define TD_MEASURE_SCAN_H

#include <cuda_runtime_api.h>

#include "../view/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Exponents of a line: floor(log2) of its largest and of its smallest nonzero element. A line of
 * zeros has 0, 0. top is TD_RANGE_SPECIAL if the line holds a NaN or an infinity. */
typedef struct {
    int16_t top, bottom;
} td_range;
enum { TD_RANGE_SPECIAL = 0x7fff };

/* The ranges of all lines of both operands, in parts: partial[which][batch][chunk][padded line]. */
typedef struct {
    td_view operand[2];
    td_range *partial[2];
    int chunks;    /* 1 .. TD_MAX_CHUNKS parts of a line ... */
    int64_t chunk; /* ... of this many elements */
    int64_t batch_first;
    td_scalar alpha; /* nothing is read if it is 0 */
} td_scan;
enum { TD_MAX_CHUNKS = 32 };
cudaError_t td_scan_run(const td_scan *scan, int batch, cudaStream_t stream);

/* Loads the kernel on the current device: once, before the first launch. */
cudaError_t td_scan_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
