#include "tiler.h"

td_view td_view_of(const td_problem *p, int which, int64_t first, int lines)
{
    const td_matrix *matrix = which ? &p->b : &p->a;
    const bool lines_apart = which ? p->op_b == TD_OP_N : p->op_a != TD_OP_N;
    td_view o = {.matrix = *matrix, .k = p->k, .lines = lines};
    o.line_step = lines_apart ? matrix->ld : 1;
    o.k_step = lines_apart ? 1 : matrix->ld;
    o.offset = first * o.line_step;
    return o;
}

td_target td_target_of(const td_problem *p, int64_t i, int64_t j, int64_t z, int m, int n,
                       uint16_t *masks)
{
    const td_region region = td_problem_region(p);
    return (td_target){
        .c = p->c,
        .c_offset = i + j * p->c.ld,
        .m = m,
        .n = n,
        .batch_first = z,
        .alpha = p->alpha,
        .beta = p->beta,
        .region = td_region_from(&region, i, j),
        .masks = masks,
    };
}

bool td_part_exists(const td_problem *p, int64_t i, int64_t j, int64_t m, int64_t n)
{
    const td_region region = td_problem_region(p);
    return td_region_meets(&region, i, j, (int)td_smaller(p->m - i, m),
                           (int)td_smaller(p->n - j, n));
}

td_run_status td_scale_parts(const td_problem *p)
{
    const int64_t lines = TD_MAX_PART_LINES, members = TD_MAX_PART_MEMBERS;
    bool touched = false;
    for (int64_t z = 0; z < p->batch; z += members)
        for (int64_t j = 0; j < p->n; j += lines)
            for (int64_t i = 0; i < p->m; i += lines) {
                if (!td_part_exists(p, i, j, lines, lines)) continue;
                const td_target target = td_target_of(p, i, j, z, (int)td_smaller(p->m - i, lines),
                                                      (int)td_smaller(p->n - j, lines), NULL);
                const int batch = (int)td_smaller(p->batch - z, members);
                if (!td_cuda_ok(td_scale_run(&target, batch, p->stream)))
                    return touched ? TD_RUN_BROKEN : TD_RUN_FAILED;
                touched = true;
            }
    return TD_RUN_DONE;
}
