#include "solve_steps.h"

#include "sizes.h"

int64_t td_solve_order(const td_problem *p) { return p->side == TD_LEFT ? p->m : p->n; }

int64_t td_solve_vectors(const td_problem *p) { return p->side == TD_LEFT ? p->n : p->m; }

int64_t td_solve_most_rows(td_type type)
{
    return TD_SOLVE_MOST / (type == TD_COMPLEX_BINARY64 ? 2 : 1);
}

int64_t td_solve_blocks(const td_problem *p, int64_t block_rows)
{
    return td_ceil_div(td_solve_order(p), block_rows);
}

/* True if the first row or column of op(A) is solved first. */
static bool is_forward(const td_problem *p)
{
    const bool is_lower = (p->triangle == TD_LOWER) == (p->op_a == TD_OP_N);
    return is_lower == (p->side == TD_LEFT);
}

/* Rows of A, in A's own numbers. */
typedef struct {
    int64_t first, count;
} rows;

/* So many of them, or as many as there are, in the order of the solve. */
static rows rows_of(const td_problem *p, int64_t first, int64_t most)
{
    const int64_t order = td_solve_order(p), count = td_smaller(most, order - first);
    return (rows){is_forward(p) ? first : order - first - count, count};
}

/* Vectors that have elements in these rows of a solution, or before. */
static int64_t vectors_in(const td_problem *p, rows r)
{
    const int64_t all = td_solve_vectors(p);
    return p->is_lower_b ? td_smaller(all, r.first + r.count) : all;
}

/* An element of a matrix. */
static void *at(const td_problem *p, const td_matrix *x, int64_t row, int64_t column)
{
    return (char *)x->data + (row + column * x->ld) * td_types[p->type].size;
}

/* The part of A that op makes the rows i and columns j of op(A). */
static td_matrix part_of_a(const td_problem *p, int64_t i, int64_t j)
{
    const bool as_is = p->op_a == TD_OP_N;
    return (td_matrix){.data = at(p, &p->a, as_is ? i : j, as_is ? j : i), .ld = p->a.ld};
}

/* From row i on of the solution or, where A is on the right, from column i on. */
static td_matrix part_of_b(const td_problem *p, int64_t i)
{
    const bool is_left = p->side == TD_LEFT;
    return (td_matrix){.data = at(p, &p->b, is_left ? i : 0, is_left ? 0 : i), .ld = p->b.ld};
}

td_solve_block td_solve_block_of(const td_problem *p, int64_t block_rows, int64_t block)
{
    const bool is_left = p->side == TD_LEFT, is_transposed = is_left != (p->op_a == TD_OP_N);
    const int64_t sign = is_forward(p) ? 1 : -1;
    const rows r = rows_of(p, block * block_rows, block_rows);
    const int64_t start = is_forward(p) ? r.first : r.first + r.count - 1;
    return (td_solve_block){
        .type = p->type,
        .triangle = at(p, &p->a, start, start),
        .row_step = sign * (is_transposed ? p->a.ld : 1),
        .column_step = sign * (is_transposed ? 1 : p->a.ld),
        .is_unit = p->diagonal == TD_UNIT_DIAGONAL,
        .is_conjugate = p->op_a == TD_OP_C,
        .vectors = part_of_b(p, start).data,
        .element_step = sign * (is_left ? 1 : p->b.ld),
        .vector_step = is_left ? p->b.ld : 1,
        .order = (int)r.count,
        .count = vectors_in(p, r),
        .alpha = p->alpha,
        .is_first = block == 0,
    };
}

td_problem td_solve_part(const td_problem *p, int64_t block_rows, int64_t block, int64_t blocks)
{
    const rows r = rows_of(p, block * block_rows, blocks * block_rows);
    td_problem part = *p;
    part.a.data = at(p, &p->a, r.first, r.first);
    part.b = part_of_b(p, r.first);
    *(p->side == TD_LEFT ? &part.m : &part.n) = r.count;
    if (block > 0) part.alpha = td_scalar_of(p->type, 1.0);
    return part;
}

td_product td_solve_update(const td_problem *p, int64_t block_rows, int64_t known)
{
    const bool is_left = p->side == TD_LEFT;
    const int64_t blocks = known & -known;
    const rows source = rows_of(p, (known - blocks) * block_rows, blocks * block_rows),
               target = rows_of(p, known * block_rows, blocks * block_rows);
    const int64_t vectors = vectors_in(p, source);
    const td_matrix x = part_of_b(p, source.first),
                    a = is_left ? part_of_a(p, target.first, source.first)
                                : part_of_a(p, source.first, target.first);
    return (td_product){
        .type = p->type,
        .op_a = is_left ? p->op_a : TD_OP_N,
        .op_b = is_left ? TD_OP_N : p->op_a,
        .m = is_left ? target.count : vectors,
        .n = is_left ? vectors : target.count,
        .k = source.count,
        .alpha = td_scalar_of(p->type, -1.0),
        .beta = known == blocks ? p->alpha : td_scalar_of(p->type, 1.0),
        .a = is_left ? a : x,
        .b = is_left ? x : a,
        .c = part_of_b(p, target.first),
        .batch = 1,
        .stream = p->stream,
        .lent = p->lent,
    };
}
