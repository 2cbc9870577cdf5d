#include "refsyev_check.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "common.h"
#include "wide.h"

static const double unit = 0x1p-113;        /* the largest relative error of one operation */
static const double enough = 1.0 + 0x1p-40; /* covers the roundings of sums of norms */

typedef struct {
    wide centre, radius;
} interval;

/* n x n matrices, column-major, in one allocation; and vectors. */
typedef struct {
    int n;
    wide *x; /* hi + lo, rounded: what is proven holds for any X, so that takes nothing away */
    wide *p; /* A X */
    wide *g; /* X'X, then X'X - I */
    wide *t; /* X'A X, then X'(A X - X D) */
    interval *lines; /* n; D is the centres */
} workplace;

/* The largest of what the bound is made of. */
typedef struct {
    wide g_error, t_error; /* of an element of G and T, by rounding */
    wide g_norm;           /* maximum norm of G */
    wide t_largest;        /* element of T */
} bounds;

static bool workplace_make(int n, workplace *w)
{
    size_t count = (size_t)n * (size_t)n;

    *w = (workplace){.n = n, .x = calloc(4 * count, sizeof *w->x)};
    w->lines = calloc((size_t)n, sizeof *w->lines);
    if (!w->x || !w->lines) {
        complain("no memory to check %d vectors", n);
        return false;
    }
    w->p = w->x + count;
    w->g = w->p + count;
    w->t = w->g + count;
    return true;
}

static void workplace_free(workplace *w)
{
    free(w->lines);
    free(w->x);
}

/* P <- A X; A's rows are its columns. */
static void multiply_a(const workplace *w, const double *a)
{
    for (ptrdiff_t j = 0, n = w->n; j < n; j++)
        for (ptrdiff_t i = 0; i < n; i++) {
            wide sum = 0;
            for (ptrdiff_t l = 0; l < n; l++) sum += (wide)a[l + i * n] * w->x[l + j * n];
            w->p[i + j * n] = sum;
        }
}

/* Z <- X'Y, which is symmetric. */
static void multiply_x(const workplace *w, const wide *y, wide *z)
{
    for (ptrdiff_t j = 0, n = w->n; j < n; j++)
        for (ptrdiff_t i = j; i < n; i++) {
            wide sum = 0;
            for (ptrdiff_t l = 0; l < n; l++) sum += w->x[l + i * n] * y[l + j * n];
            z[i + j * n] = z[j + i * n] = sum;
        }
}

/* The Frobenius norm, whatever the exponents. */
static wide norm(ptrdiff_t count, const double *a)
{
    double largest = 0.0, sum = 0.0;

    for (ptrdiff_t i = 0; i < count; i++) largest = fmax(largest, fabs(a[i]));
    for (ptrdiff_t i = 0; i < count; i++) sum += a[i] / largest * (a[i] / largest);
    return largest == 0.0 ? 0 : (wide)largest * (wide)sqrt(sum);
}

/* X'X to X'X - I, X'A X to X'(A X - X D) where D are the Rayleigh quotients; D, and the norms of
 * what is small. */
static void subtract(workplace *w, double *largest, eigen_quality *q)
{
    wide g_squares = 0, off_squares = 0;

    *largest = 0.0;
    for (ptrdiff_t j = 0, n = w->n; j < n; j++) {
        wide d = w->t[j + j * n] / w->g[j + j * n];
        w->lines[j].centre = d;
        *largest = fmax(*largest, (double)wide_magnitude(d));
        for (ptrdiff_t i = 0; i < n; i++) {
            wide *g = &w->g[i + j * n], *t = &w->t[i + j * n];
            if (i != j) off_squares += *t * *t;
            *t -= *g * d;
            if (i == j) *g -= 1;
            g_squares += *g * *g;
        }
    }
    q->orthogonality = sqrt((double)g_squares);
    q->off_diagonal = sqrt((double)(off_squares / ((wide)*largest * (wide)*largest)));
}

/* Rounding errors: a dot product of n terms errs by n u |x|'|y| (Higham, Accuracy and Stability,
 * 3.1), so that
 *   |X'X|     errs by n u max |x|^2,          |x| the 2-norm of a column
 *   |X'(A X)| errs by 2 n u max |x|^2 |A|_F,
 * and the differences by a few u of what is subtracted. */
static void bound_errors(const workplace *w, const double *a, double largest, bounds *b)
{
    ptrdiff_t n = w->n;
    double squares = 1.0;

    for (ptrdiff_t j = 0; j < n; j++) squares = fmax(squares, 1.0 + (double)w->g[j + j * n]);
    b->g_error = (wide)(enough * (double)(n + 4) * unit * squares);
    b->t_error =
        (wide)(enough * (double)(2 * n + 8) * unit * squares) * (norm(n * n, a) + (wide)largest);
}

/* The larger of two numbers, NaN if either is. */
static wide larger(wide a, wide b) { return a != a || b <= a ? a : b; }

static void find_norms(const workplace *w, bounds *b)
{
    b->g_norm = b->t_largest = 0;
    for (ptrdiff_t i = 0, n = w->n; i < n; i++) {
        wide g_row = (wide)n * b->g_error;
        for (ptrdiff_t j = 0; j < n; j++) {
            wide t = wide_magnitude(w->t[i + j * n]) + b->t_error;
            g_row += wide_magnitude(w->g[i + j * n]);
            b->t_largest = larger(b->t_largest, t);
        }
        b->g_norm = larger(b->g_norm, g_row);
    }
}

/* With T = X'(A X - X D), G = X'X - I and Y = inv(X) A X: Y - D = inv(I + G) T = T - G inv(I + G)
 *   T, so that |Y - D| <= |T| + |G| E max|t| / (1 - |G|),   E all ones, |G| the maximum norm,
 * and Gershgorin's circles of Y, which has A's eigenvalues, lie within r_i, the sum of row i,
 * around d_i. */
static bool find_radii(workplace *w, const bounds *b)
{
    if (!(b->g_norm < 0.5 && b->t_largest < (wide)DBL_MAX)) return false;
    for (ptrdiff_t i = 0, n = w->n; i < n; i++) {
        wide g_row = (wide)n * b->g_error, t_row = (wide)n * b->t_error;
        for (ptrdiff_t j = 0; j < n; j++) {
            g_row += wide_magnitude(w->g[i + j * n]);
            t_row += wide_magnitude(w->t[i + j * n]);
        }
        w->lines[i].radius =
            (t_row + (wide)n * g_row * b->t_largest / (1 - b->g_norm)) * (wide)enough;
    }
    return true;
}

static wide lower_end(const interval *line) { return line->centre - line->radius; }
static wide upper_end(const interval *line) { return line->centre + line->radius; }

static int compare_lower_ends(const void *a, const void *b)
{
    wide x = lower_end(a), y = lower_end(b);
    return (x > y) - (x < y);
}

/* The number of intervals that meet no other. */
static int count_isolated(int n, interval *lines)
{
    wide highest = 0; /* upper end of the intervals so far */
    int count = 0;

    qsort(lines, (size_t)n, sizeof *lines, compare_lower_ends);
    for (int i = 0; i < n; i++) {
        bool is_above = i == 0 || lower_end(&lines[i]) > highest;
        bool is_below = i == n - 1 || upper_end(&lines[i]) < lower_end(&lines[i + 1]);
        count += is_above && is_below;
        if (i == 0 || upper_end(&lines[i]) > highest) highest = upper_end(&lines[i]);
    }
    return count;
}

static void judge(workplace *w, const double *a, eigen_quality *q)
{
    double largest = 0.0;
    wide radius = 0;
    bounds b;

    subtract(w, &largest, q);
    bound_errors(w, a, largest, &b);
    find_norms(w, &b);
    q->radius = INFINITY;
    q->isolated = 0;
    if (!find_radii(w, &b)) return;
    for (int i = 0; i < w->n; i++) radius = larger(radius, w->lines[i].radius);
    q->radius = (double)(radius / (wide)largest);
    q->isolated = count_isolated(w->n, w->lines);
}

bool eigen_check(int n, const double *a, const double *hi, const double *lo, eigen_quality *q)
{
    workplace w;
    bool is_made = workplace_make(n, &w);

    if (!is_made) goto out;
    for (ptrdiff_t i = 0, count = (ptrdiff_t)n * n; i < count; i++)
        w.x[i] = (wide)hi[i] + (wide)lo[i];
    multiply_a(&w, a);
    multiply_x(&w, w.x, w.g);
    multiply_x(&w, w.p, w.t);
    judge(&w, a, q);
out:
    workplace_free(&w);
    return is_made;
}
