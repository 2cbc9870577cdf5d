/* ref_ozaki.c - the definition of ozaki2, ozaki1 and ozaki-sgemm: docs/numerics.md. Whole numbers
 * are kept in binary64 where they have no more than 53 significant bits, and their sums in
 * fixed.h's numbers. */
#include "ref_ozaki.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixed.h"
#include "ref_choice.h"

enum { TILE = REF_TILE, FEW = REF_FEW };

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Fixed-point operands */

static void set_fixed(ref_work *w, ref_side *s)
{
    for (int64_t i = 0; i < s->lines; i++) {
        ref_line *r = &s->line[i];
        if (!ref_is_counted(r)) continue;
        r->scale = ref_scale_of(w, w->parameter, r);
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
static void set_digits(const ref_work *w, const ref_side *s, int8_t *digits)
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

/* Products */

/* sum += A' B' 2^e. */
static void add_product(const ref_work *w, int64_t i, int64_t j, int e, fixed *sum)
{
    const int64_t k = w->p->k;
    const double *a = w->side[0].fixed + i * k, *b = w->side[1].fixed + j * k;
    for (int64_t l = 0; l < k; l++)
        if (a[l] != 0.0 && b[l] != 0.0) fixed_add_scaled_product(sum, a[l], b[l], e);
}

/* Adds the products of the slices whose numbers add up to less than there are slices. */
static void add_slices(const ref_work *w, int64_t i, int64_t j, int e, fixed *sum)
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

/* How far a product of fixed-point lines is from that of the lines, in units of their product: half
 * a unit is lost of each element that was rounded, and some slices are left out. */
static long double units_lost(const ref_work *w, int64_t i, int64_t j)
{
    const ref_line *a = &w->side[0].line[i], *b = &w->side[1].line[j];
    const long double k = (long double)w->p->k;
    if (!ref_is_counted(a) || !ref_is_counted(b)) return 0.0L;
    long double lost = 0.0L;
    if (!ref_is_exact_line(a)) lost += (long double)b->sum / 2;
    if (!ref_is_exact_line(b)) lost += (long double)a->sum / 2;
    if (!ref_is_exact_line(a) && !ref_is_exact_line(b)) lost += k / 4;
    if (w->ozaki->scheme != REF_INT8_SLICES || ref_loses_nothing(w, a, b)) return lost;
    for (int p = 0; p < w->parameter; p++)
        for (int q = w->parameter - p; q < w->parameter; q++)
            lost += ldexpl(k, 14 + 8 * (2 * (w->parameter - 1) - p - q));
    return lost;
}

static double axpby(double alpha, double x, double beta, const double *c)
{
    return beta == 0.0 ? alpha * x : fma(alpha, x, beta * *c);
}

/* What is left */

static bool is_special(const ref_work *w, int64_t i, int64_t j)
{
    return w->side[0].line[i].is_special || w->side[1].line[j].is_special;
}

static bool is_left(const ref_work *w, int64_t i, int64_t j)
{
    if (is_special(w, i, j)) return true;
    return !w->ozaki->parameter && w->needed[i + j * w->p->m] > w->parameter;
}

/* The exponent that a line's elements are given more in scaled sums. */
static int64_t raised_by(const ref_line *r)
{
    return ref_is_counted(r) ? 490 - ref_floor_div(r->peak, REF_LOG) : 0;
}

/* True if scaled sums of two lines lose nothing that counts. */
static bool fits_binary64(const ref_line *a, const ref_line *b)
{
    if (!ref_is_counted(a) || !ref_is_counted(b)) return true;
    const int64_t low_a = a->low + raised_by(a), low_b = b->low + raised_by(b),
                  peaks = ref_floor_div(a->peak, REF_LOG) + ref_floor_div(b->peak, REF_LOG);
    return smaller(low_a, low_b) >= -1074 && (low_a + low_b >= -1074 || peaks <= 910);
}

/* x 2^e, rounded twice if e is below -1022 and binary64 does not have it. */
static double scaled(double x, int64_t e)
{
    const int64_t first = e < -1022 ? -1022 : e;
    return scalbn(scalbn(x, (int)first), (int)(e - first));
}

static void set_raised(ref_work *w)
{
    for (int o = 0; o < 2; o++) {
        const ref_side *s = &w->side[o];
        w->raised[o] = ref_allocate(s->lines * s->k, sizeof *w->raised[o]);
        for (int64_t i = 0; i < s->lines; i++)
            for (int64_t l = 0; l < s->k; l++)
                w->raised[o][i * s->k + l] =
                    scaled(ref_at(s, i, l), raised_by(&s->line[i]) + s->sign * s->shift[l]);
    }
}

/* A tile is dense if more than FEW elements of it are left, or any of wide lines. */
static void set_dense_tile(ref_work *w, int64_t i0, int64_t j0)
{
    const int64_t m = w->p->m, i_end = smaller(i0 + TILE, m), j_end = smaller(j0 + TILE, w->p->n);
    int64_t count = 0;
    bool is_dense = false;
    for (int64_t j = j0; j < j_end; j++)
        for (int64_t i = i0; i < i_end; i++) {
            if (!is_left(w, i, j)) continue;
            count++;
            is_dense |= count > FEW || !ref_is_narrow(&w->side[0].line[i]) ||
                        !ref_is_narrow(&w->side[1].line[j]);
        }
    for (int64_t j = j0; j < j_end; j++)
        for (int64_t i = i0; i < i_end; i++) w->is_dense[i + j * m] = is_dense && is_left(w, i, j);
    if (is_dense && !w->raised[0]) set_raised(w);
}

/* Sums of blocks of products, the power of two nearest to sqrt(k) and at least 8 in each, added up
 * in order. Elements of a are a_step apart. */
static double blocked_sum(int64_t k, const double *a, int64_t a_step, const double *b,
                          int64_t b_step)
{
    const int64_t block = ref_binary64_block(k);
    double total = 0.0;
    for (int64_t first = 0; first < k; first += block) {
        double sum = 0.0;
        for (int64_t l = first; l < smaller(first + block, k); l++)
            sum = fma(a[l * a_step], b[l * b_step], sum);
        total += sum;
    }
    return total;
}

/* Of elements as they are. */
static double unscaled_sum(const ref_work *w, int64_t i, int64_t j)
{
    const ref_side *a = &w->side[0], *b = &w->side[1];
    return blocked_sum(w->p->k, a->data + i * a->line_step, a->k_step, b->data + j * b->line_step,
                       b->k_step);
}

/* Scaled, or as it is if the lines are wide and that stays finite. */
static double binary64_sum(const ref_work *w, int64_t i, int64_t j)
{
    const ref_line *row = &w->side[0].line[i], *column = &w->side[1].line[j];
    const int64_t k = w->p->k, raised = raised_by(row) + raised_by(column);
    const double unscaled = fits_binary64(row, column) ? INFINITY : unscaled_sum(w, i, j);
    if (isfinite(unscaled)) return unscaled;
    return scalbn(blocked_sum(k, w->raised[0] + i * k, 1, w->raised[1] + j * k, 1), (int)-raised);
}

/* Sums of X */

/* X 2^-(scales of both lines). */
static void set_sum(const ref_work *w, int64_t i, int64_t j, fixed *sum)
{
    const int e = -(int)(w->side[0].line[i].scale + w->side[1].line[j].scale);
    memset(sum, 0, sizeof *sum);
    if (w->ozaki->scheme == REF_INT8_SLICES)
        add_slices(w, i, j, e, sum);
    else
        add_product(w, i, j, e, sum);
}

/* One element of C; true if it was repaired. */
static bool set_element(const ref_work *w, int64_t i, int64_t j, double *c)
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
static void note_element(const ref_work *w, int64_t i, int64_t j, bool is_repaired,
                         ref_account *account)
{
    const ref_line *a = &w->side[0].line[i], *b = &w->side[1].line[j];
    const int64_t at = i + j * w->p->m;
    account->repaired += is_repaired;
    account->is_repaired[at] = is_repaired;
    account->in_binary64[at] = is_repaired && w->is_dense[at] && !is_special(w, i, j);
    account->off[at] = ldexpl(units_lost(w, i, j), -(int)(a->scale + b->scale));
    if (account->in_binary64[at])
        account->off[at] = fits_binary64(a, b) ? 0.0L : (long double)w->p->k * 0x1p-1075L;
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

static void prepare(ref_work *w)
{
    const ref_gemm *p = w->p;
    w->side[0] = side_of(p->a, p->m, p->k, p->lda, p->op_a == TANDEM_OP_T, 1);
    w->side[1] = side_of(p->b, p->n, p->k, p->ldb, p->op_b == TANDEM_OP_N, -1);
    w->side[0].shift = w->side[1].shift = ref_allocate(p->k, sizeof *w->side[0].shift);
    ref_set_lines(w->side, w->ozaki->is_complex, ref_is_estimated_by_sizes(w));
    w->needed = ref_allocate(p->m * p->n, sizeof *w->needed);
    w->is_dense = ref_allocate(p->m * p->n, sizeof *w->is_dense);
    ref_choose(w);
    for (int64_t j0 = 0; j0 < p->n; j0 += TILE)
        for (int64_t i0 = 0; i0 < p->m; i0 += TILE) set_dense_tile(w, i0, j0);
    if (w->in_binary64) return;
    for (int o = 0; o < 2; o++) {
        set_fixed(w, &w->side[o]);
        if (w->ozaki->scheme != REF_INT8_SLICES) continue;
        w->digits[o] = ref_allocate(w->side[o].lines * w->parameter * p->k, 1);
        set_digits(w, &w->side[o], w->digits[o]);
    }
}

static void clear(ref_work *w)
{
    for (int o = 0; o < 2; o++) {
        free(w->side[o].line);
        free(w->side[o].fixed);
        free(w->digits[o]);
        free(w->magnitude[o]);
        free(w->raised[o]);
    }
    free(w->apart);
    free(w->needed);
    free(w->is_dense);
    free(w->side[0].shift);
}

void ref_ozaki_product(const ref_ozaki *ozaki, const ref_gemm *p, ref_account *account)
{
    ref_work w = {.ozaki = ozaki, .p = p};
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
    } names[] = {{"ozaki2", {REF_RESIDUES, 0, false}},
                 {"ozaki1", {REF_INT8_SLICES, 0, false}},
                 {"ozaki-sgemm", {REF_FLOAT_SLICES, 0, false}}};
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
    if (strcmp(mode, "fp64") == 0) {
        ref_binary64_product(p);
        return true;
    }
    if (!ref_ozaki_parse(mode, &ozaki)) return false;
    ref_ozaki_product(&ozaki, p, &account);
    ref_account_free(&account);
    return true;
}
