#include "operations.h"

/* Of step i of `steps`, (m - i)(n - i). */
static double terms_of_lu(const td_problem *p)
{
    const double m = (double)p->m, n = (double)p->n, steps = (double)td_problem_order(p);
    return m * n * steps - (m + n) * steps * steps / 2.0 + steps * steps * steps / 3.0;
}

/* Step i of k is a product with (m - i)(n - i) elements, and another one; reflectors that are
 * applied to other vectors meet all of these. */
static double terms_of_reflectors(const td_problem *p)
{
    const double m = (double)p->m, n = (double)p->n, k = (double)td_problem_reflectors(p);
    if (p->kind == TD_APPLY_Q) return 2.0 * m * n * k - (p->side == TD_LEFT ? n : m) * k * k;
    return 2.0 * m * n * k - (m + n) * k * k + k * k * k * 2.0 / 3.0;
}

/* Multiply-adds of elements. */
static double terms_of(const td_problem *p)
{
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k,
                 order = p->side == TD_LEFT ? m : n;
    switch (p->kind) {
    case TD_SYMMETRIC_PRODUCT:
        return order * m * n;
    case TD_RANK_K:
    case TD_RANK_KX:
        return n * (n + 1.0) * k / 2.0;
    case TD_RANK_2K:
        return n * (n + 1.0) * k;
    case TD_TRIANGULAR_SOLVE:
    case TD_TRIANGULAR_PRODUCT:
        return order * m * n / 2.0;
    case TD_LU_SOLVE:
    case TD_CHOLESKY_SOLVE:
        return n * n * k;
    case TD_LU_FACTOR:
    case TD_CHOLESKY_INVERT:
        return n * n * n / 3.0;
    case TD_LU_INVERT:
        return n * n * n * 2.0 / 3.0;
    case TD_INVERT:
        return n * n * n;
    case TD_FACTOR_LU:
        return terms_of_lu(p);
    case TD_FACTOR_CHOLESKY:
        return n * n * n / 6.0;
    case TD_FACTOR_QR:
    case TD_FORM_Q:
    case TD_APPLY_Q:
        return terms_of_reflectors(p);
    case TD_EIGEN: /* a tridiagonal matrix, and the vectors of A from its vectors */
        return n * n * n * (p->lacks_vectors ? 2.0 : 7.0) / 3.0;
    default: /* a product of all of its sizes */
        return m * n * k;
    }
}

double td_operations(const td_problem *p)
{
    const bool is_complex = td_real_type(p->type) != p->type;
    return (is_complex ? 8.0 : 2.0) * terms_of(p);
}
