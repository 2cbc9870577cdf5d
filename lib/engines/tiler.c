#include "tiler.h"

td_view td_view_of(const td_real_product *p, int which, int64_t first, int lines)
{
    const td_matrix *matrix = which ? &p->b : &p->a;
    const bool lines_apart = which ? p->op_b == TD_OP_N : p->op_a != TD_OP_N;
    td_view o = {.matrix = *matrix, .k = p->k, .lines = lines};
    o.line_step = lines_apart ? matrix->ld : 1;
    o.k_step = lines_apart ? 1 : matrix->ld;
    o.offset = first * o.line_step;
    return o;
}

td_matrix td_members_from(const td_matrix *x, int64_t z, int64_t element_bytes)
{
    td_matrix from = *x;
    if (x->array)
        from.array += z;
    else if (x->data)
        from.data = (char *)x->data + z * x->stride * element_bytes;
    return from;
}

/* The matrix whose first elements are those of lines first .. of operand 0 or 1. */
static td_matrix lines_from(const td_real_product *p, int which, int64_t first)
{
    const td_view lines = td_view_of(p, which, first, 0);
    td_matrix from = lines.matrix;
    from.data = (char *)from.data + lines.offset * td_types[p->type].size;
    return from;
}

td_target td_target_of(const td_real_product *p, const td_part *part, uint16_t *masks)
{
    const td_region region = td_real_region(p);
    return (td_target){
        .c = p->c,
        .c_offset = part->i + part->j * p->c.ld,
        .m = part->m,
        .n = part->n,
        .batch_first = part->z,
        .alpha = p->alpha,
        .beta = p->beta,
        .region = td_region_from(&region, part->i, part->j),
        .masks = masks,
    };
}

td_problem td_call_of_part(const td_real_product *p, const td_part *part)
{
    const td_matrix c = td_matrix_moved(&p->c, part->i, part->j, p->type);
    return (td_problem){.kind = TD_PRODUCT,
                        .type = p->type,
                        .op_a = p->op_a,
                        .op_b = p->op_b,
                        .m = part->m,
                        .n = part->n,
                        .k = p->k,
                        .alpha = p->alpha,
                        .beta = p->beta,
                        .a = lines_from(p, 0, part->i),
                        .b = lines_from(p, 1, part->j),
                        .c = c,
                        .batch = 1,
                        .stream = p->stream};
}

static cudaError_t run_members(const td_real_product *p, const td_part_sizes *sizes,
                               const td_part_steps *steps, int64_t z, bool *touched)
{
    td_part part = td_before_parts(p, sizes, z);
    cudaError_t error = steps->members ? steps->members(steps->product, &part) : cudaSuccess;
    while (error == cudaSuccess && td_next_made_part(p, sizes, &part)) {
        error = steps->part(steps->product, &part, touched);
        *touched |= error == cudaSuccess;
    }
    return error;
}

td_run_status td_run_parts(const td_real_product *p, const td_part_sizes *sizes,
                           const td_part_steps *steps)
{
    bool touched = false;
    cudaError_t error = cudaSuccess;
    for (int64_t z = 0; z < p->batch && error == cudaSuccess; z += sizes->batch)
        error = run_members(p, sizes, steps, z, &touched);
    if (td_cuda_ok(error)) return TD_RUN_DONE;
    return touched ? TD_RUN_BROKEN : TD_RUN_FAILED;
}

static cudaError_t scale_part(const void *of, const td_part *part, bool *touched)
{
    const td_real_product *p = of;
    const td_target target = td_target_of(p, part, NULL);
    (void)touched;
    return td_scale_run(&target, part->batch, p->stream);
}

td_run_status td_scale_parts(const td_real_product *p)
{
    const td_part_sizes sizes = td_largest_part(p);
    return td_run_parts(p, &sizes, &(td_part_steps){.product = p, .part = scale_part});
}
