/* warp.h - what the lanes of a warp have together: int or unsigned, or any whole number. All 32
 * take part. */
#ifndef TD_WARP_H
#define TD_WARP_H

#include "portable.h"

template <class number> TD_DEVICE number td_warp_add_long(number x)
{
    TD_UNROLL
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    return x;
}

template <class number> TD_DEVICE number td_warp_add(number x)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    return __reduce_add_sync(~0u, x);
#else
    return td_warp_add_long(x);
#endif
}

template <class number> TD_DEVICE number td_warp_max(number x)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    return __reduce_max_sync(~0u, x);
#else
    TD_UNROLL
    for (int d = 16; d > 0; d /= 2) x = max(x, __shfl_xor_sync(~0u, x, d));
    return x;
#endif
}

#endif
