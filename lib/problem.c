#include "problem.h"

static int64_t at_least_one(int64_t x) { return x > 1 ? x : 1; }

static bool is_operation(td_op op) { return op == TD_OP_N || op == TD_OP_T || op == TD_OP_C; }

bool td_gemm_is_empty(const td_gemm *p) { return p->m == 0 || p->n == 0 || p->batch == 0; }

static bool has_data(const td_matrix *x) { return x->data || x->array; }

bool td_gemm_is_valid(const td_gemm *p)
{
    if (!is_operation(p->op_a) || !is_operation(p->op_b)) return false;
    if (!has_data(&p->a) || !has_data(&p->b) || !has_data(&p->c)) return false;
    if (p->m < 0 || p->n < 0 || p->k < 0 || p->batch < 0) return false;
    return p->a.ld >= at_least_one(p->op_a == TD_OP_N ? p->m : p->k) &&
           p->b.ld >= at_least_one(p->op_b == TD_OP_N ? p->k : p->n) &&
           p->c.ld >= at_least_one(p->m);
}
