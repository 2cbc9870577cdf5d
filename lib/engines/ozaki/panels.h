/* panels.h - products of panels of small numbers: who multiplies them is what their route says. */
#ifndef TD_OZAKI_PANELS_H
#define TD_OZAKI_PANELS_H

#include "cublas.h"

/* Loads the kernels that are Tandem's own on the current device: once, before the first product. */
cudaError_t td_panels_prepare(void);

/* Enqueues a product on the current device, as panels->gemm says. Or returns an error: then C may
 * hold anything. */
cudaError_t td_panels_run(td_device *device, const td_panels *panels, cudaStream_t stream);

#endif
