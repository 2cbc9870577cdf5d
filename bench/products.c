/* products - binary64 products of the sizes that programs ask for, by cuBLAS and by modes of Tandem, in one run.
 *
 * Usage: products [--csv FILE] [--burst] [--family NAME] [MODE ...]     (default ozaki2 faithful)
 *
 * --burst: without the second time; --family: square, update, update+C0 or other alone.
 *
 * Squares, updates of rank 256 to 1024 with and without C0, and shapes that are much longer one way. For each: the median time
 * of single calls ("burst"), and the mean of calls back to back for most of a second ("sustained": the device is then as warm as
 * its power limit lets it be); the largest error of 24 x 24 sampled elements in |A||B| + |beta||C0|. Prints Markdown. */
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cublas_v2.h>

#include "../examples/common.h"
#include "../include/tandem.h"
#include "samples.h"
#include "table.h"
#include "timing.h"

const char program_name[] = "products";

enum { MOST_CALLS = 20000 };
static const double burst_seconds = 0.15, sustained_seconds = 0.7;

typedef struct {
    int m, n, k;
    double beta;
    const char *family; /* of drawings */
} shape;

static const shape shapes[] = {
    {512, 512, 512, 0, "square"},       {1024, 1024, 1024, 0, "square"},
    {2048, 2048, 2048, 0, "square"},    {4096, 4096, 4096, 0, "square"},
    {8192, 8192, 8192, 0, "square"},    {16384, 16384, 16384, 0, "square"},
    {8192, 8192, 256, 0, "update"},     {8192, 8192, 512, 0, "update"},
    {8192, 8192, 1024, 0, "update"},    {8192, 8192, 2048, 0, "update"},
    {8192, 8192, 256, 1, "update+C0"},  {8192, 8192, 512, 1, "update+C0"},
    {8192, 8192, 1024, 1, "update+C0"}, {16384, 2048, 2048, 0, "other"},
    {100000, 512, 512, 0, "other"},     {512, 512, 100000, 0, "other"},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct {
    const shape *s;
    const char *mode; /* NULL: cuBLAS */
    cublasHandle_t handle;
    double *a, *b, *c;
} product;

static bool multiply(const void *context)
{
    const product *p = context;
    const shape *s = p->s;
    const double one = 1.0;
    if (!p->mode)
        return cublas_succeeded(cublasDgemm(p->handle, CUBLAS_OP_N, CUBLAS_OP_N, s->m, s->n, s->k,
                                            &one, p->a, s->m, p->b, s->k, &s->beta, p->c, s->m),
                                "cublasDgemm");
    const tandem_status status =
        tandem_dgemm(p->mode, TANDEM_OP_N, TANDEM_OP_N, s->m, s->n, s->k, 1.0, p->a, s->m, p->b,
                     s->k, s->beta, p->c, s->m, NULL);
    if (status != TANDEM_OK) complain("%s: %s", p->mode, tandem_last_message());
    return status == TANDEM_OK;
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

static bool fill_c(const product *p)
{
    bool filled = false;
    CHECK_CUDA(data_fill(TYPE_DOUBLE, distribution, 3, (int64_t)p->s->m * p->s->n, p->c));
    filled = true;
out:
    return filled;
}

/* The error of a single call, C0 being new. */
static bool measure_error(const product *p, const exact_product *exact, double *err)
{
    exact_errors errors;
    if (!fill_c(p) || !multiply(p) ||
        !samples_compare(exact, TYPE_DOUBLE, p->s->m, p->s->n, p->c, &errors))
        return false;
    *err = errors.err;
    return true;
}

/* What is asked for. */
typedef struct {
    const char *csv, *family;
    bool is_burst;
    int modes;
    char **mode;
} request;

static bool print_line(const table *out, const request *asked, const product *p,
                       const exact_product *exact)
{
    const shape *s = p->s;
    const double operations = 2.0 * s->m * s->n * s->k;
    double err = NAN, sustained = NAN;
    timing t;
    if (!measure_error(p, exact, &err) || !timing_measure(multiply, p, burst_seconds, &t) ||
        (!asked->is_burst && !measure_sustained(p, t.seconds, &sustained)))
        return false;
    table_line line = {0};
    table_put(&line, "%s", s->family);
    table_put(&line, "%d", s->m);
    table_put(&line, "%d", s->n);
    table_put(&line, "%d", s->k);
    table_put(&line, "%g", s->beta);
    table_put(&line, "%s", p->mode ? p->mode : "native");
    table_put(&line, "%.4f", t.seconds * 1e3);
    table_put(&line, "%.1f", operations / t.seconds * 1e-12);
    table_put(&line, "%.1f", operations / sustained * 1e-12);
    table_put(&line, "%.2e", err);
    table_print(out, &line);
    return true;
}

static bool make_operands(product *p)
{
    const shape *s = p->s;
    bool made = false;
    CHECK_CUDA(cudaMalloc((void **)&p->a, sizeof(double) * (size_t)s->m * (size_t)s->k));
    CHECK_CUDA(cudaMalloc((void **)&p->b, sizeof(double) * (size_t)s->k * (size_t)s->n));
    CHECK_CUDA(cudaMalloc((void **)&p->c, sizeof(double) * (size_t)s->m * (size_t)s->n));
    CHECK_CUDA(data_fill(TYPE_DOUBLE, distribution, 1, (int64_t)s->m * s->k, p->a));
    CHECK_CUDA(data_fill(TYPE_DOUBLE, distribution, 2, (int64_t)s->k * s->n, p->b));
    made = fill_c(p);
out:
    return made;
}

static bool run_shape(const table *out, const request *asked, product p)
{
    exact_product *exact = NULL;
    bool good = make_operands(&p);
    if (good) exact = samples_multiply(TYPE_DOUBLE, p.s->m, p.s->n, p.s->k, p.a, p.b);
    good = exact && samples_update(exact, 1.0, p.s->beta, TYPE_DOUBLE, p.s->m, p.s->n, p.c);
    for (int i = -1; i < asked->modes && good; i++) {
        p.mode = i < 0 ? NULL : asked->mode[i];
        good = print_line(out, asked, &p, exact);
    }
    exact_free(exact);
    cudaFree(p.a);
    cudaFree(p.b);
    cudaFree(p.c);
    return good;
}

static bool describe(const table *out, cublasHandle_t handle)
{
    device_name name;
    int cublas = 0, runtime = 0, driver = 0;
    bool described = false;
    if (!query_device_name(&name)) goto out;
    CHECK_CUBLAS(cublasGetVersion(handle, &cublas));
    CHECK_CUDA(cudaRuntimeGetVersion(&runtime));
    CHECK_CUDA(cudaDriverGetVersion(&driver));
    table_remark(out, "Device: %s. cuBLAS %d; CUDA runtime %d, driver's %d. Tandem %s.", name.text,
                 cublas, runtime, driver, tandem_version());
    table_remark(out, "Data (u-.5)exp(g/2), op N N, alpha 1.");
    described = true;
out:
    return described;
}

static bool run(const request *asked)
{
    static const char *const names[] = {"family", "m",  "n",       "k",         "beta",
                                        "mode",   "ms", "TFLOP/s", "sustained", "err"};
    table out = {names, sizeof names / sizeof *names, NULL};
    product p = {0};
    bool good = false;
    if (!table_open(&out, asked->csv)) return false;
    CHECK_CUBLAS(cublasCreate(&p.handle));
    good = describe(&out, p.handle);
    if (good) table_print_head(&out);
    for (int i = 0; i < SHAPES && good; i++) {
        p.s = &shapes[i];
        if (!asked->family || strcmp(asked->family, p.s->family) == 0)
            good = run_shape(&out, asked, p);
    }
out:
    if (p.handle) cublasDestroy(p.handle);
    return table_close(&out, asked->csv) && good;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"csv", required_argument, NULL, 'c'},
                                            {"family", required_argument, NULL, 'f'},
                                            {"burst", no_argument, NULL, 'b'},
                                            {NULL, 0, NULL, 0}};
    static char *usual[] = {"ozaki2", "faithful"};
    request asked = {.modes = 2, .mode = usual};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?') return 2;
        if (option == 'c') asked.csv = optarg;
        if (option == 'f') asked.family = optarg;
        if (option == 'b') asked.is_burst = true;
    }
    if (optind < argc) {
        asked.modes = argc - optind;
        asked.mode = argv + optind;
    }
    return run(&asked) ? EXIT_SUCCESS : EXIT_FAILURE;
}
