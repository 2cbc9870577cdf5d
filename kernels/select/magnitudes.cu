/* magnitudes.cu - the int8 magnitudes of both operands, whose product is the estimate
 * (estimate.h). */
#include "estimate.h"
#include "magnitudes.h"

namespace
{

/* Where a line's magnitudes of a pass go. */
TD_DEVICE int8_t *plane_of(const td_magnitudes &p, const td_fixed_place &at, int line)
{
    const int place = at.which ? line : td_place_of_line(line);
    return p.plane[at.which] + ((int64_t)at.batch * at.padded_lines + place) * p.k_padded;
}

/* The magnitudes of TD_FIXED_LINES lines, every step-th tile along k. */
TD_DEVICE void store_lines(const td_magnitudes &p, td_fixed_place at, int64_t step)
{
    const bool is_shifted = p.fixed.shifted[at.batch] != 0;
    int exponents[OWN_LINES] = {};
    TD_UNROLL
    for (int i = 0; i < OWN_LINES; i++)
        if (at.along || i == 0)
            exponents[i] = exponent_of(p.fixed, at, at.line0 + own_line(at.along) + i);
    TD_ROLLED
    for (; at.in_pass < p.k_padded; at.in_pass += step) {
        own_numbers x;
        load_numbers(p.fixed, at, x);
        const bool any =
            store_magnitudes(p.fixed, p.k_padded, at, exponents, is_shifted, x,
                             [&](int line, int64_t l) { return plane_of(p, at, line) + l; });
        if (p.nonzero[0] && __syncthreads_or(any) && threadIdx.x == 0) mark_nonzero(p, at);
    }
}

} // namespace

/* Grid: see td_fixed_grid; where that is many blocks, each has several tiles along k, then several
 * along lines: mostly there is nothing to do. */
enum { MOST_BLOCKS = 1 << 9 };
static __global__ void __launch_bounds__(TD_FIXED_THREADS, 4)
    magnitudes_kernel(TD_PARAMETER td_magnitudes p)
{
    td_begin_kernel();
    td_fixed_place at = td_fixed_place_of_block(p.fixed, TILE_K);
    const int64_t step = (int64_t)gridDim.x * TILE_K;
    const td_view &o = p.fixed.operand[at.which];
    at.padded_lines = td_padded_lines(o.lines, at.which);
    if (td_scalar_value(p.fixed.alpha) == 0.0 || !td_wants_estimate(&p.fixed.choice[at.batch]))
        return;
    TD_ROLLED
    for (; at.line0 < at.padded_lines; at.line0 += (int)gridDim.y * TD_FIXED_LINES)
        store_lines(p, at, step);
}

cudaError_t td_magnitudes_run(const td_magnitudes *p, cudaStream_t stream)
{
    td_fixed padded = p->fixed;
    padded.k_count = p->k_padded;
    for (int o = 0; o < 2; o++)
        padded.operand[o].lines = td_padded_lines(padded.operand[o].lines, o);
    dim3 grid = td_fixed_grid(padded, TILE_K);
    grid.x = min(grid.x, max(1u, MOST_BLOCKS / (grid.y * grid.z)));
    grid.y = min(grid.y, max(1u, MOST_BLOCKS / grid.z));
    return TD_LAUNCH_NEXT(magnitudes_kernel, grid, TD_FIXED_THREADS, 0, stream, *p);
}

cudaError_t td_magnitudes_prepare(void) { return td_load(cudaSuccess, magnitudes_kernel); }
