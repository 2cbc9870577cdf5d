/* choose.cu - what the lines of both operands decide: the number of planes that A' and B' are cut into, and the scales. */
#include "choose.h"

#include "../last_block.h"
#include "../warp.h"

enum { THREADS = 256 };

/* Numbers of td_spread are above this; for lines without a mean. */
enum { NO_LINE = -(1 << 20), NO_MEAN = 1 << 20 };

TD_DEVICE int spread_of(const td_line &line)
{
    if (line.mean == TD_NO_MEAN) return NO_MEAN;
    return max(0, (((line.norm + line.sum) >> 1) - line.mean) >> 8);
}

/* What td_spread_of_lines has. */
enum { ALL, ROUNDED, PEAK, DEPTH, SCALED_DEPTH, SPECIAL };

/* Raises what is seen of an operand by the block's share of lines. */
TD_DEVICE void measure_spread(const td_choose &p, int which, td_spread_of_lines *seen)
{
    int mine[TD_SPREADS] = {NO_LINE, NO_LINE, NO_LINE, NO_LINE, NO_LINE, NO_LINE};
    const td_line *const lines = td_measured_lines(p, which, (int)blockIdx.z);
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < p.lines[which];
         i += (int)(gridDim.x * blockDim.x)) {
        const td_line line = lines[i];
        if (line.low == TD_SPECIAL) mine[SPECIAL] = 0;
        if (!td_is_counted(line)) continue;
        mine[ALL] = max(mine[ALL], spread_of(line));
        if (td_scale_of(p, p.candidate[0], line) + line.low < 0)
            mine[ROUNDED] = max(mine[ROUNDED], spread_of(line));
        mine[PEAK] = max(mine[PEAK], line.peak >> 8);
        mine[DEPTH] = max(mine[DEPTH], -line.low);
        mine[SCALED_DEPTH] = max(mine[SCALED_DEPTH], -line.low - td_binary64_scale(line));
    }
    TD_UNROLL
    for (int s = 0; s < TD_SPREADS; s++) {
        const int most = td_warp_max(mine[s] - NO_LINE);
        if (most && threadIdx.x % 32 == 0) atomicMax(&seen->above[s], most);
    }
}

/* The same of all lines: the largest of floor(((norm + sum) / 2 - mean) / TD_LOG), and of those that the first candidate rounds; of
 * the exponents, and less those of the lowest bits, as lines are and in the units of binary64.h; whether any is special. */
struct spread {
    int all, rounded, peak, depth, scaled_depth;
    bool has_special;
};
TD_DEVICE spread spread_seen(const td_spread_of_lines &seen)
{
    const volatile int32_t *above = seen.above; /* other blocks have raised them */
    return {above[ALL] + NO_LINE,   above[ROUNDED] + NO_LINE,      above[PEAK] + NO_LINE,
            above[DEPTH] + NO_LINE, above[SCALED_DEPTH] + NO_LINE, above[SPECIAL] != 0};
}

/* What binary64 has for sums of all lines of both operands. */
TD_DEVICE td_room room_of(const td_choose &p, const spread &a, const spread &b)
{
    if (a.all == NO_LINE || b.all == NO_LINE) return TD_ROOM_IF_SCALED;
    if (!td_has_room_scaled(-a.scaled_depth, -b.scaled_depth)) return TD_ROOM_FOR_SOME;
    return !a.has_special && !b.has_special && td_has_room(a.peak + b.peak, -a.depth - b.depth, p.k)
               ? TD_ROOM
               : TD_ROOM_IF_SCALED;
}

/* The first candidate that certifies all pairs of lines, as far as lines may choose, else as many: a pair is certified if neither is
 * rounded, or if both spread little. */
TD_DEVICE int candidate_of_lines(const td_choose &p, const spread *seen)
{
    const int most = max(seen[0].rounded + seen[1].all, seen[0].all + seen[1].rounded);
    int i = 0;
    while (i < p.candidates_of_lines && most >= (p.candidate[i].level - p.level_of_pair) >> 8) i++;
    return i;
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

/* Few lines, by the block that has just chosen. */
TD_DEVICE void scale_few_lines(const td_choose &p, bool has_lines)
{
    if (!has_lines || !are_few(p)) return;
    __syncthreads();
    for (int o = 0; o < 2; o++)
        td_scale_lines(p, o, (int)blockIdx.z, (int)threadIdx.x, (int)blockDim.x);
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

/* By one thread. */
TD_DEVICE void choose(const td_choose &p, bool has_lines, bool is_open)
{
    td_choice choice = p.candidate[0];
    if (is_open) {
        const td_spread &seen = p.spread[blockIdx.z];
        const spread of[2] = {spread_seen(seen.of[0]), spread_seen(seen.of[1])};
        const int i = candidate_of_lines(p, of);
        if (i < p.candidates_of_lines) {
            choice = p.candidate[i];
            choice.is_estimated = 0;
        }
        choice.room = room_of(p, of[0], of[1]);
    }
    if (!has_lines) choice.is_estimated = 0;
    p.choice[blockIdx.z] = choice;
    if (p.planes && !(is_open && choice.is_estimated))
        atomicMax(p.planes, (unsigned long long)choice.parameter);
}

/* Grid: blocks over lines, 1, batch member. */
static __global__ void __launch_bounds__(4 * THREADS) choose_kernel(const td_choose p)
{
    td_begin_kernel();
    const bool has_lines = td_scalar_value(p.alpha) != 0.0, is_open = has_lines && p.candidates > 1;
    for (int o = 0; o < 2 && is_open; o++) measure_spread(p, o, &p.spread[blockIdx.z].of[o]);
    const bool decides =
        is_open ? td_is_last(&p.spread[blockIdx.z].blocks, 1, (int)gridDim.x) : blockIdx.x == 0;
    if (!decides) return;
    if (threadIdx.x == 0) choose(p, has_lines, is_open);
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
