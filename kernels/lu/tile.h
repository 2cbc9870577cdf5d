/* tile.h - a warp's tile of 32 rows of a panel, less the product of 32 rows of L and as many rows of U as the panel has
 * columns. Each element is one chain of FMAs in the order of k: so are the binary64 products of the tensor cores of
 * sm_90 (measured; no other device's are used), and everything else is FMAs of small tiles in registers. */
#ifndef TD_LU_TILE_H
#define TD_LU_TILE_H

#include "pivot.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
#define TD_LU_HAS_MMA 1
#else
#define TD_LU_HAS_MMA 0
#endif

template <class number> struct td_lu_is_wide {
    enum { value = sizeof(typename td_real_of<number>::type) == 8 };
};
template <class number> struct td_lu_uses_mma {
    enum { value = TD_LU_HAS_MMA && td_lu_is_wide<number>::value };
};

/* Columns of a panel: no bits depend on it. A lane has rows lane / 4 + 8 i of the tile, and the columns that
 * td_lu_tile_column says, RUN neighbours at a time. Rows of U are LD numbers apart, so that the lanes of products find
 * theirs in different banks. */
template <class number> struct td_lu_tile {
    enum { PANEL = sizeof(number) == 16 ? 8 : 16, ROWS = 32, COLUMNS = PANEL / 4 };
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

/* s -= a 16 x 8 product of reals. Of x, a lane has rows lane / 4 and that + 8 at k = lane % 4, then the same at k + 4; of
 * y, column lane / 4 at both. */
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

/* Rows 16 half .. of s -= L U for columns k0 .. k0 + 8 of L, as reals: left(i, k) is real k of the lane's row i, and
 * right(k, column, part) what it meets in U, part 1 being the imaginary one of the product. */
template <class number, class left_function, class right_function>
TD_DEVICE void td_lu_tile_mma(typename td_lu_tile<number>::sums &s, int half, int k0,
                              left_function left, right_function right)
{
    constexpr bool is_complex = td_is_complex<number>::value;
    const int lane = (int)threadIdx.x % 32, k = k0 + lane % 4;
    double x[4];
    TD_UNROLL
    for (int e = 0; e < 4; e++) x[e] = -left(2 * half + e % 2, k + e / 2 * 4);
    TD_UNROLL
    for (int t = 0; t < 2; t++) {
        const int column = lane / 4 + (is_complex ? 0 : 8 * t);
        const double y[2] = {right(k, column, t), right(k + 4, column, t)};
        if constexpr (is_complex) {
            double signed_x[4];
            TD_UNROLL
            for (int e = 0; e < 4; e++) signed_x[e] = t == 0 && lane % 2 ? -x[e] : x[e];
            auto &u = s[2 * half], &v = s[2 * half + 1];
            if (t == 0)
                td_lu_mma(u[0].re, u[1].re, v[0].re, v[1].re, signed_x, y);
            else
                td_lu_mma(u[0].im, u[1].im, v[0].im, v[1].im, signed_x, y);
        } else {
            auto &u = s[2 * half], &v = s[2 * half + 1];
            td_lu_mma(u[2 * t], u[2 * t + 1], v[2 * t], v[2 * t + 1], x, y);
        }
    }
}

/* s -= L U, for all rows from 16 `half` on: slots[i] is where `l` has the lane's row i; u: PANEL rows. */
template <class number, class store>
TD_DEVICE void td_lu_tile_update(typename td_lu_tile<number>::sums &s, const store &l,
                                 const int (&slots)[4], const number *u, int from_half)
{
    typedef td_lu_tile<number> tile;
    if constexpr (td_lu_uses_mma<number>::value) {
        constexpr bool is_complex = td_is_complex<number>::value;
        const double *reals = reinterpret_cast<const double *>(u);
        TD_UNROLL
        for (int k0 = 0; k0 < 16; k0 += 8) TD_UNROLL
        for (int half = 0; half < 2; half++)
            if (half >= from_half)
                td_lu_tile_mma<number>(
                    s, half, k0, [&](int i, int k) { return l.real(slots[i], k); },
                    [&](int k, int column, int part) {
                        return is_complex ? reals[(k / 2 * tile::LD + column) * 2 + (k + part) % 2]
                                          : reals[k * tile::LD + column];
                    });
    } else {
        enum { PIECE = td_pack<number>::COUNT, RUN = tile::RUN };
        (void)from_half;
        TD_UNROLL_N(2)
        for (int k = 0; k < tile::PANEL; k += PIECE) {
            number left[4][PIECE];
            TD_UNROLL
            for (int i = 0; i < 4; i++) l.read(left[i], slots[i], k);
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
                    s[i][j] = td_minus(s[i][j], left[i][e], right[j]);
            }
        }
    }
}

#endif
