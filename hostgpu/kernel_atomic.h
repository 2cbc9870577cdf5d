/* kernel_atomic.h - CUDA's atomic functions, fences and cached loads for kernels on the host. All
 * atomics are relaxed, as on a device; blocks run on several threads, so they are real. Each
 * returns the old value. */
#ifndef HOSTGPU_KERNEL_ATOMIC_H
#define HOSTGPU_KERNEL_ATOMIC_H

#include <type_traits>

/* Replaces *address by update(*address). */
template <typename T, typename Update>
static inline T hostgpu_atomic_update(T *address, Update update)
{
    T seen, next;
    __atomic_load(address, &seen, __ATOMIC_RELAXED);
    do {
        next = update(seen);
    } while (!__atomic_compare_exchange(address, &seen, &next, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    return seen;
}

/* The second argument converts to the first one's type, as for CUDA's overloads. */
template <typename T> using hostgpu_value = typename std::enable_if<true, T>::type;

template <typename T> static inline T atomicAdd(T *address, hostgpu_value<T> value)
{
    if constexpr (std::is_integral<T>::value)
        return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
    else
        return hostgpu_atomic_update(address, [value](T old) { return old + value; });
}

template <typename T> static inline T atomicMin(T *address, hostgpu_value<T> value)
{
    return hostgpu_atomic_update(address, [value](T old) { return value < old ? value : old; });
}

template <typename T> static inline T atomicMax(T *address, hostgpu_value<T> value)
{
    return hostgpu_atomic_update(address, [value](T old) { return value > old ? value : old; });
}

template <typename T> static inline T atomicAnd(T *address, hostgpu_value<T> value)
{
    return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}

template <typename T> static inline T atomicOr(T *address, hostgpu_value<T> value)
{
    return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}

template <typename T> static inline T atomicExch(T *address, hostgpu_value<T> value)
{
    T old;
    __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);
    return old;
}

template <typename T>
static inline T atomicCAS(T *address, hostgpu_value<T> expected, hostgpu_value<T> value)
{
    __atomic_compare_exchange(address, &expected, &value, false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
    return expected;
}

static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

/* Loads and stores with a caching hint: plain ones here. */
template <typename T> static inline T __ldg(const T *address) { return *address; }
template <typename T> static inline T __ldcg(const T *address) { return *address; }

#endif
