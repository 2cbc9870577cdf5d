/* ref_exact.c - the exact product, rounded once, and distances from it: sums in fixed-point
 * numbers, sizes in 64 bits. */
#include "ref.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "fixed.h"

typedef struct {
    double part[3];
} number;

/* Element `index` of a matrix. */
static number number_at(const ref_format *format, const void *data, int64_t index)
{
    number x = {{0.0}};
    format->get((const char *)data + index * (int64_t)format->bytes, x.part);
    return x;
}

static long double size_of(const number *x)
{
    return fabsl((long double)x->part[0] + x->part[1] + x->part[2]);
}

/* sum += x y; returns |x y|. */
static long double add_product(fixed *sum, const ref_format *format, number x, number y)
{
    for (int p = 0; p < format->parts; p++)
        for (int q = 0; q < format->parts; q++) fixed_add_product(sum, x.part[p], y.part[q]);
    return size_of(&x) * size_of(&y);
}

/* An element of the product: its value, and the same with all signs positive. */
typedef struct {
    fixed value;
    long double size;
} element;

static void get_binary64(const void *s, double part[3]) { part[0] = *(const double *)s; }

/* sum += a row of op(A) times a column of op(B); returns the sum of the products' sizes. */
static long double add_products(fixed *sum, const ref_typed *p, int64_t i, int64_t j)
{
    long double size = 0.0L;
    for (int64_t l = 0; l < p->k; l++)
        size += add_product(sum, p->format,
                            number_at(p->format, p->a, ref_index_a(p->op_a, i, l, p->lda)),
                            number_at(p->format, p->b, ref_index_b(p->op_b, l, j, p->ldb)));
    return size;
}

/* Adds the products of binary64 matrices, for which most of the time of tests goes. */
static long double add_binary64_products(fixed *sum, const ref_typed *p, int64_t i, int64_t j)
{
    const double *const a = p->a, *const b = p->b;
    long double size = 0.0L;
    for (int64_t l = 0; l < p->k; l++) {
        const double x = a[ref_index_a(p->op_a, i, l, p->lda)],
                     y = b[ref_index_b(p->op_b, l, j, p->ldb)];
        fixed_add_product(sum, x, y);
        size += fabsl((long double)x * (long double)y);
    }
    return size;
}

static element exact_element(const ref_typed *p, int64_t i, int64_t j)
{
    const number alpha = number_at(p->format, p->alpha, 0), beta = number_at(p->format, p->beta, 0);
    element e = {.size = 0.0L};
    fixed sum = {.end = 0};
    if (alpha.part[0] != 0.0)
        e.size = p->format->get == get_binary64 ? add_binary64_products(&sum, p, i, j)
                                                : add_products(&sum, p, i, j);
    e.size *= size_of(&alpha);
    for (int q = 0; q < p->format->parts; q++) fixed_add_multiple(&e.value, &sum, alpha.part[q]);
    if (beta.part[0] != 0.0)
        e.size +=
            add_product(&e.value, p->format, beta, number_at(p->format, p->c, i + j * p->ldc));
    return e;
}

static double relative(long double error, long double size)
{
    if (error <= 0.0L) return 0.0;
    return size == 0.0L ? (double)INFINITY : (double)(error / size);
}

ref_typed ref_as_typed(const ref_gemm *p)
{
    static const ref_format binary64 = {.bytes = sizeof(double), .parts = 1, .get = get_binary64};
    return (ref_typed){&binary64, p->op_a, p->op_b, p->m, p->n,   p->k,   &p->alpha,
                       &p->beta,  p->a,    p->b,    p->c, p->lda, p->ldb, p->ldc};
}

/* Infinity is what every sum from here on rounds to: half a unit above the largest number. So a sum
 * that may be off by that much may be infinite. */
static long double off_of_infinity(double value, long double exact)
{
    const long double least = (long double)DBL_MAX + 0x1p970L;
    return isnan(value) ? (long double)NAN : fabsl(copysignl(least, (long double)value) - exact);
}

ref_distance ref_measure(const ref_gemm *p, int64_t i, int64_t j, double value)
{
    const ref_typed same = ref_as_typed(p);
    element e = exact_element(&same, i, j);
    const long double exact = fixed_value(&e.value);
    ref_distance d = {.nearest = (double)exact, .size = e.size};
    if (!isfinite(value)) {
        if (value != d.nearest) d.off = off_of_infinity(value, exact);
        d.error = d.unrounded = value != d.nearest ? relative(d.off, e.size) : 0.0;
        return d;
    }
    fixed_add_product(&e.value, value, -1.0);
    const long double off = d.off = fabsl(fixed_value(&e.value));
    if (fabsl(exact) < (long double)DBL_MIN) { /* to 53 bits, then to a multiple of 2^-1074 */
        const long double roundings = 0x1p-1075L + 0x1p-53L * fabsl(exact);
        d.error = d.unrounded = relative(off - roundings, e.size);
        return d;
    }
    d.error = relative(off, e.size);
    d.unrounded = relative(value == 0.0 ? off : off - ldexpl(1.0L, ilogb(value) - 53), e.size);
    return d;
}

/* True if all that makes the element is finite. */
static bool is_finite(const ref_gemm *p, int64_t i, int64_t j)
{
    const double c = p->beta == 0.0 ? 0.0 : p->c[i + j * p->ldc];
    bool is_all = isfinite(p->alpha) && isfinite(p->beta) && isfinite(c);
    for (int64_t l = 0; l < p->k; l++)
        is_all = is_all && isfinite(p->a[ref_index_a(p->op_a, i, l, p->lda)]) &&
                 isfinite(p->b[ref_index_b(p->op_b, l, j, p->ldb)]);
    return is_all;
}

/* One element of it as a product of its own. */
static ref_gemm element_of(const ref_gemm *p, int64_t i, int64_t j)
{
    ref_gemm one = *p;
    one.m = one.n = 1;
    one.a += ref_index_a(p->op_a, i, 0, p->lda);
    one.b += ref_index_b(p->op_b, 0, j, p->ldb);
    one.c += i + j * p->ldc;
    return one;
}

bool ref_is_faithful(const char *mode)
{
    return strcmp(mode, "faithful") == 0 || strcmp(mode, "faithful:fp64") == 0;
}

void ref_faithful_element(const ref_gemm *p, int64_t i, int64_t j)
{
    const ref_gemm one = element_of(p, i, j);
    if (p->k > 0 && p->alpha != 0.0 && is_finite(p, i, j))
        *one.c = ref_measure(&one, 0, 0, 0.0).nearest;
    else
        ref_ieee(&one);
}

void ref_faithful_product(const ref_gemm *p)
{
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) ref_faithful_element(p, i, j);
}

double ref_error_typed(const ref_typed *p, int64_t i, int64_t j, const void *value)
{
    const number x = number_at(p->format, value, 0);
    if (!isfinite(x.part[0])) return x.part[0];
    element e = exact_element(p, i, j);
    for (int q = 0; q < p->format->parts; q++) fixed_add_product(&e.value, x.part[q], -1.0);
    return relative(fabsl(fixed_value(&e.value)), e.size);
}
