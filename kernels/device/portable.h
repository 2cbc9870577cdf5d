/* portable.h - what a kernel source may use, the same under nvcc and under a C++ compiler for the
 * host device.
 *
 *   TD_LAUNCH(kernel, grid, block, shared_bytes, stream, arguments...)
 *       a cudaError_t; a template kernel with commas in its name stands in parentheses; parameters
 *       convert as in a call
 *   TD_LAUNCH_NEXT(...)
 *       the same for a kernel that begins with td_begin_kernel() and comes after another one of
 *       this call: its blocks may be put in place while the last of that one's still run
 *   TD_LAUNCH_CLUSTERS(kernel, grid, blocks, block, shared_bytes, stream, arguments...)
 *       the same of neighbouring blocks, along x, that have places at the same time (cluster.h);
 *       under nvcc
 *   td_load(error, kernels...)
 *       loads kernels on the current device; `error` is passed on
 *   td_has_code<kernel>()
 *       true if a kernel that has static shared memory, where it does anything, does so on the
 *       current device
 *   td_block_shared_bytes(&bytes), td_allow_shared(error, kernel, bytes)
 *       the shared memory that a block may have on the current device; lets a kernel have so much,
 *       or what there is
 *   td_multiprocessors(&count)
 *       of the current device
 *   TD_SHARED(type, name, [rows][columns]);
 *       static shared array; nothing after the name for a single value
 *   TD_DYNAMIC_SHARED(type, name);
 *       type *name: the block's dynamic shared memory, 128-byte aligned
 *   TD_CONSTANT(type, name, value);
 *       a table that kernels read, computed by the compiler
 *   TD_LANE_CONSTANT(type, name, value);
 *       the same where the lanes of a warp read different places
 *   TD_PARAMETER
 *       before a kernel's parameter: functions that are not inlined may have its address
 *   TD_DEVICE_CALL
 *       before a device function's type: not inlined
 *   TD_DEVICE_LARGE
 *       the same: inlined on a device, but not on the host, whose compiler would take minutes
 *   TD_UNROLL, TD_UNROLL_N(n)
 *       before a loop: unroll it fully, or n times; where TD_KEEPS_LOOPS is defined the host does
 *       the second alone
 *   TD_ROLLED
 *       before a loop: do not unroll it on a device
 *   TD_LANES
 *       before an innermost loop over independent elements: unrolled on a device, vectorised on the
 *       host
 *   TD_DEVICE, TD_HOST_DEVICE
 *       before a function's type: inline, for kernels; also for host C++. The host's compiler may
 *       call the function where TD_KEEPS_CALLS is defined
 *   TD_INSIDE
 *       the same before a member function's type
 *   TD_UNCHECKED
 *       on the host alone, before an inner loop's function that reads arrays of its parameters'
 *       sizes: sanitizers do not look at each element
 *   td_uniform(x)
 *       x, an int that is the same in all threads of the warp, which all take part: then the
 *       compiler knows it too
 *   td_global(pointer)
 *       the pointer, which is to global memory: where the compiler does not see that by itself, it
 *       takes every access for one that may be to shared memory, too, and keeps them in order
 *   td_skips(is_useless)
 *       whether to leave out work that changes nothing, as for lines past the end: is_useless on
 *       the host device, where each thread takes its own time; false, for the compiler, on others
 *   TD_HAS_CUDA_DEVICE
 *       1 where kernels are compiled by nvcc for a device, else 0
 *
 * Shared memory is not zero at the start of a block: on the host device every byte of it is 0xFF.
 * Kernels: no return before a barrier, no warp operation whose mask names a lane that does not take
 * part, and nothing that relies on the lanes of a warp running in step. */
#ifndef TD_PORTABLE_H
#define TD_PORTABLE_H

#ifdef __CUDACC__

#include <cuda_runtime.h>
#include <utility>

#define TD_HAS_CUDA_DEVICE 1
#define TD_DEVICE          static __device__ __forceinline__
#define TD_HOST_DEVICE     static __host__ __device__ __forceinline__
#define TD_INSIDE          __device__ __forceinline__
#define TD_UNROLL          _Pragma("unroll")
#define TD_PRAGMA(text)    _Pragma(#text)
#define TD_UNROLL_N(n)     TD_PRAGMA(unroll n)
#define TD_ROLLED          _Pragma("unroll 1")
#define TD_LANES           TD_UNROLL
#define TD_UNCHECKED

#define TD_SHARED(type, name, dims) __shared__ type name dims

#define TD_CONSTANT(type, name, value)      static __constant__ const type name = value
#define TD_LANE_CONSTANT(type, name, value) static __device__ const type name = value

#define TD_PARAMETER    const __grid_constant__
#define TD_DEVICE_CALL  static __device__ __noinline__
#define TD_DEVICE_LARGE TD_DEVICE

#define TD_DYNAMIC_SHARED(type, name)                                                              \
    extern __shared__ __align__(128) unsigned char td_dynamic_shared[];                            \
    type *const name = reinterpret_cast<type *>(td_dynamic_shared)

#define TD_LAUNCH(kernel, grid, block, shared_bytes, ...)                                          \
    td_launch(false, 1, (kernel), (grid), (block), (shared_bytes), __VA_ARGS__)
#define TD_LAUNCH_NEXT(kernel, grid, block, shared_bytes, ...)                                     \
    td_launch(true, 1, (kernel), (grid), (block), (shared_bytes), __VA_ARGS__)
#define TD_LAUNCH_CLUSTERS(kernel, grid, blocks, block, shared_bytes, ...)                         \
    td_launch(true, (blocks), (kernel), (grid), (block), (shared_bytes), __VA_ARGS__)

/* True on devices whose kernels can wait for each other (sm_90 and later). */
static inline bool td_kernels_wait()
{
    int device = 0, major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) ==
               cudaSuccess &&
           major >= 9;
}

template <typename... Parameters, typename... Arguments>
static inline cudaError_t td_launch(bool is_next, unsigned cluster, void (*kernel)(Parameters...),
                                    dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                                    Arguments &&...arguments)
{
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    config.attrs = attributes;
    if (is_next && td_kernels_wait()) {
        cudaLaunchAttribute &early = attributes[config.numAttrs++];
        early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        early.val.programmaticStreamSerializationAllowed = 1;
    }
    if (cluster > 1) {
        cudaLaunchAttribute &blocks = attributes[config.numAttrs++];
        blocks.id = cudaLaunchAttributeClusterDimension;
        blocks.val.clusterDim = {cluster, 1, 1};
    }
    return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

TD_DEVICE int td_uniform(int x) { return __shfl_sync(0xffffffffu, x, 0); }
TD_DEVICE constexpr bool td_skips(bool) { return false; }

template <class type> TD_DEVICE type *td_global(type *pointer)
{
#if defined(__CUDA_ARCH__)
    __builtin_assume(__isGlobal(pointer));
#endif
    return pointer;
}

/* Lets the next kernel be put in place, as soon as all blocks of this one are. */
static __device__ __forceinline__ void td_let_next_begin()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Waits until the kernels before are done and what they wrote is there. Every thread does, sooner
 * or later. */
static __device__ __forceinline__ void td_wait_for_last()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Lets the next kernel begin, and waits for the last one: every thread's first statement, but for
 * kernels that read nothing of what the one before writes until later. */
static __device__ __forceinline__ void td_begin_kernel()
{
    td_let_next_begin();
    td_wait_for_last();
}

#else

#include "../../hostgpu/kernel.h"

#define TD_HAS_CUDA_DEVICE 0
#if defined(TD_KEEPS_CALLS)
#define TD_INSIDE    inline
#define TD_UNCHECKED __attribute__((no_sanitize("address", "undefined")))
#else
#define TD_INSIDE inline __attribute__((always_inline))
#define TD_UNCHECKED
#endif
#define TD_DEVICE      static TD_INSIDE
#define TD_HOST_DEVICE static TD_INSIDE
#if defined(TD_KEEPS_LOOPS)
#define TD_UNROLL
#else
#define TD_UNROLL _Pragma("GCC unroll 64")
#endif
#define TD_PRAGMA(text) _Pragma(#text)
#define TD_UNROLL_N(n)  TD_PRAGMA(GCC unroll n)
#define TD_ROLLED
#if defined(__SANITIZE_ADDRESS__)
#define TD_LANES                                                                                   \
    TD_UNROLL /* constant indices need no checks: three times faster than checked loops */
#else
#define TD_LANES _Pragma("omp simd")
#endif

/* Each array is a heap block of exactly its size, so that AddressSanitizer sees an index past its
 * end. */
#define TD_SHARED(type, name, dims)                                                                \
    static char hostgpu_key_##name;                                                                \
    auto &name = *static_cast<type(*) dims>(                                                       \
        hostgpu_static_shared(&hostgpu_key_##name, #name, sizeof(type dims)))

#define TD_CONSTANT(type, name, value)      static constexpr type name = value
#define TD_LANE_CONSTANT(type, name, value) static constexpr type name = value

#define TD_PARAMETER    const
#define TD_DEVICE_CALL  static __attribute__((noinline))
#define TD_DEVICE_LARGE TD_DEVICE_CALL

#define TD_DYNAMIC_SHARED(type, name)                                                              \
    type *const name = static_cast<type *>(hostgpu_here.dynamic_shared)

#define TD_LAUNCH(kernel, grid, block, shared_bytes, ...)                                          \
    hostgpu::launch(#kernel, (kernel), (grid), (block), (shared_bytes), __VA_ARGS__)
#define TD_LAUNCH_NEXT TD_LAUNCH

static inline void td_let_next_begin() {}
static inline void td_wait_for_last() {}
static inline void td_begin_kernel() {}
static inline int td_uniform(int x) { return x; }
static inline bool td_skips(bool is_useless) { return is_useless; }
template <class type> static inline type *td_global(type *pointer) { return pointer; }

#endif

static inline cudaError_t td_block_shared_bytes(int *bytes)
{
    int device = 0;
    const cudaError_t error = cudaGetDevice(&device);
    if (error != cudaSuccess) return error;
    return cudaDeviceGetAttribute(bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
}

static inline cudaError_t td_multiprocessors(int *count)
{
    int device = 0;
    const cudaError_t error = cudaGetDevice(&device);
    if (error != cudaSuccess) return error;
    return cudaDeviceGetAttribute(count, cudaDevAttrMultiProcessorCount, device);
}

template <class kernel>
static inline cudaError_t td_allow_shared(cudaError_t error, kernel function, int bytes)
{
    int most = 0;
    cudaFuncAttributes attributes;
    if (error == cudaSuccess) error = td_block_shared_bytes(&most);
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, function);
    if (error != cudaSuccess) return error;
    return cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                min(most - (int)attributes.sharedSizeBytes, bytes));
}

template <class... kernel> static inline cudaError_t td_load(cudaError_t error, kernel... functions)
{
    cudaFuncAttributes attributes;
    ((error = error == cudaSuccess ? cudaFuncGetAttributes(&attributes, functions) : error), ...);
    return error;
}

template <auto kernel> static inline bool td_has_code()
{
    enum { UNKNOWN, NONE, SOME, DEVICES = 64 };
    static char known[DEVICES]; /* the runtime takes as long to tell as to launch */
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return false;
    char has = device < DEVICES ? __atomic_load_n(&known[device], __ATOMIC_RELAXED) : (char)UNKNOWN;
    if (has != UNKNOWN) return has == SOME;
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    if (error != cudaSuccess) (void)cudaGetLastError();
    has = error == cudaSuccess && attributes.sharedSizeBytes > 0 ? SOME : NONE;
    if (device < DEVICES) __atomic_store_n(&known[device], has, __ATOMIC_RELAXED);
    return has == SOME;
}

#endif
