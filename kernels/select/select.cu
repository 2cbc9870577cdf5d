/* select.cu - what the lines of both operands decide: the number of planes that A' and B' are cut
 * into, and the scales. */
#include "choose.h"

enum { THREADS = 256 };

/* Pairs of slices whose products take as long as the repair of all of C, by single elements. */
enum { PAIRS_OF_REPAIR = 230 };

/* What costs least, pairs of slices and repairs, if elements of C are 2^(-lost / TD_LOG) of the
 * product of peaks. */
TD_DEVICE td_choice cheapest_digits(const td_rule &p, int64_t lost)
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

/* Sums over an operand's lines: of norm - peak over the lines that are not all zeros, and of
 * peak - mean over those of them that have a mean; and how many lines there are of each kind. */
struct flatness {
    unsigned long long norm, mean;
    unsigned lines, lines_with_mean;
};

TD_DEVICE void add_flatness(const td_measured &p, int which, flatness *seen)
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

/* Returns by how much elements of C are smaller than the product of their lines' peaks, as a
 * logarithm. Sums of independent numbers of one size are 1 / sqrt(k) of the product of norms. Where
 * norms are little more than peaks, exponents spread so far that a sum is its largest term; for
 * lognormal numbers that is below the product of peaks by 2 - sqrt(2) of the distance from peak to
 * mean. Measured products were half-way between these two rules. */
TD_DEVICE int64_t lost_of(const td_rule &p, const flatness *seen)
{
    const int64_t flat =
        mean_of(seen[0].norm, seen[0].lines) + mean_of(seen[1].norm, seen[1].lines);
    const int64_t deep = mean_of(seen[0].mean, seen[0].lines_with_mean) +
                         mean_of(seen[1].mean, seen[1].lines_with_mean);
    const int64_t by_norms = p.log_k / 2 - flat, by_largest = deep * 75 / 256;
    return flat >= TD_LOG || by_largest < by_norms ? by_norms : (by_norms + by_largest) / 2;
}

/* TD_SCALE_BY_DIGITS. Grid: 1, 1, batch member. */
static __global__ void __launch_bounds__(4 * THREADS) choose_digits_kernel(TD_PARAMETER td_choose p)
{
    td_begin_kernel();
    TD_SHARED(flatness, seen, [2]);
    const bool has_lines = td_scalar_value(p.measured.alpha) != 0.0;
    if (threadIdx.x < 2) seen[threadIdx.x] = {};
    __syncthreads();
    for (int o = 0; o < 2 && has_lines; o++) add_flatness(p.measured, o, &seen[o]);
    __syncthreads();
    if (threadIdx.x == 0)
        p.chosen.choice[blockIdx.z] = cheapest_digits(p.rule, lost_of(p.rule, seen));
}

/* Returns the choice of a member, which each of its blocks finds for itself. */
TD_DEVICE td_choice choose_member(const td_choose &p, int batch)
{
    const td_measured &m = p.measured;
    const bool has_lines = td_scalar_value(m.alpha) != 0.0,
               is_open = has_lines && p.rule.candidates > 1,
               again = is_open && m.line_again[0] && m.shifted[batch];
    td_line_extremes seen[2] = {};
    for (int o = 0; o < 2 && is_open; o++)
        seen[o] = again ? m.extremes[batch].again[o] : m.extremes[batch].of[o];
    return choice_of_lines(p, has_lines, batch, seen);
}

/* Chooses, unless choose_digits_kernel has, and sets the scales of all lines.
 * Grid: an even number of blocks, half of them for op(A)'s lines, 1, batch member. */
static __global__ void __launch_bounds__(THREADS, 2) scale_kernel(TD_PARAMETER td_choose p)
{
    td_begin_kernel();
    const int which = (int)blockIdx.x % 2, batch = (int)blockIdx.z, tid = (int)threadIdx.x,
              block = (int)blockIdx.x / 2, blocks = (int)gridDim.x / 2;
    const td_verdict verdict = td_verdict_of(p.measured.verdict);
    const bool is_chosen = p.rule.scale == TD_SCALE_BY_DIGITS;
    const td_choice choice = verdict     ? choice_of_verdict(p.rule, verdict)
                             : is_chosen ? p.chosen.choice[batch]
                                         : choose_member(p, batch);
    if (!is_chosen && blockIdx.x == 0 && tid == 0) leave_choice(p, batch, choice);
    if (verdict || td_scalar_value(p.measured.alpha) == 0.0) return;
    td_scale_lines(p, choice, which, batch, block * THREADS + tid, blocks * THREADS);
}

cudaError_t td_choose_run(const td_choose *p, cudaStream_t stream)
{
    enum { MOST_BLOCKS = 128 }; /* for the lines of one operand of a member */
    const td_measured &m = p->measured;
    const int lines = max(m.lines[0], m.lines[1]),
              blocks = min((int)MOST_BLOCKS, (lines + THREADS - 1) / THREADS);
    const dim3 grid(2 * (unsigned)blocks, 1, (unsigned)m.batch);
    cudaError_t error = cudaSuccess;
    if (p->rule.scale == TD_SCALE_BY_DIGITS)
        error = TD_LAUNCH_NEXT(choose_digits_kernel, dim3(1, 1, (unsigned)m.batch), 4 * THREADS, 0,
                               stream, *p);
    if (error != cudaSuccess) return error;
    return TD_LAUNCH_NEXT(scale_kernel, grid, THREADS, 0, stream, *p);
}

cudaError_t td_lines_run(const td_measure *measure, const td_choose *p, cudaStream_t stream)
{
    cudaError_t error = td_measure_run(measure, stream);
    if (error == cudaSuccess && measure->route == TD_MEASURE_WHOLE) {
        error = td_choose_whole_run(measure, p, stream);
        if (p->rule.scale != TD_SCALE_BY_DIGITS) return error;
    }
    return error == cudaSuccess ? td_choose_run(p, stream) : error;
}

cudaError_t td_choose_prepare(void)
{
    return td_load(cudaSuccess, choose_digits_kernel, scale_kernel);
}

cudaError_t td_lines_prepare(void)
{
    cudaError_t error = td_measure_prepare();
    if (error == cudaSuccess) error = td_choose_prepare();
    return error == cudaSuccess ? td_choose_whole_prepare() : error;
}
