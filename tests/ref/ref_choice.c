/* ref_choice.c - how many moduli or slices a product takes, and which elements they certify. */
#include "ref_choice.h"

#include <math.h>

enum { LOG = REF_LOG, MAX_MODULI = REF_MAX_MODULI, LEAST_MODULI = 14, INT8_SLICES = 8 };
enum { FEWEST_MODULI = 2 }; /* of products whose lines are not rounded */

enum { TILE = REF_TILE, FEW = REF_FEW };

/* Blocks that are passed over if they are zeros: so many lines and elements of k. */
enum { GROUP = 64, STAGE = 128 };

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Fewest moduli if the data decide. */
static int least_moduli(const ref_work *w)
{
    const bool is_small_and_long = w->p->m * w->p->n <= 1 << 22 && w->p->k > 2048;
    return LEAST_MODULI + w->ozaki->is_complex + is_small_and_long;
}

/* A tile in binary64 takes as long as products modulo so many numbers, of which complex products
 * take half the time. */
static int binary64_cost(const ref_work *w) { return w->ozaki->is_complex ? 48 : 24; }

static int64_t tiles_of(const ref_work *w)
{
    return (w->p->m + TILE - 1) / TILE * ((w->p->n + TILE - 1) / TILE);
}

/* True if residues take too long beside all of C in binary64: where C is thin, but for products of
 * few terms, and those of fewer than 64 tiles. */
static bool is_too_thin(const ref_work *w)
{
    const int64_t m = w->p->m, n = w->p->n, k = w->p->k,
                  share = w->ozaki->is_complex ? 100 * 1024 / (m / 2) + 100 * 1024 / n
                                               : 200 * 1024 / m + 200 * 1024 / n;
    return m * n * k >= 1 << 24 && tiles_of(w) >= 64 && share >= 1024;
}

/* True if an estimate takes too long beside all of C in binary64: where C or k is small, but for
 * products of few terms, and those of up to 96 tiles and many terms. */
static bool is_too_small(const ref_work *w)
{
    const int64_t m = w->p->m, n = w->p->n, k = w->p->k,
                  share = w->ozaki->is_complex
                              ? 525 * 1024 / (m / 2) + 525 * 1024 / n + 350 * 1024 / (k / 2)
                              : 660 * 1024 / m + 660 * 1024 / n + 440 * 1024 / k;
    return m * n * k >= 1 << 24 && (tiles_of(w) > 96 || k <= 2048) && share >= 1024;
}

bool ref_is_estimated_by_sizes(const ref_work *w)
{
    const bool data_decide = w->ozaki->scheme == REF_RESIDUES && !w->ozaki->parameter;
    return !data_decide || (!is_too_thin(w) && !is_too_small(w));
}

/* Slices */

/* Bits of a digit of binary32 slices: products of so many over 4096 elements of k are exact in
 * binary32. */
static int float_digit_bits(int64_t k)
{
    const int64_t terms = smaller(larger(k, 2), 4096);
    int log = 0;
    while (INT64_C(1) << log < terms) log++;
    return (24 - log) / 2 + 1;
}

/* The largest parameter for the exponent of a line's fixed-point elements, by its peak. */
static int64_t scale_by_peak(const ref_work *w, const ref_line *r)
{
    const int64_t e = ref_floor_div(r->peak, LOG);
    if (w->ozaki->scheme == REF_FLOAT_SLICES)
        return w->parameter * float_digit_bits(w->p->k) - 2 - e;
    return 8 * w->parameter - 2 - e - (r->peak - LOG * e >= 253);
}

/* Scales */

int64_t ref_scale_of(const ref_work *w, int count, const ref_line *r)
{
    if (!ref_is_counted(r)) return 0;
    return w->ozaki->scheme == REF_RESIDUES
               ? ref_floor_div(ref_level(w->ozaki->is_complex, count, w->p->k) - r->norm, LOG)
               : scale_by_peak(w, r);
}

bool ref_is_exact_line(const ref_line *r) { return r->scale + r->low >= 0; }

/* True if X is exact: no line was rounded, and the slices that are left out are zero. */
bool ref_loses_nothing(const ref_work *w, const ref_line *a, const ref_line *b)
{
    if (a->is_zero || b->is_zero) return true;
    if (!ref_is_exact_line(a) || !ref_is_exact_line(b)) return false;
    return w->ozaki->scheme != REF_INT8_SLICES ||
           (a->scale + a->low) / 8 + (b->scale + b->low) / 8 >= w->parameter - 1;
}

/* Errors */

/* Logarithm of what X may be off, at least, beside half the sums of magnitudes of both lines. */
static int64_t log_of_rest(const ref_work *w)
{
    const int64_t log_k = ref_log_above((uint64_t)w->p->k);
    if (w->ozaki->scheme != REF_INT8_SLICES) return log_k - 2 * LOG;
    return log_k + LOG * (8 * w->parameter - 10) +
           ref_log_above((uint64_t)(1 + 257 * (w->parameter - 1)));
}

/* Logarithm of what X may be off, at least. */
static int64_t log_of_loss(const ref_work *w, const ref_line *a, const ref_line *b)
{
    const int64_t rounding = larger(a->total + LOG * a->scale, b->total + LOG * b->scale);
    const int64_t rest = log_of_rest(w), apart = larger(rounding - rest, rest - rounding);
    return larger(rounding, rest) + (apart >= 8 * LOG ? 2 : LOG);
}

/* Lines */

/* (norm + total) / 2 - mean. */
static int64_t spread_of(const ref_line *r)
{
    if (!r->has_mean) return 1 << 20;
    return larger(0, ref_floor_div(r->norm + r->total, 2) - r->mean);
}

/* The largest of an operand's lines, or of those that the fewest moduli round; less than any if
 * there is none. */
static int64_t largest_spread(const ref_work *w, int which, bool of_rounded)
{
    const int64_t level = ref_level(w->ozaki->is_complex, least_moduli(w), w->p->k);
    int64_t largest = -(1 << 20);
    for (int64_t i = 0; i < w->side[which].lines; i++) {
        const ref_line *r = &w->side[which].line[i];
        if (!ref_is_counted(r)) continue;
        if (of_rounded && ref_floor_div(level - r->norm, LOG) + r->low >= 0) continue;
        largest = larger(largest, spread_of(r));
    }
    return largest;
}

/* The fewest moduli of which the lines tell that they do for all elements, if that costs no more
 * than the estimate: one or two more than the fewest at all, where there may be one. Else 0. */
static int moduli_by_lines(const ref_work *w)
{
    const int64_t k = w->p->k, log_k = ref_log_below((uint64_t)k);
    const int64_t spread = larger(largest_spread(w, 0, true) + largest_spread(w, 1, false),
                                  largest_spread(w, 0, false) + largest_spread(w, 1, true));
    const int least = least_moduli(w), more = !ref_is_estimated_by_sizes(w) ? 0 : k <= 2048 ? 2 : 1;
    for (int count = least; !is_too_thin(w) && count <= least + more; count++)
        if (spread <
            ref_level(w->ozaki->is_complex, count, k) - 52 * LOG + ref_floor_div(3 * log_k, 2))
            return count;
    return 0;
}

/* True if so many moduli round no line. */
static bool rounds_nothing(const ref_work *w, int count)
{
    for (int o = 0; o < 2; o++)
        for (int64_t i = 0; i < w->side[o].lines; i++) {
            const ref_line *r = &w->side[o].line[i];
            if (ref_is_counted(r) && ref_scale_of(w, count, r) + r->low < 0) return false;
        }
    return true;
}

/* Where so many moduli round no line, the fewest that do not: X is the same. */
static int without_more(const ref_work *w, int count)
{
    for (int fewer = FEWEST_MODULI; fewer < count; fewer++)
        if (rounds_nothing(w, fewer)) return fewer;
    return count;
}

/* Certificates, with the scales that lines have */

static bool is_certified_by_means(const ref_work *w, const ref_line *a, const ref_line *b)
{
    const int64_t log_k = ref_log_below((uint64_t)w->p->k), scales = LOG * (a->scale + b->scale);
    const int64_t need = 51 * LOG - ref_floor_div(3 * log_k, 2) + log_of_loss(w, a, b);
    if (ref_loses_nothing(w, a, b)) return true;
    return a->has_mean && b->has_mean && a->mean + b->mean + scales >= need;
}

/* Exponent of the unit that a line's magnitudes are counted in. */
static int64_t unit_of(const ref_line *r) { return ref_floor_div(r->typical, LOG) - 4; }

static int8_t magnitude_of(const ref_side *s, int64_t i, int64_t l)
{
    const int64_t exponent = s->sign * s->shift[l] - unit_of(&s->line[i]);
    const double x = fabs(ref_at(s, i, l));
    if (x == 0.0 || ilogb(x) + exponent < 0) return 0;
    return ilogb(x) + exponent >= 7 ? 127 : (int8_t)scalbn(x, (int)exponent);
}

static void set_magnitudes(ref_work *w)
{
    for (int o = 0; o < 2; o++) {
        const ref_side *s = &w->side[o];
        w->magnitude[o] = ref_allocate(s->lines * s->k, 1);
        for (int64_t i = 0; i < s->lines; i++)
            for (int64_t l = 0; l < s->k && ref_is_counted(&s->line[i]); l++)
                w->magnitude[o][i * s->k + l] = magnitude_of(s, i, l);
    }
}

/* Sums over as few parts of k as there can be of at most 2^14 elements, of equal length but for the
 * last. */
static int64_t length_of_sum(int64_t k)
{
    const int64_t sums = (k + 16383) / 16384, length = (k + sums - 1) / sums;
    return (length + 63) / 64 * 64;
}

/* The logarithm of abs(A)abs(B) in units of both lines, at most: each sum is cut off to its four
 * leading bits. False if it is 0. */
static bool estimate(const ref_work *w, int64_t i, int64_t j, int64_t *log)
{
    const int64_t k = w->p->k, length = length_of_sum(k);
    const int8_t *const a = w->magnitude[0] + i * k, *const b = w->magnitude[1] + j * k;
    uint64_t eighths = 0;
    for (int64_t first = 0; first < k; first += length) {
        int sum = 0; /* of at most 2^14 products below 2^14 */
        for (int64_t l = first; l < smaller(first + length, k); l++) sum += a[l] * b[l];
        if (sum == 0) continue;
        const int e = ilogb((double)sum);
        eighths += (uint64_t)floor(ldexp((double)sum, 3 - e)) << e;
    }
    if (eighths == 0) return false;
    const int e = ilogb((double)eighths); /* < 2^53 */
    *log = LOG * (e - 3) + (int64_t)floor(LOG * (ldexp((double)eighths, -e) - 1.0));
    return true;
}

static bool is_certified(const ref_work *w, const ref_line *a, const ref_line *b, bool has_estimate,
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

/* Blocks */

/* True if any number of these lines and elements of k is not 0; those of special lines do not
 * count. */
static bool has_numbers(const ref_side *s, int64_t line, int64_t l, int64_t k)
{
    for (int64_t i = line; i < smaller(line + GROUP, s->lines); i++)
        for (int64_t e = l; e < smaller(l + STAGE, k); e++)
            if (ref_is_counted(&s->line[i]) && ref_at(s, i, e) != 0.0) return true;
    return false;
}

static int64_t groups_of(int64_t lines) { return (lines + GROUP - 1) / GROUP; }

/* True if no stage of k has numbers of both groups of lines that begin at i and j: all products of
 * these lines are 0, exactly. */
static bool is_apart(const ref_work *w, int64_t i, int64_t j)
{
    const int64_t k = w->p->k;
    if (length_of_sum(k) < k) return false;
    for (int64_t l = 0; l < k; l += STAGE)
        if (has_numbers(&w->side[0], i, l, k) && has_numbers(&w->side[1], j, l, k)) return false;
    return true;
}

static void set_apart(ref_work *w)
{
    const int64_t m = w->p->m, n = w->p->n;
    w->apart = ref_allocate(groups_of(m) * groups_of(n), sizeof *w->apart);
    for (int64_t j = 0; j < n; j += GROUP)
        for (int64_t i = 0; i < m; i += GROUP)
            w->apart[j / GROUP * groups_of(m) + i / GROUP] = is_apart(w, i, j);
}

/* Choice */

/* The least parameter that certifies an element, which special ones do not ask for; or one more
 * than there is. */
static int needed(const ref_work *w, int64_t i, int64_t j, int least, int most)
{
    ref_line a = w->side[0].line[i], b = w->side[1].line[j];
    int64_t log = 0;
    if (a.is_special || b.is_special) return least;
    if (w->is_estimated && w->apart[j / GROUP * groups_of(w->p->m) + i / GROUP]) return least;
    const bool has_estimate = w->is_estimated && estimate(w, i, j, &log);
    for (int count = least; count <= most; count++) {
        a.scale = ref_scale_of(w, count, &a);
        b.scale = ref_scale_of(w, count, &b);
        if (is_certified(w, &a, &b, has_estimate, log)) return count;
    }
    return most + 1;
}

static void set_needed(ref_work *w, int least, int most)
{
    if (w->is_estimated) set_magnitudes(w);
    if (w->is_estimated) set_apart(w);
    for (int64_t j = 0; j < w->p->n; j++)
        for (int64_t i = 0; i < w->p->m; i++)
            w->needed[i + j * w->p->m] = needed(w, i, j, least, most);
}

/* True if all lines of a tile are narrow. */
static bool has_narrow_lines(const ref_work *w, int64_t i0, int64_t j0)
{
    bool are_narrow = true;
    for (int64_t i = i0; i < smaller(i0 + TILE, w->p->m); i++)
        are_narrow &= ref_is_narrow(&w->side[0].line[i]);
    for (int64_t j = j0; j < smaller(j0 + TILE, w->p->n); j++)
        are_narrow &= ref_is_narrow(&w->side[1].line[j]);
    return are_narrow;
}

/* Elements that so many moduli leave open, at most FEW of each tile. Where a tile has a wide line,
 * one counts as FEW. */
static int64_t count_open(const ref_work *w, int count)
{
    const int64_t m = w->p->m, n = w->p->n;
    int64_t all = 0;
    for (int64_t j0 = 0; j0 < n; j0 += TILE)
        for (int64_t i0 = 0; i0 < m; i0 += TILE) {
            int64_t open = 0;
            for (int64_t j = j0; j < smaller(j0 + TILE, n); j++)
                for (int64_t i = i0; i < smaller(i0 + TILE, m); i++)
                    open += w->needed[i + j * m] > count;
            all += open > 0 && !has_narrow_lines(w, i0, j0) ? FEW : smaller(open, FEW);
        }
    return all;
}

/* Blocks of an operand that have numbers other than 0 in a stage of k. */
static int64_t blocks_with_numbers(const ref_work *w, int which, int64_t l)
{
    int64_t blocks = 0;
    for (int64_t i = 0; i < w->side[which].lines; i += GROUP)
        blocks += has_numbers(&w->side[which], i, l, w->p->k);
    return blocks;
}

/* In 64ths of what a modulus costs where no block is passed over. */
static int64_t cost_of_modulus(const ref_work *w)
{
    const int64_t k = w->p->k;
    int64_t met = 0, stages = 0;
    if (length_of_sum(k) < k) return 64;
    for (int64_t l = 0; l < k; l += STAGE, stages++)
        met += blocks_with_numbers(w, 0, l) * blocks_with_numbers(w, 1, l);
    return 16 + 48 * met / (stages * groups_of(w->p->m) * groups_of(w->p->n));
}

/* No element is certified. */
static void leave_all(ref_work *w)
{
    for (int64_t i = 0; i < w->p->m * w->p->n; i++) w->needed[i] = MAX_MODULI + 1;
}

/* The number that costs least. */
static int choose_moduli(ref_work *w)
{
    const int64_t tiles = tiles_of(w);
    const int by_lines = without_more(w, moduli_by_lines(w));
    int64_t least = 64 * tiles * FEW * binary64_cost(w), modulus;
    int best = 0;
    w->in_binary64 = !by_lines && !ref_is_estimated_by_sizes(w);
    if (w->in_binary64) {
        leave_all(w);
        return 0;
    }
    w->is_estimated = !by_lines;
    set_needed(w, by_lines ? by_lines : least_moduli(w), by_lines ? by_lines : MAX_MODULI);
    if (by_lines) return by_lines;
    modulus = cost_of_modulus(w);
    for (int count = least_moduli(w); count <= MAX_MODULI; count++) {
        const int64_t cost =
            modulus * tiles * FEW * count + 64 * count_open(w, count) * binary64_cost(w);
        if (cost >= least) continue;
        least = cost;
        best = count;
    }
    w->in_binary64 = best == 0;
    return best;
}

static int choose_slices(const ref_work *w)
{
    const int bits = float_digit_bits(w->p->k);
    return w->ozaki->scheme == REF_INT8_SLICES ? INT8_SLICES : (64 + bits - 1) / bits;
}

void ref_choose(ref_work *w)
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
