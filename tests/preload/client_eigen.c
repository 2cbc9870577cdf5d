/* client_eigen.c - a program that knows nothing of Tandem has cuSOLVER find eigenvectors and prints
 * a line for each call:
 *
 *   ROUTINE TRIANGLE N LD CASE: STATUS INFO RATIO
 *
 * RATIO is the largest norm of a column of A X - X D, over the largest value and n 2^-53, or of
 * X'X - I, over n 2^-53, where vectors were asked for; "touched" follows if what lies between the
 * columns has changed, "descending" if values are. The functions are those that
 * the program is linked to (LINKED) or looks up.
 *
 * usage: client_eigen [TANDEM]    attaches that library first; with CLIENT_CAPTURES in its
 * environment a call is made in a stream that is being captured, too */
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- cuSOLVER ---- */

#define FUNCTIONS(X)                                                                               \
    X(cusolverDnDsyevd)                                                                            \
    X(cusolverDnDsyevd_bufferSize)                                                                 \
    X(cusolverDnXsyevd)                                                                            \
    X(cusolverDnXsyevd_bufferSize)

#define CLIENT "client_eigen"
#include "solver_client.h"

/* ---- cases ---- */

enum { OTHER = 7 }; /* what is beside the triangle */

typedef struct {
    const char *name; /* of the case */
    int n, ld;
    bool is_upper, lacks_vectors;
} matrix_case;

static bool is(const matrix_case *c, const char *name) { return strcmp(c->name, name) == 0; }

static cublasFillMode_t triangle_of(const matrix_case *c)
{
    return c->is_upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
}

static cusolverEigMode_t mode_of(const matrix_case *c)
{
    return c->lacks_vectors ? CUSOLVER_EIG_MODE_NOVECTOR : CUSOLVER_EIG_MODE_VECTOR;
}

static double element_of(const matrix_case *c, int i, int j)
{
    const double x = random_number();
    if (is(c, "clusters")) return i == j ? 1 + i / 5 : i == j + 1 ? 1e-9 : 0.0;
    if (is(c, "not a number") && i == c->n / 2 && j == i) return (double)NAN;
    return is(c, "huge") ? 1e300 * x : x;
}

static double *make_matrix(const matrix_case *c)
{
    double *a = malloc(((size_t)c->ld * (size_t)c->n + 1) * sizeof *a);
    state = (uint64_t)(c->n * 1000 + c->ld);
    for (int e = 0; e < c->ld * c->n; e++) a[e] = OTHER;
    for (int j = 0; j < c->n; j++)
        for (int i = j; i < c->n; i++)
            a[c->is_upper ? j + i * c->ld : i + j * c->ld] = element_of(c, i, j);
    return a;
}

/* ---- calls ---- */

static cusolverStatus_t call_plain(const matrix_case *c, double *a, double *values, int *info)
{
    int elements = 0;
    if (solver.cusolverDnDsyevd_bufferSize_(handle, mode_of(c), triangle_of(c), c->n, a, c->ld,
                                            values, &elements))
        fail("syevd_bufferSize");
    double *work = allocate((size_t)elements * sizeof *work);
    const cusolverStatus_t status = solver.cusolverDnDsyevd_(
        handle, mode_of(c), triangle_of(c), c->n, a, c->ld, values, work, elements, info);
    return finish(status, work);
}

static cusolverStatus_t call_typed(const matrix_case *c, double *a, double *values, int *info)
{
    size_t on_device = 0, on_host = 0;
    if (solver.cusolverDnXsyevd_bufferSize_(handle, NULL, mode_of(c), triangle_of(c), c->n,
                                            CUDA_R_64F, a, c->ld, CUDA_R_64F, values, CUDA_R_64F,
                                            &on_device, &on_host))
        fail("Xsyevd_bufferSize");
    void *work = allocate(on_device), *host = malloc(on_host + 1);
    const cusolverStatus_t status = solver.cusolverDnXsyevd_(
        handle, NULL, mode_of(c), triangle_of(c), c->n, CUDA_R_64F, a, c->ld, CUDA_R_64F, values,
        CUDA_R_64F, work, on_device, host, on_host, info);
    (void)finish(status, work);
    free(host);
    return status;
}

/* ---- what came out ---- */

static long double element_at(const matrix_case *c, const double *a, int i, int j)
{
    return (i > j) == c->is_upper ? a[j + i * c->ld] : a[i + j * c->ld];
}

static double ratio_of(const matrix_case *c, const double *a, const double *x, const double *values)
{
    const double unit = c->n * 0x1p-53, norm = fmax(fabs(values[0]), fabs(values[c->n - 1]));
    double worst = 0.0;
    for (int j = 0; j < c->n; j++) {
        long double off = 0.0L, other = 0.0L;
        for (int i = 0; i < c->n; i++) {
            long double row = -(long double)values[j] * x[i + j * c->ld], dot = i == j ? -1 : 0;
            for (int k = 0; k < c->n; k++) {
                row += element_at(c, a, i, k) * x[k + j * c->ld];
                dot += (long double)x[k + i * c->ld] * x[k + j * c->ld];
            }
            off += row / norm * (row / norm);
            other += dot * dot;
        }
        worst = fmax(worst, (double)sqrtl(fmaxl(off, other)) / unit);
    }
    return worst;
}

static void print_outcome(const matrix_case *c, const double *a, const double *x,
                          const double *values)
{
    bool is_touched = false, descends = false;
    for (int j = 0; j < c->n; j++)
        for (int i = c->n; i < c->ld; i++) is_touched |= x[i + j * c->ld] != OTHER;
    for (int i = 1; i < c->n; i++) descends |= values[i] < values[i - 1];
    if (c->n > 0 && !c->lacks_vectors && !is(c, "not a number"))
        printf(" %.3g", ratio_of(c, a, x, values));
    printf("%s%s\n", is_touched ? " touched" : "", descends ? " descending" : "");
}

static void run_case(const matrix_case *c, bool is_typed)
{
    const size_t bytes = (size_t)c->ld * (size_t)c->n * sizeof(double),
                 of_values = (size_t)c->n * sizeof(double);
    double *a = make_matrix(c), *x = make_matrix(c), *values = malloc(of_values + 1);
    void *device = allocate(bytes), *device_values = allocate(of_values);
    int *info = make_info();
    check(cudaMemcpy(device, a, bytes, cudaMemcpyHostToDevice));
    const cusolverStatus_t status =
        (is_typed ? call_typed : call_plain)(c, device, device_values, info);
    const int found = fetch_info(info);
    check(cudaMemcpy(x, device, bytes, cudaMemcpyDeviceToHost));
    check(cudaMemcpy(values, device_values, of_values, cudaMemcpyDeviceToHost));
    printf("%ssyevd %s%s %d %d %s: %d %d", is_typed ? "X" : "D", c->is_upper ? "upper" : "lower",
           c->lacks_vectors ? " values" : "", c->n, c->ld, c->name, (int)status, found);
    print_outcome(c, a, x, values);
    check(cudaFree(device));
    check(cudaFree(device_values));
    free(a);
    free(x);
    free(values);
}

static void run_cases(void)
{
    static const struct {
        const char *name;
        int n, ld;
    } cases[] = {{"random", 1, 1},         {"random", 2, 5},     {"random", 33, 33},
                 {"random", 64, 70},       {"clusters", 60, 60}, {"huge", 40, 41},
                 {"not a number", 20, 20}, {"random", 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int which = 0; which < 8; which++) {
            const matrix_case c = {cases[i].name, cases[i].n, cases[i].ld, which & 1, which & 2};
            run_case(&c, which & 4);
        }
}

/* ---- what stays cuSOLVER's ---- */

static void run_captured(double *a, double *w, double *work, int words, int *info)
{
    cudaGraph_t graph = NULL;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    printf("captured: %d\n",
           (int)solver.cusolverDnDsyevd_(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER,
                                         4, a, 4, w, work, words, info));
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphDestroy(graph));
}

static void run_faults(void)
{
    enum { WORDS = 1 << 12 };
    const cusolverEigMode_t vectors = CUSOLVER_EIG_MODE_VECTOR;
    const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
    double *a = allocate(16 * sizeof *a), *w = allocate(4 * sizeof *w),
           *work = allocate(WORDS * sizeof *work);
    int *info = allocate(sizeof *info);
    __typeof__(&cusolverDnDsyevd) syevd = solver.cusolverDnDsyevd_;
    printf("no handle: %d\n", (int)syevd(NULL, vectors, lower, 4, a, 4, w, work, WORDS, info));
    printf("no triangle: %d\n",
           (int)syevd(handle, vectors, (cublasFillMode_t)9, 4, a, 4, w, work, WORDS, info));
    printf("negative n: %d\n", (int)syevd(handle, vectors, lower, -1, a, 4, w, work, WORDS, info));
    printf("small lda: %d\n", (int)syevd(handle, vectors, lower, 4, a, 3, w, work, WORDS, info));
    printf("no info: %d\n", (int)syevd(handle, vectors, lower, 4, a, 4, w, work, WORDS, NULL));
    printf("small workspace: %d\n", (int)syevd(handle, vectors, lower, 4, a, 4, w, work, 1, info));
    printf("small workspace on the host: %d\n",
           (int)solver.cusolverDnXsyevd_(handle, NULL, vectors, lower, 4, CUDA_R_64F, a, 4,
                                         CUDA_R_64F, w, CUDA_R_64F, work, WORDS * sizeof *work,
                                         NULL, 0, info));
    printf("mixed: %d\n",
           (int)solver.cusolverDnXsyevd_(handle, NULL, vectors, lower, 2, CUDA_R_64F, a, 2,
                                         CUDA_R_32F, w, CUDA_R_64F, work, 64, NULL, 0, info));
    if (getenv("CLIENT_CAPTURES")) run_captured(a, w, work, WORDS, info);
    check(cudaStreamSynchronize(stream));
    for (void **p = (void *[]){a, w, work, info, NULL}; *p; p++) check(cudaFree(*p));
}
