/* measure_whole.cu - measures lines that a block can have whole, and chooses: one pass over both operands, and a kernel that mostly has
 * little to do, but measures again, and estimates, where that is wanted. The records are those that measure.cu makes. */
#include "record.h"
#include "../select/small_estimate.h"
#include "../select/looseness.h"

/* A block has a warp's lines, whose units its warps have in turn. In the end a warp has one line. */
enum { LINES = WARP_LINES, MOST_UNITS = TD_SHORT_K / TD_UNIT };
static_assert((int)LINES == (int)WARPS, "a line for each warp");
static_assert((int)MOST_UNITS <= 64, "sums of a line's logarithms have 31 bits");

struct units_of_block {
    unit of[LINES][MOST_UNITS];
};

/* ---- units ---- */

/* Leaves each lane half of the heights that it shares with one of another line, the larger of either. */
template <int left> TD_DEVICE void join_heights(int (&x)[PER_THREAD])
{
    const bool is_upper = (threadIdx.x & (unsigned)left) != 0;
    TD_UNROLL
    for (int i = 0; i < 2 * left; i++) {
        const int keep = is_upper ? x[i + 2 * left] : x[i],
                  give = is_upper ? x[i] : x[i + 2 * left];
        x[i] = max(keep, __shfl_xor_sync(~0u, give, left));
    }
}

/* The largest heights over the warp's lines, of two elements of k: x becomes the second one's, it returns which is the first. */
TD_DEVICE int join_lines(int (&x)[PER_THREAD])
{
    static_assert((int)LINES == 8 && (int)PER_THREAD == 16, "three steps leave two");
    const int lane = (int)threadIdx.x % 32;
    join_heights<4>(x);
    join_heights<2>(x);
    join_heights<1>(x);
    return lane / LINES + 2 * PARTS * (lane % LINES);
}

/* Raises the bounds of a unit's elements of k, of which `left` are not past the end. least: the smallest height of the lane's part, which
 * the largest heights of its elements of k are not below, whichever line it is of. By whole warps. */
TD_DEVICE void raise_bounds(const summary &all, int least, int left, int32_t *bounds)
{
    const int lane = (int)threadIdx.x % 32;
    TD_UNROLL
    for (int d = 1; d < LINES; d *= 2) least = max(least, __shfl_xor_sync(~0u, least, d));
    TD_UNROLL
    for (int d = LINES; d < 32; d *= 2) least = min(least, __shfl_xor_sync(~0u, least, d));
    const int most = td_warp_max((all.peak >> 8) - NO_EXPONENT),
              own = lane % 2 ? least : most; /* both for each TD_BOUND elements */
    if (lane < 2 * TD_UNIT / TD_BOUND && lane / 2 * TD_BOUND < left && own > 0)
        atomicMax(&bounds[lane], own + NO_EXPONENT);
}

/* Where a lane's elements of the operand are: of one of LINES lines from line0 on, the last one in the place of those beyond. */
struct lane_place {
    const uint64_t *at;
    int64_t k_step;
    int k, own, part, which;

    TD_INSIDE lane_place(const td_measure &p, int which_, int batch, int line0)
        : k_step(p.operand[which_].k_step), k((int)p.operand[which_].k),
          own((int)threadIdx.x % LINES), part((int)threadIdx.x % 32 / LINES), which(which_)
    {
        const td_view &o = p.operand[which];
        at = reinterpret_cast<const uint64_t *>(
                 td_member<const double>(o.matrix, p.batch_first + batch)) +
             td_view_at(o, min(line0 + own, o.lines - 1), part);
    }
    /* Of a unit, from l0 on. */
    TD_INSIDE operand_elements unit_at(int l0) const
    {
        const int count = (k - l0 - part + PARTS - 1) / PARTS;
        return {at + l0 * k_step, PARTS * k_step, {}, min((int)PER_THREAD, max(0, count)), which};
    }
};

/* Raises the largest exponents along k by the block's lines. */
TD_DEVICE void raise_tops(const td_measure &p, int which, int batch, int line0)
{
    const lane_place place(p, which, batch, line0);
    int32_t *const tops = p.tops[which] + (int64_t)batch * place.k;
    TD_ROLLED
    for (int l0 = (int)threadIdx.x / 32 * TD_UNIT; l0 < place.k; l0 += WARPS * TD_UNIT) {
        const operand_elements mine = place.unit_at(l0);
        int x[PER_THREAD];
        TD_UNROLL
        for (int i = 0; i < PER_THREAD; i++) x[i] = height_of(magnitude(mine.load_padded(i)));
        const int first = l0 + join_lines(x);
        TD_UNROLL
        for (int i = 0; i < 2; i++)
            if (x[i]) atomicMax(&tops[first + i * PARTS], x[i] + NO_EXPONENT);
    }
}

/* Returns when what is raised is cleared, by the first block or by the kernel before. */
TD_DEVICE void wait_until_cleared(const td_measure &p)
{
    if (p.mark)
        td_wait_for_mark(p.cleared, p.mark);
    else
        td_wait_for_last();
}

/* The units of some lines of a member's operand, by all threads of a block. `again`: with shifts, of which the first lines leave word;
 * else the bounds of the largest exponents along k are raised. */
template <bool again>
TD_DEVICE void measure_units(const td_measure &p, int which, int batch, int line0,
                             units_of_block &units)
{
    const lane_place place(p, which, batch, line0);
    const int k = place.k, own = place.own, part = place.part;
    TD_ROLLED
    for (int u = (int)threadIdx.x / 32; u * TD_UNIT < k; u += WARPS) {
        const int l0 = u * TD_UNIT;
        operand_elements mine = place.unit_at(l0);
        TD_UNROLL
        for (int o = 0; o < 2 && again; o++)
            mine.tops[o] = p.tops[o] + (int64_t)batch * k + l0 + part;
        part_of_unit seen = {};
        const int least = summarise_part<again>(mine, seen);
        const summary all = join_parts(seen.own);
        const sums_of_unit sums = add_parts(sum_part<again>(mine, seen, all));
        if (part == 0) units.of[own][u] = unit_of(all, sums);
        if (again) {
            for (int i = 0; i < mine.count && own == 0 && line0 == 0 && which == 0; i++)
                p.shift[(int64_t)batch * k + l0 + part + i * PARTS] = (int16_t)mine.shift(i);
        } else {
            if (l0 < WARPS * TD_UNIT) wait_until_cleared(p); /* the warp's first */
            raise_bounds(all, least, k - l0,
                         p.bounds[which] + 2 * (batch * td_bounds(k) + l0 / TD_BOUND));
        }
    }
}

/* ---- lines ---- */

/* The record of a line, by a warp. */
TD_DEVICE td_line join_units(const td_choose &c, const unit *units, int64_t k)
{
    const int lane = (int)threadIdx.x % 32;
    const units_of_line<32> own = {units, 1, lane, (int)((k + TD_UNIT - 1) / TD_UNIT)};
    summary all = summarise_units(own);
    all.peak = td_warp_max(all.peak);
    all.low = -td_warp_max(-all.low);
    all.zeros = td_warp_add(all.zeros);
    const line_sums some = sum_units(own, all.peak >> 8);
    const int logs = td_warp_add((int)some.logs);
    const uint64_t sums[2] = {td_warp_add_long(some.magnitudes), td_warp_add_long(some.squares)};
    const int log = td_log_above(lane == 0   ? sums[0]
                                 : lane == 1 ? sums[1]
                                             : (uint64_t)(k - all.zeros));
    td_line line =
        line_of(all, {__shfl_sync(~0u, log, 0), __shfl_sync(~0u, log, 1), __shfl_sync(~0u, log, 2)},
                mean_of(logs, (int)k));
    if (c.counts_rounded) {
        const int scale = td_scale_of(c, c.candidate[0], line),
                  count = td_warp_add(find_rounded(own, scale).count);
        line.rounded = log_of_rounded(td_is_counted(line) ? count * TD_UNIT : 0, k);
    }
    return line;
}

/* Grid: one block, and blocks over lines, 1, batch member * 2 + operand. The first block clears, or else the kernel before, with which nothing
 * that is read or written here has to do until something is raised. */
static __global__ void __launch_bounds__(THREADS, 2)
    measure_kernel(TD_PARAMETER td_measure p, TD_PARAMETER td_choose c)
{
    TD_SHARED(units_of_block, units, );
    td_let_next_begin();
    if (p.mark) td_wait_for_last();
    const int which = (int)blockIdx.z % 2, batch = (int)blockIdx.z / 2,
              line0 = ((int)blockIdx.x - 1) * LINES, own = (int)threadIdx.x / 32;
    const td_view &o = p.operand[which];
    if (p.mark && blockIdx.x == 0 && blockIdx.z == 0) clear_and_mark(p);
    if (line0 < 0 || line0 >= o.lines || td_scalar_value(p.alpha) == 0.0) {
        td_wait_for_last();
        return;
    }
    measure_units<false>(p, which, batch, line0, units);
    __syncthreads();
    const td_line line = join_units(c, units.of[own], o.k);
    const bool exists = line0 + own < o.lines;
    td_wait_for_last();
    if (exists && threadIdx.x % 32 == 0)
        p.line[which][(int64_t)batch * o.lines + line0 + own] = line;
    if (c.candidates <= 1) return;
    seen_of_lines seen;
    if (exists && threadIdx.x % 32 == 0) seen.add(c, line);
    raise_spread(seen, false, &c.spread[batch].of[which]);
}

/* ---- the choice ---- */

/* A member's blocks have lines of op(A) and op(B) in turn: sets this one's with the scales of a choice. */
TD_DEVICE void scale_share(const td_choose &c, const td_choice &choice, int batch)
{
    const int which = (int)blockIdx.x % 2, block = (int)blockIdx.x / 2, threads = (int)blockDim.x;
    td_scale_lines_from(c, choice, c.line[which] + (int64_t)batch * c.lines[which], which, batch,
                        block * threads + (int)threadIdx.x, (int)gridDim.x / 2 * threads);
}

/* The choice of a member, shifted or not, and the scales of all its lines, by one block. */
TD_DEVICE void choose_and_scale_all(const td_choose &c, int batch)
{
    TD_SHARED(td_spread_of_lines, seen, [2]);
    const share_of_lines own = share_of_thread(0, 1);
    if (threadIdx.x < 2) seen[threadIdx.x] = {};
    __syncthreads();
    raise_shared_spread(see_lines(c, batch, own), &seen[own.which]);
    __syncthreads();
    if (threadIdx.x == 0) leave_choice(c, batch, choice_of_lines(c, true, seen));
    __syncthreads();
    td_scale_lines(c, c.choice[batch], own.which, batch, own.first, own.step);
}

/* Units of the steps: LINES lines of op(A), then of op(B). */
TD_HOST_DEVICE int strips_of(const td_measure &p, int which)
{
    return (p.operand[which].lines + LINES - 1) / LINES;
}
TD_DEVICE int strips_of_both(const td_measure &p) { return strips_of(p, 0) + strips_of(p, 1); }

struct strip {
    int which, line0;

    TD_INSIDE strip(const td_measure &p, int unit)
        : which(unit >= strips_of(p, 0)), line0((which ? unit - strips_of(p, 0) : unit) * LINES)
    {
    }
};

/* Measures lines again, with shifts. Who has a member's last ones knows whether these are kept, and chooses. */
TD_DEVICE void measure_again(const td_measure &p, const td_choose &c, const strip &at, int batch,
                             units_of_block &units)
{
    const td_view &o = p.operand[at.which];
    const int own = at.line0 + (int)threadIdx.x / 32;
    const int64_t record = (int64_t)batch * o.lines + min(own, o.lines - 1);
    const bool counts = own < o.lines && threadIdx.x % 32 == 0;
    measure_units<true>(p, at.which, batch, at.line0, units);
    __syncthreads();
    const td_line again = join_units(c, units.of[threadIdx.x / 32], o.k),
                  line = p.line[at.which][record];
    if (counts) p.line_again[at.which][record] = again;
    if (!close_lines<LINES>(p, at.which, batch, line, again, counts) ||
        c.rule == TD_SCALE_BY_DIGITS)
        return;
    __syncthreads();
    choose_and_scale_all(c, batch);
}

/* True if a member has been measured again, since exponents spread along k. */
TD_DEVICE bool has_measured_again(const td_measure &p, const td_choose &c, int batch,
                                  units_of_block &units)
{
    if (!may_spread_by_warp(p, batch)) return false;
    td_step *const steps = p.steps + batch * TD_STEPS;
    td_do_step(&steps[TD_STEP_TOPS], strips_of_both(p), [&](int unit) {
        const strip at(p, unit);
        raise_tops(p, at.which, batch, at.line0);
    });
    if (!spreads(p, batch)) return false;
    td_do_step(&steps[TD_STEP_AGAIN], strips_of_both(p),
               [&](int unit) { measure_again(p, c, strip(p, unit), batch, units); });
    return true;
}

/* What lines choose for a member; left, with scales, unless the estimate is here and has to decide. */
TD_DEVICE td_choice choose_member(const td_measure &p, const td_choose &c, int batch,
                                  bool estimates, units_of_block &units)
{
    if (has_measured_again(p, c, batch, units)) return c.choice[batch];
    const td_spread_of_lines seen[2] = {c.spread[batch].of[0], c.spread[batch].of[1]};
    const td_choice choice = choice_of_lines(c, true, seen);
    if (estimates && choice.is_estimated && c.candidates > 1) return choice;
    if (blockIdx.x == 0 && threadIdx.x == 0) leave_choice(c, batch, choice);
    scale_share(c, choice, batch);
    return choice;
}

/* What is shared in one step, or in another. */
union settle_shared {
    units_of_block units;
    small_estimate_shared estimate;
};

/* Chooses; mostly bounds show that shifts are of no use, and lines that no estimate is needed: then blocks wait for no others. estimate.steps
 * is NULL if the estimate is not made here. Grid: an even number of blocks, 1, batch member. */
static __global__ void __launch_bounds__(THREADS, 2)
    settle_kernel(TD_PARAMETER td_measure p, TD_PARAMETER td_choose c,
                  TD_PARAMETER td_small_estimate estimate)
{
    TD_DYNAMIC_SHARED(settle_shared, shared);
    td_begin_kernel();
    const int batch = (int)blockIdx.z;
    if (td_scalar_value(p.alpha) == 0.0) {
        if (blockIdx.x == 0 && threadIdx.x == 0 && c.rule != TD_SCALE_BY_DIGITS)
            leave_choice(c, batch, choice_of_lines(c, false, NULL));
        return;
    }
    if (c.rule == TD_SCALE_BY_DIGITS) {
        has_measured_again(p, c, batch, shared->units);
        return;
    }
    const td_choice choice = choose_member(p, c, batch, estimate.steps != NULL, shared->units);
    if (estimate.steps && choice.is_estimated)
        estimate_member(estimate, (td_room)choice.room, shared->estimate);
}

/* ---- all of it ---- */

/* Of more elements in both operands tiles are measured: exponents that spread, and zeros, take less time there. So are many lines of less
 * than WARPS units, which leave warps idle, but for blocks that all run at a time. */
enum { MOST_ELEMENTS = 1 << 21, BLOCKS_OF_K = 4, ONE_TURN = 256, SETTLING_BLOCKS = 128 };

bool td_lines_are_short(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    const int64_t strips = 2 * batch * ((max(m, n) + LINES - 1) / LINES);
    return k <= TD_SHORT_K && strips * LINES * k <= MOST_ELEMENTS &&
           strips <= max((int64_t)ONE_TURN, BLOCKS_OF_K * k);
}

cudaError_t td_lines_run(const td_measure *p, const td_choose *c, const td_small_estimate *estimate,
                         cudaStream_t stream)
{
    cudaError_t error;
    if (!p->are_short) {
        error = td_measure_run(p, c, stream);
        return error == cudaSuccess ? td_choose_run(c, estimate, stream) : error;
    }
    td_measure own = *p;
    const unsigned strips = (unsigned)max(strips_of(*p, 0), strips_of(*p, 1)),
                   members = (unsigned)p->batch,
                   few = min(strips, max(1u, SETTLING_BLOCKS / members));
    error = td_measure_clear(&own, stream);
    if (error == cudaSuccess)
        error = TD_LAUNCH_NEXT(measure_kernel, dim3(1 + strips, 1, 2 * members), THREADS, 0, stream,
                               own, *c);
    if (error == cudaSuccess)
        error = TD_LAUNCH_NEXT(settle_kernel, dim3(2 * few, 1, members), THREADS,
                               estimate ? sizeof(settle_shared) : sizeof(units_of_block), stream,
                               *p, *c, estimate ? *estimate : td_small_estimate{});
    if (error != cudaSuccess || c->rule != TD_SCALE_BY_DIGITS) return error;
    return td_choose_run(c, NULL, stream);
}

cudaError_t td_lines_prepare(void)
{
    cudaError_t error = td_measure_prepare();
    if (error == cudaSuccess) error = td_choose_prepare();
    error = td_load(error, measure_kernel, settle_kernel);
    return td_allow_shared(error, settle_kernel, (int)sizeof(settle_shared));
}
