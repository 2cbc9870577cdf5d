#include "native_knows.h"

#include <limits.h>

static bool fits(const td_matrix *x) { return x->ld <= INT_MAX; }

static bool has_arrays(const td_problem *p) { return p->a.array || p->b.array || p->c.array; }

bool td_native_knows(const td_problem *p)
{
    if (p->enqueue) return true;
    const bool is_product = p->kind == TD_PRODUCT, is_level3 = td_kinds[p->kind].has_triangle;
    if (!is_product && !(is_level3 && p->batch == 1 && !has_arrays(p))) return false;
    if (p->is_conjugate_a || p->is_conjugate_b) return false;
    if (p->type != TD_BINARY64 && p->type != TD_COMPLEX_BINARY64) return false;
    if (has_arrays(p) && !(p->a.array && p->b.array && p->c.array)) return false;
    return p->m <= INT_MAX && p->n <= INT_MAX && p->k <= INT_MAX && p->batch <= INT_MAX &&
           fits(&p->a) && fits(&p->b) && fits(&p->c) && !p->alpha.device == !p->beta.device;
}
