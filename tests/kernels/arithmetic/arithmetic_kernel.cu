/* arithmetic_kernel.cu - the functions of the arithmetic headers as compiled for the device. */
#include "kernels/device/portable.h"
#include "arithmetic_kernel.h"

static __global__ void apply_kernel(operation which, int64_t count, const operation_in *in,
                                    operation_out *out)
{
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
        out[i] = operation_apply(which, &in[i]);
}

cudaError_t arithmetic_apply(operation which, int64_t count, const operation_in *in,
                             operation_out *out)
{
    return TD_LAUNCH(apply_kernel, 512, 128, 0, (cudaStream_t)NULL, which, count, in, out);
}
