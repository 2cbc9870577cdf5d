/* ref_lines.c - lines of operands as the Ozaki family measures them: docs/numerics.md. */
#include "ref_lines.h"

#include <math.h>
#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

enum { LOG = REF_LOG, UNIT = 64, MAX_MODULI = REF_MAX_MODULI, NO_LOW = 0x7fff };

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

void *ref_allocate(int64_t count, size_t bytes)
{
    void *p = calloc((size_t)count + 1, bytes);
    if (!p) abort();
    return p;
}

int64_t ref_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

double ref_at(const ref_side *s, int64_t i, int64_t l)
{
    return s->data[i * s->line_step + l * s->k_step];
}

/* True if element l of line i takes part: it is neither 0 nor special. */
static bool counts(const ref_side *s, int64_t i, int64_t l)
{
    const double x = ref_at(s, i, l);
    return isfinite(x) && x != 0.0;
}

/* Logarithms */

int64_t ref_log_below(uint64_t x)
{
    int64_t log = 63;
    for (; !(x >> 63); x *= 2) log--;
    /* The 32 leading bits are squared eight times, each time cut off after 32 again: a carry is a
     * bit of the logarithm. */
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

static const unsigned moduli[2][MAX_MODULI] = {{256, 255, 253, 251, 247, 241, 239, 233, 229, 227,
                                                223, 217, 211, 199, 197, 193, 191, 181, 179, 173},
                                               {241, 233, 229, 221, 205, 197, 193, 181, 173, 157,
                                                149, 137, 113, 109, 101, 97,  89,  73,  61,  53}};

/* floor(256 ((log2(P - 1) - 1) / 2 - 2^-16)) - 1. */
static int64_t level_of_many(bool is_complex, int count)
{
    mpfr_t x;
    mpfr_init2(x, 400);
    mpfr_set_ui(x, 1, MPFR_RNDN);
    for (int t = 0; t < count; t++) mpfr_mul_ui(x, x, moduli[is_complex][t], MPFR_RNDN);
    mpfr_sub_ui(x, x, 1, MPFR_RNDN);
    mpfr_log2(x, x, MPFR_RNDN);
    mpfr_sub_ui(x, x, 1, MPFR_RNDN);
    mpfr_mul_ui(x, x, LOG / 2, MPFR_RNDN);
    mpfr_sub_d(x, x, LOG * 0x1p-16, MPFR_RNDN);
    const int64_t level = mpfr_get_si(x, MPFR_RNDD) - 1;
    mpfr_clear(x);
    return level;
}

/* Of floor(sqrt(P / 2 (1 - 2^-16))) less half the square root of k, which rounding may add to a
 * norm. */
static int64_t level_of_few(bool is_complex, int count, int64_t k)
{
    typedef unsigned __int128 wide;
    wide product = 65535;
    for (int t = 0; t < count; t++) product *= moduli[is_complex][t];
    int64_t root = 0, half = 0;
    for (int64_t step = INT64_C(1) << 32; step; step /= 2)
        if ((wide)(root + step) * (wide)(root + step) << 17 <= product) root += step;
    while (4 * half * half < k) half++;
    return root - half >= 1 ? ref_log_below((uint64_t)(root - half)) : -LOG;
}

/* Every line asks for some of these. */
int64_t ref_level(bool is_complex, int count, int64_t k)
{
    static _Thread_local int64_t of_many[2][MAX_MODULI + 1]; /* none of them is 0 */
    int64_t *const known = &of_many[is_complex][count];
    if (count < 8) return level_of_few(is_complex, count, k);
    if (!*known) *known = level_of_many(is_complex, count);
    return *known;
}

/* Inner scaling */

/* The largest exponent of any line's element l; false if all are 0. */
static bool top_of(const ref_side *s, int64_t l, int64_t *top)
{
    bool is_any = false;
    for (int64_t i = 0; i < s->lines; i++) {
        if (!counts(s, i, l)) continue;
        const int64_t e = ilogb(ref_at(s, i, l));
        if (!is_any || e > *top) *top = e;
        is_any = true;
    }
    return is_any;
}

/* The top of element l and, if it is a part of a number, of its other part. */
static bool top_of_number(const ref_side *s, int64_t l, bool has_parts, int64_t *top)
{
    int64_t other = 0;
    const bool is_any = top_of(s, l, top), is_other = has_parts && top_of(s, l ^ 1, &other);
    if (is_other) *top = is_any ? larger(*top, other) : other;
    return is_any || is_other;
}

/* True if some are not 0. */
static bool set_shifts(ref_side *side, bool has_parts)
{
    int64_t *shift = side[0].shift;
    int64_t most = INT64_MIN, least = INT64_MAX;
    for (int64_t l = 0; l < side->k; l++) {
        int64_t a = 0, b = 0;
        if (!top_of_number(&side[0], l, has_parts, &a) ||
            !top_of_number(&side[1], l, has_parts, &b))
            continue;
        shift[l] = ref_floor_div(b - a, 2);
        most = larger(most, b - a);
        least = smaller(least, b - a);
    }
    const bool is_needed = most > INT64_MIN && most - least > 16;
    for (int64_t l = 0; l < side->k && !is_needed; l++) shift[l] = 0;
    return is_needed;
}

/* Lines */

/* x 2^shift is m 2^(e + shift), 1 <= m < 2. */
static double significand_of(double x)
{
    int exponent;
    return 2.0 * fabs(frexp(x, &exponent));
}

static int64_t exponent_of(const ref_side *s, int64_t i, int64_t l)
{
    return ilogb(ref_at(s, i, l)) + s->sign * s->shift[l];
}

/* Its logarithm, at most; exact for powers of two. */
static int64_t log_of(const ref_side *s, int64_t i, int64_t l)
{
    return LOG * exponent_of(s, i, l) +
           (int64_t)floor(LOG * (significand_of(ref_at(s, i, l)) - 1.0));
}

/* The exponent of the lowest bit that is set. */
static int64_t low_of(const ref_side *s, int64_t i, int64_t l)
{
    double m = significand_of(ref_at(s, i, l));
    int64_t low = exponent_of(s, i, l);
    for (; m != floor(m); m *= 2.0) low--;
    return low;
}

/* Elements l .. of one unit: the largest exponent, and the sum of the squares of |x| 2^(11 - top),
 * each rounded up. False if all are 0. */
static bool measure_unit(const ref_side *s, int64_t i, int64_t first, int64_t *top,
                         uint64_t *magnitudes, uint64_t *squares)
{
    const int64_t end = smaller(first + UNIT, s->k);
    bool is_any = false;
    *magnitudes = *squares = 0;
    for (int64_t l = first; l < end; l++) {
        if (!counts(s, i, l)) continue;
        const int64_t e = exponent_of(s, i, l);
        if (!is_any || e > *top) *top = e;
        is_any = true;
    }
    for (int64_t l = first; l < end; l++) {
        if (!counts(s, i, l)) continue;
        const int64_t down = *top - exponent_of(s, i, l);
        const double q =
            down > 11 ? 1.0 : ceil(significand_of(ref_at(s, i, l)) * (1 << (11 - down)));
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

static void set_norms(const ref_side *s, int64_t i, ref_line *r)
{
    int64_t top = INT64_MIN, unit_top;
    uint64_t magnitudes, squares, sum = 0, sum_of_squares = 0;
    for (int64_t l = 0; l < s->k; l += UNIT)
        if (measure_unit(s, i, l, &unit_top, &magnitudes, &squares)) top = larger(top, unit_top);
    for (int64_t l = 0; l < s->k; l += UNIT) {
        if (!measure_unit(s, i, l, &unit_top, &magnitudes, &squares)) continue;
        sum += shift_up(magnitudes, top - unit_top);
        sum_of_squares += shift_up(squares, 2 * (top - unit_top));
    }
    r->norm = LOG * (top - 11) + ref_floor_div(ref_log_above(sum_of_squares) + 1, 2);
    r->total = LOG * (top - 11) + ref_log_above(sum);
}

static ref_line measure(const ref_side *s, int64_t i)
{
    ref_line r = {.is_zero = true, .has_mean = true, .low = NO_LOW};
    int64_t logs = 0, count = 0;
    for (int64_t l = 0; l < s->k; l++) {
        if (!isfinite(ref_at(s, i, l))) return (ref_line){.is_special = true, .low = NO_LOW};
        if (ref_at(s, i, l) == 0.0) {
            r.has_mean = false;
            continue;
        }
        const int64_t log = log_of(s, i, l);
        logs += log;
        count++;
        r.peak = r.is_zero ? log : larger(r.peak, log);
        r.low = smaller(r.low, low_of(s, i, l));
        r.is_zero = false;
    }
    if (r.is_zero) return r;
    if (r.has_mean) r.mean = ref_floor_div(logs, s->k);
    set_norms(s, i, &r);
    r.typical = r.total - ref_log_above((uint64_t)count);
    return r;
}

bool ref_is_counted(const ref_line *r) { return !r->is_zero && !r->is_special; }

bool ref_is_narrow(const ref_line *r)
{
    return r->is_zero || (!r->is_special && ref_floor_div(r->peak, REF_LOG) - r->low + 1 <= 112);
}

static void measure_lines(ref_side *side)
{
    for (int o = 0; o < 2; o++)
        for (int64_t i = 0; i < side[o].lines; i++) side[o].line[i] = measure(&side[o], i);
}

/* The mean of (norm + total) / 2 over an operand's lines less what it was before, rounded down. */
static int64_t mean_rise(const ref_side *s, const ref_line *before)
{
    int64_t rise = 0, count = 0;
    for (int64_t i = 0; i < s->lines; i++) {
        if (!ref_is_counted(&s->line[i])) continue;
        rise += ref_floor_div(s->line[i].norm + s->line[i].total, 2) -
                ref_floor_div(before[i].norm + before[i].total, 2);
        count++;
    }
    return count ? ref_floor_div(rise, count) : 0;
}

void ref_set_lines(ref_side *side, bool has_parts, bool may_shift)
{
    ref_line *before[2];
    int64_t rise = 0;
    measure_lines(side);
    if (!may_shift || !set_shifts(side, has_parts)) return;
    for (int o = 0; o < 2; o++) {
        before[o] = side[o].line;
        side[o].line = ref_allocate(side[o].lines, sizeof(ref_line));
    }
    measure_lines(side);
    for (int o = 0; o < 2; o++) rise += mean_rise(&side[o], before[o]);
    if (rise >= 0) memset(side->shift, 0, (size_t)side->k * sizeof *side->shift);
    for (int o = 0; o < 2; o++) {
        ref_line *const shifted = side[o].line;
        side[o].line = rise < 0 ? shifted : before[o];
        free(rise < 0 ? before[o] : shifted);
    }
}
