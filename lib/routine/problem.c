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

/* A matrix of a call as it is stored: how many rows, and if it is there. Of calls that compute
 * nothing it need not be there: cuBLAS asks for no pointer then. */
static bool is_matrix(const td_problem *p, const td_matrix *x, int64_t rows)
{
    return (x->data || x->array || td_problem_is_empty(p)) && x->ld >= (rows > 1 ? rows : 1);
}

static bool is_operation(td_op op) { return op == TD_OP_N || op == TD_OP_T || op == TD_OP_C; }

static bool is_product(const td_problem *p)
{
    return is_operation(p->op_b) && is_matrix(p, &p->a, p->op_a == TD_OP_N ? p->m : p->k) &&
           is_matrix(p, &p->b, p->op_b == TD_OP_N ? p->k : p->n) &&
           is_matrix(p, &p->c, p->c_in_rows ? p->n : p->m);
}

/* Of complex matrices an update takes the transpose that makes C symmetric or Hermitian, not the
 * other. */
static bool is_operation_of_update(const td_problem *p)
{
    const bool is_complex = p->type == TD_COMPLEX_BINARY32 || p->type == TD_COMPLEX_BINARY64;
    const td_op other = p->is_hermitian ? TD_OP_C : TD_OP_T;
    return !is_complex || p->op_a == TD_OP_N || p->op_a == other;
}

static bool is_rank_update(const td_problem *p)
{
    const int64_t rows = p->op_a == TD_OP_N ? p->n : p->k;
    return is_operation_of_update(p) && (p->triangle == TD_LOWER || p->triangle == TD_UPPER) &&
           is_matrix(p, &p->a, rows) && (p->kind == TD_RANK_K || is_matrix(p, &p->b, rows)) &&
           is_matrix(p, &p->c, p->n);
}

/* With a triangle of A beside B. */
static bool is_sided(const td_problem *p)
{
    return (p->side == TD_LEFT || p->side == TD_RIGHT) &&
           (p->triangle == TD_LOWER || p->triangle == TD_UPPER) &&
           is_matrix(p, &p->a, p->side == TD_LEFT ? p->m : p->n) && is_matrix(p, &p->b, p->m) &&
           (p->kind == TD_TRIANGULAR_SOLVE || is_matrix(p, &p->c, p->m)) &&
           (p->kind == TD_SYMMETRIC_PRODUCT || p->diagonal == TD_NON_UNIT_DIAGONAL ||
            p->diagonal == TD_UNIT_DIAGONAL);
}

static bool is_of_factors(const td_problem *p)
{
    if (!is_matrix(p, &p->a, p->n)) return false;
    if (p->kind == TD_LU_FACTOR) return true;
    return is_matrix(p, td_problem_result(p), p->n);
}

bool td_problem_is_valid(const td_problem *p)
{
    if (p->m < 0 || p->n < 0 || p->k < 0 || p->batch < 0 || !is_operation(p->op_a)) return false;
    switch (p->kind) {
    case TD_PRODUCT:
        return is_product(p);
    case TD_RANK_K:
    case TD_RANK_KX:
    case TD_RANK_2K:
        return is_rank_update(p);
    case TD_SYMMETRIC_PRODUCT:
    case TD_TRIANGULAR_SOLVE:
    case TD_TRIANGULAR_PRODUCT:
        return is_sided(p);
    case TD_LU_FACTOR:
    case TD_LU_SOLVE:
    case TD_LU_INVERT:
    case TD_INVERT:
        return is_of_factors(p);
    case TD_KIND_COUNT:
        break;
    }
    return false;
}

bool td_problem_is_empty(const td_problem *p)
{
    const bool has_m = p->kind == TD_PRODUCT || p->kind == TD_SYMMETRIC_PRODUCT ||
                       p->kind == TD_TRIANGULAR_SOLVE || p->kind == TD_TRIANGULAR_PRODUCT;
    return p->n == 0 || p->batch == 0 || (has_m && p->m == 0) ||
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
    switch (p->kind) {
    case TD_TRIANGULAR_SOLVE:
    case TD_LU_SOLVE:
        return &p->b;
    case TD_LU_FACTOR:
        return &p->a;
    default:
        return &p->c;
    }
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
    if (p->kind == TD_LU_FACTOR || p->kind == TD_LU_INVERT || p->kind == TD_INVERT)
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
