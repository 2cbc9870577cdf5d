/* client_solution.c - a program that knows nothing of Tandem has cuSOLVER solve and invert by
 * triangular factors, and prints a line for each call:
 *
 *   ROUTINE FORM N K LD CASE: STATUS INFO RATIO
 *
 * FORM is the operation of an LU solution, with its pivots, or a triangle; RATIO is the largest
 * residual of a sampled column of solutions, over n 2^-53 times what its terms add up to, and
 * "touched" follows if something beside the result has changed. The functions are those that the
 * program is linked to (LINKED) or looks up.
 *
 * usage: client_solution [TANDEM]    attaches that library first */
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef double complex number;

/* ---- cuSOLVER ---- */

#define FUNCTIONS(X)                                                                               \
    X(cusolverDnDgetrs)                                                                            \
    X(cusolverDnZgetrs)                                                                            \
    X(cusolverDnXgetrs)                                                                            \
    X(cusolverDnDpotrs)                                                                            \
    X(cusolverDnZpotrs)                                                                            \
    X(cusolverDnXpotrs)                                                                            \
    X(cusolverDnDpotri)                                                                            \
    X(cusolverDnZpotri)                                                                            \
    X(cusolverDnDpotri_bufferSize)                                                                 \
    X(cusolverDnZpotri_bufferSize)

#define CLIENT "client_solution"
#include "solver_client.h"

/* ---- cases ---- */

enum { OTHER = 7 }; /* what nobody may read or write */
typedef enum { GETRS, POTRS, POTRI } routine;
static const char *const routine_names[] = {"getrs", "potrs", "potri"};

typedef struct {
    routine of;
    int n, k, lda, ldb;
    bool is_complex, is_typed, has_pivots, is_upper, is_captured;
    cublasOperation_t op;
} system_case;

static bool is_factor(const system_case *c, int i, int j)
{
    return i < c->n && (c->of == GETRS || (c->is_upper ? i <= j : i >= j));
}

static number random_element(const system_case *c)
{
    const double re = random_number(), im = random_number();
    return c->is_complex ? re + im * I : re;
}

static number *make_factors(const system_case *c)
{
    number *a = malloc((size_t)c->lda * (size_t)(c->n + 1) * sizeof *a);
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->lda; i++) {
            const number x = random_element(c);
            a[i + j * c->lda] = !is_factor(c, i, j) ? OTHER
                                : i == j            ? 3.0 + creal(x)
                                                    : x / (1.0 + sqrt(c->n));
        }
    return a;
}

static number *make_right(const system_case *c)
{
    number *b = malloc((size_t)c->ldb * (size_t)(c->k + 1) * sizeof *b);
    for (int j = 0; j < c->k; j++)
        for (int i = 0; i < c->ldb; i++) b[i + j * c->ldb] = i < c->n ? random_element(c) : OTHER;
    return b;
}

/* ---- a call ---- */

typedef struct {
    void *a, *b, *pivots;
    int *info;
} operands;

static cusolverStatus_t call_getrs(const system_case *c, const operands *on)
{
    const cudaDataType type = c->is_complex ? CUDA_C_64F : CUDA_R_64F;
    void *pivots = c->has_pivots ? on->pivots : NULL;
    if (c->is_typed)
        return solver.cusolverDnXgetrs_(handle, NULL, c->op, c->n, c->k, type, on->a, c->lda,
                                        pivots, type, on->b, c->ldb, on->info);
    return c->is_complex ? solver.cusolverDnZgetrs_(handle, c->op, c->n, c->k, on->a, c->lda,
                                                    pivots, on->b, c->ldb, on->info)
                         : solver.cusolverDnDgetrs_(handle, c->op, c->n, c->k, on->a, c->lda,
                                                    pivots, on->b, c->ldb, on->info);
}

static cublasFillMode_t triangle_of(const system_case *c)
{
    return c->is_upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
}

static cusolverStatus_t call_potrs(const system_case *c, const operands *on)
{
    const cudaDataType type = c->is_complex ? CUDA_C_64F : CUDA_R_64F;
    const cublasFillMode_t triangle = triangle_of(c);
    if (c->is_typed)
        return solver.cusolverDnXpotrs_(handle, NULL, triangle, c->n, c->k, type, on->a, c->lda,
                                        type, on->b, c->ldb, on->info);
    return c->is_complex ? solver.cusolverDnZpotrs_(handle, triangle, c->n, c->k, on->a, c->lda,
                                                    on->b, c->ldb, on->info)
                         : solver.cusolverDnDpotrs_(handle, triangle, c->n, c->k, on->a, c->lda,
                                                    on->b, c->ldb, on->info);
}

static cusolverStatus_t call_potri(const system_case *c, const operands *on)
{
    static void *work; /* until the next call, as graphs may use it */
    const cublasFillMode_t triangle = triangle_of(c);
    int elements = 0;
    if (c->is_complex
            ? solver.cusolverDnZpotri_bufferSize_(handle, triangle, c->n, on->a, c->lda, &elements)
            : solver.cusolverDnDpotri_bufferSize_(handle, triangle, c->n, on->a, c->lda, &elements))
        fail("potri_bufferSize");
    check(cudaFree(work));
    work = allocate((size_t)elements * sizeof(number));
    return c->is_complex ? solver.cusolverDnZpotri_(handle, triangle, c->n, on->a, c->lda, work,
                                                    elements, on->info)
                         : solver.cusolverDnDpotri_(handle, triangle, c->n, on->a, c->lda, work,
                                                    elements, on->info);
}

static cusolverStatus_t call(const system_case *c, const operands *on)
{
    return (c->of == GETRS ? call_getrs : c->of == POTRS ? call_potrs : call_potri)(c, on);
}

/* As a graph, which is launched once. */
static cusolverStatus_t call_captured(const system_case *c, const operands *on)
{
    cudaGraph_t graph;
    cudaGraphExec_t made;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    const cusolverStatus_t status = call(c, on);
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&made, graph, 0));
    check(cudaGraphLaunch(made, stream));
    check(cudaStreamSynchronize(stream));
    check(cudaGraphExecDestroy(made));
    check(cudaGraphDestroy(graph));
    return status;
}

/* ---- what came out ---- */

/* Element (i, j) of the first and of the second factor of A. */
static number factor_of(const system_case *c, const number *a, bool is_second, int i, int j)
{
    if (is_second ? i > j : i < j) return 0.0;
    if (c->of == GETRS) return !is_second && i == j ? 1.0 : a[i + j * c->lda];
    return c->is_upper == is_second ? a[i + j * c->lda] : conj(a[j + i * c->lda]);
}

/* y <- op(F) y, and of absolute values. */
static void apply(const system_case *c, const number *a, bool is_second, long double complex *y,
                  long double *size)
{
    long double complex made[c->n];
    long double sizes[c->n];
    for (int i = 0; i < c->n; i++) {
        made[i] = sizes[i] = 0.0L;
        for (int l = 0; l < c->n; l++) {
            const number x = c->op == CUBLAS_OP_N ? factor_of(c, a, is_second, i, l)
                                                  : factor_of(c, a, is_second, l, i);
            made[i] += (long double complex)(c->op == CUBLAS_OP_C ? conj(x) : x) * y[l];
            sizes[i] += (long double)cabs(x) * size[l];
        }
    }
    memcpy(y, made, sizeof made);
    memcpy(size, sizes, sizeof sizes);
}

/* Rows i and pivots[i] of a column are exchanged, one after the other. */
static void exchange(const system_case *c, const int64_t *pivots, number *column)
{
    for (int i = 0; c->has_pivots && i < c->n; i++) {
        const number kept = column[i];
        column[i] = column[pivots[i] - 1];
        column[pivots[i] - 1] = kept;
    }
}

static double ratio_of(const system_case *c, const number *a, const int64_t *pivots, number *x,
                       number *b)
{
    const bool is_as_is = c->op == CUBLAS_OP_N;
    long double complex y[c->n];
    long double size[c->n];
    double worst = 0.0;
    exchange(c, pivots, is_as_is ? b : x);
    for (int i = 0; i < c->n; i++) {
        y[i] = x[i];
        size[i] = cabs(x[i]);
    }
    apply(c, a, is_as_is, y, size);
    apply(c, a, !is_as_is, y, size);
    for (int i = 0; i < c->n; i++)
        worst = fmax(worst, (double)(cabsl(y[i] - b[i]) / (size[i] * c->n * 0x1p-53L)));
    return worst;
}

/* A column of the inverse, whose other triangle is not there, and of the unit matrix. */
static void take_column(const system_case *c, const number *inverse, int j, number *x, number *b)
{
    for (int i = 0; i < c->n; i++) {
        x[i] = is_factor(c, i, j) ? inverse[i + j * c->lda] : conj(inverse[j + i * c->lda]);
        b[i] = i == j;
    }
}

static bool is_touched(const system_case *c, const number *made)
{
    const bool is_inverse = c->of == POTRI;
    const int ld = is_inverse ? c->lda : c->ldb, columns = is_inverse ? c->n : c->k;
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < ld; i++)
            if ((is_inverse ? !is_factor(c, i, j) : i >= c->n) && made[i + j * ld] != OTHER)
                return true;
    return false;
}

static const char *form_of(const system_case *c)
{
    static char text[32];
    if (c->of != GETRS) return c->is_upper ? "upper" : "lower";
    snprintf(text, sizeof text, "%c%s", "NTC"[c->op], c -> has_pivots ? "" : " plain");
    return text;
}

static void print_case(const system_case *c, int status, int info, const number *a,
                       const int64_t *pivots, number *made, number *b)
{
    double ratio = 0.0;
    const int columns = c->of == POTRI ? c->n : c->k;
    for (int j = 0; j < columns && c->n > 0; j += 5) {
        number x[c->n], right[c->n];
        if (c->of == POTRI) take_column(c, made, j, x, right);
        ratio =
            fmax(ratio, c->of == POTRI ? ratio_of(c, a, pivots, x, right)
                                       : ratio_of(c, a, pivots, made + j * c->ldb, b + j * c->ldb));
    }
    printf("%s%s%s %s %d %d %d%s: %d %d %.3g%s\n", c->is_typed ? "X" : "",
           c->is_complex ? "Z" : "D", routine_names[c->of], form_of(c), c->n, c->k, c->lda,
           c->is_captured ? " captured" : "", status, info, ratio,
           is_touched(c, made) ? " touched" : "");
}

static void run_case(const system_case *c)
{
    state = (uint64_t)(c->n * 1000 + c->k);
    const size_t of_a = (size_t)c->lda * (size_t)c->n, of_b = (size_t)c->ldb * (size_t)c->k;
    number *a = make_factors(c), *b = make_right(c),
           *made = malloc((of_a + of_b + 1) * sizeof *made);
    int64_t wide[c->n + 1];
    int narrow[c->n + 1], found = -99;
    for (int i = 0; i < c->n; i++)
        narrow[i] = (int)(wide[i] = i + 1 + (int64_t)((random_number() + 1.0) / 2 * (c->n - i)));
    const operands on = {allocate(of_a * sizeof *a), allocate(of_b * sizeof *b),
                         allocate(sizeof wide), allocate(sizeof found)};
    copy_numbers(of_a, c->is_complex, a, on.a, true);
    copy_numbers(of_b, c->is_complex, b, on.b, true);
    check(cudaMemcpy(on.pivots, c->is_typed ? (void *)wide : (void *)narrow,
                     c->is_typed ? sizeof wide : sizeof narrow, cudaMemcpyHostToDevice));
    check(cudaMemcpy(on.info, &found, sizeof found, cudaMemcpyHostToDevice));
    const cusolverStatus_t status = (c->is_captured ? call_captured : call)(c, &on);
    check(cudaStreamSynchronize(stream));
    check(cudaMemcpy(&found, on.info, sizeof found, cudaMemcpyDeviceToHost));
    copy_numbers(c->of == POTRI ? of_a : of_b, c->is_complex, made, c->of == POTRI ? on.a : on.b,
                 false);
    print_case(c, (int)status, found, a, wide, made, b);
    for (void **p = (void *[]){on.a, on.b, on.pivots, on.info, NULL}; *p; p++) check(cudaFree(*p));
    free(a);
    free(b);
    free(made);
}

static void run_cases(void)
{
    static const int sizes[][2] = {{1, 1}, {2, 3}, {33, 1}, {64, 20}, {130, 7}, {5, 0}, {0, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int which = 0; which < 16; which++) {
            system_case c = {.n = sizes[i][0],
                             .k = sizes[i][1],
                             .lda = sizes[i][0] + 1 + which % 3,
                             .ldb = sizes[i][0] + 1 + which % 2,
                             .is_complex = which & 1,
                             .is_typed = which & 2,
                             .has_pivots = which < 12,
                             .is_upper = which & 4,
                             .is_captured = which == 5 && sizes[i][0] > 30,
                             .op = (cublasOperation_t)(which / 4 % 3)};
            run_case(&c);
            c.of = POTRS;
            c.op = CUBLAS_OP_N;
            c.has_pivots = false;
            if (which < 8) run_case(&c);
            c.of = POTRI;
            c.is_typed = false;
            c.k = 0;
            if (which < 8 && (which & 2) == 0) run_case(&c);
        }
}

/* ---- what stays cuSOLVER's ---- */

enum { LARGE = 2400 }; /* the order of an inverse that strategy adaptive may try */

static void run_destroyed_params(double *a, double *b, int *info)
{
    cusolverDnParams_t params = destroyed_params();
    printf("destroyed params of getrs: %d\n",
           (int)solver.cusolverDnXgetrs_(handle, params, CUBLAS_OP_N, 4, 1, CUDA_R_64F, a, 4, NULL,
                                         CUDA_R_64F, b, 4, info));
    printf("destroyed params of potrs: %d\n",
           (int)solver.cusolverDnXpotrs_(handle, params, CUBLAS_FILL_MODE_LOWER, 4, 1, CUDA_R_64F,
                                         a, 4, CUDA_R_64F, b, 4, info));
}

static void run_faults(void)
{
    const cublasOperation_t as_is = CUBLAS_OP_N;
    const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
    double *a = allocate(16 * sizeof *a), *b = allocate(16 * sizeof *b);
    int *pivots = allocate(64), *info = allocate(sizeof *info);
    __typeof__(&cusolverDnDgetrs) getrs = solver.cusolverDnDgetrs_;
    __typeof__(&cusolverDnDpotrs) potrs = solver.cusolverDnDpotrs_;
    printf("no handle: %d\n", (int)getrs(NULL, as_is, 4, 1, a, 4, pivots, b, 4, info));
    printf("no op: %d\n", (int)getrs(handle, (cublasOperation_t)9, 4, 1, a, 4, pivots, b, 4, info));
    printf("negative n: %d\n", (int)getrs(handle, as_is, -1, 1, a, 4, pivots, b, 4, info));
    printf("negative k: %d\n", (int)getrs(handle, as_is, 4, -1, a, 4, pivots, b, 4, info));
    printf("small lda: %d\n", (int)getrs(handle, as_is, 4, 1, a, 3, pivots, b, 4, info));
    printf("small ldb: %d\n", (int)potrs(handle, lower, 4, 1, a, 4, b, 3, info));
    printf("no triangle: %d\n", (int)potrs(handle, (cublasFillMode_t)9, 4, 1, a, 4, b, 4, info));
    printf("no info: %d\n", (int)potrs(handle, lower, 4, 1, a, 4, b, 4, NULL));
    printf("no workspace: %d\n",
           (int)solver.cusolverDnDpotri_(handle, lower, 4, a, 4, NULL, 0, info));
    double *large = allocate((size_t)LARGE * LARGE * sizeof *large);
    printf("small workspace of a large inverse: %d\n",
           (int)solver.cusolverDnDpotri_(handle, lower, LARGE, large, LARGE, a, 16, info));
    check(cudaFree(large));
    printf("mixed: %d\n", (int)solver.cusolverDnXpotrs_(handle, NULL, lower, 2, 1, CUDA_R_32F, a, 2,
                                                        CUDA_R_64F, b, 2, info));
    run_destroyed_params(a, b, info);
    check(cudaStreamSynchronize(stream));
    for (void **p = (void *[]){a, b, pivots, info, NULL}; *p; p++) check(cudaFree(*p));
}
