#include "ref_eigen.h"

#include <mpfr.h>
#include <stddef.h>
#include <stdlib.h>

struct ref_spectrum {
    int n;
    mpfr_t *diagonal, *squares; /* n; and n - 1 squares of what is beside it */
    mpfr_t q, t;                /* for counts */
};

/* An n x n matrix, column-major; A(i, j) of it. */
#define AT(m, i, j) ((m)[(i) + (ptrdiff_t)(j)*n])

static mpfr_t *make_numbers(int count, int bits)
{
    mpfr_t *x = calloc((size_t)count, sizeof *x);
    if (!x) abort();
    for (int i = 0; i < count; i++) mpfr_init2(x[i], bits);
    return x;
}

static void free_numbers(mpfr_t *x, int count)
{
    for (int i = 0; i < count; i++) mpfr_clear(x[i]);
    free(x);
}

static mpfr_t *make_matrix(int n, const double *a, int bits)
{
    mpfr_t *m = make_numbers(n * n, bits);
    for (int i = 0; i < n * n; i++) mpfr_set_d(m[i], a[i], MPFR_RNDN);
    return m;
}

/* L of B = L L', in B's lower triangle; false where a pivot is not positive. */
static bool factor(int n, mpfr_t *b)
{
    for (int j = 0; j < n; j++) {
        for (int l = 0; l < j; l++)
            for (int i = j; i < n; i++) {
                mpfr_fms(AT(b, i, j), AT(b, i, l), AT(b, j, l), AT(b, i, j), MPFR_RNDN);
                mpfr_neg(AT(b, i, j), AT(b, i, j), MPFR_RNDN);
            }
        if (mpfr_sgn(AT(b, j, j)) <= 0) return false;
        mpfr_sqrt(AT(b, j, j), AT(b, j, j), MPFR_RNDN);
        for (int i = j + 1; i < n; i++) mpfr_div(AT(b, i, j), AT(b, i, j), AT(b, j, j), MPFR_RNDN);
    }
    return true;
}

/* A <- L^-1 A, then its transpose: twice makes L^-1 A L^-T of a symmetric A. */
static void solve_and_transpose(int n, mpfr_t *l, mpfr_t *a)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < i; k++) {
                mpfr_fms(AT(a, i, j), AT(l, i, k), AT(a, k, j), AT(a, i, j), MPFR_RNDN);
                mpfr_neg(AT(a, i, j), AT(a, i, j), MPFR_RNDN);
            }
            mpfr_div(AT(a, i, j), AT(a, i, j), AT(l, i, i), MPFR_RNDN);
        }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < j; i++) mpfr_swap(AT(a, i, j), AT(a, j, i));
}

/* The reflection that makes column k zero below its element k + 1, from both sides; only the lower
 * triangle counts. v, w: n + 1. */
static void reflect(int n, int k, mpfr_t *a, mpfr_t *v, mpfr_t *w)
{
    mpfr_t *const norm = &v[n], *const sum = &w[n];
    bool is_zero = true;
    mpfr_set_zero(*norm, 1);
    for (int i = k + 1; i < n; i++) {
        mpfr_set(v[i], AT(a, i, k), MPFR_RNDN);
        mpfr_fma(*norm, v[i], v[i], *norm, MPFR_RNDN);
        is_zero = is_zero && (i == k + 1 || mpfr_zero_p(v[i]));
    }
    if (is_zero) return;
    mpfr_sqrt(*norm, *norm, MPFR_RNDN);
    if (mpfr_sgn(v[k + 1]) > 0) mpfr_neg(*norm, *norm, MPFR_RNDN);
    mpfr_sub(v[k + 1], v[k + 1], *norm, MPFR_RNDN);
    mpfr_set(AT(a, k + 1, k), *norm, MPFR_RNDN);
    mpfr_set_zero(*sum, 1); /* v'v / 2 */
    for (int i = k + 1; i < n; i++) mpfr_fma(*sum, v[i], v[i], *sum, MPFR_RNDN);
    mpfr_div_2ui(*sum, *sum, 1, MPFR_RNDN);
    for (int i = k + 1; i < n; i++) { /* w = A v / (v'v / 2) */
        mpfr_set_zero(w[i], 1);
        for (int j = k + 1; j < n; j++)
            mpfr_fma(w[i], i >= j ? AT(a, i, j) : AT(a, j, i), v[j], w[i], MPFR_RNDN);
        mpfr_div(w[i], w[i], *sum, MPFR_RNDN);
    }
    mpfr_set_zero(*norm, 1); /* v'w / (v'v) */
    for (int i = k + 1; i < n; i++) mpfr_fma(*norm, v[i], w[i], *norm, MPFR_RNDN);
    mpfr_div(*norm, *norm, *sum, MPFR_RNDN);
    mpfr_div_2ui(*norm, *norm, 1, MPFR_RNDN);
    for (int i = k + 1; i < n; i++) {
        mpfr_fms(w[i], *norm, v[i], w[i], MPFR_RNDN);
        mpfr_neg(w[i], w[i], MPFR_RNDN);
    }
    for (int j = k + 1; j < n; j++)
        for (int i = j; i < n; i++) {
            mpfr_fmma(*sum, v[i], w[j], w[i], v[j], MPFR_RNDN);
            mpfr_sub(AT(a, i, j), AT(a, i, j), *sum, MPFR_RNDN);
        }
}

static ref_spectrum *make_tridiagonal(int n, mpfr_t *a, int bits)
{
    ref_spectrum *s = calloc(1, sizeof *s);
    mpfr_t *v = make_numbers(n + 1, bits), *w = make_numbers(n + 1, bits);
    if (!s) abort();
    for (int k = 0; k < n - 2; k++) reflect(n, k, a, v, w);
    free_numbers(v, n + 1);
    free_numbers(w, n + 1);
    s->n = n;
    s->diagonal = make_numbers(n, bits);
    s->squares = make_numbers(n, bits);
    mpfr_init2(s->q, bits);
    mpfr_init2(s->t, bits);
    for (int i = 0; i < n; i++) {
        mpfr_set(s->diagonal[i], AT(a, i, i), MPFR_RNDN);
        if (i + 1 < n) mpfr_sqr(s->squares[i], AT(a, i + 1, i), MPFR_RNDN);
    }
    return s;
}

ref_spectrum *ref_spectrum_make(int n, const double *a, const double *b, int bits)
{
    mpfr_t *m = make_matrix(n, a, bits), *l = b ? make_matrix(n, b, bits) : NULL;
    const bool is_definite = !b || factor(n, l);
    if (b && is_definite) {
        solve_and_transpose(n, l, m);
        solve_and_transpose(n, l, m);
    }
    ref_spectrum *s = is_definite ? make_tridiagonal(n, m, bits) : NULL;
    free_numbers(m, n * n);
    if (b) free_numbers(l, n * n);
    return s;
}

void ref_spectrum_free(ref_spectrum *s)
{
    if (!s) return;
    free_numbers(s->diagonal, s->n);
    free_numbers(s->squares, s->n);
    mpfr_clear(s->q);
    mpfr_clear(s->t);
    free(s);
}

/* Negative pivots of L D L' = T - x I. A pivot of 0 stands for a tiny positive one, or, if the
 * count is inclusive, for a tiny negative one, and makes the next one infinite, unless the matrix
 * falls apart there. */
int ref_spectrum_count(const ref_spectrum *s, double x, bool inclusive)
{
    mpfr_t *const q = (mpfr_t *)&s->q, *const t = (mpfr_t *)&s->t;
    int count = 0;
    for (int i = 0; i < s->n; i++) {
        mpfr_sub_d(*t, s->diagonal[i], x, MPFR_RNDN);
        if (i > 0 && !mpfr_zero_p(s->squares[i - 1])) {
            mpfr_div(*q, s->squares[i - 1], *q, MPFR_RNDN);
            mpfr_sub(*t, *t, *q, MPFR_RNDN);
        }
        mpfr_swap(*q, *t);
        if (mpfr_zero_p(*q)) mpfr_set_zero(*q, inclusive ? -1 : 1);
        count += mpfr_signbit(*q) != 0;
    }
    return count;
}
