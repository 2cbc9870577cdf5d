/* summa.c - C = A B of N x N matrices on a grid of MPI ranks, each with a device or a share of one,
 * by the SUMMA algorithm (van de Geijn and Watts, 1997): an ordinary cuBLAS program. Panels travel
 * through host memory, so that any MPI will do. Rank 0 prints a line; its error is the largest
 * |C - exact| / (|A| |B|) of SAMPLES elements of each rank.
 *
 * usage: summa N PANEL    N: a multiple of PANEL times either side of the grid */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 64 };

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "summa: line %d: %s\n", __LINE__, #condition);                         \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

/* This process's place in the grid, and its block of each matrix: elements from (i0, j0) on, by
 * columns. */
typedef struct {
    int n, panel, ranks, rank, rows, columns, row, column; /* of the grid */
    int height, width, i0, j0;                             /* of the block */
    MPI_Comm of_row, of_column;                            /* the ranks beside, above and below */
} grid;

/* Element (i, j) of A (which = 0) or B, in [-1, 1): from SplitMix64 (Steele, Lea, Flood 2014). */
static double element(int which, int64_t i, int64_t j)
{
    uint64_t z = ((uint64_t)(2 * i + which) << 32 ^ (uint64_t)j) + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return ldexp((double)(int64_t)(z ^ z >> 31), -63);
}

static void make_grid(grid *g)
{
    int sides[2] = {0, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &g->ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &g->rank);
    MPI_Dims_create(g->ranks, 2, sides);
    g->rows = sides[0];
    g->columns = sides[1];
    REQUIRE(g->n > 0 && g->panel > 0 && g->n % (g->panel * g->rows) == 0 &&
            g->n % (g->panel * g->columns) == 0);
    g->row = g->rank / g->columns;
    g->column = g->rank % g->columns;
    g->height = g->n / g->rows;
    g->width = g->n / g->columns;
    g->i0 = g->row * g->height;
    g->j0 = g->column * g->width;
    MPI_Comm_split(MPI_COMM_WORLD, g->row, g->column, &g->of_row);
    MPI_Comm_split(MPI_COMM_WORLD, g->column, g->row, &g->of_column);
}

/* The ranks of one machine take its devices in turn. */
static void choose_device(void)
{
    MPI_Comm machine;
    int rank, devices = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &rank);
    REQUIRE(!cudaGetDeviceCount(&devices) && devices > 0 && !cudaSetDevice(rank % devices));
    MPI_Comm_free(&machine);
}

static double *host_numbers(int rows, int columns)
{
    double *numbers = malloc(sizeof *numbers * (size_t)rows * (size_t)columns);
    REQUIRE(numbers);
    return numbers;
}

static double *device_numbers(int rows, int columns)
{
    double *numbers = NULL;
    REQUIRE(!cudaMalloc((void **)&numbers, sizeof *numbers * (size_t)rows * (size_t)columns));
    return numbers;
}

/* The part of A or B from element (i0, j0) on. */
static void fill(double *part, int which, int rows, int columns, int i0, int j0)
{
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) *part++ = element(which, i0 + i, j0 + j);
}

/* Columns of A from l on, as their owner sends them to the other ranks of its row of the grid. */
static void send_columns(const grid *g, int l, double *columns)
{
    const int owner = l / g->width;
    if (owner == g->column) fill(columns, 0, g->height, g->panel, g->i0, l);
    MPI_Bcast(columns, g->height * g->panel, MPI_DOUBLE, owner, g->of_row);
}

/* Rows of B from l on, as their owner sends them to the other ranks of its column of the grid. */
static void send_rows(const grid *g, int l, double *rows)
{
    const int owner = l / g->height;
    if (owner == g->row) fill(rows, 1, g->panel, g->width, l, g->j0);
    MPI_Bcast(rows, g->panel * g->width, MPI_DOUBLE, owner, g->of_column);
}

static void upload(double *device, const double *host, int rows, int columns)
{
    REQUIRE(!cudaMemcpy(device, host, sizeof *host * (size_t)rows * (size_t)columns,
                        cudaMemcpyHostToDevice));
}

/* This rank's block of C, on the host. */
static double *multiply(const grid *g)
{
    double *const a = host_numbers(g->height, g->panel),
                  *const b = host_numbers(g->panel, g->width),
                  *const c = host_numbers(g->height, g->width);
    double *const on_a = device_numbers(g->height, g->panel),
                  *const on_b = device_numbers(g->panel, g->width),
                  *const on_c = device_numbers(g->height, g->width);
    cublasHandle_t handle;
    REQUIRE(!cublasCreate(&handle));
    for (int l = 0; l < g->n; l += g->panel) {
        const double one = 1.0, beta = l > 0;
        send_columns(g, l, a);
        send_rows(g, l, b);
        upload(on_a, a, g->height, g->panel);
        upload(on_b, b, g->panel, g->width);
        REQUIRE(!cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, g->height, g->width, g->panel, &one,
                             on_a, g->height, on_b, g->panel, &beta, on_c, g->height));
    }
    REQUIRE(!cudaMemcpy(c, on_c, sizeof *c * (size_t)g->height * (size_t)g->width,
                        cudaMemcpyDeviceToHost));
    REQUIRE(!cublasDestroy(handle) && !cudaFree(on_a) && !cudaFree(on_b) && !cudaFree(on_c));
    free(a);
    free(b);
    return c;
}

/* The largest error of the samples, spread over the block; NaN if one is NaN. */
static double error_of(const grid *g, const double *c)
{
    double worst = 0.0;
    for (int64_t s = 0; s < SAMPLES; s++) {
        const int64_t at = s * ((int64_t)g->height * g->width - 1) / (SAMPLES - 1),
                      i = at % g->height, j = at / g->height;
        long double sum = 0.0L, size = 0.0L;
        for (int64_t l = 0; l < g->n; l++) {
            const long double term =
                (long double)element(0, g->i0 + i, l) * element(1, l, g->j0 + j);
            sum += term;
            size += fabsl(term);
        }
        const double error = (double)(fabsl(c[at] - sum) / size);
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

int main(int argc, char **argv)
{
    grid g = {.n = argc == 3 ? atoi(argv[1]) : 0, .panel = argc == 3 ? atoi(argv[2]) : 0};
    MPI_Init(&argc, &argv);
    make_grid(&g);
    choose_device();
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    double *const c = multiply(&g);
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - start;
    double error = error_of(&g, c), worst = 0.0;
    MPI_Reduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (g.rank == 0)
        printf("%d x %d ranks, n = %d, panels of %d: %.3f s, error %.2e\n", g.rows, g.columns, g.n,
               g.panel, seconds, worst);
    free(c);
    MPI_Finalize();
    return 0;
}
