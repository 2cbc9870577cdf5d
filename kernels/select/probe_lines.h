/* probe_lines.h - the lines that a probe looks at (probe.h): where they are, how their terms are
 * loaded, and what is known of slices of them. Each instruction runs once or twice, so that
 * fetching them is most of the time: loops are rolled, and what is rare is a call. */
#ifndef TD_PROBE_LINES_H
#define TD_PROBE_LINES_H

#include "../unfold/folded.h"
#include "../view/planes.h"
#include "probe.h"

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
    SUBTILES = GROUPS * GROUPS, /* of a tile: 4 x 4 elements that are neighbours */
    PLACES = GROUPS * SHARED,   /* where groups of an operand begin */
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

/* Terms of the real product: a complex element has two. */
TD_HOST_DEVICE int64_t terms_of(const td_probe &p)
{
    return p.factor[0].is_complex ? 2 * p.k : p.k;
}

/* Terms of a slice: whole stages, which the int8 products pass over where they are zeros. */
TD_HOST_DEVICE int64_t step_of(const td_probe &p)
{
    const int64_t k = terms_of(p), slices = max((int64_t)1, min((int64_t)SLICES, k / LEAST_K)),
                  stages = (k + slices * TD_SLICE_K - 1) / (slices * TD_SLICE_K);
    return stages * TD_SLICE_K;
}

TD_HOST_DEVICE int slices_of(const td_probe &p)
{
    return (int)((terms_of(p) + step_of(p) - 1) / step_of(p));
}

struct slice {
    int64_t first, end;

    TD_INSIDE slice(const td_probe &p, int number)
    {
        const int64_t k = terms_of(p), step = step_of(p);
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

/* Where group `place` of PLACES begins. The first and the last are at the operand's ends; the
 * others lie at random in equal parts of it, others for each operand, so that no structure of
 * period or band is met everywhere or nowhere. */
TD_DEVICE int64_t first_of_group(int64_t lines, int which, int place)
{
    const int64_t room = max((int64_t)0, lines - GROUP), last = PLACES - 1,
                  begin = (room * (2 * place - 1)) / (2 * last),
                  end = (room * (2 * place + 1)) / (2 * last);
    const uint32_t chance = (uint32_t)(2 * place + which) * 0x9e3779b1u >> 16;
    if (place == 0) return 0;
    return place == last ? room : begin + ((end - begin) * chance >> 16);
}

/* Number i of a strip's lines. */
TD_DEVICE int64_t place_of_line(const td_probe &p, const strip &own, int i)
{
    const int which = own.which, place = i / GROUP * SHARED + own.place;
    return min(p.lines[which] - 1, first_of_group(p.lines[which], which, place) + i % GROUP);
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
        : probed_line(p, own, place_of_line(p, own, i))
    {
    }
    TD_INSIDE probed_line(const td_probe &p, const strip &own, int64_t number)
        : x(p.factor[own.which]), data(td_folded_member(x, own.tile * p.batch / TILES)),
          plain(NULL), line(number), step(0), is_row(own.which == 0), is_complex(x.is_complex)
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

} // namespace

#endif
