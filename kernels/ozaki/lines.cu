/* lines.cu - what the Ozaki family must know of its operands before it cuts them: the norm, the mean magnitude and the exactness
 * of every line, and the shifts along k. Whole numbers throughout. */
#include "line_units.h"

size_t td_unit_bytes(void) { return sizeof(unit); }

/* ---- units to lines ---- */

enum { LINES = 32, GROUPS = THREADS / LINES };

struct line_sums {
    int64_t logs;
    uint64_t magnitudes, squares;
};

TD_DEVICE td_line line_of(int peak, int low, int zeros, line_sums sums, int64_t k)
{
    td_line line = {0, 0, TD_NO_MEAN, 0, 0, (int16_t)low, 0};
    const int unit_log = TD_LOG * ((peak >> 8) - 11);
    if (low == TD_SPECIAL || low == TD_NO_LOW) return line;
    line.norm = unit_log + ((td_log_above(sums.squares) + 1) >> 1);
    line.sum = unit_log + td_log_above(sums.magnitudes);
    line.typical = line.sum - td_log_above((uint64_t)(k - zeros));
    if (zeros == 0) /* rounded down, also below zero */
        line.mean = (int32_t)(sums.logs / k - (sums.logs % k < 0));
    line.peak = peak;
    return line;
}

/* x / 2^down, rounded up. */
TD_DEVICE uint64_t shift_up(uint32_t x, int down)
{
    return down > 31 ? x != 0 : (x + ((1ull << down) - 1)) >> down;
}

/* Of the units of a line, `step` apart in memory, those from `first` on, GROUPS apart. */
struct units_of_line {
    const unit *at;
    int64_t step;
    int first, count;
};

TD_DEVICE summary summarise_units(const units_of_line &units)
{
    summary s = NO_ELEMENTS;
    for (int u = units.first; u < units.count; u += GROUPS) {
        const unit x = units.at[u * units.step];
        const int fraction = (int)(x.magnitudes >> FRACTION & 255);
        s = join(s, {TD_LOG * x.top + fraction, x.low, x.magnitudes >> ZEROS ? x.logs : 0, 0});
    }
    return s;
}

/* In units of 2^(top - 11). */
TD_DEVICE line_sums sum_units(const units_of_line &units, int top)
{
    line_sums sums = {0, 0, 0};
    for (int u = units.first; u < units.count; u += GROUPS) {
        const unit x = units.at[u * units.step];
        const int down = top - x.top;
        sums.logs += x.logs;
        sums.magnitudes += shift_up(x.magnitudes & ((1u << FRACTION) - 1), down);
        sums.squares += shift_up(x.squares, 2 * down);
    }
    return sums;
}

/* The record of LINES lines, by all threads of a block; to: the line's, or NULL. */
TD_DEVICE void measure_line(const units_of_line &units, int64_t k, td_line *to)
{
    TD_SHARED(summary, summaries, [GROUPS][LINES]);
    TD_SHARED(line_sums, all_sums, [GROUPS][LINES]);
    const int line = (int)threadIdx.x % LINES, group = (int)threadIdx.x / LINES;
    summaries[group][line] = summarise_units(units);
    __syncthreads();
    summary all = summaries[0][line];
    TD_UNROLL
    for (int i = 1; i < GROUPS; i++) all = join(all, summaries[i][line]);
    all_sums[group][line] = sum_units(units, all.peak >> 8);
    __syncthreads();
    if (!to) return;
    line_sums sums = all_sums[0][line];
    for (int i = 1; i < GROUPS; i++) {
        sums.logs += all_sums[i][line].logs;
        sums.magnitudes += all_sums[i][line].magnitudes;
        sums.squares += all_sums[i][line].squares;
    }
    *to = line_of(all.peak, all.low, all.zeros, sums, k);
}

/* Grid: LINES of the lines from line_first on, 1, batch member * 2 + operand. */
static __global__ void __launch_bounds__(THREADS)
    lines_kernel(const td_measure p, int line_first, int units, bool again)
{
    const int which = (int)blockIdx.z % 2, batch = (int)blockIdx.z / 2;
    const td_operand &o = p.operand[which];
    const int first = (int)blockIdx.x * LINES, group = (int)threadIdx.x / LINES;
    const int in_strip = first + (int)threadIdx.x % LINES, line = line_first + in_strip;
    if (line_first + first >= o.lines || td_scalar_value(p.alpha) == 0.0 ||
        (again && !p.shifted[batch]))
        return;
    const unit *at = static_cast<const unit *>(p.units[which]) +
                     (int64_t)batch * units * p.strip_lines + in_strip;
    td_line *lines = again ? p.line_again[which] : p.line[which];
    td_line *to = group == 0 && line < o.lines ? &lines[(int64_t)batch * o.lines + line] : NULL;
    measure_line({at, p.strip_lines, group, line < o.lines ? units : 0}, o.k, to);
}

/* ---- shifts ---- */

/* Shifts are not worth it while the exponents that they could even out spread no further. */
enum { LEAST_SPREAD = 16 };

/* Half of what B's exponents are above A's, where they spread. Grid: 1, 1, batch member. */
static __global__ void __launch_bounds__(4 * THREADS) shift_kernel(const td_measure p)
{
    TD_SHARED(int, most, );
    TD_SHARED(int, least, );
    const int batch = (int)blockIdx.z;
    const int64_t k = p.operand[0].k;
    const int32_t *a = p.tops[0] + batch * k, *b = p.tops[1] + batch * k;
    if (td_scalar_value(p.alpha) == 0.0) return;
    if (threadIdx.x == 0) {
        most = INT32_MIN;
        least = INT32_MAX;
    }
    __syncthreads();
    int my_most = INT32_MIN, my_least = INT32_MAX;
    for (int64_t l = threadIdx.x; l < k; l += blockDim.x) {
        if (a[l] == INT32_MIN || b[l] == INT32_MIN) continue;
        my_most = max(my_most, b[l] - a[l]);
        my_least = min(my_least, b[l] - a[l]);
    }
    if (my_most >= my_least) {
        atomicMax(&most, my_most);
        atomicMin(&least, my_least);
    }
    __syncthreads();
    const bool spread = most >= least && most - least > LEAST_SPREAD;
    if (threadIdx.x == 0) p.shifted[batch] = spread;
    for (int64_t l = threadIdx.x; l < k; l += blockDim.x) {
        const bool both = a[l] != INT32_MIN && b[l] != INT32_MIN;
        p.shift[batch * k + l] = (int16_t)(spread && both ? (b[l] - a[l]) >> 1 : 0);
    }
}

/* What the shifts add to the mean of (norm + sum) / 2 over an operand's lines, rounded down; for all threads of a block. */
TD_DEVICE int64_t mean_rise(const td_line *line, const td_line *line_again, int lines)
{
    TD_SHARED(unsigned long long, rise, );
    TD_SHARED(unsigned, count, );
    __syncthreads();
    if (threadIdx.x == 0) rise = count = 0;
    __syncthreads();
    for (int i = (int)threadIdx.x; i < lines; i += (int)blockDim.x) {
        const td_line a = line[i], b = line_again[i];
        if (a.low == TD_SPECIAL || a.low == TD_NO_LOW) continue;
        const int change = ((b.norm + b.sum) >> 1) - ((a.norm + a.sum) >> 1);
        atomicAdd(&rise, (unsigned long long)change); /* modulo 2^64 */
        atomicAdd(&count, 1u);
    }
    __syncthreads();
    if (count == 0) return 0;
    const int64_t all = (int64_t)rise, each = all / count;
    return each - (all % count < 0);
}

/* Keeps the shifts, and the lines as they are with them, if these make norms smaller. Grid: 1, 1, batch member. */
static __global__ void __launch_bounds__(4 * THREADS) keep_kernel(const td_measure p)
{
    const int batch = (int)blockIdx.z, lines[2] = {p.operand[0].lines, p.operand[1].lines};
    if (td_scalar_value(p.alpha) == 0.0 || !p.shifted[batch]) return;
    td_line *line[2];
    const td_line *line_again[2];
    int64_t rise = 0;
    for (int o = 0; o < 2; o++) {
        line[o] = p.line[o] + (int64_t)batch * lines[o];
        line_again[o] = p.line_again[o] + (int64_t)batch * lines[o];
        rise += mean_rise(line[o], line_again[o], lines[o]);
    }
    for (int o = 0; o < 2 && rise < 0; o++)
        for (int i = (int)threadIdx.x; i < lines[o]; i += (int)blockDim.x)
            line[o][i] = line_again[o][i];
    __syncthreads();
    if (threadIdx.x == 0) p.shifted[batch] = rise < 0;
}

/* Grid: blocks over both operands' exponents. */
static __global__ void clear_tops_kernel(const td_measure p)
{
    const int64_t count = p.operand[0].k * p.batch;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * blockDim.x)
        p.tops[0][i] = p.tops[1][i] = INT32_MIN;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < p.clear_count;
         i += (int64_t)gridDim.x * blockDim.x)
        p.clear[i] = 0;
}

static void (*kernel_of(bool again, int stages))(td_measure, tiles)
{
    if (again) return stages == 2 ? measure_kernel<true, 2> : measure_kernel<true, 1>;
    return stages == 2 ? measure_kernel<false, 2> : measure_kernel<false, 1>;
}

static cudaError_t measure_strips(const td_measure *p, bool again, cudaStream_t stream)
{
    const int lines = max(p->operand[0].lines, p->operand[1].lines),
              bytes = (int)sizeof(tile_of_units);
    int multiprocessors = 0, stages = 1;
    cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error == cudaSuccess) error = td_stages_of_blocks(BLOCKS, bytes, &stages);
    for (int first = 0; first < lines && error == cudaSuccess; first += p->strip_lines) {
        const int count = min(p->strip_lines, lines - first);
        const tiles all = tiles_of(p, first, count);
        const unsigned blocks = (unsigned)min(BLOCKS * multiprocessors, all.count);
        error =
            TD_LAUNCH(kernel_of(again, stages), blocks, THREADS, stages * bytes, stream, *p, all);
        if (error != cudaSuccess) break;
        const dim3 groups((unsigned)((count + LINES - 1) / LINES), 1, 2 * (unsigned)p->batch);
        error = TD_LAUNCH(lines_kernel, groups, THREADS, 0, stream, *p, first, all.units, again);
    }
    return error;
}

cudaError_t td_measure_run(const td_measure *p, cudaStream_t stream)
{
    const dim3 members(1, 1, (unsigned)p->batch);
    cudaError_t error = TD_LAUNCH(clear_tops_kernel, 64, THREADS, 0, stream, *p);
    if (error == cudaSuccess) error = measure_strips(p, false, stream);
    if (error == cudaSuccess) error = TD_LAUNCH(shift_kernel, members, 4 * THREADS, 0, stream, *p);
    if (error == cudaSuccess) error = measure_strips(p, true, stream);
    if (error == cudaSuccess) error = TD_LAUNCH(keep_kernel, members, 4 * THREADS, 0, stream, *p);
    return error;
}

cudaError_t td_lines_prepare(void)
{
    cudaError_t error =
        td_load(cudaSuccess, clear_tops_kernel, lines_kernel, shift_kernel, keep_kernel);
    for (int stages = 1; stages <= 2; stages++)
        for (const bool again : {false, true}) {
            error = td_load(error, kernel_of(again, stages));
            error = td_allow_shared(error, kernel_of(again, stages),
                                    stages * (int)sizeof(tile_of_units));
        }
    return error;
}
