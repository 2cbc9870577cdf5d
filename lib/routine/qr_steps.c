#include "qr_steps.h"

#include "sizes.h"

int64_t td_qr_reflected(const td_problem *p)
{
    return p->kind == TD_APPLY_Q && p->side == TD_RIGHT ? p->n : p->m;
}

/* THE table of cuts: those of the first row of a call's kind and type that is for as many
 * reflectors. Where panels are factored, a narrow one leaves less for its leaves to do to its own
 * columns, and a wide one longer products behind; finished reflectors have the widest. Blocks gain
 * where emulated products of as many terms do (docs/factor.md). */
enum { FACTOR = 1, FORM = 2, APPLY = 4 };
static const struct {
    int kinds;
    td_type type;
    int64_t most; /* reflectors */
    td_qr_cut cut;
} cuts[] = {
    {FACTOR, TD_BINARY64, 512, {TD_QR_WIDEST / 4, 0, 0, 0}},
    {FACTOR, TD_BINARY64, 6144, {TD_QR_WIDEST / 2, 0, 0, 0}},
    {FACTOR, TD_BINARY64, 14336, {TD_QR_WIDEST, 0, 0, 0}},
    {FACTOR, TD_BINARY64, INT64_MAX, {TD_QR_WIDEST / 2, 2048, 8192, 1024}},
    {FACTOR, TD_COMPLEX_BINARY64, 3072, {TD_QR_WIDEST / 4, 0, 0, 0}},
    {FACTOR, TD_COMPLEX_BINARY64, 7168, {TD_QR_WIDEST / 2, 0, 0, 0}},
    {FACTOR, TD_COMPLEX_BINARY64, 12288, {TD_QR_WIDEST / 2, 1536, 4096, 768}},
    {FACTOR, TD_COMPLEX_BINARY64, INT64_MAX, {TD_QR_WIDEST / 4, 1536, 4096, 768}},
    {FORM | APPLY, TD_BINARY64, 8192, {TD_QR_WIDEST, 0, 0, 0}},
    {FORM | APPLY, TD_BINARY64, INT64_MAX, {TD_QR_WIDEST, 2048, 4096, 1024}},
    {FORM | APPLY, TD_COMPLEX_BINARY64, 5120, {TD_QR_WIDEST / 2, 0, 0, 0}},
    {FORM | APPLY, TD_COMPLEX_BINARY64, 12288, {TD_QR_WIDEST / 2, 1024, 1024, 0}},
    {FORM, TD_COMPLEX_BINARY64, INT64_MAX, {TD_QR_WIDEST / 2, 1536, 2048, 768}},
    {APPLY, TD_COMPLEX_BINARY64, INT64_MAX, {TD_QR_WIDEST / 2, 2048, 2048, 1024}},
};

td_qr_cut td_qr_cut_of(const td_problem *p)
{
    const bool is_right = p->kind == TD_APPLY_Q && p->side == TD_RIGHT;
    const int64_t reflectors =
        is_right ? 0 : td_problem_reflectors(p); /* panels are applied there, not blocks */
    const int kind = p->kind == TD_FACTOR_QR ? FACTOR : p->kind == TD_FORM_Q ? FORM : APPLY;
    int i = 0;
    while (!(cuts[i].kinds & kind) || cuts[i].type != p->type || cuts[i].most < reflectors) i++;
    return cuts[i].cut;
}

int64_t td_qr_blocks(const td_qr_cut *cut, int64_t reflectors)
{
    return cut->block == 0 || reflectors <= cut->last
               ? 1
               : 1 + td_ceil_div(reflectors - cut->last, cut->block);
}

/* Reflectors that are applied together: how many come before them, how many there are, of how many
 * rows; and to how many vectors. */
typedef struct {
    int64_t before, columns, rows, vectors;
} reflectors;

static int64_t columns_left(const td_problem *p, int64_t before)
{
    return td_larger(p->n - before, 0);
}

/* Vectors of a matrix that Q is multiplied with. */
static int64_t applied_to(const td_problem *p) { return p->side == TD_LEFT ? p->n : p->m; }

/* A block's own, as long as it is not of the last one: its triangle is not among its rows. */
static reflectors of_block(const td_problem *p, const td_qr_cut *cut, int64_t number)
{
    const int64_t before = number * cut->block, behind = before + cut->block;
    return (reflectors){before, cut->block, td_qr_reflected(p) - behind,
                        p->kind == TD_APPLY_Q ? applied_to(p) : columns_left(p, behind)};
}

/* A panel's, before column `to`; where Q is formed its own columns are among the vectors. */
static reflectors of_panel(const td_problem *p, int64_t before, int64_t columns, int64_t to)
{
    return (reflectors){before, columns, td_qr_reflected(p) - before,
                        p->kind == TD_APPLY_Q  ? applied_to(p)
                        : p->kind == TD_FORM_Q ? to - before
                                               : to - before - columns};
}

static reflectors of_update(const td_problem *p, int64_t i)
{
    const td_qr_cut cut = td_qr_cut_of(p);
    const int64_t order = td_problem_reflectors(p), blocks = td_qr_blocks(&cut, order) - 1,
                  number = i / 2;
    if (number < blocks) return of_block(p, &cut, number);
    const int64_t before = blocks * cut.block + (number - blocks) * cut.panel;
    return of_panel(p, before, td_smaller(cut.panel, order - before), p->n);
}

/* Panels of a block that reflect columns of it. */
static int64_t panels_within(const td_problem *p, const td_qr_cut *cut)
{
    const int64_t panels = cut->block / cut->panel;
    if (p->kind == TD_APPLY_Q) return 0;
    return p->kind == TD_FACTOR_QR ? panels - 1 : panels;
}

static reflectors of_update_within(const td_problem *p, int64_t i)
{
    const td_qr_cut cut = td_qr_cut_of(p);
    const int64_t panels = td_larger(panels_within(p, &cut), 1), block = i / 2 / panels * cut.block;
    return of_panel(p, block + i / 2 % panels * cut.panel, cut.panel, block + cut.block);
}

int64_t td_qr_updates(const td_problem *p)
{
    const td_qr_cut cut = td_qr_cut_of(p);
    const int64_t order = td_problem_reflectors(p), blocks = td_qr_blocks(&cut, order) - 1,
                  panels = td_ceil_div(order - blocks * cut.block, cut.panel);
    const bool ends_there = p->kind == TD_FACTOR_QR && p->m >= p->n && panels > 0;
    return 2 * (blocks + panels - (ends_there ? 1 : 0));
}

int64_t td_qr_updates_within(const td_problem *p)
{
    const td_qr_cut cut = td_qr_cut_of(p);
    const int64_t blocks = td_qr_blocks(&cut, td_problem_reflectors(p)) - 1;
    return blocks > 0 ? 2 * blocks * panels_within(p, &cut) : 0;
}

/* The first or the second product of some reflectors with the vectors that they are applied to. */
static td_product product_of(const td_problem *p, reflectors r, bool is_first)
{
    return (td_product){.routine = TD_PRODUCT,
                        .type = p->type,
                        .op_a = is_first ? td_adjoint(p->type) : TD_OP_N,
                        .m = is_first ? r.columns : r.rows,
                        .n = r.vectors,
                        .k = is_first ? r.rows : r.columns,
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
