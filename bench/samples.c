#include "samples.h"

#include <stdlib.h>

#include "../examples/common.h"

enum { SAMPLES = 24 };

static data_lines some(int64_t size) { return (data_lines){size, SAMPLES}; }
static data_lines all(int64_t size) { return (data_lines){size, size}; }

/* Sampled elements in host memory, to be freed; NULL, with a message, if that fails. */
static double *fetch(data_type type, const void *matrix, data_lines rows, data_lines columns)
{
    const size_t bytes =
        sizeof(double) * DATA_PARTS * (size_t)(data_sampled(rows) * data_sampled(columns));
    double *parts = malloc(bytes), *on_device = NULL;
    bool fetched = false;
    if (!parts) complain("no memory for samples");
    if (!parts) goto out;
    CHECK_CUDA(cudaMalloc((void **)&on_device, bytes));
    CHECK_CUDA(data_sample(type, matrix, rows, columns, on_device));
    CHECK_CUDA(cudaMemcpy(parts, on_device, bytes, cudaMemcpyDeviceToHost));
    fetched = true;
out:
    cudaFree(on_device);
    if (!fetched) free(parts);
    return fetched ? parts : NULL;
}

exact_product *samples_multiply(data_type type, int64_t m, int64_t n, int64_t k, const void *a,
                                const void *b)
{
    double *x = fetch(type, a, some(m), all(k)), *y = fetch(type, b, all(k), some(n));
    exact_product *e = NULL;
    if (x && y) {
        e = exact_make(data_sampled(some(m)), data_sampled(some(n)), k, x, y);
        if (!e) complain("no memory for exact sums");
    }
    free(x);
    free(y);
    return e;
}

bool samples_update(exact_product *e, double alpha, double beta, data_type type, int64_t m,
                    int64_t n, const void *c0)
{
    double *parts = fetch(type, c0, some(m), some(n));
    if (!parts) return false;
    exact_update(e, alpha, beta, parts);
    free(parts);
    return true;
}

bool samples_compare(const exact_product *e, data_type type, int64_t m, int64_t n, const void *c,
                     exact_errors *errors)
{
    double *parts = fetch(type, c, some(m), some(n));
    if (!parts) return false;
    *errors = exact_compare(e, parts);
    free(parts);
    return true;
}
