/* client_factor.c - a program that knows nothing of Tandem factors matrices by cuSOLVER and prints
 * a line for each call:
 *
 *   ROUTINE M N LD PIVOTS CASE: STATUS INFO RATIO HASH
 *
 * PIVOTS is int, int64 or none; RATIO is max |P A - L U| / (max |A| min(m, n) 2^-53), a measure of
 * LAPACK's tests; HASH is of the pivots, and "padded" follows if what lies between the columns has
 * changed. The functions are those that the program is linked to (LINKED) or looks up.
 *
 * usage: client_factor [TANDEM]    attaches that library first */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef double complex number;

/* ---- cuSOLVER ---- */

#define FUNCTIONS(X)                                                                               \
    X(cusolverDnSetAdvOptions)                                                                     \
    X(cusolverDnSgetrf)                                                                            \
    X(cusolverDnSgetrf_bufferSize)                                                                 \
    X(cusolverDnDgetrf)                                                                            \
    X(cusolverDnDgetrf_bufferSize)                                                                 \
    X(cusolverDnZgetrf)                                                                            \
    X(cusolverDnZgetrf_bufferSize)                                                                 \
    X(cusolverDnXgetrf)                                                                            \
    X(cusolverDnXgetrf_bufferSize)

#define CLIENT "client_factor"
#include "solver_client.h"

/* ---- cases ---- */

enum { PADDING = 7 };
typedef enum { INT, INT64, NONE } pivots_kind;
static const char *const pivot_names[] = {"int", "int64", "none"};

typedef struct {
    const char *name; /* of the case */
    int m, n, ld;
    pivots_kind pivots;
    bool is_complex;
} matrix_case;

static bool is(const matrix_case *c, const char *name) { return strcmp(c->name, name) == 0; }

static number element_of(const matrix_case *c, int i, int j)
{
    const double re = random_number(), im = random_number();
    if (i >= c->m) return PADDING;
    if (is(c, "zero column") && j == c->n / 2) return 0.0;
    if (is(c, "zeros")) return 0.0;
    if (is(c, "ties")) return (i * 7 + j * 3) % 5 - 2;
    if (is(c, "graded")) return ldexp(re, i - j);
    const double more = is(c, "dominant") && i == j ? c->m + c->n : 0.0;
    return c->is_complex ? re + more + im * I : re + more;
}

static number *make_matrix(const matrix_case *c)
{
    number *a = malloc((size_t)c->ld * (size_t)(c->n ? c->n : 1) * sizeof *a);
    state = (uint64_t)(c->m * 1000 + c->n);
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->ld; i++) a[i + j * c->ld] = element_of(c, i, j);
    return a;
}

static void copy(const matrix_case *c, number *host, void *device, bool to_device)
{
    copy_numbers((size_t)c->ld * (size_t)c->n, c->is_complex, host, device, to_device);
}

/* ---- a call ---- */

static cusolverStatus_t call_typed(const matrix_case *c, cusolverDnParams_t params, void *a,
                                   int64_t *pivots, int *info)
{
    const cudaDataType type = c->is_complex ? CUDA_C_64F : CUDA_R_64F;
    size_t on_device = 0, on_host = 0;
    if (solver.cusolverDnXgetrf_bufferSize_(handle, params, c->m, c->n, type, a, c->ld, type,
                                            &on_device, &on_host))
        fail("Xgetrf_bufferSize");
    void *work = allocate(on_device);
    const cusolverStatus_t status = solver.cusolverDnXgetrf_(
        handle, params, c->m, c->n, type, a, c->ld, pivots, type, work, on_device, NULL, 0, info);
    return finish(status, work);
}

static cusolverStatus_t call_plain(const matrix_case *c, void *a, int *pivots, int *info)
{
    int elements = 0;
    const cusolverStatus_t asked =
        c->is_complex
            ? solver.cusolverDnZgetrf_bufferSize_(handle, c->m, c->n, a, c->ld, &elements)
            : solver.cusolverDnDgetrf_bufferSize_(handle, c->m, c->n, a, c->ld, &elements);
    if (asked) fail("getrf_bufferSize");
    void *work = allocate((size_t)elements * sizeof(number));
    const cusolverStatus_t status =
        c->is_complex ? solver.cusolverDnZgetrf_(handle, c->m, c->n, a, c->ld, work, pivots, info)
                      : solver.cusolverDnDgetrf_(handle, c->m, c->n, a, c->ld, work, pivots, info);
    return finish(status, work);
}

/* ---- what came out ---- */

static int least(int a, int b) { return a < b ? a : b; }

/* P A, in place. */
static void exchange_rows(const matrix_case *c, number *a, const int64_t *pivots)
{
    for (int i = 0; i < least(c->m, c->n); i++)
        for (int j = 0; j < c->n; j++) {
            number *const x = &a[i + j * c->ld], *const y = &a[pivots[i] - 1 + j * c->ld], z = *x;
            *x = *y;
            *y = z;
        }
}

static double ratio_of(const matrix_case *c, const number *pa, const number *lu)
{
    double worst = 0.0, largest = 0.0;
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->m; i++) {
            long double complex sum = pa[i + j * c->ld];
            for (int l = 0; l <= least(i, j) && l < least(c->m, c->n); l++) {
                const number factor = l == i ? 1.0 : lu[i + l * c->ld];
                sum -= (long double complex)factor * lu[l + j * c->ld];
            }
            worst = fmax(worst, (double)cabsl(sum));
            largest = fmax(largest, cabs(pa[i + j * c->ld]));
        }
    return largest == 0.0 ? worst : worst / (largest * fmax(1, least(c->m, c->n)) * 0x1p-53);
}

static bool is_padded(const matrix_case *c, const number *a)
{
    for (int j = 0; j < c->n; j++)
        for (int i = c->m; i < c->ld; i++)
            if (a[i + j * c->ld] != PADDING) return true;
    return false;
}

/* The pivots of a call as int64; those that it has not are its rows' own numbers. */
static int64_t *fetch_pivots(const matrix_case *c, const void *device)
{
    const int count = least(c->m, c->n);
    int64_t *pivots = malloc((size_t)(count + 1) * sizeof *pivots);
    int *narrow = malloc((size_t)(count + 1) * sizeof *narrow);
    if (c->pivots == INT64)
        check(cudaMemcpy(pivots, device, (size_t)count * sizeof *pivots, cudaMemcpyDeviceToHost));
    if (c->pivots == INT)
        check(cudaMemcpy(narrow, device, (size_t)count * sizeof *narrow, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) {
        if (c->pivots == INT) pivots[i] = narrow[i];
        if (c->pivots == NONE) pivots[i] = i + 1;
        if (pivots[i] < 1 || pivots[i] > c->m) fail("a pivot is no row");
    }
    free(narrow);
    return pivots;
}

static unsigned long long hash_of(const int64_t *pivots, int count)
{
    unsigned long long hash = 14695981039346656037u;
    for (int i = 0; i < count; i++) hash = (hash ^ (unsigned long long)pivots[i]) * 1099511628211u;
    return hash;
}

static void run_case(const matrix_case *c, bool is_typed, cusolverDnParams_t params)
{
    number *a = make_matrix(c), *lu = make_matrix(c);
    const size_t bytes = (size_t)c->ld * (size_t)c->n * sizeof(number),
                 pivot_bytes = (size_t)(least(c->m, c->n) + 1) * sizeof(int64_t);
    void *device = allocate(bytes), *pivots = allocate(pivot_bytes);
    int *info = make_info();
    check(cudaMemset(pivots, 0x7f, pivot_bytes));
    copy(c, a, device, true);
    void *given = c->pivots == NONE ? NULL : pivots;
    const cusolverStatus_t status =
        is_typed ? call_typed(c, params, device, given, info) : call_plain(c, device, given, info);
    const int found = fetch_info(info);
    copy(c, lu, device, false);
    int64_t *rows = fetch_pivots(c, pivots);
    exchange_rows(c, a, rows);
    printf("%s%s %d %d %d %s %s: %d %d %.3g %llx%s\n", is_typed ? "X" : "",
           c->is_complex ? "Z" : "D", c->m, c->n, c->ld, pivot_names[c->pivots], c->name,
           (int)status, found, ratio_of(c, a, lu), hash_of(rows, least(c->m, c->n)),
           is_padded(c, lu) ? " padded" : "");
    check(cudaFree(device));
    check(cudaFree(pivots));
    free(a);
    free(lu);
    free(rows);
}

static void run_cases(void)
{
    static const struct {
        const char *name;
        int m, n, ld;
        bool without_pivots;
    } cases[] = {
        {"random", 1, 1, 1, false},     {"random", 2, 3, 4, false},
        {"random", 31, 31, 31, false},  {"random", 32, 32, 40, false},
        {"random", 33, 33, 33, false},  {"random", 100, 100, 101, false},
        {"random", 70, 130, 75, false}, {"random", 130, 70, 131, false},
        {"random", 1, 50, 1, false},    {"random", 50, 1, 50, false},
        {"ties", 60, 60, 60, false},    {"graded", 60, 60, 60, false},
        {"zeros", 40, 50, 40, false},   {"zero column", 65, 65, 66, false},
        {"dominant", 90, 80, 90, true}, {"dominant", 64, 64, 70, true},
        {"random", 0, 5, 1, false},     {"random", 5, 0, 5, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int which = 0; which < 4; which++) {
            const bool is_typed = which & 2, has_pivots = !cases[i].without_pivots;
            const pivots_kind kind = !has_pivots ? NONE : is_typed ? INT64 : INT;
            const matrix_case c = {cases[i].name, cases[i].m, cases[i].n,
                                   cases[i].ld,   kind,       which & 1};
            run_case(&c, is_typed, NULL);
        }
}

/* Another algorithm is asked for, and then the usual one again; also of parameters of which a
 * program may have said anything before Tandem was attached. */
static void run_algorithms(void)
{
    const matrix_case c = {"legacy", 77, 77, 77, INT64, false};
    const matrix_case again = {"default", 78, 78, 78, INT64, false};
    const matrix_case before = {"unseen", 76, 76, 76, INT64, false};
    const matrix_case told = {"told", 75, 75, 75, INT64, false};
    cusolverDnParams_t params = NULL;
    if (solver.cusolverDnCreateParams_(&params)) fail("CreateParams");
    if (solver.cusolverDnSetAdvOptions_(params, CUSOLVERDN_GETRF, CUSOLVER_ALG_1)) fail("ALG_1");
    run_case(&c, true, params);
    if (solver.cusolverDnSetAdvOptions_(params, CUSOLVERDN_GETRF, CUSOLVER_ALG_0)) fail("ALG_0");
    run_case(&again, true, params);
    if (solver.cusolverDnDestroyParams_(params)) fail("DestroyParams");
    run_case(&before, true, early_params);
    if (solver.cusolverDnSetAdvOptions_(early_params, CUSOLVERDN_GETRF, CUSOLVER_ALG_0))
        fail("ALG_0");
    run_case(&told, true, early_params);
}

/* ---- what stays cuSOLVER's ---- */

static void run_single_precision(void)
{
    const float host[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    float *a = allocate(sizeof host), found[4];
    int *pivots = allocate(2 * sizeof *pivots), *info = allocate(sizeof *info), elements = 0;
    check(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
    if (solver.cusolverDnSgetrf_bufferSize_(handle, 2, 2, a, 2, &elements)) fail("bufferSize");
    float *work = allocate((size_t)elements * sizeof *work);
    const int status = (int)solver.cusolverDnSgetrf_(handle, 2, 2, a, 2, work, pivots, info);
    check(cudaMemcpy(found, a, sizeof found, cudaMemcpyDeviceToHost));
    printf("S 2 2: %d %g %g\n", status, (double)found[0], (double)found[1]);
    check(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
    const int mixed = (int)solver.cusolverDnXgetrf_(handle, NULL, 2, 2, CUDA_R_32F, a, 2, NULL,
                                                    CUDA_R_64F, work, 64, NULL, 0, info);
    printf("mixed: %d\n", mixed);
    for (void **p = (void *[]){a, work, pivots, info, NULL}; *p; p++) check(cudaFree(*p));
}

static void run_faults(void)
{
    double *a = allocate(16 * sizeof *a), *work = allocate(1 << 20);
    int *pivots = allocate(64), *info = allocate(sizeof *info);
    __typeof__(&cusolverDnDgetrf) getrf = solver.cusolverDnDgetrf_;
    run_algorithms();
    run_single_precision();
    printf("no handle: %d\n", (int)getrf(NULL, 4, 4, a, 4, work, pivots, info));
    printf("negative m: %d\n", (int)getrf(handle, -1, 4, a, 4, work, pivots, info));
    printf("negative n: %d\n", (int)getrf(handle, 4, -1, a, 4, work, pivots, info));
    printf("small lda: %d\n", (int)getrf(handle, 4, 4, a, 3, work, pivots, info));
    printf("lda of none: %d\n", (int)getrf(handle, 0, 4, a, 0, work, pivots, info));
    printf("no info: %d\n", (int)getrf(handle, 4, 4, a, 4, work, pivots, NULL));
    printf("small workspace: %d\n",
           (int)solver.cusolverDnXgetrf_(handle, NULL, 4, 4, CUDA_R_64F, a, 4, NULL, CUDA_R_64F,
                                         work, 8, NULL, 0, info));
    printf("destroyed params: %d\n",
           (int)solver.cusolverDnXgetrf_(handle, destroyed_params(), 4, 4, CUDA_R_64F, a, 4, NULL,
                                         CUDA_R_64F, work, 1 << 20, NULL, 0, info));
    check(cudaStreamSynchronize(stream));
    for (void **p = (void *[]){a, work, pivots, info, NULL}; *p; p++) check(cudaFree(*p));
}
