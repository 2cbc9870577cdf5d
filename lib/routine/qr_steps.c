#include "qr_steps.h"

#include "sizes.h"

static int64_t order_of(const td_problem *p) { return td_problem_reflectors(p); }

td_op td_qr_transpose(td_type type) { return type == TD_COMPLEX_BINARY64 ? TD_OP_C : TD_OP_T; }

int64_t td_qr_reflected(const td_problem *p)
{
    return p->kind == TD_APPLY_Q && p->side == TD_RIGHT ? p->n : p->m;
}

/* THE table of cuts, by the most reflectors that a problem may have for them: columns of a panel,
 * and of a block. Where panels are factored, a narrow one leaves less for its leaves to do to its
 * own columns, and a wide one longer products behind. Blocks gain where emulated products of as
 * many terms do: of large complex matrices (docs/factor.md). */
static const struct {
    td_type type;
    int64_t most, panel, block;
} cuts[] = {{TD_BINARY64, 512, TD_QR_WIDEST / 4, 0},
            {TD_BINARY64, 6144, TD_QR_WIDEST / 2, 0},
            {TD_BINARY64, INT64_MAX, TD_QR_WIDEST, 0},
            {TD_COMPLEX_BINARY64, 3072, TD_QR_WIDEST / 4, 0},
            {TD_COMPLEX_BINARY64, 7168, TD_QR_WIDEST / 2, 0},
            {TD_COMPLEX_BINARY64, INT64_MAX, TD_QR_WIDEST / 2, 2048}};

/* Columns up to which what is left is one block. */
enum { LAST = 4096 };

/* Finished reflectors are taken by the widest panels, without blocks. */
td_qr_cut td_qr_cut_of(const td_problem *p)
{
    const bool is_factored = p->kind == TD_FACTOR_QR;
    const int64_t order = is_factored ? order_of(p) : INT64_MAX;
    int i = 0;
    while (cuts[i].type != p->type || cuts[i].most < order) i++;
    return (td_qr_cut){.panel = cuts[i].panel,
                       .block = is_factored ? cuts[i].block : 0,
                       .last = is_factored && cuts[i].block > 0 ? LAST : INT64_MAX};
}

int64_t td_qr_blocks(const td_qr_cut *cut, int64_t reflectors)
{
    return reflectors <= cut->last ? 1 : 1 + td_ceil_div(reflectors - cut->last, cut->block);
}

/* Step i of k is a product with (m - i)(n - i) elements, and another one; reflectors that are
 * applied to other vectors meet all of these. */
double td_qr_terms(const td_problem *p)
{
    const double m = (double)p->m, n = (double)p->n, k = (double)order_of(p);
    if (p->kind == TD_APPLY_Q) return 2.0 * m * n * k - (p->side == TD_LEFT ? n : m) * k * k;
    return 2.0 * m * n * k - (m + n) * k * k + k * k * k * 2.0 / 3.0;
}

/* Columns of A whose reflectors are applied together, and the first column behind those that they
 * are applied to. */
typedef struct {
    int64_t before, columns, to;
} reflectors;

/* Those of update i; the block's own, as long as it is not of the last one. */
static reflectors of_update(const td_problem *p, int64_t i)
{
    const td_qr_cut cut = td_qr_cut_of(p);
    const int64_t order = order_of(p), blocks = td_qr_blocks(&cut, order) - 1, number = i / 2;
    const int64_t before =
        number < blocks ? number * cut.block : blocks * cut.block + (number - blocks) * cut.panel;
    return (reflectors){before, number < blocks ? cut.block : td_smaller(cut.panel, order - before),
                        p->n};
}

/* A block's last panel has no columns behind it there. */
static reflectors of_update_within(const td_problem *p, int64_t i)
{
    const td_qr_cut cut = td_qr_cut_of(p);
    const int64_t panels = cut.block / cut.panel - 1, block = i / 2 / panels * cut.block;
    return (reflectors){block + i / 2 % panels * cut.panel, cut.panel, block + cut.block};
}

int64_t td_qr_updates(const td_problem *p)
{
    const td_qr_cut cut = td_qr_cut_of(p);
    const int64_t order = order_of(p), blocks = td_qr_blocks(&cut, order) - 1,
                  panels = td_ceil_div(order - blocks * cut.block, cut.panel);
    const bool ends_there = p->kind == TD_FACTOR_QR && p->m >= p->n && panels > 0;
    return 2 * (blocks + panels - (ends_there ? 1 : 0));
}

int64_t td_qr_updates_within(const td_problem *p)
{
    const td_qr_cut cut = td_qr_cut_of(p);
    const int64_t blocks = td_qr_blocks(&cut, order_of(p)) - 1;
    return blocks > 0 ? 2 * blocks * (cut.block / cut.panel - 1) : 0;
}

/* Vectors that the reflectors are applied to. */
static int64_t vectors_of(const td_problem *p, reflectors r)
{
    return p->kind == TD_APPLY_Q  ? (p->side == TD_LEFT ? p->n : p->m)
           : p->kind == TD_FORM_Q ? p->n - r.before
                                  : r.to - r.before - r.columns;
}

/* The first or the second product of some reflectors with the vectors that they are applied to. */
static td_product product_of(const td_problem *p, reflectors r, bool is_first)
{
    const int64_t rows = td_qr_reflected(p) - r.before;
    return (td_product){.routine = TD_PRODUCT,
                        .type = p->type,
                        .op_a = is_first ? td_qr_transpose(p->type) : TD_OP_N,
                        .m = is_first ? r.columns : rows,
                        .n = vectors_of(p, r),
                        .k = is_first ? rows : r.columns,
                        .alpha = td_scalar_of(p->type, 1.0),
                        .beta = td_scalar_of(p->type, is_first ? 0.0 : 1.0),
                        .a = p->a,
                        .b = p->a,
                        .c = p->a,
                        .batch = 1};
}

td_product td_qr_update(const td_problem *p, int64_t i)
{
    return product_of(p, of_update(p, i), i % 2 == 0);
}

td_product td_qr_update_within(const td_problem *p, int64_t i)
{
    return product_of(p, of_update_within(p, i), i % 2 == 0);
}
