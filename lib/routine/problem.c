#include "problem.h"

#include <math.h>

#include "sizes.h"

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

/* What all updates of one triangle have, and all routines whose A is triangular. */
#define UPDATE                                                                                     \
    .has_k = true, .operations = 1, .has_triangle = true, .a = TD_N_OR_K_ROWS, .c = TD_N_ROWS
#define BY_TRIANGLE                                                                                \
    .has_m = true, .operations = 1, .has_side = true, .has_triangle = true, .has_diagonal = true,  \
    .a = TD_ROWS_OF_SIDE, .b = TD_M_ROWS
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
    [TD_RANK_K] = {UPDATE},
    [TD_RANK_KX] = {UPDATE, .b = TD_N_OR_K_ROWS},
    [TD_RANK_2K] = {UPDATE, .b = TD_N_OR_K_ROWS},
    [TD_TRIANGULAR_SOLVE] = {BY_TRIANGLE},
    [TD_TRIANGULAR_PRODUCT] = {BY_TRIANGLE, .c = TD_M_ROWS},
    [TD_LU_FACTOR] = {.a = TD_N_ROWS},
    [TD_LU_SOLVE] = {.has_k = true, .operations = 1, .a = TD_N_ROWS, .b = TD_N_ROWS},
    [TD_LU_INVERT] = {.a = TD_N_ROWS, .c = TD_N_ROWS},
    [TD_INVERT] = {.a = TD_N_ROWS, .c = TD_N_ROWS},
    [TD_FACTOR_LU] = {.has_m = true, .a = TD_M_ROWS},
    [TD_FACTOR_CHOLESKY] = {.has_triangle = true, .a = TD_N_ROWS},
    [TD_FACTOR_QR] = {.has_m = true, .a = TD_M_ROWS},
    [TD_FORM_Q] = {.has_m = true, .has_k = true, .a = TD_M_ROWS},
    [TD_APPLY_Q] = {.has_m = true,
                    .has_k = true,
                    .operations = 1,
                    .has_side = true,
                    .a = TD_ROWS_OF_SIDE,
                    .c = TD_M_ROWS},
    [TD_CHOLESKY_SOLVE] = {.has_k = true, .has_triangle = true, .a = TD_N_ROWS, .b = TD_N_ROWS},
    [TD_CHOLESKY_INVERT] = {.has_triangle = true, .a = TD_N_ROWS},
    [TD_EIGEN] = {.has_triangle = true, .a = TD_N_ROWS},
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

/* ---- what can be counted ---- */

static bool is_countable(double elements) { return fabs(elements) <= TD_MOST_ELEMENTS; }

static bool has_countable_steps(const td_matrix *x)
{
    return is_countable((double)x->ld) && is_countable((double)x->stride);
}

/* Elements of the largest matrix of one member. */
static double largest_matrix(const td_problem *p)
{
    const td_kind_info *kind = &td_kinds[p->kind];
    const double m = (double)p->m, n = (double)p->n, k = (double)p->k,
                 order = p->side == TD_LEFT ? m : n;
    const double result = (kind->has_m ? m : n) * n,
                 of_terms = kind->has_k ? fmax(kind->has_m ? m : n, n) * k : 0.0,
                 of_side = kind->has_side && kind->has_triangle ? order * order : 0.0;
    return fmax(result, fmax(of_terms, of_side));
}

bool td_problem_is_countable(const td_problem *p)
{
    return is_countable((double)p->m) && is_countable((double)p->n) && is_countable((double)p->k) &&
           is_countable((double)p->batch) && has_countable_steps(&p->a) &&
           has_countable_steps(&p->b) && has_countable_steps(&p->c) &&
           has_countable_steps(&p->addend) && p->kind < TD_KIND_COUNT &&
           is_countable(largest_matrix(p) * (double)p->batch);
}

/* ---- what there is to do ---- */

bool td_problem_is_empty(const td_problem *p)
{
    return p->n == 0 || p->batch == 0 || (td_kinds[p->kind].has_m && p->m == 0) ||
           ((p->kind == TD_LU_SOLVE || p->kind == TD_CHOLESKY_SOLVE) && p->k == 0);
}

td_type td_real_type(td_type type)
{
    return type == TD_COMPLEX_BINARY64   ? TD_BINARY64
           : type == TD_COMPLEX_BINARY32 ? TD_BINARY32
                                         : type;
}

td_op td_adjoint(td_type type) { return type == TD_COMPLEX_BINARY64 ? TD_OP_C : TD_OP_T; }

td_type td_problem_type_of_alpha(const td_problem *p)
{
    return p->is_hermitian && p->kind == TD_RANK_K ? td_real_type(p->type) : p->type;
}

td_type td_problem_type_of_beta(const td_problem *p)
{
    return p->is_hermitian && td_kind_is_update(p->kind) ? td_real_type(p->type) : p->type;
}

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

td_scalar td_scalar_of(td_type type, double value)
{
    td_scalar s = {.device = NULL};
    if (type == TD_COMPLEX_BINARY64)
        s.value.complex_binary64 = (td_complex_binary64){value, 0.0};
    else
        s.value.binary64 = value;
    return s;
}

bool td_scalar_counts(const td_scalar *s, td_type type)
{
    return s->device || !is_zero(&s->value, type);
}

bool td_problem_only_scales(const td_problem *p)
{
    const bool has_k = p->kind == TD_PRODUCT || td_kind_is_update(p->kind);
    if (td_kind_is_factorisation(p->kind) || td_kind_is_by_factors(p->kind))
        return false; /* they have no scalars */
    return (has_k && p->k == 0) || !td_scalar_counts(&p->alpha, td_problem_type_of_alpha(p));
}

int64_t td_problem_order(const td_problem *p) { return td_smaller(p->m, p->n); }

int64_t td_problem_reflectors(const td_problem *p)
{
    return p->kind == TD_FACTOR_QR ? td_problem_order(p) : p->k;
}

bool td_problem_is_solve(const td_problem *p)
{
    return p->kind == TD_TRIANGULAR_SOLVE && !p->a.array;
}

const td_matrix *td_problem_result(const td_problem *p)
{
    const td_kind_info *kind = &td_kinds[p->kind];
    return kind->c ? &p->c : kind->b ? &p->b : &p->a;
}

static td_extent extent(const td_matrix *x, int64_t rows, int64_t columns)
{
    return (td_extent){*x, rows, columns};
}

td_extent td_operand(const td_matrix *x, td_op op, int64_t rows, int64_t columns)
{
    return op == TD_OP_N ? extent(x, rows, columns) : extent(x, columns, rows);
}

/* Pivots and info that a call has on the device; batches have both for each member, or
 * their info on the host. */
static void find_ints(const td_problem *p, td_memory *memory)
{
    const int64_t pivots = p->kind == TD_FACTOR_LU && p->m < p->n ? p->m : p->n;
    const bool is_of_batch = p->kind == TD_LU_FACTOR || p->kind == TD_LU_INVERT;
    if (is_of_batch || p->kind == TD_LU_SOLVE || p->kind == TD_FACTOR_LU)
        memory->ints[0] = (td_ints){p->pivots, pivots * p->batch * (p->has_wide_pivots ? 2 : 1)};
    if (is_of_batch || p->kind == TD_INVERT || td_kind_is_factorisation(p->kind) ||
        (td_kind_is_by_factors(p->kind) && !p->a.array))
        memory->ints[1] = (td_ints){p->info, p->batch};
}

/* Of calls of QR: scalars of reflectors are read, too. */
static void find_reflectors(const td_problem *p, td_memory *memory)
{
    const bool applies = p->kind == TD_APPLY_Q;
    memory->written = extent(applies ? &p->c : &p->a, p->m, p->n);
    memory->read[0] = extent(&(td_matrix){.data = p->tau}, td_problem_reflectors(p), 1);
    if (applies) memory->read[1] = extent(&p->a, p->side == TD_LEFT ? p->m : p->n, p->k);
}

static void find_matrices(const td_problem *p, td_memory *memory)
{
    const int64_t order = p->kind == TD_TRIANGULAR_SOLVE && p->side == TD_LEFT ? p->m : p->n;
    switch (p->kind) {
    case TD_TRIANGULAR_SOLVE:
        memory->written = extent(&p->b, p->m, p->n);
        if (!td_problem_only_scales(p)) memory->read[0] = extent(&p->a, order, order);
        break;
    case TD_LU_FACTOR:
    case TD_FACTOR_CHOLESKY:
    case TD_CHOLESKY_INVERT:
        memory->written = extent(&p->a, order, order);
        break;
    case TD_EIGEN:
        memory->written = extent(&p->a, order, order);
        memory->read[0] = extent(&(td_matrix){.data = p->values}, order, 1);
        break;
    case TD_FACTOR_LU:
        memory->written = extent(&p->a, p->m, p->n);
        break;
    case TD_FACTOR_QR:
    case TD_FORM_Q:
    case TD_APPLY_Q:
        find_reflectors(p, memory);
        break;
    case TD_LU_SOLVE:
    case TD_CHOLESKY_SOLVE:
        memory->written = extent(&p->b, p->n, p->k);
        memory->read[0] = extent(&p->a, order, order);
        break;
    case TD_LU_INVERT:
    case TD_INVERT:
        memory->written = extent(&p->c, order, order);
        memory->read[0] = extent(&p->a, order, order);
        break;
    default:
        break;
    }
}

td_memory td_problem_memory(const td_problem *p)
{
    const int size = td_types[p->type].size;
    td_memory memory = {
        .alpha = p->alpha.device, .batch = p->batch, .element_bytes = size, .alpha_bytes = size};
    find_ints(p, &memory);
    find_matrices(p, &memory);
    return memory;
}
