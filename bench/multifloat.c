/* multifloat - products of multi-float matrices: time, part of the roofline, and error; Tandem's
 * and the papers'.
 *
 * Usage: multifloat [--csv FILE] [N ...]     (default 32 64 ... 8192)
 *
 * For each N, N x N x N products of each type: typed; drop-in, binary64 matrices in that mode;
 * typed with the papers' sequences of operations in the same kernel; and cuBLAS's native one.
 * Device times are medians of repeated runs after one that warms up; a product that takes longer
 * than BUDGET runs once. The roofline is the rate of binary32 or binary64 instructions, measured in
 * the same run, over the instructions of a multiply-accumulate; `of_reference` is the part of the
 * roofline of the prototypes. Errors are those of sampled elements, of three kinds of data. At the
 * end, products that memory bounds, of double-double and double+single. One line a measurement:
 * Markdown on stdout, and CSV. */
#include <math.h>
#include <stdlib.h>

#include "../examples/common.h"
#include "../include/tandem.h"
#include "../kernels/arithmetic/order.h"
#include "../lib/cuda/device.h"
#include "ceiling.h"
#include "paper_multiply.h"
#include "samples.h"
#include "harness/options.h"
#include "harness/table.h"
#include "harness/timing.h"

const char program_name[] = "multifloat";

enum { MOST_SIZES = 64, LARGEST = 32768 };
#define BUDGET 1.5 /* seconds of one product's runs */

typedef struct {
    int m, n, k;
    double beta;
} shape;

/* Matrices of one type on the device. */
typedef struct {
    data_type type;
    shape shape;
    void *a, *b, *c;
} operands;

typedef tandem_status typed_product(const operands *o);

typedef enum { NATIVE, TYPED, DROP_IN, PAPER, KINDS } product_kind;
static const char *const kind_names[KINDS] = {"native", "typed", "drop-in", "paper"};

typedef struct {
    const char *name;
    data_type type;
    bool binary64;              /* whose instructions */
    double instructions[KINDS]; /* a multiply-accumulate; 0: there is no such product */
    double reference;           /* those of the prototype */
    typed_product *multiply;
} format;

#define TYPED_PRODUCT(name, type, first)                                                           \
    static tandem_status name##_product(const operands *o)                                         \
    {                                                                                              \
        const shape *s = &o->shape;                                                                \
        const type one = {.first = 1}, beta = {.first = (s->beta != 0.0)};                         \
        return tandem_##name##gemm(TANDEM_OP_N, TANDEM_OP_N, s->m, s->n, s->k, one, o->a, s->m,    \
                                   o->b, s->k, beta, o->c, s->m, NULL);                            \
    }
TYPED_PRODUCT(df, tandem_df, hi)
TYPED_PRODUCT(ts, tandem_ts, x)
TYPED_PRODUCT(dd, tandem_dd, hi)
TYPED_PRODUCT(ds, tandem_ds, hi)

/* Of a block: one start, accumulates and a flush, and a renormalisation every 32 terms
 * (kernels/arithmetic/df.h, ts.h, dd.h). Low parts that are zero spare a drop-in double-double
 * product two instructions a term. */
#define PER_TERM(block, start, accumulate, flush, renormalise)                                     \
    (((start) + ((block)-1.0) * (accumulate) + (flush)) / (block) + (renormalise) / 32.0)
#define PAIR_TYPED   PER_TERM(TD_BLOCK, 4, 10, 8, 3)
#define PAIR_DROP_IN PER_TERM(TD_BLOCK, 2, 8, 8, 3)
#define TRIPLE       PER_TERM(TD_TS_BLOCK, 21, 41, 21, 12)

static const format formats[] = {
    {"double", TYPE_DOUBLE, true, {1, 0, 0, 0}, 1, NULL},
    {"df", TYPE_DF, false, {0, PAIR_TYPED, PAIR_TYPED, 16}, 10.44, df_product},
    {"ts", TYPE_TS, false, {0, TRIPLE, TRIPLE, 117}, 43.4, ts_product},
    {"dd", TYPE_DD, true, {0, PAIR_TYPED, PAIR_DROP_IN, 16}, 10.44, dd_product},
    {"d+s", TYPE_DS, true, {0, PAIR_TYPED, PAIR_DROP_IN, 16}, 10.44, ds_product},
};
enum { FORMATS = sizeof formats / sizeof *formats };

typedef struct {
    const char *name;
    data_distribution distribution;
} data_kind;

/* The first is the one that is timed. */
static const data_kind kinds_of_data[] = {
    {"(u-.5)exp(g/2)", {0.5, 0.5}},
    {"(u-.5)exp(g)", {0.5, 1.0}},
    {"U(0;1)", {0.0, 0.0}},
};
enum { KINDS_OF_DATA = sizeof kinds_of_data / sizeof *kinds_of_data };

typedef struct {
    cublasHandle_t handle;
    double binary32, binary64; /* ceilings */
    table out;
} bench;

/* One line of the output. Not a number: not measured. */
typedef struct {
    const format *format;
    product_kind kind;
    shape shape;
    const char *data;
    timing timing;
    exact_errors errors;
} measurement;

/* ---- output ---- */

static const char *const columns[] = {"type",
                                      "product",
                                      "m",
                                      "n",
                                      "k",
                                      "beta",
                                      "data",
                                      "runs",
                                      "ms",
                                      "TFLOP/s",
                                      "instructions",
                                      "of_roofline",
                                      "of_reference",
                                      "err",
                                      "relerr"};

static void print_measurement(const bench *b, const measurement *r)
{
    table_line line = {.count = 0};
    const double macs = (double)r->shape.m * r->shape.n * r->shape.k;
    const double rate = macs / r->timing.seconds;
    const double ceiling = r->format->binary64 ? b->binary64 : b->binary32;
    const double instructions = r->format->instructions[r->kind];
    table_put(&line, "%s", r->format->name);
    table_put(&line, "%s", kind_names[r->kind]);
    table_put(&line, "%d", r->shape.m);
    table_put(&line, "%d", r->shape.n);
    table_put(&line, "%d", r->shape.k);
    table_put(&line, "%g", r->shape.beta);
    table_put(&line, "%s", r->data);
    table_put(&line, "%d", r->timing.runs);
    table_put_number(&line, "%.5g", r->timing.seconds * 1e3);
    table_put_number(&line, "%.4g", 2e-12 * rate);
    table_put(&line, "%.4g", instructions);
    table_put_number(&line, "%.4f", rate * instructions / ceiling);
    table_put_number(&line, "%.4f", rate * r->format->reference / ceiling);
    table_put_number(&line, "%.3g", r->errors.err);
    table_put_number(&line, "%.3g", r->errors.relerr);
    table_print(&b->out, &line);
}

/* ---- operands ---- */

static bool allocate(void **matrix, data_type type, int rows, int columns)
{
    return cuda_succeeded(cudaMalloc(matrix, data_size(type) * (size_t)rows * (size_t)columns),
                          "cudaMalloc");
}

static bool fill(void *matrix, data_type type, const data_kind *data, uint64_t seed, int rows,
                 int columns)
{
    return cuda_succeeded(
        data_fill(type, data->distribution, seed, (int64_t)rows * columns, matrix), "data_fill");
}

static void operands_free_all(operands *o)
{
    cudaFree(o->a);
    cudaFree(o->b);
    cudaFree(o->c);
    *o = (operands){0};
}

static bool operands_fill(operands *o, data_type type, shape s, const data_kind *data)
{
    *o = (operands){.type = type, .shape = s};
    return allocate(&o->a, type, s.m, s.k) && allocate(&o->b, type, s.k, s.n) &&
           allocate(&o->c, type, s.m, s.n) && fill(o->a, type, data, 1, s.m, s.k) &&
           fill(o->b, type, data, 2, s.k, s.n) && fill(o->c, type, data, 3, s.m, s.n);
}

/* ---- measuring ---- */

static tandem_status run_paper(const char *type, int n, const operands *o)
{
    td_device *device = td_device_current();
    if (!device) return TANDEM_UNSUPPORTED;
    return paper_gemm(type, n, o->a, o->b, o->c, device, device->workspace_bytes);
}

static bool enqueue(const bench *b, const measurement *r, const operands *o)
{
    const shape *s = &o->shape;
    const double one = 1.0;
    tandem_status status = TANDEM_OK;
    switch (r->kind) {
    case NATIVE:
        return cublas_succeeded(cublasDgemm(b->handle, CUBLAS_OP_N, CUBLAS_OP_N, s->m, s->n, s->k,
                                            &one, o->a, s->m, o->b, s->k, &s->beta, o->c, s->m),
                                "cublasDgemm");
    case DROP_IN:
        status = tandem_dgemm(r->format->name, TANDEM_OP_N, TANDEM_OP_N, s->m, s->n, s->k, one,
                              o->a, s->m, o->b, s->k, s->beta, o->c, s->m, NULL);
        break;
    case TYPED:
        status = r->format->multiply(o);
        break;
    default:
        status = run_paper(r->format->name, s->n, o);
    }
    if (status != TANDEM_OK)
        complain("%s, %s: %s", r->format->name, kind_names[r->kind], tandem_last_message());
    return status == TANDEM_OK;
}

/* A product to be enqueued, as timing_measure wants it. */
typedef struct {
    const bench *bench;
    const measurement *measurement;
    const operands *operands;
} work;

static bool enqueue_work(const void *context)
{
    const work *w = context;
    return enqueue(w->bench, w->measurement, w->operands);
}

/* Runs the product once, or, if it is to be timed, as often as the budget allows. */
static bool run(const bench *b, measurement *r, const operands *o, bool timed)
{
    const work w = {b, r, o};
    return timed ? timing_measure(enqueue_work, &w, BUDGET, &r->timing) : enqueue_work(&w);
}

static bool find_errors(measurement *r, const operands *o, const exact_product *exact)
{
    if (!samples_compare(exact, o->type, o->shape.m, o->shape.n, o->c, &r->errors)) return false;
    if (isnan(r->errors.err)) complain("%s, %s: NaN", r->format->name, kind_names[r->kind]);
    return !isnan(r->errors.err);
}

/* One product, timed and compared as asked for; `exact` is NULL for no errors. */
static bool measure(const bench *b, const format *format, product_kind kind, const operands *o,
                    const char *data, bool timed, const exact_product *exact)
{
    measurement r = {.format = format, .kind = kind, .shape = o->shape, .data = data};
    r.timing.seconds = r.errors.err = r.errors.relerr = (double)NAN;
    if (exact) { /* what a product leaves out shows as NaN */
        const size_t elements = (size_t)o->shape.m * (size_t)o->shape.n;
        if (!cuda_succeeded(cudaMemset(o->c, 0xff, data_size(o->type) * elements), "cudaMemset"))
            return false;
    }
    if (!run(b, &r, o, timed) || (exact && !find_errors(&r, o, exact))) return false;
    print_measurement(b, &r);
    return true;
}

/* All products whose operands are of one type: binary64 ones, native and drop-in; or typed ones. */
static bool measure_type(const bench *b, data_type type, int n, const data_kind *data)
{
    operands o = {0};
    exact_product *exact = NULL;
    bool good = operands_fill(&o, type, (shape){n, n, n, 0.0}, data);
    good = good && (exact = samples_multiply(type, n, n, n, o.a, o.b)) != NULL;
    for (int i = 0; i < FORMATS * KINDS && good; i++) {
        const format *format = &formats[i / KINDS];
        const product_kind kind = (product_kind)(i % KINDS);
        const bool binary64_operands = kind == NATIVE || kind == DROP_IN;
        if (format->instructions[kind] == 0.0) continue;
        if (type != (binary64_operands ? TYPE_DOUBLE : format->type)) continue;
        good = measure(b, format, kind, &o, data->name, data == kinds_of_data, exact);
    }
    exact_free(exact);
    operands_free_all(&o);
    return good;
}

static bool measure_size(const bench *b, int n)
{
    bool good = true;
    for (int d = 0; d < KINDS_OF_DATA && good; d++)
        for (int type = 0; type < TYPES && good; type++)
            good = measure_type(b, (data_type)type, n, &kinds_of_data[d]);
    return good;
}

/* Products that move more than they compute, in the two types that compute alike: n is the largest
 * size. */
static bool measure_shapes(const bench *b, int n)
{
    const shape shapes[] = {{n, n, 1, 0.0},  {n, n, 1, 1.0},  {n, n, 16, 0.0}, {n, n, 16, 1.0},
                            {n, n, 64, 0.0}, {n, 16, n, 0.0}, {16, n, n, 0.0}};
    bool good = true;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int f = 0; f < FORMATS && good; f++) {
            operands o = {0};
            if (formats[f].type != TYPE_DD && formats[f].type != TYPE_DS) continue;
            good = operands_fill(&o, formats[f].type, shapes[s], kinds_of_data) &&
                   measure(b, &formats[f], TYPED, &o, kinds_of_data->name, true, NULL);
            operands_free_all(&o);
        }
    return good;
}

/* ---- the program ---- */

static bool measure_ceilings(bench *b, const char *when)
{
    b->binary32 = ceiling_binary32();
    b->binary64 = ceiling_binary64();
    const bool measured = b->binary32 > 0.0 && b->binary64 > 0.0;
    if (!measured) complain("the device's rates of instructions cannot be measured");
    table_remark(&b->out, "Ceilings %s: %.4g T binary32, %.4g T binary64 instructions a second.",
                 when, b->binary32 * 1e-12, b->binary64 * 1e-12);
    return measured;
}

static bool measure_all(bench *b, const int *sizes, int count)
{
    device_name name;
    int largest = 1;
    if (!query_device_name(&name)) return false;
    table_remark(&b->out, "Device: %s", name.text);
    if (!measure_ceilings(b, "before")) return false;
    table_print_head(&b->out);
    for (int i = 0; i < count; i++) {
        if (!measure_size(b, sizes[i])) return false;
        if (sizes[i] > largest) largest = sizes[i];
    }
    if (!measure_shapes(b, largest)) return false;
    printf("\n");
    return measure_ceilings(b, "after");
}

typedef struct {
    const char *csv;
    int sizes[MOST_SIZES], count;
} options;

static bool parse_options(int argc, char **argv, options *o)
{
    *o = (options){.csv = NULL};
    const bench_option known[] = {{"--csv", "FILE", &o->csv, NULL}, {NULL, NULL, NULL, NULL}};
    if (!bench_options(known, argc, argv, &o->count)) return false;
    if (o->count > MOST_SIZES) complain("more than %d sizes", MOST_SIZES);
    if (o->count > MOST_SIZES) return false;
    for (int i = 0; i < o->count; i++) {
        long n = 0;
        if (!parse_integer("N", argv[i], 1, LARGEST, &n)) return false;
        o->sizes[i] = (int)n;
    }
    if (o->count == 0)
        for (int n = 32; n <= 8192; n *= 2) o->sizes[o->count++] = n;
    return true;
}

int main(int argc, char **argv)
{
    bench b = {.out = {columns, sizeof columns / sizeof *columns, NULL}};
    options o;
    bool good = false;
    if (!parse_options(argc, argv, &o) || !table_open(&b.out, o.csv)) return 2;
    CHECK_CUBLAS(cublasCreate(&b.handle));
    good = measure_all(&b, o.sizes, o.count);
out:
    if (b.handle) cublasDestroy(b.handle);
    good = table_close(&b.out, o.csv) && good;
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
