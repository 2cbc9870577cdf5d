#include "problem.h"

const td_type_info td_types[TD_TYPE_COUNT] = {
    [TD_BINARY64] = {"binary64", sizeof(double), sizeof(double)},
    [TD_DF] = {"df", sizeof(tandem_df), _Alignof(tandem_df)},
    [TD_TS] = {"ts", sizeof(tandem_ts), _Alignof(tandem_ts)},
    [TD_DD] = {"dd", sizeof(tandem_dd), _Alignof(tandem_dd)},
    [TD_DS] = {"d+s", sizeof(tandem_ds), _Alignof(tandem_ds)},
    [TD_BINARY32] = {"binary32", sizeof(float), sizeof(float)},
    [TD_COMPLEX_BINARY32] = {"complex binary32", sizeof(td_complex_binary32), sizeof(float)},
    [TD_COMPLEX_BINARY64] = {"complex binary64", sizeof(td_complex_binary64), sizeof(double)},
};

const td_kind_info td_kinds[TD_KIND_COUNT] = {
    [TD_PRODUCT] = {.has_m = true,
                    .has_k = true,
                    .operations = 2,
                    .a = TD_M_OR_K_ROWS,
                    .b = TD_K_OR_N_ROWS,
                    .c = TD_M_ROWS},
    [TD_SYMMETRIC_PRODUCT] = {.has_m = true,
                              .has_side = true,
                              .has_triangle = true,
                              .a = TD_ROWS_OF_SIDE,
                              .b = TD_M_ROWS,
                              .c = TD_M_ROWS},
    [TD_RANK_K] =
        {.has_k = true, .operations = 1, .has_triangle = true, .a = TD_N_OR_K_ROWS, .c = TD_N_ROWS},
    [TD_RANK_KX] = {.has_k = true,
                    .operations = 1,
                    .has_triangle = true,
                    .a = TD_N_OR_K_ROWS,
                    .b = TD_N_OR_K_ROWS,
                    .c = TD_N_ROWS},
    [TD_RANK_2K] = {.has_k = true,
                    .operations = 1,
                    .has_triangle = true,
                    .a = TD_N_OR_K_ROWS,
                    .b = TD_N_OR_K_ROWS,
                    .c = TD_N_ROWS},
    [TD_TRIANGULAR_SOLVE] = {.has_m = true,
                             .operations = 1,
                             .has_side = true,
                             .has_triangle = true,
                             .has_diagonal = true,
                             .a = TD_ROWS_OF_SIDE,
                             .b = TD_M_ROWS},
    [TD_TRIANGULAR_PRODUCT] = {.has_m = true,
                               .operations = 1,
                               .has_side = true,
                               .has_triangle = true,
                               .has_diagonal = true,
                               .a = TD_ROWS_OF_SIDE,
                               .b = TD_M_ROWS,
                               .c = TD_M_ROWS},
    [TD_LU_FACTOR] = {.a = TD_N_ROWS},
    [TD_LU_SOLVE] = {.has_k = true, .operations = 1, .a = TD_N_ROWS, .b = TD_N_ROWS},
    [TD_LU_INVERT] = {.a = TD_N_ROWS, .c = TD_N_ROWS},
    [TD_INVERT] = {.a = TD_N_ROWS, .c = TD_N_ROWS},
    [TD_FACTOR_LU] = {.has_m = true, .a = TD_M_ROWS},
};

/* A matrix of a call as it is stored: how many rows, and if it is there. Of calls that compute
 * nothing it need not be there: cuBLAS asks for no pointer then. */
static bool is_matrix(const td_problem *p, const td_matrix *x, int64_t rows)
{
    return (x->data || x->array || td_problem_is_empty(p)) && x->ld >= (rows > 1 ? rows : 1);
}

static bool is_operation(td_op op) { return op == TD_OP_N || op == TD_OP_T || op == TD_OP_C; }

/* Of complex matrices an update takes the transpose that makes C symmetric or Hermitian, not the
 * other. */
static bool is_operation_of_update(const td_problem *p)
{
    const bool is_complex = p->type == TD_COMPLEX_BINARY32 || p->type == TD_COMPLEX_BINARY64;
    const td_op other = p->is_hermitian ? TD_OP_C : TD_OP_T;
    return !is_complex || p->op_a == TD_OP_N || p->op_a == other;
}

static bool are_letters(const td_problem *p, const td_kind_info *kind)
{
    return is_operation(p->op_a) && (kind->operations < 2 || is_operation(p->op_b)) &&
           (!td_kind_is_update(p->kind) || is_operation_of_update(p)) &&
           (!kind->has_side || p->side == TD_LEFT || p->side == TD_RIGHT) &&
           (!kind->has_triangle || p->triangle == TD_LOWER || p->triangle == TD_UPPER) &&
           (!kind->has_diagonal || p->diagonal == TD_NON_UNIT_DIAGONAL ||
            p->diagonal == TD_UNIT_DIAGONAL);
}

/* Of a matrix with that operation. */
static int64_t count_rows(const td_problem *p, td_rows rows, td_op op)
{
    switch (rows) {
    case TD_M_ROWS:
        return p->m;
    case TD_N_ROWS:
        return p->n;
    case TD_M_OR_K_ROWS:
        return op == TD_OP_N ? p->m : p->k;
    case TD_N_OR_K_ROWS:
        return op == TD_OP_N ? p->n : p->k;
    case TD_K_OR_N_ROWS:
        return op == TD_OP_N ? p->k : p->n;
    case TD_ROWS_OF_SIDE:
        return p->side == TD_LEFT ? p->m : p->n;
    case TD_NO_ROWS:
        break;
    }
    return 0;
}

/* B of a kind with one operation has A's. */
static bool are_matrices(const td_problem *p, const td_kind_info *kind)
{
    const td_op op_b = kind->operations < 2 ? p->op_a : p->op_b;
    return is_matrix(p, &p->a, count_rows(p, kind->a, p->op_a)) &&
           (!kind->b || is_matrix(p, &p->b, count_rows(p, kind->b, op_b))) &&
           (!kind->c || is_matrix(p, &p->c, p->c_in_rows ? p->n : count_rows(p, kind->c, TD_OP_N)));
}

bool td_problem_is_valid(const td_problem *p)
{
    if (p->m < 0 || p->n < 0 || p->k < 0 || p->batch < 0 || p->kind >= TD_KIND_COUNT) return false;
    const td_kind_info *kind = &td_kinds[p->kind];
    return are_letters(p, kind) && are_matrices(p, kind);
}

bool td_problem_is_empty(const td_problem *p)
{
    return p->n == 0 || p->batch == 0 || (td_kinds[p->kind].has_m && p->m == 0) ||
           (p->kind == TD_LU_SOLVE && p->k == 0);
}

static td_type real_if(bool is_real, td_type type)
{
    if (!is_real) return type;
    return type == TD_COMPLEX_BINARY64   ? TD_BINARY64
           : type == TD_COMPLEX_BINARY32 ? TD_BINARY32
                                         : type;
}

td_type td_problem_type_of_alpha(const td_problem *p)
{
    return real_if(p->alpha_is_real || (p->is_hermitian && p->kind == TD_RANK_K), p->type);
}

td_type td_problem_type_of_beta(const td_problem *p)
{
    return real_if(p->beta_is_real || (p->is_hermitian && td_kind_is_update(p->kind)), p->type);
}

bool td_problem_has_rest(const td_problem *p) { return p->rest_a.data || p->rest_a.array; }

static bool is_zero(const td_value *x, td_type type)
{
    switch (type) {
    case TD_BINARY64:
        return x->binary64 == 0.0;
    case TD_DF:
        return x->df.hi == 0.0f;
    case TD_TS:
        return x->ts.x == 0.0f;
    case TD_DD:
        return x->dd.hi == 0.0;
    case TD_DS:
        return x->ds.hi == 0.0;
    case TD_BINARY32:
        return x->binary32 == 0.0f;
    case TD_COMPLEX_BINARY32:
        return x->complex_binary32.re == 0.0f && x->complex_binary32.im == 0.0f;
    case TD_COMPLEX_BINARY64:
        return x->complex_binary64.re == 0.0 && x->complex_binary64.im == 0.0;
    case TD_TYPE_COUNT:
        break;
    }
    return false;
}

bool td_problem_only_scales(const td_problem *p)
{
    const bool has_k = p->kind == TD_PRODUCT || td_kind_is_update(p->kind);
    if (p->kind == TD_FACTOR_LU) return false; /* it has no scalars */
    return (has_k && p->k == 0) ||
           (!p->alpha.device && is_zero(&p->alpha.value, td_problem_type_of_alpha(p)));
}

bool td_problem_is_solve(const td_problem *p)
{
    return p->kind == TD_TRIANGULAR_SOLVE && !p->a.array;
}

bool td_problem_has_beta(const td_problem *p)
{
    return p->beta.device || !is_zero(&p->beta.value, td_problem_type_of_beta(p));
}

bool td_problem_has_addend(const td_problem *p) { return p->addend.data && td_problem_has_beta(p); }

const td_matrix *td_problem_result(const td_problem *p)
{
    const td_kind_info *kind = &td_kinds[p->kind];
    return kind->c ? &p->c : kind->b ? &p->b : &p->a;
}

static td_extent extent(const td_matrix *x, int64_t rows, int64_t columns)
{
    return (td_extent){*x, rows, columns};
}

/* A matrix with an operation, under which it has so many rows and columns. */
static td_extent operand(const td_matrix *x, td_op op, int64_t rows, int64_t columns)
{
    return op == TD_OP_N ? extent(x, rows, columns) : extent(x, columns, rows);
}

/* A matrix that lies in rows or in columns. */
static td_extent in_order(const td_matrix *x, bool in_rows, int64_t rows, int64_t columns)
{
    return operand(x, in_rows ? TD_OP_T : TD_OP_N, rows, columns);
}

td_memory td_problem_memory(const td_problem *p)
{
    const int64_t order = p->kind == TD_TRIANGULAR_SOLVE && p->side == TD_LEFT ? p->m : p->n;
    td_memory memory = {.alpha = p->alpha.device,
                        .beta = p->beta.device,
                        .batch = p->batch,
                        .element_bytes = td_types[p->type].size,
                        .alpha_bytes = td_types[td_problem_type_of_alpha(p)].size,
                        .beta_bytes = td_types[td_problem_type_of_beta(p)].size};
    const int64_t k = td_problem_has_rest(p) ? p->k / 2 : p->k;
    if (p->kind == TD_LU_FACTOR || p->kind == TD_LU_SOLVE || p->kind == TD_LU_INVERT)
        memory.ints[0] = (td_ints){p->pivots, p->n * p->batch};
    if (p->kind == TD_FACTOR_LU)
        memory.ints[0] =
            (td_ints){p->pivots, (p->m < p->n ? p->m : p->n) * (p->has_wide_pivots ? 2 : 1)};
    if (p->kind == TD_LU_FACTOR || p->kind == TD_LU_INVERT || p->kind == TD_INVERT ||
        p->kind == TD_FACTOR_LU)
        memory.ints[1] = (td_ints){p->info, p->batch};
    switch (p->kind) {
    case TD_PRODUCT:
        memory.written = in_order(&p->c, p->c_in_rows, p->m, p->n);
        if (td_problem_has_addend(p))
            memory.added = in_order(&p->addend, p->addend_in_rows, p->m, p->n);
        if (td_problem_only_scales(p)) break;
        memory.read[0] = operand(&p->a, p->op_a, p->m, k);
        memory.read[1] = operand(&p->b, p->op_b, k, p->n);
        if (!td_problem_has_rest(p)) break;
        memory.read[2] = operand(&p->rest_a, p->op_a, p->m, k);
        memory.read[3] = operand(&p->rest_b, p->op_b, k, p->n);
        break;
    case TD_TRIANGULAR_SOLVE:
        memory.written = extent(&p->b, p->m, p->n);
        if (!td_problem_only_scales(p)) memory.read[0] = extent(&p->a, order, order);
        break;
    case TD_LU_FACTOR:
        memory.written = extent(&p->a, order, order);
        break;
    case TD_FACTOR_LU:
        memory.written = extent(&p->a, p->m, p->n);
        break;
    case TD_LU_SOLVE:
        memory.written = extent(&p->b, p->n, p->k);
        memory.read[0] = extent(&p->a, order, order);
        break;
    case TD_LU_INVERT:
    case TD_INVERT:
        memory.written = extent(&p->c, order, order);
        memory.read[0] = extent(&p->a, order, order);
        break;
    default:
        break;
    }
    return memory;
}
