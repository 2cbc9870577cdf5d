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

#if TD_HAS_CUDA_DEVICE
/* What the lane d apart has. */
template <class type> TD_DEVICE type td_shuffle_words(type x, int d)
{
    unsigned words[sizeof x / sizeof(unsigned)];
    memcpy(words, &x, sizeof x);
    TD_UNROLL
    for (unsigned &word : words) word = __shfl_xor_sync(~0u, word, d);
    memcpy(&x, words, sizeof x);
    return x;
}
#endif

/* What the lane `apart` from this one has, in a type that consists of words of 32 bits. On the host
 * device the last lane exchanges what all of them have. */
template <int apart, class type> TD_DEVICE type td_warp_exchange(type x)
{
#if TD_HAS_CUDA_DEVICE
    return td_shuffle_words(x, apart);
#else
    return hostgpu::warp_exchange<apart>(x);
#endif
}

/* What lanes `first`, 2 first, ... apart have, joined in each of them; the last of these distances
 * is below `end`. The type consists of words of 32 bits, and the order of two must not matter. On
 * the host device the last lane joins for all. */
template <int first, int end, class join, class type> TD_DEVICE type td_warp_join_apart(type x)
{
#if TD_HAS_CUDA_DEVICE
    TD_UNROLL
    for (int d = end / 2; d >= first; d /= 2) x = join()(x, td_shuffle_words(x, d));
    return x;
#else
    return hostgpu::warp_join_apart<first, end, join>(x);
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

/* Raises a number in shared memory to the largest of what the lanes have, of which none is
 * negative. On the host device each lane raises it by its own. */
TD_DEVICE void td_warp_raise(int *raised, int x)
{
#if TD_HAS_CUDA_DEVICE
    x = td_warp_max(x);
    if (x && threadIdx.x % 32 == 0) atomicMax(raised, x);
#else
    if (x) atomicMax(raised, x);
#endif
}

#endif
