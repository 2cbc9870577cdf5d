/* lines.cu - what the Ozaki family must know of its operands before it cuts them: the norm, the mean magnitude and the exactness
 * of every line, and the shifts along k. Whole numbers throughout. */
#include "line_units.h"

#include "../last_block.h"

size_t td_unit_bytes(void) { return sizeof(unit); }

/* ---- units to lines ---- */

/* A block has so many lines; groups of its threads share their units. Few lines of many units are spread over more blocks. */
enum { MANY_LINES = 32, FEW_LINES = 8, MANY_UNITS = 128 };

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

/* Of the units of a line, `step` apart in memory, those from `first` on, `groups` apart. */
template <int groups> struct units_of_line {
    const unit *at;
    int64_t step;
    int first, count;
};

template <int groups> TD_DEVICE summary summarise_units(const units_of_line<groups> &units)
{
    summary s = NO_ELEMENTS;
    for (int u = units.first; u < units.count; u += groups) {
        const unit x = units.at[u * units.step];
        const int fraction = (int)(x.magnitudes >> FRACTION & 255);
        s = join(s, {TD_LOG * x.top + fraction, x.low, x.magnitudes >> ZEROS ? x.logs : 0, 0});
    }
    return s;
}

/* In units of 2^(top - 11). */
template <int groups> TD_DEVICE line_sums sum_units(const units_of_line<groups> &units, int top)
{
    line_sums sums = {0, 0, 0};
    for (int u = units.first; u < units.count; u += groups) {
        const unit x = units.at[u * units.step];
        const int down = top - x.top;
        sums.logs += x.logs;
        sums.magnitudes += shift_up(x.magnitudes & ((1u << FRACTION) - 1), down);
        sums.squares += shift_up(x.squares, 2 * down);
    }
    return sums;
}

template <int lines> struct line_parts {
    summary summaries[THREADS / lines][lines];
    line_sums sums[THREADS / lines][lines];
};

/* The records of some lines, by all threads of a block: the first ones have them. */
template <int lines>
TD_DEVICE td_line measure_lines(const units_of_line<THREADS / lines> &units, int64_t k,
                                line_parts<lines> &parts)
{
    enum { GROUPS = THREADS / lines };
    const int line = (int)threadIdx.x % lines, group = (int)threadIdx.x / lines;
    parts.summaries[group][line] = summarise_units(units);
    __syncthreads();
    summary all = parts.summaries[0][line];
    TD_UNROLL
    for (int i = 1; i < GROUPS; i++) all = join(all, parts.summaries[i][line]);
    parts.sums[group][line] = sum_units(units, all.peak >> 8);
    __syncthreads();
    line_sums sums = parts.sums[0][line];
    TD_UNROLL
    for (int i = 1; i < GROUPS && group == 0; i++) {
        sums.logs += parts.sums[i][line].logs;
        sums.magnitudes += parts.sums[i][line].magnitudes;
        sums.squares += parts.sums[i][line].squares;
    }
    return line_of(all.peak, all.low, all.zeros, sums, k);
}

/* ---- shifts ---- */

/* Shifts are not worth it while the exponents that they could even out spread no further. */
enum { LEAST_SPREAD = 16 };

/* Limits of what B's exponents are above A's, for all threads of a block. */
struct difference {
    int most, least;
};
constexpr difference NO_DIFFERENCE = {INT32_MIN, INT32_MAX};

TD_DEVICE difference join_differences(const difference &own)
{
    TD_SHARED(difference, all, );
    __syncthreads();
    if (threadIdx.x == 0) all = NO_DIFFERENCE;
    __syncthreads();
    if (own.most >= own.least) {
        atomicMax(&all.most, own.most);
        atomicMin(&all.least, own.least);
    }
    __syncthreads();
    return all;
}

/* False if the bounds show that no difference is far from another, in some members together. By all threads of a block. */
TD_DEVICE bool may_spread(const td_measure &p, int first, int members)
{
    const int64_t bounds = td_bounds(p.operand[0].k);
    difference all[2] = {NO_DIFFERENCE, NO_DIFFERENCE};
    for (int64_t i = threadIdx.x; i < members * bounds; i += blockDim.x) TD_UNROLL
    for (int o = 0; o < 2; o++) {
        const int32_t *const bound = p.bounds[o] + 2 * (first * bounds + i);
        all[o] = {max(all[o].most, bound[0]), min(all[o].least, bound[1])};
    }
    TD_UNROLL
    for (int o = 0; o < 2; o++) all[o] = join_differences(all[o]);
    return all[0].least == INT32_MIN || all[1].least == INT32_MIN ||
           all[1].most - all[0].least - (all[1].least - all[0].most) > LEAST_SPREAD;
}

/* True if what B's exponents are above A's spreads. By all threads of a block. */
TD_DEVICE bool spreads(const td_measure &p, int batch)
{
    const int64_t k = p.operand[0].k;
    const int32_t *a = p.tops[0] + batch * k, *b = p.tops[1] + batch * k;
    difference seen = NO_DIFFERENCE;
    if (p.batch > 1 && !may_spread(p, batch, 1)) return false;
    TD_UNROLL_N(8) /* loads under way together */
    for (int64_t l = threadIdx.x; l < k; l += blockDim.x) {
        const bool both = a[l] != INT32_MIN && b[l] != INT32_MIN;
        const int own = both ? b[l] - a[l] : 0;
        seen.most = both ? max(seen.most, own) : seen.most;
        seen.least = both ? min(seen.least, own) : seen.least;
    }
    seen = join_differences(seen);
    return seen.most >= seen.least && seen.most - seen.least > LEAST_SPREAD;
}

/* What the shifts add to the mean of (norm + sum) / 2 over an operand's lines, rounded down. */
TD_DEVICE int64_t mean_rise(const td_rise &rise, int which)
{
    const int64_t all = (int64_t)rise.sum[which], count = rise.lines[which];
    return count == 0 ? 0 : all / count - (all % count < 0);
}

/* The block's lines are measured with shifts: adds what these have changed. The last block of a member decides whether they are kept,
 * which they are if they make norms smaller. All threads take part; `counts`: the thread has a line. */
template <int lines_of_block>
TD_DEVICE void close_lines(const td_measure &p, int which, int batch, const td_line &line,
                           const td_line &again, bool counts)
{
    TD_SHARED(unsigned long long, sum, ); /* modulo 2^64 */
    TD_SHARED(unsigned, lines, );
    td_rise *const rise = &p.rise[batch];
    const int64_t own = ((again.norm + again.sum) >> 1) - ((line.norm + line.sum) >> 1);
    int blocks = 0;
    for (int o = 0; o < 2; o++)
        blocks += (p.operand[o].lines + lines_of_block - 1) / lines_of_block;
    if (threadIdx.x == 0) sum = lines = 0;
    __syncthreads();
    if (counts && line.low != TD_SPECIAL && line.low != TD_NO_LOW) {
        atomicAdd(&sum, (unsigned long long)own);
        atomicAdd(&lines, 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&rise->sum[which], sum);
        atomicAdd(&rise->lines[which], lines);
    }
    if (td_is_last(&rise->blocks, 1, blocks) && threadIdx.x == 0)
        p.shifted[batch] = mean_rise(*rise, 0) + mean_rise(*rise, 1) < 0;
}

/* Lines are made of units as they are, or of units with shifts where there are any, or of both. */
enum { PLAIN = 1, AGAIN = 2 };

/* Grid: some of the lines from line_first on, 1, batch member * 2 + operand. */
template <int lines>
static __global__ void __launch_bounds__(THREADS)
    lines_kernel(TD_PARAMETER td_measure p, int line_first, int units, int passes)
{
    td_begin_kernel();
    typedef units_of_line<THREADS / lines> units_type;
    TD_SHARED(line_parts<lines>, parts, );
    const int which = (int)blockIdx.z % 2, batch = (int)blockIdx.z / 2;
    const td_operand &o = p.operand[which];
    const int in_strip = (int)blockIdx.x * lines, group = (int)threadIdx.x / lines,
              own = in_strip + (int)threadIdx.x % lines, line = line_first + own;
    if (line_first + in_strip >= o.lines || td_scalar_value(p.alpha) == 0.0) return;
    const bool exists = line < o.lines, counts = exists && group == 0;
    const int64_t first = (int64_t)batch * units * p.strip_lines + own,
                  record = (int64_t)batch * o.lines + line;
    td_line *const to = &p.line[which][record];
    if (passes & PLAIN) {
        const unit *from = static_cast<const unit *>(p.units[which]) + first;
        const td_line made = measure_lines<lines>(
            units_type{from, p.strip_lines, group, exists ? units : 0}, o.k, parts);
        if (counts) *to = made;
    }
    if (!(passes & AGAIN) || !p.shifted[batch]) return;
    const unit *from = static_cast<const unit *>(p.units_again[which]) + first;
    __syncthreads();
    const td_line again = measure_lines<lines>(
        units_type{from, p.strip_lines, group, exists ? units : 0}, o.k, parts);
    if (counts) p.line_again[which][record] = again;
    close_lines<lines>(p, which, batch, counts ? *to : again, again, counts);
}

/* ---- all of it ---- */

/* Blocks of a multiprocessor, and tiles that each has in shared memory, where these fit. */
enum { BLOCKS = 2, STAGES = 3 };

/* Whether a block's tiles are to be measured: all that exist; again only those of members with shifts. The first tile of a member
 * leaves word of it. All threads take part. */
template <bool again> struct needs {
    int member;
    bool is_shifted;

    TD_DEVICE bool of(needs &n, const td_measure &p, const place &at)
    {
        if (again && at.batch != n.member) {
            n.member = at.batch;
            n.is_shifted = spreads(p, at.batch);
        }
        if (again && at.which == 0 && at.line0 == 0 && at.unit == 0 && threadIdx.x == 0)
            p.shifted[at.batch] = n.is_shifted;
        return at.line0 < p.operand[at.which].lines && (!again || n.is_shifted);
    }
};

/* No member has shifts. */
TD_DEVICE void leave_without_shifts(const td_measure &p)
{
    if (blockIdx.x > 0) return;
    for (int i = (int)threadIdx.x; i < p.batch; i += (int)blockDim.x) p.shifted[i] = 0;
}

/* Units without shifts, and the largest exponents along k; or again with shifts, where there are any. With several stages tiles are
 * copied while one before is measured. Blocks that run together have neighbouring tiles, which memory likes.
 * Grid: as many blocks as there are places. */
template <bool again, int stages>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    measure_kernel(TD_PARAMETER td_measure p, TD_PARAMETER tiles all)
{
    TD_DYNAMIC_SHARED(tile_of_units, tile);
    td_begin_kernel();
    if (td_scalar_value(p.alpha) == 0.0) return;
    int next = (int)blockIdx.x, own = next;
    unsigned needed = 0; /* a bit for each stage */
    needs<again> need = {-1, false};
    if (again && !may_spread(p, 0, p.batch)) {
        leave_without_shifts(p);
        return;
    }
    td_async_pipeline<stages>(
        (all.count - own + (int)gridDim.x - 1) / (int)gridDim.x,
        [&](int stage) {
            const place at = place_of(p, all, next);
            const td_operand &o = p.operand[at.which];
            next += (int)gridDim.x;
            needed &= ~(1u << stage);
            if (!needs<again>::of(need, p, at)) return;
            needed |= 1u << stage;
            td_copy_line_tile<tile_shape>(
                o, td_member<const double>(o.matrix, p.batch_first + at.batch), at.line0,
                (int64_t)at.unit * TD_UNIT, o.k, reinterpret_cast<uint64_t *>(&tile[stage]));
            if (again) copy_tops(p, at, tile[stage]);
        },
        [&](int stage) {
            const place at = place_of(p, all, own);
            own += (int)gridDim.x;
            if (!(needed >> stage & 1)) return;
            measure_units<again>(p, at, all.units.by, tile[stage]);
        });
}

/* What is added up, counted or raised later. Grid: any blocks. */
static __global__ void clear_kernel(const td_measure p)
{
    td_begin_kernel();
    const int64_t first = blockIdx.x * (int64_t)blockDim.x + threadIdx.x,
                  step = (int64_t)gridDim.x * blockDim.x;
    const int64_t tops = p.operand[0].k * p.batch, bounds = 2 * td_bounds(p.operand[0].k) * p.batch;
    TD_UNROLL_N(1) /* little code: each multiprocessor fetches it for some words */
    for (int64_t i = first; i < tops; i += step) p.tops[0][i] = p.tops[1][i] = INT32_MIN;
    TD_UNROLL_N(1)
    for (int64_t i = first; i < bounds; i += step) p.bounds[0][i] = p.bounds[1][i] = INT32_MIN;
    TD_UNROLL_N(1)
    for (int64_t i = first; i < p.batch; i += step) p.rise[i] = {};
    TD_UNROLL_N(1)
    for (int64_t i = first; i < p.clear_count; i += step) p.clear[i] = 0;
}

static void (*kernel_of(bool again, int stages))(td_measure, tiles)
{
    if (again) return stages == STAGES ? measure_kernel<true, STAGES> : measure_kernel<true, 1>;
    return stages == STAGES ? measure_kernel<false, STAGES> : measure_kernel<false, 1>;
}

/* Lines as they are, or again; where all are measured together they are made together, after the second time. */
static cudaError_t measure_strips(const td_measure *p, bool again, cudaStream_t stream)
{
    const int lines = max(p->operand[0].lines, p->operand[1].lines),
              bytes = (int)sizeof(tile_of_units);
    const bool together = lines <= p->strip_lines;
    int multiprocessors = 0, stages = 1;
    cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error == cudaSuccess) error = td_stages_of_blocks(BLOCKS, bytes, STAGES, &stages);
    for (int first = 0; first < lines && error == cudaSuccess; first += p->strip_lines) {
        const int count = min(p->strip_lines, lines - first);
        const tiles all = tiles_of(p, first, count);
        const unsigned blocks = (unsigned)min(BLOCKS * multiprocessors, all.count);
        error = TD_LAUNCH_NEXT(kernel_of(again, stages), blocks, THREADS, stages * bytes, stream,
                               *p, all);
        if (error != cudaSuccess || (together && !again)) continue;
        const bool are_long = all.units.by > MANY_UNITS;
        const int own = are_long ? FEW_LINES : MANY_LINES;
        const dim3 groups((unsigned)((count + own - 1) / own), 1, 2 * (unsigned)p->batch);
        error = TD_LAUNCH_NEXT(are_long ? lines_kernel<FEW_LINES> : lines_kernel<MANY_LINES>,
                               groups, THREADS, 0, stream, *p, first, all.units.by,
                               together ? PLAIN | AGAIN
                               : again  ? AGAIN
                                        : PLAIN);
    }
    return error;
}

cudaError_t td_measure_run(const td_measure *p, cudaStream_t stream)
{
    cudaError_t error = TD_LAUNCH(clear_kernel, 64, THREADS, 0, stream, *p);
    if (error == cudaSuccess) error = measure_strips(p, false, stream);
    return error == cudaSuccess ? measure_strips(p, true, stream) : error;
}

cudaError_t td_lines_prepare(void)
{
    cudaError_t error =
        td_load(cudaSuccess, clear_kernel, lines_kernel<MANY_LINES>, lines_kernel<FEW_LINES>);
    for (const int stages : {1, (int)STAGES})
        for (const bool again : {false, true}) {
            error = td_load(error, kernel_of(again, stages));
            error = td_allow_shared(error, kernel_of(again, stages),
                                    stages * (int)sizeof(tile_of_units));
        }
    return error;
}
