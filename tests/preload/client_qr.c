/* client_qr.c - a program that knows nothing of Tandem makes QR factors by cuSOLVER, Q of them, and
 * products with Q, and prints a line for each call:
 *
 *   ROUTINE M N LD CASE: STATUS INFO RATIO SIGNS
 *
 * RATIO is max |A - Q R| of a column of A, over its norm times M 2^-53, |Q - Q'| or |C - C'| with
 * what the reflectors make in long double; SIGNS is a hash of the signs of R's diagonal, and
 * "padded" follows if what lies between the columns has changed. The functions are those that the
 * program is linked to (LINKED) or looks up. Numbers are real, or complex ones (COMPLEX): then ' is
 * the conjugate transpose.
 *
 * usage: client_qr [TANDEM]    attaches that library first */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- cuSOLVER ---- */

#ifdef COMPLEX
typedef double complex number;
typedef long double complex quantity;
#define NUMBERS       CUDA_C_64F
#define TURNED        CUBLAS_OP_C
#define SIZE(x)       cabsl(x)
#define GEQRF(more)   cusolverDnZgeqrf##more
#define FORM_Q(more)  cusolverDnZungqr##more
#define APPLY_Q(more) cusolverDnZunmqr##more
#else
typedef double number;
typedef long double quantity;
#define NUMBERS       CUDA_R_64F
#define TURNED        CUBLAS_OP_T
#define SIZE(x)       fabsl(x)
#define GEQRF(more)   cusolverDnDgeqrf##more
#define FORM_Q(more)  cusolverDnDorgqr##more
#define APPLY_Q(more) cusolverDnDormqr##more
#endif

#define FUNCTIONS(X)                                                                               \
    X(GEQRF())                                                                                     \
    X(GEQRF(_bufferSize))                                                                          \
    X(cusolverDnXgeqrf)                                                                            \
    X(cusolverDnXgeqrf_bufferSize)                                                                 \
    X(FORM_Q())                                                                                    \
    X(FORM_Q(_bufferSize))                                                                         \
    X(APPLY_Q())                                                                                   \
    X(APPLY_Q(_bufferSize))

#define CLIENT "client_qr"
#include "solver_client.h"

/* ---- matrices ---- */

enum { PADDING = 7 };

/* In host memory, and what lies between the columns. */
typedef struct {
    int rows, columns, ld;
    number *data;
} matrix;

static number random_element(void)
{
    const double re = random_number();
#ifdef COMPLEX
    return re + random_number() * I;
#else
    return re;
#endif
}

static number element_of(const char *name, const matrix *a, int i, int j)
{
    const number x = random_element();
    if (i >= a->rows) return PADDING;
    if (strcmp(name, "zeros") == 0) return 0.0;
    if (strcmp(name, "zero column") == 0 && j == a->columns / 2) return 0.0;
    if (strcmp(name, "graded") == 0) return x * ldexp(1.0, 3 * (j - i));
    if (strcmp(name, "triangle") == 0 && i > j) return 0.0;
    return x;
}

static matrix make_matrix(const char *name, int rows, int columns, int ld)
{
    matrix a = {rows, columns, ld, malloc(((size_t)ld * (size_t)columns + 1) * sizeof(number))};
    state = (uint64_t)(rows * 1000 + columns);
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < ld; i++) a.data[i + j * ld] = element_of(name, &a, i, j);
    return a;
}

static bool is_padded(const matrix *a)
{
    for (int j = 0; j < a->columns; j++)
        for (int i = a->rows; i < a->ld; i++)
            if (a->data[i + j * a->ld] != PADDING) return true;
    return false;
}

/* ---- the device ---- */

static size_t bytes_of(const matrix *a)
{
    return (size_t)a->ld * (size_t)a->columns * sizeof *a->data;
}

static void *to_device(const matrix *a)
{
    void *device = allocate(bytes_of(a));
    check(cudaMemcpy(device, a->data, bytes_of(a), cudaMemcpyHostToDevice));
    return device;
}

/* The device's copy is freed. */
static void fetch(matrix *a, void *device)
{
    check(cudaMemcpy(a->data, device, bytes_of(a), cudaMemcpyDeviceToHost));
    check(cudaFree(device));
}

/* ---- what reflectors make ---- */

/* x' y */
static quantity product_of(quantity x, quantity y)
{
#ifdef COMPLEX
    return conjl(x) * y;
#else
    return x * y;
#endif
}

/* x <- Q x, or Q' x, by the first k reflectors. */
static void apply(const matrix *v, const number *tau, int k, bool is_transposed, quantity *x)
{
    for (int at = 0; at < k; at++) {
        const int l = is_transposed ? at : k - 1 - at;
        quantity sum = x[l];
        for (int i = l + 1; i < v->rows; i++)
            sum += product_of((quantity)v->data[i + l * v->ld], x[i]);
        sum = is_transposed ? product_of((quantity)tau[l], sum) : sum * (quantity)tau[l];
        x[l] -= sum;
        for (int i = l + 1; i < v->rows; i++) x[i] -= sum * (quantity)v->data[i + l * v->ld];
    }
}

static long double distance(const quantity *x, const number *y, int count, long double *norm)
{
    long double sum = 0.0L;
    *norm = 0.0L;
    for (int i = 0; i < count; i++) {
        const long double off = SIZE(x[i] - (quantity)y[i]), size = SIZE((quantity)y[i]);
        sum += off * off;
        *norm += size * size;
    }
    *norm = sqrtl(*norm);
    return sqrtl(sum);
}

static double ratio_of(long double off, long double norm, int m)
{
    return norm == 0.0L ? (double)off : (double)(off / (norm * m * 0x1p-53L));
}

static int least(int a, int b) { return a < b ? a : b; }

/* The column to compare after column j: every one of a matrix that has fewer than 18, and of others
 * about 18, with the last one, which has met all reflectors. */
static int next_column(int j, int columns)
{
    const int next = j + 1 + columns / 18;
    return next < columns || j == columns - 1 ? next : columns - 1;
}

static double ratio_of_factors(const matrix *a, const matrix *qr, const number *tau)
{
    double worst = 0.0;
    quantity *x = malloc((size_t)(a->rows + 1) * sizeof *x);
    long double norm;
    for (int j = 0; j < a->columns; j = next_column(j, a->columns)) {
        for (int i = 0; i < a->rows; i++) x[i] = i <= j ? (quantity)qr->data[i + j * qr->ld] : 0.0L;
        apply(qr, tau, least(a->rows, a->columns), false, x);
        const long double off = distance(x, a->data + j * a->ld, a->rows, &norm);
        worst = fmax(worst, ratio_of(off, norm, a->rows));
    }
    free(x);
    return worst;
}

/* 1, 2, or 3 of what is not real. */
static unsigned sign_of(number x) { return cimag(x) != 0.0 ? 3u : signbit(creal(x)) ? 1u : 2u; }

static unsigned long long signs_of(const matrix *qr)
{
    unsigned long long hash = 14695981039346656037u;
    for (int i = 0; i < least(qr->rows, qr->columns); i++)
        hash = (hash ^ sign_of(qr->data[i + i * qr->ld])) * 1099511628211u;
    return hash;
}

/* ---- calls ---- */

static cusolverStatus_t factor(void *a, const matrix *of, void *tau, int *info, bool is_typed)
{
    const int m = of->rows, n = of->columns, ld = of->ld;
    size_t on_device = 0, on_host = 0;
    int elements = 0;
    const cusolverStatus_t asked =
        is_typed ? solver.cusolverDnXgeqrf_bufferSize_(handle, NULL, m, n, NUMBERS, a, ld, NUMBERS,
                                                       tau, NUMBERS, &on_device, &on_host)
                 : solver.GEQRF(_bufferSize_)(handle, m, n, a, ld, &elements);
    if (asked) fail("geqrf_bufferSize");
    if (!is_typed) on_device = (size_t)elements * sizeof(number);
    void *work = allocate(on_device);
    const cusolverStatus_t status =
        is_typed ? solver.cusolverDnXgeqrf_(handle, NULL, m, n, NUMBERS, a, ld, NUMBERS, tau,
                                            NUMBERS, work, on_device, NULL, 0, info)
                 : solver.GEQRF(_)(handle, m, n, a, ld, tau, work, elements, info);
    return finish(status, work);
}

static cusolverStatus_t form(void *a, const matrix *of, int k, const void *tau, int *info)
{
    int elements = 0;
    if (solver.FORM_Q(_bufferSize_)(handle, of->rows, of->columns, k, a, of->ld, tau, &elements))
        fail("orgqr_bufferSize");
    void *work = allocate((size_t)elements * sizeof(number));
    const cusolverStatus_t status =
        solver.FORM_Q(_)(handle, of->rows, of->columns, k, a, of->ld, tau, work, elements, info);
    return finish(status, work);
}

/* A product with Q, of k reflectors. */
typedef struct {
    cublasSideMode_t side;
    cublasOperation_t op;
    int k;
} product;

static cusolverStatus_t multiply(const product *of, const void *a, int lda, const void *tau,
                                 void *c, const matrix *like, int *info)
{
    int elements = 0;
    if (solver.APPLY_Q(_bufferSize_)(handle, of->side, of->op, like->rows, like->columns, of->k, a,
                                     lda, tau, c, like->ld, &elements))
        fail("ormqr_bufferSize");
    void *work = allocate((size_t)elements * sizeof(number));
    const cusolverStatus_t status =
        solver.APPLY_Q(_)(handle, of->side, of->op, like->rows, like->columns, of->k, a, lda, tau,
                          c, like->ld, work, elements, info);
    return finish(status, work);
}

/* ---- cases ---- */

typedef struct {
    const char *name;
    int m, n, ld;
} matrix_case;

static void print_case(const char *routine, const matrix_case *c, cusolverStatus_t status, int info,
                       double ratio)
{
    printf("%s %d %d %d %s: %d %d %.3g", routine, c->m, c->n, c->ld, c->name, (int)status, info,
           ratio);
}

/* Leaves the factors on the device, and on the host. */
static void run_factor(const matrix_case *c, bool is_typed, matrix *qr, number *tau, void **a)
{
    const matrix before = make_matrix(c->name, c->m, c->n, c->ld);
    int *info = make_info();
    const size_t count = (size_t)least(c->m, c->n);
    void *device_tau = allocate(count * sizeof *tau);
    *qr = make_matrix(c->name, c->m, c->n, c->ld);
    *a = to_device(&before);
    const cusolverStatus_t status = factor(*a, &before, device_tau, info, is_typed);
    check(cudaMemcpy(tau, device_tau, count * sizeof *tau, cudaMemcpyDeviceToHost));
    check(cudaMemcpy(qr->data, *a, bytes_of(qr), cudaMemcpyDeviceToHost));
    check(cudaFree(device_tau));
    print_case(is_typed ? "Xgeqrf" : "geqrf", c, status, fetch_info(info),
               ratio_of_factors(&before, qr, tau));
    printf(" %llx%s\n", signs_of(qr), is_padded(qr) ? " padded" : "");
    free(before.data);
}

static void run_form(const matrix_case *c, const matrix *qr, const number *tau, void *a)
{
    const int columns = least(c->m, c->n);
    matrix q = {c->m, columns, c->ld,
                malloc(((size_t)c->ld * (size_t)columns + 1) * sizeof(number))};
    void *device_tau = allocate((size_t)columns * sizeof *tau);
    double worst = 0.0;
    quantity *x = malloc((size_t)(c->m + 1) * sizeof *x);
    long double norm;
    int *info = make_info();
    check(cudaMemcpy(device_tau, tau, (size_t)columns * sizeof *tau, cudaMemcpyHostToDevice));
    const cusolverStatus_t status = form(a, &q, columns, device_tau, info);
    fetch(&q, a);
    check(cudaFree(device_tau));
    for (int j = 0; j < columns; j = next_column(j, columns)) {
        for (int i = 0; i < c->m; i++) x[i] = i == j;
        apply(qr, tau, columns, false, x);
        const long double off = distance(x, q.data + j * q.ld, c->m, &norm);
        worst = fmax(worst, ratio_of(off, norm, c->m));
    }
    print_case("orgqr", c, status, fetch_info(info), worst);
    printf(" 0%s\n", is_padded(&q) ? " padded" : "");
    free(x);
    free(q.data);
}

/* From the right, a row c of C becomes c Q: Q' c' is its conjugate transpose. */
static quantity turned(bool is_left, quantity x) { return is_left ? x : product_of(x, 1.0L); }

/* C is 3 columns, or rows, of random numbers. */
static void run_multiply(const matrix_case *c, const matrix *qr, const number *tau,
                         const product *of)
{
    enum { VECTORS = 3 };
    const bool is_left = of->side == CUBLAS_SIDE_LEFT;
    const int rows = is_left ? c->m : VECTORS, columns = is_left ? VECTORS : c->m;
    const matrix before = make_matrix("random", rows, columns, rows + 2);
    matrix after = make_matrix("random", rows, columns, rows + 2);
    void *device_tau = allocate((size_t)of->k * sizeof *tau), *a = to_device(qr),
         *device = to_device(&before);
    number *row = malloc((size_t)(c->m + 1) * sizeof *row);
    double worst = 0.0;
    quantity *x = malloc((size_t)(c->m + 1) * sizeof *x);
    long double norm;
    int *info = make_info();
    check(cudaMemcpy(device_tau, tau, (size_t)of->k * sizeof *tau, cudaMemcpyHostToDevice));
    const cusolverStatus_t status = multiply(of, a, qr->ld, device_tau, device, &after, info);
    fetch(&after, device);
    check(cudaFree(a));
    check(cudaFree(device_tau));
    for (int j = 0; j < VECTORS; j++) {
        for (int i = 0; i < c->m; i++) {
            const int at = is_left ? i + j * before.ld : j + i * before.ld;
            x[i] = turned(is_left, (quantity)before.data[at]);
            row[i] = (number)turned(is_left, (quantity)after.data[at]);
        }
        apply(qr, tau, of->k, (of->op == TURNED) == is_left, x);
        const long double off = distance(x, row, c->m, &norm);
        worst = fmax(worst, ratio_of(off, norm, c->m));
    }
    char routine[32];
    snprintf(routine, sizeof routine, "ormqr%c%c", is_left ? 'L' : 'R',
             of->op == TURNED ? 'T' : 'N');
    print_case(routine, c, status, fetch_info(info), worst);
    printf(" 0%s\n", is_padded(&after) ? " padded" : "");
    free(row);
    free(x);
    free(before.data);
    free(after.data);
}

static void run_case(const matrix_case *c, bool is_typed)
{
    enum { MOST = 400 };
    static const struct {
        cublasSideMode_t side;
        cublasOperation_t op;
    } products[] = {{CUBLAS_SIDE_LEFT, TURNED},
                    {CUBLAS_SIDE_LEFT, CUBLAS_OP_N},
                    {CUBLAS_SIDE_RIGHT, TURNED},
                    {CUBLAS_SIDE_RIGHT, CUBLAS_OP_N}};
    number tau[MOST];
    void *a;
    matrix qr;
    run_factor(c, is_typed, &qr, tau, &a);
    for (int i = 0; i < 4 && !is_typed && c->m > 0 && c->n > 0; i++)
        run_multiply(c, &qr, tau,
                     &(product){products[i].side, products[i].op, least(c->m, c->n) - i % 2});
    if (is_typed)
        check(cudaFree(a));
    else
        run_form(c, &qr, tau, a);
    free(qr.data);
}

static void run_cases(void)
{
    static const matrix_case cases[] = {
        {"random", 1, 1, 1},      {"random", 2, 3, 4},         {"random", 31, 31, 31},
        {"random", 32, 32, 40},   {"random", 33, 33, 33},      {"random", 100, 100, 101},
        {"random", 70, 130, 75},  {"random", 230, 70, 231},    {"random", 1, 50, 1},
        {"random", 50, 1, 50},    {"graded", 60, 60, 60},      {"zeros", 40, 50, 40},
        {"triangle", 65, 65, 66}, {"zero column", 90, 80, 90}, {"random", 0, 5, 1},
        {"random", 5, 0, 5},      {"random", 300, 290, 301},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int is_typed = 0; is_typed < 2; is_typed++) run_case(&cases[i], is_typed);
}

/* ---- what stays cuSOLVER's ---- */

static void run_faults(void)
{
    void *a = allocate(16 * sizeof(number)), *work = allocate(1 << 20), *tau = allocate(64);
    int *info = allocate(sizeof *info);
    __typeof__(&GEQRF()) geqrf = solver.GEQRF(_);
    const int elements = (1 << 20) / (int)sizeof(number);
    printf("no handle: %d\n", (int)geqrf(NULL, 4, 4, a, 4, tau, work, elements, info));
    printf("negative m: %d\n", (int)geqrf(handle, -1, 4, a, 4, tau, work, elements, info));
    printf("negative n: %d\n", (int)geqrf(handle, 4, -1, a, 4, tau, work, elements, info));
    printf("small lda: %d\n", (int)geqrf(handle, 4, 4, a, 3, tau, work, elements, info));
    printf("no info: %d\n", (int)geqrf(handle, 4, 4, a, 4, tau, work, elements, NULL));
    printf("small workspace: %d\n", (int)geqrf(handle, 4, 4, a, 4, tau, work, 1, info));
    printf("mixed: %d\n",
           (int)solver.cusolverDnXgeqrf_(handle, NULL, 4, 4, NUMBERS, a, 4, CUDA_R_32F, tau,
                                         NUMBERS, work, 1 << 20, NULL, 0, info));
    check(cudaStreamSynchronize(stream));
    for (void **p = (void *[]){a, work, tau, info, NULL}; *p; p++) check(cudaFree(*p));
}
