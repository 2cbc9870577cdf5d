/* finish_double.h - C from the products' residues by crt_double.h, and by whole numbers where that is not sure. For crt.cu. */
#ifndef TD_FINISH_DOUBLE_H
#define TD_FINISH_DOUBLE_H

#include "../async_copy.h"
#include "../divisor.h"
#include "residue_source.h"

/* Units in a column of C, by the tiles of a unit. Members of the fewest moduli have single ones where pairs would leave blocks, or
 * lanes, idle. */
struct finish_units {
    td_divisor of[3];
    bool are_single;
};

/* A subtile and what its columns have in common. */
struct subtile {
    int row, col, rows, cols;
    const td_line *line[2];
    double *c;
    double alpha, beta;
};

TD_DEVICE subtile subtile_at(const td_finish &finish, int row, int col)
{
    const td_target &target = finish.target;
    subtile own = {
        row, col,  min((int)TD_SUBTILE, target.m - row), min((int)TD_SUBTILE, target.n - col),
        {},  NULL, td_scalar_value(target.alpha),        td_scalar_value(target.beta)};
    TD_UNROLL
    for (int o = 0; o < 2; o++)
        own.line[o] = finish.line[o] + blockIdx.z * finish.lines_of_member[o];
    own.c = td_target_c<double>(target) + row + (int64_t)col * target.c.ld;
    return own;
}

enum { WARPS = TD_FINISH_THREADS / 32, PLANE_BYTES = 32 * TD_SUBTILE * TD_SUBTILE };
TD_HOST_DEVICE constexpr int stage_bytes(int moduli) { return WARPS * moduli * PLANE_BYTES; }

/* A block goes through units of one tile, or of two that are above each other, which memory likes: then half of their columns at a
 * time. Of these a warp has eight, or four, whose residues are copied to shared memory ahead: [warp][modulus][slot of a column][row]. */
template <int tiles_> struct unit_of_tiles {
    enum {
        tiles = tiles_,
        rows = tiles * TD_TILE,
        lanes = rows / TD_SUBTILE, /* of a column */
        columns = 32 / lanes * TD_SUBTILE,
        steps = TD_TILE / (WARPS * columns)
    };

    /* Lanes of different columns that are read together, TD_SUBTILE apart, are in different banks. */
    TD_DEVICE int slot_of(int column) { return column ^ column / TD_SUBTILE; }
};

/* The warp's first row and column of a step. */
struct warp_place {
    int row, col;
};

template <class unit> TD_DEVICE warp_place place_of(const finish_units &units, int step)
{
    warp_place at;
    const int number = (int)blockIdx.x + step / unit::steps * (int)gridDim.x,
              warp = (int)(threadIdx.x / 32);
    at.col = td_divide(number, units.of[unit::tiles], &at.row) * TD_TILE +
             (step % unit::steps * WARPS + warp) * unit::columns;
    at.row *= unit::rows;
    return at;
}

/* Starts the copies of a step: 16 bytes a lane. */
template <int moduli, class unit>
TD_DEVICE void fetch_residues(const td_residue_product &product, int n, const warp_place &at,
                              int8_t *stage)
{
    const int chunk = 16, chunks = unit::rows / chunk, lane = (int)(threadIdx.x % 32),
              column = lane / chunks, in_column = lane % chunks * chunk,
              slot = unit::slot_of(column);
    const int8_t *from = product.residue + blockIdx.z * product.batch_step +
                         (int64_t)(at.col + column) * product.ld + at.row + in_column;
    int8_t *const to =
        stage + (int)(threadIdx.x / 32) * moduli * PLANE_BYTES + slot * unit::rows + in_column;
    if (at.row + in_column >= product.ld || at.col + column >= n) return;
    TD_UNROLL
    for (int t = 0; t < moduli; t++, from += product.plane_step)
        td_async_copy16(to + t * PLANE_BYTES, from);
}

/* Another subtile of the same member. */
TD_DEVICE subtile subtile_from(const subtile &first, const td_target &target, int row, int col)
{
    subtile own = first;
    own.row = row;
    own.col = col;
    own.rows = min((int)TD_SUBTILE, target.m - row);
    own.cols = min((int)TD_SUBTILE, target.n - col);
    own.c += row + (int64_t)col * target.c.ld;
    return own;
}

/* Residues of four elements of a column of the thread's subtile. */
template <int moduli> struct column_residues {
    uint32_t of[moduli];

    template <class unit> TD_DEVICE void load(column_residues &r, const int8_t *stage, int j)
    {
        const int lane = (int)(threadIdx.x % 32),
                  slot = unit::slot_of(lane / unit::lanes * TD_SUBTILE + j);
        const int8_t *const at = stage + (int)(threadIdx.x / 32) * moduli * PLANE_BYTES +
                                 slot * unit::rows + lane % unit::lanes * TD_SUBTILE;
        TD_UNROLL
        for (int t = 0; t < moduli; t++)
            r.of[t] = *reinterpret_cast<const uint32_t *>(at + t * PLANE_BYTES);
    }
};

/* One column, if it is sure how all its elements are rounded. Scales are in the place of an exponent's upper half. */
template <int moduli>
TD_DEVICE bool finish_column_double(const subtile &own, const column_residues<moduli> &residues,
                                    const uint32_t (&scale_a)[TD_SUBTILE], uint32_t scale_b,
                                    const double (&c0)[TD_SUBTILE], double *c)
{
    uint32_t scale[TD_SUBTILE];
    double x[TD_SUBTILE];
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) scale[i] = scale_a[i] + scale_b;
    const unsigned unsure = td_round_residues<moduli>(residues.of, scale, x);
    if (unsure && td_without_zeros<moduli>(residues.of, unsure, x)) return false;
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) x[i] = td_axpby(own.alpha, x[i], own.beta, &c0[i]);
    td_column::store({c, own.rows}, x, 0);
    return true;
}

/* What is known of a subtile's lines: scales, in the place of an exponent's upper half; and the columns whose results are usual, as bits. */
struct subtile_lines {
    uint32_t scale_a[TD_SUBTILE];
    uint64_t scales_b; /* 16 bits each */
    unsigned usual;
};

template <int moduli> TD_DEVICE subtile_lines lines_of(const subtile &own, const td_choice &choice)
{
    td_line a[TD_SUBTILE], b[TD_SUBTILE];
    subtile_lines lines = {{}, 0, 0};
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) {
        a[i] = own.line[0][own.row + (i < own.rows ? i : 0)];
        b[i] = own.line[1][own.col + (i < own.cols ? i : 0)];
    }
    td_worst_line worst = td_worst_of(a[0]);
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) {
        worst = td_join_worst(worst, td_worst_of(a[i]));
        lines.scale_a[i] = (uint32_t)a[i].scale << 20;
        lines.scales_b |= (uint64_t)(uint16_t)b[i].scale << (16 * i);
    }
    TD_UNROLL
    for (int j = 0; j < TD_SUBTILE; j++)
        lines.usual |= td_are_usual<moduli>(worst, td_worst_of(b[j]), choice) ? 1u << j : 0u;
    return lines;
}

/* The columns that can be finished so, as bits. What C had in the next one is loaded ahead. */
template <int moduli, class unit>
TD_DEVICE unsigned finish_columns_double(const subtile &own, const subtile_lines &lines, int64_t ld,
                                         const int8_t *stage)
{
    double next[TD_SUBTILE] = {};
    unsigned done = 0;
    uint64_t scales_b = lines.scales_b;
    double *c = own.c;
    if (own.beta != 0.0) td_column::load({own.c, own.rows}, next);
    TD_UNROLL_N(1)
    for (int j = 0; j < own.cols; j++, c += ld, scales_b >>= 16) {
        const double c0[TD_SUBTILE] = {next[0], next[1], next[2], next[3]};
        column_residues<moduli> residues;
        column_residues<moduli>::template load<unit>(residues, stage, j);
        if (own.beta != 0.0 && j + 1 < own.cols) td_column::load({c + ld, own.rows}, next);
        if ((lines.usual >> j & 1) && finish_column_double<moduli>(own, residues, lines.scale_a,
                                                                   (uint32_t)scales_b << 20, c0, c))
            done |= 1u << j;
    }
    return done;
}

/* The other columns, by whole numbers: seldom needed. Returns the mask. */
template <int moduli>
TD_DEVICE_CALL unsigned finish_columns_whole(const td_residue_product &product,
                                             const td_finish &finish, int row, int col,
                                             unsigned done, unsigned left)
{
    const subtile own = subtile_at(finish, row, col);
    enum { LIMBS = moduli <= SHORT_MODULI ? 4 : 5, COLUMNS = moduli <= SHORT_MODULI ? 3 : 5 };
    typedef residue_source<LIMBS, COLUMNS, moduli> source_type;
    const td_choice choice = finish.choice[blockIdx.z];
    const source_type source = {product, moduli};
    td_line a[TD_SUBTILE];
    unsigned mask = 0;
    TD_UNROLL
    for (int i = 0; i < TD_SUBTILE; i++) a[i] = own.line[0][own.row + (i < own.rows ? i : 0)];
    TD_UNROLL_N(1)
    for (int j = 0; j < own.cols; j++) {
        td_wide<LIMBS> x[TD_SUBTILE];
        if (done >> j & 1) continue;
        source_type::load(source, own.row, own.col + j, x);
        mask |=
            td_finish_column<TD_FINISH_ROUND>(finish, choice, x, a, own.line[1][own.col + j],
                                              {own.c + (int64_t)j * finish.target.c.ld, own.rows},
                                              left >> (TD_SUBTILE * j), own.alpha, own.beta)
            << (TD_SUBTILE * j);
    }
    return mask;
}

/* As td_finish_subtile. */
template <int moduli, class unit>
TD_DEVICE unsigned finish_subtile_double(const td_residue_product &product, const td_finish &finish,
                                         const subtile &own, const td_choice &choice,
                                         const int8_t *stage)
{
    if (own.rows <= 0 || own.cols <= 0) return 0;
    const subtile_lines lines = lines_of<moduli>(own, choice);
    unsigned left = 0, done = 0, mask = 0;
    for (int j = 0; j < own.cols && choice.is_estimated; j++)
        left |= td_left_by_ranks(finish, choice, own.row, own.col + j) << (TD_SUBTILE * j);
    if (left == 0 && own.alpha != 0.0)
        done = finish_columns_double<moduli, unit>(own, lines, finish.target.c.ld, stage);
    if (done != (1u << own.cols) - 1)
        mask = finish_columns_whole<moduli>(product, finish, own.row, own.col, done, left);
    *td_target_mask(finish.target, own.row, own.col) = (uint16_t)mask;
    return mask;
}

/* Tiles that are copied ahead, and blocks of a multiprocessor that share its memory. */
enum { DOUBLE_BLOCKS = 2, DOUBLE_BYTES = 2 * stage_bytes(TD_LEAST_PAIRED) };
static_assert(stage_bytes(TD_MOST_PAIRED) <= DOUBLE_BYTES, "one stage of any");

template <int moduli, class unit>
TD_DEVICE void finish_units_double(const td_residue_product &product, const td_finish &finish,
                                   const finish_units &units, td_tile_notes &notes)
{
    TD_DYNAMIC_SHARED(int8_t, shared);
    enum {
        STAGES = 2 * stage_bytes(moduli) <= DOUBLE_BYTES ? 2 : 1,
        TURN = TD_NOTES / unit::tiles * unit::steps /* until the notes are full */
    };
    const td_target &target = finish.target;
    const td_choice choice = finish.choice[blockIdx.z];
    const subtile first = subtile_at(finish, 0, 0);
    const int blocks = (int)gridDim.x, all = units.of[unit::tiles].by * td_tiles(target.n),
              steps = (all - (int)blockIdx.x + blocks - 1) / blocks * unit::steps;
    int next = 0, step = 0;
    td_clear_notes(notes);
    td_async_pipeline<STAGES, TD_BY_WARP>(
        steps,
        [&](int stage) {
            fetch_residues<moduli, unit>(product, target.n, place_of<unit>(units, next++),
                                         shared + stage * stage_bytes(moduli));
        },
        [&](int stage) {
            const warp_place at = place_of<unit>(units, step);
            const int lane = (int)(threadIdx.x % 32);
            const int row = at.row + lane % unit::lanes * TD_SUBTILE, tile_row = row / TD_TILE,
                      col = at.col + lane / unit::lanes * TD_SUBTILE;
            const unsigned mask = finish_subtile_double<moduli, unit>(
                product, finish, subtile_from(first, target, row, col), choice,
                shared + stage * stage_bytes(moduli));
            td_note(notes, step % TURN / unit::steps * unit::tiles + tile_row % unit::tiles,
                    col / TD_TILE * td_tiles(target.m) + tile_row, mask,
                    td_few_of(finish, row, col, mask) == TD_FEW);
            if (++step % TURN == 0 || step == steps) td_close_notes(target, notes);
        });
}

#endif
