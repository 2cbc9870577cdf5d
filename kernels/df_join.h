/* df_join.h - which elements of a tile each of 128 threads owns in the kernels of mode df, and how their sums become
 * elements of C. */
#ifndef TD_DF_JOIN_H
#define TD_DF_JOIN_H

#include "access.h"
#include "df.h"
#include "df_kernels.h"

/* Warps are 2 x 2, lanes 8 x 4; a thread has two subtiles: 4 neighbouring rows, and two groups of 4 neighbouring
 * columns, 16 apart. */
enum { TD_DF_THREADS = 128, TD_DF_ROWS = TD_SUBTILE, TD_DF_COLS = 2 * TD_SUBTILE };

TD_DEVICE int td_df_row(int thread) { return (thread >> 5 & 1) * 32 + (thread & 7) * 4; }
TD_DEVICE int td_df_col(int thread) { return (thread >> 6) * 32 + (thread >> 3 & 3) * 4; }
TD_DEVICE int td_df_col_step(int j)
{
    return (j >> 2) * 16 + (j & 3);
} /* of column j past the first */

/* The sum of exponent spreads of a row of op(A) and a column of op(B) up to which no bit of a product is lost to
 * underflow of binary32: every element is then at least 2^-100 of its line's largest, every product 2^-100. */
enum { TD_DF_SPREAD = 100 };

/* True if binary32's range may have cost the sum bits that the bound promises: an operand is NaN or infinite, or the
 * exponents spread wide and the sum is so small that products below 2^-100 may matter. */
TD_DEVICE bool td_df_needs_repair(td_range a, td_range b, float sum, float smallest)
{
    if (a.top == TD_RANGE_SPECIAL || b.top == TD_RANGE_SPECIAL) return true;
    return (a.top - a.bottom) + (b.top - b.bottom) > TD_DF_SPREAD && !(fabsf(sum) >= smallest);
}

/* The sums of one thread, finished. */
struct td_df_sums {
    float hi[TD_DF_ROWS][TD_DF_COLS], lo[TD_DF_ROWS][TD_DF_COLS];
};

/* One column of a subtile; returns the bits of the elements that are left to the repair kernel. */
TD_DEVICE unsigned td_df_join_column(const td_df_output &output, const td_df_sums &s, int j,
                                     int row, int col, const td_range *a, td_range b, double alpha,
                                     double beta)
{
    double *c = td_target_c<double>(output.target) + row + (int64_t)col * output.target.c.ld;
    unsigned mask = 0;
    TD_UNROLL
    for (int i = 0; i < TD_DF_ROWS; i++) {
        if (row + i >= output.target.m) continue;
        if (td_df_needs_repair(a[i], b, s.hi[i][j], output.smallest)) {
            mask |= 1u << i;
        } else {
            double sum = td_scale64(td_df_join(td_df(s.hi[i][j], s.lo[i][j])), a[i].top + b.top);
            c[i] = td_axpby(alpha, sum, beta, &c[i]);
        }
    }
    return mask;
}

TD_DEVICE void td_df_join_binary64(const td_df_output &output, const td_df_sums &s, int row,
                                   int col)
{
    const td_target &target = output.target;
    const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
    const bool scaled = alpha != 0.0; /* else there are no ranges */
    const td_range *range_a =
        output.range[0] + (int64_t)blockIdx.z * td_tiles(target.m) * TD_TILE + row;
    const td_range *range_b =
        output.range[1] + (int64_t)blockIdx.z * td_tiles(target.n) * TD_TILE + col;
    td_range a[TD_DF_ROWS];
    TD_UNROLL
    for (int i = 0; i < TD_DF_ROWS; i++) a[i] = scaled ? range_a[i] : td_range{0, 0};
    TD_UNROLL
    for (int group = 0; group < TD_DF_COLS; group += TD_SUBTILE) {
        unsigned mask = 0;
        TD_UNROLL
        for (int j = 0; j < TD_SUBTILE; j++) {
            const int step = td_df_col_step(group + j);
            if (col + step >= target.n) continue;
            const td_range b = scaled ? range_b[step] : td_range{0, 0};
            mask |= td_df_join_column(output, s, group + j, row, col + step, a, b, alpha, beta)
                    << (TD_SUBTILE * j);
        }
        *td_target_mask(target, row, col + td_df_col_step(group)) = (uint16_t)mask;
    }
}

TD_DEVICE void td_df_join_typed(const td_df_output &output, const td_df_sums &s, int row, int col)
{
    const bool add = output.beta.hi != 0.0f;
    tandem_df *c = td_target_c<tandem_df>(output.target);
    TD_UNROLL
    for (int j = 0; j < TD_DF_COLS; j++) {
        const int step = td_df_col_step(j);
        if (col + step >= output.target.n) continue;
        TD_UNROLL
        for (int i = 0; i < TD_DF_ROWS; i++) {
            if (row + i >= output.target.m) continue;
            tandem_df *element = c + (row + i) + (int64_t)(col + step) * output.target.c.ld;
            tandem_df x = td_df_mul(output.alpha, td_df(s.hi[i][j], s.lo[i][j]));
            *element = add ? td_df_add(x, td_df_mul(output.beta, *element)) : x;
        }
    }
}

/* C's elements of the calling thread from its sums. */
TD_DEVICE void td_df_join_tile(const td_df_output &output, const td_df_sums &s, int tile_m,
                               int tile_n)
{
    const int row = tile_m * TD_TILE + td_df_row((int)threadIdx.x);
    const int col = tile_n * TD_TILE + td_df_col((int)threadIdx.x);
    if (output.typed)
        td_df_join_typed(output, s, row, col);
    else
        td_df_join_binary64(output, s, row, col);
}

#endif
