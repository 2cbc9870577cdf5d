#include "tools/selftest_speed.h"

#include <cuda_runtime_api.h>

#include "lib/cuda/device.h"
#include "tools/measure.h"

/* Seconds for one figure, at most about. */
static const double budget = 0.3;

static const int64_t sizes[] = {512, 1024, 2048, 4096, 8192}, host_sizes[] = {64};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef struct {
    FILE *out;
    measure *measure;
    const int64_t *sizes;
    int count; /* of the sizes that there is memory for */
    bool is_host;
} table;

static measure_shape square(int64_t n)
{
    return (measure_shape){.m = n, .n = n, .k = n, .batch = 1};
}

/* Three matrices, and what modes keep beside them, which is 60 bytes an element of most modes. */
static int count_sizes(bool is_host)
{
    size_t free_bytes = 0, total = 0;
    int count = 0;
    if (is_host) return 1;
    if (!td_cuda_ok(cudaMemGetInfo(&free_bytes, &total))) return 0;
    while (count < SIZES && sizes[count] * sizes[count] * 90 < (int64_t)free_bytes) count++;
    return count;
}

static void print_heading(const table *t)
{
    fprintf(t->out, "%-20s", "TFLOP/s, N =");
    for (int i = 0; i < t->count; i++) fprintf(t->out, " %8d", (int)t->sizes[i]);
    fprintf(t->out, "\n");
}

/* A row; engine NULL: cuBLAS, as it is set. */
static void print_row(const table *t, const char *name, const td_engine *engine)
{
    const td_parameter parameter = {0};
    fprintf(t->out, "%-20s", name);
    for (int i = 0; i < t->count; i++) {
        const measure_shape shape = square(t->sizes[i]);
        const double n = (double)t->sizes[i],
                     seconds = measure_seconds(t->measure, &shape, engine, parameter, budget);
        if (seconds <= 0.0)
            fprintf(t->out, " %8s", "failed");
        else if (t->is_host)
            fprintf(t->out, " %8s", "-");
        else
            fprintf(t->out, " %8.2f", 2.0 * n * n * n / seconds * 1e-12);
    }
    fprintf(t->out, "\n");
}

/* The host device's cuBLAS has no emulation. */
static void print_emulation(const table *t)
{
    static const char name[] = "cuBLAS's emulation";
    if (t->is_host || !measure_set_emulation(t->measure, true)) {
        fprintf(t->out, "%-20s this cuBLAS has none\n", name);
        return;
    }
    print_row(t, name, NULL);
    (void)measure_set_emulation(t->measure, false);
}

bool selftest_speed(FILE *out, bool is_host)
{
    table t = {out, NULL, is_host ? host_sizes : sizes, count_sizes(is_host), is_host};
    const char *reason = "not enough device memory";
    if (t.count > 0) {
        const measure_shape largest = square(t.sizes[t.count - 1]);
        t.measure = measure_open(measure_size_of(&largest), &reason);
    }
    if (!t.measure) {
        fprintf(out, "nothing was timed: %s\n", reason);
        return false;
    }
    print_heading(&t);
    print_row(&t, "cuBLAS", NULL);
    print_emulation(&t);
    for (const td_engine *const *e = td_engines; *e; e++)
        if ((*e)->run) print_row(&t, (*e)->name, *e);
    measure_close(t.measure);
    return true;
}
