/* measure_ts.h - records of lines of triple-single numbers. For host C and for kernels. */
#ifndef TD_MEASURE_TS_H
#define TD_MEASURE_TS_H

#include <cuda_runtime_api.h>

#include "../view/view.h"
#include "line.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Records of all lines of operands of tandem_ts: their peaks, whether they are special, and scales
 * such that |A'| <= 2^(width + 1). One member; no shifts. */
typedef struct {
    td_view operand[2];
    td_line *line[2];
    int width;
} td_measure_ts;
/* Enqueues on `stream`, waits for nothing, and returns the launch's status. */
cudaError_t td_measure_ts_run(const td_measure_ts *measure, cudaStream_t stream);

/* Loads the kernel on the current device: once, before the first launch. */
cudaError_t td_measure_ts_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
