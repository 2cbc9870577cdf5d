/* warp.h - what the lanes of a warp have together: sums and maxima of int or unsigned, sums of any
 * whole number, or what two numbers are joined by. All 32 take part. */
#ifndef TD_WARP_H
#define TD_WARP_H

#include "portable.h"

/* Ways to join two numbers. */
struct td_sum {
    template <class number> TD_INSIDE number operator()(number a, number b) const { return a + b; }
};
struct td_largest {
    template <class number> TD_INSIDE number operator()(number a, number b) const
    {
        return max(a, b);
    }
};
struct td_least {
    template <class number> TD_INSIDE number operator()(number a, number b) const
    {
        return min(a, b);
    }
};

/* What all lanes have, joined in every lane: by lanes 16 apart first, then 8, 4, 2 and 1. The order
 * of two numbers must not matter. On the host device the last lane joins all of them: there a
 * shuffle takes half a microsecond. */
template <class join, class number> TD_DEVICE number td_warp_join(number x)
{
#if TD_HAS_CUDA_DEVICE
    TD_UNROLL
    for (int d = 16; d > 0; d /= 2) x = join()(x, __shfl_xor_sync(~0u, x, d));
    return x;
#else
    return hostgpu::warp_join<join>(x);
#endif
}

template <class number> TD_DEVICE number td_warp_add_long(number x)
{
    return td_warp_join<td_sum>(x);
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
    return td_warp_join<td_largest>(x);
#endif
}

#endif
