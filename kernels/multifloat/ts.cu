/* ts.cu - mode ts: triple-single. */
#include "multiply.h"
#include "../arithmetic/ts.h"

namespace
{

struct from_binary64 {
    using element = double;
    using real = float;
    enum { components = 3, is_scaled = 1 };
    TD_DEVICE void split(double x, int e, float *component)
    {
        const tandem_ts s = td_ts_split(td_bits64(x), e);
        component[0] = s.x, component[1] = s.y, component[2] = s.z;
    }
};

struct from_ts {
    using element = tandem_ts;
    using real = float;
    enum { components = 3, is_scaled = 0 };
    TD_DEVICE void split(const tandem_ts &x, int, float *component)
    {
        component[0] = x.x, component[1] = x.y, component[2] = x.z;
    }
};

enum { GROUP_ROWS = 4, GROUP = GROUP_ROWS * TD_SUBTILE, K_TILE = 16 };

/* One number for each element of a group; operations on all of them, in lock step, and fences
 * around the FMAs: what issues fastest on Hopper. */
struct group {
    float x[GROUP];
};

#define EACH TD_LANES for (int e = 0; e < GROUP; e++)
#if TD_HAS_CUDA_DEVICE
#define EACH_FMA                                                                                   \
    TD_UNROLL for (int q = 0, e;                                                                   \
                   e = q / TD_SUBTILE * TD_SUBTILE +                                               \
                       td_back_and_forth(q / TD_SUBTILE, q % TD_SUBTILE, TD_SUBTILE),              \
                   q < GROUP;                                                                      \
                   q++)
#else
#define EACH_FMA EACH
#endif

TD_DEVICE void two_sum(group &s, const group &b, group &error)
{
    group t, bb;
    EACH t.x[e] = td_add(s.x[e], b.x[e]);
    EACH bb.x[e] = td_sub(t.x[e], s.x[e]);
    EACH error.x[e] = td_sub(t.x[e], bb.x[e]);
    EACH error.x[e] = td_sub(s.x[e], error.x[e]);
    EACH bb.x[e] = td_sub(b.x[e], bb.x[e]);
    EACH error.x[e] = td_add(error.x[e], bb.x[e]);
    s = t;
}

/* td_ts_cross */
TD_DEVICE void cross(group &mid, group &low, const float *a, const float *b)
{
    group h, t, z;
    EACH_FMA h.x[e] = td_mul(a[e / TD_SUBTILE], b[e % TD_SUBTILE]);
    EACH t.x[e] = td_add(mid.x[e], h.x[e]);
    EACH z.x[e] = td_sub(t.x[e], mid.x[e]);
    EACH h.x[e] = td_sub(t.x[e], z.x[e]);
    EACH h.x[e] = td_sub(mid.x[e], h.x[e]);
    TD_SCHEDULE_FENCE();
    EACH_FMA z.x[e] = td_fma(a[e / TD_SUBTILE], b[e % TD_SUBTILE], -z.x[e]);
    TD_SCHEDULE_FENCE();
    EACH h.x[e] = td_add(h.x[e], z.x[e]);
    EACH low.x[e] = td_add(low.x[e], h.x[e]);
    mid = t;
}

TD_DEVICE void add_product(group &low, const float *a, const float *b)
{
    EACH_FMA low.x[e] = td_fma(a[e / TD_SUBTILE], b[e % TD_SUBTILE], low.x[e]);
}

struct format {
    using real = float;
    using value = tandem_ts;
    enum {
        groups = 1,
        components = 3,
        blocks = 1,
        block = TD_TS_BLOCK,
        rows = TD_SUBTILE,
        cols = TD_SUBTILE
    };

    /* Of the superblock and of the block, by groups of rows. */
    struct sums {
        tandem_ts total[rows * cols];
        group x[rows / GROUP_ROWS], y[rows / GROUP_ROWS], z[rows / GROUP_ROWS];
    };

    TD_DEVICE void clear(sums &s)
    {
        TD_UNROLL
        for (int e = 0; e < rows * cols; e++) s.total[e] = td_ts(0.0f, 0.0f, 0.0f);
    }

    /* td_ts_accumulate of tests/ref/terms.h, or td_ts_start, for the rows of group g. */
    template <bool first> TD_DEVICE void accumulate_group(sums &s, int g, const td_term<format> &t)
    {
        const float *a[components];
        group p, p_error, low;
        TD_UNROLL
        for (int i = 0; i < components; i++) a[i] = t.a[i] + g * GROUP_ROWS;
        EACH_FMA p.x[e] = td_mul(a[0][e / TD_SUBTILE], t.b[0][e % TD_SUBTILE]);
        EACH_FMA p_error.x[e] = td_fma(a[0][e / TD_SUBTILE], t.b[0][e % TD_SUBTILE], -p.x[e]);
        TD_SCHEDULE_FENCE();
        if (first) {
            s.x[g] = p;
            s.y[g] = p_error;
            EACH low.x[e] = 0.0f;
        } else {
            group error, e1, e2;
            two_sum(s.x[g], p, error);
            two_sum(s.y[g], p_error, e1);
            two_sum(s.y[g], error, e2);
            EACH low.x[e] = td_add(e1.x[e], e2.x[e]);
        }
        cross(s.y[g], low, a[0], t.b[1]);
        cross(s.y[g], low, a[1], t.b[0]);
        add_product(low, a[1], t.b[1]);
        add_product(low, a[0], t.b[2]);
        add_product(low, a[2], t.b[0]);
        if (first)
            s.z[g] = low;
        else
            EACH s.z[g].x[e] = td_add(s.z[g].x[e], low.x[e]);
    }

    template <bool first> TD_DEVICE void accumulate(sums &s, const float *a, const float *b)
    {
        td_term<format> t;
        td_load_term<format>(t, a, b);
        TD_UNROLL
        for (int g = 0; g < rows / GROUP_ROWS; g++) accumulate_group<first>(s, g, t);
    }

    TD_DEVICE void flush(sums &s)
    {
        TD_UNROLL
        for (int e = 0; e < rows * cols; e++)
            td_ts_flush(&s.total[e], td_ts(s.x[e / GROUP].x[e % GROUP], s.y[e / GROUP].x[e % GROUP],
                                           s.z[e / GROUP].x[e % GROUP]));
    }

    TD_DEVICE void renormalise(sums &s)
    {
        TD_UNROLL
        for (int e = 0; e < rows * cols; e++) td_ts_renormalise(&s.total[e]);
    }

    TD_DEVICE void finish(sums &s, tandem_ts *v)
    {
        TD_UNROLL
        for (int e = 0; e < rows * cols; e++) v[e] = td_ts_normalise(s.total[e]);
    }

    TD_DEVICE float leading(tandem_ts x) { return x.x; }
    TD_DEVICE tandem_ts add(tandem_ts a, tandem_ts b) { return td_ts_add(a, b); }

    TD_DEVICE double to_binary64(const td_output &, tandem_ts sum, int e, double alpha, double beta,
                                 const double *c)
    {
        return td_dd_axpby(alpha, td_ts_to_dd(sum), e, beta, beta == 0.0 ? 0.0 : *c);
    }

    TD_DEVICE tandem_ts to_typed(const td_output &output, tandem_ts sum, const tandem_ts *c)
    {
        const tandem_ts x = td_ts_mul(output.target.alpha.value.ts, sum),
                        beta = output.target.beta.value.ts;
        return beta.x != 0.0f ? td_ts_add(x, td_ts_mul(beta, *c)) : x;
    }

    TD_DEVICE void join_typed(const td_output &output, const tandem_ts *s, int row, int col)
    {
        td_join_typed<format, tandem_ts>(output, s, row, col);
    }
};

} // namespace

TD_DEVICE tandem_ts split_element(const double &x) { return td_ts_split(td_bits64(x), 0); }
TD_DEVICE double join_element(const tandem_ts &x) { return td_ts_join(x); }

static cudaError_t prepare(td_type type)
{
    cudaError_t error = type == TD_BINARY64 ? td_load(cudaSuccess, td_pack_kernel<from_binary64>)
                                            : td_load(cudaSuccess, td_pack_kernel<from_ts>);
    error = td_multiply_prepare<format, K_TILE>(error);
    return td_load(error, td_join_kernel<format>);
}

/* docs/numerics.md: k products lose 2^-147 each at most. */
extern const td_format td_format_ts = {
    sizeof(float),
    3,
    3,
    sizeof(tandem_ts),
    format::blocks,
    td_shape<format, K_TILE>::stage_bytes,
    75,
    0x1p-75,
    1,
    td_pack_either<from_binary64, from_ts>,
    td_multiply_launch<format, K_TILE>,
    td_join_launch<format>,
    prepare,
};

extern const td_typed td_typed_ts = {
    TD_TS,
    &td_format_ts,
    td_convert_launch<double, tandem_ts, split_element>,
    td_convert_launch<tandem_ts, double, join_element>,
};
