#include "eigen_bounds.h"

#include <stdlib.h>

#include "upward.h"

static const double unit = 0x1p-53;

td_product_error td_error_rounded_once(void)
{
    return (td_product_error){.relative = 0.0, .absolute = 0x1p-1074};
}

/* n products and n additions on the way to an element (Higham, Accuracy and Stability, 3.1):
 * gamma_(n+1), here gamma_(n+2); products below 2^-1022 are off by 2^-1075 each. */
td_product_error td_error_of_sums(int n)
{
    const double roundings = ((double)n + 2.0) * unit;
    return (td_product_error){.relative = td_div_up(roundings, td_sub_down(1.0, roundings)),
                              .absolute = td_mul_up((double)n + 1.0, 0x1p-1074)};
}

/* ---- norms of columns ---- */

static double norm_of(const td_norm *norm, int rows)
{
    const double inflation = td_up(1.0 + ((double)rows + 4.0) * 0x1p-52);
    if (norm->squares == 0.0) return 0.0;
    return td_scale_up(td_sqrt_up(td_mul_up(norm->squares, inflation)), (int)norm->exponent);
}

static double column_norm(const td_eigen_measures *m, td_verified_matrix which, int j)
{
    return norm_of(&m->norm[which][j], m->n);
}

static double frobenius_norm(const td_eigen_measures *m, td_verified_matrix which)
{
    double sum = 0.0;
    for (int j = 0; j < m->n; j++) sum = td_hypot_up(sum, column_norm(m, which, j));
    return sum;
}

/* What columns are put together from: norms of whole matrices, 0 where they are not needed. */
typedef struct {
    const td_eigen_measures *m;
    double a, b, x; /* Frobenius norms; of A and B only where products are not rounded once */
    double tiny;    /* norm of a column of elements of 2^-1074 */
    double absolute;
} terms;

static terms terms_of(const td_eigen_measures *m)
{
    const bool is_rounded_once = m->error.relative == 0.0;
    const double root = td_sqrt_up((double)m->n);
    return (terms){.m = m,
                   .a = is_rounded_once ? 0.0 : frobenius_norm(m, TD_OF_A),
                   .b = is_rounded_once || !m->has_b ? 0.0 : frobenius_norm(m, TD_OF_B),
                   .x = frobenius_norm(m, TD_OF_X),
                   .tiny = td_mul_up(root, 0x1p-1074),
                   .absolute = td_mul_up(root, m->error.absolute)};
}

/* The norm of the errors of a product's column: `result` of the computed column, `left` of A,
 * `right` of B's column, `before` of C0's. */
static double product_error(const terms *t, double result, double left, double right, double before)
{
    const double sums = td_add_up(td_mul_up(left, right), before);
    return td_add_up(td_add_up(td_mul_up(unit, result), t->absolute),
                     t->m->error.relative == 0.0 ? 0.0 : td_mul_up(t->m->error.relative, sums));
}

/* P - B X; nothing without B, where P is X. */
static double error_of_p(const terms *t, int j)
{
    if (!t->m->has_b) return 0.0;
    return product_error(t, column_norm(t->m, TD_OF_P, j), t->b, column_norm(t->m, TD_OF_X, j),
                         0.0);
}

/* R - (A X - B X D): the product's own rounding, that of C0 = P D, and P's, times D. */
static double error_of_r(const terms *t, int j)
{
    const double d = fabs(t->m->d[j]);
    const double exact = td_mul_up(d, column_norm(t->m, t->m->has_b ? TD_OF_P : TD_OF_X, j));
    const double rounding = td_add_up(td_mul_up(unit, exact), t->tiny);
    const double product = product_error(t, column_norm(t->m, TD_OF_R, j), t->a,
                                         column_norm(t->m, TD_OF_X, j), td_add_up(exact, rounding));
    return td_add_up(td_add_up(product, rounding), td_mul_up(d, error_of_p(t, j)));
}

/* Column j of A X - B X D or, with B, of X'(A X - B X D). */
static double residual_of(const terms *t, int j)
{
    const double r = column_norm(t->m, TD_OF_R, j), error = error_of_r(t, j);
    if (!t->m->has_b) return td_add_up(r, error);
    const double x_t = column_norm(t->m, TD_OF_T, j);
    return td_add_up(td_add_up(x_t, product_error(t, x_t, t->x, r, 0.0)), td_mul_up(t->x, error));
}

/* The Frobenius norm of X'B X - I. */
static double gram_of(const terms *t)
{
    double sum = 0.0;
    for (int j = 0; j < t->m->n; j++) {
        const double g = column_norm(t->m, TD_OF_G, j);
        const double p = column_norm(t->m, t->m->has_b ? TD_OF_P : TD_OF_X, j);
        const double error =
            td_add_up(product_error(t, g, t->x, p, 1.0), td_mul_up(t->x, error_of_p(t, j)));
        sum = td_hypot_up(sum, td_add_up(g, error));
    }
    return sum;
}

/* ---- clusters ---- */

/* `count` eigenvalues that follow each other in the order of their approximations, which run from
 * `lowest` to `highest`. */
typedef struct {
    int count;
    double lowest, highest;
    double residual;     /* the Frobenius norm of their columns of residuals */
    double lower, upper; /* the interval that holds them */
} group;

static int compare_approximations(const void *a, const void *b)
{
    const double x = ((const group *)a)->lowest, y = ((const group *)b)->lowest;
    return (x > y) - (x < y);
}

/* As many eigenvalues as the group counts lie within the radius of its approximations: that is the
 * norm of its residuals, for more than one times sqrt(2), over a lower bound of the smallest
 * singular value of X (over its square where the residuals are X'(A X - B X D)). */
static void set_interval(group *g, double divisor)
{
    const double residual = g->count == 1 ? g->residual : td_mul_up(g->residual, td_sqrt_up(2.0));
    const double radius = td_div_up(residual, divisor);
    g->lower = td_sub_down(g->lowest, radius);
    g->upper = td_add_up(g->highest, radius);
}

static void absorb(group *into, const group *next, double divisor)
{
    into->residual = td_hypot_up(into->residual, next->residual);
    into->highest = next->highest;
    into->count += next->count;
    set_interval(into, divisor);
}

/* Puts groups together until no two meet, those that are left in front; returns how many. Those
 * before the last are apart, in order, at all times; a group that grows can meet none but the one
 * before it. */
static int merge(group *groups, int n, double divisor)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        group next = groups[i];
        while (count > 0 && !(groups[count - 1].upper < next.lower)) {
            group last = groups[--count];
            absorb(&last, &next, divisor);
            next = last;
        }
        groups[count++] = next;
    }
    return count;
}

static group *make_groups(const terms *t, double divisor)
{
    const int n = t->m->n;
    group *groups = calloc((size_t)n, sizeof *groups);
    for (int j = 0; groups && j < n; j++) {
        const double d = t->m->d[j];
        groups[j] = (group){.count = 1, .lowest = d, .highest = d, .residual = residual_of(t, j)};
        set_interval(&groups[j], divisor);
    }
    if (groups) qsort(groups, (size_t)n, sizeof *groups, compare_approximations);
    return groups;
}

static bool are_finite(const group *groups, int count)
{
    for (int i = 0; i < count; i++)
        if (!isfinite(groups[i].lower) || !isfinite(groups[i].upper)) return false;
    return true;
}

static void write_bounds(const group *groups, int count, double *lower, double *upper,
                         int64_t *cluster)
{
    int at = 0;
    for (int i = 0; i < count; i++)
        for (int member = 0; member < groups[i].count; member++, at++) {
            lower[at] = groups[i].lower;
            upper[at] = groups[i].upper;
            cluster[at] = i;
        }
}

td_bounds_status td_eigen_bounds_find(const td_eigen_measures *m, double *lower, double *upper,
                                      int64_t *cluster, double *gram)
{
    const terms t = terms_of(m);
    *gram = gram_of(&t);
    if (!isfinite(*gram)) return TD_BOUNDS_NOT_FINITE;
    if (!(*gram < 1.0)) return TD_BOUNDS_NOT_INDEPENDENT;
    const double square = td_sub_down(1.0, *gram);
    const double divisor = m->has_b ? square : td_sqrt_down(square);
    if (!(divisor > 0.0)) return TD_BOUNDS_NOT_INDEPENDENT;
    group *groups = make_groups(&t, divisor);
    if (!groups) return TD_BOUNDS_NO_MEMORY;
    const int count = merge(groups, m->n, divisor);
    const bool is_found = are_finite(groups, count);
    if (is_found) write_bounds(groups, count, lower, upper, cluster);
    free(groups);
    return is_found ? TD_BOUNDS_FOUND : TD_BOUNDS_NOT_FINITE;
}
