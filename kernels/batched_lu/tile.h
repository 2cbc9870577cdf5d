/* tile.h - a warp's tile of 32 rows of a panel, less the product of 32 rows of L and as many rows
 * of U as the panel has columns. Each element is one chain of FMAs in the order of k: so are the
 * binary64 products of the tensor cores of sm_90 (measured; no other device's are used), and
 * everything else is FMAs of small tiles in registers. */
#ifndef TD_LU_TILE_H
#define TD_LU_TILE_H

#include "pivot.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
#define TD_LU_HAS_MMA 1
#else
#define TD_LU_HAS_MMA 0
#endif

template <class number> struct td_lu_uses_mma {
    enum { value = TD_LU_HAS_MMA && td_lu_is_wide<number>::value };
};

/* A lane has rows lane / 4 + 8 i of the tile, and the columns that td_lu_tile_column says, RUN
 * neighbours at a time. Rows of U are LD numbers apart, so that the lanes of products find theirs
 * in different banks. */
template <class number> struct td_lu_tile {
    enum { PANEL = td_lu_panel_columns<number>(), ROWS = 32, COLUMNS = PANEL / 4 };
    enum { RUN = td_lu_is_wide<number>::value ? 2 : 4 };
    enum { LD = sizeof(number) == 8 && RUN == 2 ? 20 : sizeof(number) == 16 ? 12 : 16 };
    typedef number sums[4][COLUMNS];
};

TD_DEVICE int td_lu_tile_row(int i) { return (int)threadIdx.x % 32 / 4 + 8 * i; }
template <class number> TD_DEVICE int td_lu_tile_column(int j)
{
    constexpr int run = td_lu_tile<number>::RUN;
    return j / run * 4 * run + (int)threadIdx.x % 4 * run + j % run;
}

/* s -= a 16 x 8 product of reals. Of x, a lane has rows lane / 4 and that + 8 at k = lane % 4, then
 * the same at k + 4; of y, column lane / 4 at both. */
TD_DEVICE void td_lu_mma(double &s0, double &s1, double &s2, double &s3, const double (&x)[4],
                         const double (&y)[2])
{
#if TD_LU_HAS_MMA
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+d"(s0), "+d"(s1), "+d"(s2), "+d"(s3)
        : "d"(x[0]), "d"(x[1]), "d"(x[2]), "d"(x[3]), "d"(y[0]), "d"(y[1]));
#else
    (void)s0, (void)s1, (void)s2, (void)s3, (void)x, (void)y;
#endif
}

/* What a lane has of 32 rows of L, for products: of row lane / 4 + 8 i, reals lane % 4 + 4 k. */
template <class number> struct td_lu_left {
    double of[4][4];

    /* Rows slots[i] of l. */
    template <class store> TD_INSIDE void read(const store &l, const int (&slots)[4])
    {
        TD_UNROLL
        for (int i = 0; i < 4; i++) l.reals(of[i], slots[i]);
    }
    /* s -= L U, from row 16 `from_half` on. Complex: the real parts of U's row k / 2 meet real k of
     * L in the real parts of the sums if k is even, and the imaginary ones with the other sign if
     * it is odd. */
    TD_INSIDE void subtract_product(typename td_lu_tile<number>::sums &s, const number *u,
                                    int from_half) const
    {
        enum { LD = td_lu_tile<number>::LD };
        constexpr bool is_complex = td_is_complex<number>::value;
        const double *reals = reinterpret_cast<const double *>(u);
        const int lane = (int)threadIdx.x % 32;
        TD_UNROLL
        for (int k = 0; k < 4; k += 2) TD_UNROLL
        for (int t = 0; t < 2; t++) {
            double y[2];
            TD_UNROLL
            for (int e = 0; e < 2; e++) {
                const int row = lane % 4 + 4 * (k + e);
                y[e] = is_complex ? reals[(row / 2 * LD + lane / 4) * 2 + (row + t) % 2]
                                  : reals[row * LD + lane / 4 + 8 * t];
            }
            TD_UNROLL
            for (int half = 0; half < 2; half++) {
                if (half < from_half) continue;
                double x[4];
                TD_UNROLL
                for (int e = 0; e < 4; e++) {
                    x[e] = -of[2 * half + e % 2][k + e / 2];
                    if (is_complex && t == 0 && lane % 2) x[e] = -x[e];
                }
                multiply(s[2 * half], s[2 * half + 1], t, x, y);
            }
        }
    }
    TD_INSIDE static void multiply(number (&s)[td_lu_tile<number>::COLUMNS],
                                   number (&below)[td_lu_tile<number>::COLUMNS], int t,
                                   const double (&x)[4], const double (&y)[2])
    {
        if constexpr (!td_is_complex<number>::value)
            td_lu_mma(s[2 * t], s[2 * t + 1], below[2 * t], below[2 * t + 1], x, y);
        else if (t == 0)
            td_lu_mma(s[0].re, s[1].re, below[0].re, below[1].re, x, y);
        else
            td_lu_mma(s[0].im, s[1].im, below[0].im, below[1].im, x, y);
    }
};

/* s -= L U by FMAs: slots[i] is where `l` has the lane's row i; u: PANEL rows. L in device memory
 * is read a piece ahead. */
template <class number, class store>
TD_DEVICE void td_lu_tile_update(typename td_lu_tile<number>::sums &s, const store &l,
                                 const int (&slots)[4], const number *u)
{
    typedef td_lu_tile<number> tile;
    enum { PIECE = td_pack<number>::COUNT, RUN = tile::RUN, PANEL = tile::PANEL };
    enum { AHEAD = store::IS_FAR, TURN = AHEAD + 1 };
    number left[TURN][4][PIECE];
    TD_UNROLL
    for (int i = 0; AHEAD && i < 4; i++) l.read(left[0][i], slots[i], 0);
    TD_ROLLED
    for (int k0 = 0; k0 < PANEL; k0 += TURN * PIECE) TD_UNROLL
    for (int t = 0; t < TURN; t++) {
        const int k = k0 + t * PIECE;
        TD_UNROLL
        for (int i = 0; i < 4; i++)
            l.read(left[(t + AHEAD) % TURN][i], slots[i], min(k + AHEAD * PIECE, PANEL - PIECE));
        TD_UNROLL
        for (int e = 0; e < PIECE; e++) {
            number right[tile::COLUMNS];
            TD_UNROLL
            for (int j = 0; j < tile::COLUMNS; j += RUN)
                td_read_packs<RUN>(right + j,
                                   u + (k + e) * tile::LD + td_lu_tile_column<number>(j));
            TD_UNROLL
            for (int i = 0; i < 4; i++) TD_UNROLL
            for (int j = 0; j < tile::COLUMNS; j++)
                s[i][j] = td_minus(s[i][j], left[t][i][e], right[j]);
        }
    }
}

#endif
