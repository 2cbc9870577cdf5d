#include "part.h"

td_operand td_operand_of(const td_gemm *p, int which, int64_t first, int lines)
{
    const td_matrix *matrix = which ? &p->b : &p->a;
    const bool lines_apart = which ? p->op_b == TD_OP_N : p->op_a != TD_OP_N;
    td_operand o = {.matrix = *matrix, .k = p->k, .lines = lines};
    o.line_step = lines_apart ? matrix->ld : 1;
    o.k_step = lines_apart ? 1 : matrix->ld;
    o.offset = first * o.line_step;
    return o;
}

td_target td_target_of(const td_gemm *p, int64_t i, int64_t j, int64_t z, int m, int n,
                       uint16_t *masks)
{
    return (td_target){
        .c = p->c,
        .c_offset = i + j * p->c.ld,
        .m = m,
        .n = n,
        .batch_first = z,
        .alpha = p->alpha,
        .beta = p->beta,
        .masks = masks,
    };
}
