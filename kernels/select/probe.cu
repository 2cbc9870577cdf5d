/* probe.cu - a verdict by a few lines, in two kernels: what is known of slices of the lines and of
 * blocks beside them, then the lines' records and the bounds of their products, which the last
 * block of a tile joins. */
#include "probe.h"

#include <math.h>

#include "../arithmetic/logarithm.h"
#include "../device/last_block.h"
#include "../device/warp.h"
#include "choose.h"
#include "cost.h"
#include "error.h"
#include "probe_blocks.h"
#include "probe_lines.h"

namespace
{

/* Sums over elements of lines of which a number is so far from 1 are not made: the verdict is
 * native then. */
enum { FAR_EXPONENT = 480 };

/* What blocks of threads have done, and what they have seen of all tiles: zeros before the second
 * kernel. left: elements that each candidate leaves, as all tiles of C have them for each subtile,
 * of subtiles whose lines meet; of the others, if theirs met. met: how many meet. */
struct probe_counts {
    int32_t pairs_done[TILES], tiles_done;
    td_line_extremes seen[2];
    int32_t is_far, left[2][TD_CHOICES], met;
};
enum { COUNT_WORDS = sizeof(probe_counts) / sizeof(int32_t) };
static_assert((int)COUNT_WORDS <= (int)THREADS, "a thread for each");

struct probe_work {
    probe_counts counts;
    line_part part[STRIPS][LINES][SLICES];
    uint32_t sum[TILES][SLICES][THREADS];
    uint8_t holds[STRIPS][MOST_BLOCKS];
};

TD_DEVICE probe_work &work_of(const td_probe &p) { return *reinterpret_cast<probe_work *>(p.work); }

/* True if alpha is 0: then neither operand is read. */
TD_DEVICE bool reads_none(const td_probe &p)
{
    const td_term alpha = td_complex_scalar(p.alpha, p.alpha_is_real || !p.factor[0].is_complex);
    return alpha.re == 0.0 && alpha.im == 0.0;
}

/* ---- slices of lines and blocks beside them ---- */

/* What is known of a slice of a strip's lines. By all threads. */
TD_DEVICE void look_at_slice(const td_probe &p, const strip &lines, int number)
{
    const int i = (int)threadIdx.x / LINES, lane = (int)threadIdx.x % LINES;
    const slice own(p, (int)blockIdx.x);
    const probed_line line(p, lines, i);
    line_part seen = none_of_line();
    TD_ROLLED
    for (int64_t l = own.first + lane; l < own.end; l += AT_ONCE * LINES) {
        double x[AT_ONCE];
        line.load(l, LINES, own.end, x);
        TD_UNROLL
        for (int e = 0; e < AT_ONCE; e++) add(seen, x[e]);
    }
    seen = join_lanes(seen, LINES);
    if (lane == 0) work_of(p).part[number][i][blockIdx.x] = seen;
}

/* Grid: slices of a strip and behind them its blocks; strip. The next kernel begins after the wait,
 * so that it may read the operands before its own. */
static __global__ void __launch_bounds__(THREADS) probe_lines_kernel(TD_PARAMETER td_probe p)
{
    const int number = (int)blockIdx.y, slices = slices_of(p), block = (int)blockIdx.x - slices;
    const strip lines = strip_of(p, number);
    td_wait_for_last();
    td_let_next_begin();
    probe_work &work = work_of(p);
    if (blockIdx.x == 0 && number == 0 && (int)threadIdx.x < COUNT_WORDS)
        reinterpret_cast<int32_t *>(&work.counts)[threadIdx.x] = 0;
    if (reads_none(p)) return;
    if (block < 0) {
        look_at_slice(p, lines, number);
        return;
    }
    const int holds = holds_of_block(p, lines, block, blocks_of(slices));
    if (threadIdx.x == 0) work.holds[number][block] = (uint8_t)holds;
}

/* ---- records of lines ---- */

/* 256 log2(x) of a finite x > 0: at least, and at most 2 above it. */
TD_DEVICE int log_of(double x)
{
    int q;
    const uint64_t m = td_significand64(td_bits64(x), &q);
    return td_log_above(m) + TD_LOG * q;
}

TD_DEVICE bool is_special(const line_part &all) { return !td_is_finite64(all.peak); }

/* The record of a line of k terms (../measure/line.h), but for the last bits of its logarithms. By
 * at least four neighbouring lanes, which all know the line; `lane` is that among them. */
TD_DEVICE td_line record_of(const line_part &all, int64_t k, int lane)
{
    const bool is_counted = all.nonzero != 0 && !is_special(all);
    const double own = lane == 0 ? all.square : lane == 1 ? all.sum : (double)all.nonzero;
    const int log = is_counted && own > 0.0 && own < 0x1p1023 ? log_of(own) : 0,
              first = ((int)threadIdx.x % 32) & ~7, norm = __shfl_sync(~0u, log, first),
              sum = __shfl_sync(~0u, log, first + 1), count = __shfl_sync(~0u, log, first + 2);
    td_line line = {0, 0, TD_NO_MEAN, 0, 0, TD_NO_LOW, 0};
    if (is_special(all)) line.low = TD_SPECIAL;
    if (!is_counted) return line;
    line.norm = norm / 2 + 1;
    line.sum = sum;
    line.typical = sum - count;
    line.peak = (int)biased_log(all.peak) - LOG_BIAS;
    if (all.nonzero == k) line.mean = (int)((float)all.logs / (float)k) - LOG_BIAS;
    line.low = (int16_t)all.low;
    return line;
}

TD_DEVICE bool is_far(const td_line &line)
{
    return td_is_counted(line) && abs(line.peak / TD_LOG) > FAR_EXPONENT;
}

static_assert(TD_CHOICES * SUBTILES <= (int)THREADS, "a thread for each");
enum { LANES = THREADS / (2 * LINES) }; /* that have a line of a tile */
static_assert((int)LANES == 8, "what record_of takes");

/* Joins the slices of a tile's lines into records in shared memory; `raises`: and raises the
 * extremes of their operands by them. */
TD_DEVICE void join_lines(const td_probe &p, int tile, bool raises, td_line (&record)[2][LINES])
{
    probe_work &work = work_of(p);
    const int own = (int)threadIdx.x / LANES, lane = (int)threadIdx.x % LANES, which = own / LINES,
              i = own % LINES, slices = (int)gridDim.x;
    const line_part *const part = work.part[number_of_strip(p, tile, which)][i];
    line_part all = none_of_line();
    TD_UNROLL_N(2)
    for (int s = lane; s < slices; s += LANES) join(all, part[s]);
    all = join_lanes(all, LANES);
    const td_line line = record_of(all, terms_of(p), lane);
    if (lane == 0) record[which][i] = line;
    if (!raises) return;
    seen_of_lines seen;
    seen.add(td_scaling_of(&p.rule, &p.rule.candidate[0]), line);
    if (lane == 0 && is_far(line)) atomicMax(&work.counts.is_far, 1);
    raise_shared_extremes(seen, &work.counts.seen[which]);
}

/* ---- pairs of lines ---- */

/* 2^-unit of a line, by which its magnitudes count; lines that are far from 1 have none. */
TD_DEVICE double scale_of(const td_line &line)
{
    const int exponent = 4 - (line.typical >> 8);
    if (!td_is_counted(line) || abs(exponent) > 1000) return 0.0;
    return td_from_bits64((uint64_t)(1023 + exponent) << 52);
}

/* A byte for each of four terms of a line: its magnitude in units. */
enum { QUAD = 4 };
TD_DEVICE uint32_t quad_of(double scale, const double (&x)[QUAD])
{
    uint32_t quad = 0;
    TD_UNROLL
    for (int i = 0; i < QUAD; i++) quad |= (uint32_t)min(127.0, fabs(x[i]) * scale) << (8 * i);
    return scale == 0.0 ? 0 : quad;
}

/* Terms of a line that a block has in shared memory: a thread loads two quads of each operand. */
enum { QUADS = 2 * LINES, STEP = QUAD * QUADS };
static_assert((int)STEP == (int)TD_SLICE_K, "what holds a number is asked of whole stages");
struct quads_of_tile {
    uint32_t of[2][LINES][QUADS + 1];
};

/* What a block knows of its tile. */
struct tile_lines {
    td_line record[2][LINES];
    quads_of_tile quads;
    uint8_t holds[2][LINES]; /* whether the terms that are in shared memory hold a number */
};

/* Sets lines.holds of the thread's line, of which each of 16 threads has some terms, if the line
 * has a scale. By whole warps. */
TD_DEVICE void note_holds(tile_lines &lines, int which, double scale, const double (&x)[2][QUAD])
{
    const int i = (int)threadIdx.x / LINES;
    bool is_any = false;
    TD_UNROLL
    for (int e = 0; e < 2 * QUAD; e++) is_any |= x[e / QUAD][e % QUAD] != 0.0;
    const uint32_t lanes = __ballot_sync(~0u, scale != 0.0 && is_any);
    if (threadIdx.x % LINES == 0)
        lines.holds[which][i] = (lanes >> (i % 2 * LINES) & ((1u << LINES) - 1)) != 0;
}

/* The block's share of its tile's sums; MEETS with it: both lines hold numbers in the same STEP
 * terms. The first terms are loaded before the lines' slices are there. */
static const uint32_t MEETS = 1u << 31;
TD_DEVICE uint32_t sum_of_slice(const td_probe &p, int tile, const slice &own, tile_lines &lines)
{
    const int i = (int)threadIdx.x / LINES, lane = (int)threadIdx.x % LINES;
    const probed_line a(p, strip_of(p, number_of_strip(p, tile, 0)), i),
        b(p, strip_of(p, number_of_strip(p, tile, 1)), i);
    quads_of_tile &quads = lines.quads;
    uint32_t sum = 0, meets = 0;
    double scale_a = 0.0, scale_b = 0.0, x[2][QUAD] = {}, y[2][QUAD] = {};
    TD_ROLLED
    for (int64_t first = own.first - STEP; first < own.end; first += STEP) {
        const bool is_before = first < own.first;
        TD_UNROLL
        for (int e = 0; e < 2; e++) {
            quads.of[0][i][lane + e * LINES] = quad_of(scale_a, x[e]);
            quads.of[1][i][lane + e * LINES] = quad_of(scale_b, y[e]);
        }
        note_holds(lines, 0, scale_a, x);
        note_holds(lines, 1, scale_b, y);
        __syncthreads();
        meets |= lines.holds[0][i] & lines.holds[1][lane];
        TD_UNROLL
        for (int e = 0; e < 2; e++) {
            const int64_t next = first + STEP + QUAD * (lane + e * LINES);
            a.load(next, 1, own.end, x[e]);
            b.load(next, 1, own.end, y[e]);
        }
        if (is_before) {
            td_wait_for_last();
            join_lines(p, tile, blockIdx.x == 0, lines.record);
        }
        TD_UNROLL_N(4)
        for (int l = 0; l < QUADS; l++) sum = __dp4a(quads.of[0][i][l], quads.of[1][lane][l], sum);
        __syncthreads();
        if (is_before) {
            scale_a = scale_of(lines.record[0][i]);
            scale_b = scale_of(lines.record[1][i]);
        }
    }
    return sum | (meets ? MEETS : 0);
}

/* How much more than it needs the product of two lines has, if their scales are 0, by the sum of
 * their units or by their means (certify.h). */
TD_DEVICE int surplus_of(const td_choice &any, const td_line &a, const td_line &b, uint64_t sum)
{
    const int terms = 2 * min(a.sum - a.norm, b.sum - b.norm),
              need = max(any.need_of_estimate, 52 * TD_LOG - terms),
              by_sum = sum == 0 ? (int)TD_NO_MEAN
                                : td_log_below(sum) - 16 +
                                      TD_LOG * ((a.typical >> 8) + (b.typical >> 8) - 8) - need;
    return max(by_sum, a.mean + b.mean - any.need);
}

/* True if a candidate certifies an element, or makes it exactly. */
TD_DEVICE bool certifies(const td_choice &candidate, const td_line &a, const td_line &b,
                         int surplus)
{
    const int scale_a = td_scale_by_norm(candidate.level, a),
              scale_b = td_scale_by_norm(candidate.level, b),
              rounding = max(a.sum + TD_LOG * scale_a, b.sum + TD_LOG * scale_b);
    if (a.low + scale_a >= 0 && b.low + scale_b >= 0) return true;
    return surplus + TD_LOG * (scale_a + scale_b) >= td_log_error_of(rounding, candidate.rest);
}

/* ---- the verdict ---- */

/* What all subtiles have if each tile of C has TD_FEW elements left or more. */
enum { ALL_LEFT = TILES * SUBTILES * TD_FEW };

/* What is known of all tiles. */
struct all_tiles {
    probe_counts counts;
    unsigned share;   /* of the price of moduli (cost.h) */
    float met_beside; /* the share of subtiles that do not meet whose tiles do */
};

/* What a candidate leaves: by one modulus more, of what the one before leaves, one in so many at
 * least for all that is known, as both operands' scales rise by three bits or four. */
TD_DEVICE uint64_t left_by(const all_tiles &all, int candidate)
{
    enum { FEWER_BITS = 6 };
    int left = 0;
    TD_ROLLED
    for (int c = 0; c <= candidate; c++)
        left = max(left >> FEWER_BITS,
                   all.counts.left[0][c] + (int)(all.met_beside * (float)all.counts.left[1][c]));
    return (uint64_t)min(left, (int)ALL_LEFT);
}

/* The price of residues for as many tiles as there are subtiles, each of TD_FEW units. */
TD_DEVICE uint64_t cost_of(const td_probe &p, const all_tiles &all, int candidate,
                           bool is_estimated)
{
    const td_prices &prices = p.rule.prices;
    const uint64_t moduli =
        td_price_of_moduli(prices, p.rule.candidate[candidate].parameter, is_estimated);
    if (!is_estimated) return ALL_LEFT * (moduli + (unsigned)prices.measure);
    return ALL_LEFT * (moduli * all.share / TD_ALL_BLOCKS + (unsigned)prices.measure +
                       (unsigned)prices.estimate) +
           left_by(all, candidate) * (unsigned)prices.sums;
}

/* True if the candidate `by_lines` holds for all lines. Where zeros leave lines without means it
 * holds if no line is rounded; and lines that nobody looked at may be wider than those of the
 * probe, which therefore have some bits to spare. */
TD_DEVICE bool is_by_lines(const td_rule &rule, const extremes (&seen)[2], int by_lines)
{
    enum { SPARE = 8 * TD_LOG };
    const bool have_means = max(seen[0].all, seen[1].all) < NO_MEAN,
               have_room = max(seen[0].width, seen[1].width) + SPARE <= rule.candidate[0].level;
    return by_lines < rule.candidates_of_lines && (have_means || have_room);
}

/* What all tiles tell by their lines. */
struct all_lines {
    extremes seen[2];
    int candidate; /* which they certify */
    bool hold;     /* it holds for all lines */

    TD_INSIDE all_lines(const td_probe &p, const probe_counts &counts)
        : seen{extremes_of(counts.seen[0]), extremes_of(counts.seen[1])},
          candidate(candidate_of_lines(p.rule, seen)), hold(is_by_lines(p.rule, seen, candidate))
    {
    }

    /* What td_probed_lines has of an operand. */
    TD_INSIDE int looseness(int which) const
    {
        const bool have_means = max(seen[0].all, seen[1].all) < NO_MEAN;
        return hold && have_means ? max(seen[which].all, 0) : (int)TD_NOT_BY_LINES;
    }
};

/* True if a candidate by the estimate takes less time than native products, or sums in binary64; of
 * number 0, if one that lines choose does. */
TD_DEVICE bool is_worthwhile(const td_probe &p, const all_tiles &all, const all_lines &lines,
                             int candidate)
{
    const uint64_t others = (uint64_t)ALL_LEFT * td_price_of_others(p.rule.prices);
    if (all.counts.is_far || candidate >= p.rule.candidates) return false;
    return cost_of(p, all, lines.hold ? lines.candidate : candidate, !lines.hold) < others;
}

/* By all threads of the last block. */
TD_DEVICE void give_verdict(const td_probe &p, int slices)
{
    enum { PARTS = 1 << 16 };
    TD_SHARED(all_tiles, all, );
    const probe_work &work = work_of(p);
    const int i = (int)threadIdx.x;
    if (i < COUNT_WORDS)
        reinterpret_cast<int32_t *>(&all.counts)[i] =
            reinterpret_cast<const int32_t *>(&work.counts)[i];
    const block_counts blocks = count_blocks(p, work.holds, blocks_of(slices));
    if (i == 0) {
        all.share =
            td_share_of_price(p.rule.prices, (uint64_t)(PARTS * met_of_tiles(blocks)), PARTS);
        all.met_beside =
            met_beside(blocks, ((float)all.counts.met + 0.5f) / (float)(TILES * SUBTILES + 1));
    }
    __syncthreads();
    const all_lines lines(p, all.counts);
    const int is_any = __syncthreads_or(is_worthwhile(p, all, lines, i));
    if (i != 0) return;
    *p.verdict = is_any ? TD_RESIDUES : p.otherwise;
    p.looseness[0] = lines.looseness(0);
    p.looseness[1] = lines.looseness(1);
}

/* The subtile that a thread's element of a tile lies in. */
TD_DEVICE int subtile_of(int thread)
{
    return thread / LINES / GROUP * GROUPS + thread % LINES / GROUP;
}

/* Sets a bit for each element of each subtile that a candidate leaves. */
TD_DEVICE void find_left(const td_probe &p, const tile_lines &lines, uint64_t sum,
                         uint32_t (&left)[TD_CHOICES][SUBTILES])
{
    const int i = (int)threadIdx.x / LINES, j = (int)threadIdx.x % LINES,
              own = subtile_of((int)threadIdx.x);
    const td_line &a = lines.record[0][i], &b = lines.record[1][j];
    const int surplus = surplus_of(p.rule.candidate[0], a, b, sum);
    const bool is_open = td_is_counted(a) && td_is_counted(b);
    TD_ROLLED
    for (int c = 0; c < p.rule.candidates; c++)
        if (is_open && !certifies(p.rule.candidate[c], a, b, surplus))
            atomicOr(&left[c][own], 1u << (i % GROUP * GROUP + j % GROUP));
}

/* What the elements that are left of a subtile tell of all tiles of C, each of which counts for
 * TD_FEW at most; bit GROUP i + j is that of line i of op(A) and j of op(B). A subtile that is left
 * whole is of one such tile, and one of which many are left of a few. But a line of it that is
 * left, and what is left alone, lie at random for all that is known: they stand for as many others
 * of other tiles as there are to one that was looked at. */
TD_DEVICE int left_of_subtile(uint32_t left)
{
    enum { WHOLE = 0xffff, LINE = 0xf, COLUMN = 0x1111, APART = TD_TILE / GROUP };
    const int count = __popc(left), line = (__ffs((int)left) - 1) / GROUP,
              column = (__ffs((int)left) - 1) % GROUP;
    if (left == WHOLE) return TD_FEW;
    if (left == (uint32_t)LINE << (GROUP * line) || left == (uint32_t)COLUMN << column)
        return APART * TD_FEW;
    return count >= GROUP ? GROUP * TD_FEW : count * APART * APART;
}

/* Joins the slices of a tile, and adds what each candidate leaves of it to the counts of all
 * tiles. Where no lines of a tile meet, its elements are 0 for certain (certify.h). */
TD_DEVICE void close_tile(const td_probe &p, int tile, int slices, const tile_lines &lines)
{
    TD_SHARED(uint32_t, left, [TD_CHOICES][SUBTILES]);
    TD_SHARED(uint32_t, meets, [SUBTILES]);
    probe_work &work = work_of(p);
    const int own = (int)threadIdx.x, c = own / SUBTILES, subtile = own % SUBTILES;
    uint64_t sum = 0;
    uint32_t met = 0;
    if (c < TD_CHOICES) left[c][subtile] = 0;
    if (c == 0) meets[subtile] = 0;
    TD_UNROLL_N(16)
    for (int s = 0; s < slices; s++) {
        const uint32_t of_slice = work.sum[tile][s][own];
        sum += of_slice & ~MEETS;
        met |= of_slice & MEETS;
    }
    __syncthreads();
    if (met) atomicOr(&meets[subtile_of(own)], met);
    find_left(p, lines, sum, left);
    __syncthreads();
    if (c == 0 && meets[subtile]) atomicAdd(&work.counts.met, 1);
    if (c < p.rule.candidates && left[c][subtile])
        atomicAdd(&work.counts.left[meets[subtile] ? 0 : 1][c], left_of_subtile(left[c][subtile]));
}

/* Grid: slices, tile. */
static __global__ void __launch_bounds__(THREADS) probe_pairs_kernel(TD_PARAMETER td_probe p)
{
    TD_SHARED(tile_lines, lines, );
    const int tile = (int)blockIdx.y;
    probe_work &work = work_of(p);
    td_let_next_begin();
    if (reads_none(p)) {
        td_wait_for_last();
        if (blockIdx.x == 0 && tile == 0 && threadIdx.x == 0) *p.verdict = TD_RESIDUES;
        if (blockIdx.x == 0 && tile == 0 && threadIdx.x < 2)
            p.looseness[threadIdx.x] = TD_NOT_BY_LINES;
        return;
    }
    work.sum[tile][blockIdx.x][threadIdx.x] =
        sum_of_slice(p, tile, slice(p, (int)blockIdx.x), lines);
    if (!td_is_last(&work.counts.pairs_done[tile], (int)gridDim.x)) return;
    close_tile(p, tile, (int)gridDim.x, lines);
    if (td_is_last(&work.counts.tiles_done, TILES)) give_verdict(p, (int)gridDim.x);
}

} // namespace

size_t td_probe_bytes(void) { return sizeof(probe_work); }

cudaError_t td_probe_run(const td_probe *p, cudaStream_t stream)
{
    const unsigned slices = (unsigned)slices_of(*p), blocks = (unsigned)blocks_of((int)slices);
    const cudaError_t error = TD_LAUNCH(
        probe_lines_kernel, dim3(slices + blocks, (unsigned)strips_of(*p)), THREADS, 0, stream, *p);
    if (error != cudaSuccess) return error;
    return TD_LAUNCH_NEXT(probe_pairs_kernel, dim3(slices, TILES), THREADS, 0, stream, *p);
}

cudaError_t td_probe_prepare(void)
{
    return td_load(cudaSuccess, probe_lines_kernel, probe_pairs_kernel);
}
