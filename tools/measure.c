#include "tools/measure.h"

#include <math.h>
#include <stdlib.h>

#include <cublas_v2.h>

#include "lib/engines/engine.h"
#include "lib/cuda/device.h"
#include "lib/routine/lower.h"
#include "lib/model/device_model.h"
#include "lib/engines/solve/solve.h"
#include "lib/loader/originals.h"
#include "lib/engines/native_call.h"
#include "tools/machine.h"

/* Random numbers are made once and repeated; a prime period, so that lines of matrices differ. */
enum { PERIOD = 4194301, SERIES = 3, MOST_CALLS = 2000 };

struct measure {
    td_device *device;
    td_library *library;
    cublasHandle_t handle;
    __typeof__(&cublasDgemmStridedBatched) native;
    __typeof__(&cublasDestroy_v2) destroy;
    cudaEvent_t start, stop;
    cudaStream_t stream;
    measure_size size;
    double *operands, *result; /* apart: results have not the spread of ordinary data */
};

/* One call, again and again; lowered: the product that it is, if it is one. */
typedef struct {
    measure *m;
    const td_engine *engine;
    td_parameter parameter;
    td_problem problem;
    td_product lowered;
} work;

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
    td_library *library = m->library = td_library_own();
    if (!library) return false;
    const __typeof__(&cublasCreate_v2) create = TD_ORIGINAL(library, cublasCreate_v2);
    const __typeof__(&cublasSetStream_v2) set_stream = TD_ORIGINAL(library, cublasSetStream_v2);
    m->native = TD_ORIGINAL(library, cublasDgemmStridedBatched);
    m->destroy = TD_ORIGINAL(library, cublasDestroy_v2);
    return create && set_stream && m->native && m->destroy && !create(&m->handle) &&
           !set_stream(m->handle, m->stream);
}

static bool allocate(int64_t elements, double **memory)
{
    return td_cuda_ok(cudaMalloc((void **)memory, (size_t)elements * sizeof **memory));
}

static const char no_kernels[] = "no device that runs Tandem's kernels";

bool measure_choose(int device, td_card *card, const char **reason)
{
    static machine m; /* the reason is a text of it */
    int count = 0;
    *reason = no_kernels;
    if (td_cuda_ok(cudaSetDevice(device)) && td_device_card(device, card))
        return td_device_current() != NULL;
    *reason = "there is no such device";
    if (td_cuda_ok(cudaGetDeviceCount(&count)) && count > 0) return false;
    machine_query(&m);
    if (m.device_count == 0) *reason = m.reason;
    return false;
}

measure *measure_open(measure_size size, const char **reason)
{
    measure *m = calloc(1, sizeof *m);
    *reason = "out of memory";
    if (!m) return NULL;
    m->size = size;
    *reason = no_kernels;
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

bool measure_set_emulation(measure *m, bool is_on)
{
#if CUBLAS_VERSION >= 130100
    const __typeof__(&cublasSetMathMode) set_mode = TD_ORIGINAL(m->library, cublasSetMathMode);
    const __typeof__(&cublasSetEmulationStrategy) set_strategy =
        TD_ORIGINAL(m->library, cublasSetEmulationStrategy);
    return set_mode && set_strategy &&
           !set_strategy(m->handle, is_on ? CUBLAS_EMULATION_STRATEGY_EAGER
                                          : CUBLAS_EMULATION_STRATEGY_DEFAULT) &&
           !set_mode(m->handle, is_on ? CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH : CUBLAS_DEFAULT_MATH);
#else
    (void)m, (void)is_on;
    return false;
#endif
}

/* ---- one call ---- */

static int64_t round_up(int64_t rows) { return (rows + 7) / 8 * 8; }

/* A matrix without data: op(X) has so many rows and columns. */
static td_matrix matrix_of(int64_t rows, int64_t cols, td_op op)
{
    const int64_t ld = round_up(op == TD_OP_N ? rows : cols);
    return (td_matrix){.ld = ld, .stride = ld * (op == TD_OP_N ? cols : rows)};
}

static void set_matrices(td_problem *p, const measure_shape *s)
{
    const bool is_product = s->kind == TD_PRODUCT,
               is_update = s->kind == TD_RANK_K || s->kind == TD_RANK_2K;
    const int64_t rows = is_update ? s->n : s->m, terms = is_product || is_update ? s->k : rows;
    p->a = matrix_of(rows, terms, s->op_a);
    p->b = is_update ? p->a : matrix_of(terms, s->n, s->op_b);
    p->c = matrix_of(rows, s->n, TD_OP_N);
}

/* Real numbers of an element. */
static int64_t parts_of(const measure_shape *s) { return s->type == TD_COMPLEX_BINARY64 ? 2 : 1; }

measure_size measure_size_of(const measure_shape *s)
{
    td_problem p;
    set_matrices(&p, s);
    const int64_t parts = parts_of(s) * s->batch;
    return (measure_size){(p.a.stride + p.b.stride) * parts, p.c.stride * parts};
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

/* A solve is in place, of what is in the result's memory. Its numbers overflow, which takes no
 * other time. */
td_problem measure_problem(const measure *m, const measure_shape *s)
{
    td_problem p = {.kind = s->kind,
                    .type = s->type,
                    .is_hermitian =
                        s->type == TD_COMPLEX_BINARY64 && !td_kinds[s->kind].has_diagonal,
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
    p.b.data = s->kind == TD_TRIANGULAR_SOLVE ? m->result
                                              : m->operands + p.a.stride * parts_of(s) * s->batch;
    p.c.data = m->result;
    return p;
}

static bool run_native(const work *x)
{
    static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    const td_problem *p = &x->problem;
    td_original_enter(TD_CUBLAS);
    const cublasStatus_t status =
        p->kind != TD_PRODUCT ? td_native_call(x->m->library, x->m->handle, p)
                              : x->m->native(x->m->handle, ops[p->op_a], ops[p->op_b], (int)p->m,
                                             (int)p->n, (int)p->k, &p->alpha.value.binary64,
                                             p->a.data, (int)p->a.ld, p->a.stride, p->b.data,
                                             (int)p->b.ld, p->b.stride, &p->beta.value.binary64,
                                             p->c.data, (int)p->c.ld, p->c.stride, (int)p->batch);
    td_original_leave(TD_CUBLAS);
    return status == CUBLAS_STATUS_SUCCESS;
}

static td_run_status run_engine(const work *x)
{
    const size_t limit = td_device_limit(x->m->device, 0);
    const td_solve_products by = {
        x->engine, x->parameter, {td_solve_most_rows(x->problem.type), TD_SOLVE_LEAST_TERMS}};
    if (td_problem_is_solve(&x->problem))
        return td_solve_run(&x->problem, &by, x->m->device, limit, NULL);
    return td_engine_run(x->engine, &x->lowered, x->parameter, x->m->device, limit, NULL);
}

static bool run(const work *x)
{
    if (!x->engine || !x->engine->run) return run_native(x);
    return run_engine(x) == TD_RUN_DONE;
}

/* Seconds of one of `calls`; negative for a failure. */
static double time_series(const work *x, int calls)
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

double measure_seconds(measure *m, const measure_shape *shape, const td_engine *engine,
                       td_parameter parameter, double budget)
{
    work x = {m, engine, parameter, .problem = measure_problem(m, shape)};
    (void)td_lower(&x.problem, &x.lowered);
    double seconds[SERIES];
    if (!measure_fits(measure_size_of(shape), m->size) || time_series(&x, 1) < 0.0) return -1.0;
    /* The call before has loaded the kernels, but may have been held up, or the next. */
    const double first = time_series(&x, 2), second = time_series(&x, 2),
                 one = first < second ? first : second;
    if (one < 0.0 || 2.0 * one > budget) return one;
    const double wanted = budget / SERIES / (one > 1e-7 ? one : 1e-7);
    const int calls = wanted > MOST_CALLS ? MOST_CALLS : wanted < 1.0 ? 1 : (int)wanted;
    for (int i = 0; i < SERIES; i++) {
        seconds[i] = time_series(&x, calls);
        if (seconds[i] < 0.0) return -1.0;
    }
    qsort(seconds, SERIES, sizeof *seconds, ascending);
    return seconds[SERIES / 2];
}
