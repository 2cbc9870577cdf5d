/* typed_slices.c - cuts a product of triple-single matrices into parts that fit the workspace. The parts change no bit of C: scales
 * belong to whole lines, and every sum is exact. */
#include "typed_slices.h"

#include "../kernels/slices.h"
#include "cublas.h"
#include "part.h"
#include "scheme_slices.h"

/* Most lines and elements of k of a product: keeps line and tile numbers in 31 bits. */
enum { MAX_LINES = 1 << 24 };
static const int64_t max_k = INT64_C(0x7fffff00);

/* Smallest pass over k that is worth having. */
enum { LEAST_K_PASS = 512 };

typedef struct {
    int64_t m, n, k_pass; /* of a part */
    size_t cublas_bytes;
    size_t line[2], cublas, planes, bytes; /* offsets, and the total */
} ts_plan;

static void lay_out(ts_plan *plan, const td_gemm *p, int slices)
{
    const int64_t lines[2] = {p->m, p->n};
    plan->bytes = 0;
    for (int o = 0; o < 2; o++)
        plan->line[o] = td_reserve(&plan->bytes, lines[o] * (int64_t)sizeof(td_line));
    plan->cublas = td_reserve(&plan->bytes, (int64_t)plan->cublas_bytes);
    plan->planes = td_reserve(&plan->bytes,
                              (int64_t)td_ts_slices_bytes(slices, plan->m, plan->n, plan->k_pass));
}

static bool halve(int64_t *size, int64_t unit)
{
    if (*size <= unit) return false;
    *size = td_round_up(*size / 2, unit);
    return true;
}

/* Makes what takes the most memory smaller; false if all is as small as it can be. */
static bool shrink(ts_plan *plan)
{
    if (plan->cublas_bytes > TD_CUBLAS_LEAST_WORKSPACE) {
        plan->cublas_bytes = TD_CUBLAS_LEAST_WORKSPACE;
        return true;
    }
    if (plan->k_pass > td_smaller(plan->m, plan->n) && halve(&plan->k_pass, LEAST_K_PASS))
        return true;
    if (halve(plan->m > plan->n ? &plan->m : &plan->n, TD_TILE)) return true;
    return halve(&plan->k_pass, TD_K_PAD);
}

static bool make_plan(ts_plan *plan, const td_gemm *p, int slices, size_t limit)
{
    const int64_t k_pass = td_smaller(p->k, td_ts_slices_most_k(slices, p->k));
    *plan = (ts_plan){.m = p->m,
                      .n = p->n,
                      .k_pass = td_round_up(k_pass, TD_K_PAD),
                      .cublas_bytes = TD_CUBLAS_WORKSPACE};
    for (lay_out(plan, p, slices); plan->bytes > limit; lay_out(plan, p, slices))
        if (!shrink(plan)) return false;
    return true;
}

typedef struct {
    const td_gemm *p;
    int slices;
    tandem_ts alpha, beta;
    td_device *device;
    ts_plan plan;
    char *workspace;
    bool touched; /* a kernel that writes C is enqueued */
} ts_product;

static cudaError_t measure(const ts_product *product)
{
    const td_gemm *p = product->p;
    const td_measure_ts measure = {
        .operand = {td_operand_of(p, 0, 0, (int)p->m), td_operand_of(p, 1, 0, (int)p->n)},
        .line = {(td_line *)(product->workspace + product->plan.line[0]),
                 (td_line *)(product->workspace + product->plan.line[1])},
        .width = td_ts_slices_width(product->slices, p->k),
    };
    return td_measure_ts_run(&measure, p->stream);
}

/* Rows i .., columns j ... */
static cudaError_t run_part(ts_product *product, int64_t i, int64_t j)
{
    const td_gemm *p = product->p;
    const ts_plan *plan = &product->plan;
    const int m = (int)td_smaller(plan->m, p->m - i), n = (int)td_smaller(plan->n, p->n - j);
    const int64_t first[2] = {i, j};
    td_scheme_part part = {
        .device = product->device,
        .parameter = product->slices,
        .k_pass = plan->k_pass,
        .workspace = product->workspace + plan->planes,
        .cublas_workspace = product->workspace + plan->cublas,
        .cublas_bytes = plan->cublas_bytes,
        .stream = p->stream,
        .fixed = {.operand = {td_operand_of(p, 0, i, m), td_operand_of(p, 1, j, n)},
                  .alpha = {.value = 1.0},
                  .batch = 1},
        .finish = {.target = td_target_of(p, i, j, 0, m, n, NULL), .k = p->k},
    };
    for (int o = 0; o < 2; o++)
        part.finish.line[o] = part.fixed.line[o] =
            (const td_line *)(product->workspace + plan->line[o]) + first[o];
    const cudaError_t error = td_ts_slices_run(&part, product->alpha, product->beta);
    product->touched |= error == cudaSuccess;
    return error;
}

static td_run_status run_parts(ts_product *product)
{
    const td_gemm *p = product->p;
    cudaError_t error = measure(product);
    for (int64_t j = 0; j < p->n; j += product->plan.n)
        for (int64_t i = 0; i < p->m && error == cudaSuccess; i += product->plan.m)
            error = run_part(product, i, j);
    if (td_cuda_ok(error)) return TD_RUN_DONE;
    return product->touched ? TD_RUN_BROKEN : TD_RUN_FAILED;
}

/* Fewer bytes are tried if the device has not as many left as the limit allows. */
enum { MEMORY_TRIES = 4 };

td_run_status td_typed_slices_run(const td_gemm *p, int slices, tandem_ts alpha, tandem_ts beta,
                                  td_device *device, size_t workspace_limit)
{
    ts_product product = {.p = p, .slices = slices, .alpha = alpha, .beta = beta, .device = device};
    td_run_status status = TD_RUN_NO_MEMORY;
    if (p->m > MAX_LINES || p->n > MAX_LINES || p->k > max_k) return TD_RUN_NO_MEMORY;
    if (!td_cublas_ready(device)) return TD_RUN_FAILED;
    size_t limit = workspace_limit;
    for (int i = 0; i < MEMORY_TRIES && !product.workspace; i++, limit /= 4) {
        if (!make_plan(&product.plan, p, slices, limit)) break;
        product.workspace = td_workspace_acquire(device, product.plan.bytes, p->stream);
    }
    if (product.workspace) status = run_parts(&product);
    td_workspace_release(product.workspace, p->stream);
    return status;
}
