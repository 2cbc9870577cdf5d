#include "cholesky_steps.h"

#include "lower.h"
#include "sizes.h"

/* Of complex matrices a product gains from fewer rows on, but where there is one alone. */
td_cholesky_cut td_cholesky_cut_of(const td_problem *p)
{
    enum { PANEL = 2048, REAL = 8192, COMPLEX = 7168, LAST = 4096 };
    const int64_t whole = p->type != TD_COMPLEX_BINARY64 ? REAL : p->n <= COMPLEX ? COMPLEX : LAST;
    return (td_cholesky_cut){PANEL, whole};
}

int64_t td_cholesky_columns(td_cholesky_cut cut, int64_t n, int64_t first)
{
    const int64_t left = n - first;
    return left <= cut.whole ? left : cut.panel;
}

int64_t td_cholesky_products(td_cholesky_cut cut, int64_t n)
{
    return n > cut.whole ? td_ceil_div(n - cut.whole, cut.panel) : 0;
}

td_matrix td_cholesky_part(const td_problem *p, int64_t row, int64_t column)
{
    const int64_t at = p->triangle == TD_UPPER ? column + row * p->a.ld : row + column * p->a.ld;
    return (td_matrix){.data = (char *)p->a.data + at * td_types[p->type].size, .ld = p->a.ld};
}

td_product td_cholesky_product(td_cholesky_cut cut, const td_problem *p, int64_t first)
{
    const int64_t columns = td_cholesky_columns(cut, p->n, first), behind = first + columns;
    const bool is_complex = p->type == TD_COMPLEX_BINARY64;
    const td_problem update = {.kind = TD_RANK_K,
                               .type = p->type,
                               .op_a = p->triangle == TD_LOWER ? TD_OP_N
                                       : is_complex            ? TD_OP_C
                                                               : TD_OP_T,
                               .triangle = p->triangle,
                               .is_hermitian = is_complex,
                               .n = p->n - behind,
                               .k = columns,
                               .alpha = td_scalar_of(TD_BINARY64, -1.0),
                               .beta = td_scalar_of(TD_BINARY64, 1.0),
                               .a = td_cholesky_part(p, behind, first),
                               .c = td_cholesky_part(p, behind, behind),
                               .batch = 1,
                               .stream = p->stream};
    td_product product;
    (void)td_lower(&update, &product);
    return product;
}
