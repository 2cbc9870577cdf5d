/* choose.cu - what the lines of both operands decide: the number of planes that A' and B' are cut into, and the scales. */
#include "../access.h"
#include "ozaki.h"

enum { THREADS = 256 };

/* Moduli whose products take as long as the repair of all of C, and elements whose repair takes as long as that of one. */
enum { BINS = 64, REPAIR_COST = 256, REPAIRED_TOGETHER = 64 };

/* The same for the search for large products, with which the last candidate is taken to certify nearly all. */
enum { SEARCH_COST = 4 };

/* Lines of both operands by floor(((norm + sum) / 2 - mean) / TD_LOG): all, and those that stay exact with the first candidate. */
struct histogram {
    uint32_t all[2][BINS], exact[2][BINS], lines[2];
};

TD_DEVICE int bin_of(const td_line &line)
{
    const int spread = (((line.norm + line.sum) >> 1) - line.mean) >> 8;
    return line.mean == TD_NO_MEAN ? (int)BINS - 1 : max(0, min((int)BINS - 1, spread));
}

TD_DEVICE void count_lines(const td_choose &p, histogram *seen)
{
    for (int o = 0; o < 2; o++) {
        uint32_t count = 0;
        for (int i = (int)threadIdx.x; i < p.lines[o]; i += (int)blockDim.x) {
            const td_line line = p.line[o][(int64_t)blockIdx.z * p.lines[o] + i];
            if (line.low == TD_SPECIAL || line.low == TD_NO_LOW) continue;
            count++;
            atomicAdd(&seen->all[o][bin_of(line)], 1u);
            if (((p.candidate[0].level - line.norm) >> 8) + line.low >= 0)
                atomicAdd(&seen->exact[o][bin_of(line)], 1u);
        }
        if (count) atomicAdd(&seen->lines[o], count);
    }
}

/* Pairs of lines that a candidate does not certify, of those in one bin of op(A). */
TD_DEVICE uint64_t count_bad(const histogram &seen, int bin, int limit)
{
    uint64_t bad = 0;
    if (seen.all[0][bin] == 0) return 0;
    for (int other = max(0, limit - bin); other < BINS; other++)
        bad += (uint64_t)seen.all[0][bin] * seen.all[1][other] -
               (uint64_t)seen.exact[0][bin] * seen.exact[1][other];
    return bad;
}

TD_DEVICE td_choice cheapest(const td_choose &p, const histogram &seen,
                             const unsigned long long *bad)
{
    uint64_t least = 0;
    int best = 0;
    const uint64_t all = (uint64_t)seen.lines[0] * seen.lines[1];
    for (int i = 0; i < p.candidates; i++) {
        const uint64_t repaired = REPAIRED_TOGETHER * bad[i];
        const uint64_t cost = (uint64_t)p.candidate[i].parameter * all +
                              REPAIR_COST * (repaired < all ? repaired : all);
        if (i == 0 || cost < least) {
            best = i;
            least = cost;
        }
    }
    const int last = p.candidates - 1;
    const bool is_wide = least > (uint64_t)(p.candidate[last].parameter + SEARCH_COST) * all;
    td_choice choice = p.candidate[is_wide ? last : best];
    choice.by_products = is_wide || bad[best] > 0;
    return choice;
}

/* Pairs of slices whose products take as long as the repair of all of C, by single elements. */
enum { PAIRS_OF_REPAIR = 230 };

/* What costs least, pairs of slices and repairs, if elements of C are 2^(-lost / TD_LOG) of the product of peaks. */
TD_DEVICE td_choice cheapest_digits(const td_choose &p, int64_t lost)
{
    int64_t least = 0;
    int best = 0;
    for (int i = 0; i < p.candidates; i++) {
        const int64_t slices = p.candidate[i].parameter, share = p.limit[i] + lost;
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
    for (int i = (int)threadIdx.x; i < p.lines[which]; i += (int)blockDim.x) {
        const td_line line = p.line[which][(int64_t)blockIdx.z * p.lines[which] + i];
        if (line.low == TD_SPECIAL || line.low == TD_NO_LOW) continue;
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

TD_DEVICE int scale_of(const td_choose &p, const td_choice &choice, const td_line &line)
{
    if (line.low == TD_SPECIAL || line.low == TD_NO_LOW) return 0;
    if (p.rule == TD_SCALE_BY_NORM) return (choice.level - line.norm) >> 8;
    if (p.rule == TD_SCALE_BY_PEAK)
        return p.width - (line.peak >> 8) - ((line.peak & 255) >= p.peak_limit);
    return choice.parameter * choice.bits - 2 - (line.peak >> 8);
}

/* Digits of a line, from the first to the last that is not 0; 0 if they do not count. */
TD_DEVICE int digits_of(const td_choose &p, const td_choice &choice, const td_line &line)
{
    if (p.rule != TD_SCALE_BY_DIGITS || line.low == TD_SPECIAL || line.low == TD_NO_LOW) return 0;
    return choice.parameter - max(line.low + line.scale, 0) / choice.bits;
}

/* The scales of lines first, first + step, ... of a member's operand. */
TD_DEVICE void scale_lines(const td_choose &p, int which, int batch, int first, int step)
{
    const td_choice choice = p.choice[batch];
    int most = 0;
    for (int i = first; i < p.lines[which]; i += step) {
        td_line *line = &p.line[which][(int64_t)batch * p.lines[which] + i];
        line->scale = (int16_t)scale_of(p, choice, *line);
        most = max(most, digits_of(p, choice, *line));
    }
    if (p.planes && (unsigned long long)most > *p.planes)
        atomicMax(p.planes, (unsigned long long)most);
}

/* Lines for which a launch of its own takes longer than one block. */
enum { FEW_LINES = 4096 };
TD_HOST_DEVICE bool are_few(const td_choose &p)
{
    return p.lines[0] <= FEW_LINES && p.lines[1] <= FEW_LINES;
}

/* Few lines, by the block that has just chosen. */
TD_DEVICE void scale_few_lines(const td_choose &p)
{
    if (!are_few(p)) return;
    __syncthreads();
    for (int o = 0; o < 2; o++)
        scale_lines(p, o, (int)blockIdx.z, (int)threadIdx.x, (int)blockDim.x);
}

/* TD_SCALE_BY_DIGITS. Grid: 1, 1, batch member. */
static __global__ void __launch_bounds__(4 * THREADS) choose_digits_kernel(const td_choose p)
{
    td_begin_kernel();
    TD_SHARED(spreads, seen, [2]);
    if (threadIdx.x < 2) seen[threadIdx.x] = {};
    __syncthreads();
    add_spreads(p, 0, &seen[0]);
    add_spreads(p, 1, &seen[1]);
    __syncthreads();
    if (threadIdx.x == 0) p.choice[blockIdx.z] = cheapest_digits(p, lost_of(p, seen));
    scale_few_lines(p);
}

/* Grid: 1, 1, batch member. */
static __global__ void __launch_bounds__(4 * THREADS) choose_kernel(const td_choose p)
{
    td_begin_kernel();
    TD_SHARED(histogram, seen, );
    TD_SHARED(unsigned long long, bad, [TD_CHOICES]);
    const int tid = (int)threadIdx.x;
    for (int i = tid; i < (int)(sizeof seen / sizeof(uint32_t)); i += (int)blockDim.x)
        reinterpret_cast<uint32_t *>(&seen)[i] = 0;
    if (tid < TD_CHOICES) bad[tid] = 0;
    __syncthreads();
    if (p.candidates > 1) count_lines(p, &seen);
    __syncthreads();
    const int candidate = tid / BINS;
    if (p.candidates > 1 && candidate < p.candidates)
        atomicAdd(&bad[candidate],
                  (unsigned long long)count_bad(seen, tid % BINS, p.limit[candidate]));
    __syncthreads();
    if (tid == 0) {
        const td_choice choice = p.candidates > 1 ? cheapest(p, seen, bad) : p.candidate[0];
        p.choice[blockIdx.z] = choice;
        if (p.planes) atomicMax(p.planes, (unsigned long long)choice.parameter);
    }
    scale_few_lines(p);
}

/* Grid: blocks over lines, 1, batch member * 2 + operand. */
static __global__ void scale_kernel(const td_choose p)
{
    td_begin_kernel();
    scale_lines(p, (int)blockIdx.z % 2, (int)blockIdx.z / 2,
                (int)(blockIdx.x * blockDim.x + threadIdx.x), (int)(gridDim.x * blockDim.x));
}

cudaError_t td_choose_run(const td_choose *p, cudaStream_t stream)
{
    const dim3 members(1, 1, (unsigned)p->batch);
    cudaError_t error =
        p->rule == TD_SCALE_BY_DIGITS
            ? TD_LAUNCH_NEXT(choose_digits_kernel, members, 4 * THREADS, 0, stream, *p)
            : TD_LAUNCH_NEXT(choose_kernel, members, 4 * THREADS, 0, stream, *p);
    if (error != cudaSuccess || are_few(*p)) return error;
    const int lines = max(p->lines[0], p->lines[1]);
    const dim3 grid((unsigned)min(256, (lines + THREADS - 1) / THREADS), 1, 2 * (unsigned)p->batch);
    return TD_LAUNCH_NEXT(scale_kernel, grid, THREADS, 0, stream, *p);
}

cudaError_t td_choose_prepare(void)
{
    return td_load(cudaSuccess, choose_kernel, choose_digits_kernel, scale_kernel);
}
