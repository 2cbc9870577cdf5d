/* engine.c - batches of small factorisations, solutions and inverses by Tandem's own kernels, in
 * the arithmetic of the matrices' type. No mode: whatever the mode, the routines of family `lu`
 * come here. */
#include "../../../kernels/batched_lu/batched_lu.h"
#include "../../cuda/device.h"
#include "../engine.h"

static td_lu_type type_of(const td_problem *p)
{
    static const td_lu_type types[TD_TYPE_COUNT] = {[TD_BINARY32] = TD_LU_S,
                                                    [TD_BINARY64] = TD_LU_D,
                                                    [TD_COMPLEX_BINARY32] = TD_LU_C,
                                                    [TD_COMPLEX_BINARY64] = TD_LU_Z};
    return types[p->type];
}

static cudaError_t factor(const td_problem *p)
{
    const td_lu_factors f = {.type = type_of(p),
                             .n = (int)p->n,
                             .a = p->a.array,
                             .lda = (int)p->a.ld,
                             .pivots = p->pivots,
                             .info = p->info,
                             .batch = (int)p->batch,
                             .shape = -1};
    return td_lu_factor(&f, p->stream);
}

static cudaError_t invert(const td_problem *p)
{
    const td_lu_inverses i = {.type = type_of(p),
                              .n = (int)p->n,
                              .a = (const void *const *)p->a.array,
                              .lda = (int)p->a.ld,
                              .c = p->c.array,
                              .ldc = (int)p->c.ld,
                              .info = p->info,
                              .batch = (int)p->batch};
    return td_lu_invert(&i, p->stream);
}

/* What solutions of all kinds have in common. */
static td_lu_vectors vectors_of(const td_problem *p, const td_matrix *b)
{
    return (td_lu_vectors){.type = type_of(p),
                           .op = (td_lu_operation)p->op_a,
                           .n = (int)p->n,
                           .a = (const void *const *)p->a.array,
                           .lda = (int)p->a.ld,
                           .b = b->array,
                           .ldb = (int)b->ld,
                           .batch = (int)p->batch,
                           .pivots = p->pivots};
}

static cudaError_t invert_factors(const td_problem *p)
{
    td_lu_vectors v = vectors_of(p, &p->c);
    v.what = TD_VECTORS_INVERSE;
    v.vectors = v.n;
    v.info = p->info;
    return td_lu_solve(&v, p->stream);
}

/* info, which is on the host, tells of invalid arguments alone: such calls are cuBLAS's. */
static cudaError_t solve(const td_problem *p)
{
    td_lu_vectors v = vectors_of(p, &p->b);
    v.what = TD_VECTORS_SOLUTION;
    v.vectors = (int)p->k;
    const cudaError_t error = td_lu_solve(&v, p->stream);
    if (error == cudaSuccess) *p->info = 0;
    return error;
}

static void set_alpha(td_lu_vectors *v, const td_problem *p)
{
    const td_value *alpha = &p->alpha.value;
    v->device_alpha = p->alpha.device;
    if (v->device_alpha) return;
    switch (v->type) {
    case TD_LU_S:
        v->alpha_re = (double)alpha->binary32;
        break;
    case TD_LU_D:
        v->alpha_re = alpha->binary64;
        break;
    case TD_LU_C:
        v->alpha_re = (double)alpha->complex_binary32.re;
        v->alpha_im = (double)alpha->complex_binary32.im;
        break;
    default:
        v->alpha_re = alpha->complex_binary64.re;
        v->alpha_im = alpha->complex_binary64.im;
    }
}

static cudaError_t solve_triangle(const td_problem *p)
{
    td_lu_vectors v = vectors_of(p, &p->b);
    v.what = TD_VECTORS_TRIANGLE;
    v.is_right = p->side == TD_RIGHT;
    v.n = (int)(v.is_right ? p->n : p->m);
    v.vectors = (int)(v.is_right ? p->m : p->n);
    v.is_upper = p->triangle == TD_UPPER;
    v.is_unit = p->diagonal == TD_UNIT_DIAGONAL;
    set_alpha(&v, p);
    return td_lu_solve(&v, p->stream);
}

static bool is_countable(const td_problem *p)
{
    const int64_t most = INT32_MAX;
    return p->m <= most && p->n <= most && p->k <= most && p->batch <= most && p->a.ld <= most &&
           p->b.ld <= most && p->c.ld <= most;
}

TD_LOADER(prepare, td_lu_prepare)

td_run_status td_batched_lu_run(const td_problem *p, td_device *device)
{
    static cudaError_t (*const runs[TD_KIND_COUNT])(const td_problem *p) = {
        [TD_LU_FACTOR] = factor,
        [TD_LU_SOLVE] = solve,
        [TD_LU_INVERT] = invert_factors,
        [TD_INVERT] = invert,
        [TD_TRIANGULAR_SOLVE] = solve_triangle};
    if (!td_device_load(device, prepare, 0)) return TD_RUN_FAILED;
    const td_run_status status = td_engine_check(p);
    if (status != TD_RUN_DONE) return status;
    if (!is_countable(p)) return TD_RUN_TOO_LARGE;
    return td_done_if(runs[p->kind](p));
}

const td_engine td_engine_batched_lu = {
    .name = "lu",
    .summary = "batches of small LU factorisations, in the matrices' own arithmetic",
    .error = "LAPACK's",
};
