#include "verify.h"

#include <stdlib.h>

#include "../engines/ozaki/cublas.h"
#include "../engines/tiler.h"
#include "../cuda/workspace.h"

/* n x n matrices in the workspace. Without B there is one: R and then G. */
enum { PRODUCT_P, PRODUCT_R, PRODUCT_T, PRODUCTS };

/* The small results, the same in device and in host memory: what is found in A and B, norms of n
 * columns each, d. */
typedef struct {
    td_faults faults[2];
    td_norm norm[];
} results;

static size_t results_bytes(int n)
{
    return sizeof(results) + (size_t)n * (TD_OF_COUNT * sizeof(td_norm) + sizeof(double));
}

static td_norm *norms_in(results *r, int n, td_verified_matrix which)
{
    return r->norm + (ptrdiff_t)which * n;
}

static double *approximations_in(results *r, int n)
{
    return (double *)norms_in(r, n, TD_OF_COUNT);
}

typedef struct {
    const td_verification *v;
    td_workspace workspace;
    size_t bytes, results_at, cublas_at;
    td_matrix product[PRODUCTS];
    results *results; /* in device memory */
    td_run_status status;
} run;

static bool has_b(const td_verification *v) { return v->b.data != NULL; }
static bool is_native(const td_verification *v) { return v->engine->run == NULL; }

/* ---- workspace ---- */

static size_t plan(void *product, size_t limit)
{
    run *r = product;
    const int64_t n = r->v->n;
    const size_t matrix = (size_t)td_round_up(n * n * (int64_t)sizeof(double), 256);
    size_t end = matrix * (has_b(r->v) ? PRODUCTS : 1);
    r->results_at = td_reserve(&end, (int64_t)results_bytes(r->v->n));
    r->cublas_at = td_reserve(&end, is_native(r->v) ? TD_CUBLAS_WORKSPACE : 0);
    r->bytes = end;
    return end <= limit ? end : 0;
}

static void place(run *r)
{
    char *const memory = r->workspace.memory;
    const int64_t n = r->v->n;
    const size_t matrix = (size_t)td_round_up(n * n * (int64_t)sizeof(double), 256);
    for (int i = 0; i < PRODUCTS; i++) {
        const size_t at = has_b(r->v) ? (size_t)i * matrix : 0;
        r->product[i] = (td_matrix){.data = memory + at, .ld = n};
    }
    if (!has_b(r->v)) r->product[PRODUCT_P] = r->v->x;
    r->results = (results *)(memory + r->results_at);
}

/* ---- steps; after one that fails, the others do nothing ---- */

static void launch(run *r, cudaError_t error)
{
    if (!td_cuda_ok(error)) r->status = TD_RUN_FAILED;
}

static void find_faults(run *r, int which, const td_matrix *m)
{
    if (r->status != TD_RUN_DONE) return;
    launch(r, td_faults_run(m->data, m->ld, r->v->n, &r->results->faults[which], r->v->stream));
}

static void measure(run *r, td_verified_matrix which, const td_matrix *m)
{
    const int n = r->v->n;
    if (r->status != TD_RUN_DONE) return;
    launch(r, td_norms_run(m->data, m->ld, n, n, norms_in(r->results, n, which), r->v->stream));
}

/* C <- op(A) B + beta C, n x n. */
static void multiply(run *r, td_op op, td_matrix a, td_matrix b, double beta, td_matrix c)
{
    const td_verification *v = r->v;
    if (r->status != TD_RUN_DONE) return;
    const td_product p = {.op_a = op,
                          .m = v->n,
                          .n = v->n,
                          .k = v->n,
                          .alpha.value.binary64 = 1.0,
                          .beta.value.binary64 = beta,
                          .a = a,
                          .b = b,
                          .c = c,
                          .batch = 1,
                          .stream = v->stream};
    if (!is_native(v)) {
        r->status =
            td_engine_run(v->engine, &p, v->parameter, v->device, v->limit - r->bytes, NULL);
        return;
    }
    const td_problem call = td_call_of_product(&p);
    char *const cublas = (char *)r->workspace.memory + r->cublas_at;
    if (!td_cublas_ready(v->device))
        r->status = TD_RUN_NO_CUBLAS;
    else if (!td_cublas_run(v->device, &call, cublas, TD_CUBLAS_WORKSPACE))
        r->status = TD_RUN_FAILED;
}

/* P = B X. */
static void compute_p(run *r)
{
    if (!has_b(r->v)) return;
    multiply(r, TD_OP_N, r->v->b, r->v->x, 0.0, r->product[PRODUCT_P]);
    measure(r, TD_OF_P, &r->product[PRODUCT_P]);
}

/* R = A X - P D. */
static void compute_r(run *r)
{
    const td_verification *v = r->v;
    const td_matrix p = r->product[PRODUCT_P], to = r->product[PRODUCT_R];
    if (r->status == TD_RUN_DONE)
        launch(r, td_columns_scale_run(p.data, p.ld, v->d, v->n, to.data, v->stream));
    multiply(r, TD_OP_N, v->a, v->x, -1.0, to);
    if (r->status == TD_RUN_DONE && v->plant) v->plant(to.data, v->n, v->stream);
    measure(r, TD_OF_R, &to);
}

/* T = X'R. */
static void compute_t(run *r)
{
    if (!has_b(r->v)) return;
    multiply(r, TD_OP_T, r->v->x, r->product[PRODUCT_R], 0.0, r->product[PRODUCT_T]);
    measure(r, TD_OF_T, &r->product[PRODUCT_T]);
}

/* G = X'P - I, in the place of what is needed no more. */
static void compute_g(run *r)
{
    const td_matrix to = r->product[PRODUCT_T];
    if (r->status == TD_RUN_DONE) launch(r, td_identity_run(r->v->n, to.data, r->v->stream));
    multiply(r, TD_OP_T, r->v->x, r->product[PRODUCT_P], -1.0, to);
    measure(r, TD_OF_G, &to);
}

static void compute(run *r)
{
    const td_verification *v = r->v;
    const size_t bytes = results_bytes(v->n);
    launch(r, cudaMemsetAsync(r->results, 0, bytes, v->stream));
    launch(r, cudaMemsetAsync(r->results->faults, 0xff, sizeof r->results->faults, v->stream));
    launch(r, cudaMemcpyAsync(approximations_in(r->results, v->n), v->d,
                              (size_t)v->n * sizeof *v->d, cudaMemcpyDeviceToDevice, v->stream));
    find_faults(r, 0, &v->a);
    if (has_b(v)) find_faults(r, 1, &v->b);
    measure(r, TD_OF_A, &v->a);
    if (has_b(v)) measure(r, TD_OF_B, &v->b);
    measure(r, TD_OF_X, &v->x);
    compute_p(r);
    compute_r(r);
    compute_t(r);
    compute_g(r);
}

/* Waits. */
static void fetch(run *r, results *host)
{
    const td_verification *v = r->v;
    if (r->status != TD_RUN_DONE) return;
    launch(r, cudaMemcpyAsync(host, r->results, results_bytes(v->n), cudaMemcpyDeviceToHost,
                              v->stream));
    launch(r, cudaStreamSynchronize(v->stream));
}

static td_verified verified_of(const td_verification *v, results *host)
{
    td_verified verified = {
        .measures = {.n = v->n,
                     .has_b = has_b(v),
                     .error = is_native(v) ? td_error_of_sums(v->n) : td_error_rounded_once(),
                     .d = approximations_in(host, v->n)},
        .faults_a = host->faults[0],
        .faults_b = host->faults[1],
        .memory = host};
    for (int i = 0; i < TD_OF_COUNT; i++)
        verified.measures.norm[i] = norms_in(host, v->n, (td_verified_matrix)i);
    return verified;
}

static void measure_all(run *r, results *host)
{
    const td_verification *v = r->v;
    r->status = td_workspace_acquire(&r->workspace, v->device, v->stream, NULL, v->limit, plan, r);
    if (r->status != TD_RUN_DONE) return;
    place(r);
    compute(r);
    fetch(r, host);
    td_workspace_release(&r->workspace, v->stream);
}

td_run_status td_verify_measure(const td_verification *v, td_verified *verified)
{
    run r = {.v = v, .status = TD_RUN_DONE};
    if (!td_device_load(v->device, td_verify_prepare, 0)) return TD_RUN_FAILED;
    results *host = malloc(results_bytes(v->n));
    if (!host) return TD_RUN_NO_MEMORY;
    const td_capture_mode mode =
        td_capture_allow(); /* the host waits, whoever captures meanwhile */
    measure_all(&r, host);
    td_capture_restore(mode);
    if (r.status == TD_RUN_DONE)
        *verified = verified_of(v, host);
    else
        free(host);
    return r.status;
}

void td_verified_free(td_verified *verified)
{
    free(verified->memory);
    verified->memory = NULL;
}
