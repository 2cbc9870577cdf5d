/* select.cu - what the lines of both operands decide: the number of planes that A' and B' are cut into, and the scales. */
#include "small_estimate.h"
#include "looseness.h"

enum { THREADS = 256 };

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

/* TD_SCALE_BY_DIGITS. Grid: 1, 1, batch member. */
static __global__ void __launch_bounds__(4 * THREADS) choose_digits_kernel(TD_PARAMETER td_choose p)
{
    td_begin_kernel();
    TD_SHARED(spreads, seen, [2]);
    const bool has_lines = td_scalar_value(p.alpha) != 0.0;
    if (threadIdx.x < 2) seen[threadIdx.x] = {};
    __syncthreads();
    for (int o = 0; o < 2 && has_lines; o++) add_spreads(p, o, &seen[o]);
    __syncthreads();
    if (threadIdx.x == 0) p.choice[blockIdx.z] = cheapest_digits(p, lost_of(p, seen));
}

/* What is seen of the lines of a member that is shifted, by all of its blocks: those with shifts are looked at now. */
TD_DEVICE void look_again(const td_choose &p, int batch)
{
    enum { MOST_UNITS = 32 };
    const int lines = max(p.lines[0], p.lines[1]),
              units = min((int)MOST_UNITS, (lines + THREADS - 1) / THREADS);
    td_do_step(&p.steps[batch * TD_STEPS + TD_STEP_AGAIN], 2 * units, [&](int unit) {
        const int which = unit % 2, first = unit / 2 * THREADS + (int)threadIdx.x;
        raise_spread(see_lines(p, batch, {which, first, units * THREADS}), false,
                     &p.spread[batch].again[which]);
    });
}

/* The choice of a member, by each of its blocks. */
TD_DEVICE td_choice choose_member(const td_choose &p, int batch)
{
    const bool has_lines = td_scalar_value(p.alpha) != 0.0, is_open = has_lines && p.candidates > 1,
               again = is_open && p.line_again[0] && p.shifted[batch];
    if (again) look_again(p, batch);
    td_spread_of_lines seen[2] = {};
    for (int o = 0; o < 2 && is_open; o++)
        seen[o] = again ? p.spread[batch].again[o] : p.spread[batch].of[o];
    return choice_of_lines(p, has_lines, seen);
}

/* Chooses, unless that is done, and sets scales, or goes on to the estimate, if that is made here: estimate.steps is not NULL.
 * Grid: an even number of blocks, half of them for op(A)'s lines, 1, batch member. */
static __global__ void __launch_bounds__(THREADS, 2)
    scale_kernel(TD_PARAMETER td_choose p, TD_PARAMETER td_small_estimate estimate)
{
    TD_DYNAMIC_SHARED(small_estimate_shared, shared);
    td_begin_kernel();
    const int which = (int)blockIdx.x % 2, batch = (int)blockIdx.z, tid = (int)threadIdx.x,
              block = (int)blockIdx.x / 2, blocks = (int)gridDim.x / 2;
    const bool is_chosen = p.rule == TD_SCALE_BY_DIGITS;
    const td_choice choice = is_chosen ? p.choice[batch] : choose_member(p, batch);
    const bool goes_on = estimate.steps && choice.is_estimated;
    if (!is_chosen && !(goes_on && p.candidates > 1) && blockIdx.x == 0 && tid == 0)
        leave_choice(p, batch, choice);
    if (td_scalar_value(p.alpha) == 0.0) return;
    if (!goes_on) {
        td_scale_lines(p, choice, which, batch, block * THREADS + tid, blocks * THREADS);
        return;
    }
    td_do_step(&p.steps[batch * TD_STEPS + TD_STEP_LINES], 2 * blocks, [&](int unit) {
        td_scale_lines(p, choice, unit % 2, batch, unit / 2 * THREADS + tid, blocks * THREADS);
    });
    estimate_member(estimate, (td_room)choice.room, *shared);
}

cudaError_t td_choose_run(const td_choose *p, const td_small_estimate *estimate,
                          cudaStream_t stream)
{
    const int lines = max(p->lines[0], p->lines[1]), batch = p->batch,
              strips = min((int)MOST_BLOCKS / 2, (lines + THREADS - 1) / THREADS),
              half = estimate ? max(strips, MOST_BLOCKS / 2 / batch) : strips;
    const dim3 grid(2 * (unsigned)half, 1, (unsigned)batch);
    cudaError_t error = cudaSuccess;
    if (p->rule == TD_SCALE_BY_DIGITS)
        error = TD_LAUNCH_NEXT(choose_digits_kernel, dim3(1, 1, (unsigned)batch), 4 * THREADS, 0,
                               stream, *p);
    if (error != cudaSuccess) return error;
    return TD_LAUNCH_NEXT(scale_kernel, grid, THREADS, estimate ? sizeof(small_estimate_shared) : 0,
                          stream, *p, estimate ? *estimate : td_small_estimate{});
}

/* The most products of which an estimate takes about as long here as by kernels of its own. */
static const double SMALL_ESTIMATE = 0x1p33;

bool td_is_small_estimate(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    int bytes = 0;
    return k <= TD_ESTIMATE_K &&
           (double)m * (double)n * (double)k * (double)batch <= SMALL_ESTIMATE &&
           td_block_shared_bytes(&bytes) == cudaSuccess &&
           bytes >= (int)sizeof(small_estimate_shared);
}

cudaError_t td_choose_prepare(void)
{
    const cudaError_t error = td_load(cudaSuccess, choose_digits_kernel, scale_kernel);
    return td_allow_shared(error, scale_kernel, (int)sizeof(small_estimate_shared));
}
