#include "cholesky_steps.h"

#include "lower.h"
#include "sizes.h"

/* Emulated complex products gain with fewer terms than real ones do, and complex panels take
 * longer. A complex matrix of a few rows more than its last panel would have is one panel, too. */
td_cholesky_cut td_cholesky_cut_of(const td_problem *p)
{
    enum { LAST = 4096, FEW = 512 };
    if (p->type != TD_COMPLEX_BINARY64)
        return (td_cholesky_cut){.panel = 2048, .whole = 8192, .group = 2};
    const int64_t whole = p->n <= LAST + FEW ? LAST + FEW : LAST;
    return (td_cholesky_cut){.panel = 1024, .whole = whole, .group = 4};
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

/* The number of the first panel of a panel's group, and of the first behind that group. */
static int64_t group_of(td_cholesky_cut cut, int64_t panel)
{
    return panel / cut.group * cut.group;
}
static int64_t behind_group(td_cholesky_cut cut, int64_t n, int64_t panel)
{
    return td_smaller(group_of(cut, panel) + cut.group, td_cholesky_panels(cut, n));
}

/* Behind each panel but the last of its group there are two products, behind that one. */
enum { OWN, BELOW, WITHIN };

int64_t td_cholesky_first_product(td_cholesky_cut cut, int64_t panel)
{
    return WITHIN * panel - panel / cut.group;
}

int td_cholesky_products_behind(td_cholesky_cut cut, int64_t n, int64_t panel)
{
    return panel + 1 < behind_group(cut, n, panel) ? WITHIN : 1;
}

int64_t td_cholesky_products(td_cholesky_cut cut, int64_t n)
{
    const int64_t panels = td_cholesky_panels(cut, n);
    return panels == 0 ? 0
                       : td_cholesky_first_product(cut, panels - 1) +
                             td_cholesky_products_behind(cut, n, panels - 1);
}

/* The largest power of two that divides x, which is not 0: so many panels, of which panel x - 1 is
 * the last, are taken away from as many behind them at once. */
static int64_t half_of(int64_t x) { return x & -x; }

/* An element of a group's panel meets a product for each group before, and one for each half before
 * its own. */
int64_t td_cholesky_products_of_element(td_cholesky_cut cut, int64_t n)
{
    const int64_t panels = td_cholesky_panels(cut, n);
    int64_t most = td_ceil_div(panels, cut.group);
    for (int64_t panel = 0; panel < panels; panel++) {
        int64_t products = panel / cut.group;
        for (int64_t left = panel % cut.group; left > 0; left -= half_of(left)) products++;
        most = td_larger(most, products);
    }
    return most;
}

int64_t td_cholesky_most_terms(td_cholesky_cut cut, int64_t n)
{
    return td_larger(1, td_smaller(cut.group, td_cholesky_panels(cut, n))) * cut.panel;
}

td_matrix td_cholesky_part(const td_problem *p, int64_t row, int64_t column)
{
    const int64_t at = p->triangle == TD_UPPER ? column + row * p->a.ld : row + column * p->a.ld;
    return (td_matrix){.data = (char *)p->a.data + at * td_types[p->type].size, .ld = p->a.ld};
}

/* Columns first..behind - 1 of L, and the rows from..to - 1 that they are taken away from. */
typedef struct {
    int64_t first, behind, from, to;
} share;

/* The product that a call is which takes the terms of some columns away. */
static td_product taken_away(const td_problem *p, share s, td_problem update)
{
    td_product product;
    update.type = p->type;
    update.k = s.behind - s.first;
    update.alpha = td_scalar_of(td_problem_type_of_alpha(&update), -1.0);
    update.beta = td_scalar_of(td_problem_type_of_beta(&update), 1.0);
    update.batch = 1;
    update.stream = p->stream;
    (void)td_lower(&update, &product);
    return product;
}

/* From the triangle of these rows. */
static td_product triangle(const td_problem *p, share s)
{
    return taken_away(p, s,
                      (td_problem){.kind = TD_RANK_K,
                                   .op_a = p->triangle == TD_LOWER ? TD_OP_N : td_adjoint(p->type),
                                   .triangle = p->triangle,
                                   .is_hermitian = p->type == TD_COMPLEX_BINARY64,
                                   .n = s.to - s.from,
                                   .a = td_cholesky_part(p, s.from, s.first),
                                   .c = td_cholesky_part(p, s.from, s.from)});
}

/* From these rows' columns of all rows below. */
static td_product below(const td_problem *p, share s)
{
    const bool is_lower = p->triangle == TD_LOWER;
    const td_matrix own = td_cholesky_part(p, s.from, s.first),
                    others = td_cholesky_part(p, s.to, s.first);
    const int64_t columns = s.to - s.from, rows = p->n - s.to;
    return taken_away(p, s,
                      (td_problem){.kind = TD_PRODUCT,
                                   .op_a = is_lower ? TD_OP_N : td_adjoint(p->type),
                                   .op_b = is_lower ? td_adjoint(p->type) : TD_OP_N,
                                   .m = is_lower ? rows : columns,
                                   .n = is_lower ? columns : rows,
                                   .a = is_lower ? others : own,
                                   .b = is_lower ? own : others,
                                   .c = td_cholesky_part(p, s.to, s.from)});
}

/* Panels, not columns, of what product `number` takes away, and from which ones. */
static share share_of(td_cholesky_cut cut, int64_t n, int64_t panel)
{
    const int64_t done = panel + 1, first = group_of(cut, panel), end = behind_group(cut, n, panel),
                  half = half_of(done - first);
    if (done == end) return (share){first, done, done, done};
    return (share){done - half, done, done, td_smaller(done + half, end)};
}

/* The panel behind which a product is due. */
static int64_t panel_of_product(td_cholesky_cut cut, int64_t number)
{
    const int64_t of_group = WITHIN * cut.group - 1;
    return number / of_group * cut.group + number % of_group / WITHIN;
}

td_product td_cholesky_product(td_cholesky_cut cut, const td_problem *p, int64_t number)
{
    const int64_t panel = panel_of_product(cut, number);
    const share s = share_of(cut, p->n, panel);
    const int64_t first = s.first * cut.panel, behind = s.behind * cut.panel;
    if (s.from == s.to) return triangle(p, (share){first, behind, behind, p->n});
    const share within = {first, behind, behind, s.to * cut.panel};
    return number == td_cholesky_first_product(cut, panel) + OWN ? triangle(p, within)
                                                                 : below(p, within);
}

int64_t td_cholesky_largest_product(td_cholesky_cut cut, const td_problem *p)
{
    int64_t largest = 0;
    double most = 0.0;
    for (int64_t i = 0; i < td_cholesky_products(cut, p->n); i++) {
        const td_product of = td_cholesky_product(cut, p, i);
        const double operations =
            (double)of.m * (double)of.n * (double)of.k * (of.region == TD_REGION_ALL ? 2.0 : 1.0);
        if (operations > most) largest = i;
        if (operations > most) most = operations;
    }
    return largest;
}
