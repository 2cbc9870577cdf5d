#include "lu_steps.h"

#include "sizes.h"

/* Columns of a wide panel, of which complex ones have half, and of a block where there are several;
 * matrices of fewer columns are one block. */
enum { WIDE = 128, BLOCK = 4096, TWO_BLOCKS = 9216 };

static int64_t order_of(const td_problem *p) { return td_smaller(p->m, p->n); }

/* Blocks are as alike as panels allow. */
td_lu_cut td_lu_cut_of(const td_problem *p)
{
    enum { SMALL = 2048, MIDDLE = 4096 };
    const int64_t order = order_of(p),
                  blocks = order < TWO_BLOCKS ? 1 : (order + BLOCK / 2) / BLOCK;
    const int64_t panel = order <= SMALL || p->type == TD_COMPLEX_BINARY64 ? WIDE / 2
                          : order <= MIDDLE                                ? 3 * WIDE / 4
                                                                           : WIDE;
    return (td_lu_cut){td_round_up(td_larger(1, td_ceil_div(order, blocks)), panel), panel};
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
