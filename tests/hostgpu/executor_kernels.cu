#include "../../kernels/arithmetic/join.h"
#include "../../kernels/device/portable.h"
#include "../../kernels/device/warp.h"

#include "executor_kernels.h"

TD_DEVICE unsigned rank_of_thread()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

/* ---- indices ---- */

TD_DEVICE void put(unsigned *out, unsigned x, unsigned y, unsigned z)
{
    out[0] = x;
    out[1] = y;
    out[2] = z;
}

static __global__ void indices(unsigned *out)
{
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    unsigned *own = out + 12 * (static_cast<size_t>(block) * threads + rank_of_thread());

    put(own, threadIdx.x, threadIdx.y, threadIdx.z);
    put(own + 3, blockIdx.x, blockIdx.y, blockIdx.z);
    put(own + 6, blockDim.x, blockDim.y, blockDim.z);
    put(own + 9, gridDim.x, gridDim.y, gridDim.z);
}

cudaError_t launch_indices(dim3 grid, dim3 block, unsigned *out)
{
    return TD_LAUNCH(indices, grid, block, 0, 0, out);
}

/* ---- shared memory and barriers ---- */

static __global__ void reverse_static(int *out)
{
    TD_SHARED(int, row, [2][128]);
    const int i = static_cast<int>(threadIdx.x);
    const int offset = 256 * static_cast<int>(blockIdx.x);

    row[i / 128][i % 128] = offset + i;
    __syncthreads();
    out[offset + i] = row[(255 - i) / 128][(255 - i) % 128];
}

static __global__ void reverse_dynamic(int *out)
{
    TD_DYNAMIC_SHARED(int, row);
    const unsigned i = threadIdx.x, offset = blockDim.x * blockIdx.x;

    row[i] = static_cast<int>(offset + i);
    __syncthreads();
    out[offset + i] = row[blockDim.x - 1 - i];
}

static __global__ void large_shared(int *out, size_t count)
{
    TD_DYNAMIC_SHARED(int, row);

    row[0] = row[count - 1] = 7;
    *out = row[0] + row[count - 1];
}

static __global__ void barrier_votes(int *out)
{
    const int i = static_cast<int>(threadIdx.x);

    out[3 * i] = __syncthreads_count(i % 3 == 0);
    out[3 * i + 1] = __syncthreads_and(i != 95) + 10 * __syncthreads_and(i + 1);
    out[3 * i + 2] = __syncthreads_or(i == 95) + 10 * __syncthreads_or(i > 95);
}

static __global__ void tree_sum(const long long *in, long long *out)
{
    TD_SHARED(long long, partial, [1024]);
    const unsigned i = threadIdx.x;

    partial[i] = in[1024 * blockIdx.x + i];
    for (unsigned step = 512; step; step /= 2) {
        __syncthreads();
        if (i < step) partial[i] += partial[i + step];
    }
    if (i == 0) out[blockIdx.x] = partial[0];
}

static __global__ void unset_shared(unsigned *out)
{
    TD_SHARED(unsigned, fixed, [2]);
    TD_SHARED(unsigned, single, );
    TD_DYNAMIC_SHARED(unsigned, flexible);

    if (threadIdx.x == 0) {
        atomicAnd(&out[0], fixed[0] & fixed[1] & single);
        atomicAnd(&out[1], flexible[0] & flexible[1]);
    }
    __syncthreads();
    fixed[threadIdx.x] = flexible[threadIdx.x] = 0;
    if (threadIdx.x == 0) single = 0;
}

cudaError_t launch_reverse_static(unsigned blocks, int *out)
{
    return TD_LAUNCH(reverse_static, blocks, 256, 0, 0, out);
}

cudaError_t launch_reverse_dynamic(unsigned blocks, unsigned threads, int *out)
{
    return TD_LAUNCH(reverse_dynamic, blocks, threads, threads * sizeof *out, 0, out);
}

cudaError_t launch_large_shared(size_t bytes, int *out)
{
    return TD_LAUNCH(large_shared, 1, 1, bytes, 0, out, bytes / sizeof(int));
}

cudaError_t allow_large_shared(int bytes)
{
    return cudaFuncSetAttribute(large_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

cudaError_t launch_barrier_votes(int *out) { return TD_LAUNCH(barrier_votes, 1, 96, 0, 0, out); }

cudaError_t launch_tree_sum(unsigned blocks, const long long *in, long long *out)
{
    return TD_LAUNCH(tree_sum, blocks, 1024, 0, 0, in, out);
}

cudaError_t launch_unset_shared(unsigned *out)
{
    return TD_LAUNCH(unset_shared, 50, 2, 2 * sizeof *out, 0, out);
}

/* ---- warps ---- */

static __global__ void shuffles(int *out)
{
    const unsigned full = 0xffffffffu;
    const int value = 100 + static_cast<int>(threadIdx.x);
    int *own = out + SHUFFLE_KINDS * threadIdx.x;

    own[0] = __shfl_sync(full, value, 5);
    own[1] = __shfl_sync(full, value, 9, 8);
    own[2] = __shfl_up_sync(full, value, 3);
    own[3] = __shfl_up_sync(full, value, 1, 16);
    own[4] = __shfl_down_sync(full, value, 30);
    own[5] = __shfl_down_sync(full, value, 2, 4);
    own[6] = __shfl_xor_sync(full, value, 17);
    own[7] = __shfl_xor_sync(full, value, 8, 8);
}

static __global__ void shuffle_double(double *out)
{
    const int lane = static_cast<int>(threadIdx.x % 32);

    out[threadIdx.x] = __shfl_sync(0xffffffffu, 0.1 * threadIdx.x, lane + 1);
}

static __global__ void half_warps(int *out)
{
    const int i = static_cast<int>(threadIdx.x);

    if (i < 16)
        out[i] = __shfl_xor_sync(0x0000ffffu, i, 1);
    else
        out[i] = static_cast<int>(__reduce_add_sync(0xffff0000u, static_cast<unsigned>(i)));
    __syncwarp();
    out[i] += 1000;
}

static __global__ void warp_votes(unsigned *out)
{
    const unsigned full = 0xffffffffu, i = threadIdx.x;
    const int signed_value = static_cast<int>(i) - 40;
    unsigned *own = out + VOTE_KINDS * i;

    own[0] = __ballot_sync(full, i % 3 == 0);
    own[1] = static_cast<unsigned>(__any_sync(full, i == 40));
    own[2] = static_cast<unsigned>(__all_sync(full, i >= 32));
    own[3] = __match_any_sync(full, i / 5);
    own[4] = __reduce_add_sync(full, i);
    own[5] = __reduce_min_sync(full, i);
    own[6] = __reduce_max_sync(full, i);
    own[7] = static_cast<unsigned>(__reduce_min_sync(full, signed_value));
    own[8] = static_cast<unsigned>(__reduce_max_sync(full, signed_value));
    own[9] = __reduce_and_sync(full, i | 64);
    own[10] = __reduce_or_sync(full, i);
    own[11] = __reduce_xor_sync(full, 1u << i % 32);
}

static __global__ void joins(double *out)
{
    const double own = 1.0 / (threadIdx.x + 3);
    double sum = own;

    for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
    out[3 * threadIdx.x] = sum;
    out[3 * threadIdx.x + 1] = td_warp_join<td_sum64>(own);
    out[3 * threadIdx.x + 2] = td_warp_join<td_least>(own);
}

/* Three words, more than a shuffle moves. */
struct words {
    int sum, largest;
    unsigned bits;
};
struct join_words {
    TD_INSIDE words operator()(const words &a, const words &b) const
    {
        return {a.sum + b.sum, max(a.largest, b.largest), a.bits | b.bits};
    }
};

static __global__ void lanes_apart(int *out)
{
    TD_SHARED(int, raised, [2]);
    const int rank = static_cast<int>(threadIdx.x), warp = rank / 32;
    const words own = {rank, rank * 7 % 64, 1u << rank % 32};
    const words other = td_warp_exchange<8>(own),
                joined = td_warp_join_apart<2, 16, join_words>(own);
    if (rank % 32 == 0) raised[warp] = 0;
    __syncwarp();
    td_warp_raise(&raised[warp], own.largest);
    __syncthreads();
    const int all[7] = {other.sum,   other.largest,  static_cast<int>(other.bits),
                        joined.sum,  joined.largest, static_cast<int>(joined.bits),
                        raised[warp]};
    for (int i = 0; i < 7; i++) out[7 * rank + i] = all[i];
}

cudaError_t launch_lanes_apart(int *out) { return TD_LAUNCH(lanes_apart, 1, 64, 0, 0, out); }
cudaError_t launch_joins(double *out) { return TD_LAUNCH(joins, 1, 64, 0, 0, out); }
cudaError_t launch_shuffles(int *out) { return TD_LAUNCH(shuffles, 1, 64, 0, 0, out); }
cudaError_t launch_shuffle_double(double *out)
{
    return TD_LAUNCH(shuffle_double, 1, 64, 0, 0, out);
}
cudaError_t launch_half_warps(int *out) { return TD_LAUNCH(half_warps, 1, 32, 0, 0, out); }
cudaError_t launch_warp_votes(unsigned *out) { return TD_LAUNCH(warp_votes, 1, 64, 0, 0, out); }

/* ---- atomics, order, waiting ---- */

static __global__ void atomics(unsigned long long *out)
{
    const unsigned long long id = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long seen = atomicAdd(&out[4], 0), expected;

    atomicAdd(&out[0], 1);
    atomicMax(&out[1], id);
    atomicMin(&out[2], id);
    atomicOr(&out[3], 1ull << id % 64);
    do {
        expected = seen;
        seen = atomicCAS(&out[4], expected, expected + 2);
    } while (seen != expected);
    atomicExch(&out[5], 77);
}

static __global__ void atomic_doubles(double *sum, float *sum32)
{
    atomicAdd(sum, 0.5);
    atomicAdd(sum32, 0.25f);
}

static __global__ void order(unsigned *ticket, unsigned *out)
{
    out[atomicAdd(ticket, 1)] = blockIdx.x + threadIdx.x;
}

static __global__ void spin(int *flag)
{
    if (threadIdx.x == 0)
        while (!atomicAdd(flag, 0)) __nanosleep(20);
    if (threadIdx.x == blockDim.x - 1) atomicExch(flag, 1);
}

cudaError_t launch_atomics(unsigned blocks, unsigned threads, unsigned long long *out)
{
    return TD_LAUNCH(atomics, blocks, threads, 0, 0, out);
}

cudaError_t launch_atomic_doubles(unsigned blocks, unsigned threads, double *sum, float *sum32)
{
    return TD_LAUNCH(atomic_doubles, blocks, threads, 0, 0, sum, sum32);
}

cudaError_t launch_order(unsigned blocks, unsigned threads, unsigned *ticket, unsigned *out)
{
    return TD_LAUNCH(order, blocks, threads, 0, 0, ticket, out);
}

cudaError_t launch_spin(int *flag) { return TD_LAUNCH(spin, 1, 64, 0, 0, flag); }

/* ---- intrinsics ---- */

static __global__ void intrinsics(double *out)
{
    const float nan = __int_as_float(0x7fc00000);
    int n = 0;

    out[n++] = static_cast<double>(__fmaf_rn(1.0f + 0x1p-23f, 1.0f - 0x1p-23f, -1.0f));
    out[n++] = static_cast<double>(__fadd_rn(__fmul_rn(1.0f + 0x1p-23f, 1.0f - 0x1p-23f), -1.0f));
    out[n++] = __dp4a(0x01ff807f, 0x01027f7f, 5);
    out[n++] = __popc(0xf0f0u) + 100 * __clz(1) + 10000 * __ffs(8);
    out[n++] = static_cast<double>(max(nan, 3.0f));
    out[n++] = min(-1, 2u) == 2u;
    out[n++] = __hiloint2double(__double2hiint(-0.1), __double2loint(-0.1));
    out[n++] = __byte_perm(0x33221100u, 0x77665544u, 0x7250u);
}

cudaError_t launch_intrinsics(double *out) { return TD_LAUNCH(intrinsics, 1, 1, 0, 0, out); }

/* ---- mistakes ---- */

static __global__ void exit_before_barrier(int *out)
{
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x >= 40) return;
    __syncthreads();
    out[threadIdx.x] = 1;
}

static __global__ void half_at_barrier(int *out)
{
    if (blockIdx.x < gridDim.x - 1 || threadIdx.x < 32) __syncthreads();
    out[threadIdx.x] = 1;
}

static __global__ void two_barriers(int *out)
{
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x % 2)
        __syncthreads();
    else
        __syncthreads();
    out[threadIdx.x] = 1;
}

static __global__ void barrier_and_shuffle(int *out)
{
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x % 2)
        out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 2);
    __syncthreads();
}

static __global__ void exited_lane(int *out)
{
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 5) return;
    out[threadIdx.x] = static_cast<int>(__ballot_sync(0xffffffffu, 1));
}

static __global__ void not_in_mask(int *out)
{
    const unsigned mask = blockIdx.x == gridDim.x - 1 ? 0xfffffffeu : 0xffffffffu;

    out[threadIdx.x] = __any_sync(mask, 1);
}

static __global__ void source_outside_mask(int *out)
{
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x % 2)
        out[threadIdx.x] = __shfl_xor_sync(0xaaaaaaaau, 1, 1);
}

static __global__ void different_warp_ops(int *out)
{
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x % 2)
        __syncwarp();
    else
        out[threadIdx.x] = __any_sync(0xffffffffu, 1);
}

static __global__ void missing_lane(int *out)
{
    const unsigned lanes = blockIdx.x == gridDim.x - 1 ? 31 : 32;

    if (threadIdx.x % 32 < lanes) __syncwarp(0xffffffffu);
    __syncthreads();
    out[threadIdx.x] = 1;
}

static __global__ void join_in_part(int *out)
{
    const bool is_bad = blockIdx.x == gridDim.x - 1;

    out[threadIdx.x] = is_bad || threadIdx.x < 32 ? td_warp_join<td_sum>(1) : 0;
}

static __global__ void trap(int *out)
{
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 33) __trap();
    out[threadIdx.x] = 1;
}

static __global__ void static_shared(int *out)
{
    TD_SHARED(int, first, [6000]);
    TD_SHARED(int, second, [7000]);

    first[threadIdx.x] = second[threadIdx.x] = 1;
    out[threadIdx.x] = first[threadIdx.x];
}

cudaError_t launch_fault(fault kind, unsigned blocks, int *out)
{
    switch (kind) {
    case FAULT_EXIT_BEFORE_BARRIER:
        return TD_LAUNCH(exit_before_barrier, blocks, 64, 0, 0, out);
    case FAULT_HALF_AT_BARRIER:
        return TD_LAUNCH(half_at_barrier, blocks, 64, 0, 0, out);
    case FAULT_TWO_BARRIERS:
        return TD_LAUNCH(two_barriers, blocks, 64, 0, 0, out);
    case FAULT_BARRIER_AND_SHUFFLE:
        return TD_LAUNCH(barrier_and_shuffle, blocks, 64, 0, 0, out);
    case FAULT_EXITED_LANE:
        return TD_LAUNCH(exited_lane, blocks, 64, 0, 0, out);
    case FAULT_NOT_IN_MASK:
        return TD_LAUNCH(not_in_mask, blocks, 64, 0, 0, out);
    case FAULT_SOURCE_OUTSIDE_MASK:
        return TD_LAUNCH(source_outside_mask, blocks, 64, 0, 0, out);
    case FAULT_DIFFERENT_WARP_OPS:
        return TD_LAUNCH(different_warp_ops, blocks, 64, 0, 0, out);
    case FAULT_MISSING_LANE:
        return TD_LAUNCH(missing_lane, blocks, 64, 0, 0, out);
    case FAULT_JOIN_IN_PART:
        return TD_LAUNCH(join_in_part, blocks, 48, 0, 0, out);
    case FAULT_TRAP:
        return TD_LAUNCH(trap, blocks, 64, 0, 0, out);
    case FAULT_STATIC_SHARED:
        return TD_LAUNCH(static_shared, blocks, 64, 0, 0, out);
    default:
        return cudaErrorInvalidValue;
    }
}

/* ---- what sanitizers see ---- */

static __global__ void overrun_global(int *out, int n) { out[threadIdx.x + (n == 64)] = 1; }

static __global__ void overrun_static(int *out, int n)
{
    TD_SHARED(int, row, [64]);

    row[threadIdx.x + (n == 64)] = 1;
    out[threadIdx.x] = n;
}

static __global__ void overrun_dynamic(int *out, int n)
{
    TD_DYNAMIC_SHARED(int, row);

    row[threadIdx.x + (n == 64)] = 1;
    out[threadIdx.x] = n;
}

static __global__ void through_null(int *out, int n) { out[n + static_cast<int>(threadIdx.x)] = 1; }

static __global__ void exchange(int has_barrier, int *out)
{
    TD_SHARED(int, row, [64]);
    const int i = static_cast<int>(threadIdx.x);

    row[i] = i;
    if (has_barrier) __syncthreads();
    out[i] = row[63 - i];
}

cudaError_t launch_overrun(overrun kind, int *out)
{
    switch (kind) {
    case OVERRUN_GLOBAL:
        return TD_LAUNCH(overrun_global, 1, 64, 0, 0, out, 64);
    case OVERRUN_STATIC:
        return TD_LAUNCH(overrun_static, 1, 64, 0, 0, out, 64);
    case THROUGH_NULL:
        return TD_LAUNCH(through_null, 1, 64, 0, 0, nullptr, 0);
    default:
        return TD_LAUNCH(overrun_dynamic, 1, 64, 64 * sizeof *out, 0, out, 64);
    }
}

cudaError_t launch_exchange(int has_barrier, int *out)
{
    return TD_LAUNCH(exchange, 1, 64, 0, 0, has_barrier, out);
}

/* ---- streams ---- */

template <int which> static __global__ void update(double factor, double x, int n, double *y)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) y[i] = factor * y[i] + x;
}

cudaError_t launch_update(double factor, double x, int n, double *y, cudaStream_t stream)
{
    return TD_LAUNCH(update<0>, (n + 31) / 32, 32, 0, stream, factor, x, n, y);
}

cudaError_t launch_other_update(double factor, double x, int n, double *y, cudaStream_t stream)
{
    return TD_LAUNCH(update<1>, (n + 31) / 32, 32, 0, stream, factor, x, n, y);
}

__global__ void ask(cudaGraphConditionalHandle handle, const double *x)
{
    cudaGraphSetConditional(handle, *x > 0.0);
}

cudaError_t launch_condition(cudaGraphConditionalHandle handle, const double *x,
                             cudaStream_t stream)
{
    return TD_LAUNCH(ask, 1, 1, 0, stream, handle, x);
}

cudaError_t load_condition(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, ask);
}
