#include "crt_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/residue/moduli.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

enum { NEED = 40 * TD_LOG };

static const int real_moduli[TD_MAX_MODULI] = {TD_MODULI};
static const int complex_moduli[TD_MOST_COMPLEX_MODULI] = {TD_COMPLEX_MODULI};
static const int *moduli_of(const crt_case *p)
{
    return p->is_complex ? complex_moduli : real_moduli;
}

const char *crt_text(const crt_case *p)
{
    static char buffer[192];
    snprintf(buffer, sizeof buffer,
             "seed %llu: m=%d n=%d ld=%d moduli %d fill %d alpha %g beta %g%s%s%s%s%s%s%s%s",
             (unsigned long long)p->seed, p->m, p->n, p->ld, p->count, (int)p->fill, p->alpha,
             p->beta, p->is_complex ? " complex" : "", p->is_given ? " given" : "",
             p->is_estimated ? " by an estimate" : "", p->has_open_lines ? " open lines" : "",
             p->has_far_scales ? " far scales" : "", p->has_least_results ? " least results" : "",
             p->is_exact ? " exact" : "", p->has_ties ? " ties" : "");
    return buffer;
}

crt_case crt_random_case(uint64_t seed)
{
    static const double scalars[] = {1, -1, 0, 0.1, 0x1p-900, 3e300};
    test_random r = random_start(seed);
    crt_case p = {.seed = seed,
                  .m = random_int(&r, 1, random_int(&r, 0, 7) ? 150 : 400),
                  .n = random_int(&r, 1, random_int(&r, 0, 7) ? 80 : 300),
                  .is_exact = random_int(&r, 0, 3) == 0,
                  .count = random_int(&r, 0, 1) ? random_int(&r, 14, 18)
                                                : random_int(&r, TD_MIN_MODULI, TD_MAX_MODULI),
                  .is_given = random_int(&r, 0, 2) == 0,
                  .has_open_lines = random_int(&r, 0, 1),
                  .has_far_scales = random_int(&r, 0, 3) == 0,
                  .alpha = random_int(&r, 0, 1) ? 1.0 : scalars[random_int(&r, 0, 5)],
                  .beta = random_int(&r, 0, 1) ? 0.0 : scalars[random_int(&r, 0, 5)],
                  .fill = (filling)random_int(&r, 0, FILLINGS - 1)};
    p.is_estimated = !p.is_given && random_int(&r, 0, 2) == 0;
    if (p.is_exact) {
        static const double far[] = {0x1p-390, 0x1p390};
        p.count = TD_EXACT_MODULI;
        p.is_given = true;
        p.is_estimated = false;
        p.has_ties = random_int(&r, 0, 2) == 0;
        if (p.has_ties) p.beta = 1.5;
        if (random_int(&r, 0, 3) == 0) p.alpha = far[random_int(&r, 0, 1)];
    }
    p.is_complex = !p.is_exact && random_int(&r, 0, 1);
    if (p.is_complex) p.m += p.m % 2;
    p.ld = p.m + random_int(&r, 0, 3);
    p.has_least_results = p.count >= TD_COMMON_MODULI && random_int(&r, 0, 3) == 0;
    if (p.has_least_results) p.fill = ANY_SIZE;
    p.blocks = random_int(&r, 0, 4);
    return p;
}

enum { WIDE_MODULI = 16 };
static int low_bits(int count) { return count > WIDE_MODULI ? 8 * (count - WIDE_MODULI) - 1 : 0; }

/* P 2^-b, or a little less. */
static wide top_of_product(const crt_case *p)
{
    wide product = 1;
    for (int t = 0; t < p->count; t++) {
        if (t == WIDE_MODULI) product >>= low_bits(p->count);
        product *= moduli_of(p)[t];
    }
    return product;
}

static int bits_of(wide x)
{
    const uint64_t upper = (uint64_t)(x >> 64), lower = (uint64_t)x;
    return upper ? 128 - __builtin_clzll(upper) : 64 - __builtin_clzll(lower);
}

/* Bits of P. */
static int product_bits(const crt_case *p)
{
    return low_bits(p->count) + bits_of(top_of_product(p));
}

/* Of magnitude < P / 2 (1 - 2^-16). */
static crt_number random_x(test_random *r, const crt_case *p)
{
    const wide product = top_of_product(p), most = product / 2 - (product >> 17) - 1;
    const wide any = (wide)(random_bits(r) >> 1) << 64 | random_bits(r);
    crt_number x = {.top = any % most, .is_negative = random_int(r, 0, 1)};
    if (p->fill == MOSTLY_ZERO && random_int(r, 0, 9)) x.top = 0;
    if (p->fill == ANY_SIZE)
        x.top >>= p->has_least_results ? random_int(r, 20, 30) : random_int(r, 0, 125);
    if (p->fill == HALVES) {
        const int room = bits_of(most) - 55, shift = random_int(r, 0, room > 0 ? room : 0),
                  off = random_int(r, -shift, shift + 2);
        x.top = (wide)(random_bits(r) >> 10 | 1ull << 53 | 1) << shift;
        if (off >= 0 && off <= shift)
            x.top += random_int(r, 0, 1) ? (wide)1 << off : -((wide)1 << off);
        while (x.top > most) x.top >>= 1;
    }
    if (x.top >> 60 && random_int(r, 0, 1))
        x.rest = (uint32_t)random_bits(r) & ((1u << low_bits(p->count)) - 1);
    return x;
}

/* Rounded once: below the top's last bit of 61 there is only whether anything is left. */
double crt_nearest_to(crt_number x, int count, int scale)
{
    const double size = ldexp((double)(x.top | (x.rest != 0)), low_bits(count) - scale);
    return x.is_negative ? -size : size;
}

/* Of P / p modulo p, P the product of all moduli of the case and p the t-th. */
static int inverse_of(const crt_case *p, int t)
{
    static int inverses[2][TD_MAX_MODULI + 1][TD_MAX_MODULI];
    const int *const moduli = moduli_of(p);
    int *const inverse = &inverses[p->is_complex][p->count][t];
    int others = 1;
    if (*inverse) return *inverse;
    for (int i = 0; i < p->count; i++)
        if (i != t) others = others * (moduli[i] % moduli[t]) % moduli[t];
    do ++*inverse;
    while (others * *inverse % moduli[t] != 1 % moduli[t]);
    return *inverse;
}

/* Representatives are within 5 p / 8 of 0, and bytes (../../../kernels/residue/split.h). */
static int most_residue(int modulus) { return 5 * modulus / 8 < 127 ? 5 * modulus / 8 : 127; }
static int least_residue(int modulus) { return 5 * modulus / 8 < 128 ? -5 * modulus / 8 : -128; }

/* X times the inverse of P / p modulo p, the t-th modulus. */
static int residue_of(const crt_case *p, crt_number x, int t)
{
    const int modulus = moduli_of(p)[t];
    const wide top = x.top % modulus * (((wide)1 << low_bits(p->count)) % modulus);
    const int size = (int)((top + x.rest % (unsigned)modulus) % modulus);
    return size * (x.is_negative ? modulus - 1 : 1) % modulus * inverse_of(p, t) % modulus;
}

/* A representative of a residue that is not negative: another one where there is room. */
static int8_t any_representative(test_random *r, int residue, int modulus)
{
    if (residue > most_residue(modulus) ||
        (residue - modulus >= least_residue(modulus) && random_int(r, 0, 1)))
        residue -= modulus;
    return (int8_t)residue;
}

static int root_of_minus_1(int modulus)
{
    int j = 1;
    while (j * j % modulus != modulus - 1) j++;
    return j;
}

/* Residues of the element at (row, col) of a member; of complex products those of Z+ and of Z-,
 * from both parts, after the second one, with the half that Re = Z+ + Z- needs. */
static void put_residues(test_random *r, const crt_case *p, crt_data *d, int z, int row, int col)
{
    const crt_number *const x =
        &d->x[((size_t)z * (size_t)p->n + (size_t)col) * d->ld + (size_t)row];
    const size_t line = ((size_t)z * (size_t)p->n + (size_t)col) * d->residue_ld;
    for (int t = 0; t < p->count; t++) {
        const int modulus = moduli_of(p)[t];
        if (!p->is_complex) {
            d->residue[(size_t)t * d->plane + line + (size_t)row] =
                any_representative(r, residue_of(p, x[0], t), modulus);
            continue;
        }
        if (row % 2 == 0) return;
        const int half = (modulus + 1) / 2, re = residue_of(p, x[-1], t) * half,
                  im = residue_of(p, x[0], t) * root_of_minus_1(modulus) % modulus * half;
        int8_t *const at = d->residue + (size_t)(2 * t) * d->plane + line + (size_t)(row / 2);
        at[0] = any_representative(r, (re + im) % modulus, modulus);
        at[d->plane] = any_representative(r, (re + (modulus - 1) * im) % modulus, modulus);
    }
}

/* Half of the lines have rounded elements. X of two lines may be off by nearly nothing, or by more
 * than its last place. */
static void round_line(test_random *r, td_line *line)
{
    const bool is_rounded =
        random_int(r, 0, 1) && line->low != TD_SPECIAL && line->low != TD_NO_LOW;
    line->sum = random_int(r, 0, 110 * TD_LOG) - TD_LOG * line->scale;
    line->norm = line->sum - random_int(r, 0, 8 * TD_LOG);
    line->rounded = is_rounded ? random_int(r, 0, 14 * TD_LOG) : TD_NONE_ROUNDED;
    if (line->low == TD_SPECIAL || line->low == TD_NO_LOW) return;
    line->low = (int16_t)(-line->scale + random_int(r, 1, 9) * (is_rounded ? -1 : 1));
}

static void fill_lines(test_random *r, const crt_case *p, crt_data *d)
{
    for (int o = 0; o < 2; o++)
        for (size_t i = 0; i < d->lines[o] * MEMBERS; i++) {
            td_line *const line = &d->line[o][i];
            const int kind = p->has_open_lines ? random_int(r, 0, 99) : 99;
            *line = (td_line){.sum = TD_LOG * random_int(r, 0, 3), .low = -30};
            line->scale = (int16_t)random_int(r, 40, 60);
            if (p->has_far_scales && random_int(r, 0, 1))
                line->scale = (int16_t)random_int(r, -520, 620);
            if (p->has_least_results) /* the least normal numbers, of X that one look tells of */
                line->scale = (int16_t)((1022 - 24 + product_bits(p)) / 2 + random_int(r, -1, 2));
            line->mean = NEED - TD_LOG * line->scale;
            line->sum -= TD_LOG * line->scale;
            if (kind < 4) line->low = TD_SPECIAL;
            if (kind >= 4 && kind < 6) line->low = TD_NO_LOW;
            if (kind >= 6 && kind < 12) line->low = 3;
            if (kind >= 10 && kind < 14) line->mean = TD_NO_MEAN;
            if (kind >= 14 && kind < 20) line->mean -= NEED;
            if (p->is_exact) round_line(r, line);
        }
}

void *crt_filled(size_t bytes, int byte)
{
    void *p = malloc(bytes);
    memset(p, byte, bytes);
    return p;
}

/* 1.5 times it is a tie: of an odd number of 53 bits below 4/3 2^52. As large as alpha X, or not
 * nearly. */
static double number_of_ties(test_random *r, const crt_case *p)
{
    const uint64_t most = (1ull << 52) / 3, m = (1ull << 52) + (random_bits(r) % most | 1);
    const double x = ldexp((double)m, random_int(r, -190, 20));
    return (random_int(r, 0, 1) ? x : -x) * (fabs(p->alpha) == 1.0 ? 1.0 : p->alpha);
}

crt_data crt_make_data(const crt_case *p)
{
    test_random r = random_start(~p->seed);
    crt_data d = {.ld = (size_t)(p->m + 63) / 64 * 64, .lines = {(size_t)p->m, (size_t)p->n}};
    d.numbers = d.ld * (size_t)p->n * MEMBERS;
    d.residue_ld = p->is_complex ? (size_t)(p->m / 2 + 63) / 64 * 64 : d.ld;
    d.plane = d.residue_ld * (size_t)p->n * MEMBERS;
    d.residues = d.plane * (size_t)p->count * (p->is_complex ? 2 : 1);
    d.elements = (size_t)p->ld * (size_t)p->n * MEMBERS;
    d.tiles = (size_t)((p->m + 63) / 64) * (size_t)((p->n + 63) / 64) * MEMBERS;
    d.residue = crt_filled(d.residues, 0x5a);
    d.x = crt_filled(d.numbers * sizeof(crt_number), 0);
    d.c = malloc(d.elements * sizeof(double));
    d.masks = crt_filled(d.tiles * TD_SUBTILES * sizeof(uint16_t), 0);
    for (int o = 0; o < 2; o++) d.line[o] = malloc(d.lines[o] * MEMBERS * sizeof(td_line));
    fill_lines(&r, p, &d);
    for (size_t i = 0; i < d.elements; i++)
        d.c[i] = p->has_ties ? number_of_ties(&r, p) : random_normal(&r);
    for (size_t i = 0; i < d.tiles * TD_SUBTILES; i++)
        if (random_int(&r, 0, 15) == 0) d.masks[i] = (uint16_t)random_bits(&r);
    d.min_moduli = crt_filled(d.numbers, 0);
    for (size_t i = 0; i < d.numbers; i++) d.min_moduli[i] = random_int(&r, 0, 50) == 0;
    for (int z = 0; z < MEMBERS; z++)
        d.choice[z] = (td_choice){.parameter = p->count,
                                  .need = p->is_given ? TD_NEEDS_NOTHING : NEED,
                                  .is_estimated = p->is_estimated,
                                  .rest = TD_LOG * random_int(&r, -4, 12)};
    for (int z = 0; z < MEMBERS; z++)
        for (int col = 0; col < p->n; col++)
            for (int row = 0; row < p->m; row++) {
                d.x[((size_t)z * (size_t)p->n + (size_t)col) * d.ld + (size_t)row] =
                    random_x(&r, p);
                put_residues(&r, p, &d, z, row, col);
            }
    return d;
}

void crt_free_data(crt_data *d)
{
    test_drop(d->residue, d->x, d->c, d->masks, d->min_moduli, d->line[0], d->line[1]);
}
