/* accuracy - errors of products in every mode, against the data, k and the number of slices or
 * moduli; beside native.
 *
 * Usage: accuracy [--csv FILE] [--quick] [--times] [MODE ...]     (default: all modes, with all
 *           parameters)
 *
 * Errors: 256 x 256 x k products of all kinds of data, k from 64 to 16384; modes with a parameter
 * on fewer. Slices: the relative errors of the papers' slices beside triple-single, N x N x N, N
 * from 256 to 4096; --times: their times. With --times also the times of products up to N = 16384
 * in the modes without numbers. Errors are those of sampled elements. --quick has small products,
 * for the host device; no time is measured there. One line a measurement: Markdown on stdout, and
 * CSV. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../examples/common.h"
#include "../include/tandem.h"
#include "../lib/engines/engine.h"
#include "../lib/cuda/device.h"
#include "../lib/engines/ozaki/typed.h"
#include "../lib/call/process.h"
#include "../lib/routine/real.h"
#include "accuracy_data.h"
#include "accuracy_modes.h"
#include "samples.h"
#include "harness/options.h"
#include "harness/table.h"
#include "harness/timing.h"

const char program_name[] = "accuracy";

#ifdef TD_HOSTGPU
static const bool has_clock = false;
#else
static const bool has_clock = true;
#endif

#define BUDGET  0.5  /* seconds of one product's timed runs */
#define LONGEST 0.25 /* seconds: a mode that takes longer is left out at larger sizes */

typedef struct {
    const char *name;
    accuracy_pattern pattern;
    double alpha, beta;
} data_kind;

#define PHI(x) .shift = 0.5, .phi = (x)

static const data_kind kinds[] = {
    {"U(0;1)", {.shift = 0.0}, 1.0, 0.0},
    {"phi 0", {PHI(0.0)}, 1.0, 0.0},
    {"phi 0.5", {PHI(0.5)}, 1.0, 0.0},
    {"phi 1", {PHI(1.0)}, 1.0, 0.0},
    {"phi 2", {PHI(2.0)}, 1.0, 0.0},
    {"phi 4", {PHI(4.0)}, 1.0, 0.0},
    {"phi 0.5 with C", {PHI(0.5)}, 1.7, -0.3},
    {"lines 64", {PHI(0.5), .lines = 64}, 1.0, 0.0},
    {"lines 240", {PHI(0.5), .lines = 240}, 1.0, 0.0},
    {"columns of A 64", {PHI(0.5), .along_a = 64}, 1.0, 0.0},
    {"columns of A 240", {PHI(0.5), .along_a = 240}, 1.0, 0.0},
    {"rows of B 64", {PHI(0.5), .along_b = 64}, 1.0, 0.0},
    {"rows of B 240", {PHI(0.5), .along_b = 240}, 1.0, 0.0},
    {"along k 64", {PHI(0.5), .along_a = 64, .along_b = -64}, 1.0, 0.0},
    {"along k 240", {PHI(0.5), .along_a = 240, .along_b = -240}, 1.0, 0.0},
    {"circulant 8", {.circulant = 8}, 1.0, 0.0},
    {"circulant 16", {.circulant = 16}, 1.0, 0.0},
    {"circulant 32", {.circulant = 32}, 1.0, 0.0},
    {"circulant 256", {.circulant = 256}, 1.0, 0.0},
    {"cancelling", {PHI(0.5), .cancelling = true}, 1.0, 0.0},
};
enum {
    KINDS = sizeof kinds / sizeof *kinds,
    DISTRIBUTIONS = 6, /* the first ones: those that modes with a parameter are measured with */
    TIMED_KIND = 2,
    SLICED_KIND = 3
};

typedef struct {
    mode_list list; /* native first */
    bool quick, times;
    bool is_incomplete; /* a mode failed */
    cublasHandle_t handle;
    td_device *device;
    td_counters *counters; /* in device memory */
    double native_seconds; /* of the same operands; NaN: not measured */
    table out;
} bench;

typedef struct {
    int m, n, k;
} shape;

/* A product on the device. */
typedef struct {
    shape shape;
    data_type type;
    const char *data; /* their name */
    double alpha, beta;
    void *a, *b, *c, *c0; /* c0 is NULL if beta is 0 */
} operands;

/* One line of the output. Not a number: not measured. */
typedef struct {
    const char *study, *mode;
    const operands *operands;
    exact_errors errors;
    double repaired;  /* elements of C that the mode left to binary64 or exact sums */
    double workspace; /* bytes, the most at a time */
    timing timing;
} measurement;

/* ---- output ---- */

static const char *const columns[] = {"study", "mode", "data",    "m",      "n",        "k",
                                      "err",   "rms",  "relerr",  "ulps",   "repaired", "workspace",
                                      "runs",  "ms",   "TFLOP/s", "speedup"};

static void print_measurement(const bench *b, const measurement *r)
{
    table_line line = {.count = 0};
    const shape *s = &r->operands->shape;
    table_put(&line, "%s", r->study);
    table_put(&line, "%s", r->mode);
    table_put(&line, "%s", r->operands->data);
    table_put(&line, "%d", s->m);
    table_put(&line, "%d", s->n);
    table_put(&line, "%d", s->k);
    table_put_number(&line, "%.4g", r->errors.err);
    table_put_number(&line, "%.4g", r->errors.rms);
    table_put_number(&line, "%.4g", r->errors.relerr);
    table_put_number(&line, "%.4g", r->errors.ulps);
    table_put_number(&line, "%.0f", r->repaired);
    table_put_number(&line, "%.0f", r->workspace);
    table_put(&line, "%d", r->timing.runs);
    table_put_number(&line, "%.5g", r->timing.seconds * 1e3);
    table_put_number(&line, "%.4g", 2e-12 * s->m * s->n * s->k / r->timing.seconds);
    table_put_number(&line, "%.3f", b->native_seconds / r->timing.seconds);
    table_print(&b->out, &line);
}

/* ---- operands ---- */

static void operands_free_all(operands *o)
{
    cudaFree(o->a);
    cudaFree(o->b);
    cudaFree(o->c);
    cudaFree(o->c0);
    *o = (operands){.a = NULL};
}

static bool allocate(void **matrix, data_type type, int rows, int cols)
{
    return cuda_succeeded(cudaMalloc(matrix, data_size(type) * (size_t)rows * (size_t)cols),
                          "cudaMalloc");
}

static bool operands_allocate(operands *o)
{
    const shape *s = &o->shape;
    return allocate(&o->a, o->type, s->m, s->k) && allocate(&o->b, o->type, s->k, s->n) &&
           allocate(&o->c, o->type, s->m, s->n) &&
           (o->beta == 0.0 || allocate(&o->c0, o->type, s->m, s->n));
}

/* Binary64 operands. */
static bool operands_fill(operands *o, shape s, const data_kind *kind)
{
    const accuracy_pattern *pattern = &kind->pattern;
    bool filled = false;
    *o = (operands){s, TYPE_DOUBLE, kind->name, kind->alpha, kind->beta, NULL, NULL, NULL, NULL};
    if (!operands_allocate(o)) goto out;
    CHECK_CUDA(accuracy_fill(pattern, ACCURACY_A, 1, s.m, s.k, o->a));
    CHECK_CUDA(accuracy_fill(pattern, ACCURACY_B, 2, s.n, s.k, o->b));
    if (o->c0) CHECK_CUDA(accuracy_fill(pattern, ACCURACY_A, 3, s.m, s.n, o->c0));
    filled = true;
out:
    return filled;
}

/* Triple-single operands: all of their bits random, or those of binary64 operands. */
static bool operands_fill_ts(operands *o, const operands *binary64)
{
    const data_distribution distribution = {kinds[SLICED_KIND].pattern.shift,
                                            kinds[SLICED_KIND].pattern.phi};
    const shape s = o->shape;
    const int64_t a_count = (int64_t)s.m * s.k, b_count = (int64_t)s.k * s.n;
    bool filled = false;
    if (!operands_allocate(o)) goto out;
    if (!binary64) {
        CHECK_CUDA(data_fill(TYPE_TS, distribution, 1, a_count, o->a));
        CHECK_CUDA(data_fill(TYPE_TS, distribution, 2, b_count, o->b));
        return true;
    }
    filled = tandem_ts_split(a_count, 1, binary64->a, a_count, o->a, a_count, NULL) == TANDEM_OK &&
             tandem_ts_split(b_count, 1, binary64->b, b_count, o->b, b_count, NULL) == TANDEM_OK;
    if (!filled) complain("splitting to triple-single: %s", tandem_last_message());
out:
    return filled;
}

static exact_product *exact_of(const operands *o)
{
    const shape *s = &o->shape;
    exact_product *e = samples_multiply(o->type, s->m, s->n, s->k, o->a, o->b);
    if (!e || !o->c0) return e;
    if (samples_update(e, o->alpha, o->beta, o->type, s->m, s->n, o->c0)) return e;
    exact_free(e);
    return NULL;
}

/* C as a product finds it: C0, or NaN, which shows what the product leaves out. */
static bool reset_c(const operands *o)
{
    const size_t bytes = data_size(o->type) * (size_t)o->shape.m * (size_t)o->shape.n;
    return cuda_succeeded(o->c0 ? cudaMemcpy(o->c, o->c0, bytes, cudaMemcpyDeviceToDevice)
                                : cudaMemset(o->c, 0xff, bytes),
                          "preparing C");
}

/* ---- measuring ---- */

/* A product to be enqueued. */
typedef struct {
    const bench *bench;
    const mode *mode;
    const operands *operands;
} product;

static bool enqueue_native(const bench *b, const operands *o)
{
    const shape *s = &o->shape;
    return cublas_succeeded(cublasDgemm(b->handle, CUBLAS_OP_N, CUBLAS_OP_N, s->m, s->n, s->k,
                                        &o->alpha, o->a, s->m, o->b, s->k, &o->beta, o->c, s->m),
                            "cublasDgemm");
}

static td_product gemm_of(const operands *o)
{
    const shape *s = &o->shape;
    return (td_product){
        .op_a = TD_OP_N,
        .op_b = TD_OP_N,
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .alpha.value.binary64 = o->alpha,
        .beta.value.binary64 = o->beta,
        .a = {.data = o->a, .ld = s->m},
        .b = {.data = o->b, .ld = s->k},
        .c = {.data = o->c, .ld = s->m},
        .batch = 1,
    };
}

static size_t workspace_limit(const td_device *device)
{
    return td_device_limit(device, td_options_in_force()->workspace);
}

/* Not by tandem_dgemm, which counts no repaired elements. */
static bool enqueue_mode(const bench *b, const mode *m, const operands *o)
{
    const shape *s = &o->shape;
    const td_product gemm = gemm_of(o);
    const bool enqueued = td_engine_run(m->engine, &gemm, m->parameter, b->device,
                                        workspace_limit(b->device), b->counters) == TD_RUN_DONE;
    if (!enqueued) complain("%s: a %d x %d x %d product failed", m->text, s->m, s->n, s->k);
    return enqueued;
}

/* A product of triple-single matrices: by slices if the mode has a number of them. */
static bool enqueue_ts(const bench *b, const mode *m, const operands *o)
{
    const shape *s = &o->shape;
    const tandem_ts one = {.x = 1.0f}, zero = {.x = 0.0f};
    td_product of = gemm_of(o);
    of.type = TD_TS;
    of.alpha.value.ts = one;
    of.beta.value.ts = zero;
    const td_real_product gemm = td_real_product_of(&of);
    const bool enqueued =
        m->parameter.is_given
            ? td_typed_slices_run(&gemm, m->parameter.count, b->device,
                                  workspace_limit(b->device)) == TD_RUN_DONE
            : tandem_tsgemm(TANDEM_OP_N, TANDEM_OP_N, s->m, s->n, s->k, one, o->a, s->m, o->b, s->k,
                            zero, o->c, s->m, NULL) == TANDEM_OK;
    if (!enqueued) complain("%s: a %d x %d x %d product failed", m->text, s->m, s->n, s->k);
    return enqueued;
}

static bool enqueue(const void *context)
{
    const product *p = context;
    if (p->mode->is_typed) return enqueue_ts(p->bench, p->mode, p->operands);
    if (mode_is_native(p->mode)) return enqueue_native(p->bench, p->operands);
    return enqueue_mode(p->bench, p->mode, p->operands);
}

/* Runs the product once and finds what it needs, counts and errs by. */
static bool run(const product *p, const exact_product *exact, measurement *r)
{
    const bench *b = p->bench;
    const operands *o = p->operands;
    uint64_t bytes = 0;
    td_counters counters = {0};
    bool good = false;
    CHECK_CUDA(cudaMemset(b->counters, 0, sizeof counters));
    CHECK_CUDA(cudaMemPoolSetAttribute(b->device->pool, cudaMemPoolAttrUsedMemHigh, &bytes));
    if (!reset_c(o) || !enqueue(p)) goto out;
    CHECK_CUDA(cudaMemcpy(&counters, b->counters, sizeof counters, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemPoolGetAttribute(b->device->pool, cudaMemPoolAttrUsedMemHigh, &bytes));
    good = samples_compare(exact, o->type, o->shape.m, o->shape.n, o->c, &r->errors);
    r->repaired = (double)counters.repaired;
    r->workspace = (double)bytes;
    if (good && isnan(r->errors.err)) complain("%s: NaN in C, data %s", r->mode, o->data);
    good = good && !isnan(r->errors.err);
out:
    return good;
}

/* One product, with its time if that is wanted and means anything. */
static bool measure(bench *b, const char *study, mode *m, const operands *o,
                    const exact_product *exact, bool timed)
{
    const product p = {b, m, o};
    measurement r = {.study = study, .mode = m->text, .operands = o, .timing = {0, (double)NAN}};
    if (!run(&p, exact, &r)) return false;
    if (timed && has_clock) {
        if (!timing_measure(enqueue, &p, BUDGET, &r.timing)) return false;
        if (mode_is_native(m)) b->native_seconds = r.timing.seconds;
        m->is_slow = r.timing.seconds > LONGEST;
    }
    print_measurement(b, &r);
    return true;
}

/* The products of some modes with the same operands. A mode that fails is left out from then on. */
static bool measure_modes(bench *b, const char *study, const operands *o, mode_filter *wants,
                          bool timed)
{
    exact_product *exact = exact_of(o);
    bool good = exact != NULL;
    b->native_seconds = (double)NAN;
    for (int i = 0; i < b->list.count && good; i++) {
        mode *m = &b->list.modes[i];
        if (m->is_broken || !wants(m)) continue;
        m->is_broken = !measure(b, study, m, o, exact, timed);
        b->is_incomplete |= m->is_broken;
    }
    exact_free(exact);
    return good;
}

static bool measure_kind(bench *b, const char *study, shape s, const data_kind *kind,
                         mode_filter *wants, bool timed)
{
    operands o;
    const bool good = operands_fill(&o, s, kind) && measure_modes(b, study, &o, wants, timed);
    operands_free_all(&o);
    return good;
}

/* ---- studies ---- */

/* Errors against the data, k and parameters. */
static bool study_errors(bench *b)
{
    static const int full[] = {64, 256, 1024, 4096, 16384}, quick[] = {64, 192};
    const int count = b->quick ? 2 : 5, lines = b->quick ? 40 : 256;
    bool good = true;
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < count && good; i++) {
            const bool all = kind < DISTRIBUTIONS && i % 2 == 0;
            const shape s = {lines, lines, b->quick ? quick[i] : full[i]};
            good = measure_kind(b, "errors", s, &kinds[kind], all ? mode_is_drop_in : mode_is_plain,
                                false);
        }
    return good;
}

/* Products of triple-single operands of either sort. */
static bool measure_typed(bench *b, shape s, const operands *binary64)
{
    operands o = {.shape = s, .type = TYPE_TS, .alpha = 1.0};
    o.data = binary64 ? binary64->data : "phi 1 72 bits";
    const bool good =
        operands_fill_ts(&o, binary64) && measure_modes(b, "slices", &o, mode_is_typed, b->times);
    operands_free_all(&o);
    return good;
}

static bool study_slices(bench *b)
{
    const int smallest = b->quick ? 64 : 256, largest = b->quick ? 64 : 4096;
    bool good = true;
    for (int n = smallest; n <= largest && good; n *= 2) {
        const shape s = {n, n, n};
        operands o;
        good = operands_fill(&o, s, &kinds[SLICED_KIND]) &&
               measure_modes(b, "slices", &o, mode_is_sliced, b->times) &&
               measure_typed(b, s, &o) && measure_typed(b, s, NULL);
        operands_free_all(&o);
    }
    return good;
}

static bool is_timed(const mode *m) { return mode_has_no_number(m) && !m->is_slow; }

static bool study_times(bench *b)
{
    const int smallest = b->quick ? 64 : 1024, largest = b->quick ? 64 : 16384;
    bool good = true;
    for (int i = 0; i < b->list.count; i++) b->list.modes[i].is_slow = false;
    for (int n = smallest; n <= largest && good; n *= 2)
        good = measure_kind(b, "times", (shape){n, n, n}, &kinds[TIMED_KIND], is_timed, true);
    return good;
}

static bool study_all(bench *b)
{
    device_name name;
    if (!query_device_name(&name)) return false;
    table_remark(&b->out, "Device: %s", name.text);
    table_remark(&b->out, "Workspace: at most %.0f MiB.",
                 (double)workspace_limit(b->device) / 0x1p20);
    table_print_head(&b->out);
    return study_errors(b) && study_slices(b) && (!b->times || study_times(b));
}

/* ---- the program ---- */

static bool add_mode(bench *b, const char *text)
{
    const char *native = td_engine_native.name;
    if (b->list.count == 0) modes_add(&b->list, native);
    if (strcmp(text, native) == 0 || modes_add(&b->list, text)) return true;
    complain("there is no mode '%s'; `tandem modes` lists them", text);
    return false;
}

static bool parse_options(int argc, char **argv, bench *b, const char **csv)
{
    const bench_option known[] = {{"--csv", "FILE", csv, NULL},
                                  {"--quick", NULL, NULL, &b->quick},
                                  {"--times", NULL, NULL, &b->times},
                                  {NULL, NULL, NULL, NULL}};
    int words;
    if (!bench_options(known, argc, argv, &words)) return false;
    for (int i = 0; i < words; i++)
        if (!add_mode(b, argv[i])) return false;
    if (b->list.count == 0) modes_add_all(&b->list);
    return true;
}

int main(int argc, char **argv)
{
    static bench b = {.out = {columns, sizeof columns / sizeof *columns, NULL}};
    const char *csv = NULL;
    bool good = false;
    if (!parse_options(argc, argv, &b, &csv) || !table_open(&b.out, csv)) return 2;
    CHECK_CUBLAS(cublasCreate(&b.handle));
    CHECK_CUDA(cudaMalloc((void **)&b.counters, sizeof *b.counters));
    b.device = td_device_current();
    if (!b.device) complain("the current device cannot run Tandem's kernels");
    good = b.device && study_all(&b) && !b.is_incomplete;
out:
    if (b.handle) cublasDestroy(b.handle);
    cudaFree(b.counters);
    good = table_close(&b.out, csv) && good;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
