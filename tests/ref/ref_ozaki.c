/* ref_ozaki.c - the definition of ozaki2, ozaki1 and ozaki-sgemm: docs/numerics.md. Whole numbers are kept in
 * binary64 where they have no more than 53 significant bits, and their sums in fixed.h's numbers. */
#include "ref_ozaki.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixed.h"
#include "ref_lines.h"

enum { LOG = REF_LOG, MAX_MODULI = REF_MAX_MODULI, LEAST_MODULI = 14, INT8_SLICES = 8, BINS = 64 };

/* A product on its way. */
typedef struct {
    const ref_ozaki *ozaki;
    const ref_gemm *p;
    ref_side side[2];
    int parameter;
    int64_t level;
    bool by_products;  /* what the means of lines do not certify, the largest product may: */
    bool *is_large;    /* [column][row]: that it does */
    int8_t *digits[2]; /* [line][slice][k], of int8 slices */
} work;

/* Fewest moduli if the data decide. */
static int least_moduli(const work *w)
{
    return w->p->m * w->p->n <= 1 << 22 && w->p->k > 2048 ? LEAST_MODULI + 1 : LEAST_MODULI;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

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
static int64_t scale_by_peak(const work *w, const ref_line *r)
{
    const int64_t e = ref_floor_div(r->peak, LOG);
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
static int64_t log_of_loss(const work *w, const ref_line *a, const ref_line *b)
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
            const ref_line *r = &w->side[o].line[i];
            if (!ref_is_counted(r)) continue;
            const int64_t bin =
                r->has_mean
                    ? smaller(BINS - 1,
                              larger(0, ref_floor_div(
                                            ref_floor_div(r->norm + r->total, 2) - r->mean, LOG)))
                    : BINS - 1;
            c->lines[o]++;
            c->all[o][bin]++;
            c->exact[o][bin] += ref_floor_div(level - r->norm, LOG) + r->low >= 0;
        }
}

/* Elements that may have to be repaired with so many moduli. */
static int64_t bad_with(const census *c, int count, int64_t k)
{
    const int64_t level = ref_level(count, k), log_k = ref_log_below((uint64_t)k);
    const int64_t limit = ref_floor_div(level - 52 * LOG + ref_floor_div(3 * log_k, 2), LOG);
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

static void set_fixed(work *w, ref_side *s)
{
    for (int64_t i = 0; i < s->lines; i++) {
        ref_line *r = &s->line[i];
        if (!ref_is_counted(r)) continue;
        r->scale = w->ozaki->scheme == REF_RESIDUES ? ref_floor_div(w->level - r->norm, LOG)
                                                    : scale_by_peak(w, r);
        for (int64_t l = 0; l < s->k; l++) {
            const double x = ref_at(
                s, i, l); /* no more bits than 53: only rounded in the end, to a whole number */
            const double fixed = rint(scalbn(x, (int)(s->sign * s->shift[l] + r->scale)));
            s->fixed[i * s->k + l] = fixed;
            r->sum += fabs(fixed);
        }
        r->sum *= 1.0 + 0x1p-52 * (double)s->k;
    }
}

/* Balanced digits to base 256, the highest first. */
static void set_digits(const work *w, const ref_side *s, int8_t *digits)
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

static bool is_exact(const ref_line *r) { return r->scale + r->low >= 0; }

/* True if X is exact: no line was rounded, and the slices that are left out are zero. */
static bool loses_nothing(const work *w, const ref_line *a, const ref_line *b)
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
    const ref_line *a = &w->side[0].line[i], *b = &w->side[1].line[j];
    const long double k = (long double)w->p->k;
    if (!ref_is_counted(a) || !ref_is_counted(b)) return 0.0L;
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

static bool is_certified_by_means(const work *w, int64_t i, int64_t j)
{
    const ref_line *a = &w->side[0].line[i], *b = &w->side[1].line[j];
    const int64_t log_k = ref_log_below((uint64_t)w->p->k), scales = LOG * (a->scale + b->scale);
    const int64_t need = 51 * LOG - ref_floor_div(3 * log_k, 2) + log_of_loss(w, a, b);
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
static int64_t log_below_peak(const ref_side *s, int64_t i, int64_t l)
{
    const int64_t peak = ref_floor_div(s->line[i].peak, 16);
    if (fabs(ref_at(s, i, l)) < DBL_MIN) return NOT_SEEN;
    const int64_t log = ref_floor_div(ref_log_of(s, i, l), 16) - peak;
    return log >= -512 * 16 ? log : NOT_SEEN;
}

/* The least sum of these logarithms that certifies an element; above 0, which none is, there is none. */
static int64_t log_needed(const work *w, int64_t i, int64_t j)
{
    const ref_line *a = &w->side[0].line[i], *b = &w->side[1].line[j];
    const int64_t log_k = ref_log_below((uint64_t)w->p->k), scales = LOG * (a->scale + b->scale);
    const int64_t need = 56 * LOG - ref_floor_div(log_k, 2) + log_of_loss(w, a, b);
    if (a->is_special || b->is_special) return 1;
    return -ref_floor_div(scales - need, 16) - ref_floor_div(a->peak, 16) -
           ref_floor_div(b->peak, 16);
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
        const int64_t a = log_below_peak(&w->side[0], i, l);
        const int64_t b = log_below_peak(&w->side[1], j, l);
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
    const bool is_special = w->side[0].line[i].is_special || w->side[1].line[j].is_special;
    fixed sum;
    if (is_special || !is_certified(w, i, j)) {
        ref_faithful_element(p, i, j);
        return true;
    }
    set_sum(w, i, j, &sum);
    *c = axpby(p->alpha, (double)fixed_value(&sum), p->beta, c);
    return false;
}

/* What the account says of an element. */
static void note_element(const work *w, int64_t i, int64_t j, bool is_repaired,
                         ref_account *account)
{
    const ref_line *a = &w->side[0].line[i], *b = &w->side[1].line[j];
    account->repaired += is_repaired;
    account->is_repaired[i + j * w->p->m] = is_repaired;
    account->off[i + j * w->p->m] = ldexpl(units_lost(w, i, j), -(int)(a->scale + b->scale));
}

static ref_side side_of(const double *data, int64_t lines, int64_t k, int64_t ld, bool lines_apart,
                        int sign)
{
    ref_side s = {.data = data, .lines = lines, .k = k, .sign = sign};
    s.line_step = lines_apart ? ld : 1;
    s.k_step = lines_apart ? 1 : ld;
    s.line = ref_allocate(lines, sizeof *s.line);
    s.fixed = ref_allocate(lines * k, sizeof *s.fixed);
    return s;
}

static void prepare(work *w)
{
    const ref_gemm *p = w->p;
    w->side[0] = side_of(p->a, p->m, p->k, p->lda, p->op_a == TANDEM_OP_T, 1);
    w->side[1] = side_of(p->b, p->n, p->k, p->ldb, p->op_b == TANDEM_OP_N, -1);
    w->side[0].shift = w->side[1].shift = ref_allocate(p->k, sizeof *w->side[0].shift);
    ref_set_lines(w->side);
    w->parameter = choose(w);
    if (w->ozaki->scheme == REF_RESIDUES) w->level = ref_level(w->parameter, p->k);
    for (int o = 0; o < 2; o++) {
        set_fixed(w, &w->side[o]);
        if (w->ozaki->scheme != REF_INT8_SLICES) continue;
        w->digits[o] = ref_allocate(w->side[o].lines * w->parameter * p->k, 1);
        set_digits(w, &w->side[o], w->digits[o]);
    }
    w->is_large = ref_allocate(p->m * p->n, sizeof *w->is_large);
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
    free(w->side[0].shift);
}

void ref_ozaki_product(const ref_ozaki *ozaki, const ref_gemm *p, ref_account *account)
{
    work w = {.ozaki = ozaki, .p = p};
    *account = (ref_account){.is_repaired = ref_allocate(p->m * p->n, sizeof(bool)),
                             .off = ref_allocate(p->m * p->n, sizeof(long double))};
    if (p->m == 0 || p->n == 0 || p->k == 0 || p->alpha == 0.0) {
        ref_scale(p);
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
