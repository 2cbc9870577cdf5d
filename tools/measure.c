#include "tools/measure.h"

#include <math.h>
#include <stdlib.h>

#include <cublas_v2.h>

#include "lib/cuda/device.h"
#include "lib/engines/model/device_model.h"
#include "lib/loader/originals.h"

/* Random numbers are made once and repeated; a prime period, so that lines of matrices differ. */
enum { PERIOD = 4194301, SERIES = 3, MOST_CALLS = 2000 };

struct measure {
    td_device *device;
    cublasHandle_t handle;
    __typeof__(&cublasDgemmStridedBatched) native;
    __typeof__(&cublasDestroy_v2) destroy;
    struct {
        __typeof__(&cublasDsyrk_v2) syrk;
        __typeof__(&cublasDsymm_v2) symm;
        __typeof__(&cublasDtrmm_v2) trmm;
        __typeof__(&cublasDtrsm_v2) trsm;
    } routines;
    cudaEvent_t start, stop;
    cudaStream_t stream;
    measure_size size;
    double *operands, *result; /* apart: results have not the spread of ordinary data */
};

/* One call, again and again. */
typedef struct {
    measure *m;
    const td_engine *engine;
    td_parameter parameter;
    td_problem problem;
} product;

/* ---- set-up ---- */

/* SplitMix64 (Steele, Lea, Flood 2014): neighbours far apart are not related either, as those of
 * plainer generators are, which would give matrices of low rank. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static double uniform(uint64_t *state)
{
    return ((double)(next_random(state) >> 11) + 0.5) * 0x1p-53;
}

/* (u - 1/2) exp(g / 2), g normal: the spread of ordinary data. */
static double ordinary(uint64_t *state)
{
    const double pi = 3.14159265358979323846, u = uniform(state), v = uniform(state);
    return (uniform(state) - 0.5) * exp(0.5 * sqrt(-2.0 * log(u)) * cos(2.0 * pi * v));
}

/* One period from the host; the rest is copied from what is there. */
static bool fill(measure *m)
{
    const int64_t elements = m->size.operands, first = elements < PERIOD ? elements : PERIOD;
    double *numbers = malloc((size_t)first * sizeof *numbers);
    uint64_t state = 20260101;
    if (!numbers) return false;
    for (int64_t i = 0; i < first; i++) numbers[i] = ordinary(&state);
    bool filled = td_cuda_ok(
        cudaMemcpy(m->operands, numbers, (size_t)first * sizeof *numbers, cudaMemcpyHostToDevice));
    free(numbers);
    for (int64_t at = first; at < elements && filled;) {
        const int64_t more = at < elements - at ? at : elements - at;
        filled =
            td_cuda_ok(cudaMemcpy(m->operands + at, m->operands, (size_t)more * sizeof *m->operands,
                                  cudaMemcpyDeviceToDevice));
        at += more;
    }
    return filled;
}

static bool find_cublas(measure *m)
{
    td_library *library = td_library_own();
    if (!library) return false;
    const __typeof__(&cublasCreate_v2) create = TD_ORIGINAL(library, cublasCreate_v2);
    const __typeof__(&cublasSetStream_v2) set_stream = TD_ORIGINAL(library, cublasSetStream_v2);
    m->native = TD_ORIGINAL(library, cublasDgemmStridedBatched);
    m->destroy = TD_ORIGINAL(library, cublasDestroy_v2);
    m->routines.syrk = TD_ORIGINAL(library, cublasDsyrk_v2);
    m->routines.symm = TD_ORIGINAL(library, cublasDsymm_v2);
    m->routines.trmm = TD_ORIGINAL(library, cublasDtrmm_v2);
    m->routines.trsm = TD_ORIGINAL(library, cublasDtrsm_v2);
    return create && set_stream && m->native && m->destroy && !create(&m->handle) &&
           !set_stream(m->handle, m->stream);
}

static bool allocate(int64_t elements, double **memory)
{
    return td_cuda_ok(cudaMalloc((void **)memory, (size_t)elements * sizeof **memory));
}

measure *measure_open(measure_size size, const char **reason)
{
    measure *m = calloc(1, sizeof *m);
    *reason = "out of memory";
    if (!m) return NULL;
    m->size = size;
    *reason = "no device that runs Tandem's kernels";
    m->device = td_device_current();
    if (!m->device || !td_cuda_ok(cudaEventCreate(&m->start)) ||
        !td_cuda_ok(cudaEventCreate(&m->stop)) ||
        !td_cuda_ok(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking)))
        goto failed;
    *reason = "no cuBLAS (libcublas.so.13, 12 or 11) that works";
    if (!find_cublas(m)) goto failed;
    *reason = "not enough device memory";
    if (!allocate(size.operands, &m->operands) || !allocate(size.result, &m->result) || !fill(m))
        goto failed;
    return m;
failed:
    measure_close(m);
    return NULL;
}

void measure_close(measure *m)
{
    if (!m) return;
    if (m->handle) m->destroy(m->handle);
    if (m->start) cudaEventDestroy(m->start);
    if (m->stop) cudaEventDestroy(m->stop);
    if (m->stream) cudaStreamDestroy(m->stream);
    cudaFree(m->operands);
    cudaFree(m->result);
    free(m);
}

/* ---- one product ---- */

static int64_t round_up(int64_t rows) { return (rows + 7) / 8 * 8; }

/* A matrix without data: op(X) has so many rows and columns. */
static td_matrix matrix_of(int64_t rows, int64_t cols, td_op op)
{
    const int64_t ld = round_up(op == TD_OP_N ? rows : cols);
    return (td_matrix){.ld = ld, .stride = ld * (op == TD_OP_N ? cols : rows)};
}

static void set_matrices(td_problem *p, const measure_shape *s)
{
    p->a = matrix_of(s->m, s->k, s->op_a);
    p->b = matrix_of(s->k, s->n, s->op_b);
    p->c = matrix_of(s->m, s->n, TD_OP_N);
}

measure_size measure_size_of(const measure_shape *s)
{
    td_problem p;
    set_matrices(&p, s);
    return (measure_size){(p.a.stride + p.b.stride) * s->batch, p.c.stride * s->batch};
}

bool measure_fits(measure_size size, measure_size into)
{
    return size.operands <= into.operands && size.result <= into.result;
}

measure_size measure_larger(measure_size a, measure_size b)
{
    return (measure_size){a.operands > b.operands ? a.operands : b.operands,
                          a.result > b.result ? a.result : b.result};
}

const td_model *measure_model(const measure *m) { return td_device_model(m->device->ordinal); }

static td_problem problem_of(const measure *m, const measure_shape *s)
{
    td_problem p = {.kind = TD_PRODUCT,
                    .type = TD_BINARY64,
                    .op_a = s->op_a,
                    .op_b = s->op_b,
                    .m = s->m,
                    .n = s->n,
                    .k = s->k,
                    .alpha.value.binary64 = 1.0,
                    .beta.value.binary64 = s->beta,
                    .batch = s->batch,
                    .stream = m->stream};
    set_matrices(&p, s);
    p.a.data = m->operands;
    p.b.data = m->operands + p.a.stride * s->batch;
    p.c.data = m->result;
    return p;
}

static bool run_native(const product *x)
{
    static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    const td_problem *p = &x->problem;
    td_original_enter();
    const cublasStatus_t status = x->m->native(
        x->m->handle, ops[p->op_a], ops[p->op_b], (int)p->m, (int)p->n, (int)p->k,
        &p->alpha.value.binary64, p->a.data, (int)p->a.ld, p->a.stride, p->b.data, (int)p->b.ld,
        p->b.stride, &p->beta.value.binary64, p->c.data, (int)p->c.ld, p->c.stride, (int)p->batch);
    td_original_leave();
    return status == CUBLAS_STATUS_SUCCESS;
}

/* True if there is such a routine, and it is done. */
static bool call_routine(const measure *m, const td_problem *p)
{
    static const double one = 1.0, zero = 0.0;
    const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
    const cublasSideMode_t left = CUBLAS_SIDE_LEFT;
    const cublasOperation_t none = CUBLAS_OP_N;
    const cublasDiagType_t unit = CUBLAS_DIAG_UNIT;
    const int rows = (int)p->m, columns = (int)p->n, lda = (int)p->a.ld, ldb = (int)p->b.ld,
              ldc = (int)p->c.ld;
    const double *a = p->a.data, *b = p->b.data;
    double *c = p->c.data;
    switch (p->kind) {
    case TD_RANK_K:
        return m->routines.syrk && m->routines.syrk(m->handle, lower, none, columns, (int)p->k,
                                                    &one, a, lda, &zero, c, ldc) == 0;
    case TD_SYMMETRIC_PRODUCT:
        return m->routines.symm && m->routines.symm(m->handle, left, lower, rows, columns, &one, a,
                                                    lda, b, ldb, &zero, c, ldc) == 0;
    case TD_TRIANGULAR_PRODUCT:
        return m->routines.trmm && m->routines.trmm(m->handle, left, lower, none, unit, rows,
                                                    columns, &one, a, lda, b, ldb, c, ldc) == 0;
    case TD_TRIANGULAR_SOLVE:
        return m->routines.trsm && m->routines.trsm(m->handle, left, lower, none, unit, rows,
                                                    columns, &one, a, lda, c, ldc) == 0;
    default:
        return false;
    }
}

static bool run_routine(const product *x)
{
    td_original_enter();
    const bool is_done = call_routine(x->m, &x->problem);
    td_original_leave();
    return is_done;
}

static bool run(const product *x)
{
    if (x->problem.kind != TD_PRODUCT) return run_routine(x);
    if (!x->engine || !x->engine->run) return run_native(x);
    return td_engine_run(x->engine, &x->problem, x->parameter, x->m->device,
                         td_device_limit(x->m->device, 0), NULL) == TD_RUN_DONE;
}

/* Seconds of one of `calls`; negative for a failure. */
static double time_series(const product *x, int calls)
{
    float milliseconds = -1.0f;
    bool good = td_cuda_ok(cudaEventRecord(x->m->start, x->m->stream));
    for (int i = 0; i < calls && good; i++) good = run(x);
    good = good && td_cuda_ok(cudaEventRecord(x->m->stop, x->m->stream)) &&
           td_cuda_ok(cudaEventSynchronize(x->m->stop)) &&
           td_cuda_ok(cudaEventElapsedTime(&milliseconds, x->m->start, x->m->stop));
    return good ? (double)milliseconds * 1e-3 / calls : -1.0;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean seconds of one of many calls. */
static double time_calls(const product *x, double budget)
{
    double seconds[SERIES];
    if (time_series(x, 1) < 0.0) return -1.0;
    /* The call before has loaded the kernels, but may have been held up, or the next. */
    const double first = time_series(x, 2), second = time_series(x, 2),
                 one = first < second ? first : second;
    if (one < 0.0 || 2.0 * one > budget) return one;
    const double wanted = budget / SERIES / (one > 1e-7 ? one : 1e-7);
    const int calls = wanted > MOST_CALLS ? MOST_CALLS : wanted < 1.0 ? 1 : (int)wanted;
    for (int i = 0; i < SERIES; i++) {
        seconds[i] = time_series(x, calls);
        if (seconds[i] < 0.0) return -1.0;
    }
    qsort(seconds, SERIES, sizeof *seconds, ascending);
    return seconds[SERIES / 2];
}

double measure_seconds(measure *m, const measure_shape *shape, const td_engine *engine,
                       td_parameter parameter, double budget)
{
    const product x = {m, engine, parameter, problem_of(m, shape)};
    return measure_fits(measure_size_of(shape), m->size) ? time_calls(&x, budget) : -1.0;
}

double measure_routine_seconds(measure *m, const td_problem *sizes, double budget)
{
    const bool is_update = sizes->kind == TD_RANK_K;
    const measure_shape shape = {
        .m = sizes->m, .n = sizes->n, .k = is_update ? sizes->k : sizes->m, .batch = 1};
    product x = {.m = m, .problem = problem_of(m, &shape)};
    x.problem.kind = sizes->kind;
    return measure_fits(measure_size_of(&shape), m->size) ? time_calls(&x, budget) : -1.0;
}
