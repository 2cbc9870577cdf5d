#include "lu_steps.h"

#include "sizes.h"

static int64_t order_of(const td_problem *p) { return td_smaller(p->m, p->n); }

/* THE table of cuts, by the most columns that a matrix may have for them, or rows if these are
 * fewer: columns of a panel, and some of a block; 0: all columns are one. Emulated complex products
 * gain with fewer terms than real ones do (docs/factor.md). */
static const struct {
    td_type type;
    int64_t most, panel, block;
} cuts[] = {{TD_BINARY64, 2048, 64, 0},         {TD_BINARY64, 4096, 96, 0},
            {TD_BINARY64, 9215, 128, 0},        {TD_BINARY64, INT64_MAX, 128, 4096},
            {TD_COMPLEX_BINARY64, 4095, 64, 0}, {TD_COMPLEX_BINARY64, INT64_MAX, 64, 2048}};

/* Blocks are as alike as panels allow. */
td_lu_cut td_lu_cut_of(const td_problem *p)
{
    const int64_t order = order_of(p);
    int i = 0;
    while (cuts[i].type != p->type || cuts[i].most < order) i++;
    const int64_t some = cuts[i].block, blocks = some > 0 ? (order + some / 2) / some : 1;
    return (td_lu_cut){td_round_up(td_larger(1, td_ceil_div(order, blocks)), cuts[i].panel),
                       cuts[i].panel};
}

int64_t td_lu_blocks(const td_problem *p, const td_lu_cut *cut)
{
    return td_ceil_div(order_of(p), cut->block);
}

int64_t td_lu_block_at(const td_problem *p, const td_lu_cut *cut, int64_t i)
{
    return i < td_lu_blocks(p, cut) ? i * cut->block : order_of(p);
}

td_matrix td_lu_part(const td_problem *p, int64_t row, int64_t column)
{
    const int64_t bytes = td_types[p->type].size;
    return (td_matrix){.data = (char *)p->a.data + (row + column * p->a.ld) * bytes, .ld = p->a.ld};
}

td_problem td_lu_block_solve(const td_problem *p, const td_lu_cut *cut, int64_t i)
{
    const int64_t first = td_lu_block_at(p, cut, i), behind = td_lu_block_at(p, cut, i + 1);
    return (td_problem){.kind = TD_TRIANGULAR_SOLVE,
                        .type = p->type,
                        .side = TD_LEFT,
                        .triangle = TD_LOWER,
                        .diagonal = TD_UNIT_DIAGONAL,
                        .m = behind - first,
                        .n = p->n - behind,
                        .alpha = td_scalar_of(p->type, 1.0),
                        .a = td_lu_part(p, first, first),
                        .b = td_lu_part(p, first, behind),
                        .batch = 1,
                        .stream = p->stream};
}

/* What `columns` columns from the diagonal on take away from columns from..to - 1 below. */
td_product td_lu_panel_product(const td_problem *p, int64_t first, int64_t columns, int64_t from,
                               int64_t to)
{
    const int64_t behind = first + columns;
    return (td_product){.routine = TD_PRODUCT,
                        .type = p->type,
                        .m = p->m - behind,
                        .n = to - from,
                        .k = columns,
                        .alpha = td_scalar_of(p->type, -1.0),
                        .beta = td_scalar_of(p->type, 1.0),
                        .a = td_lu_part(p, behind, first),
                        .b = td_lu_part(p, first, from),
                        .c = td_lu_part(p, behind, from),
                        .batch = 1,
                        .stream = p->stream};
}

td_product td_lu_block_product(const td_problem *p, const td_lu_cut *cut, int64_t i)
{
    const int64_t first = td_lu_block_at(p, cut, i), behind = td_lu_block_at(p, cut, i + 1);
    return td_lu_panel_product(p, first, behind - first, behind, p->n);
}
