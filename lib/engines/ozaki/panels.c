#include "panels.h"

#include "../tiler.h"

/* Columns of C that cuBLAS makes at a time where C is a triangle. */
enum { TRIANGLE_COLUMNS = 512 };

/* C's columns from `first` on, and of these the rows that the region meets, from a multiple of
 * TD_LINE_GROUP on, which keeps what cuBLAS wants of pointers. */
static td_panels strip_of(const td_panels *p, int64_t first)
{
    const int64_t bytes = p->type == TD_PANEL_INT8 ? 1 : (int64_t)sizeof(float),
                  bytes_of_c = sizeof(int32_t); /* or a float */
    td_panels strip = *p;
    const td_region *const region = &p->region;
    int64_t row = 0, end = p->m;
    strip.n = td_smaller(TRIANGLE_COLUMNS, p->n - first);
    if (region->kind == TD_REGION_LOWER)
        row = (td_larger(first - region->below, 0) << region->row_shift) / TD_LINE_GROUP *
              TD_LINE_GROUP;
    else
        end = td_round_up(td_larger(first + strip.n - region->below, 0) << region->row_shift,
                          TD_LINE_GROUP);
    strip.m = td_smaller(end, p->m) - row;
    strip.a = (const char *)p->a + row * p->layout.ld_a * bytes;
    strip.b = (const char *)p->b + first * p->layout.ld_b * bytes;
    strip.c = (char *)p->c + (first * p->layout.ld_c + row) * bytes_of_c;
    return strip;
}

static cudaError_t run_cublas(td_device *device, const td_panels *p, cudaStream_t stream)
{
    if (p->region.kind == TD_REGION_ALL)
        return td_cublas_multiply(device, p, stream) ? cudaSuccess : cudaErrorUnknown;
    for (int64_t j = 0; j < p->n; j += TRIANGLE_COLUMNS) {
        const td_panels strip = strip_of(p, j);
        if (strip.m > 0 && !td_cublas_multiply(device, &strip, stream)) return cudaErrorUnknown;
    }
    return cudaSuccess;
}

cudaError_t td_panels_prepare(void)
{
    const cudaError_t error = td_mma_prepare();
    return error == cudaSuccess ? td_wgmma_prepare() : error;
}

cudaError_t td_panels_run(td_device *device, const td_panels *panels, cudaStream_t stream)
{
    switch (panels->gemm) {
    case TD_GEMM_WGMMA_LARGE:
    case TD_GEMM_WGMMA_SMALL:
    case TD_GEMM_WGMMA_LARGE_PAIR:
    case TD_GEMM_WGMMA_SMALL_PAIR:
        return td_wgmma_run(panels, stream);
    case TD_GEMM_MMA_WIDE:
    case TD_GEMM_MMA_LARGE:
    case TD_GEMM_MMA_LARGE_SHORT:
    case TD_GEMM_MMA_SMALL:
        return td_mma_run(panels, stream);
    case TD_GEMM_CUBLAS:
        return run_cublas(device, panels, stream);
    }
    return cudaErrorInvalidValue;
}
