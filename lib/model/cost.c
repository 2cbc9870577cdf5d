#include "cost.h"

#include <math.h>

#include "../../kernels/residue/moduli.h"
#include "../../kernels/select/choice.h"
#include "../routine/sizes.h"
#include "tuning.h"

/* Sizes as the model computes with them. */
typedef struct {
    double m, n, k, batch;
    double a, b, c; /* elements of all members */
    const td_real_product *problem;
} sizes;

static sizes sizes_of(const td_real_product *p)
{
    sizes s = {.m = (double)p->m,
               .n = (double)p->n,
               .k = (double)p->k,
               .batch = (double)p->batch,
               .problem = p};
    s.a = s.m * s.k * s.batch;
    s.b = s.k * s.n * s.batch;
    s.c = (p->region == TD_REGION_ALL ? s.m * s.n : 0.5 * s.m * (s.n + 1.0)) * s.batch;
    return s;
}

static double round_up(double x, double unit) { return ceil(x / unit) * unit; }

/* Tiles of this side that cover the elements that C has. */
static double tiles_of(const sizes *s, double side)
{
    const td_region region = td_real_region(s->problem);
    return s->batch *
           (double)td_region_blocks(&region, s->problem->m, s->problem->n, (int)side, (int)side);
}

/* Multiply-adds of whole tiles, as operations. */
static double operations_of(const sizes *s, double side, double k_unit)
{
    return 2.0 * tiles_of(s, side) * side * side * round_up(s->k, k_unit);
}

/* Binary64 A, B and C read or written once; C twice, if it is read. */
static double bytes_of(const td_real_product *p, const sizes *s)
{
    const bool reads_c = p->beta.device || p->beta.value.binary64 != 0.0;
    return 8.0 * (s->a + s->b + (reads_c ? 2.0 : 1.0) * s->c);
}

/* How many operations of the lowered product cuBLAS's own routine gets done in the time in which
 * cuBLAS's product does one. A triangular product skips half of them. Measured on an H100, TFLOP/s,
 * where the product reaches 58 at 4096 and 53 at 8192: Dsyrk 4096 55, 8192 48, 8192 x 512 43,
 * 16384 x 1024 44 (docs/results/h100-2026-11-25-routes); Dsymm 4096 57, 8192 54; Dtrmm 8192 44. */
static double native_share(const td_real_product *p)
{
    const double large = 4096.0;
    switch (p->routine) {
    case TD_RANK_K:
    case TD_RANK_KX:
    case TD_RANK_2K:
        return fmin(1.0, pow(large / (double)p->n, 0.125));
    case TD_TRIANGULAR_PRODUCT:
        return 0.83 / 0.5;
    default:
        return 1.0;
    }
}

/* Work and blocks of cuBLAS's update: it seems to cut no k, however long, into as many pieces as
 * that of a product; one of fewer rows takes as long as one of native_update_order. */
static void count_update(const td_real_product *p, td_cost *cost)
{
    td_real_product wide = *p;
    wide.n = td_larger(p->n, (int64_t)td_tuned_native_update_order);
    wide.m = p->is_paired ? 2 * wide.n : wide.n;
    const sizes s = sizes_of(&wide);
    cost->matrix64 = operations_of(&s, 64.0, 8.0) / native_share(p);
    cost->blocks = p->is_paired ? td_tuned_native_complex_update_blocks +
                                      s.n / td_tuned_native_complex_update_rows
                                : td_tuned_native_update_blocks + s.n / td_tuned_native_update_rows;
}

/* The side of cuBLAS's smallest tiles of C, but for a C that is thinner. */
enum { NATIVE_SIDE = 64 };

static bool is_thin(const td_real_product *p) { return p->m < NATIVE_SIDE || p->n < NATIVE_SIDE; }

/* Rows or columns that tiles of C have. */
static double covered(double side)
{
    return side < NATIVE_SIDE ? side : round_up(side, NATIVE_SIDE);
}

/* cuBLAS has other kernels for a C of few rows or columns (cuBLAS 13.0: gemvx, gemm_kernel1x1,
 * dgemm_largek). Which of them it takes where was not timed on cards with little binary64, so they
 * are taken to do no operation in vain, on all multiprocessors that there is work for. */
static void count_thin(const sizes *s, td_cost *cost)
{
    const double side = 16.0, shortest = 64.0;
    cost->matrix64 = 2.0 * s->batch * covered(s->m) * covered(s->n) * s->k;
    cost->blocks = tiles_of(s, side) * fmax(1.0, s->k / shortest);
}

/* cuBLAS cuts a long k into pieces, where C has few tiles. */
static void count_product(const td_real_product *p, const sizes *s, td_cost *cost)
{
    const double shortest = 256.0;
    if (is_thin(p)) {
        count_thin(s, cost);
    } else {
        cost->matrix64 = operations_of(s, NATIVE_SIDE, 8.0);
        cost->blocks = tiles_of(s, NATIVE_SIDE) * fmax(1.0, s->k / shortest);
    }
    cost->matrix64 /= native_share(p);
}

TD_COST(native)
{
    const sizes s = sizes_of(p);
    (void)parameter;
    cost->launches = 2.0; /* one, and cuBLAS's own time on the host */
    cost->is_one = true;
    cost->bytes = bytes_of(p, &s);
    if (td_kind_is_update(p->routine))
        count_update(p, cost);
    else
        count_product(p, &s, cost);
}

/* Tiles of 128 x 64, or of 64 x 64 where these are few; each is one long chain over k. */
TD_COST(fp64)
{
    const sizes s = sizes_of(p);
    (void)parameter;
    cost->launches = 1.5;
    cost->is_one = true;
    cost->bytes = bytes_of(p, &s);
    cost->matrix64 = operations_of(&s, 64.0, 8.0) / td_tuned_binary64_share;
    cost->blocks = tiles_of(&s, 64.0) / 1.5;
}

/* ---- formats of several components (docs/kernels/multifloat.md) ---- */

/* Scan, pack, multiply, repair; each operand is read twice and written as `components` numbers of
 * `bytes`. */
static sizes count_multifloat(const td_real_product *p, td_cost *cost, double packed_bytes)
{
    const sizes s = sizes_of(p);
    cost->launches = 6.0;
    cost->bytes = bytes_of(p, &s) + (s.a + s.b) * (8.0 + 2.0 * packed_bytes);
    cost->blocks = tiles_of(&s, 64.0);
    return s;
}

/* Instructions of a multiply-add, as measured: in the time of one, the unit makes two operations.
 * Numbers are of so many packed bytes, and k is a multiple of k_unit. */
#define MULTIFLOAT_COST(mode, unit, instructions, packed_bytes, k_unit)                            \
    TD_COST(mode)                                                                                  \
    {                                                                                              \
        const sizes s = count_multifloat(p, cost, packed_bytes);                                   \
        (void)parameter;                                                                           \
        cost->unit = (instructions)*operations_of(&s, 64.0, k_unit);                               \
    }
MULTIFLOAT_COST(df, fp32, 12.4, 8.0, 32.0)
MULTIFLOAT_COST(ts, fp32, 48.0, 12.0, 16.0)
MULTIFLOAT_COST(dd, fp64, 9.3, 8.0, 16.0)
TD_COST(ds) { td_cost_dd(p, parameter, cost); }

/* ---- residues and slices ---- */

/* Where k is longer, whole numbers for P = 2^152 are rounded so much that more than some 8 elements
 * of a tile (TD_FEW) are not certain. */
enum { COMPLEX_EXACT_K = 8192 };

/* Where C has few elements cuBLAS adds up a long k in slices, and is more accurate than elsewhere.
 * Complex products have one modulus more: their moduli are smaller. */
static int fewest_moduli(const td_real_product *p)
{
    enum { SMALL_PRODUCT = 1 << 22, LONG_K = 2048 };
    const bool is_small_and_long = p->m * p->n <= SMALL_PRODUCT && p->k > LONG_K;
    return TD_COMMON_MODULI + is_small_and_long + p->is_paired;
}

td_parameter td_moduli_of(const td_real_product *p, bool is_exact, td_parameter parameter)
{
    td_parameter moduli = parameter;
    moduli.is_complex = p->is_paired && (!is_exact || p->k <= COMPLEX_EXACT_K);
    if (is_exact) {
        moduli.is_given = true;
        moduli.count = moduli.is_complex ? TD_MOST_COMPLEX_MODULI : TD_EXACT_MODULI;
    } else if (!parameter.is_given) {
        moduli.count = fewest_moduli(p);
    }
    return moduli;
}

/* Measured, chosen and split twice over the operands; one int8 product for each modulus; the sums
 * of residues written, read and joined. A modulus of complex products has two int8 products, each
 * of half the rows and half of k; half of op(A)'s lines repeat the others. */
static void count_residues(const td_real_product *p, td_parameter of, td_cost *cost)
{
    const sizes s = sizes_of(p);
    const double moduli = of.count, split = of.is_complex ? 0.5 * s.a + s.b : s.a + s.b,
                 share = of.is_complex ? 0.5 : 1.0,
                 pieces = of.is_complex ? 1.0 : fmax(1.0, s.k / td_tuned_slice_least_k);
    cost->launches = 12.0;
    cost->bytes =
        bytes_of(p, &s) + (s.a + s.b) * 8.0 + split * (8.0 + 2.0 * moduli) + s.c * 4.0 * moduli;
    if (p->is_paired && td_kind_is_update(p->routine))
        cost->bytes += s.c * td_tuned_complex_update_bytes;
    cost->int8 = share * moduli * operations_of(&s, 128.0, 128.0);
    cost->blocks = moduli * tiles_of(&s, 128.0) * pieces;
    if (p->routine == TD_TRIANGULAR_PRODUCT && !of.is_complex) {
        cost->bytes *= td_tuned_triangle_bytes;
        cost->int8 *= 0.5; /* zeros are passed over */
    }
}

TD_COST(ozaki2) { count_residues(p, td_moduli_of(p, false, parameter), cost); }

/* Binary64 slices: two or three of ordinary data, of whose products the sums of all that count are
 * made. */
static void count_double_slices(const td_real_product *p, td_cost *cost)
{
    const double slices = 4.0, products = slices * slices;
    const sizes s = sizes_of(p);
    cost->launches = 24.0;
    cost->bytes = bytes_of(p, &s) + (s.a + s.b) * 16.0 * slices + s.c * 16.0 * products;
    cost->matrix64 = products * operations_of(&s, 64.0, 32.0);
    cost->blocks = products * tiles_of(&s, 64.0);
}

TD_COST(faithful)
{
    if (parameter.is_other_way)
        count_double_slices(p, cost);
    else
        count_residues(p, td_moduli_of(p, true, parameter), cost);
}

/* Triangular products of slices through cuBLAS; each is written, read and added up. */
static double count_slices(const td_real_product *p, double slices, double slice_bytes,
                           td_cost *cost)
{
    const sizes s = sizes_of(p);
    const double products = 0.5 * slices * (slices + 1.0);
    cost->launches = 12.0 + products;
    cost->bytes =
        bytes_of(p, &s) + (s.a + s.b) * (16.0 + 2.0 * slices * slice_bytes) + s.c * 16.0 * products;
    cost->blocks = products * tiles_of(&s, 128.0);
    return products * operations_of(&s, 128.0, 32.0);
}

TD_COST(ozaki_sgemm)
{
    const double usual = 8.0, share = 0.75; /* of the rate that SGEMM reaches */
    cost->fp32 = count_slices(p, parameter.is_given ? parameter.count : usual, 4.0, cost) / share;
}

TD_COST(ozaki1)
{
    const double usual = 8.0;
    cost->int8 = count_slices(p, parameter.is_given ? parameter.count : usual, 1.0, cost);
}
