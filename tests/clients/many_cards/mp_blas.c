/* mp_blas.c - products, an update and a triangular solve of cuBLASMp, on a grid of ranks.
 * usage: mp_blas ID_FILE N [BLOCK [ROUTINE ...]]
 * N is the order of all matrices, complex ones have half of it. Routines: pdgemm, pzgemm, pdsyrk,
 * pdtrsm; all where none is given. A line of JSON for each routine,
 * with the median time and the largest error of some elements. */
#include "cards.h"

#include <math.h>
#include <string.h>

#include <cublasmp.h>

enum { SAMPLES = 64 };

static cards ranks;
static cublasMpHandle_t handle;
static cublasMpGrid_t grid;

static double _Complex of_a(int64_t i, int64_t j)
{
    return cards_number(i, j, 1) + cards_number(i, j, 2) * I;
}

static double _Complex of_b(int64_t i, int64_t j)
{
    return cards_number(i, j, 3) + cards_number(i, j, 4) * I;
}

/* Of a triangle L = 1 + u v' below its diagonal: one pass over a column tells what X is. */
static int64_t order;
static double u(int64_t i) { return cards_number(i, 0, 5); }
static double v(int64_t j) { return cards_number(0, j, 6) / sqrt((double)order); }
static double _Complex of_triangle(int64_t i, int64_t j)
{
    return i == j ? 1.0 : i > j ? u(i) * v(j) : 7.0; /* not to be read */
}

static cublasMpMatrixDescriptor_t describe(const spread *s)
{
    cublasMpMatrixDescriptor_t d;
    CHECKED(cublasMpMatrixDescriptorCreate(s->m, s->n, s->block, s->block, 0, 0, s->ld,
                                           s->is_complex ? CUDA_C_64F : CUDA_R_64F, grid, &d));
    return d;
}

/* One call: its matrices, what the call wants beside them, and its memory. */
typedef struct {
    spread a, b, c;
    cublasMpMatrixDescriptor_t of_a, of_b, of_c;
    void *device, *host;
    size_t device_bytes, host_bytes;
} job;

static const double one[2] = {1.0, 0.0}, zero[2] = {0.0, 0.0};

static void find_memory(job *j)
{
    CHECKED(cudaMalloc(&j->device, j->device_bytes + 1));
    CHECKED(!(j->host = malloc(j->host_bytes + 1)));
}

static void job_free(job *j)
{
    CHECKED(cudaFree(j->device));
    free(j->host);
    spread *const matrices[] = {&j->a, &j->b, &j->c};
    const cublasMpMatrixDescriptor_t descriptors[] = {j->of_a, j->of_b, j->of_c};
    for (int i = 0; i < 3; i++) {
        if (!matrices[i]->device) continue;
        spread_free(matrices[i]);
        CHECKED(cublasMpMatrixDescriptorDestroy(descriptors[i]));
    }
}

/* ---- errors ---- */

typedef long double _Complex wide;

static double _Complex at(const spread *s, const void *host, int64_t row, int64_t column)
{
    const int64_t i = row + column * s->ld;
    return s->is_complex ? ((const double _Complex *)host)[i] : ((const double *)host)[i];
}

static double _Complex part(const spread *s, double _Complex x)
{
    return s->is_complex ? x : creal(x);
}

/* Of some elements of C = A op(B) that the rank has: op(B) is B, or A's transpose where is_update
 * says so, of which C has the lower triangle alone. In units of n 2^-53 |A||op(B)|. */
static double error_of_product(const job *j, bool is_update)
{
    const spread *c = &j->c;
    const int64_t k = j->a.n;
    void *host = spread_read(c);
    double worst = 0.0;
    for (int s = 0; s < SAMPLES && c->rows > 0 && c->columns > 0; s++) {
        const int64_t row = (s * INT64_C(7919)) % c->rows,
                      column = (s * INT64_C(104729)) % c->columns, i = spread_row(&ranks, c, row),
                      l = spread_column(&ranks, c, column);
        wide exact = 0.0L;
        long double scale = 0.0L;
        if (is_update && i < l) continue;
        for (int64_t t = 0; t < k; t++) {
            const double _Complex x = part(c, of_a(i, t)),
                                  y = part(c, is_update ? of_a(l, t) : of_b(t, l));
            exact += (wide)x * (wide)y;
            scale += cabsl((wide)x) * cabsl((wide)y);
        }
        const long double error = cabsl((wide)at(c, host, row, column) - exact) / scale;
        if (!((double)error <= worst)) worst = (double)error;
    }
    free(host);
    return worst / ((double)k * 0x1p-53);
}

/* Of all elements of some columns of X, in units of n 2^-53 of the column's largest. */
static double error_of_solve(const job *j)
{
    enum { COLUMNS = 4 };
    const spread *x = &j->b;
    void *host = spread_read(x);
    long double *exact = malloc((size_t)x->m * sizeof *exact);
    double worst = 0.0;
    CHECKED(!exact);
    for (int s = 0; s < COLUMNS && x->columns > 0; s++) {
        const int64_t column = (s * INT64_C(104729)) % x->columns,
                      l = spread_column(&ranks, x, column);
        long double sum = 0.0L, largest = 0.0L, error = 0.0L;
        for (int64_t i = 0; i < x->m; i++) {
            exact[i] = (long double)creal(of_b(i, l)) - sum * u(i);
            sum += exact[i] * v(i);
            if (fabsl(exact[i]) > largest) largest = fabsl(exact[i]);
        }
        for (int64_t row = 0; row < x->rows; row++) {
            const long double off = fabsl((long double)creal(at(x, host, row, column)) -
                                          exact[spread_row(&ranks, x, row)]);
            if (!(off <= error)) error = off;
        }
        if (!((double)(error / largest) <= worst)) worst = (double)(error / largest);
    }
    free(exact);
    free(host);
    return worst / ((double)x->m * 0x1p-53);
}

/* ---- routines ---- */

static void run_gemm(void *of)
{
    job *j = of;
    CHECKED(cublasMpGemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, j->c.m, j->c.n, j->a.n, one, j->a.device,
                         1, 1, j->of_a, j->b.device, 1, 1, j->of_b, zero, j->c.device, 1, 1,
                         j->of_c, CUBLAS_COMPUTE_64F, j->device, j->device_bytes, j->host,
                         j->host_bytes));
}

static void gemm(int64_t n, int64_t block, bool is_complex)
{
    job j = {.a = spread_make(&ranks, n, n, block, is_complex, of_a),
             .b = spread_make(&ranks, n, n, block, is_complex, of_b),
             .c = spread_make(&ranks, n, n, block, is_complex, NULL)};
    j.of_a = describe(&j.a), j.of_b = describe(&j.b), j.of_c = describe(&j.c);
    CHECKED(cublasMpGemm_bufferSize(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, one, j.a.device, 1,
                                    1, j.of_a, j.b.device, 1, 1, j.of_b, zero, j.c.device, 1, 1,
                                    j.of_c, CUBLAS_COMPUTE_64F, &j.device_bytes, &j.host_bytes));
    find_memory(&j);
    const double seconds = cards_time(&ranks, run_gemm, NULL, &j), cube = pow((double)n, 3.0);
    cards_tell(&ranks, is_complex ? "pzgemm" : "pdgemm", n, seconds,
               (is_complex ? 8.0 : 2.0) * cube, error_of_product(&j, false));
    job_free(&j);
}

static void run_syrk(void *of)
{
    job *j = of;
    CHECKED(cublasMpSyrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, j->c.n, j->a.n, one,
                         j->a.device, 1, 1, j->of_a, zero, j->c.device, 1, 1, j->of_c,
                         CUBLAS_COMPUTE_64F, j->device, j->device_bytes, j->host, j->host_bytes));
}

static void syrk(int64_t n, int64_t block)
{
    job j = {.a = spread_make(&ranks, n, n, block, false, of_a),
             .c = spread_make(&ranks, n, n, block, false, NULL)};
    j.of_a = describe(&j.a), j.of_c = describe(&j.c);
    CHECKED(cublasMpSyrk_bufferSize(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, n, one,
                                    j.a.device, 1, 1, j.of_a, zero, j.c.device, 1, 1, j.of_c,
                                    CUBLAS_COMPUTE_64F, &j.device_bytes, &j.host_bytes));
    find_memory(&j);
    const double seconds = cards_time(&ranks, run_syrk, NULL, &j);
    cards_tell(&ranks, "pdsyrk", n, seconds, pow((double)n, 3.0), error_of_product(&j, true));
    job_free(&j);
}

static void run_trsm(void *of)
{
    job *j = of;
    CHECKED(cublasMpTrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                         CUBLAS_DIAG_NON_UNIT, j->b.m, j->b.n, one, j->a.device, 1, 1, j->of_a,
                         j->b.device, 1, 1, j->of_b, CUBLAS_COMPUTE_64F, j->device, j->device_bytes,
                         j->host, j->host_bytes));
}

/* X has taken B's place. */
static void set_b_again(void *of)
{
    const job *j = of;
    spread_set(&ranks, &j->b, of_b);
}

static void trsm(int64_t n, int64_t block)
{
    order = n;
    job j = {.a = spread_make(&ranks, n, n, block, false, of_triangle),
             .b = spread_make(&ranks, n, n, block, false, of_b)};
    j.of_a = describe(&j.a), j.of_b = describe(&j.b);
    CHECKED(cublasMpTrsm_bufferSize(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                                    CUBLAS_DIAG_NON_UNIT, n, n, one, j.a.device, 1, 1, j.of_a,
                                    j.b.device, 1, 1, j.of_b, CUBLAS_COMPUTE_64F, &j.device_bytes,
                                    &j.host_bytes));
    find_memory(&j);
    const double seconds = cards_time(&ranks, run_trsm, set_b_again, &j);
    cards_tell(&ranks, "pdtrsm", n, seconds, pow((double)n, 3.0), error_of_solve(&j));
    job_free(&j);
}

/* True if a routine is to be run. */
static bool is_asked(const char *routine, int count, char **arguments)
{
    enum { FIRST = 4 };
    for (int i = FIRST; i < count; i++)
        if (strcmp(arguments[i], routine) == 0) return true;
    return count <= FIRST;
}

int main(int count, char **arguments)
{
    enum { BLOCK = 1024 };
    const int64_t n = count > 2 ? atoll(arguments[2]) : 0,
                  block = count > 3 ? atoll(arguments[3]) : BLOCK;
    if (n < 1 || block < 1) {
        fprintf(stderr,
                "usage: mp_blas ID_FILE N [BLOCK [ROUTINE ...]]; N and BLOCK are 1 or more\n");
        return 2;
    }
    ranks = cards_join(arguments[1]);
    CHECKED(cublasMpCreate(&handle, ranks.stream));
    CHECKED(cublasMpGridCreate(ranks.rows, ranks.columns, CUBLASMP_GRID_LAYOUT_COL_MAJOR,
                               ranks.comm, &grid));
    if (is_asked("pdgemm", count, arguments)) gemm(n, block, false);
    if (is_asked("pzgemm", count, arguments)) gemm((n + 1) / 2, block, true);
    if (is_asked("pdsyrk", count, arguments)) syrk(n, block);
    if (is_asked("pdtrsm", count, arguments)) trsm(n, block);
    CHECKED(cublasMpGridDestroy(grid));
    CHECKED(cublasMpDestroy(handle));
    cards_leave(&ranks);
    return 0;
}
