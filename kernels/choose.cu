/* choose.cu - what the lines of both operands decide: the number of parts that A' and B' are cut into, and the scales. */
#include "access.h"
#include "ozaki.h"

enum { THREADS = 256 };

/* Moduli whose products take as long as the repair of all of C, and elements whose repair takes as long as that of one. */
enum { BINS = 64, REPAIR_COST = 256, REPAIRED_TOGETHER = 64 };

/* The same for the search for large products, with which the last candidate is taken to certify nearly all. */
enum { SEARCH_COST = 4 };

/* Lines of both operands by floor(((norm + sum) / 2 - mean) / TD_LOG): all, and those that stay exact with the first candidate. */
struct histogram {
    uint32_t all[2][BINS], exact[2][BINS];
};

TD_DEVICE void count_lines(const td_choose &p, histogram *seen)
{
    for (int o = 0; o < 2; o++)
        for (int i = (int)threadIdx.x; i < p.lines[o]; i += (int)blockDim.x) {
            const td_line line = p.line[o][(int64_t)blockIdx.z * p.lines[o] + i];
            if (line.low == TD_SPECIAL || line.low == TD_NO_LOW) continue;
            const int bin = line.mean == TD_NO_MEAN
                                ? BINS - 1
                                : (((line.norm + line.sum) >> 1) - line.mean) >> 8;
            const int clamped = max(0, min((int)BINS - 1, bin));
            atomicAdd(&seen->all[o][clamped], 1u);
            if (((p.candidate[0].level - line.norm) >> 8) + line.low >= 0)
                atomicAdd(&seen->exact[o][clamped], 1u);
        }
}

/* Pairs of lines that a candidate does not certify, of those in one bin of op(A). */
TD_DEVICE uint64_t count_bad(const histogram &seen, int bin, int limit)
{
    uint64_t bad = 0;
    for (int other = 0; other < BINS; other++)
        if (bin + other + 1 > limit)
            bad += (uint64_t)seen.all[0][bin] * seen.all[1][other] -
                   (uint64_t)seen.exact[0][bin] * seen.exact[1][other];
    return bad;
}

TD_DEVICE td_choice cheapest(const td_choose &p, const histogram &seen,
                             const unsigned long long *bad)
{
    uint64_t lines[2] = {0, 0}, least = 0;
    int best = 0;
    for (int o = 0; o < 2; o++)
        for (int bin = 0; bin < BINS; bin++) lines[o] += seen.all[o][bin];
    const uint64_t all = lines[0] * lines[1];
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

/* Grid: 1, 1, batch member. */
static __global__ void __launch_bounds__(4 * THREADS) choose_kernel(const td_choose p)
{
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
        if (p.parts && p.digit_bits == 0) atomicMax(p.parts, (unsigned long long)choice.parameter);
    }
}

/* Digits of a line, from the first to the last that is not 0; 0 if they do not count. */
TD_DEVICE int digits_of(const td_choose &p, const td_choice &choice, const td_line &line)
{
    if (p.digit_bits == 0 || line.low == TD_SPECIAL || line.low == TD_NO_LOW) return 0;
    return choice.parameter - max(line.low + line.scale, 0) / p.digit_bits;
}

/* Grid: blocks over lines, 1, batch member * 2 + operand. */
static __global__ void scale_kernel(const td_choose p)
{
    const int which = (int)blockIdx.z % 2, batch = (int)blockIdx.z / 2;
    const td_choice choice = p.choice[batch];
    int most = 0;
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < p.lines[which];
         i += (int)(gridDim.x * blockDim.x)) {
        td_line *line = &p.line[which][(int64_t)batch * p.lines[which] + i];
        int scale = 0;
        if (line->low == TD_SPECIAL || line->low == TD_NO_LOW)
            scale = 0;
        else if (p.rule == TD_SCALE_BY_NORM)
            scale = (choice.level - line->norm) >> 8;
        else
            scale = p.width - (line->peak >> 8) - ((line->peak & 255) >= p.peak_limit);
        line->scale = (int16_t)scale;
        most = max(most, digits_of(p, choice, *line));
    }
    if (p.parts && (unsigned long long)most > *p.parts)
        atomicMax(p.parts, (unsigned long long)most);
}

cudaError_t td_choose_run(const td_choose *p, cudaStream_t stream)
{
    const dim3 members(1, 1, (unsigned)p->batch);
    cudaError_t error = TD_LAUNCH(choose_kernel, members, 4 * THREADS, 0, stream, *p);
    if (error != cudaSuccess) return error;
    const int lines = max(p->lines[0], p->lines[1]);
    const dim3 grid((unsigned)min(256, (lines + THREADS - 1) / THREADS), 1, 2 * (unsigned)p->batch);
    return TD_LAUNCH(scale_kernel, grid, THREADS, 0, stream, *p);
}

cudaError_t td_choose_prepare(void) { return td_load(cudaSuccess, choose_kernel, scale_kernel); }
