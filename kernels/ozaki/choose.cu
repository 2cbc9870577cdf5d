/* choose.cu - what the lines of both operands decide: the number of planes that A' and B' are cut into, and the scales. */
#include "spread.h"

#include "../last_block.h"

enum { THREADS = 256 };

/* What all blocks see, in the place of what this one does; false for all but the last block, which knows. By all threads. */
TD_DEVICE bool join_spreads(td_spread *all, td_spread_of_lines (&seen)[2])
{
    const int o = (int)threadIdx.x / TD_SPREADS, s = (int)threadIdx.x % TD_SPREADS;
    __syncthreads();
    if (gridDim.x == 1) return true;
    if (o < 2) atomicMax(&all->of[o].above[s], seen[o].above[s]);
    if (!td_is_last(&all->blocks, 1, (int)gridDim.x)) return false;
    if (o < 2) seen[o].above[s] = *(volatile int32_t *)&all->of[o].above[s];
    __syncthreads();
    return true;
}

/* Pairs of slices whose products take as long as the repair of all of C, by single elements. */
enum { PAIRS_OF_REPAIR = 230 };

/* What costs least, pairs of slices and repairs, if elements of C are 2^(-lost / TD_LOG) of the product of peaks. */
TD_DEVICE td_choice cheapest_digits(const td_choose &p, int64_t lost)
{
    int64_t least = 0;
    int best = 0;
    for (int i = 0; i < p.candidates; i++) {
        const int64_t slices = p.candidate[i].parameter, share = p.share[i] + lost;
        const int64_t all = 1024 * PAIRS_OF_REPAIR;
        const int64_t repaired = share >= 0 ? all : all >> min(-share >> 8, (int64_t)63);
        const int64_t cost = 1024 * slices * (slices + 1) / 2 + repaired;
        if (i == 0 || cost < least) {
            best = i;
            least = cost;
        }
    }
    return p.candidate[best];
}

/* Sums over the lines of an operand, of lines that are no zeros, and of those of them that have a mean. */
struct spreads {
    unsigned long long norm, mean; /* of norm - peak, of peak - mean */
    unsigned lines, lines_with_mean;
};

TD_DEVICE void add_spreads(const td_choose &p, int which, spreads *seen)
{
    const td_line *const lines = td_measured_lines(p, which, (int)blockIdx.z);
    for (int i = (int)threadIdx.x; i < p.lines[which]; i += (int)blockDim.x) {
        const td_line line = lines[i];
        if (!td_is_counted(line)) continue;
        atomicAdd(&seen->norm, (unsigned long long)max(line.norm - line.peak, 0));
        atomicAdd(&seen->lines, 1u);
        if (line.mean == TD_NO_MEAN) continue;
        atomicAdd(&seen->mean, (unsigned long long)max(line.peak - line.mean, 0));
        atomicAdd(&seen->lines_with_mean, 1u);
    }
}

TD_DEVICE int64_t mean_of(unsigned long long sum, unsigned count)
{
    return count ? (int64_t)(sum / count) : 0;
}

/* By how much elements of C are smaller than the product of peaks. Independent numbers of a size make sums of 1 / sqrt(k) of the
 * product of norms. Where norms are little more than peaks, sizes spread so far that a sum is its largest term: of
 * lognormal numbers, 2 - sqrt(2) of what is between peak and mean below both peaks. Samples were half-way between the two. */
TD_DEVICE int64_t lost_of(const td_choose &p, const spreads *seen)
{
    const int64_t flat =
        mean_of(seen[0].norm, seen[0].lines) + mean_of(seen[1].norm, seen[1].lines);
    const int64_t deep = mean_of(seen[0].mean, seen[0].lines_with_mean) +
                         mean_of(seen[1].mean, seen[1].lines_with_mean);
    const int64_t by_norms = p.log_k / 2 - flat, by_largest = deep * 75 / 256;
    return flat >= TD_LOG || by_largest < by_norms ? by_norms : (by_norms + by_largest) / 2;
}

/* Lines for which a launch of its own takes longer than one block. */
enum { FEW_LINES = 4 * THREADS };
TD_HOST_DEVICE bool are_few(const td_choose &p)
{
    return p.lines[0] <= FEW_LINES && p.lines[1] <= FEW_LINES;
}

/* Few lines, by the one block that has just chosen. */
TD_DEVICE void scale_few_lines(const td_choose &p, bool has_lines)
{
    if (!has_lines || !are_few(p)) return;
    __syncthreads();
    const share_of_lines own = share_of_thread((int)blockIdx.x, (int)gridDim.x);
    td_scale_lines(p, own.which, (int)blockIdx.z, own.first, own.step);
}

/* TD_SCALE_BY_DIGITS. Grid: 1, 1, batch member. */
static __global__ void __launch_bounds__(4 * THREADS) choose_digits_kernel(const td_choose p)
{
    td_begin_kernel();
    TD_SHARED(spreads, seen, [2]);
    const bool has_lines = td_scalar_value(p.alpha) != 0.0;
    if (threadIdx.x < 2) seen[threadIdx.x] = {};
    __syncthreads();
    for (int o = 0; o < 2 && has_lines; o++) add_spreads(p, o, &seen[o]);
    __syncthreads();
    if (threadIdx.x == 0) p.choice[blockIdx.z] = cheapest_digits(p, lost_of(p, seen));
    scale_few_lines(p, has_lines);
}

/* Grid: blocks over lines, 1, batch member. */
static __global__ void __launch_bounds__(4 * THREADS) choose_kernel(const td_choose p)
{
    TD_SHARED(td_spread_of_lines, seen, [2]);
    td_begin_kernel();
    const bool has_lines = td_scalar_value(p.alpha) != 0.0, is_open = has_lines && p.candidates > 1;
    if (threadIdx.x < 2) seen[threadIdx.x] = {};
    __syncthreads();
    if (is_open)
        measure_spread(p, (int)blockIdx.z, share_of_thread((int)blockIdx.x, (int)gridDim.x), seen);
    if (is_open ? !join_spreads(&p.spread[blockIdx.z], seen) : blockIdx.x > 0) return;
    if (threadIdx.x == 0) leave_choice(p, (int)blockIdx.z, choice_of_lines(p, has_lines, seen));
    scale_few_lines(p, has_lines);
}

/* Grid: blocks over lines, 1, batch member * 2 + operand. */
static __global__ void scale_kernel(const td_choose p)
{
    td_begin_kernel();
    if (td_scalar_value(p.alpha) == 0.0) return;
    td_scale_lines(p, (int)blockIdx.z % 2, (int)blockIdx.z / 2,
                   (int)(blockIdx.x * blockDim.x + threadIdx.x), (int)(gridDim.x * blockDim.x));
}

cudaError_t td_choose_run(const td_choose *p, cudaStream_t stream)
{
    const int lines = max(p->lines[0], p->lines[1]), few = are_few(*p);
    const unsigned blocks = few ? 1 : (unsigned)min(256, (lines + THREADS - 1) / THREADS);
    const dim3 members(1, 1, (unsigned)p->batch), grid(blocks, 1, (unsigned)p->batch);
    cudaError_t error =
        p->rule == TD_SCALE_BY_DIGITS
            ? TD_LAUNCH_NEXT(choose_digits_kernel, members, 4 * THREADS, 0, stream, *p)
            : TD_LAUNCH_NEXT(choose_kernel, grid, few ? 4 * THREADS : THREADS, 0, stream, *p);
    if (error != cudaSuccess || few) return error;
    return TD_LAUNCH_NEXT(scale_kernel, dim3(blocks, 1, 2 * (unsigned)p->batch), THREADS, 0, stream,
                          *p);
}

cudaError_t td_choose_prepare(void)
{
    return td_load(cudaSuccess, choose_kernel, choose_digits_kernel, scale_kernel);
}
