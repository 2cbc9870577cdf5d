/* kernel.h - the device side of CUDA C++ for kernel sources that a host compiler compiles (g++ -x
 * c++ -std=c++17 -ffp-contract=off -mfma): built-in variables, barriers, warp operations and the
 * launch. Atomics and arithmetic are in kernel_atomic.h and kernel_math.h. */
#ifndef HOSTGPU_KERNEL_H
#define HOSTGPU_KERNEL_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include "executor.h"
#include "fiber.h"

#ifndef __launch_bounds__
#define __launch_bounds__(...)
#endif

constexpr int warpSize = 32;

/* CUDA's names for the place of the thread that runs. */
#define threadIdx hostgpu_here.thread
#define blockIdx  hostgpu_here.block
#define blockDim  hostgpu_here.block_size
#define gridDim   hostgpu_here.grid_size

#include "kernel_atomic.h"
#include "kernel_math.h"

/* Default arguments of everything that can wait: the caller's file and line. */
#define HOSTGPU_HERE   const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define HOSTGPU_DEVICE static inline __attribute__((always_inline))

/* ---- waiting ---- */

namespace hostgpu
{

/* What a member of hostgpu_here is after a turn: the compiler takes the whole for constant, as all
 * else in it is for a thread. */
template <typename T> HOSTGPU_DEVICE T changed(const T &member)
{
    return *const_cast<const volatile T *>(&member);
}

/* By all threads of the block: returns for how many of them the predicate was not 0. */
HOSTGPU_DEVICE unsigned at_barrier(int predicate, hostgpu_site site)
{
    hostgpu_take_turn(hostgpu_barrier(hostgpu_here.worker, predicate, site));
    return changed(hostgpu_here.votes);
}

/* By the lanes of the mask: returns what the operation gives the lane. */
HOSTGPU_DEVICE uint64_t at_warp(hostgpu_warp_op op, unsigned mask, uint64_t value, unsigned source,
                                hostgpu_site site)
{
    hostgpu_take_turn(hostgpu_warp(hostgpu_here.worker, op, mask, value, source, site));
    return changed(hostgpu_here.result);
}

} // namespace hostgpu

/* ---- barriers ---- */

HOSTGPU_DEVICE void __syncthreads(HOSTGPU_HERE) { hostgpu::at_barrier(0, {file, line}); }

HOSTGPU_DEVICE int __syncthreads_count(int predicate, HOSTGPU_HERE)
{
    return static_cast<int>(hostgpu::at_barrier(predicate, {file, line}));
}

HOSTGPU_DEVICE int __syncthreads_and(int predicate, HOSTGPU_HERE)
{
    return hostgpu::at_barrier(!predicate, {file, line}) == 0;
}

HOSTGPU_DEVICE int __syncthreads_or(int predicate, HOSTGPU_HERE)
{
    return hostgpu::at_barrier(predicate, {file, line}) != 0;
}

HOSTGPU_DEVICE void __syncwarp(unsigned mask = 0xffffffffu, HOSTGPU_HERE)
{
    hostgpu::at_warp(HOSTGPU_SYNC, mask, 0, 0, {file, line});
}

HOSTGPU_DEVICE void __nanosleep(unsigned) { hostgpu_yield(hostgpu_here.worker); }
HOSTGPU_DEVICE void __trap(HOSTGPU_HERE) { hostgpu_trap({file, line}); }

/* ---- shuffles: any trivially copyable type of at most 8 bytes ---- */

namespace hostgpu
{

template <typename T> HOSTGPU_DEVICE uint64_t to_bits(T value)
{
    static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable<T>::value,
                  "a shuffle moves at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <typename T> HOSTGPU_DEVICE T from_bits(uint64_t bits)
{
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T>
HOSTGPU_DEVICE T shuffle(unsigned mask, T value, unsigned source, hostgpu_site site)
{
    return from_bits<T>(at_warp(HOSTGPU_SHUFFLE, mask, to_bits(value), source, site));
}

HOSTGPU_DEVICE unsigned lane() { return hostgpu_here.rank % 32; }

/* First lane of the caller's group of `width` lanes. */
HOSTGPU_DEVICE unsigned group(int width) { return lane() & ~(static_cast<unsigned>(width) - 1); }

} // namespace hostgpu

template <typename T>
HOSTGPU_DEVICE T __shfl_sync(unsigned mask, T value, int source, int width = 32, HOSTGPU_HERE)
{
    const unsigned offset = static_cast<unsigned>(source) & (static_cast<unsigned>(width) - 1);
    return hostgpu::shuffle(mask, value, hostgpu::group(width) + offset, {file, line});
}

template <typename T>
HOSTGPU_DEVICE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                                HOSTGPU_HERE)
{
    const unsigned lane = hostgpu::lane();
    const bool inside = lane - hostgpu::group(width) >= delta;
    return hostgpu::shuffle(mask, value, inside ? lane - delta : lane, {file, line});
}

template <typename T>
HOSTGPU_DEVICE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                                  HOSTGPU_HERE)
{
    const unsigned lane = hostgpu::lane();
    const unsigned end = hostgpu::group(width) + static_cast<unsigned>(width);
    return hostgpu::shuffle(mask, value, delta < end - lane ? lane + delta : lane, {file, line});
}

/* A lane may read an earlier group of `width` lanes, but not a later one. */
template <typename T>
HOSTGPU_DEVICE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                                 HOSTGPU_HERE)
{
    const unsigned lane = hostgpu::lane();
    const unsigned source = (lane ^ static_cast<unsigned>(lane_mask)) % 32;
    const bool inside = source < hostgpu::group(width) + static_cast<unsigned>(width);
    return hostgpu::shuffle(mask, value, inside ? source : lane, {file, line});
}

/* ---- votes, matches and reductions of a warp ---- */

HOSTGPU_DEVICE unsigned __ballot_sync(unsigned mask, int predicate, HOSTGPU_HERE)
{
    const uint64_t vote = predicate != 0;
    return static_cast<unsigned>(hostgpu::at_warp(HOSTGPU_BALLOT, mask, vote, 0, {file, line}));
}

HOSTGPU_DEVICE int __any_sync(unsigned mask, int predicate, HOSTGPU_HERE)
{
    return __ballot_sync(mask, predicate, file, line) != 0;
}

HOSTGPU_DEVICE int __all_sync(unsigned mask, int predicate, HOSTGPU_HERE)
{
    return __ballot_sync(mask, !predicate, file, line) == 0;
}

template <typename T> HOSTGPU_DEVICE unsigned __match_any_sync(unsigned mask, T value, HOSTGPU_HERE)
{
    const uint64_t bits = hostgpu::to_bits(value);
    return static_cast<unsigned>(hostgpu::at_warp(HOSTGPU_MATCH, mask, bits, 0, {file, line}));
}

#define HOSTGPU_REDUCE(name, type, op)                                                             \
    HOSTGPU_DEVICE type __reduce_##name##_sync(unsigned mask, type value, HOSTGPU_HERE)            \
    {                                                                                              \
        const uint64_t bits = static_cast<unsigned>(value);                                        \
        return static_cast<type>(hostgpu::at_warp(op, mask, bits, 0, {file, line}));               \
    }
HOSTGPU_REDUCE(add, unsigned, HOSTGPU_ADD)
HOSTGPU_REDUCE(add, int, HOSTGPU_ADD)
HOSTGPU_REDUCE(min, unsigned, HOSTGPU_MIN_UNSIGNED)
HOSTGPU_REDUCE(min, int, HOSTGPU_MIN_SIGNED)
HOSTGPU_REDUCE(max, unsigned, HOSTGPU_MAX_UNSIGNED)
HOSTGPU_REDUCE(max, int, HOSTGPU_MAX_SIGNED)
HOSTGPU_REDUCE(and, unsigned, HOSTGPU_AND)
HOSTGPU_REDUCE(or, unsigned, HOSTGPU_OR)
HOSTGPU_REDUCE(xor, unsigned, HOSTGPU_XOR)
#undef HOSTGPU_REDUCE

/* ---- joins of a warp's values (kernels/device/warp.h) ---- */

namespace hostgpu
{

/* The order of shuffles between lanes 16, 8, 4, 2 and 1 apart, after which all lanes have the same
 * value. */
template <typename Join, typename T> void join_values(uint64_t *values)
{
    T x[32];
    for (int lane = 0; lane < 32; lane++) x[lane] = from_bits<T>(values[lane]);
    for (int apart = 16; apart > 0; apart /= 2)
        for (int lane = 0; lane < apart; lane++) x[lane] = Join()(x[lane], x[lane + apart]);
    values[0] = to_bits(x[0]);
}

template <typename Join, typename T> HOSTGPU_DEVICE T warp_join(T value, HOSTGPU_HERE)
{
    hostgpu_take_turn(
        hostgpu_warp_join(hostgpu_here.worker, join_values<Join, T>, to_bits(value), {file, line}));
    return from_bits<T>(changed(hostgpu_here.result));
}

/* Values that are larger than a shuffle moves stay in the lanes' own frames, whose addresses the
 * lanes hand in. */
template <int Apart, typename T> void exchange_values(uint64_t *values)
{
    for (int lane = 0; lane < 32; lane++)
        if (!(lane & Apart))
            std::swap(*reinterpret_cast<T *>(values[lane]),
                      *reinterpret_cast<T *>(values[lane + Apart]));
}

template <int First, int End, typename Join, typename T> void join_apart(uint64_t *values)
{
    for (int apart = First; apart < End; apart *= 2)
        for (int lane = 0; lane < 32; lane++) {
            T *const x = reinterpret_cast<T *>(values[lane]), *const y = reinterpret_cast<T *>(
                                                                  values[lane ^ apart]);
            if (!(lane & apart)) *x = *y = Join()(*x, *y);
        }
}

template <int Apart, typename T> HOSTGPU_DEVICE T warp_exchange(T x, HOSTGPU_HERE)
{
    hostgpu_take_turn(hostgpu_warp_join(hostgpu_here.worker, exchange_values<Apart, T>,
                                        reinterpret_cast<uintptr_t>(&x), {file, line}));
    return x;
}

template <int First, int End, typename Join, typename T>
HOSTGPU_DEVICE T warp_join_apart(T x, HOSTGPU_HERE)
{
    hostgpu_take_turn(hostgpu_warp_join(hostgpu_here.worker, join_apart<First, End, Join, T>,
                                        reinterpret_cast<uintptr_t>(&x), {file, line}));
    return x;
}

} // namespace hostgpu

/* ---- launch ---- */

namespace hostgpu
{

template <typename... Parameters> struct call {
    static_assert((std::is_trivially_copyable<std::decay_t<Parameters>>::value && ...),
                  "a launch copies the parameters of its kernel as bytes");
    void (*kernel)(Parameters...);
    std::tuple<std::decay_t<Parameters>...> arguments;

    static void run(void *self)
    {
        const call *c = static_cast<const call *>(self);
        std::apply(c->kernel, c->arguments);
    }
};

template <typename... Parameters, typename... Arguments>
inline cudaError_t launch(const char *name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                          size_t shared_bytes, cudaStream_t stream, Arguments &&...arguments)
{
    call<Parameters...> call = {
        kernel, {static_cast<std::decay_t<Parameters>>(std::forward<Arguments>(arguments))...}};
    const hostgpu_kernel launch = {
        name,   reinterpret_cast<const void *>(kernel), grid,  block,      shared_bytes,
        stream, hostgpu::call<Parameters...>::run,      &call, sizeof call};
    return hostgpu_launch(&launch);
}

} // namespace hostgpu

/* ---- graphs ---- */

/* A handle is the address of the condition's value (graph.c). */
inline void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value)
{
    *reinterpret_cast<unsigned *>(static_cast<uintptr_t>(handle)) = value;
}

/* ---- the runtime's functions on kernels, which in C++ take the kernel itself ---- */

template <typename Kernel>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, Kernel *kernel)
{
    return cudaFuncGetAttributes(attributes, reinterpret_cast<const void *>(kernel));
}

template <typename Kernel>
inline cudaError_t cudaFuncSetAttribute(Kernel *kernel, cudaFuncAttribute attribute, int value)
{
    return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), attribute, value);
}

template <typename Kernel>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Kernel *kernel,
                                                                 int block_size,
                                                                 size_t shared_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks, reinterpret_cast<const void *>(kernel), block_size, shared_bytes);
}

#endif
