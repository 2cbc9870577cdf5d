#include "lower.h"

/* What a factor's operation is: GIVEN_A and GIVEN_B are op_a and op_b, TRANSPOSED_A is the
 * transpose of what op_a gives, or the conjugate transpose of a Hermitian routine. */
typedef enum { GIVEN_A, GIVEN_B, TRANSPOSED_A } operation;

/* A factor of the product: a matrix, its operation, and how it is stored: in full, or in the
 * routine's triangle. */
typedef enum { MATRIX_A, MIRRORED_A, TRIANGULAR_A, MATRIX_B } matrix;
typedef struct {
    matrix matrix;
    operation op;
} factor;

/* C of a product has all elements, or those of the routine's triangle. */
typedef enum { ALL_OF_C, TRIANGLE_OF_C } part_of_c;

/* How many terms the factors have: k; the rows of C, or the columns if `side` is right, where the
 * factors change places; or k twice, because the product of the two matrices with their places
 * changed is added. */
typedef enum { K_TERMS, TERMS_OF_SIDE, K_TERMS_TWICE } terms;

/* A row for each kind of routine that is a product of another kind. */
typedef struct {
    td_kind kind;
    factor a, b;
    part_of_c c;
    terms k;
} row;
static const row rows[] = {
    {TD_SYMMETRIC_PRODUCT, {MIRRORED_A, GIVEN_A}, {MATRIX_B, GIVEN_B}, ALL_OF_C, TERMS_OF_SIDE},
    {TD_RANK_K, {MATRIX_A, GIVEN_A}, {MATRIX_A, TRANSPOSED_A}, TRIANGLE_OF_C, K_TERMS},
    {TD_RANK_KX, {MATRIX_A, GIVEN_A}, {MATRIX_B, TRANSPOSED_A}, TRIANGLE_OF_C, K_TERMS},
    {TD_RANK_2K, {MATRIX_A, GIVEN_A}, {MATRIX_B, TRANSPOSED_A}, TRIANGLE_OF_C, K_TERMS_TWICE},
    {TD_TRIANGULAR_PRODUCT, {TRIANGULAR_A, GIVEN_A}, {MATRIX_B, GIVEN_B}, ALL_OF_C, TERMS_OF_SIDE},
};

static const row *find(td_kind kind)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == kind) return &rows[i];
    return NULL;
}

static td_op operation_of(const td_problem *p, operation op)
{
    if (op == GIVEN_B) return p->op_b;
    if (op == GIVEN_A) return p->op_a;
    if (p->op_a != TD_OP_N) return TD_OP_N;
    return p->is_hermitian ? TD_OP_C : TD_OP_T;
}

static td_matrix matrix_of(const td_problem *p, const factor *of)
{
    return of->matrix == MATRIX_B ? p->b : p->a;
}

static td_form form_of(const td_problem *p, const factor *of)
{
    if (of->matrix == MIRRORED_A)
        return (td_form){.storage = TD_STORED_MIRRORED,
                         .triangle = p->triangle,
                         .is_hermitian = p->is_hermitian};
    if (of->matrix == TRIANGULAR_A)
        return (td_form){.storage = TD_STORED_TRIANGULAR,
                         .triangle = p->triangle,
                         .is_unit = p->diagonal == TD_UNIT_DIAGONAL};
    return (td_form){.storage = TD_STORED_FULL};
}

static td_region_kind region_of(const td_problem *p, part_of_c c)
{
    if (c == ALL_OF_C) return TD_REGION_ALL;
    return p->triangle == TD_LOWER ? TD_REGION_LOWER : TD_REGION_UPPER;
}

static void set_factors(const td_problem *p, const factor *a, const factor *b, td_product *product)
{
    product->op_a = operation_of(p, a->op);
    product->op_b = operation_of(p, b->op);
    product->a = matrix_of(p, a);
    product->b = matrix_of(p, b);
    product->form_a = form_of(p, a);
    product->form_b = form_of(p, b);
}

static void set_terms(const td_problem *p, terms terms, td_product *product)
{
    if (terms == TERMS_OF_SIDE) product->k = p->side == TD_RIGHT ? p->n : p->m;
    if (terms != K_TERMS_TWICE) return;
    /* alpha' differs from alpha in a Hermitian update, whose second product is the first one's
     * conjugate transpose. */
    product->adds_mirror = p->is_hermitian;
    if (p->is_hermitian) return;
    product->k = 2 * p->k;
    product->rest_a = product->b;
    product->rest_b = product->a;
}

/* The product that p is, if it is one; of other routines what their products have of them. */
static td_product product_of(const td_problem *p)
{
    return (td_product){.type = p->type,
                        .op_a = p->op_a,
                        .op_b = p->op_b,
                        .form_a.is_conjugate = p->is_conjugate_a,
                        .form_b.is_conjugate = p->is_conjugate_b,
                        .routine = p->kind,
                        .alpha_is_real = td_problem_type_of_alpha(p) != p->type,
                        .beta_is_real = td_problem_type_of_beta(p) != p->type,
                        .m = p->m,
                        .n = p->n,
                        .k = p->k,
                        .alpha = p->alpha,
                        .beta = p->beta,
                        .a = p->a,
                        .b = p->b,
                        .c = p->c,
                        .addend = p->addend,
                        .c_in_rows = p->c_in_rows,
                        .addend_in_rows = p->addend_in_rows,
                        .batch = p->batch,
                        .stream = p->stream,
                        .lent = p->lent};
}

bool td_lower(const td_problem *p, td_product *product)
{
    const row *r = find(p->kind);
    *product = product_of(p);
    if (!r) return p->kind == TD_PRODUCT;
    const bool is_swapped = r->k == TERMS_OF_SIDE && p->side == TD_RIGHT;
    product->region = region_of(p, r->c);
    product->has_real_diagonal = p->is_hermitian && r->c == TRIANGLE_OF_C;
    set_factors(p, is_swapped ? &r->b : &r->a, is_swapped ? &r->a : &r->b, product);
    set_terms(p, r->k, product);
    if (r->c == TRIANGLE_OF_C) product->m = p->n; /* a triangle is of a square matrix */
    return true;
}
