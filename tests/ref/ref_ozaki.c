/* ref_ozaki.c - the definition of ozaki2, ozaki1 and ozaki-sgemm: docs/numerics.md. Whole numbers are kept in
 * binary64 where they have no more than 53 significant bits, and their sums in fixed.h's numbers. */
#include "ref_ozaki.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixed.h"
#include "ref_lines.h"

enum { LOG = REF_LOG, MAX_MODULI = REF_MAX_MODULI, LEAST_MODULI = 14, INT8_SLICES = 8 };

/* Tiles of C; elements of one that are worth exact sums; a tile in binary64 takes as long as products modulo so many numbers. */
enum { TILE = 64, FEW = 16, BINARY64_COST = 40 };

/* A product on its way. */
typedef struct {
    const ref_ozaki *ozaki;
    const ref_gemm *p;
    ref_side side[2];
    int parameter;
    bool is_estimated,
        in_binary64; /* abs(A)abs(B) decides; that all of C is to be binary64's sums */
    int *
        needed; /* [column][row]: the least parameter that certifies an element, by the estimate or otherwise */
    bool *is_dense;    /* [column][row]: left, and in a tile of many such elements */
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

/* Errors */

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

/* The whole part of (norm + total) / 2 - mean. */
static int64_t spread_of(const ref_line *r)
{
    if (!r->has_mean) return 1 << 20;
    return larger(0, ref_floor_div(ref_floor_div(r->norm + r->total, 2) - r->mean, LOG));
}

/* The largest of an operand's lines, or of those that the fewest moduli round; less than any if there is none. */
static int64_t largest_spread(const work *w, int which, bool of_rounded)
{
    const int64_t level = ref_level(least_moduli(w), w->p->k);
    int64_t largest = -(1 << 20);
    for (int64_t i = 0; i < w->side[which].lines; i++) {
        const ref_line *r = &w->side[which].line[i];
        if (!ref_is_counted(r)) continue;
        if (of_rounded && ref_floor_div(level - r->norm, LOG) + r->low >= 0) continue;
        largest = larger(largest, spread_of(r));
    }
    return largest;
}

/* True if the lines tell that the fewest moduli do for all elements. */
static bool fewest_do(const work *w)
{
    const int64_t level = ref_level(least_moduli(w), w->p->k),
                  log_k = ref_log_below((uint64_t)w->p->k);
    const int64_t limit = ref_floor_div(level - 52 * LOG + ref_floor_div(3 * log_k, 2), LOG);
    return largest_spread(w, 0, true) + largest_spread(w, 1, false) < limit &&
           largest_spread(w, 0, false) + largest_spread(w, 1, true) < limit;
}

/* Fixed-point operands */

static int64_t scale_of(const work *w, int count, const ref_line *r)
{
    if (!ref_is_counted(r)) return 0;
    return w->ozaki->scheme == REF_RESIDUES
               ? ref_floor_div(ref_level(count, w->p->k) - r->norm, LOG)
               : scale_by_peak(w, r);
}

static void set_fixed(work *w, ref_side *s)
{
    for (int64_t i = 0; i < s->lines; i++) {
        ref_line *r = &s->line[i];
        if (!ref_is_counted(r)) continue;
        r->scale = scale_of(w, w->parameter, r);
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

/* Certificates, with the scales that lines have */

static bool is_certified_by_means(const work *w, const ref_line *a, const ref_line *b)
{
    const int64_t log_k = ref_log_below((uint64_t)w->p->k), scales = LOG * (a->scale + b->scale);
    const int64_t need = 51 * LOG - ref_floor_div(3 * log_k, 2) + log_of_loss(w, a, b);
    if (loses_nothing(w, a, b)) return true;
    return a->has_mean && b->has_mean && a->mean + b->mean + scales >= need;
}

/* Exponent of the unit that a line's magnitudes are counted in. */
static int64_t unit_of(const ref_line *r) { return ref_floor_div(r->typical, LOG) - 4; }

static int64_t magnitude_of(const ref_side *s, int64_t i, int64_t l)
{
    const int64_t exponent = s->sign * s->shift[l] - unit_of(&s->line[i]);
    const double x = fabs(ref_at(s, i, l));
    if (x == 0.0 || ilogb(x) + exponent < 0) return 0;
    return ilogb(x) + exponent >= 7 ? 127 : (int64_t)scalbn(x, (int)exponent);
}

/* Sums over as few parts of k as there can be of at most 2^14 elements, of equal length but for the last. */
static int64_t length_of_sum(int64_t k)
{
    const int64_t sums = (k + 16383) / 16384, length = (k + sums - 1) / sums;
    return (length + 63) / 64 * 64;
}

/* The logarithm of abs(A)abs(B) in units of both lines, at most: each sum is cut off to its four leading bits. False if it is 0. */
static bool estimate(const work *w, int64_t i, int64_t j, int64_t *log)
{
    const int64_t k = w->p->k, length = length_of_sum(k);
    uint64_t eighths = 0;
    for (int64_t first = 0; first < k; first += length) {
        int64_t sum = 0;
        for (int64_t l = first; l < smaller(first + length, k); l++)
            sum += magnitude_of(&w->side[0], i, l) * magnitude_of(&w->side[1], j, l);
        if (sum == 0) continue;
        const int e = ilogb((double)sum);
        eighths += (uint64_t)floor(ldexp((double)sum, 3 - e)) << e;
    }
    if (eighths == 0) return false;
    const int e = ilogb((double)eighths); /* < 2^53 */
    *log = LOG * (e - 3) + (int64_t)floor(LOG * (ldexp((double)eighths, -e) - 1.0));
    return true;
}

static bool is_certified(const work *w, const ref_line *a, const ref_line *b, bool has_estimate,
                         int64_t log)
{
    if (is_certified_by_means(w, a, b)) return true;
    const int64_t log_k = ref_log_below((uint64_t)w->p->k);
    const int64_t terms = 2 * smaller(a->total - a->norm, b->total - b->norm); /* that count */
    const int64_t need =
        larger(51 * LOG - ref_floor_div(log_k, 2), 52 * LOG - terms) + log_of_loss(w, a, b);
    return w->is_estimated && has_estimate &&
           log + LOG * (a->scale + b->scale + unit_of(a) + unit_of(b)) >= need;
}

/* Choice */

/* The least parameter that certifies an element, which special ones do not ask for; or one more than there is. */
static int needed(const work *w, int64_t i, int64_t j, int least, int most)
{
    ref_line a = w->side[0].line[i], b = w->side[1].line[j];
    int64_t log = 0;
    if (a.is_special || b.is_special) return least;
    const bool has_estimate = w->is_estimated && estimate(w, i, j, &log);
    for (int count = least; count <= most; count++) {
        a.scale = scale_of(w, count, &a);
        b.scale = scale_of(w, count, &b);
        if (is_certified(w, &a, &b, has_estimate, log)) return count;
    }
    return most + 1;
}

static void set_needed(work *w, int least, int most)
{
    for (int64_t j = 0; j < w->p->n; j++)
        for (int64_t i = 0; i < w->p->m; i++)
            w->needed[i + j * w->p->m] = needed(w, i, j, least, most);
}

/* Elements that so many moduli leave open, at most FEW of each tile. */
static int64_t count_open(const work *w, int count)
{
    const int64_t m = w->p->m, n = w->p->n;
    int64_t all = 0;
    for (int64_t j0 = 0; j0 < n; j0 += TILE)
        for (int64_t i0 = 0; i0 < m; i0 += TILE) {
            int64_t open = 0;
            for (int64_t j = j0; j < smaller(j0 + TILE, n); j++)
                for (int64_t i = i0; i < smaller(i0 + TILE, m); i++)
                    open += w->needed[i + j * m] > count;
            all += smaller(open, FEW);
        }
    return all;
}

/* The number that costs least. */
static int choose_moduli(work *w)
{
    const int64_t tiles = (w->p->m + TILE - 1) / TILE * ((w->p->n + TILE - 1) / TILE);
    int64_t least = tiles * FEW * BINARY64_COST;
    int best = 0;
    w->is_estimated = !fewest_do(w);
    set_needed(w, least_moduli(w), w->is_estimated ? MAX_MODULI : least_moduli(w));
    if (!w->is_estimated) return least_moduli(w);
    for (int count = least_moduli(w); count <= MAX_MODULI; count++) {
        const int64_t cost = tiles * FEW * count + count_open(w, count) * BINARY64_COST;
        if (cost >= least) continue;
        least = cost;
        best = count;
    }
    w->in_binary64 = best == 0;
    return best;
}

static int choose_slices(const work *w)
{
    const int bits = float_digit_bits(w->p->k);
    return w->ozaki->scheme == REF_INT8_SLICES ? INT8_SLICES : (64 + bits - 1) / bits;
}

static void choose(work *w)
{
    w->parameter = w->ozaki->parameter;
    if (w->parameter) return;
    if (w->ozaki->scheme == REF_RESIDUES) {
        w->parameter = choose_moduli(w);
        return;
    }
    w->parameter = choose_slices(w);
    w->is_estimated = true;
    set_needed(w, w->parameter, w->parameter);
}

/* What is left */

static bool is_special(const work *w, int64_t i, int64_t j)
{
    return w->side[0].line[i].is_special || w->side[1].line[j].is_special;
}

static bool is_left(const work *w, int64_t i, int64_t j)
{
    if (is_special(w, i, j)) return true;
    return !w->ozaki->parameter && w->needed[i + j * w->p->m] > w->parameter;
}

/* The exponent that a line's elements are given more in binary64, and whether all products of two lines have room there. */
static int64_t raised_by(const ref_line *r)
{
    return ref_is_counted(r) ? 490 - ref_floor_div(r->peak, LOG) : 0;
}

static bool fits_binary64(const ref_line *a, const ref_line *b)
{
    if (!ref_is_counted(a) || !ref_is_counted(b)) return true;
    const int64_t low_a = a->low + raised_by(a), low_b = b->low + raised_by(b);
    return smaller(smaller(low_a, low_b), low_a + low_b) >= -1074;
}

/* A tile is dense if more than FEW elements of it are left, and binary64 has room for all. */
static void set_dense_tile(const work *w, int64_t i0, int64_t j0)
{
    const int64_t m = w->p->m, i_end = smaller(i0 + TILE, m), j_end = smaller(j0 + TILE, w->p->n);
    int64_t count = 0;
    bool fits = true;
    for (int64_t j = j0; j < j_end; j++)
        for (int64_t i = i0; i < i_end; i++) {
            if (!is_left(w, i, j)) continue;
            count++;
            fits = fits && fits_binary64(&w->side[0].line[i], &w->side[1].line[j]);
        }
    for (int64_t j = j0; j < j_end; j++)
        for (int64_t i = i0; i < i_end; i++)
            w->is_dense[i + j * m] = count > FEW && fits && is_left(w, i, j);
}

/* Sums of blocks of products, the power of two nearest to sqrt(k) and at least 8 in each, added up in order. */
static double binary64_sum(const work *w, int64_t i, int64_t j)
{
    const ref_side *a = &w->side[0], *b = &w->side[1];
    const int64_t raise_a = raised_by(&a->line[i]), raise_b = raised_by(&b->line[j]);
    double total = 0.0;
    const int64_t block = ref_binary64_block(w->p->k);
    for (int64_t first = 0; first < w->p->k; first += block) {
        double sum = 0.0;
        for (int64_t l = first; l < smaller(first + block, w->p->k); l++)
            sum = fma(scalbn(ref_at(a, i, l), (int)(raise_a + a->shift[l])),
                      scalbn(ref_at(b, j, l), (int)(raise_b - a->shift[l])), sum);
        total += sum;
    }
    return scalbn(total, (int)-(raise_a + raise_b));
}

/* Sums of X */

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
    fixed sum;
    if (is_left(w, i, j)) {
        if (w->is_dense[i + j * p->m] && !is_special(w, i, j))
            *c = axpby(p->alpha, binary64_sum(w, i, j), p->beta, c);
        else
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
    account->in_binary64[i + j * w->p->m] =
        is_repaired && w->is_dense[i + j * w->p->m] && !is_special(w, i, j);
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
    w->needed = ref_allocate(p->m * p->n, sizeof *w->needed);
    w->is_dense = ref_allocate(p->m * p->n, sizeof *w->is_dense);
    choose(w);
    for (int64_t j0 = 0; j0 < p->n && w->ozaki->scheme == REF_RESIDUES; j0 += TILE)
        for (int64_t i0 = 0; i0 < p->m; i0 += TILE) set_dense_tile(w, i0, j0);
    if (w->in_binary64) return;
    for (int o = 0; o < 2; o++) {
        set_fixed(w, &w->side[o]);
        if (w->ozaki->scheme != REF_INT8_SLICES) continue;
        w->digits[o] = ref_allocate(w->side[o].lines * w->parameter * p->k, 1);
        set_digits(w, &w->side[o], w->digits[o]);
    }
}

static void clear(work *w)
{
    for (int o = 0; o < 2; o++) {
        free(w->side[o].line);
        free(w->side[o].fixed);
        free(w->digits[o]);
    }
    free(w->needed);
    free(w->is_dense);
    free(w->side[0].shift);
}

void ref_ozaki_product(const ref_ozaki *ozaki, const ref_gemm *p, ref_account *account)
{
    work w = {.ozaki = ozaki, .p = p};
    *account = (ref_account){.is_repaired = ref_allocate(p->m * p->n, sizeof(bool)),
                             .in_binary64 = ref_allocate(p->m * p->n, sizeof(bool)),
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
    free(account->in_binary64);
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
