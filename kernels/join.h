/* join.h - finished double-float sums to elements of C. */
#ifndef TD_JOIN_H
#define TD_JOIN_H

#include "tile.h"

/* The sum of exponent spreads of a row of op(A) and a column of op(B) up to which no bit of a product is lost to
 * underflow of binary32: every element is then at least 2^-100 of its line's largest, every product 2^-100. */
enum { TD_DF_SPREAD = 100 };

/* True if binary32's range may have cost the sum bits that the bound promises: an operand is NaN or infinite, or the
 * exponents spread wide and the sum is so small that products below 2^-100 may matter. */
TD_DEVICE bool td_join_needs_repair(td_range a, td_range b, float sum, float smallest)
{
    if (a.top == TD_RANGE_SPECIAL || b.top == TD_RANGE_SPECIAL) return true;
    return (a.top - a.bottom) + (b.top - b.bottom) > TD_DF_SPREAD && !(fabsf(sum) >= smallest);
}

TD_DEVICE void join_binary64(const td_target &target, int batch, int tile_m, int tile_n, int thread,
                             const float (*hi)[TD_COLS], const float (*lo)[TD_COLS])
{
    const int m_tiles = td_tiles(target.m), n_tiles = td_tiles(target.n);
    const int row = tile_m * TD_STRIP + td_tile_row(thread);
    const int col = tile_n * TD_STRIP + td_tile_col(thread);
    const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
    double *c = td_member<double>(target.c, target.batch_first + batch) + target.c_offset;
    const td_range *range_a = target.range_a + (int64_t)batch * m_tiles * TD_STRIP + row;
    const td_range *range_b = target.range_b + (int64_t)batch * n_tiles * TD_STRIP + col;
    uint32_t mask = 0;
    td_range a[TD_ROWS];
    TD_UNROLL
    for (int i = 0; i < TD_ROWS; i++) a[i] = alpha == 0.0 ? td_range{0, 0} : range_a[i];
    TD_UNROLL
    for (int j = 0; j < TD_COLS; j++) {
        const int step = td_tile_col_step(j);
        if (col + step >= target.n) continue;
        const td_range b = alpha == 0.0 ? td_range{0, 0} : range_b[step];
        TD_UNROLL
        for (int i = 0; i < TD_ROWS; i++) {
            if (row + i >= target.m) continue;
            if (td_join_needs_repair(a[i], b, hi[i][j], target.smallest)) {
                mask |= 1u << (i * TD_COLS + j);
                continue;
            }
            double *element = c + (row + i) + (int64_t)(col + step) * target.c.ld;
            double sum = td_scale64(td_df_join(td_df(hi[i][j], lo[i][j])), a[i].top + b.top);
            *element = td_axpby(alpha, sum, beta, element);
        }
    }
    target.masks[((int64_t)batch * m_tiles * n_tiles + (int64_t)tile_n * m_tiles + tile_m) *
                     TD_TILE_THREADS +
                 thread] = mask;
}

TD_DEVICE void join_typed(const td_target &target, int tile_m, int tile_n, int thread,
                          const float (*hi)[TD_COLS], const float (*lo)[TD_COLS])
{
    const int row = tile_m * TD_STRIP + td_tile_row(thread);
    const int col = tile_n * TD_STRIP + td_tile_col(thread);
    const bool add = target.beta_df.hi != 0.0f;
    tandem_df *c = td_member<tandem_df>(target.c, 0) + target.c_offset;
    TD_UNROLL
    for (int j = 0; j < TD_COLS; j++) {
        const int step = td_tile_col_step(j);
        if (col + step >= target.n) continue;
        TD_UNROLL
        for (int i = 0; i < TD_ROWS; i++) {
            if (row + i >= target.m) continue;
            tandem_df *element = c + (row + i) + (int64_t)(col + step) * target.c.ld;
            tandem_df x = td_df_mul(target.alpha_df, td_df(hi[i][j], lo[i][j]));
            *element = add ? td_df_add(x, td_df_mul(target.beta_df, *element)) : x;
        }
    }
}

/* C's elements of one thread from its sums. */
TD_DEVICE void td_join_tile(const td_target &target, int batch, int tile_m, int tile_n, int thread,
                            const float (*hi)[TD_COLS], const float (*lo)[TD_COLS])
{
    if (target.typed)
        join_typed(target, tile_m, tile_n, thread, hi, lo);
    else
        join_binary64(target, batch, tile_m, tile_n, thread, hi, lo);
}

#endif
