/* probe.cu - a verdict by a few lines, in two kernels: the records of the lines, then the bounds of
 * their products. Both cut k into slices, and the last block of a tile joins these. */
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
    LEAST_K = 128, /* terms of a slice, at least */
    AT_ONCE = 8    /* loads under way together */
};

/* What is known of a slice of a line, or of all of it. Logarithms of single elements are those of
 * td_log_of64. */
struct line_part {
    double sum, square; /* of magnitudes */
    int64_t logs;
    int32_t peak, low, nonzero, is_special;
};

/* Sums over elements of lines of which a number is so far from 1 are not made: the verdict is
 * native then. */
enum { FAR_EXPONENT = 480 };

/* What blocks have done, and what they have seen of all tiles: zeros before the first kernel. left:
 * what each candidate leaves, TD_FEW elements of a tile at most; met: subtiles whose lines meet. */
struct probe_counts {
    int32_t lines_done[STRIPS], pairs_done[TILES], tiles_done;
    td_line_extremes seen[2];
    int32_t is_far, left[TD_CHOICES], met;
};

struct probe_work {
    probe_counts counts;
    td_line line[STRIPS][LINES];
    line_part part[STRIPS][SLICES][LINES];
    uint32_t sum[TILES][SLICES][THREADS];
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

/* The terms of a slice: an even number of them. */
struct slice {
    int64_t first, end;

    TD_INSIDE slice(const td_probe &p, int number)
    {
        const int64_t k = terms_of(p), step = ((k + slices_of(p) - 1) / slices_of(p) + 1) / 2 * 2;
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

/* A line of a tile: its elements as real numbers, of which a complex one has two. plain: of a
 * matrix that is stored in full, its first number; else NULL. */
struct probed_line {
    const td_folded &x;
    const void *data;
    const double *plain;
    int64_t line, step;
    bool is_row;

    TD_INSIDE probed_line(const td_probe &p, const strip &own, int i)
        : x(p.factor[own.which]), data(td_folded_member(x, own.tile * p.batch / TILES)),
          plain(NULL), line(place_of_line(p, own, i)), step(0), is_row(own.which == 0)
    {
        const int parts = x.is_complex ? 2 : 1;
        if (x.form.storage != TD_STORED_FULL) return;
        plain = td_global(static_cast<const double *>(data)) +
                parts * (is_row ? td_folded_at(x, line, 0) : td_folded_at(x, 0, line));
        step = parts * (is_row == x.is_transposed ? 1 : x.matrix.ld);
    }
    TD_INSIDE double of_form(int64_t l) const
    {
        const int64_t e = x.is_complex ? l / 2 : l;
        const td_term t =
            is_row ? td_folded_load(x, data, line, e) : td_folded_load(x, data, e, line);
        return x.is_complex && l % 2 ? t.im : t.re;
    }
    /* The magnitudes of `count` terms, `apart` from each other, from l on; 0 from `end` on. All are
     * loaded before any is used. */
    template <int count>
    TD_INSIDE void load(int64_t l, int apart, int64_t end, double (&to)[count]) const
    {
        const int parts = x.is_complex ? 2 : 1;
        TD_UNROLL
        for (int i = 0; i < count; i++) {
            const int64_t own = l + i * apart;
            to[i] = 0.0;
            if (own >= end) continue;
            to[i] = plain ? plain[own / parts * step + own % parts] : of_form(own);
        }
        TD_UNROLL
        for (int i = 0; i < count; i++) to[i] = fabs(to[i]);
    }
};

/* ---- lines ---- */

TD_DEVICE line_part none_of_line() { return {0.0, 0.0, 0, INT32_MIN, INT32_MAX, 0, 0}; }

TD_DEVICE void join(line_part &own, const line_part &other)
{
    own.sum += other.sum;
    own.square += other.square;
    own.logs += other.logs;
    own.peak = max(own.peak, other.peak);
    own.low = min(own.low, other.low);
    own.nonzero += other.nonzero;
    own.is_special |= other.is_special;
}

TD_DEVICE void add(line_part &own, double x)
{
    int q;
    const uint64_t bits = td_bits64(x), m = td_significand64(bits, &q);
    if (!td_is_finite64(bits)) own.is_special = 1;
    if (x == 0.0 || own.is_special) return;
    const int log = td_log_of64(bits);
    own.sum += x;
    own.square += x * x;
    own.logs += log;
    own.peak = max(own.peak, log);
    own.low = min(own.low, q + __ffsll((long long)m) - 1);
    own.nonzero++;
}

template <class type> TD_DEVICE type of_lane(type value, int apart)
{
    return __shfl_xor_sync(~0u, value, apart);
}

/* The sum over the LINES lanes of a line, in the same order in all of them. */
TD_DEVICE line_part join_lanes(line_part own)
{
    for (int apart = LINES / 2; apart > 0; apart /= 2) {
        const line_part other = {of_lane(own.sum, apart),
                                 of_lane(own.square, apart),
                                 of_lane((long long)own.logs, apart),
                                 of_lane(own.peak, apart),
                                 of_lane(own.low, apart),
                                 of_lane(own.nonzero, apart),
                                 of_lane(own.is_special, apart)};
        join(own, other);
    }
    return own;
}

TD_DEVICE int log_of(double x) { return (int)ceil(TD_LOG * log2(x)); }

/* The record of a line of k terms (../measure/line.h), but for the last bits of its logarithms. */
TD_DEVICE td_line record_of(const line_part &all, int64_t k)
{
    td_line line = {0, 0, TD_NO_MEAN, 0, 0, TD_NO_LOW, 0};
    if (all.is_special) line.low = TD_SPECIAL;
    if (all.is_special || !all.nonzero) return line;
    line.norm = log_of(all.square) / 2 + 1;
    line.sum = log_of(all.sum);
    line.typical = line.sum - log_of((double)all.nonzero);
    if (all.nonzero == k) line.mean = (int)floor((double)all.logs / (double)k);
    line.peak = all.peak;
    line.low = (int16_t)all.low;
    return line;
}

TD_DEVICE bool is_far(const td_line &line)
{
    return td_is_counted(line) && abs(line.peak / TD_LOG) > FAR_EXPONENT;
}

/* Joins the slices of a strip's lines, stores their records, and raises the extremes by them. */
TD_DEVICE void close_lines(const td_probe &p, int number, int slices)
{
    probe_work &work = work_of(p);
    const int i = (int)threadIdx.x / LINES, lane = (int)threadIdx.x % LINES;
    line_part own = none_of_line();
    for (int s = lane; s < slices; s += LINES) join(own, work.part[number][s][i]);
    own = join_lanes(own);
    const td_line line = record_of(own, terms_of(p));
    seen_of_lines seen;
    if (lane == 0) {
        work.line[number][i] = line;
        seen.add(td_scaling_of(&p.rule, &p.rule.candidate[0]), line);
        if (is_far(line)) atomicMax(&work.counts.is_far, 1);
    }
    raise_extremes(seen, false, &work.counts.seen[number % 2]);
}

/* True if alpha is 0: then neither operand is read. */
TD_DEVICE bool reads_none(const td_probe &p)
{
    const td_term alpha = td_complex_scalar(p.alpha, p.alpha_is_real || !p.factor[0].is_complex);
    return alpha.re == 0.0 && alpha.im == 0.0;
}

/* Grid: slices, strip. */
static __global__ void __launch_bounds__(THREADS) probe_lines_kernel(TD_PARAMETER td_probe p)
{
    td_let_next_begin();
    const int number = (int)blockIdx.y, i = (int)threadIdx.x / LINES,
              lane = (int)threadIdx.x % LINES;
    const slice own(p, (int)blockIdx.x);
    const probed_line line(p, strip_of(p, number), i);
    line_part seen = none_of_line();
    td_wait_for_last();
    if (reads_none(p)) return;
    TD_ROLLED
    for (int64_t l = own.first + lane; l < own.end; l += AT_ONCE * LINES) {
        double x[AT_ONCE];
        line.load(l, LINES, own.end, x);
        TD_UNROLL
        for (int e = 0; e < AT_ONCE; e++) add(seen, x[e]);
    }
    seen = join_lanes(seen);
    probe_work &work = work_of(p);
    if (lane == 0) work.part[number][blockIdx.x][i] = seen;
    if (td_is_last(&work.counts.lines_done[number], (int)gridDim.x))
        close_lines(p, number, (int)gridDim.x);
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
TD_DEVICE uint32_t quad_of(double scale, const double (&x)[4])
{
    uint32_t quad = 0;
    if (scale == 0.0) return 0;
    TD_UNROLL
    for (int i = 0; i < 4; i++)
        if (x[i] != 0.0) quad |= ((uint32_t)min(127.0, x[i] * scale) | IS_NONZERO) << (8 * i);
    return quad;
}

enum { QUADS = LINES, STEP = 4 * QUADS }; /* terms that a block has in shared memory */
struct quads_of_tile {
    uint32_t of[2][LINES][QUADS + 1];
};

/* The block's share of its tile's sums; MEETS with it: two numbers that are not 0 meet. */
static const uint32_t MEETS = 1u << 31;
TD_DEVICE uint32_t sum_of_slice(const td_probe &p, int tile, const slice &own, quads_of_tile &quads)
{
    const int number_a = number_of_strip(p, tile, 0), number_b = number_of_strip(p, tile, 1);
    const int i = (int)threadIdx.x / LINES, lane = (int)threadIdx.x % LINES;
    const probed_line a(p, strip_of(p, number_a), i), b(p, strip_of(p, number_b), i);
    const double scale_a = scale_of(work_of(p).line[number_a][i]),
                 scale_b = scale_of(work_of(p).line[number_b][i]);
    uint32_t sum = 0, meets = 0;
    TD_ROLLED
    for (int64_t first = own.first; first < own.end; first += STEP) {
        double x[4], y[4];
        a.load(first + 4 * lane, 1, own.end, x);
        b.load(first + 4 * lane, 1, own.end, y);
        quads.of[0][i][lane] = quad_of(scale_a, x);
        quads.of[1][i][lane] = quad_of(scale_b, y);
        __syncthreads();
        for (int l = 0; l < QUADS; l++) {
            const uint32_t quad_a = quads.of[0][i][l], quad_b = quads.of[1][lane][l];
            meets |= quad_a & quad_b & ALL_NONZERO;
            sum = __dp4a(quad_a & ~ALL_NONZERO, quad_b & ~ALL_NONZERO, sum);
        }
        __syncthreads();
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

enum { ALL_BLOCKS = 64, PRICE_OF_ZEROS = 16 }; /* as in certify.h */

/* The price of residues for all tiles that were looked at, each of TD_FEW units. */
TD_DEVICE uint64_t cost_of(const td_probe &p, const probe_counts &counts, int candidate,
                           bool is_estimated)
{
    const td_prices &prices = p.rule.prices;
    const uint64_t tiles = (uint64_t)TILES * TD_FEW,
                   moduli = td_price_of_moduli(prices, p.rule.candidate[candidate].parameter,
                                               is_estimated),
                   share = PRICE_OF_ZEROS + (uint64_t)(ALL_BLOCKS - PRICE_OF_ZEROS) *
                                                (unsigned)counts.met / (TILES * GROUPS * GROUPS);
    if (!is_estimated) return tiles * (moduli + (unsigned)prices.measure);
    return tiles * (moduli * share / ALL_BLOCKS + (unsigned)prices.measure +
                    (unsigned)prices.estimate) +
           (uint64_t)(unsigned)counts.left[candidate] * (unsigned)prices.sums;
}

/* True if some candidate takes less time than native products, or sums in binary64. */
TD_DEVICE bool is_worthwhile(const td_probe &p, const probe_counts &counts)
{
    const extremes seen[2] = {extremes_of(counts.seen[0]), extremes_of(counts.seen[1])};
    const int by_lines = candidate_of_lines(p.rule, seen);
    const uint64_t others = (uint64_t)TILES * TD_FEW * td_price_of_others(p.rule.prices);
    if (counts.is_far) return false;
    if (by_lines < p.rule.candidates_of_lines) return cost_of(p, counts, by_lines, false) < others;
    for (int c = 0; c < p.rule.candidates; c++)
        if (cost_of(p, counts, c, true) < others) return true;
    return false;
}

/* By all threads of the last block. */
TD_DEVICE void give_verdict(const td_probe &p)
{
    TD_SHARED(probe_counts, counts, );
    enum { WORDS = sizeof(probe_counts) / sizeof(int32_t) };
    static_assert((int)WORDS <= (int)THREADS, "a thread for each");
    const int i = (int)threadIdx.x;
    if (i < WORDS)
        reinterpret_cast<int32_t *>(&counts)[i] =
            reinterpret_cast<const int32_t *>(&work_of(p).counts)[i];
    __syncthreads();
    if (i == 0) *p.verdict = is_worthwhile(p, counts) ? TD_RESIDUES : p.otherwise;
}

/* Counts what each candidate leaves of a tile, of which one element in so many was looked at, and
 * the subtiles whose lines meet. */
TD_DEVICE void close_tile(const td_probe &p, int tile, int slices)
{
    enum { ONE_IN = TD_TILE * TD_TILE / THREADS };
    TD_SHARED(uint32_t, met_by, [LINES][LINES + 1]);
    probe_work &work = work_of(p);
    const int i = (int)threadIdx.x / LINES, j = (int)threadIdx.x % LINES;
    uint64_t sum = 0;
    uint32_t own = 0, meets = 0;
    TD_UNROLL_N(8)
    for (int s = 0; s < slices; s++) {
        const uint32_t of_slice = work.sum[tile][s][threadIdx.x];
        sum += of_slice & ~MEETS;
        own |= of_slice & MEETS;
    }
    met_by[i][j] = own;
    __syncthreads();
    for (int e = 0; e < GROUP * GROUP; e++)
        meets |= met_by[i / GROUP * GROUP + e / GROUP][j / GROUP * GROUP + e % GROUP];
    const int met = __syncthreads_count(meets != 0 && i % GROUP == 0 && j % GROUP == 0);
    const td_line a = work.line[number_of_strip(p, tile, 0)][i],
                  b = work.line[number_of_strip(p, tile, 1)][j];
    const bool is_open = meets != 0 && td_is_counted(a) && td_is_counted(b);
    const int surplus = surplus_of(p.rule.candidate[0], a, b, sum);
    for (int c = 0; c < p.rule.candidates; c++) {
        const int left =
            __syncthreads_count(is_open && !certifies(p.rule.candidate[c], a, b, surplus));
        if (threadIdx.x == 0) atomicAdd(&work.counts.left[c], min(left * (int)ONE_IN, (int)TD_FEW));
    }
    if (threadIdx.x == 0) atomicAdd(&work.counts.met, met);
}

/* Grid: slices, tile. */
static __global__ void __launch_bounds__(THREADS) probe_pairs_kernel(TD_PARAMETER td_probe p)
{
    TD_SHARED(quads_of_tile, quads, );
    td_begin_kernel();
    const int tile = (int)blockIdx.y;
    probe_work &work = work_of(p);
    if (reads_none(p)) {
        if (blockIdx.x == 0 && tile == 0 && threadIdx.x == 0) *p.verdict = TD_RESIDUES;
        return;
    }
    work.sum[tile][blockIdx.x][threadIdx.x] =
        sum_of_slice(p, tile, slice(p, (int)blockIdx.x), quads);
    if (!td_is_last(&work.counts.pairs_done[tile], (int)gridDim.x)) return;
    close_tile(p, tile, (int)gridDim.x);
    if (td_is_last(&work.counts.tiles_done, TILES)) give_verdict(p);
}

} // namespace

size_t td_probe_bytes(void) { return sizeof(probe_work); }

cudaError_t td_probe_run(const td_probe *p, cudaStream_t stream)
{
    const unsigned slices = (unsigned)slices_of(*p);
    cudaError_t error = cudaMemsetAsync(p->work, 0, sizeof(probe_counts), stream);
    if (error == cudaSuccess)
        error = TD_LAUNCH(probe_lines_kernel, dim3(slices, (unsigned)strips_of(*p)), THREADS, 0,
                          stream, *p);
    if (error != cudaSuccess) return error;
    return TD_LAUNCH_NEXT(probe_pairs_kernel, dim3(slices, TILES), THREADS, 0, stream, *p);
}

cudaError_t td_probe_prepare(void)
{
    return td_load(cudaSuccess, probe_lines_kernel, probe_pairs_kernel);
}
