#include "planes.h"

cudaError_t td_panels_prepare(void)
{
    const cudaError_t error = td_mma_prepare();
    return error == cudaSuccess ? td_wgmma_prepare() : error;
}

cudaError_t td_panels_run(td_device *device, const td_panels *panels, cudaStream_t stream)
{
    switch (panels->gemm) {
    case TD_GEMM_WGMMA_LARGE:
    case TD_GEMM_WGMMA_SMALL:
    case TD_GEMM_WGMMA_LARGE_PAIR:
    case TD_GEMM_WGMMA_SMALL_PAIR:
        return td_wgmma_run(panels, stream);
    case TD_GEMM_MMA_LARGE:
    case TD_GEMM_MMA_LARGE_SHORT:
    case TD_GEMM_MMA_SMALL:
        return td_mma_run(panels, stream);
    case TD_GEMM_CUBLAS:
        return td_cublas_multiply(device, panels, stream) ? cudaSuccess : cudaErrorUnknown;
    }
    return cudaErrorInvalidValue;
}
