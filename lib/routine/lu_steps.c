#include "lu_steps.h"

#include "sizes.h"

/* Rows of a panel from its diagonal on. Clusters of blocks keep up to FEW rows in one register of a
 * thread for each column, and up to MANY in two. */
enum { FEW = 4096, MANY = 8192 };

/* THE table of cuts, by the most columns that a matrix may have for them, or rows if these are
 * fewer: some columns of a block, 0 for all; and panels and pieces of many, some and few rows.
 * Emulated complex products gain with fewer terms than real ones do (docs/factor.md). */
static const struct {
    td_type type;
    bool is_late;
    int64_t most, block;
    td_lu_panel_cut of_many, of_some, of_few;
} cuts[] = {{TD_BINARY64, false, 2048, 0, {64, 64}, {64, 64}, {64, 64}},
            {TD_BINARY64, true, 4096, 0, {96, 96}, {96, 96}, {96, 96}},
            {TD_BINARY64, true, 9215, 0, {256, 64}, {256, 64}, {192, 64}},
            {TD_BINARY64, true, INT64_MAX, 5632, {256, 64}, {256, 64}, {192, 64}},
            {TD_COMPLEX_BINARY64, false, 4095, 0, {64, 64}, {64, 64}, {64, 64}},
            {TD_COMPLEX_BINARY64, true, INT64_MAX, 2048, {128, 32}, {128, 64}, {64, 64}}};

/* Blocks are as alike as panels allow. */
td_lu_cut td_lu_cut_of(const td_problem *p)
{
    const int64_t order = td_problem_order(p);
    int i = 0;
    while (cuts[i].type != p->type || cuts[i].most < order) i++;
    const int64_t some = cuts[i].block, blocks = some > 0 ? (order + some / 2) / some : 1,
                  even = td_larger(1, td_ceil_div(order, blocks));
    return (td_lu_cut){.block = td_round_up(even, cuts[i].of_many.panel),
                       .few = FEW,
                       .many = MANY,
                       .of_many = cuts[i].of_many,
                       .of_some = cuts[i].of_some,
                       .of_few = cuts[i].of_few,
                       .is_late = cuts[i].is_late};
}

td_lu_panel_cut td_lu_panel_cut_of(const td_lu_cut *cut, int64_t rows)
{
    return rows > cut->many ? cut->of_many : rows > cut->few ? cut->of_some : cut->of_few;
}

int64_t td_lu_least_piece(const td_lu_cut *cut)
{
    return td_smaller(cut->of_many.piece, td_smaller(cut->of_some.piece, cut->of_few.piece));
}

int64_t td_lu_blocks(const td_problem *p, const td_lu_cut *cut)
{
    return td_ceil_div(td_problem_order(p), cut->block);
}

int64_t td_lu_block_at(const td_problem *p, const td_lu_cut *cut, int64_t i)
{
    return i < td_lu_blocks(p, cut) ? i * cut->block : td_problem_order(p);
}

td_matrix td_lu_part(const td_problem *p, int64_t row, int64_t column)
{
    const int64_t bytes = td_types[p->type].size;
    return (td_matrix){.data = (char *)p->a.data + (row + column * p->a.ld) * bytes, .ld = p->a.ld};
}

td_problem td_lu_panel_solve(const td_problem *p, int64_t first, int64_t behind, int64_t from,
                             int64_t to)
{
    return (td_problem){.kind = TD_TRIANGULAR_SOLVE,
                        .type = p->type,
                        .side = TD_LEFT,
                        .triangle = TD_LOWER,
                        .diagonal = TD_UNIT_DIAGONAL,
                        .m = behind - first,
                        .n = to - from,
                        .alpha = td_scalar_of(p->type, 1.0),
                        .a = td_lu_part(p, first, first),
                        .b = td_lu_part(p, first, from),
                        .batch = 1,
                        .stream = p->stream};
}

td_problem td_lu_block_solve(const td_problem *p, const td_lu_cut *cut, int64_t i)
{
    const int64_t first = td_lu_block_at(p, cut, i), behind = td_lu_block_at(p, cut, i + 1);
    return td_lu_panel_solve(p, first, behind, behind, p->n);
}

/* Rows or columns from..to - 1. */
typedef struct {
    int64_t from, to;
} span;

/* What the columns `of` take away from rows of the columns `in`. */
static td_product product_of(const td_problem *p, span of, span rows, span in)
{
    return (td_product){.routine = TD_PRODUCT,
                        .type = p->type,
                        .m = rows.to - rows.from,
                        .n = in.to - in.from,
                        .k = of.to - of.from,
                        .alpha = td_scalar_of(p->type, -1.0),
                        .beta = td_scalar_of(p->type, 1.0),
                        .a = td_lu_part(p, rows.from, of.from),
                        .b = td_lu_part(p, of.from, in.from),
                        .c = td_lu_part(p, rows.from, in.from),
                        .batch = 1,
                        .stream = p->stream};
}

td_product td_lu_panel_product(const td_problem *p, int64_t first, int64_t columns, int64_t from,
                               int64_t to)
{
    const int64_t behind = first + columns;
    return product_of(p, (span){first, behind}, (span){behind, p->m}, (span){from, to});
}

td_product td_lu_rows_product(const td_problem *p, int64_t begin, int64_t first, int64_t behind,
                              int64_t from, int64_t to)
{
    return product_of(p, (span){begin, first}, (span){first, behind}, (span){from, to});
}

td_product td_lu_block_product(const td_problem *p, const td_lu_cut *cut, int64_t i)
{
    const int64_t first = td_lu_block_at(p, cut, i), behind = td_lu_block_at(p, cut, i + 1);
    return td_lu_panel_product(p, first, behind - first, behind, p->n);
}
