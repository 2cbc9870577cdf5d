/* client_cholesky.c - a program that knows nothing of Tandem has cuSOLVER make Cholesky factors and
 * prints a line for each call:
 *
 *   ROUTINE TRIANGLE N LD CASE: STATUS INFO RATIO
 *
 * RATIO is max |A - L L'| / (max |A| n 2^-53) where info is 0, a measure of LAPACK's tests, and
 * "touched" follows if the other triangle, or what lies between the columns, has changed. The
 * functions are those that the program is linked to (LINKED) or looks up.
 *
 * usage: client_cholesky [TANDEM]    attaches that library first */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef double complex number;

/* ---- cuSOLVER ---- */

#define FUNCTIONS(X)                                                                               \
    X(cusolverDnDpotrf)                                                                            \
    X(cusolverDnDpotrf_bufferSize)                                                                 \
    X(cusolverDnZpotrf)                                                                            \
    X(cusolverDnZpotrf_bufferSize)                                                                 \
    X(cusolverDnXpotrf)                                                                            \
    X(cusolverDnXpotrf_bufferSize)

#define CLIENT "client_cholesky"
#include "solver_client.h"

/* ---- cases ---- */

enum { OTHER = 7 }; /* what is beside the triangle */

typedef struct {
    const char *name; /* of the case */
    int n, ld;
    bool is_upper, is_complex;
} matrix_case;

static bool is(const matrix_case *c, const char *name) { return strcmp(c->name, name) == 0; }

static bool is_inside(const matrix_case *c, int i, int j)
{
    return i < c->n && (c->is_upper ? i <= j : i >= j);
}

static number element_of(const matrix_case *c, int i, int j)
{
    const double re = random_number(), im = random_number();
    if (!is_inside(c, i, j)) return OTHER;
    if (i == j) return is(c, "not positive") && i == c->n * 2 / 3 ? -1.0 : 2.0 * c->n + re;
    return c->is_complex ? re + im * I : re;
}

static number *make_matrix(const matrix_case *c)
{
    number *a = malloc((size_t)c->ld * (size_t)(c->n ? c->n : 1) * sizeof *a);
    state = (uint64_t)(c->n * 1000 + c->ld);
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->ld; i++) a[i + j * c->ld] = element_of(c, i, j);
    return a;
}

static void copy(const matrix_case *c, number *host, void *device, bool to_device)
{
    copy_numbers((size_t)c->ld * (size_t)c->n, c->is_complex, host, device, to_device);
}

/* ---- a call ---- */

static cublasFillMode_t triangle_of(const matrix_case *c)
{
    return c->is_upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
}

static cusolverStatus_t call_typed(const matrix_case *c, void *a, int *info)
{
    const cudaDataType type = c->is_complex ? CUDA_C_64F : CUDA_R_64F;
    size_t on_device = 0, on_host = 0;
    if (solver.cusolverDnXpotrf_bufferSize_(handle, NULL, triangle_of(c), c->n, type, a, c->ld,
                                            type, &on_device, &on_host))
        fail("Xpotrf_bufferSize");
    void *work = allocate(on_device);
    const cusolverStatus_t status = solver.cusolverDnXpotrf_(
        handle, NULL, triangle_of(c), c->n, type, a, c->ld, type, work, on_device, NULL, 0, info);
    return finish(status, work);
}

static cusolverStatus_t call_plain(const matrix_case *c, void *a, int *info)
{
    const cublasFillMode_t triangle = triangle_of(c);
    int elements = 0;
    const cusolverStatus_t asked =
        c->is_complex
            ? solver.cusolverDnZpotrf_bufferSize_(handle, triangle, c->n, a, c->ld, &elements)
            : solver.cusolverDnDpotrf_bufferSize_(handle, triangle, c->n, a, c->ld, &elements);
    if (asked) fail("potrf_bufferSize");
    void *work = allocate((size_t)elements * sizeof(number));
    const cusolverStatus_t status =
        c->is_complex
            ? solver.cusolverDnZpotrf_(handle, triangle, c->n, a, c->ld, work, elements, info)
            : solver.cusolverDnDpotrf_(handle, triangle, c->n, a, c->ld, work, elements, info);
    return finish(status, work);
}

/* ---- what came out ---- */

/* L's element, or A's, of a row and a column before it. */
static number lower(const matrix_case *c, const number *a, int i, int j)
{
    return c->is_upper ? conj(a[j + i * c->ld]) : a[i + j * c->ld];
}

static double ratio_of(const matrix_case *c, const number *a, const number *l)
{
    double worst = 0.0, largest = 0.0;
    for (int j = 0; j < c->n; j++)
        for (int i = j; i < c->n; i++) {
            long double complex sum = lower(c, a, i, j);
            for (int k = 0; k <= j; k++)
                sum -= (long double complex)lower(c, l, i, k) * conjl(lower(c, l, j, k));
            worst = fmax(worst, (double)cabsl(sum));
            largest = fmax(largest, cabs(lower(c, a, i, j)));
        }
    return largest == 0.0 ? worst : worst / (largest * c->n * 0x1p-53);
}

static bool is_touched(const matrix_case *c, const number *a)
{
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->ld; i++)
            if (!is_inside(c, i, j) && a[i + j * c->ld] != OTHER) return true;
    return false;
}

static void run_case(const matrix_case *c, bool is_typed)
{
    number *a = make_matrix(c), *l = make_matrix(c);
    void *device = allocate((size_t)c->ld * (size_t)c->n * sizeof(number));
    int *info = make_info();
    copy(c, a, device, true);
    const cusolverStatus_t status =
        is_typed ? call_typed(c, device, info) : call_plain(c, device, info);
    const int found = fetch_info(info);
    copy(c, l, device, false);
    printf("%s%s %s %d %d %s: %d %d %.3g%s\n", is_typed ? "X" : "", c->is_complex ? "Z" : "D",
           c->is_upper ? "upper" : "lower", c->n, c->ld, c->name, (int)status, found,
           found == 0 ? ratio_of(c, a, l) : 0.0, is_touched(c, l) ? " touched" : "");
    check(cudaFree(device));
    free(a);
    free(l);
}

static void run_cases(void)
{
    static const struct {
        const char *name;
        int n, ld;
    } cases[] = {{"random", 1, 1},         {"random", 2, 5},     {"random", 33, 33},
                 {"random", 64, 70},       {"random", 129, 129}, {"not positive", 3, 3},
                 {"not positive", 90, 91}, {"random", 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int which = 0; which < 8; which++) {
            const matrix_case c = {cases[i].name, cases[i].n, cases[i].ld, which & 2, which & 1};
            run_case(&c, which & 4);
        }
}

/* ---- what stays cuSOLVER's ---- */

static void run_faults(void)
{
    enum { WORDS = 1 << 16 };
    const cublasFillMode_t lower_triangle = CUBLAS_FILL_MODE_LOWER;
    double *a = allocate(16 * sizeof *a), *work = allocate(WORDS * sizeof *work);
    int *info = allocate(sizeof *info);
    __typeof__(&cusolverDnDpotrf) potrf = solver.cusolverDnDpotrf_;
    printf("no handle: %d\n", (int)potrf(NULL, lower_triangle, 4, a, 4, work, WORDS, info));
    printf("no triangle: %d\n",
           (int)potrf(handle, (cublasFillMode_t)9, 4, a, 4, work, WORDS, info));
    printf("negative n: %d\n", (int)potrf(handle, lower_triangle, -1, a, 4, work, WORDS, info));
    printf("small lda: %d\n", (int)potrf(handle, lower_triangle, 4, a, 3, work, WORDS, info));
    printf("no info: %d\n", (int)potrf(handle, lower_triangle, 4, a, 4, work, WORDS, NULL));
    printf("small workspace: %d\n", (int)potrf(handle, lower_triangle, 4, a, 4, work, 0, info));
    printf("mixed: %d\n", (int)solver.cusolverDnXpotrf_(handle, NULL, lower_triangle, 2, CUDA_R_32F,
                                                        a, 2, CUDA_R_64F, work, 64, NULL, 0, info));
    check(cudaStreamSynchronize(stream));
    for (void **p = (void *[]){a, work, info, NULL}; *p; p++) check(cudaFree(*p));
}
