/* finish.h - from the exact X of the Ozaki family to C: a block makes tiles, a thread a subtile of
 * each. A template argument `source` has
 *   limbs                        of X
 *   load(source, row, col, x)    X of rows row .. row + 3 of one column; row + 3 may be past the
 *                                end of C */
#ifndef TD_FINISH_H
#define TD_FINISH_H

#include "../view/access.h"
#include "../arithmetic/exact.h"
#include "../arithmetic/wide.h"
#include "../measure/room.h"
#include "../select/error.h"
#include "finish_types.h"

enum { TD_FINISH_THREADS = TD_SUBTILES };

TD_DEVICE td_cut td_cut_of(const td_finish &finish, const td_choice &choice)
{
    td_cut cut = finish.cut;
    if (!cut.by_data) return cut;
    cut.digits = choice.parameter;
    cut.bits = choice.bits;
    cut.unit = (cut.digits - 1) * cut.bits;
    return cut;
}

/* True if X is exactly A B 2^scales: a line is zeros, or nothing was rounded, and digits that are
 * not 0 do not meet where their products are left out. */
TD_DEVICE bool td_is_exact(td_line a, td_line b, td_cut cut)
{
    if (a.low == TD_NO_LOW || b.low == TD_NO_LOW) return true;
    const int low_a = a.scale + a.low, low_b = b.scale + b.low;
    if (low_a < 0 || low_b < 0) return false;
    return cut.digits == 0 || low_a / cut.bits + low_b / cut.bits >= cut.digits - 1;
}

/* True if the element is as good as a binary64 product's, or the mode does not ask. */
TD_DEVICE bool td_is_certified(td_line a, td_line b, const td_choice &choice, td_cut cut)
{
    if (choice.need == TD_NEEDS_NOTHING) return true;
    const int means = a.mean + b.mean + TD_LOG * (a.scale + b.scale);
    return means >= choice.need + td_log_error(a, b, choice) || td_is_exact(a, b, cut);
}

/* Makes one element by TD_FINISH_ROUND. Returns false if the element is left to the repair
 * kernel. c points to C0, which is not read if beta is 0. */
template <int limbs>
TD_DEVICE bool td_finish_rounded(const td_finish &finish, const td_choice &choice,
                                 const td_wide<limbs> &x, td_line a, td_line b, double alpha,
                                 double beta, const double *c, double *result)
{
    if (!choice.is_estimated && !td_is_certified(a, b, choice, finish.cut)) return false;
    *result = td_axpby(alpha, td_wide_round64(x, -(a.scale + b.scale)), beta, c);
    return true;
}

/* x 2^e, as td_exact_read has it. */
template <int limbs> TD_DEVICE td_exact_number td_exact_number_of(const td_wide<limbs> &x, int e)
{
    td_wide<limbs> y = td_wide_magnitude(x);
    int above = limbs - 2; /* limbs, of the lower half of the leading 64 bits */
    while (y.limb[limbs - 1] == 0 && above > -1) {
        TD_UNROLL
        for (int i = limbs - 1; i > 0; i--) y.limb[i] = y.limb[i - 1];
        y.limb[0] = 0;
        above--;
    }
    const uint64_t head = (uint64_t)y.limb[limbs - 1] << 32 | y.limb[limbs - 2],
                   tail = (uint64_t)y.limb[limbs - 3] << 32 | y.limb[limbs - 4];
    const int zeros = td_clz64(head | 1) & 31;
    uint32_t rest = (uint32_t)(tail << zeros);
    TD_UNROLL
    for (int i = 0; i < limbs - 4; i++) rest |= y.limb[i];
    return {head << zeros | tail >> 1 >> (63 - zeros), (uint32_t)(tail << zeros >> 32),
            e + 32 * above - zeros, td_wide_is_negative(x), rest != 0};
}

struct td_exact_element {
    double value;
    bool is_certified;
};

/* td_exact_axpby. Not inlined: the usual case has less code so. */
template <int limbs>
TD_DEVICE_CALL td_exact_element td_exact_element_of(double alpha, td_wide<limbs> x, int e,
                                                    double beta, double c, int error)
{
    td_exact_element r;
    r.value = td_exact_axpby(alpha, x.limb, limbs, e, beta, c, error, &r.is_certified);
    return r;
}

/* By TD_FINISH_EXACT: the correctly rounded element, or false. */
template <int limbs>
TD_DEVICE bool td_finish_exact(const td_finish &finish, const td_choice &choice,
                               const td_wide<limbs> &x, td_line a, td_line b, double alpha,
                               double beta, const double *c, double *result)
{
    static_assert(limbs <= TD_EXACT_MOST_LIMBS, "X is as td_exact_axpby takes it");
    const td_cut cut = td_cut_of(finish, choice);
    const int e = cut.unit - (a.scale + b.scale);
    const int error = td_is_exact(a, b, cut)  ? (int)TD_EXACT_NO_ERROR
                      : finish.counts_rounded ? td_log_error_counted(a, b, choice)
                                              : td_log_error(a, b, choice) - TD_LOG * cut.unit;
    if (alpha == 1.0 && beta == 0.0) { /* the usual case */
        const td_exact_number y = td_exact_number_of(x, e);
        *result = td_exact_round(y, false);
        return error == TD_EXACT_NO_ERROR || error + TD_LOG * e < td_exact_room_log(y);
    }
    const td_exact_element r =
        td_exact_element_of<limbs>(alpha, x, e, beta, beta == 0.0 ? 0.0 : *c, error);
    *result = r.value;
    return r.is_certified;
}

template <td_finish_kind kind, int limbs>
TD_DEVICE bool td_finish_element(const td_finish &finish, const td_choice &choice,
                                 const td_wide<limbs> &x, td_line a, td_line b, double alpha,
                                 double beta, const double *c, double *result)
{
    if constexpr (kind == TD_FINISH_EXACT)
        return td_finish_exact(finish, choice, x, a, b, alpha, beta, c, result);
    else
        return td_finish_rounded(finish, choice, x, a, b, alpha, beta, c, result);
}

/* The bits of the elements of column j in a mask of a subtile. */
TD_DEVICE unsigned td_column_bits(unsigned mask, int j)
{
    return mask >> (TD_SUBTILE * j) & ((1u << TD_SUBTILE) - 1);
}

/* A column of a subtile in memory, and the bits of the elements that C has: if it has all, and they
 * are aligned for that, they are loaded and stored in halves. */
struct td_column {
    double *at;
    unsigned inside;

    TD_DEVICE bool is_whole(const td_column &c)
    {
        return c.inside == (1u << TD_SUBTILE) - 1 && (reinterpret_cast<uintptr_t>(c.at) & 15) == 0;
    }
    TD_DEVICE void load(const td_column &c, double *x)
    {
        const double *const at = td_global(c.at);
        const double2 *halves = reinterpret_cast<const double2 *>(at);
        if (is_whole(c)) {
            const double2 first = halves[0], second = halves[1];
            x[0] = first.x, x[1] = first.y, x[2] = second.x, x[3] = second.y;
            return;
        }
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++)
            if (c.inside >> i & 1) x[i] = at[i];
    }
    /* Stores a column's elements except those whose bits in `deferred` are set. */
    TD_DEVICE void store(const td_column &c, const double *x, unsigned deferred)
    {
        double *const at = td_global(c.at);
        double2 *halves = reinterpret_cast<double2 *>(at);
        if (deferred == 0 && is_whole(c)) {
            halves[0] = make_double2(x[0], x[1]);
            halves[1] = make_double2(x[2], x[3]);
            return;
        }
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++)
            if ((c.inside & ~deferred) >> i & 1) at[i] = x[i];
    }
};

/* Stores C from one column of a subtile but for the elements whose bits in `deferred` are set;
 * returns the bits of all that the repair kernel has to do. */
template <td_finish_kind kind, int limbs>
TD_DEVICE unsigned td_finish_column(const td_finish &finish, const td_choice &choice,
                                    const td_wide<limbs> *x, const td_line *a, td_line b,
                                    const td_column &column, unsigned deferred, double alpha,
                                    double beta)
{
    unsigned mask = 0;
    double c[TD_SUBTILE] = {}, result[TD_SUBTILE] = {};
    if (beta != 0.0) td_column::load(column, c);
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) {
        bool is_done = a[i].low != TD_SPECIAL && b.low != TD_SPECIAL && !(deferred >> i & 1);
        if (alpha == 0.0) { /* there are no lines, and no X */
            result[i] = td_scaled(beta, &c[i]);
            continue;
        }
        is_done = is_done && td_finish_element<kind>(finish, choice, x[i], a[i], b, alpha, beta,
                                                     &c[i], &result[i]);
        mask |= is_done ? 0u : column.inside & 1u << i;
    }
    td_column::store(column, result, mask);
    return mask;
}

/* Returns the bits of the elements of one column of a subtile that the estimate does not
 * certify. */
TD_DEVICE unsigned td_deferred_by_min_moduli(const td_finish &finish, const td_choice &choice,
                                             int row, int col)
{
    unsigned deferred = 0;
    if (!choice.is_estimated) return 0;
    const uint32_t numbers = *reinterpret_cast<const uint32_t *>(
        finish.min_moduli.of + blockIdx.z * finish.min_moduli.batch_step +
        col * finish.min_moduli.ld + row);
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++)
        deferred |= (int)(numbers >> (8 * i) & 255) > choice.number ? 1u << i : 0u;
    return deferred;
}

/* One subtile of C at (row, col); returns its mask. */
template <td_finish_kind kind, class source>
TD_DEVICE unsigned td_finish_subtile(const td_finish &finish, const source &from, int row, int col)
{
    const td_target &target = finish.target;
    const int rows = min((int)TD_SUBTILE, target.m - row);
    const int cols = min((int)TD_SUBTILE, target.n - col);
    if (rows <= 0 || cols <= 0) return 0;
    const unsigned whole = td_whole_mask(target, row, col);
    const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
    const td_choice choice = finish.choice[blockIdx.z];
    const td_line *line[2];
    TD_UNROLL
    for (int o = 0; o < 2; o++) line[o] = finish.line[o] + blockIdx.z * finish.lines_of_member[o];
    td_line a[TD_SUBTILE];
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) a[i] = line[0][row + (i < rows ? i : 0)];
    double *c = td_target_c<double>(target) + row + (int64_t)col * target.c.ld;
    unsigned mask = 0;
    TD_UNROLL_N(1)
    for (int j = 0; j < cols && whole; j++) {
        const unsigned deferred = td_deferred_by_min_moduli(finish, choice, row, col + j);
        td_wide<source::limbs> x[TD_SUBTILE];
        source::load(from, row, col + j, x);
        const td_column column = {c + (int64_t)j * target.c.ld, td_column_bits(whole, j)};
        mask |= td_finish_column<kind>(finish, choice, x, a, line[1][col + j], column, deferred,
                                       alpha, beta)
                << (TD_SUBTILE * j);
    }
    *td_target_mask(target, row, col) = (uint16_t)mask;
    return mask;
}

/* Leaves a subtile to the repair kernel; returns its mask. */
TD_DEVICE unsigned td_defer_subtile(const td_target &target, int row, int col)
{
    const unsigned mask = td_whole_mask(target, row, col);
    if (row < target.m && col < target.n) *td_target_mask(target, row, col) = (uint16_t)mask;
    return mask;
}

/* A subtile without elements of C; returns its mask. */
TD_DEVICE unsigned td_finish_none(const td_target &target, int row, int col)
{
    *td_target_mask(target, row, col) = 0;
    return 0;
}

/* Returns whether the tile of a thread's masked elements is dense, and is recomputed as a whole: in
 * binary64 if it has more than few, or any whose exact sum is not cheap; by a second product if it
 * has more than few and none that this product does not make. */
TD_DEVICE td_density td_density_of(const td_finish &finish, int row, int col, unsigned mask)
{
    const td_deferred_tiles tiles = finish.defers_tiles;
    const bool to_second = tiles == TD_DEFERS_TO_SECOND;
    const td_line *a = finish.line[0] + blockIdx.z * finish.lines_of_member[0] + row;
    const td_line *b = finish.line[1] + blockIdx.z * finish.lines_of_member[1] + col;
    bool suits_all = tiles != TD_DEFERS_NO_TILES;
    if (to_second)
        suits_all = td_exact_takes(td_scalar_value(finish.target.alpha),
                                   td_scalar_value(finish.target.beta), 0.0);
    for (; mask && suits_all; mask &= mask - 1) {
        const int e = __ffs((int)mask) - 1;
        const td_line &of_row = a[e % TD_SUBTILE], &of_column = b[e / TD_SUBTILE];
        suits_all = to_second ? of_row.low != TD_SPECIAL && of_column.low != TD_SPECIAL
                              : td_is_narrow(of_row) && td_is_narrow(of_column);
    }
    if (suits_all) return TD_DENSE_BY_COUNT;
    return tiles == TD_DEFERS_TO_BINARY64 ? TD_DENSE_ALWAYS : TD_DENSE_NEVER;
}

/* Finishes one tile; TD_FINISH_THREADS threads take part. */
template <td_finish_kind kind, class source>
TD_DEVICE void td_finish_tile(const td_finish &finish, const source &from, int tile)
{
    int row, col;
    td_subtile_of_tile(finish.target, tile, &row, &col);
    const unsigned mask = td_finish_subtile<kind>(finish, from, row, col);
    td_close_tile(finish.target, tile, mask, td_density_of(finish, row, col, mask));
}

/* Finishes the block's tiles. Grid: blocks over tiles, 1, batch member. */
template <td_finish_kind kind, class source>
TD_DEVICE void td_finish_tiles(const td_finish &finish, const source &from)
{
    td_each_tile(finish.target, [&](int tile) { td_finish_tile<kind>(finish, from, tile); });
}

/* True if all tiles of C have more than TD_FEW elements. Of a triangle the smallest tile is on the
 * diagonal. */
TD_DEVICE bool td_are_tiles_large(const td_target &target)
{
    const int rows = (target.m - 1) % TD_TILE + 1, columns = (target.n - 1) % TD_TILE + 1,
              least = min(rows >> target.region.row_shift, columns);
    if (target.region.kind != TD_REGION_ALL && least * (least + 1) / 2 <= TD_FEW) return false;
    return rows * columns > TD_FEW;
}

/* What one word says of a member whose choice leaves all of C to repair: how every tile is made in
 * binary64, or that C is there already. TD_ROOM_UNKNOWN: tiles are to be listed, as small ones are
 * worth exact sums, which need to know their lines. */
TD_DEVICE td_room td_room_of_member(const td_finish &finish)
{
    const td_room room = (td_room)finish.choice[blockIdx.z].room;
    if (room == TD_MADE) return TD_MADE;
    if (finish.defers_tiles != TD_DEFERS_TO_BINARY64 || !finish.target.open_count)
        return TD_ROOM_UNKNOWN;
    if (room == TD_ROOM_UNMEASURED) return TD_ROOM;
    return td_are_tiles_large(finish.target) ? room : TD_ROOM_UNKNOWN;
}

/* Finishes members whose choice leaves all of C to repair. If one word says how, no tile is listed.
 */
TD_DEVICE void td_defer_tiles(const td_finish &finish)
{
    const td_room room = td_room_of_member(finish);
    if (room != TD_ROOM_UNKNOWN) {
        td_open_counts *const counts = finish.target.open_count + blockIdx.z;
        if (blockIdx.x > 0 || threadIdx.x > 0) return;
        counts->dense = td_tiles(finish.target.m) * td_tiles(finish.target.n);
        counts->room = room;
        return;
    }
    td_each_tile(finish.target, [&](int tile) {
        int row, col;
        td_subtile_of_tile(finish.target, tile, &row, &col);
        const unsigned mask = td_defer_subtile(finish.target, row, col);
        td_close_tile(finish.target, tile, mask, td_density_of(finish, row, col, mask));
    });
}

#endif
