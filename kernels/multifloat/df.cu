/* df.cu - mode df: double-float. */
#include "pair_format.h"

namespace
{

struct from_binary64 {
    using element = double;
    using real = float;
    enum { components = 2, is_scaled = 1 };
    TD_DEVICE void split(double x, int e, float *component)
    {
        const tandem_df s = td_df_split(td_bits64(x), e);
        component[0] = s.hi, component[1] = s.lo;
    }
};

struct from_df {
    using element = tandem_df;
    using real = float;
    enum { components = 2, is_scaled = 0 };
    TD_DEVICE void split(tandem_df x, int, float *component)
    {
        component[0] = x.hi, component[1] = x.lo;
    }
};

/* Seldom needed: kernels whose sums are all unrolled have it once. */
TD_DEVICE_CALL double axpby_cut(double alpha, tandem_df sum, int e, double beta, double c)
{
    return td_df_axpby_cut(alpha, sum, e, beta, c);
}

/* Rows two by two, with eight columns: what issues fastest on Hopper. */
struct format : td_pair_format<tandem_df, float, 2, 2, 2> {
    enum { blocks = 2 };

    TD_DEVICE float leading(tandem_df x) { return x.hi; }
    TD_DEVICE tandem_df add(tandem_df a, tandem_df b) { return td_df_add(a, b); }

    TD_DEVICE double to_binary64(const td_output &, tandem_df sum, int e, double alpha, double beta,
                                 const double *c)
    {
        const double c0 = beta == 0.0 ? 0.0 : *c;
        double r;
        return td_df_axpby_whole(alpha, sum, e, beta, c0, &r) ? r
                                                              : axpby_cut(alpha, sum, e, beta, c0);
    }

    TD_DEVICE tandem_df to_typed(const td_output &output, tandem_df sum, const tandem_df *c)
    {
        const tandem_df x = td_df_mul(output.target.alpha.value.df, sum),
                        beta = output.target.beta.value.df;
        return beta.hi != 0.0f ? td_df_add(x, td_df_mul(beta, *c)) : x;
    }

    TD_DEVICE void join_typed(const td_output &output, const tandem_df *s, int row, int col)
    {
        td_join_typed<format, tandem_df>(output, s, row, col);
    }
};

} // namespace

static cudaError_t multiply_run(const td_multiply *p, int batch, int blocks, cudaStream_t stream)
{
    return p->small_tiles ? td_multiply_launch<format, 16>(p, batch, blocks, stream)
                          : td_multiply_launch<format, 32>(p, batch, blocks, stream);
}

TD_DEVICE tandem_df split_element(const double &x) { return td_df_split(td_bits64(x), 0); }
TD_DEVICE double join_element(const tandem_df &x) { return td_df_join(x); }

static cudaError_t prepare(td_type type)
{
    cudaError_t error = type == TD_BINARY64 ? td_load(cudaSuccess, td_pack_kernel<from_binary64>)
                                            : td_load(cudaSuccess, td_pack_kernel<from_df>);
    error = td_multiply_prepare<format, 32>(error);
    error = td_multiply_prepare<format, 16>(error);
    return td_load(error, td_join_kernel<format>);
}

/* docs/numerics.md: k products lose 2^-147 each at most. */
extern const td_format td_format_df = {
    sizeof(float),
    2,
    2,
    sizeof(tandem_df),
    format::blocks,
    td_shape<format, 32>::stage_bytes,
    100,
    0x1p-102,
    0,
    td_pack_either<from_binary64, from_df>,
    multiply_run,
    td_join_launch<format>,
    prepare,
};

extern const td_typed td_typed_df = {
    TD_DF,
    &td_format_df,
    td_convert_launch<double, tandem_df, split_element>,
    td_convert_launch<tandem_df, double, join_element>,
};
