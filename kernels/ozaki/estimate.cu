/* estimate.cu - what one int8 product of magnitudes says of abs(A')abs(B'), and what follows from it. */
#include "estimate.h"

#include "../int8/panels.h"
#include "../last_block.h"
#include "choose.h"
#include "finish.h"
#include "fixed_tile.h"

namespace
{

/* ---- magnitudes ---- */

/* A tile is so many elements of k of TD_FIXED_LINES lines; a thread makes those of TD_SUBTILE neighbouring elements at a time. */
enum { TILE_K = 128, MOST = 127 };

/* Exponent of a line's unit: magnitudes are mostly below 2^4 of them. */
TD_DEVICE int unit_of(const td_line &line) { return (line.typical >> 8) - 4; }

/* min(MOST, floor(abs(x) 2^exponent)). */
TD_DEVICE uint32_t magnitude_of(double x, int exponent)
{
    int q;
    const uint64_t m = td_significand64(td_bits64(x) & ~(1ull << 63), &q);
    const int down = -(q + exponent);
    if (m == 0 || down > 52) return 0;
    return down < 46 ? (uint32_t)MOST : min((uint32_t)MOST, (uint32_t)(m >> down));
}

/* Magnitudes of four neighbouring elements of a line, l counting from the tile's first. */
TD_DEVICE void store_quad(const td_magnitudes &p, const td_fixed_place &at, const double *data,
                          const double (*tile)[TD_FIXED_LINES + 1], const td_fixed_quad &own)
{
    const td_operand &o = p.fixed.operand[at.which];
    const int line = at.line0 + own.line;
    const int64_t in_pass = at.in_pass + own.l, l = at.first + in_pass;
    if (line >= at.padded_lines || in_pass >= p.k_padded) return;
    uint32_t bytes = 0;
    if (line < o.lines) {
        const td_line record =
            p.fixed.line[at.which][at.batch * p.fixed.lines_of_member[at.which] + line];
        const int16_t *shifts =
            p.fixed.shifted[at.batch] ? p.fixed.shift + at.batch * o.k + l : NULL;
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) {
            if (in_pass + i >= at.count || !td_is_counted(record)) continue;
            const double x =
                at.along ? data[td_operand_at(o, line, l + i)] : tile[own.l + i][own.line];
            const int shift = shifts ? (at.which ? -shifts[i] : shifts[i]) : 0;
            bytes |= magnitude_of(x, shift - unit_of(record)) << (8 * i);
        }
    }
    const int place = at.which ? line : td_place_of_line(line);
    int8_t *const to =
        p.plane[at.which] + ((int64_t)at.batch * at.padded_lines + place) * p.k_padded + in_pass;
    *reinterpret_cast<uint32_t *>(to) = bytes;
}

} // namespace

/* Grid: see td_fixed_grid. */
static __global__ void __launch_bounds__(TD_FIXED_THREADS) magnitudes_kernel(const td_magnitudes p)
{
    TD_SHARED(double, tile, [TILE_K][TD_FIXED_LINES + 1]);
    td_fixed_place at = td_fixed_place_of_block(p.fixed, TILE_K);
    const td_operand &o = p.fixed.operand[at.which];
    const int pad = at.which ? (int)TD_LINE_PAD : (int)TD_LINE_GROUP;
    at.padded_lines = (o.lines + pad - 1) / pad * pad;
    if (td_scalar_value(p.fixed.alpha) == 0.0 || !p.fixed.choice[at.batch].is_estimated ||
        at.line0 >= at.padded_lines)
        return;
    const double *data = td_member<const double>(o.matrix, p.fixed.batch_first + at.batch);
    if (!at.along) td_load_fixed_tile(o, at, data, tile);
    __syncthreads();
    TD_ROLLED
    for (int step = 0; step < td_fixed_steps(TILE_K); step++)
        store_quad(p, at, data, tile, td_fixed_quad_of_thread<TILE_K>(step, at.along));
}

cudaError_t td_magnitudes_run(const td_magnitudes *p, cudaStream_t stream)
{
    td_fixed padded = p->fixed;
    padded.k_count = p->k_padded;
    for (int o = 0; o < 2; o++)
        padded.operand[o].lines =
            (padded.operand[o].lines + TD_LINE_GROUP - 1) / TD_LINE_GROUP * TD_LINE_GROUP;
    return TD_LAUNCH(magnitudes_kernel, td_fixed_grid(padded, TILE_K), TD_FIXED_THREADS, 0, stream,
                     *p);
}

/* ---- ranks ---- */

namespace
{

/* The logarithm of an estimate in units of both lines, at most; NOTHING for 0. Bytes as in TD_PANEL_LOGARITHM; `eighths` is the sum
 * of what they stand for. */
enum { NOTHING = -(1 << 28) };
TD_DEVICE int log_of_eighths(uint64_t eighths)
{
    const int zeros = td_clz64(eighths);
    return eighths ? TD_LOG * (63 - zeros - 3) + (int)(eighths << zeros >> 55 & 255) : (int)NOTHING;
}

TD_DEVICE int log_of_byte(uint32_t byte)
{
    return byte ? TD_LOG / 8 * ((int)byte - 1) : (int)NOTHING;
}

/* Of TD_SUBTILE neighbouring rows. */
TD_DEVICE void load_logs(const td_estimate &p, const uint8_t *at, int (&log)[TD_SUBTILE])
{
    uint32_t bytes = *reinterpret_cast<const uint32_t *>(at);
    uint64_t eighths[TD_SUBTILE] = {};
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) log[i] = log_of_byte(bytes >> (8 * i) & 255);
    for (int s = 0, sums = p.sums > 1 ? p.sums : 0; s < sums; s++) {
        bytes = *reinterpret_cast<const uint32_t *>(at + s * p.sum_step);
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) {
            const int more = (int)(bytes >> (8 * i) & 255) - 1;
            if (more >= 0) eighths[i] += (uint64_t)(8 + (more & 7)) << (more >> 3);
            log[i] = log_of_eighths(eighths[i]);
        }
    }
}

/* How much more an element has than it needs if its lines' scales are 0: by the estimate, or by the means of its lines' logarithms.
 *
 * Where few terms of a sum count, binary64 rounds less than sqrt(k) times. In a line as many count as its sum is norms, squared: errors
 * of 2 2^-53 for each are allowed, if these are less than those of choice.need_of_estimate. */
TD_DEVICE int surplus_of(const td_line &a, const td_line &b, const td_choice &choice, int log)
{
    const int needed =
        max(choice.need_of_estimate, 52 * TD_LOG - 2 * min(a.sum - a.norm, b.sum - b.norm));
    const int by_estimate = log + TD_LOG * (unit_of(a) + unit_of(b)) - needed;
    const int by_means = a.mean + b.mean - choice.need;
    return max(log == NOTHING ? (int)NOTHING : by_estimate, by_means);
}

/* The first candidate that certifies each of TD_SUBTILE elements of a column; they are better and better. Special elements are no
 * candidate's. */
TD_DEVICE void rank_column(const td_estimate &p, const td_line (&a)[TD_SUBTILE], td_line b,
                           const int (&log)[TD_SUBTILE], int (&rank)[TD_SUBTILE])
{
    int surplus[TD_SUBTILE];
    unsigned open = 0;
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) {
        const bool is_special = a[i].low == TD_SPECIAL || b.low == TD_SPECIAL;
        rank[i] = is_special ? 0 : TD_CHOICES;
        if (!is_special) open |= 1u << i;
        surplus[i] = surplus_of(a[i], b, p.choose.candidate[0], log[i]);
    }
    for (int c = 0; c < p.choose.candidates && open; c++) {
        const td_choice &candidate = p.choose.candidate[c];
        b.scale = (int16_t)td_scale_of(p.choose, candidate, b);
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) {
            td_line row = a[i];
            row.scale = (int16_t)td_scale_of(p.choose, candidate, row);
            const bool is_certified =
                surplus[i] + TD_LOG * (row.scale + b.scale) >= td_log_error(row, b, candidate) ||
                td_is_exact(row, b, p.finish.cut);
            if ((open >> i & 1) && is_certified) {
                rank[i] = c;
                open &= ~(1u << i);
            }
        }
    }
}

enum { RANKS = TD_CHOICES + 1 };

/* Ranks the elements of a subtile; returns how many have each rank, in a byte each. */
TD_DEVICE uint64_t rank_subtile(const td_estimate &p, int row, int col)
{
    const td_target &target = p.finish.target;
    const int rows = min((int)TD_SUBTILE, target.m - row),
              columns = min((int)TD_SUBTILE, target.n - col);
    const td_line *const line[2] = {
        p.finish.line[0] + blockIdx.z * p.finish.lines_of_member[0] + row,
        p.finish.line[1] + blockIdx.z * p.finish.lines_of_member[1] + col};
    uint8_t *at =
        p.finish.ranks.of + blockIdx.z * p.finish.ranks.batch_step + col * p.finish.ranks.ld + row;
    td_line a[TD_SUBTILE];
    uint64_t counts = 0;
    if (rows <= 0) return 0;
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) a[i] = line[0][min(i, rows - 1)];
    TD_ROLLED
    for (int j = 0; j < columns; j++, at += p.finish.ranks.ld) {
        int log[TD_SUBTILE], rank[TD_SUBTILE];
        uint32_t bytes = 0;
        load_logs(p, at, log);
        rank_column(p, a, line[1][j], log, rank);
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) {
            bytes |= (uint32_t)rank[i] << (8 * i);
            if (i < rows) counts += 1ull << (8 * rank[i]);
        }
        *reinterpret_cast<uint32_t *>(at) = bytes;
    }
    return counts;
}

/* Ranks the elements of a tile, and adds up what each candidate leaves open of it, TD_FEW at most. All threads take part. */
TD_DEVICE void rank_tile(const td_estimate &p, int tile)
{
    TD_SHARED(unsigned, count, [RANKS]);
    int row, col;
    td_subtile_of_tile(p.finish.target, tile, &row, &col);
    __syncthreads();
    if (threadIdx.x < RANKS) count[threadIdx.x] = 0;
    __syncthreads();
    const uint64_t counts = rank_subtile(p, row, col);
    TD_UNROLL
    for (int r = 0; r < RANKS; r++)
        if (counts >> (8 * r) & 255) atomicAdd(&count[r], (unsigned)(counts >> (8 * r) & 255));
    __syncthreads();
    if ((int)threadIdx.x >= p.choose.candidates) return;
    unsigned open = 0;
    for (int r = (int)threadIdx.x + 1; r < RANKS; r++) open += count[r];
    if (open)
        atomicAdd(&p.open[blockIdx.z * TD_CHOICES + threadIdx.x],
                  (unsigned long long)min(open, (unsigned)TD_FEW));
}

/* A tile in binary64 takes as long as products of it modulo so many numbers. */
enum { BINARY64_COST = 40 };

/* What costs least, if a tile of TD_FEW or more open elements is made in binary64, and one of fewer costs in proportion; or to
 * make all tiles so. */
TD_DEVICE td_choice cheapest(const td_estimate &p)
{
    const unsigned long long *open = p.open + blockIdx.z * TD_CHOICES;
    uint64_t least = (uint64_t)p.tiles * TD_FEW * BINARY64_COST;
    td_choice best = p.choose.candidate[0];
    best.parameter = 0;
    best.rank = -1;
    for (int i = 0; i < p.choose.candidates; i++) {
        const uint64_t cost =
            (uint64_t)p.tiles * TD_FEW * p.choose.candidate[i].parameter + open[i] * BINARY64_COST;
        if (cost >= least) continue;
        least = cost;
        best = p.choose.candidate[i];
    }
    return best;
}

/* By all threads of a block. */
TD_DEVICE void decide(const td_estimate &p)
{
    if (threadIdx.x == 0) {
        const td_choice choice = cheapest(p);
        p.choose.choice[blockIdx.z] = choice;
        if (p.choose.planes) atomicMax(p.choose.planes, (unsigned long long)choice.parameter);
    }
    __syncthreads();
    for (int o = 0; o < 2; o++)
        td_scale_lines(p.choose, o, (int)blockIdx.z, (int)threadIdx.x, (int)blockDim.x);
}

} // namespace

/* Grid: td_rank_blocks, 1, batch member. */
static __global__ void __launch_bounds__(TD_FINISH_THREADS, 4)
    rank_kernel(TD_PARAMETER td_estimate p)
{
    td_begin_kernel();
    if (td_scalar_value(p.choose.alpha) == 0.0 || !p.choose.choice[blockIdx.z].is_estimated) return;
    td_each_tile(p.finish.target, [&](int tile) { rank_tile(p, tile); });
    if (p.choose.candidates > 1 && p.blocks > 0 && td_is_last(&p.ranked[blockIdx.z], 1, p.blocks))
        decide(p);
}

int td_rank_blocks(int m, int n)
{
    return (int)min((int64_t)TD_TURNS, (int64_t)td_tiles(m) * td_tiles(n));
}

cudaError_t td_estimate_run(const td_estimate *p, int batch, cudaStream_t stream)
{
    const dim3 grid((unsigned)td_rank_blocks(p->finish.target.m, p->finish.target.n), 1,
                    (unsigned)batch);
    return TD_LAUNCH_NEXT(rank_kernel, grid, TD_FINISH_THREADS, 0, stream, *p);
}

cudaError_t td_estimate_prepare(void)
{
    return td_load(cudaSuccess, magnitudes_kernel, rank_kernel);
}
