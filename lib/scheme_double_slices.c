/* scheme_double_slices.c - products of binary64 slices (Ozaki scheme I: Ozaki, Ogita, Oishi, Rump, Numerical Algorithms 59,
 * 2012), for results with one rounding on devices whose binary64 units are fast. Digits are so small that all sums of
 * products, over all of k, are exact in binary64. */
#include "../kernels/double_slices.h"
#include "../kernels/logarithm.h"
#include "../kernels/slices.h"
#include "part.h"
#include "scheme.h"

/* Bits of A' and B' at least: few sums but those that cancel are too close to the middle of two numbers of binary64. */
enum { ENOUGH_BITS = 76 };

/* Elements of k for one that a list has room for. A digit that is multiplied from a list takes some 30 times as long as one
 * that the tensor cores multiply. */
enum { SPARSE = 128 };

typedef struct {
    int slices, bits;
} slicing;

static int ceil_log2(int64_t x)
{
    int log = 0;
    while (log < 62 && (INT64_C(1) << log) < x) log++;
    return log;
}

/* A weight has at most `slices` products of `bits - 1` bits each for every element of k: at most 2^53. */
static slicing slicing_of(int64_t k)
{
    slicing s = {0};
    while (s.slices * s.bits < ENOUGH_BITS) {
        s.slices++;
        s.bits = (53 - ceil_log2(k) - ceil_log2(s.slices)) / 2 + 1;
    }
    return s;
}

static int64_t most_k(int parameter, int64_t k)
{
    (void)parameter;
    return k;
}

/* ---- workspace ---- */

/* Where things are. */
typedef struct {
    slicing s;
    int64_t lines[2]; /* padded */
    int capacity;
    size_t digit[2], count[2], where[2], sum, bytes;
} layout;

static layout lay_out(int64_t m, int64_t n, int64_t k, int64_t k_pass, int64_t batch)
{
    layout l = {.s = slicing_of(k),
                .lines = {td_round_up(m, TD_LINE_PAD), td_round_up(n, TD_LINE_PAD)},
                .capacity = (int)(k_pass / SPARSE)};
    for (int o = 0; o < 2; o++) {
        const int64_t lines = l.s.slices * l.lines[o] * batch;
        l.digit[o] = td_reserve(&l.bytes, lines * k_pass * (int64_t)sizeof(double));
        l.count[o] = td_reserve(&l.bytes, lines * (int64_t)sizeof(int32_t));
        l.where[o] = td_reserve(&l.bytes, lines * l.capacity * (int64_t)sizeof(int32_t));
    }
    l.sum = td_reserve(&l.bytes,
                       l.s.slices * l.lines[0] * l.lines[1] * batch * (int64_t)sizeof(double));
    return l;
}

static size_t bytes(int parameter, int64_t m, int64_t n, int64_t k, int64_t k_pass, int64_t batch)
{
    (void)parameter;
    return lay_out(m, n, k, k_pass, batch).bytes;
}

static td_double_slices slices_of(const td_scheme_part *part)
{
    const layout l = lay_out(part->finish.target.m, part->finish.target.n, part->fixed.operand[0].k,
                             part->k_pass, part->fixed.batch);
    td_double_slices slices = {
        .slices = l.s.slices,
        .batch = part->fixed.batch,
        .bits = l.s.bits,
        .k = td_round_up(part->fixed.k_count, TD_K_PAD),
        .capacity = l.capacity,
        .sum = (double *)(part->workspace + l.sum),
        .accumulate = part->fixed.k_first > 0,
    };
    for (int o = 0; o < 2; o++) {
        slices.lines[o] = (int)l.lines[o];
        slices.digit[o] = (double *)(part->workspace + l.digit[o]);
        slices.count[o] = (int32_t *)(part->workspace + l.count[o]);
        slices.where[o] = (int32_t *)(part->workspace + l.where[o]);
    }
    return slices;
}

/* ---- products ---- */

static cudaError_t split(const td_scheme_part *part, const td_double_slices *slices)
{
    td_slices split = {
        .fixed = part->fixed,
        .type = TD_DIGIT_DOUBLE,
        .slices = slices->slices,
        .bits = slices->bits,
        .line_step = slices->k,
    };
    for (int o = 0; o < 2; o++) {
        split.plane[o] = slices->digit[o];
        split.slice_step[o] = slices->lines[o] * slices->k;
        split.member_step[o] = slices->slices * split.slice_step[o];
    }
    return td_slices_run(&split, part->stream);
}

static cudaError_t multiply_pass(const td_scheme_part *part, const void *unused)
{
    const td_double_slices slices = slices_of(part);
    cudaError_t error = split(part, &slices);
    (void)unused;
    if (error == cudaSuccess) error = td_double_slices_count(&slices, part->stream);
    if (error == cudaSuccess) error = td_double_slices_multiply(&slices, part->stream);
    if (error == cudaSuccess) error = td_double_slices_multiply_sparse(&slices, part->stream);
    return error;
}

static cudaError_t multiply(const td_scheme_part *part)
{
    return td_scheme_passes(part, NULL, multiply_pass);
}

static cudaError_t finish(const td_scheme_part *part)
{
    const td_double_slices slices = slices_of(part);
    return td_double_slices_finish(&slices, &part->finish, part->stream);
}

/* ---- scales, and what X may be off ---- */

static td_cut cut(int parameter, int64_t k)
{
    const slicing s = slicing_of(k);
    (void)parameter;
    return (td_cut){.digits = s.slices, .bits = s.bits, .unit = (s.slices - 1) * s.bits};
}

/* |A'| < base^slices / 2, so that digit 0 is at most half the base like all others. Of the weights that are left out, the first
 * has slices - 1 pairs, of k products of base^2 / 4 each, and all others, with the k / 4 from rounding both A' and B', are
 * less than one more such pair. */
static void choose(int parameter, int64_t k, td_choose *c)
{
    const slicing s = slicing_of(k);
    (void)parameter;
    c->rule = TD_SCALE_BY_PEAK;
    c->width = s.slices * s.bits - 2;
    c->peak_limit = TD_LOG;
    c->digit_bits = s.bits;
    c->candidates = 1;
    c->candidate[0] =
        (td_choice){.parameter = s.slices,
                    .need = INT32_MIN,
                    .rest = TD_LOG * (s.slices * s.bits - 2) + td_log_above((uint64_t)s.slices) +
                            td_log_above((uint64_t)k)};
}

const td_scheme td_scheme_double_slices = {
    .most_k = most_k,
    .bytes = bytes,
    .cut = cut,
    .choose = choose,
    .multiply = multiply,
    .finish = finish,
};
