/* panel_clocks - what the panels of LU, and the leaves of QR, take their time for: kernels with
 * marks (kernels/device/marks.h) run on random matrices, and the first thread of the first block
 * says how many clocks it has spent up to each mark.
 *
 * Usage: panel_clocks
 *
 * Prints CSV: of every routine, type and number of rows, by the name of the mark, clocks a column,
 * or clocks a panel (of QR: a leaf) where a mark comes once for all of its columns. A mark itself
 * takes some of them. Takes a few seconds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "panel_clocks.h"

enum { MOST_ROWS = 32768, MOST_COLUMNS = 128, RUNS = 5 };
static const int row_counts[] = {256, 1024, 2048, 4096, 8192, 16384, 32768};
static const size_t work_bytes = (size_t)1 << 28;

static void require(bool is_done, const char *what)
{
    if (is_done) return;
    fprintf(stderr, "panel_clocks: %s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
    exit(1);
}

/* Between -1 and 1. */
static void fill(double *x, size_t count)
{
    uint64_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = (double)(int64_t)state * 0x1p-63;
    }
}

/* Two real numbers for each element of a panel. */
typedef struct {
    double *source, *a;
    void *work;
} device_memory;

static void run(const clocked *of, bool is_complex, int rows, const device_memory *m)
{
    const size_t bytes = (size_t)rows * MOST_COLUMNS * 2 * sizeof(double);
    require(cudaMemcpy(m->a, m->source, bytes, cudaMemcpyDeviceToDevice) == cudaSuccess, "copy");
    require(of->run(is_complex, rows, m->a, m->work), of->routine);
    require(cudaDeviceSynchronize() == cudaSuccess, of->routine);
}

static unsigned long long sum_of(const unsigned long long *x, int count)
{
    unsigned long long sum = 0;
    for (int i = 0; i < count; i++) sum += x[i];
    return sum;
}

/* The run of the fewest clocks counts, after one that warms up. */
static void measure(const clocked *of, bool is_complex, int rows, const device_memory *m)
{
    unsigned long long clocks[MOST_NAMES], best[MOST_NAMES] = {0};
    for (int i = 0; i <= RUNS; i++) {
        require(of->take(clocks), "clocks");
        run(of, is_complex, rows, m);
        require(of->take(clocks), "clocks");
        if (i == 1 || (i > 1 && sum_of(clocks, of->names) < sum_of(best, of->names)))
            memcpy(best, clocks, sizeof best);
    }
    const int columns = of->columns(is_complex, rows);
    for (int i = 1; i < of->names; i++)
        printf("%s,%s,%d,%d,%s a %s,%.0f\n", of->routine, is_complex ? "complex" : "real", rows,
               columns, of->name[i], of->of_column[i] ? "column" : "panel",
               (double)best[i] / (of->of_column[i] ? columns : 1));
}

int main(void)
{
    const size_t count = (size_t)MOST_ROWS * MOST_COLUMNS * 2;
    device_memory m = {0};
    double *host = malloc(count * sizeof *host);
    require(host != NULL, "memory");
    fill(host, count);
    require(cudaMalloc((void **)&m.source, count * sizeof *host) == cudaSuccess, "memory");
    require(cudaMalloc((void **)&m.a, count * sizeof *host) == cudaSuccess, "memory");
    require(cudaMalloc(&m.work, work_bytes) == cudaSuccess, "memory");
    require(cudaMemset(m.work, 0, work_bytes) == cudaSuccess, "memory");
    require(cudaMemcpy(m.source, host, count * sizeof *host, cudaMemcpyHostToDevice) == cudaSuccess,
            "copy");
    printf("routine,type,rows,columns,what,clocks\n");
    const clocked *const all[] = {&clocked_lu, &clocked_qr};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int is_complex = 0; is_complex < 2; is_complex++)
            for (size_t k = 0; k < sizeof row_counts / sizeof *row_counts; k++)
                measure(all[i], is_complex, row_counts[k], &m);
    return 0;
}
