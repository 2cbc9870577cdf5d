#include "solution_steps.h"

#include "lower.h"
#include "sizes.h"

int td_solution_solves(const td_problem *p) { return p->kind == TD_CHOLESKY_INVERT ? 1 : 2; }

/* op(P' L U) is solved by its first factor first, and so are L L' and U' U. */
td_problem td_solution_solve(const td_problem *p, int number)
{
    const bool is_lu = p->kind == TD_LU_SOLVE, is_inverse = p->kind == TD_CHOLESKY_INVERT;
    const bool by_lower = is_lu ? (number == 0) == (p->op_a == TD_OP_N) : p->triangle == TD_LOWER;
    const bool is_as_is = (number == 0) == (p->triangle == TD_LOWER);
    return (td_problem){
        .kind = TD_TRIANGULAR_SOLVE,
        .type = p->type,
        .side = TD_LEFT,
        .triangle = by_lower ? TD_LOWER : TD_UPPER,
        .op_a = is_lu      ? p->op_a
                : is_as_is ? TD_OP_N
                           : td_adjoint(p->type),
        .diagonal = is_lu && by_lower ? TD_UNIT_DIAGONAL : TD_NON_UNIT_DIAGONAL,
        .is_lower_b = is_inverse,
        .m = p->n,
        .n = is_inverse ? p->n : p->k,
        .alpha = td_scalar_of(p->type, 1.0),
        .a = p->a,
        .b = is_inverse ? (td_matrix){.ld = p->n} : p->b,
        .batch = 1,
        .stream = p->stream,
        .lent = p->lent,
    };
}

bool td_solution_exchanges(const td_problem *p) { return p->kind == TD_LU_SOLVE && p->pivots; }

bool td_solution_exchanges_first(const td_problem *p) { return p->op_a == TD_OP_N; }

/* ---- inverses ---- */

/* Rows of Y of a product: the fewer they are, the fewer zeros are multiplied. */
static int64_t rows_of_product(const td_problem *p)
{
    enum { LEAST = 512, PRODUCTS = 8 };
    return td_larger(LEAST, td_ceil_div(p->n, PRODUCTS));
}

int64_t td_inverse_products(const td_problem *p) { return td_ceil_div(p->n, rows_of_product(p)); }

/* From the last rows of Y, which have elements in all columns, to the first. */
td_product td_inverse_product(const td_problem *p, int64_t number, void *y, int64_t ld)
{
    const int64_t rows = rows_of_product(p), first = (td_inverse_products(p) - 1 - number) * rows,
                  behind = td_smaller(first + rows, p->n);
    const td_problem call = {
        .kind = TD_RANK_K,
        .type = p->type,
        .op_a = td_adjoint(p->type),
        .triangle = p->triangle,
        .is_hermitian = p->type == TD_COMPLEX_BINARY64,
        .n = behind,
        .k = behind - first,
        .alpha = td_scalar_of(TD_BINARY64, 1.0),
        .beta = td_scalar_of(TD_BINARY64, number == 0 ? 0.0 : 1.0),
        .a = {.data = (char *)y + first * td_types[p->type].size, .ld = ld},
        .c = p->a,
        .batch = 1,
        .stream = p->stream,
        .lent = p->lent,
    };
    td_product product;
    (void)td_lower(&call, &product);
    return product;
}
