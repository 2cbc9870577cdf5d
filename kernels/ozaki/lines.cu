/* lines.cu - what the Ozaki family must know of its operands before it cuts them: the norm, the mean magnitude and the exactness
 * of every line, and the shifts along k. Whole numbers throughout. */
#include "../divisor.h"
#include "line_records.h"

size_t td_unit_bytes(void) { return sizeof(unit); }

/* ---- units to lines ---- */

/* A block has so many lines; groups of its threads share their units. Few lines of many units are spread over more blocks. */
enum { MANY_LINES = 32, FEW_LINES = 8, MANY_UNITS = 128 };

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
    return line_of(all,
                   {td_log_above(sums.magnitudes), td_log_above(sums.squares),
                    td_log_above((uint64_t)(k - all.zeros))},
                   mean_of(sums.logs, k));
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

/* ---- tiles ---- */

/* Units of the lines from line_first on, of both operands of all members: first those that are neighbours in memory. */
struct tiles {
    int line_first, count;
    td_divisor units, strips, matrix; /* tiles of a line, of a unit, of a matrix */
};

static tiles tiles_of(const td_measure *p, int line_first, int lines)
{
    const int units = (int)((p->operand[0].k + TD_UNIT - 1) / TD_UNIT), strips = td_tiles(lines);
    return {line_first, units * strips * 2 * p->batch, td_divisor_of(units), td_divisor_of(strips),
            td_divisor_of(units * strips)};
}

struct place {
    int which, batch, in_strip, line0, unit; /* in_strip: of the lines measured together */
};

TD_DEVICE place place_of(const td_measure &p, const tiles &t, int number)
{
    int in_matrix, unit, strip;
    const int matrix = td_divide(number, t.matrix, &in_matrix), which = matrix % 2;
    if (p.operand[which].k_step == 1)
        strip = td_divide(in_matrix, t.units, &unit);
    else
        unit = td_divide(in_matrix, t.strips, &strip);
    return {which, matrix / 2, strip * TD_TILE, t.line_first + strip * TD_TILE, unit};
}

/* A tile, which is copied to its beginning, and the largest exponents along k of both operands. */
struct tile_of_units {
    uint64_t of[tile_shape::lines][tile_shape::pitch];
    int32_t tops[2][TD_UNIT];
};

/* Starts the copies of these. */
TD_DEVICE void copy_tops(const td_measure &p, const place &at, tile_of_units &tile)
{
    const int o = (int)threadIdx.x / TD_UNIT, own = (int)threadIdx.x % TD_UNIT;
    const int64_t l = (int64_t)at.unit * TD_UNIT + own, k = p.operand[0].k;
    if (o < 2 && l < k) td_async_copy<4>(&tile.tops[o][own], &p.tops[o][at.batch * k + l]);
}

/* The shifts of elements of k. The first tiles leave them in memory. */
TD_DEVICE void find_shifts(const td_measure &p, const place &at, int64_t left,
                           const tile_of_units &tile, shifts_of_tile &shifts)
{
    const int own = (int)threadIdx.x, part = own % PARTS, i = own / PARTS;
    if (own < TD_UNIT) {
        const int shift = own >= left ? 0 : shift_of_tops(tile.tops[0][own], tile.tops[1][own]);
        shifts.of[part][i / TD_SUBTILE].of[i % TD_SUBTILE] = at.which ? -shift : shift;
        if (own < left && at.which == 0 && at.line0 == 0)
            p.shift[at.batch * p.operand[0].k + (int64_t)at.unit * TD_UNIT + own] = (int16_t)shift;
    }
    __syncthreads();
}

/* A unit of each line of a strip. All threads take part. */
template <bool again>
TD_DEVICE void measure_units(const td_measure &p, const place &at, int units,
                             const tile_of_units &tile)
{
    TD_SHARED(int, top, [PARTS][TD_UNIT]);
    TD_SHARED(shifts_of_tile, shifts, );
    const td_operand &o = p.operand[at.which];
    const int64_t l0 = (int64_t)at.unit * TD_UNIT, left = o.k - l0;
    const int line = (int)threadIdx.x;
    unit *to = static_cast<unit *>((again ? p.units_again : p.units)[at.which]) +
               ((int64_t)at.batch * units + at.unit) * p.strip_lines + at.in_strip;
    if (again)
        find_shifts(p, at, left, tile, shifts);
    else
        find_tops(tile.of, top);
    measure_tile<again>(tile.of, left, shifts,
                        line < TD_TILE && at.line0 + line < o.lines ? to + line : NULL);
    int32_t *const bounds = p.bounds[at.which] + 2 * (at.batch * td_bounds(o.k) + l0 / TD_BOUND);
    if (!again) raise_tops(top, p.tops[at.which] + at.batch * o.k + l0, left, bounds);
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
            n.is_shifted = (p.batch == 1 || may_spread(p, at.batch, 1)) && spreads(p, at.batch);
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

cudaError_t td_measure_clear(const td_measure *p, cudaStream_t stream)
{
    return TD_LAUNCH(clear_kernel, 64, THREADS, 0, stream, *p);
}

cudaError_t td_measure_run(const td_measure *p, cudaStream_t stream)
{
    cudaError_t error = td_measure_clear(p, stream);
    if (error == cudaSuccess) error = measure_strips(p, false, stream);
    return error == cudaSuccess ? measure_strips(p, true, stream) : error;
}

cudaError_t td_measure_prepare(void)
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
