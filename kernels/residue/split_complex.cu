/* split_complex.cu - operands of complex products into residues z+ and z- (tables_complex.h), a
 * plane of int8 each for every modulus. */
#include "split.h"
#include "../view/access.h"
#include "pieces.h"
#include "tables_complex.h"

TD_CONSTANT(td_complex_residue_weights, td_complex_weight_table, td_make_complex_residue_weights());

/* A block has a tile of LINES lines x TILE_K complex elements of k, a warp one line of it at a
 * time, a lane RUN neighbouring elements of that: their residues are one word. */
enum { TILE_K = TD_SLICE_K, LINES = 32, THREADS = 128, WARPS = THREADS / 32, RUN = TILE_K / 32 };
static_assert((int)RUN == 4 && TD_LINE_GROUP % LINES == 0, "a word; and a bit is of whole tiles");
static_assert((1 << 20) / LINES <= 65535, "a grid has a strip of any line of the largest part");

/* Complex lines of an operand: those of op(A) are every second line of the real one. */
TD_HOST_DEVICE int lines_of(const td_fixed &fixed, int which)
{
    return which ? fixed.operand[1].lines : fixed.operand[0].lines / 2;
}
TD_HOST_DEVICE int padded_lines(const td_fixed &fixed, int which)
{
    return td_padded_lines(lines_of(fixed, which), which);
}

/* A block's tile: the first of its complex lines, and the first of its complex elements of k within
 * the pass, which has `count` of these. */
namespace
{
struct tile_place {
    int which, batch, line0, in_pass, count, k_padded;
};
} // namespace

TD_DEVICE tile_place place_of_block(const td_fixed &fixed)
{
    tile_place at;
    at.which = (int)blockIdx.z % 2;
    at.batch = (int)blockIdx.z / 2;
    at.line0 = (int)blockIdx.y * LINES;
    at.in_pass = (int)blockIdx.x * TILE_K;
    at.count = (int)(fixed.k_count / 2);
    at.k_padded = (at.count + TD_K_PAD - 1) / TD_K_PAD * TD_K_PAD;
    return at;
}

/* Neighbouring complex elements of a line as (first part, second part), and what is added to the
 * exponents of both; is_plain: without shifts that is the same number for all of a line. */
struct lane_elements {
    double x[RUN][2];
    int exponent[RUN];
    bool is_plain;
};

/* Loads the lane's elements of a line; zeros past the ends, and those of a special line. */
TD_DEVICE void load_elements(const td_residues &p, const tile_place &at, int line, int own,
                             lane_elements &to)
{
    const td_fixed &fixed = p.fixed;
    const td_view &o = fixed.operand[at.which];
    const int real_line = at.which ? line : 2 * line;
    const bool exists = line < lines_of(fixed, at.which);
    td_line record = {0, 0, 0, 0, 0, TD_SPECIAL, 0};
    if (exists)
        record = fixed.line[at.which][at.batch * fixed.lines_of_member[at.which] + real_line];
    const int left = record.low == TD_SPECIAL ? 0 : at.count - own;
    const int64_t l = fixed.k_first + 2 * (int64_t)own;
    const double *const from = td_member<const double>(o.matrix, fixed.batch_first + at.batch) +
                               td_view_at(o, exists ? real_line : 0, l);
    const int16_t *const shifts = fixed.shifted[at.batch] ? fixed.shift + at.batch * o.k + l : NULL;
    const bool is_aligned = (reinterpret_cast<uintptr_t>(from) & 15) == 0;
    to.is_plain = !shifts;
    TD_UNROLL
    for (int i = 0; i < RUN; i++) {
        const int shift = shifts && i < left ? shifts[2 * i] : 0;
        double2 x = {0.0, 0.0};
        if (i < left && is_aligned)
            x = *reinterpret_cast<const double2 *>(from + 2 * i);
        else if (i < left)
            x = {from[2 * i], from[2 * i + 1]};
        to.exponent[i] = record.scale + (at.which ? -shift : shift);
        to.x[i][0] = x.x, to.x[i][1] = x.y;
    }
}

template <int pieces> using lane_pieces = uint32_t[RUN][2][pieces];

template <int pieces>
TD_DEVICE void cut_elements(const lane_elements &own, td_round_route round,
                            lane_pieces<pieces> &piece)
{
    if (round == TD_ROUND_BINARY64 && own.is_plain && td_is_near(own.exponent[0])) {
        const double unit = td_near_power(own.exponent[0] - TD_PIECE_BITS * (pieces - 1));
        TD_UNROLL
        for (int i = 0; i < RUN; i++) TD_UNROLL
        for (int h = 0; h < 2; h++) td_cut_double<pieces>(own.x[i][h], unit, piece[i][h]);
        return;
    }
    TD_UNROLL
    for (int i = 0; i < RUN; i++) TD_UNROLL
    for (int h = 0; h < 2; h++) td_cut_number(td_bits64(own.x[i][h]), own.exponent[i], piece[i][h]);
}

/* Makes z+ and z- of the lane's elements modulo all moduli, a word each. */
template <int pieces>
TD_DEVICE void store_residues(const lane_pieces<pieces> &piece, const td_complex_weights *weights,
                              int moduli, int8_t *to, int64_t step)
{
    TD_UNROLL_N(1)
    for (int t = 0; t < moduli; t++, to += 2 * step) {
        const td_complex_weights &w = weights[t];
        uint32_t plus[RUN], minus[RUN];
        TD_UNROLL
        for (int i = 0; i < RUN; i++) {
            uint32_t a = 0, b = 0;
            TD_UNROLL
            for (int j = 0; j < pieces; j++) {
                a = __dp4a(piece[i][0][j], w.a[j], a);
                b = __dp4a(piece[i][1][j], w.b[j], b);
            }
            const uint32_t(&start)[2] = w.start[pieces - TD_SHORT_PIECES];
            plus[i] = td_residue_of(start[0] + a + b, w.inverse, w.minus_p);
            minus[i] = td_residue_of(start[1] + a - b, w.inverse, w.minus_p);
        }
        *reinterpret_cast<uint32_t *>(to) = td_lowest_bytes(plus);
        *reinterpret_cast<uint32_t *>(to + step) = td_lowest_bytes(minus);
    }
}

template <int pieces>
TD_DEVICE void make_residues(const lane_elements &own, td_round_route round,
                             const td_complex_weights *weights, int moduli, int8_t *to,
                             int64_t step)
{
    lane_pieces<pieces> piece;
    cut_elements<pieces>(own, round, piece);
    store_residues<pieces>(piece, weights, moduli, to, step);
}

TD_DEVICE void store_zeros(int moduli, int8_t *to, int64_t step)
{
    TD_UNROLL_N(1)
    for (int t = 0; t < 2 * moduli; t++, to += step) *reinterpret_cast<uint32_t *>(to) = 0;
}

/* Stores a line's residues, by a warp; returns whether any is not that of 0. */
TD_DEVICE bool store_line(const td_residues &p, const tile_place &at, int moduli, int line)
{
    const int own = at.in_pass + (int)threadIdx.x % 32 * RUN,
              place = at.which ? line : td_place_of_line(line);
    const td_complex_weights *const weights =
        at.which ? td_complex_weight_table.b : td_complex_weight_table.a[moduli];
    int8_t *const to = p.plane[at.which] +
                       ((int64_t)at.batch * padded_lines(p.fixed, at.which) + place) * at.k_padded +
                       own;
    lane_elements elements;
    uint64_t bits = 0;
    load_elements(p, at, line, own, elements);
    TD_UNROLL
    for (int i = 0; i < RUN; i++)
        bits |= (td_bits64(elements.x[i][0]) | td_bits64(elements.x[i][1])) << 1;
    const bool is_zero = !__any_sync(0xffffffffu, bits != 0);
    if (own >= at.k_padded) return !is_zero;
    if (is_zero)
        store_zeros(moduli, to, p.plane_step[at.which]);
    else if (moduli <= TD_COMPLEX_SHORT_MODULI)
        make_residues<TD_SHORT_PIECES>(elements, p.round, weights, moduli, to,
                                       p.plane_step[at.which]);
    else
        make_residues<TD_LONG_PIECES>(elements, p.round, weights, moduli, to,
                                      p.plane_step[at.which]);
    return !is_zero;
}

/* Grid: tile of k, strip of lines, batch member * 2 + operand. */
static __global__ void __launch_bounds__(THREADS)
    complex_residues_kernel(TD_PARAMETER td_residues p)
{
    td_wait_for_last();
    td_let_next_begin(); /* not before: ../crt/crt.cu looks at choices before it waits */
    const tile_place at = place_of_block(p.fixed);
    const int moduli = p.fixed.choice[at.batch].parameter, lines = padded_lines(p.fixed, at.which);
    if (at.line0 >= lines || moduli == 0 || td_scalar_value(p.fixed.alpha) == 0.0) return;
    const int end = min(at.line0 + (int)LINES, lines);
    bool is_nonzero = false;
    TD_UNROLL_N(1)
    for (int line = at.line0 + (int)threadIdx.x / 32; line < end; line += WARPS)
        is_nonzero |= store_line(p, at, moduli, line);
    if (!is_nonzero || threadIdx.x % 32 || !p.nonzero[at.which]) return;
    const int stage = at.in_pass / TILE_K;
    const int64_t word =
        td_nonzero_place(lines, at.k_padded, at.batch, at.line0 / TD_LINE_GROUP, stage);
    atomicOr(p.nonzero[at.which] + word, td_nonzero_bit(stage));
}

cudaError_t td_complex_residues_run(const td_residues *p, cudaStream_t stream)
{
    const td_fixed &fixed = p->fixed;
    const int lines = max(padded_lines(fixed, 0), padded_lines(fixed, 1));
    const dim3 grid((unsigned)((fixed.k_count / 2 + TILE_K - 1) / TILE_K),
                    (unsigned)((lines + LINES - 1) / LINES), 2 * (unsigned)fixed.batch);
    return TD_LAUNCH_NEXT(complex_residues_kernel, grid, THREADS, 0, stream, *p);
}

cudaError_t td_complex_residues_prepare(void)
{
    return td_load(cudaSuccess, complex_residues_kernel);
}
