#include "lower.h"

/* A factor of the product: which matrix it is; how the routine's operation becomes the factor's
 * (GIVEN_A and GIVEN_B are op_a and op_b, TRANSPOSED_A is the transpose of what op_a gives, or the
 * conjugate transpose of a Hermitian routine). */
typedef enum { GIVEN_A, GIVEN_B, TRANSPOSED_A } operation;
typedef struct {
    enum { MATRIX_A, MATRIX_B } matrix;
    operation op;
} factor;

/* C of a product has all elements, or those of the routine's triangle. */
typedef enum { ALL_OF_C, TRIANGLE_OF_C } part_of_c;

/* A row for each kind of routine that is a product. */
static const struct {
    td_kind kind;
    factor a, b;
    part_of_c c;
} rows[] = {
    {TD_PRODUCT, {MATRIX_A, GIVEN_A}, {MATRIX_B, GIVEN_B}, ALL_OF_C},
    {TD_RANK_K, {MATRIX_A, GIVEN_A}, {MATRIX_A, TRANSPOSED_A}, TRIANGLE_OF_C},
};

static td_op operation_of(const td_problem *p, operation op)
{
    if (op == GIVEN_B) return p->op_b;
    if (op == GIVEN_A) return p->op_a;
    if (p->op_a != TD_OP_N) return TD_OP_N;
    return p->is_hermitian ? TD_OP_C : TD_OP_T;
}

static td_matrix matrix_of(const td_problem *p, const factor *of)
{
    return of->matrix == MATRIX_A ? p->a : p->b;
}

static td_region_kind region_of(const td_problem *p, part_of_c c)
{
    if (c == ALL_OF_C) return TD_REGION_ALL;
    return p->triangle == TD_LOWER ? TD_REGION_LOWER : TD_REGION_UPPER;
}

bool td_lower(const td_problem *p, td_problem *product)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].kind != p->kind) continue;
        *product = *p;
        product->kind = TD_PRODUCT;
        product->op_a = operation_of(p, rows[i].a.op);
        product->op_b = operation_of(p, rows[i].b.op);
        product->a = matrix_of(p, &rows[i].a);
        product->b = matrix_of(p, &rows[i].b);
        if (rows[i].c == TRIANGLE_OF_C) product->m = p->n; /* a triangle is of a square matrix */
        product->region = region_of(p, rows[i].c);
        product->alpha_is_real = td_problem_type_of_alpha(p) != p->type;
        product->beta_is_real = td_problem_type_of_beta(p) != p->type;
        product->has_real_diagonal = p->is_hermitian && rows[i].c == TRIANGLE_OF_C;
        return true;
    }
    return false;
}
