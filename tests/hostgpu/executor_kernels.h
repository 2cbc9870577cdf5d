/* executor_kernels.h - launches of the kernels that check_executor.c looks at. All buffers are
 * device memory. */
#ifndef EXECUTOR_KERNELS_H
#define EXECUTOR_KERNELS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* out[i]: thread index, block index, block size and grid size of the i-th thread, three numbers
 * each. */
cudaError_t launch_indices(struct dim3 grid, struct dim3 block, unsigned *out);

/* Writes each block's ranks in reverse order, through static or dynamic shared memory. */
cudaError_t launch_reverse_static(unsigned blocks, int *out); /* 256 threads */
cudaError_t launch_reverse_dynamic(unsigned blocks, unsigned threads, int *out);

/* As launch_reverse_dynamic with one thread and so much shared memory, used to its end. */
cudaError_t launch_large_shared(size_t bytes, int *out);
cudaError_t allow_large_shared(int bytes);

/* 96 threads; out[3 * rank ...]: __syncthreads_count, _and, _or of three predicates. */
cudaError_t launch_barrier_votes(int *out);

/* Sums n = 1024 * blocks values by a tree in shared memory; out[block]. */
cudaError_t launch_tree_sum(unsigned blocks, const long long *in, long long *out);

enum { SHUFFLE_KINDS = 8 };
/* 64 threads; out[SHUFFLE_KINDS * rank + kind] of the value 100 + rank; see check_executor.c. */
cudaError_t launch_shuffles(int *out);
/* 64 threads; the lanes' doubles rotated by one. */
cudaError_t launch_shuffle_double(double *out);
/* Two halves of a warp shuffle independently, in different branches. */
cudaError_t launch_half_warps(int *out);

enum { VOTE_KINDS = 12 };
/* 64 threads; out[VOTE_KINDS * rank + kind]. */
cudaError_t launch_warp_votes(unsigned *out);

/* 64 threads; out[3 * rank ...]: the sum of the lanes' 1 / (rank + 3), by shuffles and by a join,
 * and the least of them. */
cudaError_t launch_joins(double *out);

/* 64 threads, whose words are {rank, 7 rank modulo 64, the lane's bit}; out[7 * rank ...]: the
 * words of the lane 8 apart; what the lanes 2, 4 and 8 apart have, joined to a sum, the largest,
 * and all bits; the warp's largest second word. */
cudaError_t launch_lanes_apart(int *out);

/* out[0]: count; [1]: max; [2]: min; [3]: or; [4]: by CAS; [5]: exchanged. */
cudaError_t launch_atomics(unsigned blocks, unsigned threads, unsigned long long *out);
cudaError_t launch_atomic_doubles(unsigned blocks, unsigned threads, double *sum, float *sum32);

/* The order in which threads (blocks == 1) or blocks (threads == 1) run; out[i]: the i-th. */
cudaError_t launch_order(unsigned blocks, unsigned threads, unsigned *ticket, unsigned *out);

/* out[i] = what shared memory holds before anyone wrote: static, then dynamic. */
cudaError_t launch_unset_shared(unsigned *out);

/* Thread 0 waits for the last thread. */
cudaError_t launch_spin(int *flag);

/* Results of intrinsics, in the order of check_executor.c. */
cudaError_t launch_intrinsics(double *out);

typedef enum {
    FAULT_EXIT_BEFORE_BARRIER,
    FAULT_HALF_AT_BARRIER,
    FAULT_TWO_BARRIERS,
    FAULT_BARRIER_AND_SHUFFLE,
    FAULT_EXITED_LANE,
    FAULT_NOT_IN_MASK,
    FAULT_SOURCE_OUTSIDE_MASK,
    FAULT_DIFFERENT_WARP_OPS,
    FAULT_MISSING_LANE,
    FAULT_JOIN_IN_PART,
    FAULT_TRAP,
    FAULT_STATIC_SHARED,
    FAULT_COUNT
} fault;

/* 64 threads a block; the last block makes the mistake. */
cudaError_t launch_fault(fault kind, unsigned blocks, int *out);

/* Accesses that only AddressSanitizer sees. */
typedef enum { OVERRUN_GLOBAL, OVERRUN_STATIC, OVERRUN_DYNAMIC, THROUGH_NULL } overrun;
cudaError_t launch_overrun(overrun kind, int *out);

/* 64 threads pass values through shared memory, with the barrier between or without. */
cudaError_t launch_exchange(int has_barrier, int *out);

/* y[i] = factor * y[i] + x, for n elements, in a stream: two kernels that do the same. */
cudaError_t launch_update(double factor, double x, int n, double *y, cudaStream_t stream);
cudaError_t launch_other_update(double factor, double x, int n, double *y, cudaStream_t stream);

/* Sets a graph's condition to whether *x is positive; loads that kernel. */
cudaError_t launch_condition(cudaGraphConditionalHandle handle, const double *x,
                             cudaStream_t stream);
cudaError_t load_condition(void);

#ifdef __cplusplus
}
#endif

#endif
