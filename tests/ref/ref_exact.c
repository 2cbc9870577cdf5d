/* ref_exact.c - distances from the exact product, with binary128: its significand holds a product of two binary64
 * numbers, its exponent range any of binary64's matrices, and the sum of k products is off by less than k 2^-112 of
 * |A||B|, which errors of 2^-60 do not see. */
#include "ref.h"

#include <float.h>
#include <math.h>

typedef _Float128 wide;

static wide magnitude(wide x) { return x < 0 ? -x : x; }

/* error / size, each of which binary64 may be too small for. */
static double relative(wide error, wide size)
{
    if (error <= 0) return 0.0;
    return size == 0 ? (double)INFINITY : (double)(error / size);
}

double ref_error(const ref_gemm *p, int64_t i, int64_t j, double value)
{
    const wide tiny = (wide)0x1p-1074; /* one rounding of alpha sum + beta c, and one of beta c */
    wide sum = 0, size = 0, exact = 0;
    for (int64_t l = 0; l < p->k && p->alpha != 0.0; l++) {
        const wide product = (wide)p->a[ref_index_a(p->op_a, i, l, p->lda)] *
                             p->b[ref_index_b(p->op_b, l, j, p->ldb)];
        sum += product;
        size += magnitude(product);
    }
    exact = p->alpha * sum;
    size *= magnitude(p->alpha);
    if (p->beta != 0.0) {
        const wide c = (wide)p->beta * p->c[i + j * p->ldc];
        exact += c;
        size += magnitude(c);
    }
    if (isnan(value)) return (double)NAN;
    if (isinf(value))
        return magnitude(exact) >= (wide)DBL_MAX && (value > 0.0) == (exact > 0) ? 0.0
                                                                                 : (double)INFINITY;
    const wide off = magnitude(value - exact);
    return relative(magnitude(exact) < (wide)DBL_MIN ? off - tiny : off, size);
}

double ref_error_typed(const ref_dfgemm *p, int64_t i, int64_t j, tandem_df value)
{
    const wide alpha = (wide)p->alpha.hi + p->alpha.lo, beta = (wide)p->beta.hi + p->beta.lo;
    wide sum = 0, size = 0;
    for (int64_t l = 0; l < p->k && p->alpha.hi != 0.0f; l++) {
        const tandem_df a = p->a[ref_index_a(p->op_a, i, l, p->lda)];
        const tandem_df b = p->b[ref_index_b(p->op_b, l, j, p->ldb)];
        const wide product = ((wide)a.hi + a.lo) * ((wide)b.hi + b.lo);
        sum += product;
        size += magnitude(product);
    }
    wide exact = alpha * sum;
    size *= magnitude(alpha);
    if (p->beta.hi != 0.0f) {
        const tandem_df c = p->c[i + j * p->ldc];
        exact += beta * ((wide)c.hi + c.lo);
        size += magnitude(beta * ((wide)c.hi + c.lo));
    }
    if (isnan(value.hi) || isinf(value.hi)) return (double)value.hi;
    return relative(magnitude((wide)value.hi + value.lo - exact), size);
}
