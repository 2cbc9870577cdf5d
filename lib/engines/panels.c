#include "panels.h"

#include "part.h"

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

static cudaError_t run_cublas(td_device *device, const td_panels *p, cudaStream_t stream)
{
    return td_cublas_multiply(device, p, stream) ? cudaSuccess : cudaErrorUnknown;
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

/* Tiles of all planes that fill a device several times over, the side of one, and the shortest piece. */
enum { MANY_TILES = 1024, TILE_SIDE = 128, PLANES = 14, MOST_PIECES = 8, LEAST_K = 4096 };

int td_panel_pieces(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    const int64_t tiles = td_ceil_div(m, TILE_SIDE) * td_ceil_div(n, TILE_SIDE) * batch * PLANES;
    const int64_t pieces = td_smaller(MANY_TILES / tiles, k / LEAST_K);
    return (int)(pieces < 1 ? 1 : td_smaller(pieces, MOST_PIECES));
}
