#include "qr_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cuda/device.h"
#include "tests/kernels/support/device.h"
#include "tests/support/test.h"

enum { POISON = 0x7f };

int least_of(const matrix *x) { return x->m < x->n ? x->m : x->n; }
size_t elements_of(const matrix *x) { return (size_t)x->ld * (size_t)x->n; }

const char *text_of(const matrix *x)
{
    static char text[160];
    snprintf(text, sizeof text, "%d x %d, ld %d, %s, seed %llu", x->m, x->n, x->ld, x->data,
             (unsigned long long)x->seed);
    return text;
}

/* ---- data ---- */

static double uniform(source *s)
{
    s->state = s->state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(s->state >> 11) * 0x1p-52 - 1.0;
}

static int whole(source *s, int least, int most)
{
    return least + (int)((uniform(s) + 1.0) * 0.5 * (most - least + 1));
}

static double random_numbers(source *s, int i, int j) { return (void)i, (void)j, uniform(s); }

/* Columns that end early, and zeros with signs. */
static double small_integers(source *s, int i, int j)
{
    const int x = whole(s, -2, 2);
    return (void)i, (void)j, x == 0 && uniform(s) < 0.0 ? -0.0 : (double)x;
}

static double graded_columns(source *s, int i, int j)
{
    return (void)i, ldexp(uniform(s), 20 * (j % 100) - 1000 + whole(s, -40, 40));
}

/* Rows down to where no square of an element is left. */
static double graded_rows(source *s, int i, int j)
{
    return (void)j, ldexp(uniform(s), -20 * (i % 50));
}

static double tiny(source *s, int i, int j) { return (void)i, (void)j, ldexp(uniform(s), -1060); }
static double huge(source *s, int i, int j) { return (void)i, (void)j, ldexp(uniform(s), 1010); }

/* 1e-300 to 1e300 in every column. */
static double wide_range(source *s, int i, int j)
{
    return (void)i, (void)j, ldexp(uniform(s), whole(s, -997, 997));
}

/* A product of some columns and rows, and a column of zeros. */
static double deficient(source *s, int i, int j)
{
    double sum = 0.0;
    (void)s;
    for (int l = 0; l < 3; l++) sum += sin(1.0 + i * (l + 1)) * cos(2.0 + j * (l + 2));
    return j == s->of->n / 2 ? 0.0 : sum;
}

static double zeros(source *s, int i, int j) { return (void)s, (void)i, (void)j, 0.0; }

/* R already: there is nothing to reflect. */
static double triangle(source *s, int i, int j)
{
    const double x = uniform(s);
    return i > j ? 0.0 : x;
}

/* Kahan's matrix, at the edge of numerical rank. */
static double kahan(source *s, int i, int j)
{
    return (void)s, i > j ? 0.0 : pow(sin(1.2), i) * (i == j ? 1.0 : -cos(1.2));
}

static double hilbert(source *s, int i, int j) { return (void)s, 1.0 / (1.0 + i + j); }

static double specials(source *s, int i, int j)
{
    const double of[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0.0, -0.0};
    return (void)i, (void)j, whole(s, 0, 400) == 0 ? of[whole(s, 0, 4)] : uniform(s);
}

const qr_kind qr_kinds[QR_KINDS] = {{"random", random_numbers, true},
                                    {"small integers", small_integers, true},
                                    {"graded columns", graded_columns, true},
                                    {"graded rows", graded_rows, true},
                                    {"tiny", tiny, false},
                                    {"huge", huge, true},
                                    {"wide range", wide_range, true},
                                    {"deficient", deficient, true},
                                    {"zeros", zeros, true},
                                    {"triangle", triangle, true},
                                    {"Kahan", kahan, true},
                                    {"Hilbert", hilbert, true},
                                    {"special values", specials, false}};
double *make_matrix(const matrix *x)
{
    double *a = malloc(elements_of(x) * sizeof *a);
    source s = {x->seed, x};
    int k = 0;
    CHECK(a, "no memory");
    while (strcmp(qr_kinds[k].name, x->data) != 0) k++;
    memset(a, POISON, elements_of(x) * sizeof *a);
    for (int j = 0; j < x->n; j++)
        for (int i = 0; i < x->m; i++) a[i + (int64_t)j * x->ld] = qr_kinds[k].make(&s, i, j);
    return a;
}

uint64_t fresh_seed(void)
{
    static uint64_t seed = 20261128;
    return seed = seed * 6364136223846793005u + 1;
}

/* ---- the device ---- */

/* In a graph that is launched, or at once. */
static void factor_in_stream(const matrix *x, td_problem p, const td_engine *engine, bool in_graph)
{
    const td_factor_products by = {.engine = engine};
    td_device *device = td_device_current();
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    if (in_graph) {
        CHECK_CUDA(cudaStreamCreate(&p.stream));
        CHECK_CUDA(cudaStreamBeginCapture(p.stream, cudaStreamCaptureModeThreadLocal));
    }
    const td_run_status status = td_factor_qr(&p, &by, device, td_device_limit(device, 0), NULL);
    CHECK(status == TD_RUN_DONE, "%s: status %d", text_of(x), (int)status);
    if (in_graph) {
        CHECK_CUDA(cudaStreamEndCapture(p.stream, &graph));
        CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
        CHECK_CUDA(cudaGraphLaunch(executable, p.stream));
        CHECK_CUDA(cudaStreamSynchronize(p.stream));
        CHECK_CUDA(cudaGraphExecDestroy(executable));
        CHECK_CUDA(cudaGraphDestroy(graph));
        CHECK_CUDA(cudaStreamDestroy(p.stream));
    }
    CHECK_CUDA(cudaDeviceSynchronize());
}

factors run_factors(const matrix *x, const double *a, const td_engine *engine, bool in_graph)
{
    const size_t bytes = elements_of(x) * sizeof *a, count = (size_t)least_of(x);
    factors f = {malloc(bytes), malloc((count + 1) * sizeof *f.tau), -1};
    CHECK(f.a && f.tau, "no memory");
    memset(f.tau, POISON, (count + 1) * sizeof *f.tau);
    const double poison = f.tau[count];
    void *device_a = device_copy(a, bytes), *device_info = device_copy(&f.info, sizeof f.info),
         *device_tau = device_copy(f.tau, (count + 1) * sizeof *f.tau);
    const td_problem p = {.kind = TD_FACTOR_QR,
                          .type = TD_BINARY64,
                          .m = x->m,
                          .n = x->n,
                          .a = {.data = device_a, .ld = x->ld},
                          .tau = device_tau,
                          .info = device_info,
                          .batch = 1};
    factor_in_stream(x, p, engine, in_graph);
    device_fetch(f.a, device_a, bytes);
    device_fetch(f.tau, device_tau, (count + 1) * sizeof *f.tau);
    device_fetch(&f.info, device_info, sizeof f.info);
    CHECK(f.info == 0, "%s: info %d", text_of(x), f.info);
    CHECK(memcmp(&f.tau[count], &poison, sizeof poison) == 0, "%s: tau has more", text_of(x));
    device_free(device_a);
    device_free(device_tau);
    device_free(device_info);
    device_check_clean(text_of(x));
    return f;
}

void free_factors(factors *f)
{
    free(f->a);
    free(f->tau);
}

bool is_same(double x, double y) { return (isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof x) == 0; }

uint64_t hash_of(const double *x, size_t count)
{
    uint64_t hash = 14695981039346656037u, bits;
    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, &x[i], sizeof bits);
        hash = (hash ^ bits) * 1099511628211u;
    }
    return hash;
}

/* ---- what reflectors make ---- */

quantity norm_of(const quantity *x, int count)
{
    quantity sum = 0.0L;
    for (int i = 0; i < count; i++) sum += x[i] * x[i];
    return sqrtl(sum);
}

/* x <- Q x, or Q' x: the last reflector is the first of Q, and the last of Q'. */
void apply_reflectors(const matrix *x, const factors *f, int k, bool is_transposed, quantity *to)
{
    for (int at = 0; at < k; at++) {
        const int l = is_transposed ? at : k - 1 - at;
        const double *v = f->a + (int64_t)l * x->ld;
        quantity sum = to[l];
        for (int i = l + 1; i < x->m; i++) sum += (quantity)v[i] * to[i];
        sum *= (quantity)f->tau[l];
        to[l] -= sum;
        for (int i = l + 1; i < x->m; i++) to[i] -= sum * (quantity)v[i];
    }
}
