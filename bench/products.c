/* products - binary64 products of the sizes that programs ask for, by cuBLAS and by modes of
 * Tandem, in one run.
 *
 * Usage: products [--csv FILE] [--burst] [--portable] [--family NAME] [--most N] [MODE ...]
 *                                                                       (default ozaki2 faithful)
 *
 * --burst: without the second time, and the device rests before each product; --family: square,
 * update, update+C0, transposed, other or batch alone; --most: no m, n or k above N.
 *
 * --portable: by the kernels that devices without instructions of their own run, as a proxy for
 * these: the driver compiles PTX for this device, though there are binaries (CUDA_FORCE_PTX_JIT).
 * cuBLAS has no such PTX: its times and the transposes that it makes are left out.
 *
 * Squares, updates of rank 256 to 1024 with and without C0, all operations, shapes that are much
 * longer one way, and a batch. For each: the median time of single calls ("burst"), and the mean of
 * calls back to back for most of a second ("sustained": the device is then as warm as its power
 * limit lets it be); the largest error of 24 x 24 sampled elements of the last member in |A||B| +
 * |beta||C0|. Prints Markdown. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cublas_v2.h>

#include "../examples/common.h"
#include "../include/tandem.h"
#include "../lib/cuda/device.h"
#include "../lib/cuda/device_code.h"
#include "harness/modes.h"
#include "harness/options.h"
#include "harness/table.h"
#include "harness/timing.h"
#include "samples.h"

const char program_name[] = "products";

enum { MOST_CALLS = 20000, MOST_MODES = 8 };
static const double burst_seconds = 0.15, sustained_seconds = 0.7;
/* After a long product the clocks stay low for a while. */
static const struct timespec rest = {0, 500000000};

typedef struct {
    int m, n, k;
    double beta;
    const char *family, *ops; /* family: of drawings; ops: of A and of B */
    int batch;
} shape;

static const shape shapes[] = {
    {512, 512, 512, 0, "square", "NN", 1},        {1024, 1024, 1024, 0, "square", "NN", 1},
    {2048, 2048, 2048, 0, "square", "NN", 1},     {4096, 4096, 4096, 0, "square", "NN", 1},
    {8192, 8192, 8192, 0, "square", "NN", 1},     {16384, 16384, 16384, 0, "square", "NN", 1},
    {8192, 8192, 256, 0, "update", "NN", 1},      {8192, 8192, 512, 0, "update", "NN", 1},
    {8192, 8192, 1024, 0, "update", "NN", 1},     {8192, 8192, 2048, 0, "update", "NN", 1},
    {8192, 8192, 256, 1, "update+C0", "NN", 1},   {8192, 8192, 512, 1, "update+C0", "NN", 1},
    {8192, 8192, 1024, 1, "update+C0", "NN", 1},  {4096, 4096, 4096, 0, "transposed", "NT", 1},
    {4096, 4096, 4096, 0, "transposed", "TN", 1}, {4096, 4096, 4096, 0, "transposed", "TT", 1},
    {16384, 2048, 2048, 0, "other", "NT", 1},     {100000, 512, 512, 0, "other", "NN", 1},
    {512, 512, 100000, 0, "other", "NN", 1},      {512, 512, 512, 0, "batch", "NN", 64},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* op(A), op(B) and C are column-major without padding, members one after the other; a and b are A
 * and B as they are stored. */
typedef struct {
    const shape *s;
    const bench_mode *way;
    cublasHandle_t handle;
    td_device *device;
    double *op_a, *op_b, *a, *b, *c;
} product;

static int64_t elements(int rows, int columns) { return (int64_t)rows * columns; }

static bool is_transposed(const shape *s, int operand) { return s->ops[operand] == 'T'; }

static td_matrix matrix_of(double *data, int rows, int columns, bool transposed)
{
    return (td_matrix){
        .data = data, .ld = transposed ? columns : rows, .stride = elements(rows, columns)};
}

static td_product product_of(const product *p)
{
    const shape *s = p->s;
    return (td_product){.routine = TD_PRODUCT,
                        .type = TD_BINARY64,
                        .op_a = is_transposed(s, 0) ? TD_OP_T : TD_OP_N,
                        .op_b = is_transposed(s, 1) ? TD_OP_T : TD_OP_N,
                        .m = s->m,
                        .n = s->n,
                        .k = s->k,
                        .alpha.value.binary64 = 1.0,
                        .beta.value.binary64 = s->beta,
                        .a = matrix_of(p->a, s->m, s->k, is_transposed(s, 0)),
                        .b = matrix_of(p->b, s->k, s->n, is_transposed(s, 1)),
                        .c = matrix_of(p->c, s->m, s->n, false),
                        .batch = s->batch};
}

static bool multiply_native(const product *p, const td_product *x)
{
    const double one = 1.0;
    const cublasOperation_t op_a = x->op_a == TD_OP_T ? CUBLAS_OP_T : CUBLAS_OP_N,
                            op_b = x->op_b == TD_OP_T ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int m = p->s->m, n = p->s->n, k = p->s->k;
    const int lda = (int)x->a.ld, ldb = (int)x->b.ld;
    if (x->batch == 1)
        return cublas_succeeded(cublasDgemm(p->handle, op_a, op_b, m, n, k, &one, p->a, lda, p->b,
                                            ldb, &p->s->beta, p->c, m),
                                "cublasDgemm");
    return cublas_succeeded(cublasDgemmStridedBatched(
                                p->handle, op_a, op_b, m, n, k, &one, p->a, lda, x->a.stride, p->b,
                                ldb, x->b.stride, &p->s->beta, p->c, m, x->c.stride, (int)x->batch),
                            "cublasDgemmStridedBatched");
}

static bool multiply(const void *context)
{
    const product *p = context;
    const td_product x = product_of(p);
    if (!p->way->engine) return multiply_native(p, &x);
    if (td_engine_run(p->way->engine, &x, p->way->parameter, p->device,
                      td_device_limit(p->device, 0), NULL) == TD_RUN_DONE)
        return true;
    complain("%s refuses the product", p->way->text);
    return false;
}

typedef struct {
    const product *p;
    int calls;
} series;

static bool multiply_often(const void *context)
{
    const series *s = context;
    for (int i = 0; i < s->calls; i++)
        if (!multiply(s->p)) return false;
    return true;
}

/* Mean seconds of a call; the median of two or three series. */
static bool measure_sustained(const product *p, double burst, double *seconds)
{
    const double wanted = sustained_seconds / burst;
    const series s = {p, wanted > MOST_CALLS ? MOST_CALLS : wanted < 2.0 ? 2 : (int)wanted};
    timing t;
    if (!timing_measure(multiply_often, &s, 2.0 * sustained_seconds, &t)) return false;
    *seconds = t.seconds / s.calls;
    return true;
}

static const data_distribution distribution = {0.5, 0.5};

static int64_t result_elements(const shape *s) { return s->batch * elements(s->m, s->n); }

static bool fill(double *numbers, unsigned seed, int64_t count)
{
    bool filled = false;
    CHECK_CUDA(data_fill(TYPE_DOUBLE, distribution, seed, count, numbers));
    filled = true;
out:
    return filled;
}

/* The last member's. */
static double *last_result(const product *p)
{
    return p->c + (p->s->batch - 1) * elements(p->s->m, p->s->n);
}

/* The error of a single call, C0 being new. */
static bool measure_error(const product *p, const exact_product *exact, double *err)
{
    exact_errors errors;
    if (!fill(p->c, 3, result_elements(p->s)) || !multiply(p) ||
        !samples_compare(exact, TYPE_DOUBLE, p->s->m, p->s->n, last_result(p), &errors))
        return false;
    *err = errors.err;
    return true;
}

/* What is asked for. */
typedef struct {
    const char *csv, *family, *most_text;
    bool is_burst, is_portable;
    int modes, most;
    bench_mode *mode; /* cuBLAS first, but for portable ones */
} request;

static bool print_line(const table *out, const request *asked, const product *p,
                       const exact_product *exact)
{
    const shape *s = p->s;
    const double operations = 2.0 * s->m * s->n * s->k * s->batch;
    double err = NAN, sustained = NAN;
    timing t;
    if (!measure_error(p, exact, &err)) return false;
    if (asked->is_burst) nanosleep(&rest, NULL);
    if (!timing_measure(multiply, p, burst_seconds, &t) ||
        (!asked->is_burst && !measure_sustained(p, t.seconds, &sustained)))
        return false;
    table_line line = {0};
    table_put(&line, "%s", s->family);
    table_put(&line, "%d", s->m);
    table_put(&line, "%d", s->n);
    table_put(&line, "%d", s->k);
    table_put(&line, "%g", s->beta);
    table_put(&line, "%s", s->ops);
    table_put(&line, "%d", s->batch);
    table_put(&line, "%s", p->way->text);
    table_put(&line, "%.4f", t.seconds * 1e3);
    table_put(&line, "%.1f", operations / t.seconds * 1e-12);
    table_put(&line, "%.1f", operations / sustained * 1e-12);
    table_put(&line, "%.2e", err);
    table_print(out, &line);
    return true;
}

/* op(A) or op(B), and what is stored of it: the transpose, if the shape says so. */
static bool make_operand(const product *p, int operand, int rows, int columns, double **op,
                         double **stored)
{
    const double one = 1.0, zero = 0.0;
    const int64_t count = elements(rows, columns) * p->s->batch;
    bool made = false;
    CHECK_CUDA(cudaMalloc((void **)op, sizeof(double) * (size_t)count));
    if (!fill(*op, 1 + (unsigned)operand, count)) goto out;
    *stored = *op;
    made = true;
    if (!is_transposed(p->s, operand)) goto out;
    made = false;
    *stored = NULL;
    CHECK_CUDA(cudaMalloc((void **)stored, sizeof(double) * (size_t)count));
    CHECK_CUBLAS(cublasDgeam(p->handle, CUBLAS_OP_T, CUBLAS_OP_N, columns, rows, &one, *op, rows,
                             &zero, *stored, columns, *stored, columns));
    made = true;
out:
    return made;
}

static bool make_matrices(product *p)
{
    const shape *s = p->s;
    bool made = false;
    CHECK_CUDA(cudaMalloc((void **)&p->c, sizeof(double) * (size_t)result_elements(s)));
    made = make_operand(p, 0, s->m, s->k, &p->op_a, &p->a) &&
           make_operand(p, 1, s->k, s->n, &p->op_b, &p->b) && fill(p->c, 3, result_elements(s));
out:
    return made;
}

static void free_matrices(product *p)
{
    if (p->a != p->op_a) cudaFree(p->a);
    if (p->b != p->op_b) cudaFree(p->b);
    cudaFree(p->op_a);
    cudaFree(p->op_b);
    cudaFree(p->c);
}

static bool run_shape(const table *out, const request *asked, product p)
{
    const shape *s = p.s;
    const int64_t last = s->batch - 1;
    exact_product *exact = NULL;
    bool good = make_matrices(&p);
    if (good)
        exact =
            samples_multiply(TYPE_DOUBLE, s->m, s->n, s->k, p.op_a + last * elements(s->m, s->k),
                             p.op_b + last * elements(s->k, s->n));
    good = exact && samples_update(exact, 1.0, s->beta, TYPE_DOUBLE, s->m, s->n, last_result(&p));
    for (int i = 0; i < asked->modes && good; i++) {
        p.way = &asked->mode[i];
        good = print_line(out, asked, &p, exact);
    }
    exact_free(exact);
    free_matrices(&p);
    return good;
}

/* What Tandem's kernels are on this device. */
static bool describe_code(const table *out)
{
    char text[TD_DEVICE_CODE_TEXT];
    int major = 0, minor = 0;
    bool described = false;
    CHECK_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    const td_device_code code =
        td_device_code_for(td_device_code_built + sizeof TD_DEVICE_CODE_MARK - 1,
                           10 * major + minor, td_device_code_is_forced());
    if (code.capability)
        table_remark(out, "Kernels: %s for compute capability %d.%d.",
                     code.is_ptx ? "PTX" : "a binary", code.capability / 10, code.capability % 10);
    else
        complain("on this device %s", td_device_code_print(code, text));
    described = code.capability != 0;
out:
    return described;
}

/* Without a handle the version of cuBLAS stays 0. */
static bool describe(const table *out, cublasHandle_t handle)
{
    device_name name;
    int cublas = 0, runtime = 0, driver = 0;
    bool described = false;
    if (!query_device_name(&name)) goto out;
    if (handle) CHECK_CUBLAS(cublasGetVersion(handle, &cublas));
    CHECK_CUDA(cudaRuntimeGetVersion(&runtime));
    CHECK_CUDA(cudaDriverGetVersion(&driver));
    table_remark(out, "Device: %s. cuBLAS %d; CUDA runtime %d, driver's %d. Tandem %s.", name.text,
                 cublas, runtime, driver, tandem_version());
    table_remark(out, "Data (u-.5)exp(g/2), alpha 1.");
    described = describe_code(out);
out:
    return described;
}

static bool is_wanted(const request *asked, const shape *s)
{
    if (asked->family && strcmp(asked->family, s->family) != 0) return false;
    if (asked->is_portable && (is_transposed(s, 0) || is_transposed(s, 1))) return false;
    return !asked->most || (s->m <= asked->most && s->n <= asked->most && s->k <= asked->most);
}

static bool run(const request *asked)
{
    static const char *const names[] = {"family", "m",    "n",  "k",       "beta",      "op",
                                        "batch",  "mode", "ms", "TFLOP/s", "sustained", "err"};
    table out = {names, sizeof names / sizeof *names, NULL};
    product p = {0};
    bool good = false;
    if (!table_open(&out, asked->csv)) return false;
    if (!asked->is_portable) CHECK_CUBLAS(cublasCreate(&p.handle));
    p.device = td_device_current();
    if (!p.device) {
        complain("no device that runs Tandem's kernels");
        goto out;
    }
    good = describe(&out, p.handle);
    if (good) table_print_head(&out);
    for (int i = 0; i < SHAPES && good; i++) {
        p.s = &shapes[i];
        if (is_wanted(asked, p.s)) good = run_shape(&out, asked, p);
    }
out:
    if (p.handle) cublasDestroy(p.handle);
    return table_close(&out, asked->csv) && good;
}

/* cuBLAS, and the modes; false, with a message, if there is no such mode. */
static bool parse_modes(int count, char **texts, request *asked)
{
    static bench_mode modes[MOST_MODES + 1] = {{.text = "native"}};
    if (!bench_modes_parse(count, texts, MOST_MODES, modes + 1)) return false;
    for (int i = 1; i <= count; i++)
        if (!modes[i].engine->run) {
            complain("mode '%s' emulates nothing", modes[i].text);
            return false;
        }
    asked->modes = count + !asked->is_portable;
    asked->mode = modes + asked->is_portable;
    return true;
}

/* False, with a message, if the most of a size is no such number. */
static bool parse_most(request *asked)
{
    char *end = NULL;
    if (!asked->most_text) return true;
    const long most = strtol(asked->most_text, &end, 10);
    asked->most = (int)most;
    if (end != asked->most_text && !*end && most >= 1 && most <= 1000000) return true;
    complain("--most is '%s'; allowed: 1 to 1000000", asked->most_text);
    return false;
}

int main(int argc, char **argv)
{
    static char *usual[] = {"ozaki2", "faithful"};
    request asked = {.csv = NULL};
    const bench_option known[] = {{"--csv", "FILE", &asked.csv, NULL},
                                  {"--family", "NAME", &asked.family, NULL},
                                  {"--most", "N", &asked.most_text, NULL},
                                  {"--burst", NULL, NULL, &asked.is_burst},
                                  {"--portable", NULL, NULL, &asked.is_portable},
                                  {NULL, NULL, NULL, NULL}};
    int words;
    if (!bench_options(known, argc, argv, &words) || !parse_most(&asked) ||
        !(words ? parse_modes(words, argv, &asked) : parse_modes(2, usual, &asked)))
        return BAD_OPTIONS;
    /* Before the driver starts, which reads it then. */
    if (asked.is_portable) setenv("CUDA_FORCE_PTX_JIT", "1", 1);
    return run(&asked) ? EXIT_SUCCESS : EXIT_FAILURE;
}
