#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements of a kind of data, of r, each of which has its own, and of the place. */
#define DATA(name, expression)                                                                     \
    static double name(test_random *r, const place *at)                                            \
    {                                                                                              \
        (void)r;                                                                                   \
        (void)at;                                                                                  \
        return expression;                                                                         \
    }

DATA(uniform, random_uniform(r))
DATA(both_signs, random_uniform(r) - 0.5)

static double wide(test_random *r, double phi)
{
    const double x = random_uniform(r) - 0.5;
    return x * exp(phi * random_normal(r));
}

DATA(wide_half, wide(r, 0.5))
DATA(wide1, wide(r, 1.0))
DATA(wide2, wide(r, 2.0))
DATA(wide4, wide(r, 4.0))

/* One product k times: its rounding errors add up. */
DATA(constant, at->which ? 0x1.7a6e4f90c3b15p+0 : 0x1.3c0ca428c1d2bp-1)

/* The constants for which a search found the largest error. */
DATA(worst_constant, 0x1.012916f5ac4a8p+0)
DATA(graded, ldexp(random_uniform(r) - 0.5, (int)(at->line % 81) - 40))
DATA(huge, ldexp(random_uniform(r) - 0.5, 480))
DATA(tiny, ldexp(random_uniform(r) - 0.5, -480))

/* Lines whose scales spread over 240 bits. */
static double apart(test_random *r, const place *at)
{
    const int e = at->lines > 1 ? (int)(240 * at->line / (at->lines - 1)) - 120 : 0;
    return ldexp(random_uniform(r) - 0.5, e);
}

/* Every line spreads over 240 bits, at random. */
DATA(scattered, random_scaled(r, -120, 120))

/* One line in five does. */
DATA(some_scattered, at->line % 5 ? random_uniform(r) - 0.5 : random_scaled(r, -120, 120))
DATA(far_scattered, random_scaled(r, -480, 480))

/* From -limit to limit along k. */
static int along(const place *at, int limit)
{
    return at->k > 1 ? (int)(2 * limit * at->l / (at->k - 1)) - limit : 0;
}

/* Exponents rise along k in both operands: the last products are all. */
DATA(rising, ldexp(random_uniform(r) - 0.5, along(at, 120)))
DATA(falling, ldexp(random_uniform(r) - 0.5, -along(at, 120)))

/* They rise in A and fall in B: all products are of one size. */
DATA(crossing, ldexp(random_uniform(r) - 0.5, at->which ? -along(at, 120) : along(at, 120)))

/* Not as far apart. */
static double apart64(test_random *r, const place *at)
{
    const int e = at->lines > 1 ? (int)(64 * at->line / (at->lines - 1)) - 32 : 0;
    return ldexp(random_uniform(r) - 0.5, e);
}

DATA(crossing64, ldexp(random_uniform(r) - 0.5, at->which ? -along(at, 32) : along(at, 32)))

/* Exponents rise over 24 bits and start again, elsewhere in each line: no scaling of lines or of k
 * evens them out. */
static double circulant(test_random *r, const place *at)
{
    const int64_t l = (at->l + (at->which ? 5 : 3) * at->line) % at->k;
    return ldexp(random_uniform(r) - 0.5, (int)(24 * l / at->k) - 12);
}

/* All bits of a significand are set. */
static double full(test_random *r, const place *at)
{
    const double x = ldexp(1.0 - 0x1p-53, (int)(at->line % 5) * 7);
    return random_int(r, 0, 1) ? x : -x;
}

/* Of one sign, beyond the exponents of modes that compute in binary64. */
DATA(far_crossing, ldexp(random_uniform(r), at->which ? -along(at, 485) : along(at, 485)))

/* Half of the lines of A are subnormal; B makes up for it. */
static double subnormal(test_random *r, const place *at)
{
    if (at->which) return ldexp(random_uniform(r) - 0.5, 900);
    if (at->line % 2) return ldexp(random_uniform(r) - 0.5, -1030);
    return random_scaled(r, -1060, -900);
}

/* A has the smallest numbers that there are. */
DATA(least, at->which ? ldexp(random_uniform(r) - 0.5, 1000) : ldexp(random_int(r, -99, 99), -1074))

/* Results near the end of binary64, too small and too large. */
DATA(vanishing, ldexp(random_uniform(r) - 0.5, at->line % 3 ? -535 : -500))
DATA(overflowing, ldexp(random_uniform(r) + 0.5, at->line % 3 ? 509 : 511))

static double zeros(test_random *r, const place *at)
{
    const double x = random_uniform(r) - 0.5;
    return at->line % 7 == 3 || random_int(r, 0, 2) == 0 ? copysign(0.0, x) : x;
}

/* The first of two products that all but cancel; element() makes the second. */
DATA(cancelling, random_uniform(r) + 0.5)

/* Products that all but cancel, in sizes that are far apart: where the large ones cancel, the small
 * ones are left. */
DATA(wide_cancelling, ldexp(random_uniform(r) + 0.5, 25 * (int)(at->l / 2 % 5)))

/* exp(-rate |i - j|) for lines i along k: exponents fall on both sides of a diagonal. */
static double decaying(const place *at, double rate)
{
    const int64_t diagonal = at->lines > 1 ? at->line * (at->k - 1) / (at->lines - 1) : 0;
    return exp(-rate * (double)llabs(at->l - diagonal) * 750.0 / (double)at->k);
}

/* Down to subnormal numbers and zeros, */
DATA(decaying_fast, decaying(at, 1.2))

/* and not as far. */
DATA(decaying_slowly, decaying(at, 0.05))
DATA(wide40, wide(r, 40.0))

/* One line over 1000 bits. */
static double one_wide(test_random *r, const place *at)
{
    const double x = random_uniform(r) - 0.5;
    return at->line == at->lines / 2 ? ldexp(x, random_int(r, -500, 500)) : x;
}

/* Any finite numbers. */
DATA(any_exponents, random_scaled(r, -1074, 1023))

/* Lines that span more than scaled sums have room for; products do not overflow. */
static double too_wide(test_random *r, const place *at)
{
    const double x = random_uniform(r) - 0.5;
    return ldexp(x, at->which ? random_int(r, -900, 250) : random_int(r, -1000, 700));
}

/* Lines that are too wide for binary64, and sums that overflow, some of which come back. */
static double too_wide_and_large(test_random *r, const place *at)
{
    const double x = random_uniform(r) - 0.5;
    if (at->l % 5 == 0) return ldexp(x, at->which ? 512 : 513);
    return ldexp(x, at->which ? random_int(r, -600, 200) : random_int(r, -1074, -900));
}

/* One element of each operand beyond all others. */
static double one_huge(test_random *r, const place *at)
{
    const double x = random_uniform(r) - 0.5;
    return at->line == at->lines / 2 && at->l == at->k / 3 ? ldexp(x, 300) : x;
}

DATA(integers, random_int(r, -9, 9))

/* A from the top of the range, B from the bottom. */
DATA(opposite, ldexp(1.0 + random_uniform(r), at->which ? -1022 : 1023))

/* The first product of every 16 is 1, the others round off half a unit 2^e of it. */
static double half_units(test_random *r, const place *at, int e)
{
    if (at->l % 16 == 0) return 1.0 + random_uniform(r) * 0x1p-10;
    return at->which ? ldexp(0.9 + 0.1 * random_uniform(r), e) : 1.0 + random_uniform(r);
}

/* Half units of binary32, */
DATA(half_units_24, half_units(r, at, -24))

/* of a pair of them, */
DATA(half_units_48, half_units(r, at, -48))

/* of binary64, */
DATA(half_units_53, half_units(r, at, -53))

/* and of a pair of them. */
DATA(half_units_106, half_units(r, at, -106))

const distribution distributions[] = {
    {"uniform", uniform, 0, false, false},
    {"both signs", both_signs, 0, false, false},
    {"wide 1", wide1, 0, false, false},
    {"wide 2", wide2, 0, false, false},
    {"wide 4", wide4, 0, false, false},
    {"constant", constant, 0, false, false},
    {"graded", graded, 0, false, false},
    {"2^480", huge, 0, false, false},
    {"2^-480", tiny, 0, false, false},
    {"lines apart", apart, 0, false, false},
    {"scattered", scattered, 0, false, false},
    {"some scattered", some_scattered, 0, false, false},
    {"rising", rising, 0, false, false},
    {"falling", falling, 0, false, false},
    {"crossing", crossing, 0, false, false},
    {"subnormal", subnormal, 0, false, false},
    {"vanishing", vanishing, 0, false, false},
    {"overflowing", overflowing, 0, false, false},
    {"zeros", zeros, 0, false, false},
    {"cancelling", cancelling, 0x1p-44, false, false},
    {"one huge", one_huge, 0, false, false},
    {"integers", integers, 0, false, false},
    {"opposite", opposite, 0, false, false},
    {"worst constant", worst_constant, 0, false, false},
    {"half units", half_units_24, 0, true, false},
    {"half units 48", half_units_48, 0, true, false},
    {"half units 53", half_units_53, 0, true, false},
    {"half units 106", half_units_106, 0, true, false},
    {"far scattered", far_scattered, 0, false, false},
    {"far crossing", far_crossing, 0, false, false},
    {"all but cancelling", cancelling, 0x1p-51, false, false},
    {"exact zeros", cancelling, 0x1p-100, false, false},
    {"wide cancelling", wide_cancelling, 0x1p-51, false, false},
    {"wide exact zeros", wide_cancelling, 0x1p-100, false, false},
    {"wide 0.5", wide_half, 0, false, false},
    {"lines 64 apart", apart64, 0, false, false},
    {"crossing 64", crossing64, 0, false, false},
    {"circulant", circulant, 0, false, false},
    {"full", full, 0, false, false},
    {"least", least, 0, false, false},
    {"decaying", decaying_fast, 0, false, false},
    {"decaying slowly", decaying_slowly, 0, false, false},
    {"wide 40", wide40, 0, false, false},
    {"one wide", one_wide, 0, false, false},
    {"any exponents", any_exponents, 0, false, true},
    {"too wide", too_wide, 0, false, false},
    {"too wide and large", too_wide_and_large, 0, false, true},
};
const int distribution_count = sizeof distributions / sizeof *distributions;

const distribution *distribution_find(const char *name)
{
    for (int i = 0; i < distribution_count; i++)
        if (strcmp(distributions[i].name, name) == 0) return &distributions[i];
    fprintf(stderr, "no distribution is called %s\n", name);
    exit(1);
}

/* Element l of a line, the same wherever it is stored. */
static double element(const product *of, const distribution *d, const place *at)
{
    test_random r = random_start(of->seed + UINT64_C(0x51ed270b) * (uint64_t)at->l +
                                 (UINT64_C(0x2545f4914f6cdd1d) * (uint64_t)at->line) +
                                 (at->which ? UINT64_C(0x6a09e667f3bcc909) : 0));
    random_bits(&r);
    if (d->cancels_to == 0.0 || at->l % 2 == 0) return d->element(&r, at);
    place partner = *at;
    partner.l--;
    const double x = element(of, d, &partner);
    return at->which ? -x * (1.0 + d->cancels_to * random_uniform(&r)) : x;
}

static void fill_operand(const product *of, int which, test_matrix *x)
{
    const distribution *d = distribution_find(of->data);
    place at = {.which = which, .lines = which ? of->n : of->m, .k = of->k};
    for (at.l = 0; at.l < of->k; at.l++)
        for (at.line = 0; at.line < at.lines; at.line++) {
            const int64_t index = which ? ref_index_b(of->op_b, at.l, at.line, x->ld)
                                        : ref_index_a(of->op_a, at.line, at.l, x->ld);
            matrix_data(x)[index] = element(of, d, &at);
        }
}

/* C is of the size that a product of two average elements has. */
static void fill_c(const problem *p)
{
    const product *of = &p->of;
    test_random r = random_start(of->seed ^ UINT64_C(0xc0ffee));
    double size = 1.0;
    if (of->m && of->n && of->k && of->alpha != 0.0)
        size = fabs(*matrix_data(&p->a)) * fabs(*matrix_data(&p->b));
    if (!(size > 0.0 && size < 0x1p1020)) size = 1.0;
    for (int64_t j = 0; j < of->n; j++)
        for (int64_t i = 0; i < of->m; i++)
            *matrix_at(&p->c, i, j) = size * (random_uniform(&r) - 0.5);
}

static void fill_c_with_product(problem *p)
{
    ref_gemm gemm = problem_gemm(p, &p->c);
    gemm.beta = 0.0;
    for (int64_t j = 0; j < p->of.n; j++)
        for (int64_t i = 0; i < p->of.m; i++)
            *matrix_at(&p->c, i, j) = ref_measure(&gemm, i, j, 0.0).nearest;
}

static int64_t least_ld(int64_t rows, int pad) { return (rows > 1 ? rows : 1) + pad; }

problem problem_make(const product *of)
{
    const int64_t rows_a = of->op_a == TANDEM_OP_N ? of->m : of->k;
    const int64_t rows_b = of->op_b == TANDEM_OP_N ? of->k : of->n;
    problem p = {.of = *of};
    p.a = matrix_make(rows_a, of->m + of->k - rows_a, least_ld(rows_a, of->pad_a), of->guard);
    p.b = matrix_make(rows_b, of->k + of->n - rows_b, least_ld(rows_b, of->pad_b), of->guard);
    p.c = matrix_make(of->m, of->n, least_ld(of->m, of->pad_c), of->guard);
    if (of->alpha != 0.0) fill_operand(of, 0, &p.a);
    if (of->alpha != 0.0) fill_operand(of, 1, &p.b);
    if (of->takes_product)
        fill_c_with_product(&p);
    else if (of->beta != 0.0)
        fill_c(&p);
    return p;
}

void problem_free(problem *p) { matrix_free(&p->a, &p->b, &p->c); }

ref_gemm problem_gemm(const problem *p, test_matrix *c)
{
    return (ref_gemm){
        .op_a = p->of.op_a,
        .op_b = p->of.op_b,
        .m = p->of.m,
        .n = p->of.n,
        .k = p->of.k,
        .alpha = p->of.alpha,
        .beta = p->of.beta,
        .a = matrix_data(&p->a),
        .b = matrix_data(&p->b),
        .c = matrix_data(c),
        .lda = p->a.ld,
        .ldb = p->b.ld,
        .ldc = c->ld,
    };
}

product product_plain(const char *data, int64_t m, int64_t n, int64_t k)
{
    return (product){.data = data, .m = m, .n = n, .k = k, .alpha = 1.0, .seed = 41};
}

void product_set_ops(product *of, int which)
{
    of->op_a = which & 1 ? TANDEM_OP_T : TANDEM_OP_N;
    of->op_b = which & 2 ? TANDEM_OP_T : TANDEM_OP_N;
}

product product_varied(const char *data, int64_t m, int64_t n, int64_t k, int which)
{
    return (product){.data = data,
                     .op_a = which & 1 ? TANDEM_OP_T : TANDEM_OP_N,
                     .op_b = which & 2 ? TANDEM_OP_T : TANDEM_OP_N,
                     .m = m,
                     .n = n,
                     .k = k,
                     .pad_a = which % 3,
                     .pad_c = which % 2,
                     .guard = which % 4,
                     .alpha = which % 3 ? 1.0 : -1.7,
                     .beta = which % 4 == 1 ? 0.7 : 0.0,
                     .seed = (uint64_t)(900 + which)};
}

const char *product_text(const product *of)
{
    static char text[256];
    snprintf(text, sizeof text,
             "%c%c %d x %d x %d, %s, alpha %g, beta %g, ld +%d +%d +%d, guard %d, seed %d%s",
             of->op_a == TANDEM_OP_N ? 'N' : 'T', of->op_b == TANDEM_OP_N ? 'N' : 'T', (int)of->m,
             (int)of->n, (int)of->k, of->data, of->alpha, of->beta, of->pad_a, of->pad_b, of->pad_c,
             of->guard, (int)of->seed, of->takes_product ? ", less its product" : "");
    return text;
}
