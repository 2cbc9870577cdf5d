/* df_speed - products in double-float against what the device's binary32 units can do.
 *
 * Usage: df_speed [N ...]     (default 1024 2048 4096 8192)
 *
 * For each N, in one run with the measured instruction ceiling: DF(DF), the typed product of
 * tandem.h, and D(DF), cublasDgemm as Tandem intercepts it, in all nine transpose cases, each with
 * alpha = 1, beta = 0 and with alpha = 1.7, beta = -0.3. Medians of device times. The roofline is
 * the literature's: one multiply-accumulate costs 16 instructions, 5 for the product and 11 for the
 * sum; Tandem's needs 10.22. Prints Markdown. This program links Tandem in front of cuBLAS, and
 * refuses to run where cublasDgemm does not give the bits of mode df: run it with
 * TANDEM_MODE=df. */
#include <stdlib.h>
#include <string.h>

#include "../examples/common.h"
#include "../examples/product.h"
#include "../include/tandem.h"
#include "ceiling.h"
#include "harness/native.h"
#include "harness/timing.h"

const char program_name[] = "df_speed";

enum { PAPER_INSTRUCTIONS = 16 };

/* One size: operands of both types on the device. */
typedef struct {
    int n, runs;
    cublasHandle_t handle;
    double *a, *b, *c;
    tandem_df *da, *db, *dc;
    dgemm *native;
} bench;

/* One kind of product to time. */
typedef struct {
    enum { TYPED, DROP_IN, NATIVE } kind;
    cublasOperation_t op_a, op_b;
    double alpha, beta;
} variant;

static bool enqueue(const bench *b, const variant *v)
{
    const int n = b->n;
    if (v->kind == TYPED) {
        const tandem_df alpha = {(float)v->alpha, 0.0f}, beta = {(float)v->beta, 0.0f};
        tandem_status status = tandem_dfgemm(v->op_a == CUBLAS_OP_N ? TANDEM_OP_N : TANDEM_OP_T,
                                             v->op_b == CUBLAS_OP_N ? TANDEM_OP_N : TANDEM_OP_T, n,
                                             n, n, alpha, b->da, n, b->db, n, beta, b->dc, n, NULL);
        if (status != TANDEM_OK) complain("tandem_dfgemm: %s", tandem_last_message());
        return status == TANDEM_OK;
    }
    dgemm *function = v->kind == NATIVE ? b->native : cublasDgemm_v2;
    return cublas_succeeded(function(b->handle, v->op_a, v->op_b, n, n, n, &v->alpha, b->a, n, b->b,
                                     n, &v->beta, b->c, n),
                            "cublasDgemm");
}

typedef struct {
    const bench *bench;
    const variant *variant;
} work;

static bool enqueue_work(const void *context)
{
    const work *w = context;
    return enqueue(w->bench, w->variant);
}

static const char letters[] = "NTC";

static bool print_line(const bench *b, const variant *v, double ceiling)
{
    static const char *const names[] = {"DF(DF)", "D(DF)", "native"};
    const double macs = (double)b->n * b->n * b->n;
    const work w = {b, v};
    double seconds;
    if (!timing_repeat(enqueue_work, NULL, &w, b->runs, &seconds)) return false;
    printf("| %s | %d | %c%c | %g | %g | %.4f | %.3f |", names[v->kind], b->n, letters[v->op_a],
           letters[v->op_b], v->alpha, v->beta, seconds * 1e3, 2.0 * macs / seconds * 1e-12);
    if (v->kind == NATIVE)
        printf(" - |\n");
    else
        printf(" %.1f %% |\n", 100.0 * macs * PAPER_INSTRUCTIONS / seconds / ceiling);
    fflush(stdout);
    return true;
}

enum { MATRICES = 6 };

static void **matrix_of(bench *b, int i)
{
    void **const all[MATRICES] = {(void **)&b->a,  (void **)&b->b,  (void **)&b->c,
                                  (void **)&b->da, (void **)&b->db, (void **)&b->dc};
    return all[i];
}

static bool make_operands(bench *b)
{
    const product p = {b->n, b->n, b->n, 'N', 'N', 1.0, 0.0};
    const size_t bytes = sizeof(double) * (size_t)b->n * (size_t)b->n;
    operands o = {0};
    bool made = false;
    if (!operands_make(&p, 1.0, 1, &o)) goto out;
    for (int i = 0; i < MATRICES; i++) CHECK_CUDA(cudaMalloc(matrix_of(b, i), bytes));
    CHECK_CUDA(cudaMemcpy(b->a, o.a, bytes, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(b->b, o.b, bytes, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemset(b->c, 0, bytes));
    CHECK_CUDA(cudaMemset(b->dc, 0, bytes));
    if (tandem_df_split(b->n, b->n, b->a, b->n, b->da, b->n, NULL) != TANDEM_OK) goto out;
    if (tandem_df_split(b->n, b->n, b->b, b->n, b->db, b->n, NULL) != TANDEM_OK) goto out;
    made = true;
out:
    operands_free(&o);
    return made;
}

static void free_operands(bench *b)
{
    for (int i = 0; i < MATRICES; i++) {
        cudaFree(*matrix_of(b, i));
        *matrix_of(b, i) = NULL;
    }
}

/* True if cublasDgemm gives the bits of mode df; says what to do if not. */
static bool is_intercepted(bench *b)
{
    enum { N = 64, BYTES = N * N * sizeof(double) };
    static double got[N * N], want[N * N];
    const variant v = {DROP_IN, CUBLAS_OP_N, CUBLAS_OP_N, 1.0, 0.0};
    bool is_same = false;
    b->n = N;
    if (!make_operands(b) || !enqueue(b, &v)) goto out;
    double *by_name = (double *)b->dc; /* of as many bytes */
    if (tandem_dgemm("df", TANDEM_OP_N, TANDEM_OP_N, N, N, N, 1.0, b->a, N, b->b, N, 0.0, by_name,
                     N, NULL) != TANDEM_OK) {
        complain("tandem_dgemm: %s", tandem_last_message());
        goto out;
    }
    CHECK_CUDA(cudaMemcpy(got, b->c, BYTES, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaMemcpy(want, by_name, BYTES, cudaMemcpyDeviceToHost));
    is_same = memcmp(got, want, BYTES) == 0;
    if (!is_same) complain("cublasDgemm does not run in mode df here: set TANDEM_MODE=df");
out:
    free_operands(b);
    return is_same;
}

static bool run_size(bench *b, double ceiling)
{
    bool good = make_operands(b);
    b->runs = b->n <= 1024 ? 15 : b->n <= 2048 ? 7 : b->n <= 4096 ? 5 : 3;
    for (int scalars = 0; scalars < 2 && good; scalars++) {
        variant v = {NATIVE, CUBLAS_OP_N, CUBLAS_OP_N, scalars ? 1.7 : 1.0, scalars ? -0.3 : 0.0};
        good = print_line(b, &v, ceiling);
        v.kind = TYPED;
        good = good && print_line(b, &v, ceiling);
        v.kind = DROP_IN;
        for (int op = 0; op < 9 && good; op++) {
            v.op_a = (cublasOperation_t)(op / 3);
            v.op_b = (cublasOperation_t)(op % 3);
            good = print_line(b, &v, ceiling);
        }
    }
    free_operands(b);
    return good;
}

static bool run_sizes(bench *b, int count, char **sizes)
{
    static char *const usual[] = {"1024", "2048", "4096", "8192"};
    const double before = ceiling_binary32();
    device_name name;
    if (before == 0.0 || !query_device_name(&name)) return false;
    printf("Device: %s. Ceiling: %.2f T binary32 instructions a second (multiply-adds).\n\n",
           name.text, before * 1e-12);
    printf("| product | N | op | alpha | beta | ms | TFLOP/s | of ceiling / %d |\n",
           PAPER_INSTRUCTIONS);
    printf("|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < (count ? count : 4); i++) {
        long n;
        if (!parse_integer("N", count ? sizes[i] : usual[i], 1, 32768, &n)) return false;
        b->n = (int)n;
        if (!run_size(b, before)) return false;
    }
    printf("\nCeiling again at the end: %.2f T.\n", ceiling_binary32() * 1e-12);
    return true;
}

int main(int argc, char **argv)
{
    bench b = {0};
    bool good = false;
    b.native = native_dgemm();
    if (!b.native) goto out;
    CHECK_CUBLAS(cublasCreate(&b.handle));
    good = is_intercepted(&b) && run_sizes(&b, argc - 1, argv + 1);
out:
    if (b.handle) cublasDestroy(b.handle);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
