/* dd.cu - modes dd and d+s: double-double; double+single differs from it in memory and in its last
 * rounding. */
#include "pair_format.h"

namespace
{

struct from_binary64 {
    using element = double;
    using real = double;
    enum { components = 1, is_scaled = 1 };
    TD_DEVICE void split(double x, int e, double *component)
    {
        component[0] = td_dd_split(td_bits64(x), e).hi;
    }
};

struct from_dd {
    using element = tandem_dd;
    using real = double;
    enum { components = 2, is_scaled = 0 };
    TD_DEVICE void split(const tandem_dd &x, int, double *component)
    {
        component[0] = x.hi, component[1] = x.lo;
    }
};

struct from_ds {
    using element = tandem_ds;
    using real = double;
    enum { components = 2, is_scaled = 0 };
    TD_DEVICE void split(const tandem_ds &x, int, double *component)
    {
        component[0] = x.hi, component[1] = (double)x.lo;
    }
};

/* Rows two by two, or all four without cross terms: what issues fastest on Hopper. */
template <int components>
struct format : td_pair_format<tandem_dd, double, 1, components == 2 ? 2 : 4, components> {
    enum { blocks = 1 };

    TD_DEVICE double leading(tandem_dd x) { return x.hi; }
    TD_DEVICE tandem_dd add(tandem_dd a, tandem_dd b) { return td_dd_add(a, b); }

    TD_DEVICE double to_binary64(const td_output &output, tandem_dd sum, int e, double alpha,
                                 double beta, const double *c)
    {
        if (output.is_shortened) sum = td_dd_shorten(sum);
        return td_dd_axpby(alpha, sum, e, beta, beta == 0.0 ? 0.0 : *c);
    }

    TD_DEVICE tandem_dd to_typed(const td_output &output, tandem_dd sum, const tandem_dd *c)
    {
        const tandem_dd x = td_dd_mul(output.target.alpha.value.dd, sum),
                        beta = output.target.beta.value.dd;
        return beta.hi != 0.0 ? td_dd_add(x, td_dd_mul(beta, *c)) : x;
    }

    TD_DEVICE tandem_ds to_typed(const td_output &output, tandem_dd sum, const tandem_ds *c)
    {
        const tandem_dd x = td_dd_mul(td_dd_from_ds(output.target.alpha.value.ds), sum),
                        beta = td_dd_from_ds(output.target.beta.value.ds);
        return td_ds(beta.hi != 0.0 ? td_dd_add(x, td_dd_mul(beta, td_dd_from_ds(*c))) : x);
    }

    TD_DEVICE void join_typed(const td_output &output, const tandem_dd *s, int row, int col)
    {
        if (output.type == TD_DS)
            td_join_typed<format, tandem_ds>(output, s, row, col);
        else
            td_join_typed<format, tandem_dd>(output, s, row, col);
    }
};

enum { K_TILE = 16 };

} // namespace

static cudaError_t pack_run(const td_pack *pack, int batch, cudaStream_t stream)
{
    return pack->type == TD_DD   ? td_pack_launch<from_dd>(pack, batch, stream)
           : pack->type == TD_DS ? td_pack_launch<from_ds>(pack, batch, stream)
                                 : td_pack_launch<from_binary64>(pack, batch, stream);
}

static cudaError_t multiply_run(const td_multiply *p, int batch, int blocks, cudaStream_t stream)
{
    return p->type == TD_BINARY64 ? td_multiply_launch<format<1>, K_TILE>(p, batch, blocks, stream)
                                  : td_multiply_launch<format<2>, K_TILE>(p, batch, blocks, stream);
}

TD_DEVICE tandem_dd split_dd(const double &x) { return td_dd_split(td_bits64(x), 0); }
TD_DEVICE tandem_ds split_ds(const double &x) { return td_ds(td_dd_split(td_bits64(x), 0)); }
TD_DEVICE double join_dd(const tandem_dd &x) { return td_dd_join(x); }
TD_DEVICE double join_ds(const tandem_ds &x) { return td_dd_join(td_dd_from_ds(x)); }

static cudaError_t prepare(td_type type)
{
    const cudaError_t error = td_load(cudaSuccess, td_join_kernel<format<1>>);
    if (type == TD_BINARY64)
        return td_multiply_prepare<format<1>, K_TILE>(
            td_load(error, td_pack_kernel<from_binary64>));
    return td_multiply_prepare<format<2>, K_TILE>(type == TD_DD
                                                      ? td_load(error, td_pack_kernel<from_dd>)
                                                      : td_load(error, td_pack_kernel<from_ds>));
}

/* docs/numerics.md: products of scaled elements lose 2^-1073 each at most. */
extern const td_format td_format_dd = {
    sizeof(double),
    2,
    1,
    sizeof(tandem_dd),
    format<1>::blocks,
    td_shape<format<2>, K_TILE>::stage_bytes,
    960,
    0x1p-960,
    1,
    pack_run,
    multiply_run,
    td_join_launch<format<1>>,
    prepare,
};

extern const td_typed td_typed_dd = {
    TD_DD,
    &td_format_dd,
    td_convert_launch<double, tandem_dd, split_dd>,
    td_convert_launch<tandem_dd, double, join_dd>,
};

extern const td_typed td_typed_ds = {
    TD_DS,
    &td_format_dd,
    td_convert_launch<double, tandem_ds, split_ds>,
    td_convert_launch<tandem_ds, double, join_ds>,
};
