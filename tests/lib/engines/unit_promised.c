/* unit_promised.c - what elements of calls may be off: of every routine, in modes and natively. */
#include <math.h>

#include "tests/support/test.h"
#include "lib/engines/methods.h"
#include "lib/routine/cholesky_steps.h"

static const double unit = 0x1p-53;

static td_problem square(td_kind kind, td_type type, bool is_hermitian)
{
    return (td_problem){.kind = kind,
                        .type = type,
                        .is_hermitian = is_hermitian,
                        .m = 70,
                        .n = 70,
                        .k = 50,
                        .batch = 1};
}

static td_promise promised_by(const char *mode, td_entry entry, const td_problem *p)
{
    td_decision d = {.text = mode, .cut.block_rows = 64};
    d.engine = td_engine_parse(mode, &d.parameter);
    if (d.engine == td_engines[0]) d.engine = NULL;
    td_question q;
    td_ask(entry, p, &q);
    return td_promised(&q, &d);
}

static double fp64_bound(double terms) { return (4.0 * sqrt(terms) + 1.0) * unit; }

/* Terms are real products. */
TEST(terms_are_counted)
{
    static const struct {
        td_kind kind;
        td_type type;
        bool is_hermitian;
        double terms, native_terms, of_scalars; /* of which those of a mirror are in the bound */
    } rows[] = {
        {TD_PRODUCT, TD_BINARY64, false, 50, 50, 0},
        {TD_PRODUCT, TD_COMPLEX_BINARY64, false, 100, 100, 5},
        {TD_SYMMETRIC_PRODUCT, TD_BINARY64, false, 70, 70, 0},
        {TD_TRIANGULAR_PRODUCT, TD_COMPLEX_BINARY64, false, 140, 140, 5},
        {TD_RANK_K, TD_COMPLEX_BINARY64, true, 100, 100, 5},
        {TD_RANK_2K, TD_BINARY64, false, 100, 100, 0},
        {TD_RANK_2K, TD_COMPLEX_BINARY64, false, 200, 200, 5},
        {TD_RANK_2K, TD_COMPLEX_BINARY64, true, 100, 200, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const td_problem p = square(rows[i].kind, rows[i].type, rows[i].is_hermitian);
        const td_promise by_mode = promised_by("fp64", TD_ENTRY_cublasDgemm_v2, &p),
                         by_cublas = promised_by("native", TD_ENTRY_cublasDgemm_v2, &p);
        const double scalars = rows[i].of_scalars * unit,
                     in_bound = scalars == 7 * unit ? scalars : 0.0;
        assert_true(by_mode.bound.relative == fp64_bound(rows[i].terms) + in_bound);
        assert_true(by_mode.bound.ulps == 0.5 && by_mode.of_scalars == scalars - in_bound);
        assert_true(by_cublas.bound.relative == (rows[i].native_terms + 1.0) * unit + scalars);
        assert_true(by_cublas.is_native && by_cublas.of_scalars == 0.0 && !by_mode.is_native);
    }
}

/* Of order 70 there is one product, of 64 terms. */
TEST(solves_have_bounds_of_residuals)
{
    td_problem p = square(TD_TRIANGULAR_SOLVE, TD_BINARY64, false);
    const td_promise by_fp64 = promised_by("fp64", TD_ENTRY_cublasDtrsm_v2, &p);
    assert_true(by_fp64.bound.ulps == 0.0);
    assert_true(fabs(by_fp64.bound.relative - (88 * unit + fp64_bound(64) + 2 * unit)) <= 0x1p-90);
    assert_true(promised_by("faithful", TD_ENTRY_cublasDtrsm_v2, &p).bound.relative ==
                by_fp64.bound.relative); /* fp64 makes products that the mode cannot */
    assert_true(promised_by("df", TD_ENTRY_cublasDtrsm_v2, &p).bound.relative > 0x1p-40);
    p.m = p.n = 64;
    assert_true(promised_by("df", TD_ENTRY_cublasDtrsm_v2, &p).bound.relative == 88 * unit);
    p.type = TD_COMPLEX_BINARY64;
    assert_true(promised_by("df", TD_ENTRY_cublasZtrsm_v2, &p).bound.relative == 4 * 89 * unit);
}

/* Of a panel's chain and of each product; none are promised where a pivot may be 0 and divide
 * nothing. */
TEST(factors_have_bounds_of_residuals)
{
    int pivots;
    td_problem p = square(TD_FACTOR_LU, TD_BINARY64, false);
    const double panel = 64 + 3, product = fp64_bound(64.0) / unit + 2.0;
    p.pivots = &pivots;
    assert_true(promised_by("fp64", TD_ENTRY_cusolverDnDgetrf, &p).bound.relative ==
                (panel + 3.0 * product) * unit);
    assert_true(isinf(promised_by("native", TD_ENTRY_cusolverDnDgetrf, &p).bound.relative));
    assert_true(isinf(promised_by("ozaki2:9", TD_ENTRY_cusolverDnDgetrf, &p).bound.relative));
    for (int64_t n = 100; n < 30000; n *= 2) {
        td_problem larger = p;
        larger.m = larger.n = n;
        const double most =
            promised_by("ozaki2", TD_ENTRY_cusolverDnDgetrf, &larger).bound.relative;
        assert_true(most > 0.0 && most < 0x1p-36);
    }
    p.pivots = NULL;
    assert_true(isinf(promised_by("fp64", TD_ENTRY_cusolverDnDgetrf, &p).bound.relative));
}

/* Of the widest panel's chain, and of each product once and of the largest twice. */
TEST(cholesky_has_bounds_of_residuals)
{
    const td_entry entry = TD_ENTRY_cusolverDnDpotrf;
    td_problem p = square(TD_FACTOR_CHOLESKY, TD_BINARY64, false);
    const td_cholesky_cut cut = td_cholesky_cut_of(&p);
    const int64_t panel = cut.panel, whole = cut.whole;
    assert_true(promised_by("fp64", entry, &p).bound.relative == (70.0 + 11.0) * unit);
    assert_true(promised_by("ozaki2", entry, &p).bound.relative == (70.0 + 11.0) * unit);
    assert_true(isinf(promised_by("native", entry, &p).bound.relative));
    p.n = whole + panel;
    assert_true(promised_by("fp64", entry, &p).bound.relative ==
                ((double)whole + 11.0) * unit + 2.0 * (fp64_bound((double)panel) + 2.0 * unit));
    p.type = TD_COMPLEX_BINARY64;
    assert_true(promised_by("ozaki2", entry, &p).bound.relative < 0x1p-36);
}

TEST(some_calls_promise_nothing)
{
    const td_problem solve = square(TD_TRIANGULAR_SOLVE, TD_BINARY64, false),
                     product = square(TD_PRODUCT, TD_COMPLEX_BINARY64, false);
    assert_true(isinf(promised_by("native", TD_ENTRY_cublasDtrsm_v2, &solve).bound.relative));
    assert_true(isinf(promised_by("ozaki2:9", TD_ENTRY_cublasDtrsm_v2, &solve).bound.relative));
    assert_true(isinf(promised_by("native", TD_ENTRY_cublasZgemm3m_64, &product).bound.relative));
    assert_true(isfinite(promised_by("fp64", TD_ENTRY_cublasZgemm3m_64, &product).bound.relative));
    assert_true(isinf(promised_by("ozaki2:9", TD_ENTRY_cublasZgemm_v2, &product).bound.relative));
}
