#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../support/test.h"

static double uniform(test_random *r, const place *at)
{
    (void)at;
    return random_uniform(r);
}

static double both_signs(test_random *r, const place *at)
{
    (void)at;
    return random_uniform(r) - 0.5;
}

static double wide(test_random *r, double phi)
{
    const double x = random_uniform(r) - 0.5;
    return x * exp(phi * random_normal(r));
}

static double wide1(test_random *r, const place *at)
{
    (void)at;
    return wide(r, 1.0);
}

static double wide2(test_random *r, const place *at)
{
    (void)at;
    return wide(r, 2.0);
}

static double wide4(test_random *r, const place *at)
{
    (void)at;
    return wide(r, 4.0);
}

/* The same product k times: its rounding errors add up. */
static double constant(test_random *r, const place *at)
{
    (void)r;
    return at->which ? 0x1.7a6e4f90c3b15p+0 : 0x1.3c0ca428c1d2bp-1;
}

/* The constants for which a search found the largest error. */
static double worst_constant(test_random *r, const place *at)
{
    (void)r;
    (void)at;
    return 0x1.012916f5ac4a8p+0;
}

static double graded(test_random *r, const place *at)
{
    return ldexp(random_uniform(r) - 0.5, (int)(at->line % 81) - 40);
}

static double huge(test_random *r, const place *at)
{
    (void)at;
    return ldexp(random_uniform(r) - 0.5, 480);
}

static double tiny(test_random *r, const place *at)
{
    (void)at;
    return ldexp(random_uniform(r) - 0.5, -480);
}

/* Lines whose scales spread over 240 bits. */
static double apart(test_random *r, const place *at)
{
    const int e = at->lines > 1 ? (int)(240 * at->line / (at->lines - 1)) - 120 : 0;
    return ldexp(random_uniform(r) - 0.5, e);
}

/* Every line spreads over 240 bits, at random. */
static double scattered(test_random *r, const place *at)
{
    (void)at;
    return ldexp(random_uniform(r) - 0.5, random_int(r, -120, 120));
}

/* One line in five does. */
static double some_scattered(test_random *r, const place *at)
{
    return ldexp(random_uniform(r) - 0.5, at->line % 5 ? 0 : random_int(r, -120, 120));
}

static int along(const place *at) { return at->k > 1 ? (int)(240 * at->l / (at->k - 1)) - 120 : 0; }

/* Exponents rise along k in both operands: the last products are all. */
static double rising(test_random *r, const place *at)
{
    return ldexp(random_uniform(r) - 0.5, along(at));
}

static double falling(test_random *r, const place *at)
{
    return ldexp(random_uniform(r) - 0.5, -along(at));
}

/* They rise in A and fall in B: all products are of one size. */
static double crossing(test_random *r, const place *at)
{
    return ldexp(random_uniform(r) - 0.5, at->which ? -along(at) : along(at));
}

/* Half of the lines of A are subnormal; B makes up for it. */
static double subnormal(test_random *r, const place *at)
{
    if (at->which) return ldexp(random_uniform(r) - 0.5, 900);
    return ldexp(random_uniform(r) - 0.5, at->line % 2 ? -1030 : random_int(r, -1060, -900));
}

/* Results near the end of binary64, too small and too large. */
static double vanishing(test_random *r, const place *at)
{
    return ldexp(random_uniform(r) - 0.5, at->line % 3 ? -535 : -500);
}

static double overflowing(test_random *r, const place *at)
{
    return ldexp(random_uniform(r) + 0.5, at->line % 3 ? 509 : 511);
}

static double zeros(test_random *r, const place *at)
{
    const double x = random_uniform(r) - 0.5;
    return at->line % 7 == 3 || random_int(r, 0, 2) == 0 ? copysign(0.0, x) : x;
}

/* The first of two products that cancel to 2^-44 of their size; element() makes the second. */
static double cancelling(test_random *r, const place *at)
{
    (void)at;
    return random_uniform(r) + 0.5;
}

/* One element of each operand beyond all others. */
static double one_huge(test_random *r, const place *at)
{
    const double x = random_uniform(r) - 0.5;
    return at->line == at->lines / 2 && at->l == at->k / 3 ? ldexp(x, 300) : x;
}

static double integers(test_random *r, const place *at)
{
    (void)at;
    return random_int(r, -9, 9);
}

/* A from the top of the range, B from the bottom. */
static double opposite(test_random *r, const place *at)
{
    return ldexp(1.0 + random_uniform(r), at->which ? -1022 : 1023);
}

/* The first product of every 16 is 1, the others round off half a unit of it. */
static double half_units(test_random *r, const place *at)
{
    if (at->l % 16 == 0) return 1.0 + random_uniform(r) * 0x1p-10;
    return at->which ? 0x1p-24 * (0.9 + 0.1 * random_uniform(r)) : 1.0 + random_uniform(r);
}

const distribution distributions[] = {
    {"uniform", uniform, false},      {"both signs", both_signs, false},
    {"wide 1", wide1, false},         {"wide 2", wide2, false},
    {"wide 4", wide4, false},         {"constant", constant, false},
    {"graded", graded, false},        {"2^480", huge, false},
    {"2^-480", tiny, false},          {"lines apart", apart, false},
    {"scattered", scattered, false},  {"some scattered", some_scattered, false},
    {"rising", rising, false},        {"falling", falling, false},
    {"crossing", crossing, false},    {"subnormal", subnormal, false},
    {"vanishing", vanishing, false},  {"overflowing", overflowing, false},
    {"zeros", zeros, false},          {"cancelling", cancelling, false},
    {"one huge", one_huge, false},    {"integers", integers, false},
    {"opposite", opposite, false},    {"worst constant", worst_constant, false},
    {"half units", half_units, true},
};
const int distribution_count = sizeof distributions / sizeof *distributions;

const distribution *distribution_find(const char *name)
{
    for (int i = 0; i < distribution_count; i++)
        if (strcmp(distributions[i].name, name) == 0) return &distributions[i];
    CHECK(0, "no distribution is called %s", name);
    return NULL;
}

/* Element l of a line, the same wherever it is stored. */
static double element(const product *of, const distribution *d, const place *at)
{
    test_random r = random_start(of->seed + UINT64_C(0x51ed270b) * (uint64_t)at->l +
                                 (UINT64_C(0x2545f4914f6cdd1d) * (uint64_t)at->line) +
                                 (at->which ? UINT64_C(0x6a09e667f3bcc909) : 0));
    random_bits(&r);
    if (d->element != cancelling || at->l % 2 == 0) return d->element(&r, at);
    place partner = *at;
    partner.l--;
    const double x = element(of, d, &partner);
    return at->which ? -x * (1.0 + 0x1p-44 * random_uniform(&r)) : x;
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
    if (of->beta != 0.0) fill_c(&p);
    return p;
}

void problem_free(problem *p)
{
    matrix_free(&p->a);
    matrix_free(&p->b);
    matrix_free(&p->c);
}

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

const char *product_text(const product *of)
{
    static char text[256];
    snprintf(text, sizeof text,
             "%c%c %d x %d x %d, %s, alpha %g, beta %g, ld +%d +%d +%d, guard %d, seed %d",
             of->op_a == TANDEM_OP_N ? 'N' : 'T', of->op_b == TANDEM_OP_N ? 'N' : 'T', (int)of->m,
             (int)of->n, (int)of->k, of->data, of->alpha, of->beta, of->pad_a, of->pad_b, of->pad_c,
             of->guard, (int)of->seed);
    return text;
}
