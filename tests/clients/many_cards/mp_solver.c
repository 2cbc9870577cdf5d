/* mp_solver.c - solutions by LU and by Cholesky factors, and eigenvalues, by cuSOLVERMp, on a grid
 * of ranks.
 * usage: mp_solver ID_FILE N [BLOCK]
 * The solution is a vector of ones, as the right-hand side holds the sums of A's rows. Eigenvalues
 * are of order N / 4; their sum and their sum of squares are compared with A's trace and norm. A
 * line of JSON for each, with the median time of factors or eigenvalues, and the error. */
#include "cards.h"

#include <math.h>

#include <cusolverMp.h>

static cards ranks;
static cusolverMpHandle_t handle;
static cusolverMpGrid_t grid;
static int64_t order;

/* Far from singular: the diagonal is larger than what a row adds up to. */
static double _Complex of_general(int64_t i, int64_t j)
{
    return cards_number(i, j, 1) + (i == j ? 4.0 * sqrt((double)order) : 0.0);
}

static double _Complex of_symmetric(int64_t i, int64_t j)
{
    return i < j ? of_general(j, i) : of_general(i, j);
}

/* The matrix whose rows of_sums adds up. */
static element *summed;

static double _Complex of_sums(int64_t i, int64_t j)
{
    long double sum = 0.0L;
    (void)j;
    for (int64_t t = 0; t < order; t++) sum += (long double)creal(summed(i, t));
    return (double)sum;
}

typedef struct {
    spread a, b, q;
    cusolverMpMatrixDescriptor_t of_a, of_b, of_q;
    element *matrix;
    int64_t *pivots;
    double *values;
    int *info;
    void *device, *host;
    size_t device_bytes, host_bytes;
    char jobz[2];
} job;

static cusolverMpMatrixDescriptor_t describe(const spread *s)
{
    cusolverMpMatrixDescriptor_t d;
    CHECKED(cusolverMpCreateMatrixDesc(&d, grid, CUDA_R_64F, s->m, s->n, s->block, s->block, 0, 0,
                                       s->ld));
    return d;
}

/* Memory for the larger of what was asked for so far. */
static void want(job *j, size_t device_bytes, size_t host_bytes)
{
    if (device_bytes > j->device_bytes) j->device_bytes = device_bytes;
    if (host_bytes > j->host_bytes) j->host_bytes = host_bytes;
}

static void find_memory(job *j)
{
    CHECKED(cudaMalloc(&j->device, j->device_bytes + 1));
    CHECKED(!(j->host = malloc(j->host_bytes + 1)));
}

static job job_make(int64_t n, int64_t block, element *matrix)
{
    job j = {.a = spread_make(&ranks, n, n, block, false, matrix), .matrix = matrix, .jobz = "V"};
    order = n;
    spread_set(&ranks, &j.a, matrix);
    j.of_a = describe(&j.a);
    CHECKED(cudaMalloc((void **)&j.pivots, (size_t)(n + block) * sizeof *j.pivots));
    CHECKED(cudaMalloc((void **)&j.values, (size_t)n * sizeof *j.values));
    CHECKED(cudaMalloc((void **)&j.info, sizeof *j.info));
    CHECKED(cudaMemset(j.info, 0, sizeof *j.info));
    return j;
}

static void job_free(job *j)
{
    void *const memory[] = {j->pivots, j->values, j->info, j->device};
    spread *const matrices[] = {&j->a, &j->b, &j->q};
    const cusolverMpMatrixDescriptor_t descriptors[] = {j->of_a, j->of_b, j->of_q};
    for (int i = 0; i < 4; i++) CHECKED(cudaFree(memory[i]));
    free(j->host);
    for (int i = 0; i < 3; i++) {
        if (!matrices[i]->device) continue;
        spread_free(matrices[i]);
        CHECKED(cusolverMpDestroyMatrixDesc(descriptors[i]));
    }
}

/* What the factors have taken the place of. */
static void set_a_again(void *of)
{
    const job *j = of;
    spread_set(&ranks, &j->a, j->matrix);
}

static void check_info(const job *j)
{
    int info = -1;
    CHECKED(cudaMemcpy(&info, j->info, sizeof info, cudaMemcpyDeviceToHost));
    CHECKED(info);
}

/* ---- systems ---- */

static void add_right_hand_side(job *j)
{
    summed = j->matrix;
    j->b = spread_make(&ranks, j->a.m, 1, j->a.block, false, of_sums);
    j->of_b = describe(&j->b);
}

/* How far the solution is from ones, in units of n 2^-53. */
static double error_of_solution(const job *j)
{
    double *x = spread_read(&j->b), worst = 0.0;
    for (int64_t i = 0; i < j->b.rows && j->b.columns > 0; i++)
        if (!(fabs(x[i] - 1.0) <= worst)) worst = fabs(x[i] - 1.0);
    free(x);
    return worst / ((double)j->a.m * 0x1p-53);
}

static void run_getrf(void *of)
{
    job *j = of;
    CHECKED(cusolverMpGetrf(handle, j->a.m, j->a.n, j->a.device, 1, 1, j->of_a, j->pivots,
                            CUDA_R_64F, j->device, j->device_bytes, j->host, j->host_bytes,
                            j->info));
}

static void getrf(int64_t n, int64_t block)
{
    size_t device, host;
    order = n;
    job j = job_make(n, block, of_general);
    add_right_hand_side(&j);
    CHECKED(cusolverMpGetrf_bufferSize(handle, n, n, j.a.device, 1, 1, j.of_a, j.pivots, CUDA_R_64F,
                                       &device, &host));
    want(&j, device, host);
    CHECKED(cusolverMpGetrs_bufferSize(handle, CUBLAS_OP_N, n, 1, j.a.device, 1, 1, j.of_a,
                                       j.pivots, j.b.device, 1, 1, j.of_b, CUDA_R_64F, &device,
                                       &host));
    want(&j, device, host);
    find_memory(&j);
    const double seconds = cards_time(&ranks, run_getrf, set_a_again, &j);
    check_info(&j);
    CHECKED(cusolverMpGetrs(handle, CUBLAS_OP_N, n, 1, j.a.device, 1, 1, j.of_a, j.pivots,
                            j.b.device, 1, 1, j.of_b, CUDA_R_64F, j.device, j.device_bytes, j.host,
                            j.host_bytes, j.info));
    CHECKED(cudaStreamSynchronize(ranks.stream));
    cards_tell(&ranks, "pdgetrf", n, seconds, 2.0 / 3.0 * pow((double)n, 3.0),
               error_of_solution(&j));
    job_free(&j);
}

static void run_potrf(void *of)
{
    job *j = of;
    CHECKED(cusolverMpPotrf(handle, CUBLAS_FILL_MODE_LOWER, j->a.n, j->a.device, 1, 1, j->of_a,
                            CUDA_R_64F, j->device, j->device_bytes, j->host, j->host_bytes,
                            j->info));
}

static void potrf(int64_t n, int64_t block)
{
    size_t device, host;
    order = n;
    job j = job_make(n, block, of_symmetric);
    add_right_hand_side(&j);
    CHECKED(cusolverMpPotrf_bufferSize(handle, CUBLAS_FILL_MODE_LOWER, n, j.a.device, 1, 1, j.of_a,
                                       CUDA_R_64F, &device, &host));
    want(&j, device, host);
    CHECKED(cusolverMpPotrs_bufferSize(handle, CUBLAS_FILL_MODE_LOWER, n, 1, j.a.device, 1, 1,
                                       j.of_a, j.b.device, 1, 1, j.of_b, CUDA_R_64F, &device,
                                       &host));
    want(&j, device, host);
    find_memory(&j);
    const double seconds = cards_time(&ranks, run_potrf, set_a_again, &j);
    check_info(&j);
    CHECKED(cusolverMpPotrs(handle, CUBLAS_FILL_MODE_LOWER, n, 1, j.a.device, 1, 1, j.of_a,
                            j.b.device, 1, 1, j.of_b, CUDA_R_64F, j.device, j.device_bytes, j.host,
                            j.host_bytes, j.info));
    CHECKED(cudaStreamSynchronize(ranks.stream));
    cards_tell(&ranks, "pdpotrf", n, seconds, 1.0 / 3.0 * pow((double)n, 3.0),
               error_of_solution(&j));
    job_free(&j);
}

/* ---- eigenvalues ---- */

static void run_syevd(void *of)
{
    job *j = of;
    CHECKED(cusolverMpSyevd(handle, j->jobz, CUBLAS_FILL_MODE_LOWER, j->a.n, j->a.device, 1, 1,
                            j->of_a, j->values, j->q.device, 1, 1, j->of_q, CUDA_R_64F, j->device,
                            j->device_bytes, j->host, j->host_bytes, j->info));
}

/* How far sum and sum of squares are from trace and norm, in units of n 2^-53 of the norm. */
static double error_of_eigenvalues(const job *j)
{
    const int64_t n = j->a.n;
    double *values = malloc((size_t)n * sizeof *values);
    long double trace = 0.0L, squares = 0.0L, sum = 0.0L, sum_of_squares = 0.0L;
    CHECKED(!values);
    CHECKED(cudaMemcpy(values, j->values, (size_t)n * sizeof *values, cudaMemcpyDeviceToHost));
    for (int64_t c = 0; c < n; c++)
        for (int64_t r = c; r < n; r++) {
            const long double x = (long double)creal(j->matrix(r, c));
            trace += r == c ? x : 0.0L;
            squares += r == c ? x * x : 2.0L * x * x;
        }
    for (int64_t i = 0; i < n; i++) {
        sum += (long double)values[i];
        sum_of_squares += (long double)values[i] * (long double)values[i];
    }
    free(values);
    const long double norm = sqrtl(squares), of_sum = fabsl(sum - trace) / norm,
                      of_norm = fabsl(sqrtl(sum_of_squares) - norm) / norm;
    return (double)(of_sum > of_norm ? of_sum : of_norm) / ((double)n * 0x1p-53);
}

static void syevd(int64_t n, int64_t block)
{
    order = n;
    job j = job_make(n, block, of_symmetric);
    j.q = spread_make(&ranks, n, n, block, false, NULL);
    j.of_q = describe(&j.q);
    CHECKED(cusolverMpSyevd_bufferSize(handle, j.jobz, CUBLAS_FILL_MODE_LOWER, n, j.a.device, 1, 1,
                                       j.of_a, j.values, j.q.device, 1, 1, j.of_q, CUDA_R_64F,
                                       &j.device_bytes, &j.host_bytes));
    find_memory(&j);
    const double seconds = cards_time(&ranks, run_syevd, set_a_again, &j);
    check_info(&j);
    cards_tell(&ranks, "pdsyevd", n, seconds, 9.0 * pow((double)n, 3.0), error_of_eigenvalues(&j));
    job_free(&j);
}

int main(int count, char **arguments)
{
    const int64_t n = count > 2 ? atoll(arguments[2]) : 0,
                  block = count > 3 ? atoll(arguments[3]) : 512;
    if (n < 4 || block < 1) {
        fprintf(stderr, "usage: mp_solver ID_FILE N [BLOCK]; N is 4 or more, BLOCK 1 or more\n");
        return 2;
    }
    ranks = cards_join(arguments[1]);
    int device;
    CHECKED(cudaGetDevice(&device));
    CHECKED(cusolverMpCreate(&handle, device, ranks.stream));
    CHECKED(cusolverMpCreateDeviceGrid(handle, &grid, ranks.comm, ranks.rows, ranks.columns,
                                       CUSOLVERMP_GRID_MAPPING_COL_MAJOR));
    getrf(n, block);
    potrf(n, block);
    syevd(n / 4, block);
    CHECKED(cusolverMpDestroyGrid(grid));
    CHECKED(cusolverMpDestroy(handle));
    cards_leave(&ranks);
    return 0;
}
