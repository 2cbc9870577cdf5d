/* finish_pairs.h - makes C from the products' residues by binary64 arithmetic (pairs.h), and by
 * whole numbers where the rounding is not certain. For crt.cu. */
#ifndef TD_FINISH_PAIRS_H
#define TD_FINISH_PAIRS_H

#include "residue_stage.h"

/* Loads by way of the L2 what kernels before the last one have written. Valid before
 * td_wait_for_last. */
template <class type> TD_DEVICE type load_early(const type &from)
{
#if TD_HAS_CUDA_DEVICE
    static_assert(sizeof(type) % sizeof(uint32_t) == 0, "whole words");
    uint32_t words[sizeof(type) / sizeof(uint32_t)];
    TD_UNROLL
    for (int i = 0; i < (int)(sizeof(type) / sizeof(uint32_t)); i++)
        words[i] = __ldcg(reinterpret_cast<const uint32_t *>(&from) + i);
    type loaded;
    memcpy(&loaded, words, sizeof loaded);
    return loaded;
#else
    return from;
#endif
}

/* Makes one column, of which C has the elements whose bits are set in `inside`. Scales stand in the
 * upper half of an exponent's word. Stores the elements of which it is sure how they are rounded,
 * except those whose bits are set in `deferred`; returns the bits of all others. */
template <class set, class work>
TD_DEVICE unsigned
finish_column_double(const subtile &own, const staged_quads<set::is_complex, work> &quads,
                     const column_residues<set> &residues, const uint32_t (&scale_a)[TD_SUBTILE],
                     uint32_t scale_b, const double (&c0)[TD_SUBTILE], unsigned inside,
                     unsigned deferred, double *c)
{
    double x[TD_SUBTILE];
    bool is_sure[TD_SUBTILE];
    unsigned unsure = 0;
    td_round_quad<set>(residues.of, scale_a, scale_b, x, is_sure);
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) unsure |= is_sure[i] ? 0u : 1u << i;
    if (unsure)
        unsure = column_residues<set>::template without_zeros<work>(residues, quads, unsure, x);
    unsure |= deferred;
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) x[i] = td_axpby(own.alpha, x[i], own.beta, &c0[i]);
    td_column::store({c, inside}, x, unsure);
    return unsure;
}

/* The record of a line; of one that exists in the place of one that does not. */
template <bool is_early> TD_DEVICE td_line record_of(const td_finish &finish, int which, int line)
{
    const td_line *const lines = finish.line[which] + blockIdx.z * finish.lines_of_member[which];
    const td_line &record = lines[min(line, (which ? finish.target.n : finish.target.m) - 1)];
    return is_early ? load_early(record) : record;
}

/* What finishing needs of the records of a subtile's rows and columns, in words that stay in
 * registers. */
struct subtile_records {
    struct record {
        int32_t sum, mean;
        uint32_t low_scale;
    } of[2][TD_SUBTILE];

    template <bool is_early>
    TD_DEVICE void load(subtile_records &r, const td_finish &finish, int row, int col)
    {
        static_assert(offsetof(td_line, scale) == offsetof(td_line, low) + 2, "one word");
        TD_UNROLL
        for (int o = 0; o < 2; o++) {
            TD_UNROLL
            for (int i = 0; i < TD_SUBTILE; i++) {
                const td_line own = record_of<is_early>(finish, o, (o ? col : row) + i);
                r.of[o][i].sum = own.sum;
                r.of[o][i].mean = own.mean;
                memcpy(&r.of[o][i].low_scale, &own.low, sizeof(uint32_t));
            }
        }
    }
    TD_DEVICE td_line line(const record &r)
    {
        td_line line = {};
        line.sum = r.sum;
        line.mean = r.mean;
        line.low = (int16_t)r.low_scale;
        line.scale = (int16_t)(r.low_scale >> 16);
        return line;
    }
};

/* The scales of usual lines. exact_pairs.h looks at each result for itself. */
template <class set> TD_DEVICE td_scales_near near_of(const td_choice &choice)
{
    if constexpr (set::is_any) {
        const int bits = td_exact_pairs_in_memory(set::is_complex, choice.parameter).bits;
        return {bits - 1 - 1023, bits + 1022};
    } else {
        return td_near_of<set>();
    }
}

/* What is known of a subtile's lines: scales, in the place of an exponent's upper half; and the
 * columns whose results are usual, as bits. */
struct subtile_lines {
    uint32_t scale_a[TD_SUBTILE];
    uint64_t scales_b; /* 16 bits each */
    unsigned usual;
};

template <class set>
TD_DEVICE subtile_lines lines_of(const subtile_records &records, const td_choice &choice)
{
    const td_scales_near near = near_of<set>(choice);
    td_line a[TD_SUBTILE], b[TD_SUBTILE];
    subtile_lines lines = {{}, 0, 0};
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) {
        a[i] = subtile_records::line(records.of[0][i]);
        b[i] = subtile_records::line(records.of[1][i]);
    }
    td_worst_line worst = td_worst_of(a[0]);
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) {
        worst = td_join_worst(worst, td_worst_of(a[i]));
        lines.scale_a[i] = (uint32_t)a[i].scale << 20;
        lines.scales_b |= (uint64_t)(uint16_t)b[i].scale << (16 * i);
    }
    td_worst_line worst_b = td_worst_of(b[0]);
    TD_UNROLL
    for (int j = 1; j < TD_SUBTILE; j++) worst_b = td_join_worst(worst_b, td_worst_of(b[j]));
    lines.usual = (1 << TD_SUBTILE) - 1;
    if (td_are_usual(worst, worst_b, choice, near)) return lines; /* mostly */
    lines.usual = 0;
    worst = td_worst_but_zeros(a[0]);
    TD_UNROLL
    for (int i = 1; i < TD_SUBTILE; i++) worst = td_join_worst(worst, td_worst_but_zeros(a[i]));
    TD_UNROLL
    for (int j = 0; j < TD_SUBTILE; j++)
        lines.usual |= td_are_usual(worst, td_worst_but_zeros(b[j]), choice, near) ? 1u << j : 0u;
    return lines;
}

/* Returns the bits of all elements of the columns whose bits are set. */
TD_DEVICE unsigned bits_of_columns(unsigned columns)
{
    const unsigned spread = (columns & 3) | (columns & 12) << 6,
                   first = (spread | spread << 3) & 0x1111;
    return first * ((1 << TD_SUBTILE) - 1);
}

/* Returns the bits of the subtile's elements that cannot be finished in this way; `whole` has the
 * bits of those that C has. What C held in the next column is loaded ahead. */
template <class set, class work>
TD_DEVICE unsigned finish_columns_double(const subtile &own, const subtile_lines &lines,
                                         unsigned whole, unsigned deferred, int64_t ld,
                                         const int8_t *stage)
{
    enum { COLUMN = (1 << TD_SUBTILE) - 1 };
    double next[TD_SUBTILE] = {};
    unsigned unsure = 0;
    uint64_t scales_b = lines.scales_b;
    double *c = own.c;
    if (own.beta != 0.0) td_column::load({own.c, td_column_bits(whole, 0)}, next);
    TD_UNROLL_N(1)
    for (int j = 0; j < own.cols; j++, c += ld, scales_b >>= 16) {
        const double c0[TD_SUBTILE] = {next[0], next[1], next[2], next[3]};
        const staged_quads<set::is_complex, work> quads(stage + stage_of_warp<set>(), j);
        column_residues<set> residues;
        column_residues<set>::template load<work>(residues, quads);
        if (own.beta != 0.0 && j + 1 < own.cols)
            td_column::load({c + ld, td_column_bits(whole, j + 1)}, next);
        unsigned here = COLUMN;
        if (lines.usual >> j & 1)
            here = finish_column_double<set, work>(
                own, quads, residues, lines.scale_a, (uint32_t)scales_b << 20, c0,
                td_column_bits(whole, j), td_column_bits(deferred, j), c);
        unsure |= here << (TD_SUBTILE * j);
    }
    return unsure;
}

/* x 2^-scale, of an x of usual lines; false if that is no normal number, and not zero. scale: in
 * the place of an exponent's upper half. */
TD_DEVICE bool scale_down(double x, uint32_t scale, double *scaled)
{
    const uint32_t upper = (uint32_t)(td_bits64(x) >> 32);
    const bool is_zero = x == 0.0, is_normal = (int)(upper >> 20 & 0x7ff) > (int32_t)scale >> 20;
    *scaled =
        is_zero ? 0.0 : td_from_bits64((uint64_t)(upper - scale) << 32 | (uint32_t)td_bits64(x));
    return is_zero | is_normal;
}

/* Makes C of X rounded, X in units of 2^-scale; returns false if scale_down does. */
TD_DEVICE bool store_rounded(const subtile &own, double x, uint32_t scale, double *c)
{
    double scaled;
    if (!scale_down(x, scale, &scaled)) return false;
    *c = td_axpby(own.alpha, scaled, own.beta, c);
    return true;
}

/* Makes the elements of usual columns whose bits are set in `wanted`, of so many moduli, from what
 * the warp has copied. Returns the bits of those that are left: of results that are not normal. */
template <bool is_complex, class work>
TD_DEVICE unsigned finish_columns_exactly(const subtile &own, const subtile_lines &lines,
                                          unsigned wanted, int64_t ld, int moduli,
                                          const int8_t *stage_of_warp)
{
    const td_exact_pairs &pairs = td_exact_pairs_in_memory(is_complex, moduli);
    uint64_t scales_b = lines.scales_b;
    double *c = own.c;
    unsigned left = 0;
    TD_UNROLL_N(1)
    for (int j = 0; j < TD_SUBTILE; j++, c += ld, scales_b >>= 16) {
        const unsigned here = td_column_bits(wanted, j);
        const uint32_t scale_b = (uint32_t)scales_b << 20;
        double c0[TD_SUBTILE] = {}, x[TD_SUBTILE];
        unsigned of_column = 0;
        if (!here) continue;
        if (own.beta != 0.0) td_column::load({c, here}, c0);
        td_round_quad_exactly(pairs, moduli, staged_quads<is_complex, work>(stage_of_warp, j), x);
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) {
            of_column |= scale_down(x[i], lines.scale_a[i] + scale_b, &x[i]) ? 0u : 1u << i;
            x[i] = td_axpby(own.alpha, x[i], own.beta, &c0[i]);
        }
        td_column::store({c, here}, x, of_column);
        left |= (of_column & here) << (TD_SUBTILE * j);
    }
    return left;
}

/* Does finish_columns_exactly for elements whose first look was not sure. stage_of_warp: a place in
 * shared memory. Not inlined, and told little: it is seldom needed, and serves all numbers of
 * moduli. */
template <bool is_complex, class work>
TD_DEVICE_CALL unsigned finish_columns_again(const td_finish &finish, int row, int col,
                                             unsigned wanted, int moduli, int stage_of_warp)
{
    TD_DYNAMIC_SHARED(const int8_t, shared);
    const subtile own = subtile_at(finish, row, col);
    subtile_lines lines = {{}, 0, 0};
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) {
        lines.scale_a[i] = (uint32_t)own.line[0][row + min(i, own.rows - 1)].scale << 20;
        lines.scales_b |= (uint64_t)(uint16_t)own.line[1][col + min(i, own.cols - 1)].scale
                          << (16 * i);
    }
    return finish_columns_exactly<is_complex, work>(own, lines, wanted, finish.target.c.ld, moduli,
                                                    shared + stage_of_warp);
}

/* X of one element by whole numbers: its residues are byte `byte` of the words. */
template <int limbs, int columns, class set, class all = td_set_of_moduli<set::is_complex>>
TD_DEVICE td_wide<limbs> whole_element(const uint32_t (&words)[all::groups * TD_GROUP], int moduli,
                                       int byte)
{
    uint64_t fraction = 0;
    int64_t column[limbs] = {};
    TD_UNROLL
    for (int g = 0; TD_GROUP * g < set::count; g++) {
        const td_group<TD_P_LIMBS> &group = all::tables().group[moduli][g];
        uint32_t r[TD_GROUP];
        if (set::is_any && TD_GROUP * g >= moduli) continue;
        TD_UNROLL
        for (int i = 0; i < TD_GROUP; i++)
            r[i] = (uint32_t)(int8_t)(words[TD_GROUP * g + i] >> (8 * byte));
        const uint32_t y = group.start + (group.weights & 0xffffu) * r[0] +
                           (group.weights >> 16) * r[1] + group.weight_2 * r[2];
        fraction += (uint64_t)(y << group.raise) * group.fraction;
        TD_UNROLL
        for (int c = 0; c < columns; c++)
            column[c] = (int64_t)((uint64_t)column[c] + (uint64_t)y * group.limb[c]);
    }
    return td_less_multiple<limbs>(all::tables().less_product[moduli], column, fraction);
}

/* The elements of a subtile whose bits in `unsure` are set, one after the other: seldom needed, and
 * every block that needs them has to fetch this code, so there is little of it. Returns the
 * mask. */
template <td_finish_kind kind, class set>
TD_DEVICE_CALL unsigned finish_elements_whole(const td_residue_product &product,
                                              const td_finish &finish, int row, int col,
                                              unsigned unsure)
{
    enum {
        LIMBS = set::count <= SHORT_MODULI ? 4 : 5,
        COLUMNS = set::count <= SHORT_MODULI ? 3 : 5,
        GROUPS = td_set_of_moduli<set::is_complex>::groups
    };
    const subtile own = subtile_at(finish, row, col);
    const td_choice choice = finish.choice[blockIdx.z];
    const int moduli = moduli_of<set>(choice);
    unsigned mask = 0;
    TD_UNROLL_N(1)
    for (int j = 0; j < own.cols; j++, unsure >>= TD_SUBTILE) {
        uint32_t words[GROUPS * TD_GROUP] = {};
        const td_residue_quads<set::is_complex> quads(product, row, col + j);
        const td_line b = own.line[1][col + j];
        if (!(unsure & ((1u << own.rows) - 1))) continue;
        TD_UNROLL
        for (int t = 0; t < set::count; t++)
            if (!set::is_any || t < moduli) words[t] = quads.of(t);
        TD_UNROLL_N(1)
        for (int i = 0; i < own.rows; i++) {
            const td_line a = own.line[0][row + i];
            double *const c = own.c + i + (int64_t)j * finish.target.c.ld;
            double result;
            if (!(unsure >> i & 1)) continue;
            if (own.alpha == 0.0)
                *c = td_scaled(own.beta, c);
            else if (a.low != TD_SPECIAL && b.low != TD_SPECIAL &&
                     td_finish_element<kind>(finish, choice,
                                             whole_element<LIMBS, COLUMNS, set>(words, moduli, i),
                                             a, b, own.alpha, own.beta, c, &result))
                *c = result;
            else
                mask |= 1u << (TD_SUBTILE * j + i);
        }
    }
    return mask;
}

/* How subtiles are finished: X rounded, then alpha and beta. finish_subtile is as
 * td_finish_subtile. */
struct by_rounding {
    typedef subtile_records records;

    template <class set, bool is_early>
    TD_DEVICE void load(records &own, const td_finish &finish, const td_choice &, int row, int col)
    {
        records::load<is_early>(own, finish, row, col);
    }

    /* Moduli of a set of any have no first look. */
    template <class set, class work>
    TD_DEVICE unsigned finish_subtile(const td_residue_product &product, const td_finish &finish,
                                      const subtile &own, const td_choice &choice,
                                      const records &records, const int8_t *stage)
    {
        TD_DYNAMIC_SHARED(const int8_t, shared);
        if (own.rows <= 0 || own.cols <= 0) return 0;
        const unsigned whole = td_whole_mask(finish.target, own.row, own.col);
        if (!whole) return td_finish_none(finish.target, own.row, own.col);
        const subtile_lines lines = lines_of<set>(records, choice);
        unsigned deferred = 0, unsure = whole;
        const bool has_product = own.alpha != 0.0;
        for (int j = 0; j < own.cols && choice.is_estimated && has_product; j++)
            deferred |= td_deferred_by_min_moduli(finish, choice, own.row, own.col + j)
                        << (TD_SUBTILE * j);
        if constexpr (!set::is_any) {
            if (has_product)
                unsure = finish_columns_double<set, work>(own, lines, whole, deferred,
                                                          finish.target.c.ld, stage);
        }
        unsure &= whole & ~deferred;
        const unsigned usual = has_product ? unsure & bits_of_columns(lines.usual) : 0;
        unsigned mask = deferred & whole;
        if constexpr (set::is_any)
            unsure = (unsure & ~usual) | finish_columns_exactly<set::is_complex, work>(
                                             own, lines, usual, finish.target.c.ld,
                                             choice.parameter, stage + stage_of_warp<set>());
        else if (usual)
            unsure = (unsure & ~usual) | finish_columns_again<set::is_complex, work>(
                                             finish, own.row, own.col, usual, set::count,
                                             (int)(stage - shared) + stage_of_warp<set>());
        if (unsure)
            mask |= finish_elements_whole<TD_FINISH_ROUND, set>(product, finish, own.row, own.col,
                                                                unsure);
        *td_target_mask(finish.target, own.row, own.col) = (uint16_t)mask;
        return mask;
    }
};

/* Two tiles are copied ahead. */
static_assert(TD_CRT_PAIRS_BYTES == 2 * stage_bytes(TD_LEAST_PAIRED), "what routes count with");
static_assert(stage_bytes(TD_MOST_PAIRED) <= TD_CRT_PAIRS_BYTES, "one stage of any");

/* Returns which of the tiles that are counted together is in row tile_row of tiles and is made in a
 * step: of `turn` steps, work::steps for each work tile, whose tiles are counted from above. */
template <class work, int turn> TD_DEVICE int counted_tile(int step, int tile_row)
{
    return step % turn / work::steps * work::tiles + tile_row % work::tiles;
}

/* How often the warps of a block fetch residues: for each of its tiles work::steps times. */
template <class work> TD_DEVICE int steps_of(const finish_grid &grid, const td_target &target)
{
    const int all = grid.of[work::tiles].by * td_tiles(target.n);
    int rest;
    return td_divide(all - (int)blockIdx.x + grid.blocks.by - 1, grid.blocks, &rest) * work::steps;
}

template <class how, class set, class work>
TD_DEVICE void finish_work_tiles(const td_residue_product &product, const td_finish &finish,
                                 const finish_grid &grid, td_deferred_counts &counts)
{
    TD_DYNAMIC_SHARED(int8_t, shared);
    enum {
        STAGES = 2 * stage_bytes(set::count) <= TD_CRT_PAIRS_BYTES ? 2 : 1,
        TURN = TD_COUNTED_TILES / work::tiles * work::steps /* until the counts are full */
    };
    const td_target &target = finish.target;
    const td_choice choice = load_early(finish.choice[blockIdx.z]);
    int next = 0, step = 0;
    const int steps = steps_of<work>(grid, target),
              in_row = (int)(threadIdx.x % 32) % work::lanes * TD_SUBTILE,
              in_col = (int)(threadIdx.x % 32) / work::lanes * TD_SUBTILE;
    typename how::records records;
    td_clear_counts(counts);
    const warp_place begin = place_of<work>(grid, 0);
    how::template load<set, true>(records, finish, choice, begin.row + in_row, begin.col + in_col);
    td_wait_for_last();
    const subtile first = subtile_at(finish, 0, 0);
    td_async_pipeline<STAGES, TD_BY_WARP>(
        steps,
        [&](int stage) {
            fetch_residues<set, work>(product, target, place_of<work>(grid, next++),
                                      moduli_of<set>(choice),
                                      shared + stage * stage_bytes(set::count));
        },
        [&](int stage) {
            const warp_place at = place_of<work>(grid, step);
            const int row = at.row + in_row, tile_row = row / TD_TILE, col = at.col + in_col;
            const unsigned mask = how::template finish_subtile<set, work>(
                product, finish, subtile_from(first, target, row, col), choice, records,
                shared + stage * stage_bytes(set::count));
            const warp_place then = place_of<work>(grid, step + 1);
            if (step + 1 < steps)
                how::template load<set, false>(records, finish, choice, then.row + in_row,
                                               then.col + in_col);
            td_count_deferred(counts, counted_tile<work, TURN>(step, tile_row),
                              td_tile_with(target.m, row, col), mask,
                              td_density_of(finish, row, col, mask));
            if (++step % TURN == 0 || step == steps) td_list_counted(target, counts);
        });
}

#endif
