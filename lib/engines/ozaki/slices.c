/* slices.c - products of slices (Ozaki scheme I): balanced digits in int8, whose products of equal
 * weight are one product over a longer k (Ootomo, Ozaki, Yokota, arXiv 2306.11975; Uchino, Ozaki,
 * Imamura, arXiv 2409.13313), or in binary32 (Ozaki, Ogita, Oishi, Rump, Numerical Algorithms 59,
 * 2012). All sums are of whole numbers, and exact. */
#include "../../../kernels/arithmetic/logarithm.h"
#include "../../../kernels/slice/slices.h"
#include "../tiler.h"
#include "scheme.h"
#include "slices.h"

/* Most elements of k of one product of binary32 digits; part of the mode's definition, as the base
 * depends on it. */
enum { FLOAT_K = 4096 };

/* Planes for the carries of sums: |X| < k base^(2 slices) / 4, and the first plane holds X base^(-2
 * slices). */
enum { CARRIES = 2 };

/* Digits of A' whose products with all digits of B' are made at a time, and the bytes that are
 * worth it. */
enum { MOST_AT_A_TIME = 4, WORTH_BYTES = 32 << 20 };

static int smaller(int a, int b) { return a < b ? a : b; }

/* How operands are cut. */
typedef struct {
    td_digit_type type;
    bool is_ts; /* operands are of triple-single numbers */
    int slices, bits;
    int weights; /* of digit products that are kept, from the largest; of the others, none */
} slicing;

/* Bits of the base: products of `bits - 1` bits each, summed over FLOAT_K elements of k at a time,
 * are at most 2^24. */
static int float_bits(int64_t k)
{
    const int64_t terms = k < 2 ? 2 : td_smaller(k, FLOAT_K);
    return (24 - td_ceil_log2(terms)) / 2 + 1;
}

/* 0 slices stand for 63 bits of every element, or 76 of triple-single numbers, which have 74. */
static slicing slicing_of(td_digit_type type, bool is_ts, int slices, int64_t k)
{
    const bool is_int8 = type == TD_DIGIT_INT8;
    slicing s = {
        .type = type, .is_ts = is_ts, .slices = slices, .bits = is_int8 ? 8 : float_bits(k)};
    if (slices == 0) s.slices = (int)td_ceil_div(is_ts ? 77 : 64, s.bits);
    s.weights = is_int8 ? s.slices : 2 * s.slices - 1;
    return s;
}

static slicing slicing_of_case(const td_scheme_case *c)
{
    return slicing_of(c->scheme->digits, false, c->parameter.count, c->k);
}

static slicing slicing_of_ts(int slices, int64_t k)
{
    return slicing_of(TD_DIGIT_FLOAT, true, slices, k);
}

/* What one pass can take. int8: a sum of weight g has (g + 1) k products, at most 2^14 each but for
 * those with a digit 0, at most 127 2^7, beside a balanced digit of an earlier pass. binary32: a
 * weight has at most `slices` products for each FLOAT_K elements, at most 2^24 each. */
static int64_t most_k_of(const slicing *s)
{
    const int64_t slices = s->slices, products = slices * (1 << 14) - (1 << 8);
    if (s->type == TD_DIGIT_INT8) return (INT32_MAX - 128) / products / TD_K_PAD * TD_K_PAD;
    return 126 / slices * FLOAT_K;
}

/* ---- workspace ---- */

/* Where things are, and how far apart, in elements. */
typedef struct {
    slicing s;
    int carries;
    int at_a_time;    /* digits of A' */
    int64_t lines[2]; /* padded */
    int64_t sums;     /* of a plane */
    size_t plane[2], sum, product, bytes;
} layout;

static layout lay_out(const slicing *s, int carries, int64_t m, int64_t n, int64_t k_pass,
                      int64_t batch)
{
    layout l = {.s = *s,
                .carries = carries,
                .lines = {td_round_up(m, TD_LINE_PAD), td_round_up(n, TD_LINE_PAD)}};
    const int64_t digit_bytes = s->type == TD_DIGIT_INT8 ? 1 : (int64_t)sizeof(float);
    for (int o = 0; o < 2; o++)
        l.plane[o] = td_reserve(&l.bytes, s->slices * l.lines[o] * k_pass * batch * digit_bytes);
    l.sums = l.lines[0] * l.lines[1];
    l.sum =
        td_reserve(&l.bytes, (carries + s->weights) * l.sums * batch * (int64_t)sizeof(int32_t));
    if (s->type == TD_DIGIT_INT8) return l;
    /* The bytes must not shrink if `slices` grows: see td_ts_slices_bytes(). */
    const int64_t one = s->slices * l.sums * batch * (int64_t)sizeof(float);
    const int64_t room = td_smaller(MOST_AT_A_TIME * one, one > WORTH_BYTES ? one : WORTH_BYTES);
    l.at_a_time = smaller((int)(room / one), s->slices);
    l.product = td_reserve(&l.bytes, room);
    return l;
}

static int carries_of(int64_t k, int64_t k_pass) { return k > k_pass ? CARRIES : 0; }

static layout layout_of(const slicing *s, const td_scheme_part *part)
{
    const int carries = carries_of(part->fixed.operand[0].k, part->k_pass);
    return lay_out(s, carries, part->finish.target.m, part->finish.target.n, part->k_pass,
                   part->fixed.batch);
}

static layout layout_of_part(const td_scheme_part *part)
{
    const td_scheme_case c = {
        .scheme = part->scheme, .parameter = part->parameter, .k = part->fixed.operand[0].k};
    const slicing s = slicing_of_case(&c);
    return layout_of(&s, part);
}

static td_slice_sums sums_of(const td_scheme_part *part, const layout *l)
{
    return (td_slice_sums){
        .sum = (int32_t *)(part->workspace + l->sum),
        .plane_step = l->sums,
        .ld = l->lines[0],
        .m = part->finish.target.m,
        .n = part->finish.target.n,
        .batch = part->fixed.batch,
        .planes = l->carries + l->s.weights,
        .carries = l->carries,
        .dropped = 2 * l->s.slices - 1 - l->s.weights,
        .bits = l->s.bits,
    };
}

/* ---- products ---- */

/* What panels of both types have in common. */
static td_panels panels_of(const td_scheme_part *part, const layout *l, td_panel_type type)
{
    return (td_panels){
        .type = type,
        .gemm = TD_GEMM_CUBLAS,
        .planes = 1,
        .batch = part->fixed.batch,
        .slices = 1,
        .workspace = {part->cublas_workspace, part->cublas_bytes},
        .m = l->lines[0],
        .n = l->lines[1],
        .layout.ld_c = l->lines[0],
    };
}

/* A line of A' is digits 0, 1, ... after each other, of B' the last one first: the products of
 * weight g are those of the first g + 1 of A' with the last g + 1 of B', one product over (g + 1)
 * k. */
static cudaError_t multiply_int8(const td_scheme_part *part, const layout *l)
{
    const int slices = l->s.slices;
    const int64_t k = td_round_up(part->fixed.k_count, TD_K_PAD), line_step = slices * k;
    int8_t *const a = (int8_t *)(part->workspace + l->plane[0]);
    int8_t *const b = (int8_t *)(part->workspace + l->plane[1]);
    const td_slices split = {
        .fixed = part->fixed,
        .type = TD_DIGIT_INT8,
        .slices = slices,
        .bits = l->s.bits,
        .plane = {a, b + (slices - 1) * k},
        .member_step = {l->lines[0] * line_step, l->lines[1] * line_step},
        .slice_step = {k, -k},
        .line_step = line_step,
    };
    td_panels panels = panels_of(part, l, TD_PANEL_INT8);
    panels.region = part->finish.target.region;
    panels.a = a;
    panels.layout.ld_a = panels.layout.ld_b = line_step;
    panels.layout.member_a = split.member_step[0];
    panels.layout.member_b = split.member_step[1];
    panels.layout.member_c = (l->carries + l->s.weights) * l->sums;
    panels.accumulate = part->fixed.k_first > 0;
    int32_t *const sum = sums_of(part, l).sum + l->carries * l->sums;
    cudaError_t error = td_slices_run(&split, part->stream);
    for (int weight = 0; weight < l->s.weights && error == cudaSuccess; weight++) {
        panels.k = (weight + 1) * k;
        panels.b = b + (slices - 1 - weight) * k;
        panels.c = sum + weight * l->sums;
        error = td_panels_run(part->device, &panels, part->stream);
    }
    return error;
}

/* Products of all digits of B' with digits of A', which `whole` describes as one product, for the
 * tiles of a triangle: those of a digit of A' and a digit of B' are a plane. One member. */
static cudaError_t multiply_triangles(const td_scheme_part *part, const layout *l,
                                      const td_panels *whole, const td_slices *split)
{
    const int64_t count = whole->m / l->lines[0];
    td_panels digit = *whole;
    cudaError_t error = cudaSuccess;
    digit.region = part->finish.target.region;
    digit.m = l->lines[0];
    digit.n = l->lines[1];
    digit.planes = l->s.slices;
    digit.layout.plane_b = split->slice_step[1];
    digit.layout.plane_c = l->lines[1] * whole->layout.ld_c;
    for (int64_t p = 0; p < count && error == cudaSuccess; p++) {
        digit.a = (const float *)whole->a + p * split->slice_step[0];
        digit.c = (float *)whole->c + p * l->lines[0];
        error = td_panels_run(part->device, &digit, part->stream);
    }
    return error;
}

/* Digits p_first .. of A', elements l .. l + count - 1 of the pass: one product of all their lines
 * with those of all digits of B', then the addition by weights. */
static cudaError_t multiply_digits(const td_scheme_part *part, const layout *l, int p_first,
                                   int64_t first, const td_slices *split)
{
    const int slices = l->s.slices, p_count = smaller(l->at_a_time, slices - p_first);
    const int64_t count = td_smaller(FLOAT_K, part->fixed.k_count - first);
    const float *const a = split->plane[0], *const b = split->plane[1];
    float *const product = (float *)(part->workspace + l->product);
    td_panels panels = panels_of(part, l, TD_PANEL_FLOAT);
    panels.m = panels.layout.ld_c = p_count * l->lines[0];
    panels.n = slices * l->lines[1];
    panels.k = td_round_up(count, TD_K_PAD);
    panels.a = a + p_first * split->slice_step[0] + first;
    panels.b = b + first;
    panels.c = product;
    panels.layout.ld_a = panels.layout.ld_b = split->line_step;
    panels.layout.member_a = split->member_step[0];
    panels.layout.member_b = split->member_step[1];
    panels.layout.member_c = panels.m * panels.n;
    const td_slice_products products = {
        .sums = sums_of(part, l),
        .product = product,
        .member_step = panels.layout.member_c,
        .p_step = l->lines[0],
        .q_step = l->lines[1] * panels.layout.ld_c,
        .ld = panels.layout.ld_c,
        .slices = slices,
        .p_first = p_first,
        .p_count = p_count,
        .is_first = part->fixed.k_first + first == 0,
    };
    const bool is_triangle =
        part->finish.target.region.kind != TD_REGION_ALL && part->fixed.batch == 1;
    const cudaError_t error = is_triangle ? multiply_triangles(part, l, &panels, split)
                                          : td_panels_run(part->device, &panels, part->stream);
    return error == cudaSuccess ? td_slices_add(&products, part->stream) : error;
}

static cudaError_t multiply_float(const td_scheme_part *part, const layout *l)
{
    const int slices = l->s.slices;
    const int64_t k = td_round_up(part->fixed.k_count, TD_K_PAD);
    td_slices split = {
        .fixed = part->fixed,
        .type = TD_DIGIT_FLOAT,
        .is_ts = l->s.is_ts,
        .slices = slices,
        .bits = l->s.bits,
        .line_step = k,
    };
    for (int o = 0; o < 2; o++) {
        split.plane[o] = part->workspace + l->plane[o];
        split.slice_step[o] = l->lines[o] * k;
        split.member_step[o] = slices * split.slice_step[o];
    }
    cudaError_t error = td_slices_run(&split, part->stream);
    for (int64_t first = 0; first < part->fixed.k_count; first += FLOAT_K)
        for (int p = 0; p < slices && error == cudaSuccess; p += l->at_a_time)
            error = multiply_digits(part, l, p, first, &split);
    return error;
}

static cudaError_t multiply_pass(const td_scheme_part *part, const void *lay)
{
    const layout *l = lay;
    const td_slice_sums sums = sums_of(part, l);
    cudaError_t error = cudaSuccess;
    if (part->fixed.k_first > 0)
        error = td_slices_carry(&sums, part->stream);
    else if (l->carries)
        error = td_slices_clear_carries(&sums, part->stream);
    if (error != cudaSuccess) return error;
    return l->s.type == TD_DIGIT_INT8 ? multiply_int8(part, l) : multiply_float(part, l);
}

static cudaError_t multiply(const td_scheme_part *part)
{
    const layout l = layout_of_part(part);
    return td_scheme_passes(part, &l, multiply_pass);
}

static cudaError_t finish(const td_scheme_part *part)
{
    const layout l = layout_of_part(part);
    const td_slice_sums sums = sums_of(part, &l);
    return td_slices_finish(&sums, &part->finish, part->stream);
}

/* ---- scales and certificates ---- */

/* |A'| <= base^slices / 2, less by a factor of 509/512 for int8, so that digit 0 is at most 127 in
 * magnitude: the others add up to at most 128/255 of its unit. */
static void choose(const td_scheme_case *c, td_rule *rule)
{
    const slicing s = slicing_of_case(c);
    const bool is_int8 = s.type == TD_DIGIT_INT8, is_given = c->parameter.is_given;
    const int bits = s.slices * s.bits;
    rule->scale = TD_SCALE_BY_PEAK;
    rule->width = bits - 2;
    rule->peak_limit = is_int8 ? 253 : TD_LOG;
    rule->candidates = 1;
    /* Rounding both A' and B' changes X by k / 4. Of weights p + q >= slices, there are e + 1 pairs
     * of 2^14 256^e at most for each e <= slices - 2: at most k 2^(bits - 2) (slices - 1 + (slices
     * - 2) / 255). */
    int rest = -2 * TD_LOG;
    if (is_int8) rest = TD_LOG * (bits - 10) + td_log_above(1 + 257 * ((uint64_t)s.slices - 1));
    rule->candidate[0] = (td_choice){.parameter = s.slices,
                                     .need = is_given ? TD_NEEDS_NOTHING : td_scheme_need(c->k),
                                     .need_of_estimate = td_scheme_need_of_estimate(c->k),
                                     .is_estimated = !is_given,
                                     .rest = rest + td_log_above((uint64_t)c->k)};
}

/* ---- the schemes ---- */

static int64_t most_k(const td_scheme_case *c)
{
    const slicing s = slicing_of_case(c);
    return most_k_of(&s);
}

static size_t bytes(const td_scheme_case *c, int64_t m, int64_t n, int64_t k_pass, int64_t batch)
{
    const slicing s = slicing_of_case(c);
    return lay_out(&s, carries_of(c->k, k_pass), m, n, k_pass, batch).bytes;
}

/* Which digits have products that are left out. */
static td_cut cut(const td_scheme_case *c)
{
    const slicing s = slicing_of_case(c);
    return (td_cut){.digits = s.weights < 2 * s.slices - 1 ? s.slices : 0, .bits = s.bits};
}

static cudaError_t prepare(const td_scheme *scheme) { return td_slices_prepare(scheme->digits); }

/* The schemes of int8 and of binary32 digits have the same functions, which ask scheme->digits. */
#define SCHEME(type)                                                                               \
    {                                                                                              \
        .needs_cublas = true, .digits = type, .prepare = prepare, .most_k = most_k,                \
        .bytes = bytes, .cut = cut, .choose = choose, .multiply = multiply, .finish = finish       \
    }
const td_scheme td_scheme_int8_slices = SCHEME(TD_DIGIT_INT8);
const td_scheme td_scheme_float_slices = SCHEME(TD_DIGIT_FLOAT);

/* ---- triple-single ---- */

int64_t td_ts_slices_most_k(int slices, int64_t k)
{
    const slicing s = slicing_of_ts(slices, k);
    return most_k_of(&s);
}

/* As for a long k, which takes the most slices, and carries. */
size_t td_ts_slices_bytes(int slices, int64_t m, int64_t n, int64_t k_pass)
{
    const slicing s = slicing_of_ts(slices, INT64_MAX);
    return lay_out(&s, CARRIES, m, n, k_pass, 1).bytes;
}

int td_ts_slices_width(int slices, int64_t k)
{
    const slicing s = slicing_of_ts(slices, k);
    return s.slices * s.bits - 2;
}

cudaError_t td_ts_slices_run(const td_scheme_part *part, tandem_ts alpha, tandem_ts beta)
{
    const slicing s = slicing_of_ts(part->parameter.count, part->fixed.operand[0].k);
    const layout l = layout_of(&s, part);
    const td_slice_sums sums = sums_of(part, &l);
    const td_finish_ts finish = {.target = part->finish.target,
                                 .line = {part->finish.line[0], part->finish.line[1]},
                                 .alpha = alpha,
                                 .beta = beta};
    const cudaError_t error = td_scheme_passes(part, &l, multiply_pass);
    return error == cudaSuccess ? td_slices_finish_ts(&sums, &finish, part->stream) : error;
}
