#include "qr_steps.h"

#include "sizes.h"

static int64_t order_of(const td_problem *p) { return td_problem_reflectors(p); }

td_op td_qr_transpose(td_type type) { return type == TD_COMPLEX_BINARY64 ? TD_OP_C : TD_OP_T; }

int64_t td_qr_reflected(const td_problem *p)
{
    return p->kind == TD_APPLY_Q && p->side == TD_RIGHT ? p->n : p->m;
}

/* THE table of panels: their columns, by the most reflectors that a problem may have for them.
 * Where panels are factored, a narrow one leaves less for its leaves to do to its own columns, and
 * a wide one longer products behind. */
static const struct {
    td_type type;
    int64_t most, columns;
} panels[] = {{TD_BINARY64, 512, TD_QR_WIDEST / 4},
              {TD_BINARY64, 6144, TD_QR_WIDEST / 2},
              {TD_BINARY64, INT64_MAX, TD_QR_WIDEST},
              {TD_COMPLEX_BINARY64, 3072, TD_QR_WIDEST / 4},
              {TD_COMPLEX_BINARY64, INT64_MAX, TD_QR_WIDEST / 2}};

/* Finished reflectors are taken by the widest panels. */
int64_t td_qr_panel_columns(const td_problem *p)
{
    const int64_t order = p->kind == TD_FACTOR_QR ? order_of(p) : INT64_MAX;
    int i = 0;
    while (panels[i].type != p->type || panels[i].most < order) i++;
    return panels[i].columns;
}

/* Vectors that the reflectors of a panel of `columns` columns are applied to, behind `before`. */
static int64_t vectors_of(const td_problem *p, int64_t before, int64_t columns)
{
    return p->kind == TD_APPLY_Q  ? (p->side == TD_LEFT ? p->n : p->m)
           : p->kind == TD_FORM_Q ? p->n - before
                                  : p->n - before - columns;
}

/* Step i of k is a product with (m - i)(n - i) elements, and another one; reflectors that are
 * applied to other vectors meet all of these. */
double td_qr_terms(const td_problem *p)
{
    const double m = (double)p->m, n = (double)p->n, k = (double)order_of(p);
    if (p->kind == TD_APPLY_Q) return 2.0 * m * n * k - (p->side == TD_LEFT ? n : m) * k * k;
    return 2.0 * m * n * k - (m + n) * k * k + k * k * k * 2.0 / 3.0;
}

int64_t td_qr_updates(const td_problem *p)
{
    const int64_t panels = td_ceil_div(order_of(p), td_qr_panel_columns(p));
    const bool ends_there = p->kind == TD_FACTOR_QR && p->m >= p->n && panels > 0;
    return 2 * (panels - (ends_there ? 1 : 0));
}

td_product td_qr_update(const td_problem *p, int64_t i)
{
    const int64_t before = i / 2 * td_qr_panel_columns(p), rows = td_qr_reflected(p) - before,
                  columns = td_smaller(td_qr_panel_columns(p), order_of(p) - before);
    const bool is_first = i % 2 == 0;
    return (td_product){.routine = TD_PRODUCT,
                        .type = p->type,
                        .op_a = is_first ? td_qr_transpose(p->type) : TD_OP_N,
                        .m = is_first ? columns : rows,
                        .n = vectors_of(p, before, columns),
                        .k = is_first ? rows : columns,
                        .alpha = td_scalar_of(p->type, 1.0),
                        .beta = td_scalar_of(p->type, is_first ? 0.0 : 1.0),
                        .a = p->a,
                        .b = p->a,
                        .c = p->a,
                        .batch = 1};
}
