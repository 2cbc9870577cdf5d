/* arithmetic_kernel.h - one operation on many arguments, on the device. */
#ifndef ARITHMETIC_KERNEL_H
#define ARITHMETIC_KERNEL_H

#include <cuda_runtime_api.h>

#include "operations.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues out[i] <- operation(in[i]) on the default stream; both arrays in device memory. */
cudaError_t arithmetic_apply(operation which, int64_t count, const operation_in *in,
                             operation_out *out);

#ifdef __cplusplus
}
#endif

#endif
