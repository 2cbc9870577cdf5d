/* paper_multiply.cu - formats of multifloat_multiply.h that add every product to one sum as the
 * papers do. */
#include "paper_multiply.h"

#include "../kernels/multifloat/multiply.h"
#include "paper.h"

extern "C" {
#include "../lib/engines/multifloat/engine.h"
}

namespace
{

/* arithmetic: a part's type, a value's, the number of components; fma(components of a, components
 * of b, c), add(a, b). */
template <class arithmetic, int group_count, int block_count> struct paper_format {
    using real = typename arithmetic::real;
    using value = typename arithmetic::value;
    enum {
        groups = group_count,
        components = arithmetic::components,
        blocks = block_count,
        block = TD_BLOCK,
        rows = TD_SUBTILE,
        cols = groups * TD_SUBTILE
    };

    struct sums {
        value x[rows * cols];
    };

    TD_DEVICE void clear(sums &s)
    {
        TD_UNROLL
        for (int e = 0; e < rows * cols; e++) s.x[e] = value{};
    }

    template <bool first> TD_DEVICE void accumulate(sums &s, const real *a, const real *b)
    {
        td_term<paper_format> t;
        td_load_term<paper_format>(t, a, b);
        TD_UNROLL
        for (int i = 0; i < rows; i++) TD_UNROLL
        for (int j = 0; j < cols; j++) {
            real x[components], y[components];
            TD_UNROLL
            for (int p = 0; p < components; p++) x[p] = t.a[p][i], y[p] = t.b[p][j];
            s.x[i * cols + j] = arithmetic::fma(x, y, s.x[i * cols + j]);
        }
    }

    TD_DEVICE void flush(sums &) {}
    TD_DEVICE void renormalise(sums &) {}
    TD_DEVICE void finish(sums &s, value *v)
    {
        TD_UNROLL
        for (int e = 0; e < rows * cols; e++) v[e] = s.x[e];
    }

    TD_DEVICE value add(value a, value b) { return arithmetic::add(a, b); }
    TD_DEVICE real leading(value) { return 0; }
    TD_DEVICE double to_binary64(const td_output &, value, int, double, double, const double *)
    {
        return 0.0; /* products of this bench are typed */
    }
    TD_DEVICE value to_typed(const td_output &, value sum, const value *) { return sum; }
    TD_DEVICE void join_typed(const td_output &output, const value *s, int row, int col)
    {
        td_join_typed<paper_format, value>(output, s, row, col);
    }
};

struct df {
    using real = float;
    using value = tandem_df;
    enum { components = 2 };
    TD_DEVICE value fma(const real *a, const real *b, value c)
    {
        return paper_df_fma(td_df(a[0], a[1]), td_df(b[0], b[1]), c);
    }
    TD_DEVICE value add(value a, value b) { return td_df_add(a, b); }
};

struct ts {
    using real = float;
    using value = tandem_ts;
    enum { components = 3 };
    TD_DEVICE value fma(const real *a, const real *b, value c)
    {
        return paper_ts_fma(td_ts(a[0], a[1], a[2]), td_ts(b[0], b[1], b[2]), c);
    }
    TD_DEVICE value add(value a, value b) { return paper_ts_add(a, b); }
};

struct dd {
    using real = double;
    using value = tandem_dd;
    enum { components = 2 };
    TD_DEVICE value fma(const real *a, const real *b, value c)
    {
        return paper_dd_fma(td_dd(a[0], a[1]), td_dd(b[0], b[1]), c);
    }
    TD_DEVICE value add(value a, value b) { return td_dd_add(a, b); }
};

/* The panels hold lower components as binary64, so that the operands' conversions are not in the
 * inner loop. */
struct ds {
    using real = double;
    using value = tandem_ds;
    enum { components = 2 };
    TD_DEVICE value fma(const real *a, const real *b, value c)
    {
        return paper_ds(paper_dd_fma(td_dd(a[0], a[1]), td_dd(b[0], b[1]), td_dd_from_ds(c)));
    }
    TD_DEVICE value add(value a, value b)
    {
        return paper_ds(td_dd_add(td_dd_from_ds(a), td_dd_from_ds(b)));
    }
};

} // namespace

/* Packing is that of the product's own format. */
template <class format, int k_tile> static td_format paper_of(td_format own)
{
    own.sum_bytes = sizeof(typename format::value);
    own.multiply = td_multiply_launch<format, k_tile>;
    own.join = td_join_launch<format>;
    return own;
}

template <class format, int k_tile>
static tandem_status run(const td_format &own, td_type type, td_real_product p, td_device *device,
                         size_t workspace)
{
    static const td_format paper = paper_of<format, k_tile>(own);
    static const cudaError_t prepared = td_multiply_prepare<format, k_tile>(cudaSuccess);
    p.type = type;
    if (type == TD_DF || type == TD_TS)
        p.alpha.value.ts.x = 1.0f; /* of both the first part */
    else
        p.alpha.value.dd.hi = 1.0;
    if (prepared != cudaSuccess) return TANDEM_UNSUPPORTED;
    const td_run_status status = td_multifloat_run(&p, &paper, device, workspace);
    return status == TD_RUN_DONE ? TANDEM_OK : TANDEM_LAUNCH_FAILED;
}

static td_matrix matrix_of(const void *data, int n)
{
    td_matrix m = {};
    m.data = const_cast<void *>(data);
    m.ld = n;
    return m;
}

tandem_status paper_gemm(const char *type, int n, const void *a, const void *b, void *c,
                         td_device *device, size_t workspace)
{
    td_real_product p = {};
    p.m = p.n = p.k = n;
    p.a = matrix_of(a, n);
    p.b = matrix_of(b, n);
    p.c = matrix_of(c, n);
    p.batch = 1;
    if (strcmp(type, "df") == 0)
        return run<paper_format<df, 2, 2>, 32>(td_format_df, TD_DF, p, device, workspace);
    if (strcmp(type, "ts") == 0)
        return run<paper_format<ts, 1, 1>, 16>(td_format_ts, TD_TS, p, device, workspace);
    if (strcmp(type, "dd") == 0)
        return run<paper_format<dd, 1, 1>, 16>(td_format_dd, TD_DD, p, device, workspace);
    if (strcmp(type, "d+s") == 0)
        return run<paper_format<ds, 1, 1>, 16>(td_format_dd, TD_DS, p, device, workspace);
    return TANDEM_INVALID_VALUE;
}
