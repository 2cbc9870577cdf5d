/* solve - times of triangular solves in every way that they can be cut: single diagonal blocks by
 * their rows and by the vectors of a panel, and whole solves by rows of a block, in modes fp64 and
 * ozaki2, beside cuBLAS's and as mode auto cuts them, with what it predicts; and of few vectors on
 * either side, by cuBLAS and in mode fp64. From these the constants solve_* and native_solve_* of
 * lib/model/tuning.def follow.
 *
 * Usage: solve [--csv FILE]
 *
 * Prints Markdown: microseconds, and real TFLOP/s (a complex multiply-add is eight operations).
 * Takes some thirty seconds. */
#include <stdlib.h>

#include <cublas_v2.h>

#include "../examples/common.h"
#include "../include/tandem.h"
#include "../lib/call/policy.h"
#include "../lib/cuda/device.h"
#include "../lib/model/device_model.h"
#include "../lib/model/solve_model.h"
#include "../lib/engines/solve/solve.h"
#include "harness/options.h"
#include "harness/table.h"
#include "harness/timing.h"

const char program_name[] = "solve";

enum { ORDER = 8192, LAUNCHES = 16 };
static const double budget = 0.03;

/* op(A) X = B, or X op(A) = B; form: side, triangle and operation. */
typedef struct {
    td_type type;
    int order, vectors;
    const char *form;
} shape;

static const shape shapes[] = {
    {TD_BINARY64, 8192, 8192, "LLN"},         {TD_BINARY64, 8192, 512, "LLN"},
    {TD_BINARY64, 8192, 64, "LLN"},           {TD_BINARY64, 512, 8192, "LLN"},
    {TD_BINARY64, 1024, 1024, "LLN"},         {TD_BINARY64, 256, 4096, "LLN"},
    {TD_BINARY64, 64, 8192, "LLN"},           {TD_BINARY64, 8192, 512, "LUN"},
    {TD_BINARY64, 8192, 512, "LLT"},          {TD_BINARY64, 512, 8192, "RLT"},
    {TD_BINARY64, 512, 8192, "RUN"},          {TD_BINARY64, 512, 15360, "RLN"},
    {TD_BINARY64, 512, 15360, "RLT"},         {TD_BINARY64, 512, 15360, "RUN"},
    {TD_BINARY64, 512, 15360, "RUT"},         {TD_BINARY64, 2048, 15360, "RUN"},
    {TD_BINARY64, 128, 8192, "RUN"},          {TD_BINARY64, 512, 512, "LUN"},
    {TD_COMPLEX_BINARY64, 4096, 4096, "LLN"}, {TD_COMPLEX_BINARY64, 4096, 256, "LLN"},
    {TD_COMPLEX_BINARY64, 512, 4096, "RLC"},
};

static td_options automatic; /* mode auto */

/* A has ORDER real numbers in a column. B is solved for again and again: A is near the identity. */
typedef struct {
    const shape *s;
    cublasHandle_t handle;
    td_device *device;
    td_solve_products by; /* engine NULL: cuBLAS */
    td_solve_block block;
    double *a, *b;
} work;

static int parts_of(td_type type) { return type == TD_COMPLEX_BINARY64 ? 2 : 1; }

static td_problem problem_of(const work *w)
{
    const shape *s = w->s;
    const bool is_left = s->form[0] == 'L';
    td_problem p = {.kind = TD_TRIANGULAR_SOLVE,
                    .type = s->type,
                    .side = is_left ? TD_LEFT : TD_RIGHT,
                    .triangle = s->form[1] == 'L' ? TD_LOWER : TD_UPPER,
                    .op_a = s->form[2] == 'N'   ? TD_OP_N
                            : s->form[2] == 'T' ? TD_OP_T
                                                : TD_OP_C,
                    .diagonal = TD_NON_UNIT_DIAGONAL,
                    .m = is_left ? s->order : s->vectors,
                    .n = is_left ? s->vectors : s->order,
                    .alpha.value.complex_binary64 = {1.0, 0.0},
                    .a = {.data = w->a, .ld = ORDER / parts_of(s->type)},
                    .b = {.data = w->b, .ld = is_left ? s->order : s->vectors},
                    .batch = 1};
    if (s->type == TD_BINARY64) p.alpha.value.binary64 = 1.0;
    return p;
}

static bool solve_natively(const work *w)
{
    static const double one = 1.0;
    static const cuDoubleComplex z1 = {1.0, 0.0};
    const td_problem p = problem_of(w);
    const cublasSideMode_t side = (cublasSideMode_t)p.side;
    const cublasFillMode_t fill = (cublasFillMode_t)p.triangle;
    const cublasOperation_t op = (cublasOperation_t)p.op_a;
    const int m = (int)p.m, n = (int)p.n, lda = (int)p.a.ld, ldb = (int)p.b.ld;
    return cublas_succeeded(p.type == TD_BINARY64
                                ? cublasDtrsm(w->handle, side, fill, op, CUBLAS_DIAG_NON_UNIT, m, n,
                                              &one, w->a, lda, w->b, ldb)
                                : cublasZtrsm(w->handle, side, fill, op, CUBLAS_DIAG_NON_UNIT, m, n,
                                              &z1, (const cuDoubleComplex *)w->a, lda,
                                              (cuDoubleComplex *)w->b, ldb),
                            "cublas?trsm");
}

static bool solve(const void *of)
{
    const work *w = of;
    const td_problem p = problem_of(w);
    if (!w->by.engine) return solve_natively(w);
    return td_solve_run(&p, &w->by, w->device, td_device_limit(w->device, 0), NULL) == TD_RUN_DONE;
}

static bool solve_blocks(const void *of)
{
    const work *w = of;
    for (int i = 0; i < LAUNCHES; i++) {
        td_solve_block block = w->block;
        block.is_first = i == 0;
        if (td_solve_block_run(&block, NULL) != cudaSuccess) return false;
    }
    return true;
}

static double operations_of(const shape *s)
{
    return (s->type == TD_BINARY64 ? 1.0 : 4.0) * s->order * (double)s->order * s->vectors;
}

/* predicted: seconds; NaN: nobody asked. */
static bool print_row(const table *out, const work *w, const char *way, int panel, timed_work *run,
                      int runs, double predicted)
{
    const shape *s = w->s;
    timing t;
    table_line line = {.count = 0};
    if (!timing_measure(run, w, budget, &t)) return false;
    const double seconds = t.seconds / runs;
    table_put(&line, "%s", s->type == TD_BINARY64 ? "d" : "z");
    table_put(&line, "%s", s->form);
    table_put(&line, "%d", s->order);
    table_put(&line, "%d", s->vectors);
    table_put(&line, "%s", way);
    table_put(&line, "%d", (int)w->by.cut.block_rows);
    table_put(&line, "%d", panel);
    table_put(&line, "%.1f", 1e6 * seconds);
    table_put(&line, "%.1f", 1e-12 * operations_of(s) / seconds);
    table_put_number(&line, "%.1f", 1e6 * predicted);
    table_print(out, &line);
    return true;
}

/* Diagonal blocks, of systems with as many rows, in panels of every size. */
static bool measure_blocks(const table *out, work *w, td_type type)
{
    static const int counts[] = {64, 512, 1024, 2048, 4096, 8192};
    for (int rows = 64; rows <= (int)td_solve_most_rows(type); rows *= 2)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (int panel = 8; panel <= 32; panel *= 2) {
                const shape s = {type, rows, counts[i], "LLN"};
                w->s = &s;
                const td_problem p = problem_of(w);
                w->block = td_solve_block_of(&p, rows, 0);
                w->block.panel = panel;
                w->by.cut.block_rows = rows;
                if (!solve_blocks(w)) {
                    (void)cudaGetLastError(); /* no shared memory for such a panel */
                    continue;
                }
                if (!print_row(out, w, "block", panel, solve_blocks, LAUNCHES, NAN)) return false;
            }
    return true;
}

/* By cuBLAS and in mode fp64, whether or not auto would take it. */
static bool measure_narrow_shape(const table *out, work *w, const shape *s)
{
    w->s = s;
    w->by = (td_solve_products){.engine = NULL};
    const td_problem p = problem_of(w);
    td_way_forecast by_way[TD_MOST_WAYS];
    const int fp64 = td_way_of_binary64();
    td_model_predict_solve(td_device_model(w->device->ordinal), &p, by_way);
    if (!print_row(out, w, "native", 0, solve, 1, by_way[0].seconds)) return false;
    w->by = (td_solve_products){&td_engine_fp64, {0}, by_way[fp64].cut};
    return print_row(out, w, "fp64", 0, solve, 1, by_way[fp64].seconds);
}

static bool measure_narrow(const table *out, work *w, td_type type)
{
    static const int orders[] = {128, 512, 2048, 8192}, counts[] = {1, 2, 3, 4, 8, 16, 32};
    static const char *const forms[] = {"LLN", "LUT", "RUN", "RLT"};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++)
            for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
                const shape s = {type, orders[i] / parts_of(type), counts[j], forms[k]};
                if (!measure_narrow_shape(out, w, &s)) return false;
            }
    return true;
}

static bool measure_shape(const table *out, work *w, const shape *s)
{
    static const char *const modes[] = {"fp64", "ozaki2"};
    const int most = (int)td_solve_most_rows(s->type);
    char way[TABLE_WIDTH];
    w->s = s;
    w->by = (td_solve_products){.engine = NULL};
    const td_problem p = problem_of(w);
    td_question q;
    td_ask(s->type == TD_BINARY64 ? TD_ENTRY_cublasDtrsm_v2 : TD_ENTRY_cublasZtrsm_v2, &p, &q);
    const td_decision d = td_policy_decide(&automatic, &q, td_device_model(w->device->ordinal));
    if (!print_row(out, w, "native", 0, solve, 1, d.forecast.native)) return false;
    if (d.engine) {
        w->by = (td_solve_products){d.engine, d.parameter, d.cut};
        snprintf(way, sizeof way, "auto: %s", d.text);
        if (!print_row(out, w, way, 0, solve, 1, d.forecast.emulated)) return false;
    }
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        w->by = (td_solve_products){.cut.least_terms = TD_SOLVE_LEAST_TERMS};
        w->by.engine = td_engine_parse(modes[i], &w->by.parameter);
        for (int rows = most / 4; rows <= most; rows *= 2) {
            w->by.cut.block_rows = rows;
            if (!print_row(out, w, modes[i], 0, solve, 1, NAN)) return false;
            if (s->order <= rows) break;
        }
    }
    return true;
}

/* ---- numbers ---- */

/* Small random ones, and ones on the diagonal. */
static bool fill(const work *w, td_type type)
{
    const int parts = parts_of(type);
    const size_t count = (size_t)ORDER * ORDER, pitch = (size_t)(ORDER + parts) * sizeof(double);
    random_stream r = {1};
    double *const host = malloc(count * sizeof *host);
    bool is_done = false;
    if (!host) return false;
    for (size_t i = 0; i < count; i++) host[i] = (random_uniform(&r) - 0.5) / ORDER;
    CHECK_CUDA(cudaMemcpy(w->b, host, count * sizeof *host, cudaMemcpyHostToDevice));
    for (size_t i = 0; i < (size_t)(ORDER / parts); i++) {
        host[i * pitch / sizeof(double)] = 1.0;
        if (parts == 2) host[i * pitch / sizeof(double) + 1] = 0.0;
    }
    CHECK_CUDA(cudaMemcpy(w->a, host, count * sizeof *host, cudaMemcpyHostToDevice));
    is_done = true;
out:
    free(host);
    return is_done;
}

static bool measure(const table *out, work *w, td_type type)
{
    if (!fill(w, type) || !measure_blocks(out, w, type)) return false;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].type == type && !measure_shape(out, w, &shapes[i])) return false;
    return measure_narrow(out, w, type);
}

static bool run(const char *csv)
{
    static const char *const names[] = {"type", "form",  "order", "vectors", "way",
                                        "rows", "panel", "us",    "TFLOP/s", "predicted us"};
    const size_t bytes = (size_t)ORDER * ORDER * sizeof(double);
    table out = {names, sizeof names / sizeof *names, NULL};
    work w = {0};
    device_name name;
    bool is_good = false;
    if (!table_open(&out, csv)) return false;
    td_options_set_defaults(&automatic);
    if (!td_options_set(&automatic, TD_OPTION_MODE, "mode", "auto", TD_ORIGIN_CALL)) goto out;
    CHECK_CUDA(cudaMalloc((void **)&w.a, bytes));
    CHECK_CUDA(cudaMalloc((void **)&w.b, bytes));
    CHECK_CUBLAS(cublasCreate(&w.handle));
    w.device = td_device_current();
    if (!w.device || td_solve_prepare() != cudaSuccess || !query_device_name(&name)) {
        complain("the device cannot run this");
        goto out;
    }
    table_remark(&out, "Device: %s. Tandem %s.", name.text, tandem_version());
    table_print_head(&out);
    is_good = measure(&out, &w, TD_BINARY64) && measure(&out, &w, TD_COMPLEX_BINARY64);
out:
    if (w.handle) cublasDestroy(w.handle);
    cudaFree(w.a);
    cudaFree(w.b);
    return table_close(&out, csv) && is_good;
}

int main(int argc, char **argv) { return bench_main(argc, argv, run); }
