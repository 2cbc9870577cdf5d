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

/* A tile is so many elements of k of TD_FIXED_LINES lines; a thread makes RUN neighbours of a line. */
enum { TILE_K = 128, RUN = TILE_K * TD_FIXED_LINES / TD_FIXED_THREADS, MOST = 127 };
typedef double magnitude_tile[TILE_K][TD_FIXED_LINES + 1];

/* Exponent of a line's unit: magnitudes are mostly below 2^4 of them. */
TD_DEVICE int unit_of(const td_line &line) { return (line.typical >> 8) - 4; }

/* min(MOST, floor(abs(x) 2^exponent)). */
TD_DEVICE uint32_t magnitude_of(double x, int exponent)
{
    const uint64_t bits = td_bits64(x) & ~(1ull << 63);
    const uint32_t high = (uint32_t)(bits >> 32);
    int e = (int)(high >> 20) - 1023 + exponent;
    uint32_t leading =
        (high & 0xfffffu) | 1u << 20; /* bits of the significand: 21 of a normal number's */
    if (high < 1u << 20) {            /* zero, or subnormal */
        int q;
        const uint64_t m = td_significand64(bits, &q);
        leading = (uint32_t)(m >> 32);
        e = m ? q + 52 + exponent : -1;
    }
    return e < 0 ? 0 : e > 6 ? (uint32_t)MOST : leading >> (20 - e);
}

/* A tile of an operand that stands along k, as td_load_fixed_tile has the others. */
TD_DEVICE void load_along(const td_operand &o, const td_fixed_place &at, const double *data,
                          magnitude_tile &tile)
{
    TD_UNROLL
    for (int i = 0; i < RUN; i++) {
        const int e = (int)threadIdx.x + i * TD_FIXED_THREADS, l = e % TILE_K, line = e / TILE_K;
        const bool inside = at.line0 + line < o.lines && at.in_pass + l < at.count;
        tile[l][line] =
            inside ? data[td_operand_at(o, at.line0 + line, at.first + at.in_pass + l)] : 0.0;
    }
}

/* Magnitudes of the thread's elements. */
TD_DEVICE void store_run(const td_magnitudes &p, const td_fixed_place &at,
                         const magnitude_tile &tile)
{
    const td_operand &o = p.fixed.operand[at.which];
    const int own = (int)threadIdx.x % TD_FIXED_LINES, line = at.line0 + own,
              l = (int)threadIdx.x / TD_FIXED_LINES * RUN;
    if (line >= at.padded_lines || at.in_pass + l >= p.k_padded) return;
    const td_line none = {0, 0, 0, 0, 0, TD_NO_LOW, 0};
    const td_line record =
        line < o.lines ? p.fixed.line[at.which][at.batch * p.fixed.lines_of_member[at.which] + line]
                       : none;
    const int16_t *shifts = p.fixed.shifted[at.batch]
                                ? p.fixed.shift + at.batch * o.k + at.first + at.in_pass + l
                                : NULL;
    const bool is_counted = td_is_counted(record);
    td_quad<uint32_t> bytes = {};
    TD_UNROLL
    for (int i = 0; i < RUN; i++) {
        int exponent = -unit_of(record);
        if (shifts && at.in_pass + l + i < at.count) exponent += at.which ? -shifts[i] : shifts[i];
        const uint32_t u = is_counted ? magnitude_of(tile[l + i][own], exponent) : 0;
        bytes.of[i / TD_SUBTILE] |= u << (8 * (i % TD_SUBTILE));
    }
    const int place = at.which ? line : td_place_of_line(line);
    *reinterpret_cast<td_quad<uint32_t> *>(
        p.plane[at.which] + ((int64_t)at.batch * at.padded_lines + place) * p.k_padded +
        at.in_pass + l) = bytes;
}
static_assert((int)RUN == TD_SUBTILE * TD_SUBTILE, "a run is four words of bytes");

} // namespace

/* Grid: see td_fixed_grid. */
static __global__ void __launch_bounds__(TD_FIXED_THREADS) magnitudes_kernel(const td_magnitudes p)
{
    TD_SHARED(magnitude_tile, tile, );
    td_begin_kernel();
    td_fixed_place at = td_fixed_place_of_block(p.fixed, TILE_K);
    const td_operand &o = p.fixed.operand[at.which];
    at.padded_lines = td_padded_lines(o.lines, at.which);
    if (td_scalar_value(p.fixed.alpha) == 0.0 || !p.fixed.choice[at.batch].is_estimated ||
        at.line0 >= at.padded_lines)
        return;
    const double *data = td_member<const double>(o.matrix, p.fixed.batch_first + at.batch);
    if (at.along)
        load_along(o, at, data, tile);
    else
        td_load_fixed_tile(o, at, data, tile);
    __syncthreads();
    store_run(p, at, tile);
}

cudaError_t td_magnitudes_run(const td_magnitudes *p, cudaStream_t stream)
{
    td_fixed padded = p->fixed;
    padded.k_count = p->k_padded;
    for (int o = 0; o < 2; o++)
        padded.operand[o].lines =
            (padded.operand[o].lines + TD_LINE_GROUP - 1) / TD_LINE_GROUP * TD_LINE_GROUP;
    return TD_LAUNCH_NEXT(magnitudes_kernel, td_fixed_grid(padded, TILE_K), TD_FIXED_THREADS, 0,
                          stream, *p);
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

/* Of TD_SUBTILE neighbouring rows, of which `bytes` are the first sums. */
TD_DEVICE void join_logs(const td_estimate &p, const uint8_t *at, uint32_t bytes,
                         int (&log)[TD_SUBTILE])
{
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

/* What ranking needs of a tile's lines: of rows, then columns. */
struct ranked_lines {
    td_quad<int> unit[2][TD_TILE / TD_SUBTILE], mean[2][TD_TILE / TD_SUBTILE],
        sum[2][TD_TILE / TD_SUBTILE];

    /* The logarithm of how many terms of a sum count: in a line as many as its sum is norms, squared. */
    td_quad<int> terms[2][TD_TILE / TD_SUBTILE];

    /* The first candidate that rounds nothing; of digits, how many at the end of the scaled line are 0, or INEXACT. ALWAYS: lines of
     * zeros, and special ones, which no candidate makes. */
    td_quad<int> exact[2][TD_TILE / TD_SUBTILE];

    td_quad<int> scale[TD_CHOICES][2][TD_TILE / TD_SUBTILE]; /* TD_LOG of them */
};
enum { INEXACT = -(1 << 16), ALWAYS = 1 << 20, RANKS = TD_CHOICES + 1 };

struct rank_state {
    ranked_lines lines;
    unsigned count[RANKS];
};

/* What a line is to the exactness of its elements, by the scales of candidates (td_is_exact). */
TD_DEVICE int exactness_of(const td_estimate &p, const td_line &line, const int *scale)
{
    if (line.low == TD_NO_LOW || line.low == TD_SPECIAL) return ALWAYS;
    if (p.finish.cut.digits)
        return line.low + scale[0] < 0 ? (int)INEXACT : (line.low + scale[0]) / p.finish.cut.bits;
    for (int c = 0; c < p.choose.candidates; c++)
        if (line.low + scale[c] >= 0) return c;
    return TD_CHOICES;
}

/* The first candidate that makes an element exactly, or TD_CHOICES, from what both lines are. */
TD_DEVICE int exact_rank(const td_estimate &p, int a, int b)
{
    if (max(a, b) == ALWAYS) return 0;
    if (!p.finish.cut.digits) return max(a, b);
    return a + b >= p.finish.cut.digits - 1 ? 0 : (int)TD_CHOICES;
}

/* Line i of a tile's; those beyond the matrix are as the last. */
TD_DEVICE void summarise_line(const td_estimate &p, int which, int first, int i, ranked_lines &all)
{
    const int lines = which ? p.finish.target.n : p.finish.target.m;
    const int quad = i / TD_SUBTILE, e = i % TD_SUBTILE;
    const td_line line =
        p.finish
            .line[which][blockIdx.z * p.finish.lines_of_member[which] + min(first + i, lines - 1)];
    all.unit[which][quad].of[e] = TD_LOG * unit_of(line);
    all.mean[which][quad].of[e] = line.mean;
    all.sum[which][quad].of[e] = line.sum;
    all.terms[which][quad].of[e] = 2 * (line.sum - line.norm);
    int scale[TD_CHOICES];
    for (int c = 0; c < p.choose.candidates; c++) {
        scale[c] = td_scale_of(p.choose, p.choose.candidate[c], line);
        all.scale[c][which][quad].of[e] = TD_LOG * scale[c];
    }
    all.exact[which][quad].of[e] = exactness_of(p, line, scale);
}

/* How much more an element has than it needs if its lines' scales are 0: by the estimate, or by the means of its lines' logarithms.
 *
 * Where few terms of a sum count, binary64 rounds less than sqrt(k) times: errors of 2 2^-53 for each are allowed, if these are less
 * than those of choice.need_of_estimate. */
TD_DEVICE int surplus_of(const td_choice &choice, int log, int units, int terms, int means)
{
    const int needed = max(choice.need_of_estimate, 52 * TD_LOG - terms);
    return max(log == NOTHING ? (int)NOTHING : log + units - needed, means - choice.need);
}

/* Of TD_SUBTILE neighbouring rows, and a column. */
struct ranked_column {
    const ranked_lines &lines;
    int rows, columns, column; /* numbers of quads, and the column's in its own */
    int surplus[TD_SUBTILE];

    /* The bits of elements that candidate c certifies; see td_is_certified. */
    TD_INSIDE unsigned certified(const td_estimate &p, int c) const
    {
        const td_quad<int> scale_a = lines.scale[c][0][rows], sum_a = lines.sum[0][rows];
        const int scale_b = lines.scale[c][1][columns].of[column],
                  sum_b = lines.sum[1][columns].of[column];
        unsigned bits = 0;
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) {
            const int rounding = max(sum_a.of[i] + scale_a.of[i], sum_b + scale_b);
            const int error = td_log_error_of(rounding, p.choose.candidate[c].rest);
            if (surplus[i] + scale_a.of[i] + scale_b >= error) bits |= 1u << i;
        }
        return bits;
    }
};

/* The first candidate that certifies each element of a column; they are better and better (docs/numerics.md), so that what the last one
 * does not certify none does. */
TD_DEVICE void rank_column(const td_estimate &p, const ranked_column &own, int (&rank)[TD_SUBTILE])
{
    const td_quad<int> exact = own.lines.exact[0][own.rows];
    const int exact_b = own.lines.exact[1][own.columns].of[own.column],
              last = p.choose.candidates - 1;
    unsigned open = 15;
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) rank[i] = exact_rank(p, exact.of[i], exact_b);
    const auto take = [&](int c, unsigned certified) {
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++)
            if (certified >> i & 1) rank[i] = min(rank[i], c);
        open &= ~certified;
    };
    take(0, own.certified(p, 0));
    if (open && last > 0) open &= own.certified(p, last);
    for (int c = 1; c <= last && open; c++) take(c, open & own.certified(p, c));
}

/* A subtile of the ranks: where it begins, how much of it is in C, and the first sums' logarithms. */
struct ranked_subtile {
    uint8_t *at;
    int rows, columns;
    uint32_t bytes[TD_SUBTILE];
};

TD_DEVICE ranked_subtile load_subtile(const td_estimate &p, int row, int col)
{
    const td_ranks &ranks = p.finish.ranks;
    ranked_subtile own = {ranks.of + blockIdx.z * ranks.batch_step + col * ranks.ld + row,
                          min((int)TD_SUBTILE, p.finish.target.m - row),
                          min((int)TD_SUBTILE, p.finish.target.n - col),
                          {}};
    TD_UNROLL
    for (int j = 0; j < TD_SUBTILE; j++)
        if (own.rows > 0 && j < own.columns)
            own.bytes[j] = *reinterpret_cast<const uint32_t *>(own.at + j * ranks.ld);
    return own;
}

/* Ranks the elements of a subtile; returns how many have each rank, in a byte each. */
TD_DEVICE uint64_t rank_subtile(const td_estimate &p, const ranked_lines &lines,
                                const ranked_subtile &of, int row, int col)
{
    ranked_column own = {lines, row % TD_TILE / TD_SUBTILE, col % TD_TILE / TD_SUBTILE, 0, {}};
    uint64_t counts = 0;
    if (of.rows <= 0) return 0;
    TD_UNROLL
    for (int j = 0; j < TD_SUBTILE; j++) {
        if (j >= of.columns) break;
        uint8_t *const at = of.at + j * p.finish.ranks.ld;
        const td_quad<int> unit = lines.unit[0][own.rows], mean = lines.mean[0][own.rows],
                           terms = lines.terms[0][own.rows];
        const int unit_b = lines.unit[1][own.columns].of[j],
                  mean_b = lines.mean[1][own.columns].of[j],
                  terms_b = lines.terms[1][own.columns].of[j];
        int log[TD_SUBTILE], rank[TD_SUBTILE];
        uint32_t bytes = 0;
        join_logs(p, at, of.bytes[j], log);
        own.column = j;
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++)
            own.surplus[i] = surplus_of(p.choose.candidate[0], log[i], unit.of[i] + unit_b,
                                        min(terms.of[i], terms_b), mean.of[i] + mean_b);
        rank_column(p, own, rank);
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) {
            bytes |= (uint32_t)rank[i] << (8 * i);
            if (i < of.rows) counts += 1ull << (8 * rank[i]);
        }
        *reinterpret_cast<uint32_t *>(at) = bytes;
    }
    return counts;
}

/* Ranks the elements of a tile, and adds up what each candidate leaves open of it, TD_FEW at most. All threads take part. */
TD_DEVICE void rank_tile(const td_estimate &p, int tile)
{
    TD_SHARED(rank_state, state, );
    const int m_tiles = td_tiles(p.finish.target.m), tid = (int)threadIdx.x;
    const int first[2] = {tile % m_tiles * TD_TILE, tile / m_tiles * TD_TILE};
    int row, col;
    td_subtile_of_tile(p.finish.target, tile, &row, &col);
    const ranked_subtile own = load_subtile(p, row, col);
    __syncthreads();
    if (tid < RANKS) state.count[tid] = 0;
    if (tid < 2 * TD_TILE)
        summarise_line(p, tid / TD_TILE, first[tid / TD_TILE], tid % TD_TILE, state.lines);
    __syncthreads();
    const uint64_t counts = rank_subtile(p, state.lines, own, row, col);
    TD_UNROLL
    for (int r = 0; r < RANKS; r++)
        if (counts >> (8 * r) & 255)
            atomicAdd(&state.count[r], (unsigned)(counts >> (8 * r) & 255));
    __syncthreads();
    if (tid >= p.choose.candidates) return;
    unsigned open = 0;
    for (int r = tid + 1; r < RANKS; r++) open += state.count[r];
    if (open)
        atomicAdd(&p.open[blockIdx.z * TD_CHOICES + tid],
                  (unsigned long long)min(open, (unsigned)TD_FEW));
}

/* A tile in binary64 takes as long as products of it modulo so many numbers. */
enum { BINARY64_COST = 24 };

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
        td_choice choice = cheapest(p);
        choice.room = p.choose.choice[blockIdx.z].room;
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
