/* residue_stage.h - which work tiles of C a block finishes, and how its warps copy the residues of
 * these to shared memory, from where a thread loads those of its subtile. For finish_pairs.h. */
#ifndef TD_RESIDUE_STAGE_H
#define TD_RESIDUE_STAGE_H

#include "../device/async_copy.h"
#include "../device/divisor.h"
#include "../residue/pieces.h"
#include "exact_pairs.h"
#include "residue_source.h"

/* How the blocks of a launch share C. blocks: blocks for each member. of[t]: work tiles in a
 * column of C, where a work tile is t tiles one above the other. Members with the fewest moduli,
 * and those with TD_EXACT_MODULI, get single tiles where the route says so. */
struct finish_grid {
    td_divisor blocks, of[3];
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

/* A block takes work tiles: one tile, or two that stand one above the other, of which it makes
 * half of the columns at a time because long columns suit memory. A warp has eight or four of
 * these columns. Their residues are copied ahead to shared memory as [warp][modulus][slot of a
 * column][row]. */
template <int tiles_> struct work_tile {
    enum {
        tiles = tiles_,
        rows = tiles * TD_TILE,
        lanes = rows / TD_SUBTILE, /* of a column */
        columns = 32 / lanes * TD_SUBTILE,
        steps = TD_TILE / (WARPS * columns)
    };

    /* Lanes of different columns that are read together, TD_SUBTILE apart, are in different
     * banks. */
    TD_DEVICE int slot_of(int column) { return column ^ column / TD_SUBTILE; }
};

/* The warp's first row and column of a step. */
struct warp_place {
    int row, col;
};

template <class work> TD_DEVICE warp_place place_of(const finish_grid &grid, int step)
{
    warp_place at;
    const int number = (int)blockIdx.x + step / work::steps * (int)gridDim.x,
              warp = (int)(threadIdx.x / 32);
    at.col = td_divide(number, grid.of[work::tiles], &at.row) * TD_TILE +
             (step % work::steps * WARPS + warp) * work::columns;
    at.row *= work::rows;
    return at;
}

/* How many moduli the members have that a set is for. */
template <class set> TD_DEVICE int moduli_of(const td_choice &choice)
{
    return set::is_any ? choice.parameter : set::count;
}

/* The warp's part of a stage. */
template <class set> TD_DEVICE int stage_of_warp()
{
    return (int)(threadIdx.x / 32) * set::count * PLANE_BYTES;
}

/* Starts the copies of a step: 16 bytes a lane and modulus. A column of complex products has half
 * of its bytes from Z+, then half from Z-. */
template <class set, class work>
TD_DEVICE void fetch_residues(const td_residue_product &product, const td_target &target,
                              const warp_place &at, int moduli, int8_t *stage)
{
    enum { CHUNK = 16, CHUNKS = work::rows / CHUNK, PLANES = set::is_complex ? 2 : 1 };
    const int lane = (int)(threadIdx.x % 32), column = lane / CHUNKS, in_column = lane % CHUNKS,
              plane = in_column / (CHUNKS / PLANES),
              row = at.row / PLANES + in_column % (CHUNKS / PLANES) * CHUNK;
    const int8_t *from = product.residue + blockIdx.z * product.batch_step +
                         plane * product.plane_step + (int64_t)(at.col + column) * product.ld + row;
    int8_t *const to =
        stage + stage_of_warp<set>() + work::slot_of(column) * work::rows + in_column * CHUNK;
    if (row >= product.ld || at.col + column >= target.n) return;
    if (!td_region_meets(&target.region, at.row, at.col, work::rows, work::columns)) return;
    if constexpr (set::is_any) {
        TD_UNROLL_N(4)
        for (int t = 0; t < moduli; t++, from += PLANES * product.plane_step)
            td_async_copy16(to + t * PLANE_BYTES, from);
        return;
    }
    TD_UNROLL
    for (int t = 0; t < set::count; t++, from += PLANES * product.plane_step)
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

/* What the warp has copied of a column, for the thread's subtile: the residues of its four elements
 * modulo the t-th modulus. */
template <bool is_complex, class work> struct staged_quads {
    const int8_t *at;

    TD_INSIDE staged_quads(const int8_t *stage_of_warp, int j)
    {
        const int lane = (int)(threadIdx.x % 32),
                  slot = work::slot_of(lane / work::lanes * TD_SUBTILE + j);
        at = stage_of_warp + slot * work::rows +
             lane % work::lanes * (is_complex ? TD_SUBTILE / 2 : TD_SUBTILE);
    }
    TD_INSIDE uint32_t of(int t) const
    {
        const int8_t *const own = at + t * PLANE_BYTES;
        if constexpr (is_complex)
            return td_join_parts(own, own + work::rows / 2, t);
        else
            return *reinterpret_cast<const uint32_t *>(own);
    }
    /* Of complex products: the residues of two elements of Z+, or of Z-. */
    TD_INSIDE uint32_t part(int t, bool is_minus) const
    {
        const int8_t *const own = at + t * PLANE_BYTES + (is_minus ? work::rows / 2 : 0);
        return *reinterpret_cast<const uint16_t *>(own);
    }
    /* All words of the column's moduli, joined by "or". */
    template <class set> TD_INSIDE uint32_t any() const
    {
        uint32_t any = 0;
        TD_UNROLL_N(1)
        for (int t = 0; t < set::count; t++) any |= of(t);
        return any;
    }
};

/* Loads the residues of the column's four elements, in the words that pairs.h has. */
template <class set> struct column_residues {
    enum { WORDS = td_residue_words<set>() };
    uint32_t of[WORDS];

    template <class work>
    TD_DEVICE void load(column_residues &r, const staged_quads<set::is_complex, work> &quads)
    {
        TD_UNROLL
        for (int w = 0; w < WORDS; w++) {
            if constexpr (set::is_complex) {
                const int t = w / 2 * 2;
                const uint32_t first = quads.part(t, w % 2),
                               second = t + 1 < set::count ? quads.part(t + 1, w % 2) : 0;
                r.of[w] = __byte_perm(first, second, 0x5140);
            } else {
                r.of[w] = quads.of(w);
            }
        }
    }
    /* td_without_zeros. */
    template <class work>
    TD_DEVICE unsigned without_zeros(const column_residues &r,
                                     const staged_quads<set::is_complex, work> &quads,
                                     unsigned unsure, double *x)
    {
        if constexpr (set::is_complex)
            return td_without_zeros(quads.template any<set>(), unsure, x);
        else
            return td_without_zeros<set>(r.of, unsure, x);
    }
};

#endif
