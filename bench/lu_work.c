#include "lu_work.h"

#include <stdlib.h>
#include <string.h>

#include "../examples/common.h"
#include "harness/timing.h"

const char *const lu_routine_names[LU_ROUTINES] = {"getrf", "getri", "getrs", "trsm", "matinv"};

enum { RANDOM_NUMBERS = (1 << 23) + 1021 }; /* a length that no matrix divides */

static size_t number_bytes(td_lu_type type)
{
    return (type == TD_LU_D || type == TD_LU_Z ? 8u : 4u) * (type >= TD_LU_C ? 2u : 1u);
}

bool lu_work_open(lu_work *w, size_t bytes, int most_batch, int most_n)
{
    const size_t batch = (size_t)most_batch, ints = batch * (size_t)most_n * sizeof(int);
    memset(w, 0, sizeof *w);
    w->random_bytes = RANDOM_NUMBERS * sizeof(double);
    const struct {
        void **at;
        size_t bytes;
    } memory[] = {
        {(void **)&w->random, w->random_bytes},
        {(void **)&w->source, bytes},
        {(void **)&w->factors, bytes},
        {(void **)&w->out, bytes},
        {(void **)&w->source_at, batch * sizeof(void *)},
        {(void **)&w->factors_at, batch * sizeof(void *)},
        {(void **)&w->out_at, batch * sizeof(void *)},
        {(void **)&w->pivots, ints},
        {(void **)&w->other_pivots, ints},
        {(void **)&w->info, batch * sizeof(int)},
        {(void **)&w->other_info, batch * sizeof(int)},
    };
    CHECK_CUBLAS(cublasCreate(&w->handle));
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        CHECK_CUDA(cudaMalloc(memory[i].at, memory[i].bytes));
    return true;
out:
    return false;
}

void lu_work_close(lu_work *w)
{
    void *all[] = {w->random, w->source, w->factors,      w->out,  w->source_at, w->factors_at,
                   w->out_at, w->pivots, w->other_pivots, w->info, w->other_info};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) cudaFree(all[i]);
    if (w->handle) cublasDestroy(w->handle);
}

/* Numbers in -1 .. 1, as many of the problem's width as fit. */
static bool fill_random(lu_work *w)
{
    const bool is_wide = w->type == TD_LU_D || w->type == TD_LU_Z;
    const size_t count = RANDOM_NUMBERS;
    random_stream random = {20261122};
    double *numbers = malloc(count * sizeof *numbers);
    bool done = false;
    if (!numbers) goto out;
    for (size_t i = 0; i < count; i++) {
        const double x = 2.0 * random_uniform(&random) - 1.0;
        if (is_wide)
            numbers[i] = x;
        else
            ((float *)numbers)[i] = (float)x;
    }
    w->random_bytes = count * (is_wide ? 8 : 4);
    CHECK_CUDA(cudaMemcpy(w->random, numbers, w->random_bytes, cudaMemcpyHostToDevice));
    for (size_t at = 0; at < w->bytes; at += w->random_bytes) {
        const size_t bytes = w->bytes - at < w->random_bytes ? w->bytes - at : w->random_bytes;
        CHECK_CUDA(cudaMemcpy(w->source + at, w->random, bytes, cudaMemcpyDeviceToDevice));
    }
    done = true;
out:
    free(numbers);
    return done;
}

static bool point(void **device, char *first, size_t step, int count)
{
    bool done = false;
    void **at = malloc((size_t)count * sizeof *at);
    if (!at) goto out;
    for (int i = 0; i < count; i++) at[i] = first + (size_t)i * step;
    CHECK_CUDA(cudaMemcpy(device, at, (size_t)count * sizeof *at, cudaMemcpyHostToDevice));
    done = true;
out:
    free(at);
    return done;
}

/* One of cuBLAS's functions for the four types: NAME with its arguments, those of the type cast by
 * `void`. */
#define OF_TYPE(type, S, D, C, Z)                                                                  \
    ((type) == TD_LU_S ? (S) : (type) == TD_LU_D ? (D) : (type) == TD_LU_C ? (C) : (Z))

static bool factor_natively(lu_work *w, void **a, int *pivots, int *info)
{
    const int n = w->n, batch = w->batch;
    cublasHandle_t h = w->handle;
    CHECK_CUBLAS(
        OF_TYPE(w->type, cublasSgetrfBatched(h, n, (float *const *)a, n, pivots, info, batch),
                cublasDgetrfBatched(h, n, (double *const *)a, n, pivots, info, batch),
                cublasCgetrfBatched(h, n, (cuComplex *const *)a, n, pivots, info, batch),
                cublasZgetrfBatched(h, n, (cuDoubleComplex *const *)a, n, pivots, info, batch)));
    return true;
out:
    return false;
}

bool lu_work_prepare(lu_work *w, td_lu_type type, int n, int batch)
{
    const bool is_same_width =
        w->n && (type == TD_LU_D || type == TD_LU_Z) == (w->type == TD_LU_D || w->type == TD_LU_Z);
    const size_t step = (size_t)n * (size_t)n * number_bytes(type), before = w->bytes;
    w->type = type, w->n = n, w->batch = batch;
    w->bytes = step * (size_t)batch;
    if ((!is_same_width || w->bytes > before) && !fill_random(w)) return false;
    if (!point(w->source_at, w->source, step, batch) ||
        !point(w->factors_at, w->factors, step, batch) || !point(w->out_at, w->out, step, batch))
        return false;
    CHECK_CUDA(cudaMemcpy(w->factors, w->source, w->bytes, cudaMemcpyDeviceToDevice));
    return factor_natively(w, w->factors_at, w->other_pivots, w->other_info);
out:
    return false;
}

static bool call_cublas(lu_work *w, lu_routine routine)
{
    const int n = w->n, batch = w->batch;
    int *pivots = w->other_pivots, *info = w->info, host_info = 0;
    cublasHandle_t h = w->handle;
    const double one[2] = {1.0, 0.0};
    const float narrow_one[2] = {1.0f, 0.0f};
    void **a = w->factors_at, **b = w->out_at, **s = w->source_at;
    const cublasSideMode_t left = CUBLAS_SIDE_LEFT;
    const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
    const cublasDiagType_t unit = CUBLAS_DIAG_UNIT;
#define CALLS(P, T, scalar)                                                                        \
    (routine == LU_GETRI   ? cublas##P##getriBatched(h, n, (const T *const *)a, n, pivots,         \
                                                     (T *const *)b, n, info, batch)                \
     : routine == LU_GETRS ? cublas##P##getrsBatched(h, CUBLAS_OP_N, n, n, (const T *const *)a, n, \
                                                     pivots, (T *const *)b, n, &host_info, batch)  \
     : routine == LU_TRSM                                                                          \
         ? cublas##P##trsmBatched(h, left, lower, CUBLAS_OP_N, unit, n, n, (const T *)scalar,      \
                                  (const T *const *)a, n, (T *const *)b, n, batch)                 \
         : cublas##P##matinvBatched(h, n, (const T *const *)s, n, (T *const *)b, n, info, batch))
    if (routine == LU_GETRF) return factor_natively(w, b, pivots, info);
    CHECK_CUBLAS(OF_TYPE(w->type, CALLS(S, float, narrow_one), CALLS(D, double, one),
                         CALLS(C, cuComplex, narrow_one), CALLS(Z, cuDoubleComplex, one)));
    return true;
out:
    return false;
}

static bool call_tandem(lu_work *w, lu_routine routine, int shape)
{
    const int n = w->n;
    const td_lu_factors factors = {w->type, n, w->out_at, n, w->pivots, w->info, w->batch, shape};
    const td_lu_inverses inverses = {
        w->type, n, (const void *const *)w->source_at, n, w->out_at, n, w->info, w->batch};
    td_lu_vectors p = {.type = w->type,
                       .n = n,
                       .vectors = n,
                       .a = (const void *const *)w->factors_at,
                       .lda = n,
                       .b = w->out_at,
                       .ldb = n,
                       .batch = w->batch,
                       .pivots = w->other_pivots};
    p.together = shape < 0 ? 0 : shape % LU_LANES;
    p.lanes = shape < 0 ? 0 : shape / LU_LANES;
    if (routine == LU_GETRF) return cuda_succeeded(td_lu_factor(&factors, NULL), "td_lu_factor");
    if (routine == LU_MATINV) return cuda_succeeded(td_lu_invert(&inverses, NULL), "td_lu_invert");
    p.what = routine == LU_GETRI   ? TD_VECTORS_INVERSE
             : routine == LU_GETRS ? TD_VECTORS_SOLUTION
                                   : TD_VECTORS_TRIANGLE;
    if (routine == LU_GETRI) p.info = w->info;
    if (routine == LU_TRSM) {
        p.is_unit = true;
        p.alpha_re = 1.0;
    }
    return cuda_succeeded(td_lu_solve(&p, NULL), "td_lu_solve");
}

/* One call, to be timed. */
typedef struct {
    lu_work *work;
    lu_routine routine;
    int shape;
} lu_call;

static bool call(const void *context)
{
    const lu_call *c = context;
    return c->shape == LU_CUBLAS ? call_cublas(c->work, c->routine)
                                 : call_tandem(c->work, c->routine, c->shape);
}

static bool restore(const void *context)
{
    const lu_work *w = ((const lu_call *)context)->work;
    return cuda_succeeded(cudaMemcpy(w->out, w->source, w->bytes, cudaMemcpyDeviceToDevice),
                          "cudaMemcpy");
}

bool lu_work_time(lu_work *w, lu_routine routine, int shape, int runs, double *seconds)
{
    const bool overwrites = routine == LU_GETRF || routine == LU_GETRS || routine == LU_TRSM;
    const lu_call c = {w, routine, shape};
    return timing_repeat(call, overwrites ? restore : NULL, &c, runs, seconds);
}

static bool count_differences(const int *device, const int *other, int each, int batch,
                              int *different)
{
    const size_t bytes = (size_t)each * (size_t)batch * sizeof(int);
    int *x = malloc(bytes), *y = malloc(bytes);
    bool done = false;
    if (!x || !y) goto out;
    CHECK_CUDA(cudaMemcpy(x, device, bytes, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(y, other, bytes, cudaMemcpyDeviceToHost));
    *different = 0;
    for (int i = 0; i < batch; i++)
        *different += memcmp(x + i * each, y + i * each, (size_t)each * sizeof(int)) != 0;
    done = true;
out:
    free(x);
    free(y);
    return done;
}

bool lu_work_differences(lu_work *w, int *pivots, int *info)
{
    return count_differences(w->pivots, w->other_pivots, w->n, w->batch, pivots) &&
           count_differences(w->info, w->other_info, 1, w->batch, info);
}
