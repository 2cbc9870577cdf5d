/* sample.cu - the exact error of single elements of a product. A block has one element at a
 * time: its threads share the terms, whose sum they keep in words of 32 bits
 * (../arithmetic/exact.h), WINDOW words of the sum at a time. Ordinary data need one window. A
 * thread then finishes with a few words: alpha times the sum, plus beta C, minus the C that was
 * computed. Several blocks share an element of many terms: one kernel measures, the next one adds
 * up, and the last one finishes. Words of exact sums are added in any order. */
#include "sample.h"

#include "../arithmetic/exact.h"
#include "../device/warp.h"
#include "../view/access.h"

enum { WARP = 32, THREADS = 128, WINDOW = 16, MOST_BLOCKS = 1 << 16 };

/* Words for alpha times any sum, beta C and C together: exponents from -3119 to 3123, and room
 * for carries. */
enum { TOTAL_WORDS = 208 };

/* Kinds of products of a line that are not finite, as bits. */
enum { HAS_NAN = 1, HAS_PLUS = 2, HAS_MINUS = 4 };

/* x 2^e; 0 or 2^-1000 < x < 2^400. */
struct scaled {
    double x;
    int e;
};

/* Whole-number forms of a finite binary64: +- m 2^q. */
struct whole {
    uint64_t m;
    int q;
    bool is_negative;
};

struct sample_shared {
    int64_t word[WINDOW][THREADS];
    int64_t total[TOTAL_WORDS];
    int low, high; /* exponents of the lowest bit of any product, and of 1 above the highest */
    unsigned specials;
    double magnitude[THREADS / WARP];
    bool keeps_lines;
};

/* What blocks that share an element have found so far; zeros at first. */
struct share_sums {
    unsigned low, high; /* those of sample_shared, as BIAS - low and BIAS + high */
    unsigned specials;
    double magnitude[TD_SAMPLE_SHARES]; /* each block's own */
    long long total[TOTAL_WORDS];
};
enum { BIAS = 1 << 20 };

/* An element, and what is combined with its sum of k products; the block has terms from `first`
 * to before `end`. */
struct element {
    int64_t row, col, member, k, first, end;
    double alpha, beta, before, after;
};

/* ---- numbers ---- */

TD_DEVICE whole whole_of(double x)
{
    whole r;
    const uint64_t bits = td_bits64(x);
    r.m = td_exact_significand(bits, &r.q);
    r.is_negative = bits >> 63 != 0;
    return r;
}

TD_DEVICE bool is_finite(double x) { return td_is_finite64(td_bits64(x)); }

TD_DEVICE double exp2_within(int e) { return td_exp2_64(max(-1000, min(800, e))); }

TD_DEVICE scaled make_scaled(double x, int e)
{
    scaled r;
    r.x = x;
    r.e = e;
    return r;
}

/* To 2^-52; what is below 2^-1000 of the larger scale is nothing. */
TD_DEVICE scaled add_scaled(scaled a, scaled b)
{
    if (a.x == 0.0) return b;
    if (b.x == 0.0) return a;
    if (a.e < b.e) {
        const scaled c = a;
        a = b;
        b = c;
    }
    if (a.e - b.e < 1000) a.x = td_fma64(b.x, td_exp2_64(b.e - a.e), a.x);
    return a;
}

/* a / b, and 0 for 0 / 0. */
TD_DEVICE double ratio_of(scaled a, scaled b)
{
    return a.x == 0.0 ? 0.0 : a.x / b.x * exp2_within(a.e - b.e);
}

/* ---- places ---- */

/* Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014. */
TD_DEVICE uint64_t hash_of(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Where the sample's element number i is; false if C has no such element. What a sample has outside
 * of a triangle, it takes on the other side of the diagonal. */
TD_DEVICE bool go_to(const td_sample &s, int64_t i, element *at)
{
    const int64_t all = s.m * s.n * s.batch;
    const bool takes_all = s.count >= all;
    const uint64_t place = takes_all ? (uint64_t)i : hash_of(s.seed + (uint64_t)i) % (uint64_t)all;
    at->row = (int64_t)(place % (uint64_t)s.m);
    at->col = (int64_t)(place / (uint64_t)s.m % (uint64_t)s.n);
    at->member = (int64_t)(place / (uint64_t)s.m / (uint64_t)s.n);
    if (td_region_has(&s.region, at->row, at->col)) return true;
    const int64_t row = at->row;
    at->row = at->col;
    at->col = row;
    return !takes_all;
}

TD_DEVICE double *element_of_c(const td_sample &s, const element &at)
{
    return td_member<double>(s.c, at.member) + at.row + at.col * s.c.ld;
}

/* Element l of the row of op(A) or of the column of op(B). */
TD_DEVICE double load_term(const td_sample &s, int which, const element &at, int64_t l)
{
    const double *const data = td_member<const double>(s.operand[which].matrix, at.member);
    return td_view_load(s.operand[which], data, (int)(which ? at.col : at.row), l);
}

/* Grid: blocks over elements. */
static __global__ void __launch_bounds__(THREADS) save_kernel(const td_sample s)
{
    element at;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < s.count;
         i += (int64_t)gridDim.x * THREADS) {
        if (go_to(s, i, &at) && td_scalar_value(s.beta) != 0.0) s.before[i] = *element_of_c(s, at);
    }
}

/* What the product was told, and what it made of element number i, which is at r's place. */
TD_DEVICE element load_element(const td_sample &s, int64_t i, element r)
{
    r.alpha = td_scalar_value(s.alpha);
    r.beta = s.before ? td_scalar_value(s.beta) : 0.0;
    r.before = r.beta != 0.0 ? s.before[i] : 0.0;
    r.after = *element_of_c(s, r);
    r.k = r.alpha != 0.0 ? s.operand[0].k : 0; /* with alpha = 0 nobody reads A and B */
    r.first = 0;
    r.end = r.k;
    return r;
}

/* ---- sums ---- */

/* Calls work(bits of a, bits of b) for the thread's terms. */
template <class function>
TD_DEVICE void each_term(const td_sample &s, const element &at, function work)
{
    TD_UNROLL_N(4)
    for (int64_t l = at.first + threadIdx.x; l < at.end; l += THREADS)
        work(td_bits64(load_term(s, 0, at, l)), td_bits64(load_term(s, 1, at, l)));
}

TD_DEVICE unsigned special_product(uint64_t a, uint64_t b)
{
    if (td_is_finite64(a) && td_is_finite64(b)) return 0;
    const double product = td_mul64(td_from_bits64(a), td_from_bits64(b));
    return product != product ? HAS_NAN : product > 0.0 ? HAS_PLUS : HAS_MINUS;
}

/* Where the products' bits lie, and which are not finite. */
TD_DEVICE void measure(const td_sample &s, const element &at, sample_shared &shared)
{
    int low = BIAS, high = -BIAS;
    unsigned specials = 0;
    each_term(s, at, [&](uint64_t a, uint64_t b) {
        int qa, qb;
        const uint64_t ma = td_exact_significand(a, &qa), mb = td_exact_significand(b, &qb);
        specials |= special_product(a, b);
        if (ma == 0 || mb == 0) return;
        low = min(low, qa + qb);
        high = max(high, qa + qb + 128 - td_clz64(ma) - td_clz64(mb));
    });
    if (threadIdx.x == 0) {
        shared.low = BIAS;
        shared.high = -BIAS;
        shared.specials = 0;
    }
    __syncthreads();
    atomicMin(&shared.low, low);
    atomicMax(&shared.high, high);
    if (specials) atomicOr(&shared.specials, specials);
    for (int i = (int)threadIdx.x; i < TOTAL_WORDS; i += THREADS) shared.total[i] = 0;
    __syncthreads();
}

/* The sum of |a b| 2^-high over all terms; valid in every thread. */
TD_DEVICE double add_magnitudes(const td_sample &s, const element &at, sample_shared &shared)
{
    const int high = shared.high;
    double sum = 0.0;
    each_term(s, at, [&](uint64_t a, uint64_t b) {
        int qa, qb;
        const uint64_t ma = td_exact_significand(a, &qa), mb = td_exact_significand(b, &qb);
        if (ma == 0 || mb == 0 || qa + qb - high < -1000) return;
        const double product = td_mul64((double)ma, (double)mb);
        sum = td_fma64(product, td_exp2_64(qa + qb - high), sum);
    });
    TD_UNROLL
    for (int step = WARP / 2; step > 0; step /= 2)
        sum = td_add64(sum, __shfl_xor_sync(~0u, sum, step));
    if (threadIdx.x % WARP == 0) shared.magnitude[threadIdx.x / WARP] = sum;
    __syncthreads();
    sum = 0.0;
    for (int w = 0; w < THREADS / WARP; w++) sum = td_add64(sum, shared.magnitude[w]);
    return sum;
}

/* Adds what a product has in the words from `first` on, which count 2^(32 first + base). */
TD_DEVICE void add_in_window(uint64_t a, uint64_t b, int base, int first, sample_shared &shared)
{
    int qa, qb;
    const uint64_t ma = td_exact_significand(a, &qa), mb = td_exact_significand(b, &qb);
    if (ma == 0 || mb == 0) return;
    const td_exact_term term = td_exact_product(ma, mb);
    const int position = qa + qb - base, shift = position & 31, word = (position >> 5) - first;
    const int64_t sign = -(int64_t)((a ^ b) >> 63);
    TD_UNROLL
    for (int i = 0; i < 5; i++)
        if (word + i >= 0 && word + i < WINDOW)
            shared.word[word + i][threadIdx.x] +=
                ((int64_t)td_exact_digit(term, i, shift) ^ sign) - sign;
}

/* Adds the threads' words to the total, a warp a word. */
TD_DEVICE void add_threads(int first, sample_shared &shared)
{
    const int lane = (int)threadIdx.x % WARP;
    __syncthreads();
    for (int w = (int)threadIdx.x / WARP; w < WINDOW; w += THREADS / WARP) {
        int64_t sum = 0;
        TD_UNROLL
        for (int i = lane; i < THREADS; i += WARP) sum += shared.word[w][i];
        sum = td_warp_add_long(sum);
        if (lane == 0 && first + w < TOTAL_WORDS) shared.total[first + w] = sum;
    }
    __syncthreads();
}

/* The sum of all products, in words of the total that count 2^base on. */
TD_DEVICE void add_products(const td_sample &s, const element &at, int base, sample_shared &shared)
{
    TD_UNROLL_N(1)
    for (int first = (shared.low - base) >> 5; 32 * first <= shared.high - base; first += WINDOW) {
        for (int w = 0; w < WINDOW; w++) shared.word[w][threadIdx.x] = 0;
        each_term(s, at, [&](uint64_t a, uint64_t b) { add_in_window(a, b, base, first, shared); });
        add_threads(first, shared);
    }
}

/* ---- errors ---- */

/* The lowest and the highest exponent of all that is added before alpha multiplies the products. */
struct extent {
    int low, high;
};

TD_DEVICE extent extent_of(const element &at, const sample_shared &shared)
{
    const int q = whole_of(at.alpha).q;
    const whole beta = whole_of(at.beta), before = whole_of(at.before), after = whole_of(at.after);
    extent r = {shared.low, shared.high};
    if (beta.m != 0 && before.m != 0) {
        r.low = min(r.low, beta.q + before.q - q);
        r.high = max(r.high, beta.q + before.q - q + 106);
    }
    if (after.m != 0 || r.low > r.high) {
        r.low = min(r.low, after.q - q);
        r.high = max(r.high, after.q - q + 53);
    }
    return r;
}

/* |C - (alpha sum + beta C)|, by one thread. */
TD_DEVICE scaled find_error(const element &at, extent range, sample_shared &shared)
{
    const whole alpha = whole_of(at.alpha), beta = whole_of(at.beta), before = whole_of(at.before),
                after = whole_of(at.after);
    td_exact x = {shared.total, 1, (range.high - range.low + 31 + 53) / 32 + 3, range.low};
    td_exact_carry(&x);
    td_exact_multiply(&x, alpha.m);
    x.e += alpha.q;
    if (beta.m != 0 && before.m != 0)
        td_exact_add(&x, td_exact_product(beta.m, before.m), beta.q + before.q - x.e,
                     alpha.is_negative ^ beta.is_negative ^ before.is_negative);
    if (after.m != 0) {
        const td_exact_term term = {after.m, 0};
        td_exact_add(&x, term, after.q - x.e, after.is_negative == alpha.is_negative);
    }
    const td_exact_number error = td_exact_read(&x);
    return make_scaled((double)error.m, error.e);
}

/* |alpha||A||B| + |beta||C|. */
TD_DEVICE scaled size_of(const element &at, scaled products)
{
    const whole alpha = whole_of(at.alpha), beta = whole_of(at.beta), before = whole_of(at.before);
    return add_scaled(make_scaled((double)alpha.m * products.x, alpha.q + products.e),
                      make_scaled((double)beta.m * (double)before.m, beta.q + before.q));
}

/* A unit in the last place of C, or of the error. */
TD_DEVICE scaled unit_of(double c, scaled error)
{
    const int of_c = c != 0.0 ? td_exponent64(td_bits64(c)) : -1074;
    const int of_error = error.x != 0.0 ? td_exponent64(td_bits64(error.x)) + error.e : -1074;
    return make_scaled(1.0, max(max(of_c, of_error) - 52, -1074));
}

/* What binary64 may lose below 2^-1022 beyond a relative bound: half of 2^-1074 for each
 * product, the sum, beta C and C. */
TD_DEVICE scaled loss_below_range(const element &at)
{
    const whole alpha = whole_of(at.alpha);
    return add_scaled(make_scaled((double)alpha.m * (double)(at.k + 1), alpha.q - 1075),
                      make_scaled(2.0, -1075));
}

/* An element's measure. */
struct verdict {
    bool is_left_out, is_special, is_outside;
    double error, ulps;
};

TD_DEVICE bool exceeds(const td_sample_bound &bound, const element &at, scaled error, scaled size,
                       scaled unit)
{
    if (!is_finite(bound.relative) || !is_finite(bound.ulps)) return false;
    scaled allowed = add_scaled(make_scaled(bound.relative * size.x, size.e),
                                make_scaled(bound.ulps * unit.x, unit.e));
    if (bound.relative != 0.0) allowed = add_scaled(allowed, loss_below_range(at));
    return ratio_of(error, allowed) > 1.0 + 0x1p-20; /* sizes are sums in binary64 */
}

/* Where operands, scalars or C before are not finite: C must be what IEEE arithmetic has it. An
 * infinite alpha times a finite sum, whose sign would count, is left out. */
TD_DEVICE verdict judge_special(const element &at, unsigned specials)
{
    const double infinity = td_from_bits64(0x7ff0000000000000ull);
    const bool is_nan =
        (specials & HAS_NAN) || (specials & (HAS_PLUS | HAS_MINUS)) == (HAS_PLUS | HAS_MINUS);
    const double sum = is_nan                 ? td_sub64(infinity, infinity)
                       : !specials            ? 0.0
                       : specials == HAS_PLUS ? infinity
                                              : -infinity;
    const double wanted =
        td_add64(td_mul64(at.alpha, sum), at.beta != 0.0 ? td_mul64(at.beta, at.before) : 0.0);
    verdict v = {false, true, false, 0.0, 0.0};
    v.is_left_out = !specials && at.alpha == at.alpha && !is_finite(at.alpha);
    v.is_outside = wanted != wanted ? at.after == at.after : at.after != wanted;
    return v;
}

/* By one thread, of finite operands and scalars. products: |A||B|. */
TD_DEVICE verdict judge_finite(const td_sample_bound &bound, const element &at, scaled products,
                               extent range, sample_shared &shared)
{
    const scaled size = size_of(at, products);
    verdict v = {false, false, false, 0.0, 0.0};
    if (!is_finite(at.after)) { /* a sum, or part of it, may be beyond the range */
        const scaled end = make_scaled(1.0, 1023);
        v.is_special = true;
        v.is_outside = ratio_of(size, end) < 1.0 && ratio_of(products, end) < 1.0;
        return v;
    }
    const scaled error = find_error(at, range, shared), unit = unit_of(at.after, error);
    v.error = ratio_of(error, size);
    v.ulps = ratio_of(error, unit);
    v.is_outside = exceeds(bound, at, error, size, unit);
    return v;
}

/* ---- counts ---- */

/* Positive numbers have the order of their bits. */
TD_DEVICE void raise(double *worst, double value)
{
    atomicMax(reinterpret_cast<unsigned long long *>(worst), (unsigned long long)td_bits64(value));
}

TD_DEVICE void count(td_sample_counts *counts, const verdict &v)
{
    atomicAdd(&counts->elements, 1ull);
    if (v.is_outside) atomicAdd(&counts->outside, 1ull);
    if (v.is_special) {
        if (!v.is_outside) atomicAdd(&counts->special, 1ull);
        return;
    }
    raise(&counts->worst, v.error);
    raise(&counts->worst_ulps, v.ulps);
    atomicAdd(&counts->sum, v.error);
    atomicAdd(&counts->sum_ulps, v.ulps);
}

#if TD_HAS_CUDA_DEVICE
static __device__ td_sample_counts device_counts[TD_SAMPLE_SLOTS];
static __device__ unsigned has_failed;

cudaError_t td_sample_find(td_sample_counts **counts)
{
    void *address = NULL;
    const cudaError_t error = cudaGetSymbolAddress(&address, device_counts);
    *counts = static_cast<td_sample_counts *>(address);
    return error;
}
#else
static td_sample_counts device_counts[TD_SAMPLE_SLOTS];
static unsigned has_failed;

cudaError_t td_sample_find(td_sample_counts **counts)
{
    *counts = device_counts;
    return cudaSuccess;
}
#endif

/* By one thread; true if this is the context's first element outside of its bound. */
TD_DEVICE bool note_failure(const td_sample &s, const element &at, const verdict &v)
{
    if (!v.is_outside || atomicExch(&has_failed, 1u) != 0u) return false;
    const double nan = td_from_bits64(0x7ff8000000000000ull);
    td_sample_failure *const f = s.failure;
    f->slot = s.slot;
    f->row = at.row;
    f->col = at.col;
    f->member = at.member;
    f->alpha = at.alpha;
    f->beta = at.beta;
    f->before = at.before;
    f->after = at.after;
    f->error = v.is_special ? nan : v.error;
    f->error_ulps = v.is_special ? nan : v.ulps;
    f->bound = s.bound;
    f->k = at.k;
    f->kept = s.lines ? min(at.k, (int64_t)TD_SAMPLE_LINE) : 0;
    return true;
}

/* The failure's row and column; then the host may look. */
TD_DEVICE void keep_failure(const td_sample &s, const element &at)
{
    const int64_t kept = s.lines ? min(at.k, (int64_t)TD_SAMPLE_LINE) : 0;
    TD_UNROLL_N(1)
    for (int64_t l = threadIdx.x; l < kept; l += THREADS) {
        s.lines[l] = load_term(s, 0, at, l);
        s.lines[TD_SAMPLE_LINE + l] = load_term(s, 1, at, l);
    }
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(&s.failure->is_ready, 1u);
}

TD_DEVICE bool is_special(const element &at, unsigned specials)
{
    return specials || !is_finite(at.alpha) || !is_finite(at.beta) || !is_finite(at.before);
}

/* The exponents of an element without NaN and infinities. */
TD_DEVICE extent range_of(const element &at, const sample_shared &shared)
{
    element counted = at;
    if (!is_finite(at.after)) counted.after = 0.0;
    return extent_of(counted, shared);
}

TD_DEVICE bool has_products(const sample_shared &shared) { return shared.low <= shared.high; }

/* The block's terms into the total; returns their magnitudes' sum, as add_magnitudes does. */
TD_DEVICE double add_terms(const td_sample &s, const element &at, sample_shared &shared)
{
    if (is_special(at, shared.specials) || !has_products(shared)) return 0.0;
    const double magnitude = add_magnitudes(s, at, shared);
    add_products(s, at, range_of(at, shared).low, shared);
    return magnitude;
}

/* Judges an element whose terms are in the total. magnitude: of all of them. */
TD_DEVICE void finish(const td_sample &s, const element &at, double magnitude,
                      sample_shared &shared)
{
    if (threadIdx.x == 0) {
        const scaled products = make_scaled(magnitude, has_products(shared) ? shared.high : 0);
        const verdict v = is_special(at, shared.specials)
                              ? judge_special(at, shared.specials)
                              : judge_finite(s.bound, at, products, range_of(at, shared), shared);
        if (!v.is_left_out) count(s.counts, v);
        shared.keeps_lines = !v.is_left_out && note_failure(s, at, v);
    }
    __syncthreads();
    if (shared.keeps_lines) keep_failure(s, at);
    __syncthreads();
}

/* Grid: blocks over elements. */
static __global__ void __launch_bounds__(THREADS) check_kernel(const td_sample s)
{
    TD_SHARED(sample_shared, shared, );
    TD_UNROLL_N(1)
    for (int64_t i = blockIdx.x; i < s.count; i += gridDim.x) {
        element at;
        if (!go_to(s, i, &at)) continue;
        at = load_element(s, i, at);
        measure(s, at, shared);
        finish(s, at, add_terms(s, at, shared), shared);
    }
}

/* ---- elements that blocks share ---- */

TD_DEVICE share_sums *sums_of(const td_sample &s)
{
    return static_cast<share_sums *>(s.shares) + blockIdx.x;
}

/* The block's element; its terms are those of share number `share` of so many. */
TD_DEVICE bool load_share(const td_sample &s, int share, int shares, element *at)
{
    if (!go_to(s, blockIdx.x, at)) return false;
    *at = load_element(s, blockIdx.x, *at);
    const int64_t terms = (at->k + shares - 1) / shares;
    at->first = min(at->k, share * terms);
    at->end = min(at->k, at->first + terms);
    return true;
}

/* What all blocks have measured, and zeros for the total. All threads take part. */
TD_DEVICE void load_measure(const share_sums &sums, sample_shared &shared)
{
    if (threadIdx.x == 0) {
        shared.low = BIAS - (int)sums.low;
        shared.high = (int)sums.high - BIAS;
        shared.specials = sums.specials;
    }
    for (int i = (int)threadIdx.x; i < TOTAL_WORDS; i += THREADS) shared.total[i] = 0;
    __syncthreads();
}

/* Grid: elements, shares of their terms. */
static __global__ void __launch_bounds__(THREADS) measure_shares_kernel(const td_sample s)
{
    TD_SHARED(sample_shared, shared, );
    element at;
    if (!load_share(s, (int)blockIdx.y, (int)gridDim.y, &at)) return;
    measure(s, at, shared);
    if (threadIdx.x != 0) return;
    share_sums *const sums = sums_of(s);
    atomicMax(&sums->low, (unsigned)(BIAS - shared.low));
    atomicMax(&sums->high, (unsigned)(BIAS + shared.high));
    if (shared.specials) atomicOr(&sums->specials, shared.specials);
}

/* Grid: elements, shares of their terms. */
static __global__ void __launch_bounds__(THREADS) add_shares_kernel(const td_sample s)
{
    TD_SHARED(sample_shared, shared, );
    element at;
    if (!load_share(s, (int)blockIdx.y, (int)gridDim.y, &at)) return;
    share_sums *const sums = sums_of(s);
    load_measure(*sums, shared);
    const double magnitude = add_terms(s, at, shared);
    if (threadIdx.x == 0) sums->magnitude[blockIdx.y] = magnitude;
    __syncthreads();
    for (int i = (int)threadIdx.x; i < TOTAL_WORDS; i += THREADS)
        if (shared.total[i] != 0)
            atomicAdd(reinterpret_cast<unsigned long long *>(&sums->total[i]),
                      (unsigned long long)shared.total[i]);
}

/* Grid: elements. */
static __global__ void __launch_bounds__(THREADS)
    finish_shares_kernel(const td_sample s, const int shares)
{
    TD_SHARED(sample_shared, shared, );
    element at;
    double magnitude = 0.0;
    if (!load_share(s, 0, 1, &at)) return;
    const share_sums &sums = *sums_of(s);
    load_measure(sums, shared);
    for (int i = (int)threadIdx.x; i < TOTAL_WORDS; i += THREADS) shared.total[i] = sums.total[i];
    __syncthreads();
    for (int i = 0; i < shares; i++) magnitude = td_add64(magnitude, sums.magnitude[i]);
    finish(s, at, magnitude, shared);
}

size_t td_sample_share_bytes(int64_t k, int64_t count)
{
    return td_sample_shares(k, count) > 1 ? (size_t)count * sizeof(share_sums) : 0;
}

static cudaError_t run_shares(const td_sample *s, int shares, cudaStream_t stream)
{
    const unsigned count = (unsigned)s->count;
    cudaError_t error = cudaMemsetAsync(s->shares, 0, count * sizeof(share_sums), stream);
    if (error == cudaSuccess)
        error = TD_LAUNCH(measure_shares_kernel, dim3(count, (unsigned)shares), dim3(THREADS), 0,
                          stream, *s);
    if (error == cudaSuccess)
        error = TD_LAUNCH(add_shares_kernel, dim3(count, (unsigned)shares), dim3(THREADS), 0,
                          stream, *s);
    if (error == cudaSuccess)
        error = TD_LAUNCH(finish_shares_kernel, dim3(count), dim3(THREADS), 0, stream, *s, shares);
    return error;
}

static __global__ void move_kernel(td_sample_counts *from, td_sample_counts *to)
{
    const unsigned long long elements = atomicExch(&from->elements, 0ull),
                             special = atomicExch(&from->special, 0ull),
                             outside = atomicExch(&from->outside, 0ull);
    unsigned long long *const numbers = reinterpret_cast<unsigned long long *>(&from->worst);
    double number[4];
    for (int i = 0; i < 4; i++) number[i] = td_from_bits64(atomicExch(&numbers[i], 0ull));
    atomicAdd(&to->elements, elements);
    if (special) atomicAdd(&to->special, special);
    if (outside) atomicAdd(&to->outside, outside);
    raise(&to->worst, number[0]);
    atomicAdd(&to->sum, number[1]);
    raise(&to->worst_ulps, number[2]);
    atomicAdd(&to->sum_ulps, number[3]);
}

cudaError_t td_sample_save_run(const td_sample *s, cudaStream_t stream)
{
    const int64_t blocks = (s->count + THREADS - 1) / THREADS;
    if (!s->before) return cudaSuccess;
    return TD_LAUNCH(save_kernel, dim3((unsigned)min(blocks, (int64_t)MOST_BLOCKS)), dim3(THREADS),
                     0, stream, *s);
}

cudaError_t td_sample_check_run(const td_sample *s, cudaStream_t stream)
{
    const int shares = td_sample_shares(s->operand[0].k, s->count);
    if (s->shares && shares > 1) return run_shares(s, shares, stream);
    return TD_LAUNCH(check_kernel, dim3((unsigned)min(s->count, (int64_t)MOST_BLOCKS)),
                     dim3(THREADS), 0, stream, *s);
}

cudaError_t td_sample_move_run(td_sample_counts *from, td_sample_counts *to, cudaStream_t stream)
{
    return TD_LAUNCH(move_kernel, dim3(1), dim3(1), 0, stream, from, to);
}

cudaError_t td_sample_prepare(int which)
{
    (void)which;
    return td_load(cudaSuccess, save_kernel, check_kernel, measure_shares_kernel, add_shares_kernel,
                   finish_shares_kernel, move_kernel);
}
