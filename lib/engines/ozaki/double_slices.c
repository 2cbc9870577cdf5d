/* double_slices.c - products of binary64 slices (Ozaki scheme I: Ozaki, Ogita, Oishi, Rump,
 * Numerical Algorithms 59, 2012), for results with one rounding on devices whose binary64 units are
 * fast. Digits are so small that all sums of products, over all of k, are exact in binary64. */
#include "../../../kernels/slice/double_split.h"
#include "../../../kernels/arithmetic/logarithm.h"
#include "../../../kernels/slice/slices.h"
#include "../tiler.h"
#include "scheme.h"

/* Slices: the fewest and the most that are considered, and bits of A' and B' that are enough: more
 * would not do much for data with which these do not suffice. log2 k + (slices + 1) bits - 2 is
 * less than TD_EXACT_LIMBS can hold. */
enum { LEAST_SLICES = 2, MOST_SLICES = 8, ENOUGH_BITS = 108 };

/* Elements of k for one that a list has room for. A digit that is multiplied from a list takes some
 * 30 times as long as one that the tensor cores multiply. */
enum { SPARSE = 128 };

/* Of the base. A weight has at most `slices` products of `bits - 1` bits each for every element of
 * k: at most 2^53. */
static int bits_of(int slices, int64_t k)
{
    return (53 - td_ceil_log2(k) - td_ceil_log2(slices)) / 2 + 1;
}

static int most_slices(int64_t k)
{
    int slices = LEAST_SLICES;
    while (slices < MOST_SLICES && slices * bits_of(slices, k) < ENOUGH_BITS) slices++;
    return slices;
}

static int64_t most_k(const td_scheme_case *c) { return c->k; }

/* ---- workspace ---- */

/* Where things are. */
typedef struct {
    int slices;
    int64_t lines[2]; /* padded */
    int capacity;
    size_t digit[2], count[2], where[2], sum, bytes;
} layout;

static layout lay_out(int64_t m, int64_t n, int64_t k, int64_t k_pass, int64_t batch)
{
    layout l = {.slices = most_slices(k),
                .lines = {td_round_up(m, TD_LINE_PAD), td_round_up(n, TD_LINE_PAD)},
                .capacity = (int)(k_pass / SPARSE)};
    for (int o = 0; o < 2; o++) {
        const int64_t lines = l.slices * l.lines[o] * batch;
        l.digit[o] = td_reserve(&l.bytes, lines * k_pass * (int64_t)sizeof(double));
        l.count[o] = td_reserve(&l.bytes, lines * (int64_t)sizeof(int32_t));
        l.where[o] = td_reserve(&l.bytes, lines * l.capacity * (int64_t)sizeof(int32_t));
    }
    l.sum =
        td_reserve(&l.bytes, l.slices * l.lines[0] * l.lines[1] * batch * (int64_t)sizeof(double));
    return l;
}

static size_t bytes(const td_scheme_case *c, int64_t m, int64_t n, int64_t k_pass, int64_t batch)
{
    return lay_out(m, n, c->k, k_pass, batch).bytes;
}

static td_double_slices slices_of(const td_scheme_part *part)
{
    const layout l = lay_out(part->finish.target.m, part->finish.target.n, part->fixed.operand[0].k,
                             part->k_pass, part->fixed.batch);
    td_double_slices slices = {
        .slices = l.slices,
        .batch = part->fixed.batch,
        .choice = part->fixed.choice,
        .k = td_round_up(part->fixed.k_count, TD_K_PAD),
        .capacity = l.capacity,
        .sum = (double *)(part->workspace + l.sum),
        .accumulate = part->fixed.k_first > 0,
        .region = part->finish.target.region,
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
        .by_data = true,
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

static td_cut cut(const td_scheme_case *c)
{
    (void)c;
    return (td_cut){.by_data = true};
}

/* |A'| < base^slices / 2, so that digit 0 is at most half the base like all others. Of the weights
 * that are left out, the first has slices - 1 pairs, of k products of base^2 / 4 each, and all
 * others, with the k / 4 from rounding both A' and B', are less than one more such pair. */
static int log_of_rest(int slices, int bits, int64_t k)
{
    return TD_LOG * (slices * bits - 2) + td_log_above((uint64_t)slices) +
           td_log_above((uint64_t)k);
}

/* Logarithm of the share of elements that are repaired if elements are z times the product of two
 * peaks, z normal, and peaks about 2^(slices bits - 2): the unit in the last place is 2^-52.5 of an
 * element; what matters is whether a tie is within 2^rest and as much again, and 1 / abs(z) is
 * about 8 on average. */
static int log_of_repaired(int slices, int bits, int64_t k)
{
    return 59 * TD_LOG + TD_LOG / 2 - TD_LOG * slices * bits + td_log_above((uint64_t)k) +
           td_log_above((uint64_t)slices);
}

static void choose(const td_scheme_case *c, td_rule *rule)
{
    const int64_t k = c->k;
    rule->scale = TD_SCALE_BY_DIGITS;
    rule->log_k = td_log_above((uint64_t)k);
    rule->candidates = most_slices(k) - LEAST_SLICES + 1;
    for (int i = 0; i < rule->candidates; i++) {
        const int slices = LEAST_SLICES + i, bits = bits_of(slices, k);
        rule->candidate[i] = (td_choice){.parameter = slices,
                                         .bits = bits,
                                         .need = TD_NEEDS_NOTHING,
                                         .rest = log_of_rest(slices, bits, k)};
        rule->share[i] = log_of_repaired(slices, bits, k);
    }
}

static cudaError_t prepare(const td_scheme *scheme)
{
    cudaError_t error = td_slices_prepare(scheme->digits);
    if (error == cudaSuccess) error = td_double_slices_prepare();
    if (error == cudaSuccess) error = td_double_multiply_prepare();
    return error == cudaSuccess ? td_double_sparse_prepare() : error;
}

const td_scheme td_scheme_double_slices = {
    .digits = TD_DIGIT_DOUBLE,
    .prepare = prepare,
    .most_k = most_k,
    .bytes = bytes,
    .cut = cut,
    .choose = choose,
    .multiply = multiply,
    .finish = finish,
};
