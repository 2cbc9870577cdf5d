/* binary64_tma.h - sums in binary64 of operands that the tensor memory accelerator copies: parts of
 * td_binary64_run and td_binary64_prepare (repair.h). */
#ifndef TD_BINARY64_TMA_H
#define TD_BINARY64_TMA_H

#include "repair.h"

/* Launches the kernel of a route that copies boxes, and sets the launch's status. Returns false,
 * and launches none, where the driver describes no boxes of an operand: the accelerator has more
 * limits than routes know. */
bool td_binary64_run_tma(const td_repair *repair, int batch, dim3 grid, cudaStream_t stream,
                         cudaError_t *error);

/* Loads these kernels, unless there was an error before. */
cudaError_t td_binary64_prepare_tma(cudaError_t error);

#endif
