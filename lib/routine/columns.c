#include "columns.h"

/* Products of fewer columns than LEAST are slower. An eighth of C leaves a sixteenth of the
 * triangle's elements to be made in vain. */
enum { LEAST = 128, SHARES = 8, UNIT = 64 };

/* True if one product makes T of all of C, for each element needs that of its mirror image, too:
 * of an update that is the sum of a product and its transpose, as it is before it is unfolded. */
static bool is_whole(const td_problem *p) { return td_problem_has_rest(p) || p->adds_mirror; }

int64_t td_dgemm_columns(const td_problem *p)
{
    if (is_whole(p)) return p->n;
    return td_smaller(p->n, td_larger(LEAST, td_round_up(td_ceil_div(p->n, SHARES), UNIT)));
}

td_part td_dgemm_rows(const td_problem *p, const td_part *part)
{
    const td_region region = td_problem_region(p);
    const int64_t first = part->j << region.row_shift,
                  end = (part->j + part->n) << region.row_shift, behind = part->i + part->m;
    td_part rows = *part;
    if (is_whole(p)) return rows;
    if (region.kind == TD_REGION_LOWER) {
        rows.i = td_larger(part->i, first);
        rows.m = (int)(behind - rows.i);
    } else if (region.kind == TD_REGION_UPPER) {
        rows.m = (int)(td_smaller(behind, end) - part->i);
    }
    return rows;
}

td_problem td_dgemm_product(const td_problem *p, const td_part *part)
{
    td_problem product = {.kind = TD_PRODUCT,
                          .type = p->type,
                          .op_a = p->op_a,
                          .op_b = p->op_b,
                          .m = part->m,
                          .n = part->n,
                          .k = td_problem_has_rest(p) ? p->k / 2 : p->k,
                          .batch = 1,
                          .stream = p->stream};
    if (p->type == TD_COMPLEX_BINARY64)
        product.alpha.value.complex_binary64.re = 1.0;
    else
        product.alpha.value.binary64 = 1.0;
    return product;
}
