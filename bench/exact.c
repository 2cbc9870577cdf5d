#include "exact.h"

#include <math.h>
#include <stdlib.h>

#include <mpfr.h>

#include "data.h"

/* Bits of an element, all of a number's parts in one, and of a sum. */
enum { ELEMENT_BITS = 256, SUM_BITS = 320 };

struct exact_product {
    int64_t m, n;
    mpfr_t *sum;  /* A B, or alpha A B + beta C0 */
    double *size; /* |A||B|, or |alpha||A||B| + |beta||C0| */
};

static double value_of(const double *parts) { return parts[0] + (parts[1] + parts[2]); }

static void set(mpfr_t x, const double *parts)
{
    mpfr_set_d(x, parts[0], MPFR_RNDN);
    for (int p = 1; p < DATA_PARTS; p++) mpfr_add_d(x, x, parts[p], MPFR_RNDN);
}

static void free_numbers(mpfr_t *x, int64_t count)
{
    for (int64_t i = 0; x && i < count; i++) mpfr_clear(x[i]);
    free(x);
}

/* NULL if there is no memory, or no parts. */
static mpfr_t *make_numbers(const double *parts, int64_t count)
{
    mpfr_t *x = malloc(sizeof *x * (size_t)count);
    for (int64_t i = 0; x && i < count; i++) {
        mpfr_init2(x[i], ELEMENT_BITS);
        set(x[i], parts + DATA_PARTS * i);
    }
    return x;
}

static void sum_element(exact_product *e, int64_t i, int64_t j, int64_t k, mpfr_t *a, mpfr_t *b)
{
    mpfr_t *sum = &e->sum[i + j * e->m];
    double size = 0.0;
    mpfr_init2(*sum, SUM_BITS);
    mpfr_set_zero(*sum, 1);
    for (int64_t l = 0; l < k; l++) {
        mpfr_t *x = &a[i + l * e->m], *y = &b[l + j * k];
        mpfr_fma(*sum, *x, *y, *sum, MPFR_RNDN);
        size += fabs(mpfr_get_d(*x, MPFR_RNDN) * mpfr_get_d(*y, MPFR_RNDN));
    }
    e->size[i + j * e->m] = size;
}

exact_product *exact_make(int64_t m, int64_t n, int64_t k, const double *a, const double *b)
{
    exact_product *e = calloc(1, sizeof *e);
    mpfr_t *x = make_numbers(a, m * k), *y = make_numbers(b, k * n);
    mpfr_t *sum = malloc(sizeof *sum * (size_t)(m * n));
    double *size = malloc(sizeof *size * (size_t)(m * n));
    const bool made = e && x && y && sum && size;
    if (made) {
        *e = (exact_product){m, n, sum, size};
#pragma omp parallel for collapse(2) schedule(dynamic)
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < m; i++) sum_element(e, i, j, k, x, y);
    } else {
        free(e), free(sum), free(size);
        e = NULL;
    }
    free_numbers(x, m * k);
    free_numbers(y, k * n);
    return e;
}

void exact_free(exact_product *e)
{
    if (!e) return;
    free_numbers(e->sum, e->m * e->n);
    free(e->size);
    free(e);
}

/* The larger one; NaN if either is. */
static double larger(double a, double b) { return isnan(a) || a > b ? a : b; }

void exact_update(exact_product *e, double alpha, double beta, const double *c0)
{
    mpfr_t term;
    mpfr_init2(term, SUM_BITS);
    for (int64_t i = 0; i < e->m * e->n; i++) {
        set(term, c0 + DATA_PARTS * i);
        mpfr_mul_d(term, term, beta, MPFR_RNDN);
        mpfr_mul_d(e->sum[i], e->sum[i], alpha, MPFR_RNDN);
        mpfr_add(e->sum[i], e->sum[i], term, MPFR_RNDN);
        e->size[i] = fabs(alpha) * e->size[i] + fabs(beta * value_of(c0 + DATA_PARTS * i));
    }
    mpfr_clear(term);
}

/* |error| in units in the last place that x has in binary64. */
static double in_ulps(double error, const mpfr_t x)
{
    const int least = -1074, exponent = mpfr_zero_p(x) ? least : (int)mpfr_get_exp(x) - 53;
    return ldexp(error, -(exponent > least ? exponent : least));
}

exact_errors exact_compare(const exact_product *e, const double *c)
{
    exact_errors worst = {0};
    const int64_t count = e->m * e->n;
    double squares = 0.0;
    mpfr_t off;
    mpfr_init2(off, SUM_BITS);
    for (int64_t i = 0; i < count; i++) {
        set(off, c + DATA_PARTS * i);
        mpfr_sub(off, off, e->sum[i], MPFR_RNDN);
        const double error = fabs(mpfr_get_d(off, MPFR_RNDN)), err = error / e->size[i];
        if (error == 0.0) continue;
        worst.err = larger(worst.err, err);
        worst.relerr = larger(worst.relerr, error / fabs(value_of(c + DATA_PARTS * i)));
        worst.ulps = larger(worst.ulps, in_ulps(error, e->sum[i]));
        squares += err * err;
    }
    worst.rms = sqrt(squares / (double)count);
    mpfr_clear(off);
    return worst;
}
