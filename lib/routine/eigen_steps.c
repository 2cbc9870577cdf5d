#include "eigen_steps.h"

#include "lower.h"

td_product td_eigen_product(const td_eigen_matrices *m, td_eigen_product_id which)
{
    const struct {
        td_kind kind;
        td_op op;
        double alpha, beta, *a, *b, *c;
    } rows[] = {
        [TD_EIGEN_AX] = {TD_PRODUCT, TD_OP_N, 1.0, 0.0, m->a, m->x, m->y},
        [TD_EIGEN_XX] = {TD_RANK_K, TD_OP_T, -1.0, 1.0, m->x, NULL, m->r},
        [TD_EIGEN_XAX] = {TD_RANK_KX, TD_OP_T, 1.0, 0.0, m->x, m->y, m->s},
        [TD_EIGEN_UPDATE] = {TD_PRODUCT, TD_OP_N, 1.0, 1.0, m->x, m->s, m->y},
    };
    const td_problem call = {.kind = rows[which].kind,
                             .type = TD_BINARY64,
                             .op_a = rows[which].op,
                             .triangle = TD_LOWER,
                             .m = m->n,
                             .n = m->n,
                             .k = m->n,
                             .alpha = td_scalar_of(TD_BINARY64, rows[which].alpha),
                             .beta = td_scalar_of(TD_BINARY64, rows[which].beta),
                             .a = {.data = rows[which].a, .ld = m->n},
                             .b = {.data = rows[which].b, .ld = m->n},
                             .c = {.data = rows[which].c, .ld = m->n},
                             .batch = 1,
                             .stream = m->stream};
    td_product product;
    (void)td_lower(&call, &product);
    return product;
}
