/* probe.cu - a verdict by a few lines, in two kernels: what is known of slices of the lines, then
 * their records and the bounds of their products, which the last block of a tile joins. Each
 * instruction runs once or twice, so that fetching them is most of the time: loops are rolled, and
 * what is rare is a call. */
#include "probe.h"

#include "../arithmetic/logarithm.h"
#include "../device/last_block.h"
#include "../device/warp.h"
#include "../unfold/folded.h"
#include "choose.h"
#include "cost.h"
#include "error.h"

namespace
{

enum {
    LINES = TD_PROBE_LINES,
    TILES = TD_PROBE_TILES,
    STRIPS = 2 * TILES, /* of LINES lines, at most: tiles of one member share theirs */
    SHARED = 4,         /* strips of an operand then */
    SLICES = TD_PROBE_SLICES,
    GROUP = 4,
    GROUPS = LINES / GROUP,
    PLACES = GROUPS * SHARED, /* where groups of an operand begin */
    THREADS = LINES * LINES,
    WARPS = THREADS / 32,
    LEAST_K = 256, /* terms of a slice, at least, where lines are long */
    AT_ONCE = 8    /* loads under way together */
};

/* What is known of a slice of a line, or of all of it. */
struct line_part {
    double sum, square; /* of magnitudes */
    uint64_t logs;      /* of magnitudes that are not 0, as biased_log has them */
    uint64_t peak; /* bits of the largest magnitude; those of infinity or NaN if there is one */
    int32_t low, nonzero;
};

/* Sums over elements of lines of which a number is so far from 1 are not made: the verdict is
 * native then. */
enum { FAR_EXPONENT = 480 };

/* How many runs of STEP terms have a number that is not 0, in lines of op(A) and of op(B): of each
 * line, and of both lines of each pair of neighbours. */
enum { RUNS = 4, OF_PAIRS = 2 };

/* What blocks have done, and what they have seen of all tiles: zeros before the second kernel.
 * left: what each candidate leaves, TD_FEW elements of a tile at most; met: subtiles whose lines
 * meet. */
struct probe_counts {
    int32_t pairs_done[TILES], tiles_done;
    td_line_extremes seen[2];
    int32_t is_far, left[TD_CHOICES], met;
    uint32_t runs[RUNS];
};
enum { COUNT_WORDS = sizeof(probe_counts) / sizeof(int32_t) };
static_assert((int)COUNT_WORDS <= (int)THREADS, "a thread for each");

struct probe_work {
    probe_counts counts;
    line_part part[STRIPS][LINES][SLICES];
    uint32_t sum[TILES][SLICES][THREADS];
    uint32_t runs[TILES][SLICES][RUNS];
};

TD_DEVICE probe_work &work_of(const td_probe &p) { return *reinterpret_cast<probe_work *>(p.work); }

/* Terms of the real product: a complex element has two. */
TD_HOST_DEVICE int64_t terms_of(const td_probe &p)
{
    return p.factor[0].is_complex ? 2 * p.k : p.k;
}

TD_HOST_DEVICE int slices_of(const td_probe &p)
{
    return (int)max((int64_t)1, min((int64_t)SLICES, terms_of(p) / LEAST_K));
}

/* The terms of a slice: a multiple of four of them. */
struct slice {
    int64_t first, end;

    TD_INSIDE slice(const td_probe &p, int number)
    {
        const int64_t k = terms_of(p), step = ((k + slices_of(p) - 1) / slices_of(p) + 3) / 4 * 4;
        first = min(k, number * step);
        end = min(k, first + step);
    }
};

/* Some lines of an operand, of the member that a tile is of. Those of a single product are shared
 * by tiles. */
struct strip {
    int which, place, tile;
};

TD_HOST_DEVICE int strips_of(const td_probe &p) { return p.batch > 1 ? (int)STRIPS : 2 * SHARED; }

TD_DEVICE strip strip_of(const td_probe &p, int number)
{
    const int which = number % 2, own = number / 2;
    if (p.batch == 1) return {which, own, 0};
    return {which, which ? own / SHARED : own % SHARED, own};
}

/* The number of a tile's strip. */
TD_DEVICE int number_of_strip(const td_probe &p, int tile, int which)
{
    if (p.batch > 1) return 2 * tile + which;
    return 2 * (which ? tile / SHARED : tile % SHARED) + which;
}

/* Number i of a strip's lines. Groups are spread evenly over the operand, the first and the last
 * line of it among them. */
TD_DEVICE int64_t place_of_line(const td_probe &p, const strip &own, int i)
{
    const int which = own.which, place = i / GROUP * SHARED + own.place;
    const int64_t room = max((int64_t)0, p.lines[which] - GROUP);
    return min(p.lines[which] - 1, room * place / (PLACES - 1) + i % GROUP);
}

/* Term l of a line of a matrix that is not stored in full. */
TD_DEVICE_CALL double term_of_form(const td_folded &x, const void *data, bool is_row, int64_t line,
                                   int64_t l)
{
    const int64_t e = x.is_complex ? l / 2 : l;
    const td_term t = is_row ? td_folded_load(x, data, line, e) : td_folded_load(x, data, e, line);
    return x.is_complex && l % 2 ? t.im : t.re;
}

/* A line of a tile: its elements as real numbers, of which a complex one has two. plain: of a
 * matrix that is stored in full, its first number; else NULL. */
struct probed_line {
    const td_folded &x;
    const void *data;
    const double *plain;
    int64_t line, step;
    bool is_row, is_complex;

    TD_INSIDE probed_line(const td_probe &p, const strip &own, int i)
        : x(p.factor[own.which]), data(td_folded_member(x, own.tile * p.batch / TILES)),
          plain(NULL), line(place_of_line(p, own, i)), step(0), is_row(own.which == 0),
          is_complex(x.is_complex)
    {
        const int parts = is_complex ? 2 : 1;
        if (x.form.storage != TD_STORED_FULL) return;
        plain = td_global(static_cast<const double *>(data)) +
                parts * (is_row ? td_folded_at(x, line, 0) : td_folded_at(x, 0, line));
        step = parts * (is_row == x.is_transposed ? 1 : x.matrix.ld);
    }
    TD_INSIDE double term_of_plain(int64_t l) const
    {
        return is_complex ? plain[(l >> 1) * step + (l & 1)] : plain[l * step];
    }
    /* The terms from l on, `apart` from each other; 0 from `end` on. All are loaded before any is
     * used. */
    template <int count>
    TD_INSIDE void load(int64_t l, int apart, int64_t end, double (&to)[count]) const
    {
        TD_UNROLL
        for (int i = 0; i < count; i++) {
            const int64_t own = l + i * apart;
            to[i] = 0.0;
            if (plain && own < end) to[i] = term_of_plain(own);
        }
        if (plain) return;
        TD_UNROLL
        for (int i = 0; i < count; i++) {
            const int64_t own = l + i * apart;
            if (own < end) to[i] = term_of_form(x, data, is_row, line, own);
        }
    }
};

/* ---- slices of lines ---- */

TD_DEVICE line_part none_of_line() { return {0.0, 0.0, 0, 0, INT32_MAX, 0}; }

TD_DEVICE void join(line_part &own, const line_part &other)
{
    own.sum += other.sum;
    own.square += other.square;
    own.logs += other.logs;
    own.peak = max(own.peak, other.peak);
    own.low = min(own.low, other.low);
    own.nonzero += other.nonzero;
}

/* TD_LOG e + floor(TD_LOG f) of the magnitude 2^e (1 + f) with these bits, and LOG_BIAS; of one
 * below 2^-1022 too much. */
enum { LOG_BIAS = 1023 * TD_LOG };
TD_DEVICE uint64_t biased_log(uint64_t bits) { return bits >> 44; }

TD_DEVICE void add(line_part &own, double x)
{
    const uint64_t bits = td_bits64(x) << 1 >> 1, exponent = bits >> 52,
                   m = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)(exponent != 0) << 52;
    const double magnitude = fabs(x);
    const int low = (int)max(exponent, (uint64_t)1) - 1075 + __ffsll((long long)m) - 1;
    own.sum += magnitude;
    own.square += magnitude * magnitude;
    own.logs += biased_log(bits);
    own.peak = max(own.peak, bits);
    if (bits != 0) own.low = min(own.low, low);
    own.nonzero += bits != 0;
}

template <class type> TD_DEVICE type of_lane(type value, int apart)
{
    return __shfl_xor_sync(~0u, value, apart);
}

/* Joins what so many neighbouring lanes have, in the same order in all of them. */
TD_DEVICE line_part join_lanes(line_part own, int lanes)
{
    TD_ROLLED
    for (int apart = lanes / 2; apart > 0; apart /= 2) {
        const line_part other = {of_lane(own.sum, apart),
                                 of_lane(own.square, apart),
                                 (uint64_t)of_lane((long long)own.logs, apart),
                                 (uint64_t)of_lane((long long)own.peak, apart),
                                 of_lane(own.low, apart),
                                 of_lane(own.nonzero, apart)};
        join(own, other);
    }
    return own;
}

/* True if alpha is 0: then neither operand is read. */
TD_DEVICE bool reads_none(const td_probe &p)
{
    const td_term alpha = td_complex_scalar(p.alpha, p.alpha_is_real || !p.factor[0].is_complex);
    return alpha.re == 0.0 && alpha.im == 0.0;
}

/* Grid: slices, strip. The next kernel begins after the wait, so that it may read the operands
 * before its own. */
static __global__ void __launch_bounds__(THREADS) probe_lines_kernel(TD_PARAMETER td_probe p)
{
    const int number = (int)blockIdx.y, i = (int)threadIdx.x / LINES,
              lane = (int)threadIdx.x % LINES;
    const slice own(p, (int)blockIdx.x);
    td_wait_for_last();
    td_let_next_begin();
    probe_work &work = work_of(p);
    if (blockIdx.x == 0 && number == 0 && (int)threadIdx.x < COUNT_WORDS)
        reinterpret_cast<int32_t *>(&work.counts)[threadIdx.x] = 0;
    if (reads_none(p)) return;
    const probed_line line(p, strip_of(p, number), i);
    line_part seen = none_of_line();
    TD_ROLLED
    for (int64_t l = own.first + lane; l < own.end; l += AT_ONCE * LINES) {
        double x[AT_ONCE];
        line.load(l, LINES, own.end, x);
        TD_UNROLL
        for (int e = 0; e < AT_ONCE; e++) add(seen, x[e]);
    }
    seen = join_lanes(seen, LINES);
    if (lane == 0) work.part[number][i][blockIdx.x] = seen;
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

/* A byte for each of four terms of a line: its magnitude in units, and whether it is not 0. */
static const uint32_t IS_NONZERO = 0x80, ALL_NONZERO = 0x80808080u;
enum { QUAD = 4 };
TD_DEVICE uint32_t quad_of(double scale, const double (&x)[QUAD])
{
    uint32_t quad = 0;
    TD_UNROLL
    for (int i = 0; i < QUAD; i++)
        quad |= ((uint32_t)min(127.0, fabs(x[i]) * scale) | (x[i] != 0.0 ? IS_NONZERO : 0))
                << (8 * i);
    return scale == 0.0 ? 0 : quad;
}

/* Terms of a line that a block has in shared memory: a thread loads two quads of each operand. */
enum { QUADS = 2 * LINES, STEP = QUAD * QUADS };
struct quads_of_tile {
    uint32_t of[2][LINES][QUADS + 1];
};

/* What a block knows of its tile. */
struct tile_lines {
    td_line record[2][LINES];
    quads_of_tile quads;
    uint32_t runs[RUNS];
};

/* Counts a run of the warp's two lines of an operand, by all of its threads: each of 16 has two
 * quads of a line. */
TD_DEVICE void count_run(uint32_t (&runs)[RUNS], int which, uint32_t quads)
{
    const uint32_t lanes = __ballot_sync(~0u, (quads & ALL_NONZERO) != 0);
    if (threadIdx.x % 32 != 0 || lanes == 0) return;
    atomicAdd(&runs[which], 1u + (unsigned)(lanes >> LINES != 0 && lanes << LINES != 0));
    atomicAdd(&runs[OF_PAIRS + which], 1u);
}

/* The block's share of its tile's sums; MEETS with it: two numbers that are not 0 meet. The first
 * terms are loaded before the lines' slices are there. */
static const uint32_t MEETS = 1u << 31;
TD_DEVICE uint32_t sum_of_slice(const td_probe &p, int tile, const slice &own, tile_lines &lines)
{
    const int i = (int)threadIdx.x / LINES, lane = (int)threadIdx.x % LINES;
    const probed_line a(p, strip_of(p, number_of_strip(p, tile, 0)), i),
        b(p, strip_of(p, number_of_strip(p, tile, 1)), i);
    quads_of_tile &quads = lines.quads;
    uint32_t sum = 0, meets = 0;
    double scale_a = 0.0, scale_b = 0.0, x[2][QUAD] = {}, y[2][QUAD] = {};
    if (threadIdx.x < RUNS) lines.runs[threadIdx.x] = 0;
    __syncthreads();
    TD_ROLLED
    for (int64_t first = own.first - STEP; first < own.end; first += STEP) {
        const bool is_before = first < own.first;
        uint32_t both[2] = {};
        TD_UNROLL
        for (int e = 0; e < 2; e++) {
            both[0] |= quads.of[0][i][lane + e * LINES] = quad_of(scale_a, x[e]);
            both[1] |= quads.of[1][i][lane + e * LINES] = quad_of(scale_b, y[e]);
        }
        TD_UNROLL
        for (int o = 0; o < 2; o++) count_run(lines.runs, o, both[o]);
        __syncthreads();
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
        for (int l = 0; l < QUADS; l++) {
            const uint32_t quad_a = quads.of[0][i][l], quad_b = quads.of[1][lane][l];
            meets |= quad_a & quad_b & ALL_NONZERO;
            sum = __dp4a(quad_a & ~ALL_NONZERO, quad_b & ~ALL_NONZERO, sum);
        }
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

/* What stays of the price of moduli where all blocks are zeros: more than certify.h has by
 * definition. Residues are made, read and finished all the same, and tiles of products are larger
 * than the subtiles that are looked at. */
enum { ALL_BLOCKS = 64, PRICE_OF_ZEROS = 40 };

/* How many more runs have numbers with twice as many lines: 1 where neighbours have theirs in the
 * same runs, as in bands and blocks, 2 where numbers lie at random and are few. */
TD_DEVICE double growth_of(const probe_counts &counts, int which)
{
    const uint32_t lines = counts.runs[which], pairs = counts.runs[OF_PAIRS + which];
    return lines ? 2.0 * (double)pairs / (double)lines : 1.0;
}

/* How many of the subtiles that were looked at count as met. Blocks of zeros are of 64 lines, which
 * are twice a pair's five times over, so that few numbers at random have none, however seldom they
 * meet; of none that meets it is not known that none does. */
TD_DEVICE unsigned met_as_blocks(const probe_counts &counts)
{
    enum { ALL = TILES * GROUPS * GROUPS };
    const double growth = growth_of(counts, 0) * growth_of(counts, 1),
                 met = (double)max(counts.met, 1) * growth * growth * growth * growth * growth;
    return (unsigned)min(met, (double)ALL);
}

/* The price of residues for all tiles that were looked at, each of TD_FEW units. */
TD_DEVICE uint64_t cost_of(const td_probe &p, const probe_counts &counts, int candidate,
                           bool is_estimated)
{
    const td_prices &prices = p.rule.prices;
    const uint64_t tiles = (uint64_t)TILES * TD_FEW,
                   moduli = td_price_of_moduli(prices, p.rule.candidate[candidate].parameter,
                                               is_estimated),
                   share = PRICE_OF_ZEROS + (uint64_t)(ALL_BLOCKS - PRICE_OF_ZEROS) *
                                                met_as_blocks(counts) / (TILES * GROUPS * GROUPS);
    if (!is_estimated) return tiles * (moduli + (unsigned)prices.measure);
    return tiles * (moduli * share / ALL_BLOCKS + (unsigned)prices.measure +
                    (unsigned)prices.estimate) +
           (uint64_t)(unsigned)counts.left[candidate] * (unsigned)prices.sums;
}

/* True if a candidate by the estimate takes less time than native products, or sums in binary64; of
 * number 0, if one that lines choose does. */
TD_DEVICE bool is_worthwhile(const td_probe &p, const probe_counts &counts, int candidate)
{
    const extremes seen[2] = {extremes_of(counts.seen[0]), extremes_of(counts.seen[1])};
    const int by_lines = candidate_of_lines(p.rule, seen);
    const uint64_t others = (uint64_t)TILES * TD_FEW * td_price_of_others(p.rule.prices);
    const bool is_by_lines = by_lines < p.rule.candidates_of_lines;
    if (counts.is_far || candidate >= p.rule.candidates) return false;
    return cost_of(p, counts, is_by_lines ? by_lines : candidate, !is_by_lines) < others;
}

/* By all threads of the last block. */
TD_DEVICE void give_verdict(const td_probe &p)
{
    TD_SHARED(probe_counts, counts, );
    const int i = (int)threadIdx.x;
    if (i < COUNT_WORDS)
        reinterpret_cast<int32_t *>(&counts)[i] =
            reinterpret_cast<const int32_t *>(&work_of(p).counts)[i];
    __syncthreads();
    const int is_any = __syncthreads_or(is_worthwhile(p, counts, i));
    if (i == 0) *p.verdict = is_any ? TD_RESIDUES : p.otherwise;
}

/* What the block's threads count of a tile. */
struct tile_counts {
    int left[TD_CHOICES], met;
};

/* Counts what each candidate leaves of a tile, of which one element in so many was looked at. */
TD_DEVICE void count_left(const td_probe &p, const tile_lines &lines, bool is_open, uint64_t sum,
                          tile_counts &counts)
{
    const td_line &a = lines.record[0][threadIdx.x / LINES],
                  &b = lines.record[1][threadIdx.x % LINES];
    const int surplus = surplus_of(p.rule.candidate[0], a, b, sum);
    TD_ROLLED
    for (int c = 0; c < p.rule.candidates; c++) {
        const bool is_left = is_open && !certifies(p.rule.candidate[c], a, b, surplus);
        const int left = __popc(__ballot_sync(~0u, is_left));
        if (threadIdx.x % 32 == 0 && left) atomicAdd(&counts.left[c], left);
    }
}

/* Joins the slices of a tile, and adds what each candidate leaves of it, and the subtiles whose
 * lines meet, to the counts of all tiles. */
TD_DEVICE void close_tile(const td_probe &p, int tile, int slices, const tile_lines &lines)
{
    enum { ONE_IN = TD_TILE * TD_TILE / THREADS };
    TD_SHARED(uint32_t, met_by, [LINES][LINES + 1]);
    TD_SHARED(tile_counts, counts, );
    probe_work &work = work_of(p);
    const int own = (int)threadIdx.x, i = own / LINES, j = own % LINES;
    uint64_t sum = 0;
    uint32_t met = 0, meets = 0;
    if (own < TD_CHOICES) counts.left[own] = 0;
    if (own == 0) counts.met = 0;
    if (own < slices) {
        TD_UNROLL
        for (int r = 0; r < RUNS; r++) atomicAdd(&work.counts.runs[r], work.runs[tile][own][r]);
    }
    TD_UNROLL_N(16)
    for (int s = 0; s < slices; s++) {
        const uint32_t of_slice = work.sum[tile][s][own];
        sum += of_slice & ~MEETS;
        met |= of_slice & MEETS;
    }
    met_by[i][j] = met;
    __syncthreads();
    TD_ROLLED
    for (int e = 0; e < GROUP * GROUP; e++)
        meets |= met_by[i / GROUP * GROUP + e / GROUP][j / GROUP * GROUP + e % GROUP];
    if (meets != 0 && i % GROUP == 0 && j % GROUP == 0) atomicAdd(&counts.met, 1);
    const bool is_open =
        meets != 0 && td_is_counted(lines.record[0][i]) && td_is_counted(lines.record[1][j]);
    count_left(p, lines, is_open, sum, counts);
    __syncthreads();
    if (own < p.rule.candidates && counts.left[own])
        atomicAdd(&work.counts.left[own], min(counts.left[own] * (int)ONE_IN, (int)TD_FEW));
    if (own == 0) atomicAdd(&work.counts.met, counts.met);
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
        return;
    }
    work.sum[tile][blockIdx.x][threadIdx.x] =
        sum_of_slice(p, tile, slice(p, (int)blockIdx.x), lines);
    if (threadIdx.x < RUNS) work.runs[tile][blockIdx.x][threadIdx.x] = lines.runs[threadIdx.x];
    if (!td_is_last(&work.counts.pairs_done[tile], (int)gridDim.x)) return;
    close_tile(p, tile, (int)gridDim.x, lines);
    if (td_is_last(&work.counts.tiles_done, TILES)) give_verdict(p);
}

} // namespace

size_t td_probe_bytes(void) { return sizeof(probe_work); }

cudaError_t td_probe_run(const td_probe *p, cudaStream_t stream)
{
    const unsigned slices = (unsigned)slices_of(*p);
    const cudaError_t error = TD_LAUNCH(probe_lines_kernel, dim3(slices, (unsigned)strips_of(*p)),
                                        THREADS, 0, stream, *p);
    if (error != cudaSuccess) return error;
    return TD_LAUNCH_NEXT(probe_pairs_kernel, dim3(slices, TILES), THREADS, 0, stream, *p);
}

cudaError_t td_probe_prepare(void)
{
    return td_load(cudaSuccess, probe_lines_kernel, probe_pairs_kernel);
}
