/* ref_ozaki.c - the definition of ozaki2, ozaki1 and ozaki-sgemm: docs/numerics.md. Whole numbers are kept in
 * binary64 where they have no more than 53 significant bits, and their sums in fixed.h's numbers. */
#include "ref_ozaki.h"

#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "fixed.h"

enum { LOG = 256, UNIT = 64, MIN_MODULI = 2, MAX_MODULI = 20, LEAST_MODULI = 14, INT8_SLICES = 8 };
enum { NO_LOW = 0x7fff, BINS = 64 };

/* One line of an operand, shifts included. */
typedef struct {
    bool is_special, is_zero, has_mean;
    int64_t norm, total, mean, peak, low; /* kernels/ozaki/ozaki.h; total is its sum */
    int64_t scale;
    double sum; /* of the fixed-point elements' magnitudes, at least */
} line;

typedef struct {
    const double *data;
    int64_t lines, k, line_step, k_step;
    int sign; /* of the shifts */
    line *line;
    double *fixed; /* [line][k]: A', exactly */
} side;

/* A product on its way. */
typedef struct {
    const ref_ozaki *ozaki;
    const ref_gemm *p;
    side side[2];
    int64_t *shift; /* [k] */
    int parameter;
    int64_t level;
    bool by_products;  /* what the means of lines do not certify, the largest product may: */
    bool *is_large;    /* [column][row]: that it does */
    int8_t *digits[2]; /* [line][slice][k], of int8 slices */
} work;

/* Fewest moduli if the data decide. */
static int least_moduli(const work *w)
{
    return w->p->m * w->p->n <= 1 << 22 ? LEAST_MODULI + 1 : LEAST_MODULI;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static void *allocate(int64_t count, size_t bytes)
{
    void *p = calloc((size_t)count + 1, bytes);
    if (!p) abort();
    return p;
}

/* a / b rounded down, b > 0. */
static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static double at(const side *s, int64_t i, int64_t l)
{
    return s->data[i * s->line_step + l * s->k_step];
}

/* True if element l of line i takes part: it is neither 0 nor special. */
static bool counts(const side *s, int64_t i, int64_t l)
{
    const double x = at(s, i, l);
    return isfinite(x) && x != 0.0;
}

/* Logarithms */

int64_t ref_log_below(uint64_t x)
{
    int64_t log = 63;
    for (; !(x >> 63); x *= 2) log--;
    /* The 32 leading bits are squared eight times, each time cut off after 32 again: a carry is a bit of the logarithm. */
    uint64_t leading = x >> 32;
    for (int i = 0; i < 8; i++) {
        leading *= leading;
        const bool is_carry = leading >= (uint64_t)1 << 63;
        leading >>= is_carry ? 32 : 31;
        log = 2 * log + is_carry;
    }
    return log;
}

int64_t ref_log_above(uint64_t x)
{
    const bool is_power = (x & (x - 1)) == 0;
    return ref_log_below(x) + (is_power ? 0 : 2);
}

/* Moduli */

static const unsigned moduli[MAX_MODULI] = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227,
                                            223, 217, 211, 199, 197, 193, 191, 181, 179, 173};

/* floor(256 ((log2(P - 1) - 1) / 2 - 2^-16)) - 1. */
static int64_t level_of_many(int count)
{
    mpfr_t x;
    mpfr_init2(x, 400);
    mpfr_set_ui(x, 1, MPFR_RNDN);
    for (int t = 0; t < count; t++) mpfr_mul_ui(x, x, moduli[t], MPFR_RNDN);
    mpfr_sub_ui(x, x, 1, MPFR_RNDN);
    mpfr_log2(x, x, MPFR_RNDN);
    mpfr_sub_ui(x, x, 1, MPFR_RNDN);
    mpfr_mul_ui(x, x, LOG / 2, MPFR_RNDN);
    mpfr_sub_d(x, x, LOG * 0x1p-16, MPFR_RNDN);
    const int64_t level = mpfr_get_si(x, MPFR_RNDD) - 1;
    mpfr_clear(x);
    return level;
}

/* Of floor(sqrt(P / 2 (1 - 2^-16))) less half the square root of k, which rounding may add to a norm. */
static int64_t level_of_few(int count, int64_t k)
{
    typedef unsigned __int128 wide;
    wide product = 65535;
    for (int t = 0; t < count; t++) product *= moduli[t];
    int64_t root = 0, half = 0;
    for (int64_t step = INT64_C(1) << 32; step; step /= 2)
        if ((wide)(root + step) * (wide)(root + step) << 17 <= product) root += step;
    while (4 * half * half < k) half++;
    return root - half >= 1 ? ref_log_below((uint64_t)(root - half)) : -LOG;
}

int64_t ref_level(int count, int64_t k)
{
    return count >= 8 ? level_of_many(count) : level_of_few(count, k);
}

/* Inner scaling */

/* The largest exponent of any line's element l; false if all are 0. */
static bool top_of(const side *s, int64_t l, int64_t *top)
{
    bool is_any = false;
    for (int64_t i = 0; i < s->lines; i++) {
        if (!counts(s, i, l)) continue;
        const int64_t e = ilogb(at(s, i, l));
        if (!is_any || e > *top) *top = e;
        is_any = true;
    }
    return is_any;
}

static void set_shifts(work *w)
{
    int64_t most = INT64_MIN, least = INT64_MAX;
    for (int64_t l = 0; l < w->p->k; l++) {
        int64_t a = 0, b = 0;
        if (!top_of(&w->side[0], l, &a) || !top_of(&w->side[1], l, &b)) continue;
        w->shift[l] = floor_div(b - a, 2);
        most = larger(most, b - a);
        least = smaller(least, b - a);
    }
    const bool is_needed = most > INT64_MIN && most - least > 16;
    for (int64_t l = 0; l < w->p->k && !is_needed; l++) w->shift[l] = 0;
}

/* Lines */

/* x 2^shift is m 2^(e + shift), 1 <= m < 2. */
static double significand_of(double x) { return fabs(scalbn(x, -ilogb(x))); }

static int64_t exponent_of(const work *w, const side *s, int64_t i, int64_t l)
{
    return ilogb(at(s, i, l)) + s->sign * w->shift[l];
}

/* Logarithm at most; exact for powers of two. */
static int64_t log_of(const work *w, const side *s, int64_t i, int64_t l)
{
    return LOG * exponent_of(w, s, i, l) +
           (int64_t)floor(LOG * (significand_of(at(s, i, l)) - 1.0));
}

/* The exponent of the lowest bit that is set. */
static int64_t low_of(const work *w, const side *s, int64_t i, int64_t l)
{
    double m = significand_of(at(s, i, l));
    int64_t low = exponent_of(w, s, i, l);
    for (; m != floor(m); m *= 2.0) low--;
    return low;
}

/* Elements l .. of one unit: the largest exponent, and the sum of the squares of |x| 2^(11 - top), each rounded up.
 * False if all are 0. */
static bool measure_unit(const work *w, const side *s, int64_t i, int64_t first, int64_t *top,
                         uint64_t *magnitudes, uint64_t *squares)
{
    const int64_t end = smaller(first + UNIT, s->k);
    bool is_any = false;
    *magnitudes = *squares = 0;
    for (int64_t l = first; l < end; l++) {
        if (!counts(s, i, l)) continue;
        const int64_t e = exponent_of(w, s, i, l);
        if (!is_any || e > *top) *top = e;
        is_any = true;
    }
    for (int64_t l = first; l < end; l++) {
        if (!counts(s, i, l)) continue;
        const int64_t down = *top - exponent_of(w, s, i, l);
        const double q =
            down > 11 ? 1.0 : ceil(scalbn(significand_of(at(s, i, l)), (int)(11 - down)));
        *magnitudes += (uint64_t)q;
        *squares += (uint64_t)(q * q);
    }
    return is_any;
}

/* ceil(x / 2^n). */
static uint64_t shift_up(uint64_t x, int64_t n)
{
    if (n >= 64) return x != 0;
    return (x >> n) + ((x & ((UINT64_C(1) << n) - 1)) != 0);
}

static void set_norms(const work *w, const side *s, int64_t i, line *r)
{
    int64_t top = INT64_MIN, unit_top;
    uint64_t magnitudes, squares, sum = 0, sum_of_squares = 0;
    for (int64_t l = 0; l < s->k; l += UNIT)
        if (measure_unit(w, s, i, l, &unit_top, &magnitudes, &squares)) top = larger(top, unit_top);
    for (int64_t l = 0; l < s->k; l += UNIT) {
        if (!measure_unit(w, s, i, l, &unit_top, &magnitudes, &squares)) continue;
        sum += shift_up(magnitudes, top - unit_top);
        sum_of_squares += shift_up(squares, 2 * (top - unit_top));
    }
    r->norm = LOG * (top - 11) + floor_div(ref_log_above(sum_of_squares) + 1, 2);
    r->total = LOG * (top - 11) + ref_log_above(sum);
}

static line measure(const work *w, const side *s, int64_t i)
{
    line r = {.is_zero = true, .has_mean = true, .low = NO_LOW};
    int64_t logs = 0;
    for (int64_t l = 0; l < s->k; l++) {
        if (!isfinite(at(s, i, l))) return (line){.is_special = true, .low = NO_LOW};
        if (at(s, i, l) == 0.0) {
            r.has_mean = false;
            continue;
        }
        const int64_t log = log_of(w, s, i, l);
        logs += log;
        r.peak = r.is_zero ? log : larger(r.peak, log);
        r.low = smaller(r.low, low_of(w, s, i, l));
        r.is_zero = false;
    }
    if (r.is_zero) return r;
    if (r.has_mean) r.mean = floor_div(logs, s->k);
    set_norms(w, s, i, &r);
    return r;
}

static bool is_counted(const line *r) { return !r->is_zero && !r->is_special; }

static void measure_lines(work *w)
{
    for (int o = 0; o < 2; o++)
        for (int64_t i = 0; i < w->side[o].lines; i++)
            w->side[o].line[i] = measure(w, &w->side[o], i);
}

/* The mean of (norm + total) / 2 over an operand's lines less what it was before, rounded down. */
static int64_t mean_rise(const side *s, const line *before)
{
    int64_t rise = 0, count = 0;
    for (int64_t i = 0; i < s->lines; i++) {
        if (!is_counted(&s->line[i])) continue;
        rise += floor_div(s->line[i].norm + s->line[i].total, 2) -
                floor_div(before[i].norm + before[i].total, 2);
        count++;
    }
    return count ? floor_div(rise, count) : 0;
}

/* Shifts, unless they do not make norms smaller, and lines. */
static void set_lines(work *w)
{
    line *before[2];
    int64_t rise = 0;
    measure_lines(w);
    for (int o = 0; o < 2; o++) {
        const size_t bytes = (size_t)w->side[o].lines * sizeof(line);
        before[o] = allocate(w->side[o].lines, sizeof(line));
        memcpy(before[o], w->side[o].line, bytes);
    }
    set_shifts(w);
    measure_lines(w);
    for (int o = 0; o < 2; o++) rise += mean_rise(&w->side[o], before[o]);
    for (int o = 0; o < 2; o++) free(before[o]);
    if (rise < 0) return;
    memset(w->shift, 0, (size_t)w->p->k * sizeof *w->shift);
    measure_lines(w);
}

/* Slices */

/* Bits of a digit of binary32 slices: products of so many over 4096 elements of k are exact in binary32. */
static int float_digit_bits(int64_t k)
{
    const int64_t terms = smaller(larger(k, 2), 4096);
    int log = 0;
    while (INT64_C(1) << log < terms) log++;
    return (24 - log) / 2 + 1;
}

/* The largest parameter for the exponent of a line's fixed-point elements, by its peak. */
static int64_t scale_by_peak(const work *w, const line *r)
{
    const int64_t e = floor_div(r->peak, LOG);
    if (w->ozaki->scheme == REF_FLOAT_SLICES)
        return w->parameter * float_digit_bits(w->p->k) - 2 - e;
    return 8 * w->parameter - 2 - e - (r->peak - LOG * e >= 253);
}

/* Choice */

/* Logarithm of what X may be off, at least, beside half the sums of magnitudes of both lines. */
static int64_t log_of_rest(const work *w)
{
    const int64_t log_k = ref_log_above((uint64_t)w->p->k);
    if (w->ozaki->scheme != REF_INT8_SLICES) return log_k - 2 * LOG;
    return log_k + LOG * (8 * w->parameter - 10) +
           ref_log_above((uint64_t)(1 + 257 * (w->parameter - 1)));
}

/* Logarithm of what X may be off, at least. */
static int64_t log_of_loss(const work *w, const line *a, const line *b)
{
    const int64_t rounding = larger(a->total + LOG * a->scale, b->total + LOG * b->scale);
    const int64_t rest = log_of_rest(w), apart = larger(rounding - rest, rest - rounding);
    return larger(rounding, rest) + (apart >= 8 * LOG ? 2 : LOG);
}

/* Lines by the whole part of (norm + total) / 2 - mean. */
typedef struct {
    int64_t all[2][BINS], exact[2][BINS], lines[2];
} census;

static void take_census(const work *w, census *c)
{
    const int64_t level = ref_level(least_moduli(w), w->p->k);
    memset(c, 0, sizeof *c);
    for (int o = 0; o < 2; o++)
        for (int64_t i = 0; i < w->side[o].lines; i++) {
            const line *r = &w->side[o].line[i];
            if (!is_counted(r)) continue;
            const int64_t bin =
                r->has_mean
                    ? smaller(BINS - 1,
                              larger(0, floor_div(floor_div(r->norm + r->total, 2) - r->mean, LOG)))
                    : BINS - 1;
            c->lines[o]++;
            c->all[o][bin]++;
            c->exact[o][bin] += floor_div(level - r->norm, LOG) + r->low >= 0;
        }
}

/* Elements that may have to be repaired with so many moduli. */
static int64_t bad_with(const census *c, int count, int64_t k)
{
    const int64_t level = ref_level(count, k), log_k = ref_log_below((uint64_t)k);
    const int64_t limit = floor_div(level - 52 * LOG + floor_div(3 * log_k, 2), LOG);
    int64_t bad = 0;
    for (int64_t x = 0; x < BINS; x++)
        for (int64_t y = 0; y < BINS; y++)
            if (x + y + 1 > limit)
                bad += c->all[0][x] * c->all[1][y] - c->exact[0][x] * c->exact[1][y];
    return bad;
}

/* The number that costs least: to repair all takes as long as 256 products modulo one number, and an element that is
 * repaired costs as much as 64. */
static int choose_moduli(work *w)
{
    census c;
    int best = 0;
    int64_t least = INT64_MAX;
    take_census(w, &c);
    const int64_t all = c.lines[0] * c.lines[1];
    for (int count = least_moduli(w); count <= MAX_MODULI; count++) {
        const int64_t cost = count * all + 256 * smaller(all, 64 * bad_with(&c, count, w->p->k));
        if (cost < least) best = count;
        least = smaller(least, cost);
    }
    if (least > (MAX_MODULI + 4) * all) best = MAX_MODULI; /* for products to certify nearly all */
    w->by_products = least > (MAX_MODULI + 4) * all || bad_with(&c, best, w->p->k) > 0;
    return best;
}

static int choose(work *w)
{
    const ref_ozaki *ozaki = w->ozaki;
    if (ozaki->parameter) return ozaki->parameter;
    w->by_products = true;
    switch (ozaki->scheme) {
    case REF_RESIDUES:
        return choose_moduli(w);
    case REF_INT8_SLICES:
        return INT8_SLICES;
    case REF_FLOAT_SLICES: {
        const int bits = float_digit_bits(w->p->k);
        return (64 + bits - 1) / bits;
    }
    }
    return 0;
}

/* Fixed-point operands */

static void set_fixed(work *w, side *s)
{
    for (int64_t i = 0; i < s->lines; i++) {
        line *r = &s->line[i];
        if (!is_counted(r)) continue;
        r->scale = w->ozaki->scheme == REF_RESIDUES ? floor_div(w->level - r->norm, LOG)
                                                    : scale_by_peak(w, r);
        for (int64_t l = 0; l < s->k; l++) {
            const double x =
                at(s, i, l); /* no more bits than 53: only rounded in the end, to a whole number */
            const double fixed = rint(scalbn(x, (int)(s->sign * w->shift[l] + r->scale)));
            s->fixed[i * s->k + l] = fixed;
            r->sum += fabs(fixed);
        }
        r->sum *= 1.0 + 0x1p-52 * (double)s->k;
    }
}

/* Balanced digits to base 256, the highest first. */
static void set_digits(const work *w, const side *s, int8_t *digits)
{
    for (int64_t i = 0; i < s->lines; i++)
        for (int64_t l = 0; l < s->k; l++) {
            int exponent;
            const double m = frexp(s->fixed[i * s->k + l], &exponent);
            __int128 x = (__int128)ldexp(m, 53);
            x = exponent >= 53 ? x * ((__int128)1 << (exponent - 53))
                               : x / ((__int128)1 << smaller(53 - exponent, 100));
            for (int slice = w->parameter - 1; slice >= 0; slice--) {
                const int8_t digit = (int8_t)(x & 255);
                digits[(i * w->parameter + slice) * s->k + l] = digit;
                x = (x - digit) >> 8;
            }
            if (x != 0) abort();
        }
}

static bool is_exact(const line *r) { return r->scale + r->low >= 0; }

/* True if X is exact: no line was rounded, and the slices that are left out are zero. */
static bool loses_nothing(const work *w, const line *a, const line *b)
{
    if (a->is_zero || b->is_zero) return true;
    if (!is_exact(a) || !is_exact(b)) return false;
    return w->ozaki->scheme != REF_INT8_SLICES ||
           (a->scale + a->low) / 8 + (b->scale + b->low) / 8 >= w->parameter - 1;
}

/* Products */

/* sum += A' B' 2^e. */
static void add_product(const work *w, int64_t i, int64_t j, int e, fixed *sum)
{
    const int64_t k = w->p->k;
    const double *a = w->side[0].fixed + i * k, *b = w->side[1].fixed + j * k;
    for (int64_t l = 0; l < k; l++)
        if (a[l] != 0.0 && b[l] != 0.0) fixed_add_scaled_product(sum, a[l], b[l], e);
}

/* The same of the slices whose numbers add up to less than there are slices. */
static void add_slices(const work *w, int64_t i, int64_t j, int e, fixed *sum)
{
    const int64_t k = w->p->k;
    const int slices = w->parameter;
    const int8_t *a = w->digits[0] + i * slices * k, *b = w->digits[1] + j * slices * k;
    for (int p = 0; p < slices; p++)
        for (int q = 0; p + q < slices; q++) {
            int64_t part = 0;
            for (int64_t l = 0; l < k; l++) part += a[p * k + l] * b[q * k + l];
            fixed_add_scaled_product(sum, (double)part, 1.0, e + 8 * (2 * (slices - 1) - p - q));
        }
}

/* How far a product of fixed-point lines is from that of the lines, in units of their product: half a unit is lost of
 * each element that was rounded, and some slices are left out. */
static long double units_lost(const work *w, int64_t i, int64_t j)
{
    const line *a = &w->side[0].line[i], *b = &w->side[1].line[j];
    const long double k = (long double)w->p->k;
    if (!is_counted(a) || !is_counted(b)) return 0.0L;
    long double lost = 0.0L;
    if (!is_exact(a)) lost += (long double)b->sum / 2;
    if (!is_exact(b)) lost += (long double)a->sum / 2;
    if (!is_exact(a) && !is_exact(b)) lost += k / 4;
    if (w->ozaki->scheme != REF_INT8_SLICES || loses_nothing(w, a, b)) return lost;
    for (int p = 0; p < w->parameter; p++)
        for (int q = w->parameter - p; q < w->parameter; q++)
            lost += ldexpl(k, 14 + 8 * (2 * (w->parameter - 1) - p - q));
    return lost;
}

static double axpby(double alpha, double x, double beta, const double *c)
{
    return beta == 0.0 ? alpha * x : fma(alpha, x, beta * *c);
}

static double chain(const ref_gemm *p, int64_t i, int64_t j)
{
    double sum = 0.0;
    for (int64_t l = 0; l < p->k; l++)
        sum = fma(p->a[ref_index_a(p->op_a, i, l, p->lda)],
                  p->b[ref_index_b(p->op_b, l, j, p->ldb)], sum);
    return sum;
}

static bool is_certified_by_means(const work *w, int64_t i, int64_t j)
{
    const line *a = &w->side[0].line[i], *b = &w->side[1].line[j];
    const int64_t log_k = ref_log_below((uint64_t)w->p->k), scales = LOG * (a->scale + b->scale);
    const int64_t need = 51 * LOG - floor_div(3 * log_k, 2) + log_of_loss(w, a, b);
    if (loses_nothing(w, a, b)) return true;
    return a->has_mean && b->has_mean && a->mean + b->mean + scales >= need;
}

static bool is_certified(const work *w, int64_t i, int64_t j)
{
    if (w->ozaki->parameter || is_certified_by_means(w, i, j)) return true;
    return w->by_products && w->is_large[i + j * w->p->m];
}

/* Certificates by the largest product */

enum { TILE = 64, LOOK_AFTER = 128, FEW = 4, NOT_SEEN = 1 };

/* The logarithm of an element, in units of 16 / LOG and less that of its line's largest, at most. */
static int64_t log_below_peak(const work *w, const side *s, int64_t i, int64_t l)
{
    const int64_t peak = floor_div(s->line[i].peak, 16);
    if (fabs(at(s, i, l)) < DBL_MIN) return NOT_SEEN;
    const int64_t log = floor_div(log_of(w, s, i, l), 16) - peak;
    return log >= -512 * 16 ? log : NOT_SEEN;
}

/* The least sum of these logarithms that certifies an element; above 0, which none is, there is none. */
static int64_t log_needed(const work *w, int64_t i, int64_t j)
{
    const line *a = &w->side[0].line[i], *b = &w->side[1].line[j];
    const int64_t log_k = ref_log_below((uint64_t)w->p->k), scales = LOG * (a->scale + b->scale);
    const int64_t need = 56 * LOG - floor_div(log_k, 2) + log_of_loss(w, a, b);
    if (a->is_special || b->is_special) return 1;
    return -floor_div(scales - need, 16) - floor_div(a->peak, 16) - floor_div(b->peak, 16);
}

/* Not certified, but a product could be large enough. */
static bool is_open(const work *w, int64_t i, int64_t j)
{
    return log_needed(w, i, j) <= 0 && !is_certified(w, i, j);
}

/* Elements l0 .. of one element's sum. */
static bool has_large_product(const work *w, int64_t i, int64_t j, int64_t l0)
{
    const int64_t needed = log_needed(w, i, j);
    for (int64_t l = l0; l < w->p->k && l < l0 + LOOK_AFTER; l++) {
        const int64_t a = log_below_peak(w, &w->side[0], i, l);
        const int64_t b = log_below_peak(w, &w->side[1], j, l);
        if (a <= 0 && b <= 0 && a + b >= needed) return true;
    }
    return false;
}

/* A tile from (i0, j0) on: until few elements are left that are not certified and could be. */
static void search_tile(const work *w, int64_t i0, int64_t j0)
{
    const int64_t i_end = smaller(i0 + TILE, w->p->m), j_end = smaller(j0 + TILE, w->p->n);
    for (int64_t l0 = 0; l0 < w->p->k; l0 += LOOK_AFTER) {
        int64_t open[TILE * TILE], count = 0;
        for (int64_t j = j0; j < j_end; j++)
            for (int64_t i = i0; i < i_end; i++)
                if (is_open(w, i, j)) open[count++] = i + j * w->p->m;
        if (count <= FEW) return;
        for (int64_t n = 0; n < count; n++)
            w->is_large[open[n]] = has_large_product(w, open[n] % w->p->m, open[n] / w->p->m, l0);
    }
}

/* X 2^-(scales of both lines). */
static void set_sum(const work *w, int64_t i, int64_t j, fixed *sum)
{
    const int e = -(int)(w->side[0].line[i].scale + w->side[1].line[j].scale);
    memset(sum, 0, sizeof *sum);
    if (w->ozaki->scheme == REF_INT8_SLICES)
        add_slices(w, i, j, e, sum);
    else
        add_product(w, i, j, e, sum);
}

/* One element of C; true if it was repaired. */
static bool set_element(const work *w, int64_t i, int64_t j, double *c)
{
    const ref_gemm *p = w->p;
    const line *a = &w->side[0].line[i], *b = &w->side[1].line[j];
    const bool is_finite =
        isfinite(p->alpha) && isfinite(p->beta) && (p->beta == 0.0 || isfinite(*c));
    const bool is_special = a->is_special || b->is_special;
    const bool is_repaired = is_special || !is_certified(w, i, j);
    fixed sum;
    if (is_repaired && (is_special || !is_finite)) {
        *c = axpby(p->alpha, chain(p, i, j), p->beta, c);
    } else if (is_repaired) {
        *c = ref_measure(p, i, j, 0.0).nearest;
    } else {
        set_sum(w, i, j, &sum);
        *c = axpby(p->alpha, (double)fixed_value(&sum), p->beta, c);
    }
    return is_repaired;
}

/* What the account says of an element. */
static void note_element(const work *w, int64_t i, int64_t j, bool is_repaired,
                         ref_account *account)
{
    const line *a = &w->side[0].line[i], *b = &w->side[1].line[j];
    account->repaired += is_repaired;
    account->is_repaired[i + j * w->p->m] = is_repaired;
    account->off[i + j * w->p->m] = ldexpl(units_lost(w, i, j), -(int)(a->scale + b->scale));
}

static side side_of(const double *data, int64_t lines, int64_t k, int64_t ld, bool lines_apart,
                    int sign)
{
    side s = {.data = data, .lines = lines, .k = k, .sign = sign};
    s.line_step = lines_apart ? ld : 1;
    s.k_step = lines_apart ? 1 : ld;
    s.line = allocate(lines, sizeof *s.line);
    s.fixed = allocate(lines * k, sizeof *s.fixed);
    return s;
}

static void prepare(work *w)
{
    const ref_gemm *p = w->p;
    w->side[0] = side_of(p->a, p->m, p->k, p->lda, p->op_a == TANDEM_OP_T, 1);
    w->side[1] = side_of(p->b, p->n, p->k, p->ldb, p->op_b == TANDEM_OP_N, -1);
    w->shift = allocate(p->k, sizeof *w->shift);
    set_lines(w);
    w->parameter = choose(w);
    if (w->ozaki->scheme == REF_RESIDUES) w->level = ref_level(w->parameter, p->k);
    for (int o = 0; o < 2; o++) {
        set_fixed(w, &w->side[o]);
        if (w->ozaki->scheme != REF_INT8_SLICES) continue;
        w->digits[o] = allocate(w->side[o].lines * w->parameter * p->k, 1);
        set_digits(w, &w->side[o], w->digits[o]);
    }
    w->is_large = allocate(p->m * p->n, sizeof *w->is_large);
    for (int64_t j0 = 0; j0 < p->n && w->by_products; j0 += TILE)
        for (int64_t i0 = 0; i0 < p->m; i0 += TILE) search_tile(w, i0, j0);
}

static void clear(work *w)
{
    for (int o = 0; o < 2; o++) {
        free(w->side[o].line);
        free(w->side[o].fixed);
        free(w->digits[o]);
    }
    free(w->is_large);
    free(w->shift);
}

/* C <- beta C. */
static void scale(const ref_gemm *p)
{
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            double *c = p->c + i + j * p->ldc;
            *c = p->beta == 0.0 ? 0.0 : p->beta * *c;
        }
}

void ref_ozaki_product(const ref_ozaki *ozaki, const ref_gemm *p, ref_account *account)
{
    work w = {.ozaki = ozaki, .p = p};
    *account = (ref_account){.is_repaired = allocate(p->m * p->n, sizeof(bool)),
                             .off = allocate(p->m * p->n, sizeof(long double))};
    if (p->m == 0 || p->n == 0 || p->k == 0 || p->alpha == 0.0) {
        scale(p);
        return;
    }
    prepare(&w);
    account->parameter = w.parameter;
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++)
            note_element(&w, i, j, set_element(&w, i, j, p->c + i + j * p->ldc), account);
    clear(&w);
}

void ref_account_free(ref_account *account)
{
    free(account->is_repaired);
    free(account->off);
}

bool ref_ozaki_parse(const char *mode, ref_ozaki *ozaki)
{
    static const struct {
        const char *name;
        ref_ozaki as;
    } names[] = {{"ozaki2", {REF_RESIDUES, 0}},
                 {"ozaki1", {REF_INT8_SLICES, 0}},
                 {"ozaki-sgemm", {REF_FLOAT_SLICES, 0}}};
    const size_t length = strcspn(mode, ":");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) != length || strncmp(names[i].name, mode, length) != 0) continue;
        *ozaki = names[i].as;
        if (mode[length]) ozaki->parameter = atoi(mode + length + 1);
        return true;
    }
    return false;
}

bool ref_product(const char *mode, const ref_gemm *p)
{
    const ref_format *format = ref_find(mode);
    ref_ozaki ozaki;
    ref_account account;
    if (format) {
        format->product(p);
        return true;
    }
    if (ref_is_faithful(mode)) {
        ref_faithful_product(p);
        return true;
    }
    if (!ref_ozaki_parse(mode, &ozaki)) return false;
    ref_ozaki_product(&ozaki, p, &account);
    ref_account_free(&account);
    return true;
}
