/* join.h - which elements of a tile each thread owns in the multiply kernels, and how their sums
 * become elements of C.
 *
 * A template argument `format` is an arithmetic (df.cu, ts.cu, dd.cu):
 *   real, value          a component's type; a sum's, in registers and in memory
 *   groups               subtiles of a thread, 1 or 2
 *   leading(value)       the first component
 *   to_binary64(output, value, e, alpha, beta, c)
 *                        alpha value 2^e + beta *c; c is not read if beta is 0
 *   join_typed(output, s, row, col)
 *                        td_join_typed for the type of C, which is not binary64 */
#ifndef TD_MULTIFLOAT_JOIN_H
#define TD_MULTIFLOAT_JOIN_H

#include "../view/access.h"
#include "multifloat.h"

/* Warps have 32 rows and 16 columns of each group, lanes 8 x 4; a thread has 4 neighbouring rows,
 * and groups of 4 neighbouring columns, 16 apart. */
template <class format> struct td_tile {
    enum {
        rows = TD_SUBTILE,
        cols = format::groups * TD_SUBTILE,
        elements = rows * cols,
        threads = TD_TILE * TD_TILE / elements
    };
};

TD_DEVICE int td_thread_row()
{
    return ((int)threadIdx.x >> 5 & 1) * 32 + ((int)threadIdx.x & 7) * 4;
}

template <class format> TD_DEVICE int td_thread_col()
{
    return ((int)threadIdx.x >> 6) * (16 * format::groups) + ((int)threadIdx.x >> 3 & 3) * 4;
}

/* Of column j past the first. */
TD_DEVICE int td_col_step(int j) { return (j >> 2) * 16 + (j & 3); }

/* True if C has elements of a tile. */
TD_DEVICE bool td_has_tile_at(const td_target &target, int tile_m, int tile_n)
{
    return td_has_tile(target, tile_m * TD_TILE, tile_n * TD_TILE);
}

/* True if none of the thread's elements of a tile is in C. */
template <class format>
TD_DEVICE bool td_is_outside(const td_target &target, int tile_m, int tile_n)
{
    return tile_m * TD_TILE + td_thread_row() >= target.m ||
           tile_n * TD_TILE + td_thread_col<format>() >= target.n;
}

/* True if the range of the components may have cost the sum bits that the bound promises: an
 * operand is NaN or infinite, or the exponents spread wide and the sum is so small that products
 * near the end of the range may matter. */
template <class format>
TD_DEVICE bool td_needs_repair(const td_output &output, td_range a, td_range b,
                               typename format::value sum)
{
    if (a.top == TD_RANGE_SPECIAL || b.top == TD_RANGE_SPECIAL) return true;
    return (a.top - a.bottom) + (b.top - b.bottom) > output.spread &&
           !(fabs(format::leading(sum)) >= (typename format::real)output.smallest);
}

/* One column of a subtile; returns the bits of the elements that are left to the repair kernel. */
template <class format>
TD_DEVICE unsigned td_join_column(const td_output &output, const typename format::value *s, int row,
                                  int col, const td_range *a, td_range b, double alpha, double beta)
{
    double *c = td_target_c<double>(output.target) + row + (int64_t)col * output.target.c.ld;
    const td_row_range rows = td_region_rows(&output.target.region, output.target.m, col);
    const int first = (int)rows.first - row, end = (int)rows.end - row;
    unsigned mask = 0;
    TD_UNROLL
    for (int i = 0; i < td_tile<format>::rows; i++) {
        if (i < first || i >= end) continue;
        if (alpha == 0.0) /* there is no sum */
            c[i] = td_scaled(beta, &c[i]);
        else if (td_needs_repair<format>(output, a[i], b, s[i * td_tile<format>::cols]))
            mask |= 1u << i;
        else
            c[i] = format::to_binary64(output, s[i * td_tile<format>::cols], a[i].top + b.top,
                                       alpha, beta, &c[i]);
    }
    return mask;
}

template <class format>
TD_DEVICE void td_join_binary64(const td_output &output, const typename format::value *s, int row,
                                int col)
{
    const td_target &target = output.target;
    const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
    const bool scaled = alpha != 0.0; /* else there are no ranges */
    const td_range *range_a =
        output.range[0] + (int64_t)blockIdx.z * td_tiles(target.m) * TD_TILE + row;
    const td_range *range_b =
        output.range[1] + (int64_t)blockIdx.z * td_tiles(target.n) * TD_TILE + col;
    td_range a[td_tile<format>::rows];
    TD_UNROLL
    for (int i = 0; i < td_tile<format>::rows; i++) a[i] = scaled ? range_a[i] : td_range{0, 0};
    TD_UNROLL
    for (int group = 0; group < td_tile<format>::cols; group += TD_SUBTILE) {
        unsigned mask = 0;
        if (col + td_col_step(group) >= target.n || row >= target.m) continue;
        TD_UNROLL
        for (int j = 0; j < TD_SUBTILE; j++) {
            const int step = td_col_step(group + j);
            if (col + step >= target.n) continue;
            const td_range b = scaled ? range_b[step] : td_range{0, 0};
            mask |=
                td_join_column<format>(output, s + group + j, row, col + step, a, b, alpha, beta)
                << (TD_SUBTILE * j);
        }
        *td_target_mask(target, row, col + td_col_step(group)) = (uint16_t)mask;
    }
}

/* Four neighbouring elements, 16 bytes at a time if C is aligned so: elements of 12 bytes cost
 * three times as many accesses one by one. */
template <class element> TD_DEVICE void td_store4(element *c, const element *x)
{
    struct alignas(16) chunk {
        uint32_t word[4];
    };
    constexpr int chunks = 4 * sizeof(element) / sizeof(chunk);
    chunk out[chunks];
    if ((uintptr_t)c % sizeof(chunk) != 0) {
        TD_UNROLL
        for (int i = 0; i < 4; i++) c[i] = x[i];
    } else {
        memcpy(out, x, sizeof out);
        TD_UNROLL
        for (int i = 0; i < chunks; i++) reinterpret_cast<chunk *>(c)[i] = out[i];
    }
}

/* C of a multi-float type; format::to_typed(output, value, c) is alpha value + beta *c. */
template <class format, class element>
TD_DEVICE void td_join_typed(const td_output &output, const typename format::value *s, int row,
                             int col)
{
    constexpr int rows = td_tile<format>::rows, cols = td_tile<format>::cols;
    const int count = min(rows, output.target.m - row);
    TD_UNROLL
    for (int j = 0; j < cols; j++) {
        const int step = td_col_step(j);
        if (col + step >= output.target.n || count <= 0) continue;
        element *c =
            td_target_c<element>(output.target) + row + (int64_t)(col + step) * output.target.c.ld;
        element x[rows];
        TD_UNROLL
        for (int i = 0; i < rows; i++)
            if (i < count) x[i] = format::to_typed(output, s[i * cols + j], &c[i]);
        if (count == rows) td_store4(c, x);
        TD_UNROLL
        for (int i = 0; i < rows - 1; i++)
            if (count < rows && i < count) c[i] = x[i];
    }
}

/* C's elements of the calling thread from its sums, element (i, j) at s[i cols + j]. */
template <class format>
TD_DEVICE void td_join_tile(const td_output &output, const typename format::value *s, int tile_m,
                            int tile_n)
{
    const int row = tile_m * TD_TILE + td_thread_row();
    const int col = tile_n * TD_TILE + td_thread_col<format>();
    if (output.type == TD_BINARY64)
        td_join_binary64<format>(output, s, row, col);
    else
        format::join_typed(output, s, row, col);
}

#endif
