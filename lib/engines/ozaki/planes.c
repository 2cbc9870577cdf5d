#include "planes.h"

#include "../tiler.h"

static bool is_mma(const td_panels *p)
{
    return p->type == TD_PANEL_RESIDUE || p->type == TD_PANEL_LOGARITHM;
}

static bool is_wgmma(const td_panels *p) { return is_mma(p) && td_wgmma_exists(); }
static bool is_cublas(const td_panels *p) { return !is_mma(p); }

static cudaError_t run_wgmma(td_device *device, const td_panels *p, cudaStream_t stream)
{
    (void)device;
    return td_wgmma_run(p, stream);
}

static cudaError_t run_mma(td_device *device, const td_panels *p, cudaStream_t stream)
{
    (void)device;
    return td_mma_run(p, stream);
}

/* Columns of C that cuBLAS makes at a time where C is a triangle. */
enum { TRIANGLE_COLUMNS = 512 };

/* C's columns from `first` on, and of these the rows that the region meets, from a multiple of
 * TD_LINE_GROUP on, which keeps what cuBLAS wants of pointers; of int8 panels. */
static td_panels strip_of(const td_panels *p, int64_t first)
{
    td_panels strip = *p;
    const td_region *const region = &p->region;
    int64_t row = 0, end = p->m;
    strip.n = td_smaller(TRIANGLE_COLUMNS, p->n - first);
    if (region->kind == TD_REGION_LOWER)
        row = td_larger(first - region->below, 0) / TD_LINE_GROUP * TD_LINE_GROUP;
    else
        end = td_round_up(td_larger(first + strip.n - region->below, 0), TD_LINE_GROUP);
    strip.m = td_smaller(end, p->m) - row;
    strip.a = (const int8_t *)p->a + row * p->ld_a;
    strip.b = (const int8_t *)p->b + first * p->ld_b;
    strip.c = (int32_t *)p->c + first * p->ld_c + row;
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

const td_panel_row td_panel_rows[TD_PANEL_ROWS] = {
    {"wgmma", is_wgmma, run_wgmma},
    {"mma", is_mma, run_mma},
    {"cublas", is_cublas, run_cublas},
};

cudaError_t td_panels_prepare(void)
{
    const cudaError_t error = td_mma_prepare();
    return error == cudaSuccess ? td_wgmma_prepare() : error;
}

cudaError_t td_panels_run(td_device *device, const td_panels *panels, cudaStream_t stream)
{
    for (int i = 0; i < TD_PANEL_ROWS; i++)
        if (td_panel_rows[i].suits(panels)) return td_panel_rows[i].run(device, panels, stream);
    return cudaErrorNotSupported;
}

enum { MOST_PIECES = 8, LEAST_K = 4096 };

/* A large device has PLACES for units, the pairs of large tiles of ../../../kernels/igemm/wgmma.cu, of which the end of one and the start of the
 * next take as long as REST elements of k. In the time of an element of k it adds up FOLDED_BYTES of the pieces' residues, and begins to in
 * that of FOLD_BEGINS. */
enum {
    PLACES = 66,
    UNIT_ROWS = 192,
    UNIT_COLUMNS = 256,
    REST = 300,
    FOLDED_BYTES = 6500,
    FOLD_BEGINS = 600
};

/* Time of the products, in that of an element of k of a unit, and of adding up. */
static int64_t time_of_pieces(int64_t m, int64_t n, int64_t k, int64_t batch, int64_t pieces)
{
    const int64_t planes = TD_COMMON_MODULI * batch,
                  units = td_ceil_div(m, UNIT_ROWS) * td_ceil_div(n, UNIT_COLUMNS) * planes,
                  products = td_ceil_div(units * pieces, PLACES) * (k / pieces + REST);
    if (pieces == 1) return products;
    return products + FOLD_BEGINS + pieces * planes * m * n / FOLDED_BYTES;
}

int td_panel_pieces(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    const int most = (int)td_smaller(MOST_PIECES, k / LEAST_K);
    int best = 1;
    int64_t least = time_of_pieces(m, n, k, batch, 1);
    for (int i = 2; i <= most; i++) {
        const int64_t own = time_of_pieces(m, n, k, batch, i);
        if (own >= least) continue;
        least = own;
        best = i;
    }
    return best;
}
