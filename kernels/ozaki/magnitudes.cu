/* magnitudes.cu - the int8 magnitudes of both operands, whose product is the estimate (estimate.h). */
#include "../int8/panels.h"
#include "choose.h"
#include "estimate.h"
#include "fixed_tile.h"

namespace
{

/* A tile is so many elements of k of TD_FIXED_LINES lines. A thread makes a run of neighbours of a line; of operands that stand along
 * k, pairs, PAIRS_APART apart, of its warp's lines. */
enum {
    TILE_K = 128,
    WARPS = TD_FIXED_THREADS / 32,
    RUN = TILE_K / WARPS,
    OWN_LINES = TD_FIXED_LINES / WARPS,
    PAIRS_APART = 2 * 32,
    PAIRS = TILE_K / PAIRS_APART,
    MOST = 127
};
static_assert((int)TD_FIXED_LINES == 32, "a lane has a line");
static_assert((int)RUN == TD_SUBTILE * TD_SUBTILE, "a run is four words of bytes");

/* min(MOST, floor(abs(x) 2^exponent)) of normal numbers; of others too, if the exponent is at most MOST_EXPONENT: it is 0 then. */
enum { MOST_EXPONENT = 1022, NO_EXPONENT = -(1 << 20) };
TD_DEVICE uint32_t magnitude_of(double x, int exponent)
{
    const uint32_t high = (uint32_t)(td_bits64(x) >> 32), leading = (high & 0xfffffu) | 1u << 20;
    const int drop = 20 + 1023 - exponent - (int)(high >> 20 & 0x7ff);
    return min(leading >> min(max(drop, 13), 31), (uint32_t)MOST);
}

/* Of any number. */
TD_DEVICE_CALL uint32_t magnitude_of_any(double x, int exponent)
{
    int q;
    const uint64_t m = td_significand64(td_bits64(x) & ~(1ull << 63), &q);
    const int e = q + 52 + exponent;
    if (m == 0 || e < 0) return 0;
    return e > 6 ? (uint32_t)MOST : (uint32_t)(m >> (52 - e));
}

/* What is added to the exponents of a line's elements, shifts aside; NO_EXPONENT: all magnitudes are 0. */
TD_DEVICE int exponent_of(const td_magnitudes &p, const td_fixed_place &at, int line)
{
    if (line >= p.fixed.operand[at.which].lines) return NO_EXPONENT;
    const td_line &record =
        p.fixed.line[at.which][at.batch * p.fixed.lines_of_member[at.which] + line];
    return td_is_counted(record) ? -td_estimate_unit(record) : (int)NO_EXPONENT;
}

/* What shifts add to that of element l of the pass. */
TD_DEVICE int shift_of(const td_magnitudes &p, const td_fixed_place &at, int64_t l)
{
    if (!p.fixed.shifted[at.batch] || l >= at.count) return 0;
    const int shift = p.fixed.shift[at.batch * p.fixed.operand[0].k + at.first + l];
    return at.which ? -shift : shift;
}

/* The magnitudes of neighbours, a byte each. */
template <int count> struct neighbours {
    double x[count];
    int shift[count];

    /* `exponent` is the line's. Returns 0 if all are. */
    TD_INSIDE uint32_t store(int exponent, int8_t *to) const
    {
        enum { WORDS = (count + 3) / 4 };
        struct alignas(count) {
            uint8_t of[count];
        } bytes;
        uint32_t word[WORDS] = {};
        int most = exponent + shift[0];
        TD_UNROLL
        for (int i = 1; i < count; i++) most = max(most, exponent + shift[i]);
        TD_UNROLL
        for (int i = 0; i < count; i++)
            word[i / 4] += magnitude_of(x[i], exponent + shift[i]) << (8 * (i % 4));
        if (most > MOST_EXPONENT) {
            TD_UNROLL
            for (int w = 0; w < WORDS; w++) word[w] = 0;
            TD_UNROLL
            for (int i = 0; i < count; i++)
                word[i / 4] += magnitude_of_any(x[i], exponent + shift[i]) << (8 * (i % 4));
        }
        memcpy(&bytes, word, count);
        *reinterpret_cast<decltype(bytes) *>(to) = bytes;
        uint32_t any = 0;
        TD_UNROLL
        for (int w = 0; w < WORDS; w++) any |= word[w];
        return any;
    }
};

/* Where a line's magnitudes of a pass go. */
TD_DEVICE int8_t *plane_of(const td_magnitudes &p, const td_fixed_place &at, int line)
{
    const int place = at.which ? line : td_place_of_line(line);
    return p.plane[at.which] + ((int64_t)at.batch * at.padded_lines + place) * p.k_padded;
}

/* Of operands whose lines are neighbours in memory: lanes have lines, warps runs. Returns 0 if this thread's magnitudes are. */
TD_DEVICE uint32_t make_runs(const td_magnitudes &p, const td_fixed_place &at, const double *data)
{
    const td_operand &o = p.fixed.operand[at.which];
    const int line = at.line0 + (int)threadIdx.x % 32;
    const int64_t l = at.in_pass + (int)threadIdx.x / 32 * RUN;
    if (line >= at.padded_lines || l >= p.k_padded) return 0;
    const double *from = data + td_operand_at(o, line, at.first + l);
    const int64_t left = line < o.lines ? at.count - l : 0;
    neighbours<RUN> own;
    TD_UNROLL
    for (int i = 0; i < RUN; i++) own.x[i] = i < left ? from[i * o.k_step] : 0.0;
    TD_UNROLL
    for (int i = 0; i < RUN; i++) own.shift[i] = shift_of(p, at, l + i);
    return own.store(exponent_of(p, at, line), plane_of(p, at, line) + l);
}

/* Of operands that stand along k: warps have lines. */
TD_DEVICE uint32_t make_pairs(const td_magnitudes &p, const td_fixed_place &at, const double *data)
{
    const td_operand &o = p.fixed.operand[at.which];
    const int line0 = at.line0 + (int)threadIdx.x / 32 * OWN_LINES;
    const int64_t l0 = at.in_pass + (int)threadIdx.x % 32 * 2;
    const double *from = data + td_operand_at(o, line0, at.first + l0);
    const bool are_aligned = (reinterpret_cast<uintptr_t>(from) & 15) == 0 && o.line_step % 2 == 0;
    neighbours<2> own[OWN_LINES][PAIRS];
    int exponent[OWN_LINES];
    uint32_t any = 0;
    TD_UNROLL
    for (int i = 0; i < OWN_LINES; i++) {
        TD_UNROLL
        for (int h = 0; h < PAIRS; h++) {
            const int64_t left = line0 + i < o.lines ? at.count - l0 - h * PAIRS_APART : 0;
            const double *x = from + i * o.line_step + h * PAIRS_APART;
            double2 pair = {0.0, 0.0};
            if (are_aligned && left >= 2)
                pair = *reinterpret_cast<const double2 *>(x);
            else
                pair = {left > 0 ? x[0] : 0.0, left > 1 ? x[1] : 0.0};
            own[i][h].x[0] = pair.x, own[i][h].x[1] = pair.y;
        }
    }
    TD_UNROLL
    for (int i = 0; i < OWN_LINES; i++) exponent[i] = exponent_of(p, at, line0 + i);
    TD_UNROLL
    for (int h = 0; h < PAIRS; h++) {
        const int64_t l = l0 + h * PAIRS_APART;
        const int shift[2] = {shift_of(p, at, l), shift_of(p, at, l + 1)};
        TD_UNROLL
        for (int i = 0; i < OWN_LINES; i++) {
            own[i][h].shift[0] = shift[0], own[i][h].shift[1] = shift[1];
            if (line0 + i < at.padded_lines && l < p.k_padded)
                any |= own[i][h].store(exponent[i], plane_of(p, at, line0 + i) + l);
        }
    }
    return any;
}

/* Tells that the block's tile has magnitudes that are not 0. */
TD_DEVICE void mark_nonzero(const td_magnitudes &p, const td_fixed_place &at)
{
    static_assert((int)TILE_K == TD_PIECE_K && TD_LINE_GROUP % TD_FIXED_LINES == 0,
                  "a bit is of whole tiles");
    const int stage = (int)(at.in_pass / TILE_K);
    const int64_t place =
        td_nonzero_place(at.padded_lines, p.k_padded, at.batch, at.line0 / TD_LINE_GROUP, stage);
    atomicOr(p.nonzero[at.which] + place, td_nonzero_bit(stage));
}

} // namespace

/* Grid: see td_fixed_grid; where that is many blocks, each has several tiles along k: mostly there is nothing to do. */
enum { MOST_BLOCKS = 1 << 12 };
static __global__ void __launch_bounds__(TD_FIXED_THREADS, 4)
    magnitudes_kernel(TD_PARAMETER td_magnitudes p)
{
    td_begin_kernel();
    td_fixed_place at = td_fixed_place_of_block(p.fixed, TILE_K);
    const int64_t step = (int64_t)gridDim.x * TILE_K;
    const td_operand &o = p.fixed.operand[at.which];
    at.padded_lines = td_padded_lines(o.lines, at.which);
    if (td_scalar_value(p.fixed.alpha) == 0.0 || !p.fixed.choice[at.batch].is_estimated ||
        at.line0 >= at.padded_lines)
        return;
    const double *data = td_member<const double>(o.matrix, p.fixed.batch_first + at.batch);
    TD_ROLLED
    for (; at.in_pass < p.k_padded; at.in_pass += step) {
        const uint32_t any = at.along ? make_pairs(p, at, data) : make_runs(p, at, data);
        if (p.nonzero[0] && __syncthreads_or(any != 0) && threadIdx.x == 0) mark_nonzero(p, at);
    }
}

cudaError_t td_magnitudes_run(const td_magnitudes *p, cudaStream_t stream)
{
    td_fixed padded = p->fixed;
    padded.k_count = p->k_padded;
    for (int o = 0; o < 2; o++)
        padded.operand[o].lines = td_padded_lines(padded.operand[o].lines, o);
    dim3 grid = td_fixed_grid(padded, TILE_K);
    grid.x = min(grid.x, max(1u, MOST_BLOCKS / (grid.y * grid.z)));
    return TD_LAUNCH_NEXT(magnitudes_kernel, grid, TD_FIXED_THREADS, 0, stream, *p);
}

cudaError_t td_magnitudes_prepare(void) { return td_load(cudaSuccess, magnitudes_kernel); }
