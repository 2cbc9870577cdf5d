/* pair_format.h - double-float and double-double as formats of multifloat_multiply.h: the steps of
 * pair_tmpl.h for many elements at a time. */
#ifndef TD_PAIR_FORMAT_H
#define TD_PAIR_FORMAT_H

#include "../arithmetic/dd.h"
#include "../arithmetic/df.h"
#include "multiply.h"

/* One name for both precisions. */
TD_DEVICE float td_real_add(float a, float b) { return td_add(a, b); }
TD_DEVICE float td_real_sub(float a, float b) { return td_sub(a, b); }
TD_DEVICE float td_real_mul(float a, float b) { return td_mul(a, b); }
TD_DEVICE float td_real_fma(float a, float b, float c) { return td_fma(a, b, c); }
TD_DEVICE double td_real_add(double a, double b) { return td_add64(a, b); }
TD_DEVICE double td_real_sub(double a, double b) { return td_sub64(a, b); }
TD_DEVICE double td_real_mul(double a, double b) { return td_mul64(a, b); }
TD_DEVICE double td_real_fma(double a, double b, double c) { return td_fma64(a, b, c); }
TD_DEVICE void td_pair_flush(tandem_df *s, tandem_df block) { td_df_flush(s, block.hi, block.lo); }
TD_DEVICE void td_pair_flush(tandem_dd *s, tandem_dd block) { td_dd_flush(s, block.hi, block.lo); }
TD_DEVICE void td_pair_renormalise(tandem_df *s) { td_df_renormalise(s); }
TD_DEVICE void td_pair_renormalise(tandem_dd *s) { td_dd_renormalise(s); }

/* A pair type with `group_count` subtiles a thread, rows in groups of `group_rows`; operands have
 * `component_count` components: 1 if all their lower components are 0, which changes no bit. */
template <class pair, class component, int group_count, int group_rows, int component_count>
struct td_pair_format {
    using real = component;
    using value = pair;
    enum {
        groups = group_count,
        components = component_count,
        block = TD_BLOCK,
        rows = TD_SUBTILE,
        cols = groups * TD_SUBTILE
    };

    /* Of the superblock, and of the block. */
    struct sums {
        real hi[rows][cols], lo[rows][cols], sum[rows][cols], rest[rows][cols];
    };

#define EACH_ELEMENT                                                                               \
    TD_UNROLL for (int i = 0; i < rows; i++) TD_LANES for (int j = 0; j < cols; j++)

    TD_DEVICE void clear(sums &s) { EACH_ELEMENT s.hi[i][j] = s.lo[i][j] = 0; }

    TD_DEVICE value pair_of(real hi, real lo)
    {
        value r;
        r.hi = hi;
        r.lo = lo;
        return r;
    }

    TD_DEVICE void flush(sums &s)
    {
        EACH_ELEMENT
        {
            value x = pair_of(s.hi[i][j], s.lo[i][j]);
            td_pair_flush(&x, pair_of(s.sum[i][j], s.rest[i][j]));
            s.hi[i][j] = x.hi;
            s.lo[i][j] = x.lo;
        }
    }

    TD_DEVICE void renormalise(sums &s)
    {
        EACH_ELEMENT
        {
            value x = pair_of(s.hi[i][j], s.lo[i][j]);
            td_pair_renormalise(&x);
            s.hi[i][j] = x.hi;
            s.lo[i][j] = x.lo;
        }
    }

    TD_DEVICE void finish(sums &s, value *v)
    {
        renormalise(s); /* k may end anywhere */
        EACH_ELEMENT v[i * cols + j] = pair_of(s.hi[i][j], s.lo[i][j]);
    }

    /* td_df_accumulate, or td_dd_accumulate, of tests/ref/terms.h for all columns and the rows from
     * i0 to i0 + group_rows - 1, in lock step; _start for the first term of a block. */
    template <bool first>
    TD_DEVICE void accumulate_group(sums &s, int i0, const td_term<td_pair_format> &x)
    {
        real h[group_rows][cols], z[group_rows][cols], ds[group_rows][cols], dp[group_rows][cols];
#define EACH TD_UNROLL for (int i = 0; i < group_rows; i++) TD_LANES for (int j = 0; j < cols; j++)
#if TD_HAS_CUDA_DEVICE
#define EACH_FMA                                                                                   \
    TD_UNROLL for (int i = 0; i < group_rows; i++)                                                 \
        TD_UNROLL for (int q = 0, j; j = td_back_and_forth(i, q, cols), q < cols; q++)
#else
#define EACH_FMA EACH
#endif
        EACH_FMA z[i][j] = h[i][j] = td_real_mul(x.a[0][i0 + i], x.b[0][j]);
        if (!first) {
            real t[group_rows][cols];
            EACH t[i][j] = td_real_add(s.sum[i0 + i][j], h[i][j]);
            EACH z[i][j] = td_real_sub(t[i][j], s.sum[i0 + i][j]);
            EACH ds[i][j] = td_real_sub(t[i][j], z[i][j]);
            EACH ds[i][j] = td_real_sub(s.sum[i0 + i][j], ds[i][j]);
            EACH h[i][j] = t[i][j];
        }
        EACH s.sum[i0 + i][j] = h[i][j];
        TD_SCHEDULE_FENCE();
        EACH_FMA dp[i][j] = td_real_fma(x.a[0][i0 + i], x.b[0][j], -z[i][j]);
        if (components == 2) {
            EACH_FMA dp[i][j] = td_real_fma(x.a[0][i0 + i], x.b[components - 1][j], dp[i][j]);
            EACH_FMA dp[i][j] = td_real_fma(x.a[components - 1][i0 + i], x.b[0][j], dp[i][j]);
        }
        TD_SCHEDULE_FENCE();
        if (first) {
            EACH s.rest[i0 + i][j] = dp[i][j];
        } else {
            EACH ds[i][j] = td_real_add(ds[i][j], dp[i][j]);
            EACH s.rest[i0 + i][j] = td_real_add(s.rest[i0 + i][j], ds[i][j]);
        }
#undef EACH_FMA
#undef EACH
    }

    template <bool first> TD_DEVICE void accumulate(sums &s, const real *a, const real *b)
    {
        td_term<td_pair_format> x;
        td_load_term<td_pair_format>(x, a, b);
        TD_UNROLL
        for (int i = 0; i < rows; i += group_rows) accumulate_group<first>(s, i, x);
    }
#undef EACH_ELEMENT
};

#endif
