/* split_lines.h - the residues of a tile's lines, from its elements in shared memory, by all warps
 * of a block. For split.cu. */
#ifndef TD_SPLIT_LINES_H
#define TD_SPLIT_LINES_H

#include "split.h"

#include "../device/copy_ring.h"
#include "split_mma.h"
#include "../view/line_tile.h"

/* A warp has every WARPS-th of a tile's lines, all runs of one at a time. */
enum { LINES = TD_SPLIT_LINES, RUNS = TD_SPLIT_K / RUN, TILE_K = RUNS * RUN, THREADS = 32 * WARPS };

/* What all lines of a tile have in common. */
namespace
{
struct tile_place {
    int which, batch;
    int line0, in_pass;
    int count, k_padded; /* of the pass */
    int64_t first;
};
} // namespace

/* A tile in shared memory, and what belongs to its lines. */
typedef td_line_tile<LINES, TILE_K, THREADS> shape;
namespace
{
struct tile_lines {
    uint32_t line[LINES]; /* low and scale of the record */
    int32_t moduli, is_shifted;
    int next; /* the block's next tile, where boxes are copied */
    tile_place place;
    int64_t in_plane;           /* where its residues begin */
    uint32_t *nonzero, own_bit; /* the map's word, and what tells there of numbers that are not 0 */
};
} // namespace

TD_HOST_DEVICE int padded_lines(const td_fixed &fixed, int which)
{
    return td_padded_lines(fixed.operand[which].lines, which);
}

/* Where a lane's two elements of runs of a line are. Of an operand that does not stand along k
 * these are in two rows; as some lanes are late, eight neighbouring ones find theirs in different
 * banks. */
template <bool along> struct lane_runs {
    const uint64_t *of[2];

    TD_INSIDE lane_runs(const uint64_t *element, int line, int lane)
    {
        const int l = lane * 2, late = is_late<along>(lane);
        of[0] = element + shape::place<along>(line, l + late);
        of[1] = element + shape::place<along>(line, l + !late);
    }

    TD_INSIDE td_pair_of_elements load(int run) const
    {
        static_assert((int)LINES == (int)TD_BOX, "boxes of both kinds are as far apart");
        if (along) return td_load_pair(of[0] + run * TD_BOX);
        return {{of[0][run * TD_BOX], of[1][run * TD_BOX]}};
    }
};

/* The numbers of a lane's two elements by whole numbers: in_pass is the first one's place, and
 * in_pass ^ 1 the other's. Seldom needed where there is much binary64. */
template <int pieces>
TD_DEVICE lane_numbers<pieces> cut_numbers(const td_fixed &fixed, const tile_place &at,
                                           uint32_t record, bool is_shifted, int in_pass,
                                           const td_pair_of_elements &x)
{
    const int16_t low = (int16_t)record, scale = (int16_t)(record >> 16);
    const int16_t *const shift = fixed.shift + at.batch * fixed.operand[0].k + at.first;
    lane_numbers<pieces> numbers;
    TD_UNROLL
    for (int i = 0; i < 2; i++) {
        const int l = in_pass ^ i, own = is_shifted && l < at.count ? shift[l] : 0;
        td_cut_number(low == TD_SPECIAL ? 0 : x.of[i], scale + (at.which ? -own : own),
                      numbers.of[i]);
    }
    return numbers;
}

/* Makes the pieces of all runs of a line. */
template <int pieces, bool along>
TD_DEVICE void find_numbers(const td_residues &p, const tile_place &at, uint32_t record,
                            bool is_shifted, const td_pair_of_elements (&x)[RUNS],
                            lane_numbers<pieces> (&numbers)[RUNS])
{
    const int scale = (int16_t)(record >> 16);
    if (p.round == TD_ROUND_BINARY64 && !is_shifted && (int16_t)record != TD_SPECIAL &&
        td_is_near(scale)) {
        const double unit = td_near_power(scale - TD_PIECE_BITS * (pieces - 1));
        TD_UNROLL
        for (int j = 0; j < RUNS; j++) {
            TD_UNROLL
            for (int i = 0; i < 2; i++)
                td_cut_double<pieces>(td_from_bits64(x[j].of[i]), unit, numbers[j].of[i]);
        }
    } else {
        const int lane = (int)threadIdx.x % 32,
                  in_pass = at.in_pass + lane * 2 + is_late<along>(lane);
        TD_UNROLL
        for (int j = 0; j < RUNS; j++)
            numbers[j] =
                cut_numbers<pieces>(p.fixed, at, record, is_shifted, in_pass + j * RUN, x[j]);
    }
}

/* Makes the numbers of a line's elements, if any of the warp's is not 0: returns whether. */
template <int pieces, bool along>
TD_DEVICE bool load_line(const td_residues &p, const uint64_t *element, const tile_lines &about,
                         int line, int lane, lane_numbers<pieces> (&numbers)[RUNS])
{
    const tile_place &at = about.place;
    const lane_runs<along> elements(element, line, lane);
    td_pair_of_elements x[RUNS];
    uint32_t bits = 0;
    if (td_skips(at.line0 + line >= p.fixed.operand[at.which].lines)) return false;
    TD_UNROLL
    for (int j = 0; j < RUNS; j++) x[j] = elements.load(j * RUN);
    find_numbers<pieces, along>(p, at, about.line[line], about.is_shifted, x, numbers);
    TD_UNROLL
    for (int j = 0; j < RUNS; j++)
        bits |= td_bits_of_pieces(numbers[j].of[0]) | td_bits_of_pieces(numbers[j].of[1]);
    return __any_sync(0xffffffffu, bits != td_piece_zero);
}

/* The planes that a lane stores to: modulo two of the first moduli, and, if numbers have many
 * pieces, modulo one of the others, as far as the tile's member has such. */
template <int pieces> struct lane_planes {
    int8_t
        *first; /* the tile's residues modulo the first modulus, at the lane's elements of a run */
    int64_t step; /* between planes */
    int t, rows;  /* the first one of the lane's moduli, and how many of the two there are */
    int k_left;   /* elements of k from the tile's first one to the pass's end, padded */
    bool has_others, has_other; /* the member has more than the first moduli, and the lane's */

    TD_INSIDE lane_planes(const td_residues &p, const tile_lines &about, unsigned lane)
    {
        const tile_place &at = about.place;
        const int moduli = about.moduli;
        t = (int)(lane / LANES);
        rows = (t < moduli) + (t + 8 < moduli);
        k_left = at.k_padded - at.in_pass;
        has_others = pieces > TD_SHORT_PIECES && moduli > FIRST_MODULI;
        has_other = FIRST_MODULI + t % OTHER_MODULI < moduli;
        step = p.plane_step[at.which];
        first = p.plane[at.which] + about.in_plane + lane % LANES * (RUN / LANES);
    }

    /* `line`: bytes from the tile's first line to the residues' own; `k`: their run's first. */
    TD_INSIDE void store(int64_t line, int k, const lane_residues &residues) const
    {
        TD_UNROLL
        for (int r = 0; r < LANE_ROWS; r++)
            if (r < rows && k < k_left)
                *reinterpret_cast<td_quad<uint32_t> *>(first + line + k + (t + 8 * r) * step) =
                    residues[r];
    }

    TD_INSIDE void store_other(int64_t line, int k, const uint2 &residues) const
    {
        if (has_other && k < k_left)
            *reinterpret_cast<uint2 *>(first + line + k + t / OTHER_MODULI * 8 +
                                       (FIRST_MODULI + t % OTHER_MODULI) * step) = residues;
    }
};

/* Stores a line's residues modulo all moduli, from `line` bytes behind the tile's first line on;
 * numbers of few pieces have no more than the first moduli. If the line's numbers are all 0, there
 * are none to find. */
template <int pieces, bool along>
TD_DEVICE void store_line(const lane_planes<pieces> &planes, int64_t line, bool is_zero,
                          const lane_numbers<pieces> (&numbers)[RUNS],
                          const lane_moduli<pieces> &own, const lane_modulus<pieces> &other)
{
    TD_UNROLL
    for (int j = 0; j < RUNS; j++) {
        lane_residues residues = {};
        uint2 others = {};
        if (!is_zero) {
            const lane_numbers<pieces> *const all = share(numbers[j]);
            find_residues<pieces, along>(own, all, residues);
            if (planes.has_others) others = find_other_residues<pieces, along>(other, all);
        }
        planes.store(line, j * RUN, residues);
        if (planes.has_others) planes.store_other(line, j * RUN, others);
    }
}

/* Stores the residues of the tile's lines. */
template <int pieces, bool along>
TD_DEVICE void store_lines(const td_residues &p, const uint64_t *element, const tile_lines &about,
                           const lane_moduli<pieces> &own, const lane_modulus<pieces> &other)
{
    const tile_place &at = about.place;
    const unsigned lane = (unsigned)td_fresh((int)threadIdx.x % 32);
    const lane_planes<pieces> planes(p, about, lane);
    bool is_nonzero = false;
    TD_ROLLED
    for (int i = td_fresh((int)threadIdx.x / 32); i < LINES; i += WARPS) {
        const int place = at.which ? i : td_place_of_line(i); /* beside the first line's */
        lane_numbers<pieces> numbers[RUNS];
        const bool is_zero = !load_line<pieces, along>(p, element, about, i, (int)lane, numbers);
        is_nonzero |= !is_zero;
        store_line<pieces, along>(planes, (int64_t)place * at.k_padded, is_zero, numbers, own,
                                  other);
    }
    if (is_nonzero && lane == 0 && about.nonzero) atomicOr(about.nonzero, about.own_bit);
}

template <int pieces>
TD_DEVICE void store_tile(const td_residues &p, const uint64_t *element, const tile_lines &about,
                          const lane_moduli<pieces> &own, const lane_modulus<pieces> &other)
{
    if (p.fixed.operand[about.place.which].k_step == 1)
        store_lines<pieces, true>(p, element, about, own, other);
    else
        store_lines<pieces, false>(p, element, about, own, other);
}

/* The lane's moduli of the tile before, most often those of the next one. */
struct kept_moduli {
    int which, moduli; /* -1: none */
    lane_moduli<TD_SHORT_PIECES> own;
};

/* Numbers of so many pieces; tiles of members that have others are left alone. */
template <int pieces>
TD_DEVICE void work_on_tile(const td_residues &p, const uint64_t *element, const tile_lines &about,
                            kept_moduli &kept)
{
    const int which = td_uniform(about.place.which), moduli = td_uniform(about.moduli);
    if ((moduli > TD_SHORT_MODULI) != (pieces > TD_SHORT_PIECES)) return;
    if constexpr (pieces == TD_SHORT_PIECES) {
        if (which != kept.which || moduli != kept.moduli) {
            kept.which = which;
            kept.moduli = moduli;
            find_moduli(kept.own, which, moduli);
        }
        store_tile<pieces>(p, element, about, kept.own, {});
    } else {
        lane_moduli<pieces> own;
        lane_modulus<pieces> other;
        find_moduli(own, which, moduli);
        find_modulus(other, which, moduli);
        store_tile<pieces>(p, element, about, own, other);
    }
}

#endif
