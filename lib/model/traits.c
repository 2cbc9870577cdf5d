/* traits.c - what the current device is, for its routes. */
#include "../../kernels/measure/measure.h"
#include "route.h"

/* An attribute of a device; `unknown` if the device does not say. */
static int attribute_of(int device, enum cudaDeviceAttr which, int unknown)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : unknown;
}

td_traits td_traits_current(void)
{
    enum { MUCH = 2, LITTLE = 64, LEAST_SHARED = 48 << 10 };
    int device = 0;
    (void)cudaGetDevice(&device);
    return (td_traits){
        .multiprocessors = attribute_of(device, cudaDevAttrMultiProcessorCount, 1),
        .shared_bytes = attribute_of(device, cudaDevAttrMaxSharedMemoryPerBlockOptin, LEAST_SHARED),
        .has_tma = td_tma_exists(),
        .has_wgmma = td_wgmma_exists(),
        .has_much_binary64 =
            attribute_of(device, cudaDevAttrSingleToDoublePrecisionPerfRatio, LITTLE) <= MUCH,
    };
}
