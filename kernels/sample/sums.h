/* sums.h - exact sums of an element's real products (../arithmetic/exact.h), by a block: its
 * threads share the products, whose sum they keep in words of 32 bits, WINDOW words of the sum at a
 * time. Ordinary data need one window. Words of exact sums are added in any order. For kernels. */
#ifndef TD_SAMPLE_SUMS_H
#define TD_SAMPLE_SUMS_H

#include "../arithmetic/join.h"
#include "../device/warp.h"
#include "element.h"
#include "scaled.h"

enum { WINDOW = 8 };

/* Words for alpha times any sum, beta C and C together: exponents from -3222 to 3019, and room for
 * carries. */
enum { TOTAL_WORDS = 208 };

/* Kinds of products of a line that are not finite, as bits; and of numbers that take no part, as
 * they stand beside a triangle's zeros. */
enum { HAS_NAN = 1, HAS_PLUS = 2, HAS_MINUS = 4, HAS_ASIDE = 8 };

/* One of an element's sums. */
struct shared_sum {
    int64_t total[TOTAL_WORDS];
    int low, high; /* exponents of the lowest bit of any product, and of 1 above the highest */
    unsigned specials;
    double magnitude; /* of all products, times 2^-high */
};

struct sample_shared {
    int64_t word[WINDOW][THREADS];
    double magnitude[THREADS / WARP];
    shared_sum sum[2];
    bool keeps_lines;
};

enum { BIAS = 1 << 20 };

TD_DEVICE bool has_products(const shared_sum &sum) { return sum.low <= sum.high; }

/* ---- where products lie ---- */

TD_DEVICE unsigned special_product(double a, double b)
{
    if (is_finite(a) && is_finite(b)) return 0;
    const double product = td_mul64(a, b);
    return product != product ? HAS_NAN : product > 0.0 ? HAS_PLUS : HAS_MINUS;
}

/* Zeros, and no products. All threads take part. */
TD_DEVICE void clear_sum(shared_sum &sum)
{
    if (threadIdx.x == 0) {
        sum.low = BIAS;
        sum.high = -BIAS;
        sum.specials = 0;
        sum.magnitude = 0.0;
    }
    for (int i = (int)threadIdx.x; i < TOTAL_WORDS; i += THREADS) sum.total[i] = 0;
    __syncthreads();
}

/* Where the bits of finite products lie, and what the others are. */
TD_DEVICE void measure(const td_sample &s, const element &at, int which, shared_sum &sum)
{
    int low = BIAS, high = -BIAS;
    unsigned specials = 0;
    each_product(s, at, which, [&](double a, double b, bool takes_part) {
        if (!takes_part) {
            specials |= is_finite(a) && is_finite(b) ? 0 : HAS_ASIDE;
            return;
        }
        const whole x = whole_of(a), y = whole_of(b);
        const unsigned special = special_product(a, b);
        specials |= special;
        if (special || x.m == 0 || y.m == 0) return;
        low = min(low, x.q + y.q);
        high = max(high, x.q + y.q + 128 - td_clz64(x.m) - td_clz64(y.m));
    });
    clear_sum(sum);
    atomicMin(&sum.low, low);
    atomicMax(&sum.high, high);
    if (specials) atomicOr(&sum.specials, specials);
    __syncthreads();
}

/* All of the element's sums. */
TD_DEVICE_LARGE void measure_all(const td_sample &s, const element &at, sample_shared &shared)
{
    TD_UNROLL_N(1)
    for (int i = 0; i < at.sums; i++) measure(s, at, i, shared.sum[i]);
}

/* ---- magnitudes ---- */

/* sum + |a b| 2^-high. */
TD_DEVICE double add_magnitude(double a, double b, int high, double sum)
{
    const scaled product = magnitude_of(a, b);
    if (product.x == 0.0 || product.e - high < -1000) return sum;
    return td_fma64(product.x, td_exp2_64(product.e - high), sum);
}

/* The sum of all threads' sums; valid in every thread. */
TD_DEVICE double add_magnitudes(double sum, sample_shared &shared)
{
    sum = td_warp_join<td_sum64>(sum);
    if (threadIdx.x % WARP == 0) shared.magnitude[threadIdx.x / WARP] = sum;
    __syncthreads();
    sum = 0.0;
    for (int w = 0; w < THREADS / WARP; w++) sum = td_add64(sum, shared.magnitude[w]);
    __syncthreads();
    return sum;
}

/* ---- sums ---- */

/* Adds what a product has in the words from `first` on, which count 2^(32 first + base). */
TD_DEVICE void add_in_window(double a, double b, int base, int first, sample_shared &shared)
{
    const whole x = whole_of(a), y = whole_of(b);
    if (x.m == 0 || y.m == 0) return;
    const td_exact_term term = td_exact_product(x.m, y.m);
    const int position = x.q + y.q - base, shift = position & 31, word = (position >> 5) - first;
    const int64_t sign = -(int64_t)(x.is_negative != y.is_negative);
    TD_UNROLL
    for (int i = 0; i < 5; i++)
        if (word + i >= 0 && word + i < WINDOW)
            shared.word[word + i][threadIdx.x] +=
                ((int64_t)td_exact_digit(term, i, shift) ^ sign) - sign;
}

/* Adds the threads' words to a total, a warp a word. */
TD_DEVICE void add_threads(int first, int64_t *total, sample_shared &shared)
{
    const int lane = (int)threadIdx.x % WARP;
    __syncthreads();
    for (int w = (int)threadIdx.x / WARP; w < WINDOW; w += THREADS / WARP) {
        int64_t sum = 0;
        TD_UNROLL
        for (int i = lane; i < THREADS; i += WARP) sum += shared.word[w][i];
        sum = td_warp_add_long(sum);
        if (lane == 0 && first + w < TOTAL_WORDS) total[first + w] = sum;
    }
    __syncthreads();
}

/* The sum of |a b| 2^-high over the block's products, valid in every thread. Where `adds` is true,
 * the products go into words of the sum's total as well, which count 2^base on. The first window's
 * pass over the terms finds both. */
TD_DEVICE double add_products(const td_sample &s, const element &at, int which, int base, bool adds,
                              sample_shared &shared)
{
    shared_sum &sum = shared.sum[which];
    const int start = (sum.low - base) >> 5, end = (sum.high - base) >> 5,
              windows = adds ? (end - start) / WINDOW + 1 : 1;
    double magnitude = 0.0;
    TD_UNROLL_N(1)
    for (int i = 0; i < windows; i++) {
        const int first = start + i * WINDOW;
        for (int w = 0; w < WINDOW; w++) shared.word[w][threadIdx.x] = 0;
        each_product(s, at, which, [&](double a, double b, bool takes_part) {
            if (!takes_part) return;
            if (i == 0) magnitude = add_magnitude(a, b, sum.high, magnitude);
            if (adds) add_in_window(a, b, base, first, shared);
        });
        if (adds) add_threads(first, sum.total, shared);
    }
    return add_magnitudes(magnitude, shared);
}

/* ---- what all numbers of an element span ---- */

/* The lowest and the highest exponent of all that is added up, but for the bits of `by`. */
struct extent {
    int low, high;
};

TD_DEVICE void widen(extent *r, int low, int high)
{
    r->low = min(r->low, low);
    r->high = max(r->high, high);
}

/* Of finite scalars; the element after the call counts if it is finite. */
TD_DEVICE extent extent_of(const element &at, const sample_shared &shared)
{
    const whole after = whole_of(is_finite(at.after) ? at.after : 0.0);
    extent r = {BIAS, -BIAS};
    for (int i = 0; i < at.sums; i++) {
        const shared_sum &sum = shared.sum[i];
        const whole by = whole_of(at.by[i]);
        if (by.m != 0 && has_products(sum)) widen(&r, sum.low + by.q, sum.high + by.q);
    }
    for (int i = 0; i < 2; i++) {
        const whole beta = whole_of(at.beta[i]), before = whole_of(at.before[i]);
        if (beta.m != 0 && before.m != 0) widen(&r, beta.q + before.q, beta.q + before.q + 106);
    }
    if (after.m != 0 || r.low > r.high) widen(&r, after.q, after.q + 53);
    return r;
}

/* Whether NaN or infinities take part. */
TD_DEVICE bool is_special(const element &at, const sample_shared &shared)
{
    for (int i = 0; i < at.sums; i++)
        if ((shared.sum[i].specials & ~(unsigned)HAS_ASIDE) || !is_finite(at.by[i])) return true;
    return !is_finite(at.beta[0]) || !is_finite(at.before[0]) ||
           (at.sums == 2 && (!is_finite(at.beta[1]) || !is_finite(at.before[1])));
}

/* The block's products into the totals; what they are in size is left in magnitude[]. All threads
 * take part. */
TD_DEVICE_LARGE void add_terms(const td_sample &s, const element &at, double *magnitude,
                               sample_shared &shared)
{
    const bool adds = !is_special(at, shared);
    const extent range = adds ? extent_of(at, shared) : extent{0, 0};
    TD_UNROLL_N(1)
    for (int i = 0; i < at.sums; i++) {
        magnitude[i] = 0.0;
        if (!adds || !has_products(shared.sum[i])) continue;
        const whole by = whole_of(at.by[i]);
        magnitude[i] = add_products(s, at, i, range.low - by.q, by.m != 0, shared);
    }
}

#endif
