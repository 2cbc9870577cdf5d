/* eigen.c - RefSyEv (Ogita and Aishima, Japan J. Indust. Appl. Math. 35, 2018) from vectors of
 * binary32, with clusters of eigenvalues apart (the same, 36, 2019): X'(A - mu I) X of each is a
 * small symmetric matrix of small numbers, whose vectors binary32 tells apart again. A is read
 * alone until its vectors are good enough. */
#include "eigen.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "../../../kernels/arithmetic/float32.h"
#include "../../../kernels/eigen/eigen.h"
#include "../../../kernels/verify/verify.h"
#include "../../cuda/workspace.h"
#include "../../routine/eigen_steps.h"
#include "../../routine/sizes.h"

/* What is known of columns, on the device and on the host: n of each. */
typedef struct {
    td_eigen_measured measured;
    double *shift;              /* of the cluster that begins with that column */
    int *reach, *cluster_of;    /* kernels/eigen/eigen.h */
    int *from;                  /* the column of X whose place in A that is */
    td_eigen_cluster *clusters; /* small ones */
} columns;

enum { DOUBLES = 4, INTS = 3 };

typedef struct {
    const td_problem *problem;
    const td_engine *engine;
    td_parameter parameter;
    td_device *device;
    size_t workspace_limit;
    td_counters *counters;

    td_workspace workspace;
    td_eigen_matrices m;
    float *narrow; /* n x n: A, then X, and what large clusters have of these */
    float *narrow_values, *solver_work;
    int solver_elements, *solver_info;
    unsigned long long *largest; /* of td_eigen_largest_run */
    columns on_device, on_host;
    void *host_memory;
} run;

/* ---- memory ---- */

static size_t rounded(size_t bytes)
{
    const size_t unit = 256;
    return (bytes + unit - 1) / unit * unit;
}

static size_t bytes_of_columns(int64_t n)
{
    return (size_t)n * (DOUBLES * sizeof(double) + INTS * sizeof(int) + sizeof(td_eigen_cluster));
}

static columns columns_at(void *memory, int64_t n)
{
    double *const doubles = memory;
    int *const ints = (int *)(doubles + DOUBLES * n);
    return (columns){.measured = {doubles, doubles + n, doubles + 2 * n},
                     .shift = doubles + 3 * n,
                     .reach = ints,
                     .cluster_of = ints + n,
                     .from = ints + 2 * n,
                     .clusters = (td_eigen_cluster *)(ints + INTS * n)};
}

/* Takes so many bytes of a workspace that `memory` walks through; NULL memory: they are counted. */
static void *take(char **memory, size_t *total, size_t bytes)
{
    char *const at = *memory;
    *total += rounded(bytes);
    if (at) *memory = at + rounded(bytes);
    return at;
}

/* Returns the bytes of all. */
static size_t lay_out(run *r, char *memory)
{
    const size_t n = (size_t)r->m.n, matrix = n * n * sizeof(double);
    size_t total = 0;
    double **const matrices[] = {&r->m.a, &r->m.x, &r->m.y, &r->m.s, &r->m.r};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        *matrices[i] = take(&memory, &total, matrix);
    r->narrow = take(&memory, &total, n * n * sizeof *r->narrow);
    r->solver_work = take(&memory, &total, (size_t)r->solver_elements * sizeof *r->solver_work);
    r->narrow_values = take(&memory, &total, n * sizeof *r->narrow_values);
    void *const own = take(&memory, &total, bytes_of_columns(r->m.n));
    if (own) r->on_device = columns_at(own, r->m.n);
    r->largest = take(&memory, &total, sizeof *r->largest);
    r->solver_info = take(&memory, &total, sizeof *r->solver_info);
    return total;
}

/* A quarter of the limit is for products. */
static td_run_status acquire(run *r)
{
    const size_t share = 4;
    const td_problem *p = r->problem;
    const td_eigen_solver *solver = p->solver;
    r->solver_elements = solver->elements(solver->call, (int)p->n, p->a.data, p->values);
    if (r->solver_elements < 0) return TD_RUN_TOO_LARGE;
    const size_t bytes = lay_out(r, NULL);
    if (bytes > r->workspace_limit - r->workspace_limit / share) return TD_RUN_NO_MEMORY;
    r->workspace_limit -= bytes;
    r->host_memory = malloc(bytes_of_columns(p->n));
    if (!r->host_memory) return TD_RUN_NO_MEMORY;
    r->on_host = columns_at(r->host_memory, p->n);
    const td_run_status status =
        td_workspace_acquire_all(&r->workspace, r->device, p->stream, bytes);
    if (status != TD_RUN_DONE)
        free(r->host_memory);
    else
        (void)lay_out(r, r->workspace.memory);
    return status;
}

/* ---- copies; the host waits for those that it reads ---- */

static bool fetch(const run *r, void *to, const void *from, size_t bytes)
{
    return td_cuda_ok(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, r->m.stream)) &&
           td_cuda_ok(cudaStreamSynchronize(r->m.stream));
}

static bool send(const run *r, void *to, const void *from, size_t bytes)
{
    return td_cuda_ok(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, r->m.stream));
}

static bool copy(const run *r, double *to, const double *from, int64_t columns)
{
    const size_t bytes = (size_t)r->m.n * (size_t)columns * sizeof *to;
    return td_cuda_ok(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, r->m.stream));
}

/* ---- binary32 ---- */

/* The exponent of the largest element, on the host; TD_RUN_NOT_REFINED if one is not finite. */
static td_run_status find_exponent(const run *r, const td_eigen_source *a, int *exponent)
{
    unsigned long long bits;
    if (!td_cuda_ok(td_eigen_largest_run(a, r->largest, r->m.stream)) ||
        !fetch(r, &bits, r->largest, sizeof bits))
        return TD_RUN_FAILED;
    *exponent = bits ? td_exponent64(bits) : 0;
    return td_is_finite64(bits) ? TD_RUN_DONE : TD_RUN_NOT_REFINED;
}

/* The vectors of a, rounded to binary32, into x, columns of n elements; a itself, scaled, into
 * whole, unless that is NULL. */
static td_run_status solve_narrow(const run *r, const td_eigen_source *a, int exponent,
                                  double *whole, double *x)
{
    const td_eigen_solver *solver = r->problem->solver;
    int info = -1;
    if (!td_cuda_ok(td_eigen_take_run(a, exponent, whole, r->narrow, r->m.stream)) ||
        !solver->run(solver->call, (int)a->n, r->narrow, r->narrow_values, r->solver_work,
                     r->solver_elements, r->solver_info) ||
        !fetch(r, &info, r->solver_info, sizeof info) ||
        !td_cuda_ok(td_eigen_widen_run(r->narrow, a->n, x, r->m.n, r->m.stream)))
        return TD_RUN_FAILED;
    return info == 0 ? TD_RUN_DONE : TD_RUN_NOT_REFINED;
}

/* ---- products ---- */

static td_run_status multiply(const run *r, const td_product *product)
{
    return td_engine_run(r->engine, product, r->parameter, r->device, r->workspace_limit,
                         r->counters);
}

static td_run_status multiply_step(const run *r, td_eigen_product_id which)
{
    const td_product product = td_eigen_product(&r->m, which);
    return multiply(r, &product);
}

/* ---- how good X is ---- */

/* NaN if one of them is. */
static double largest_of(const double *x, int64_t n)
{
    double largest = 0.0;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= largest) && !isnan(largest)) largest = fabs(x[i]);
    return largest;
}

/* A X and I - X'X are there then, and on the host what they say of each column. */
static td_run_status measure(const run *r)
{
    const columns *d = &r->on_device;
    td_run_status status = multiply_step(r, TD_EIGEN_AX);
    if (status != TD_RUN_DONE) return status;
    if (!td_cuda_ok(td_identity_run((int)r->m.n, r->m.r, r->m.stream))) return TD_RUN_FAILED;
    status = multiply_step(r, TD_EIGEN_XX);
    if (status != TD_RUN_DONE) return status;
    const cudaError_t error =
        td_eigen_measure_run(r->m.n, r->m.x, r->m.y, r->m.r, d->measured, r->m.stream);
    const size_t bytes = 3 * (size_t)r->m.n * sizeof(double); /* one after the other */
    return td_cuda_ok(error) && fetch(r, r->on_host.measured.values, d->measured.values, bytes)
               ? TD_RUN_DONE
               : TD_RUN_FAILED;
}

static double norm_of(const run *r) { return largest_of(r->on_host.measured.values, r->m.n); }

static double level_of(const run *r) { return TD_EIGEN_LEVEL * sqrt((double)r->m.n) * 0x1p-53; }

static bool has_small_residuals(const run *r)
{
    return largest_of(r->on_host.measured.residuals, r->m.n) <= level_of(r) * norm_of(r);
}

static bool is_good(const run *r)
{
    return has_small_residuals(r) &&
           largest_of(r->on_host.measured.departures, r->m.n) <= level_of(r);
}

static bool is_finite(const run *r)
{
    const td_eigen_measured *h = &r->on_host.measured;
    return isfinite(norm_of(r)) && isfinite(largest_of(h->residuals, r->m.n)) &&
           isfinite(largest_of(h->departures, r->m.n));
}

/* ---- clusters ---- */

/* The column behind a cluster's last one, from its first one on. */
static int64_t end_of_cluster(const run *r, int64_t first)
{
    int64_t last = r->on_host.reach[first];
    for (int64_t i = first; i <= last; i++) last = td_larger(last, r->on_host.reach[i]);
    return last + 1;
}

/* Half way between the least value and the largest of a cluster. */
static double middle_of(const run *r, int64_t first, int64_t end)
{
    const double *values = r->on_host.measured.values;
    double least = values[first], most = values[first];
    for (int64_t i = first; i < end; i++) {
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    return 0.5 * (least + most);
}

/* Sets cluster_of and shift, and lists the small clusters; returns how many these are. */
static int find_clusters(const run *r)
{
    const columns *h = &r->on_host;
    int small = 0;
    for (int64_t first = 0, end; first < r->m.n; first = end) {
        end = end_of_cluster(r, first);
        h->shift[first] = middle_of(r, first, end);
        for (int64_t i = first; i < end; i++) h->cluster_of[i] = (int)first;
        if (end - first > 1 && end - first <= TD_EIGEN_SMALL)
            h->clusters[small++] = (td_eigen_cluster){(int)first, (int)(end - first)};
    }
    return small;
}

/* Y's columns of a large cluster become their products with its vectors, by binary32. */
static td_run_status turn_large(const run *r, int64_t first, int64_t count)
{
    const int64_t n = r->m.n;
    double *const block = r->m.r + first * (n + 1), *const columns = r->m.y + first * n;
    const td_eigen_source source = {.data = block, .ld = n, .n = count};
    const td_product product = {.routine = TD_PRODUCT,
                                .type = TD_BINARY64,
                                .m = n,
                                .n = count,
                                .k = count,
                                .alpha = td_scalar_of(TD_BINARY64, 1.0),
                                .beta = td_scalar_of(TD_BINARY64, 0.0),
                                .a = {.data = columns, .ld = n},
                                .b = {.data = block, .ld = n},
                                .c = {.data = r->m.x, .ld = n},
                                .batch = 1,
                                .stream = r->m.stream};
    int exponent;
    td_run_status status = find_exponent(r, &source, &exponent);
    if (status == TD_RUN_DONE) status = solve_narrow(r, &source, exponent, NULL, block);
    if (status == TD_RUN_DONE) status = multiply(r, &product);
    if (status != TD_RUN_DONE) return status;
    return copy(r, columns, r->m.x, count) ? TD_RUN_DONE : TD_RUN_FAILED;
}

static td_run_status turn_clusters(const run *r, int small)
{
    const int64_t n = r->m.n;
    const td_eigen_cluster *clusters = r->on_device.clusters;
    if (!td_cuda_ok(td_eigen_solve_run(r->m.r, n, clusters, small, r->m.stream)) ||
        !td_cuda_ok(td_eigen_turn_run(r->m.y, r->m.r, n, clusters, small, r->m.stream)))
        return TD_RUN_FAILED;
    for (int64_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && r->on_host.cluster_of[end] == first;) end++;
        if (end - first <= TD_EIGEN_SMALL) continue;
        const td_run_status status = turn_large(r, first, end - first);
        if (status != TD_RUN_DONE) return status;
    }
    return TD_RUN_DONE;
}

/* ---- a step ---- */

/* What products leave, whose elements have errors of 2^-53 |A|. Where residuals are small already,
 * whatever is off is nothing else, and only lengths and angles are left to refine. */
static td_eigen_pairs pairs_of(const run *r)
{
    const double noise = has_small_residuals(r) ? (double)INFINITY : 2.0 * 0x1p-53 * norm_of(r);
    return (td_eigen_pairs){r->m.n, r->m.s, r->m.r, r->on_device.measured.values, noise};
}

/* E, and the clusters' matrices; *small is the number of small clusters. */
static bool prepare_update(const run *r, int *small)
{
    const size_t n = (size_t)r->m.n;
    const columns *d = &r->on_device, *h = &r->on_host;
    const td_eigen_pairs pairs = pairs_of(r);
    if (!td_cuda_ok(td_eigen_reach_run(&pairs, d->reach, r->m.stream)) ||
        !fetch(r, h->reach, d->reach, n * sizeof *h->reach))
        return false;
    *small = find_clusters(r);
    return send(r, d->cluster_of, h->cluster_of, n * sizeof *h->cluster_of) &&
           send(r, d->shift, h->shift, n * sizeof *h->shift) &&
           send(r, d->clusters, h->clusters, (size_t)*small * sizeof *h->clusters) &&
           td_cuda_ok(td_eigen_update_run(&pairs, d->cluster_of, d->shift, r->m.stream));
}

/* X, of which measure() has said how good it is, becomes a better one. */
static td_run_status improve(run *r)
{
    int small;
    td_run_status status = multiply_step(r, TD_EIGEN_XAX);
    if (status != TD_RUN_DONE) return status;
    if (!prepare_update(r, &small) || !copy(r, r->m.y, r->m.x, r->m.n)) return TD_RUN_FAILED;
    status = multiply_step(r, TD_EIGEN_UPDATE);
    if (status == TD_RUN_DONE) status = turn_clusters(r, small);
    double *const old = r->m.x;
    r->m.x = r->m.y;
    r->m.y = old;
    return status;
}

static td_run_status refine(run *r)
{
    for (int step = 0;; step++) {
        td_run_status status = measure(r);
        if (status != TD_RUN_DONE || is_good(r)) return status;
        if (step == TD_EIGEN_MOST_STEPS || !is_finite(r)) return TD_RUN_NOT_REFINED;
        status = improve(r);
        if (status != TD_RUN_DONE) return status;
    }
}

/* ---- results ---- */

/* A value and its column. */
typedef struct {
    double value;
    int column;
} place;

static int compare(const void *x, const void *y)
{
    const place *a = x, *b = y;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    return a->column < b->column ? -1 : a->column > b->column;
}

/* False without memory. */
static bool sort(const run *r)
{
    const int64_t n = r->m.n;
    place *const places = malloc((size_t)n * sizeof *places);
    if (!places) return false;
    for (int64_t i = 0; i < n; i++) places[i] = (place){r->on_host.measured.values[i], (int)i};
    qsort(places, (size_t)n, sizeof *places, compare);
    for (int64_t i = 0; i < n; i++) r->on_host.from[i] = places[i].column;
    free(places);
    return true;
}

static td_run_status put(const run *r, int exponent)
{
    const td_problem *p = r->problem;
    const td_eigen_result result = {.n = r->m.n,
                                    .ld = p->a.ld,
                                    .x = r->m.x,
                                    .values = r->on_device.measured.values,
                                    .from = r->on_device.from,
                                    .exponent = exponent,
                                    .a = p->a.data,
                                    .w = p->values,
                                    .info = p->info};
    if (!sort(r)) return TD_RUN_NO_MEMORY;
    const bool is_put =
        send(r, r->on_device.from, r->on_host.from, (size_t)r->m.n * sizeof *r->on_host.from) &&
        td_cuda_ok(td_eigen_put_run(&result, r->m.stream));
    return is_put ? TD_RUN_DONE : TD_RUN_FAILED;
}

/* ---- the call ---- */

static td_run_status solve(run *r)
{
    const td_problem *p = r->problem;
    const td_eigen_source a = {p->a.data, p->a.ld, p->n, p->triangle == TD_UPPER};
    int exponent;
    td_run_status status = find_exponent(r, &a, &exponent);
    if (status == TD_RUN_DONE) status = solve_narrow(r, &a, exponent, r->m.a, r->m.x);
    if (status == TD_RUN_DONE) status = refine(r);
    if (status == TD_RUN_BROKEN) return TD_RUN_FAILED; /* of the call's own memory */
    return status == TD_RUN_DONE ? put(r, exponent) : status;
}

static bool load(td_device *device)
{
    return td_device_load(device, td_eigen_prepare, 0) &&
           td_device_load(device, td_verify_prepare, 0);
}

td_run_status td_eigen(const td_problem *p, const td_engine *engine, td_parameter parameter,
                       td_device *device, size_t workspace_limit, td_counters *counters)
{
    run r = {.problem = p,
             .engine = engine,
             .parameter = parameter,
             .device = device,
             .workspace_limit = workspace_limit,
             .counters = counters,
             .m = {.n = p->n, .stream = p->stream}};
    td_run_status status = td_engine_check(p);
    if (status != TD_RUN_DONE) return status;
    if (p->n > INT_MAX / 2) return TD_RUN_TOO_LARGE;
    if (td_stream_is_capturing(p->stream)) return TD_RUN_WAITS;
    if (!load(device)) return TD_RUN_FAILED;
    status = acquire(&r);
    if (status != TD_RUN_DONE) return status;
    const td_capture_mode mode =
        td_capture_allow(); /* the host waits, whoever captures meanwhile */
    status = solve(&r);
    td_capture_restore(mode);
    td_workspace_release(&r.workspace, p->stream);
    free(r.host_memory);
    return status;
}
