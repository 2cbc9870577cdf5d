#include "cholesky_steps.h"

#include "lower.h"
#include "sizes.h"

/* Of complex matrices a product gains from fewer rows on, but where there is one alone. */
td_cholesky_cut td_cholesky_cut_of(const td_problem *p)
{
    enum { PANEL = 2048, REAL = 8192, COMPLEX = 7168, LAST = 4096 };
    const int64_t whole = p->type != TD_COMPLEX_BINARY64 ? REAL : p->n <= COMPLEX ? COMPLEX : LAST;
    return (td_cholesky_cut){.panel = PANEL, .whole = whole, .in_pairs = true};
}

int64_t td_cholesky_columns(td_cholesky_cut cut, int64_t n, int64_t first)
{
    const int64_t left = n - first;
    return left <= cut.whole ? left : cut.panel;
}

int64_t td_cholesky_panels(td_cholesky_cut cut, int64_t n)
{
    return n > cut.whole ? td_ceil_div(n - cut.whole, cut.panel) : 0;
}

/* Of a pair there are three. */
enum { OWN, BELOW, BOTH, OF_PAIR };

int64_t td_cholesky_products(td_cholesky_cut cut, int64_t n)
{
    const int64_t panels = td_cholesky_panels(cut, n);
    return cut.in_pairs ? panels / 2 * OF_PAIR + panels % 2 : panels;
}

/* An element behind all panels meets the products of all pairs, and that of a last panel without a
 * second one; an element of a pair's second panel meets those of the pairs before, and one more. */
int64_t td_cholesky_products_of_element(td_cholesky_cut cut, int64_t n)
{
    const int64_t panels = td_cholesky_panels(cut, n);
    return cut.in_pairs ? (panels + 1) / 2 : panels;
}

int64_t td_cholesky_most_terms(td_cholesky_cut cut, int64_t n)
{
    return cut.in_pairs && td_cholesky_panels(cut, n) > 1 ? 2 * cut.panel : cut.panel;
}

int64_t td_cholesky_first_product(td_cholesky_cut cut, int64_t panel)
{
    return cut.in_pairs ? panel / 2 * OF_PAIR + (panel % 2 ? BOTH : OWN) : panel;
}

/* True if another panel but the last comes behind this one, to which they are a pair. */
static bool has_second(td_cholesky_cut cut, int64_t n, int64_t panel)
{
    return cut.in_pairs && panel % 2 == 0 && panel + 1 < td_cholesky_panels(cut, n);
}

int td_cholesky_products_behind(td_cholesky_cut cut, int64_t n, int64_t panel)
{
    return has_second(cut, n, panel) ? 2 : 1;
}

td_matrix td_cholesky_part(const td_problem *p, int64_t row, int64_t column)
{
    const int64_t at = p->triangle == TD_UPPER ? column + row * p->a.ld : row + column * p->a.ld;
    return (td_matrix){.data = (char *)p->a.data + at * td_types[p->type].size, .ld = p->a.ld};
}

static td_op mirrored(const td_problem *p)
{
    return p->type == TD_COMPLEX_BINARY64 ? TD_OP_C : TD_OP_T;
}

/* Columns first..behind - 1 of L, and the rows from..to - 1 that they are taken away from. */
typedef struct {
    int64_t first, behind, from, to;
} share;

/* From the triangle of these rows. */
static td_product triangle(const td_problem *p, share s)
{
    const td_problem update = {.kind = TD_RANK_K,
                               .type = p->type,
                               .op_a = p->triangle == TD_LOWER ? TD_OP_N : mirrored(p),
                               .triangle = p->triangle,
                               .is_hermitian = p->type == TD_COMPLEX_BINARY64,
                               .n = s.to - s.from,
                               .k = s.behind - s.first,
                               .alpha = td_scalar_of(TD_BINARY64, -1.0),
                               .beta = td_scalar_of(TD_BINARY64, 1.0),
                               .a = td_cholesky_part(p, s.from, s.first),
                               .c = td_cholesky_part(p, s.from, s.from),
                               .batch = 1,
                               .stream = p->stream};
    td_product product;
    (void)td_lower(&update, &product);
    return product;
}

/* From these rows' columns of all rows below. */
static td_product below(const td_problem *p, share s)
{
    const bool is_lower = p->triangle == TD_LOWER;
    const td_matrix own = td_cholesky_part(p, s.from, s.first),
                    others = td_cholesky_part(p, s.to, s.first);
    const int64_t columns = s.to - s.from, rows = p->n - s.to;
    const td_problem update = {.kind = TD_PRODUCT,
                               .type = p->type,
                               .op_a = is_lower ? TD_OP_N : mirrored(p),
                               .op_b = is_lower ? mirrored(p) : TD_OP_N,
                               .m = is_lower ? rows : columns,
                               .n = is_lower ? columns : rows,
                               .k = s.behind - s.first,
                               .alpha = td_scalar_of(p->type, -1.0),
                               .beta = td_scalar_of(p->type, 1.0),
                               .a = is_lower ? others : own,
                               .b = is_lower ? own : others,
                               .c = td_cholesky_part(p, s.to, s.from),
                               .batch = 1,
                               .stream = p->stream};
    td_product product;
    (void)td_lower(&update, &product);
    return product;
}

td_product td_cholesky_product(td_cholesky_cut cut, const td_problem *p, int64_t number)
{
    const int64_t which = cut.in_pairs ? number % OF_PAIR : OWN,
                  panel = cut.in_pairs ? number / OF_PAIR * 2 + (which == BOTH) : number,
                  first = panel * cut.panel, behind = first + cut.panel;
    if (which == BOTH) return triangle(p, (share){first - cut.panel, behind, behind, p->n});
    if (!has_second(cut, p->n, panel)) return triangle(p, (share){first, behind, behind, p->n});
    const share next = {first, behind, behind, behind + cut.panel};
    return which == OWN ? triangle(p, next) : below(p, next);
}

int64_t td_cholesky_largest_product(td_cholesky_cut cut, int64_t n)
{
    return has_second(cut, n, 0) ? BOTH : OWN;
}
