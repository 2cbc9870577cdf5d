/* unfold.cu - writes factors out as plain real lines. A block has a tile of SIDE lines by SIDE
 * elements, which it reads along the columns of the stored matrix and writes along k. */
#include "folded.h"

enum { SIDE = 32, ROWS = 8 };

struct tile {
    td_term of[SIDE][SIDE + 1]; /* [element of the line][line] */
};

/* Row and column of op(X) that element l of a line is. */
TD_DEVICE td_term load(const td_unfold &u, const td_folded &x, const void *data, int64_t line,
                       int64_t l)
{
    return u.has_rows ? td_folded_load(x, data, line, l) : td_folded_load(x, data, l, line);
}

/* True if neighbouring lines are neighbours in memory, where most of the tile at (line, l) is. */
TD_DEVICE bool lines_are_neighbours(const td_unfold &u, const td_folded &x, int64_t line, int64_t l)
{
    const bool as_stored = u.has_rows != x.is_transposed;
    if (x.form.storage != TD_STORED_MIRRORED) return as_stored;
    const int64_t row = as_stored ? line : l, column = as_stored ? l : line;
    return as_stored != td_is_mirrored(x.form, row, column);
}

/* Grid: tiles of lines by tiles of k, part, batch member. */
static __global__ void unfold_kernel(TD_PARAMETER td_unfold u)
{
    TD_SHARED(tile, tile_of_block, );
    const td_folded &x = u.part[blockIdx.y];
    const int64_t down = (u.lines + SIDE - 1) / SIDE,
                  line0 = (int64_t)(blockIdx.x % (unsigned)down) * SIDE,
                  l0 = (int64_t)(blockIdx.x / (unsigned)down) * SIDE;
    const void *const data = td_folded_member(x, u.batch_first + blockIdx.z);
    const td_term scalar = td_complex_scalar(u.scalar, u.scalar_is_real);
    if (td_is_made(u.verdict) || (scalar.re == 0.0 && scalar.im == 0.0)) return;
    const bool by_line = lines_are_neighbours(u, x, line0, l0);
    const int inner = (int)threadIdx.x % SIDE, outer = (int)threadIdx.x / SIDE;
    for (int s = outer; s < SIDE; s += ROWS) {
        const int i = by_line ? inner : s, e = by_line ? s : inner;
        if (line0 + i < u.lines && l0 + e < u.k)
            tile_of_block.of[e][i] = load(u, x, data, line0 + i, l0 + e);
    }
    __syncthreads();
    const int64_t l = l0 + inner;
    if (l >= u.k) return;
    const bool is_complex = x.is_complex, has_blocks = is_complex && u.has_blocks;
    const int64_t at = (is_complex ? 2 : 1) * ((int64_t)blockIdx.y * u.k + l);
    double *const to = td_member<double>(u.to, blockIdx.z) + at;
    for (int i = outer; i < SIDE && line0 + i < u.lines; i += ROWS) {
        const td_term t = tile_of_block.of[inner][i];
        double *const row = to + (line0 + i) * (has_blocks ? 2 : 1) * u.to.ld;
        if (!is_complex) {
            *row = t.re;
            continue;
        }
        *reinterpret_cast<td_term *>(row) = has_blocks ? td_conjugate(t) : t;
        if (has_blocks) *reinterpret_cast<td_term *>(row + u.to.ld) = td_term_of(t.im, t.re);
    }
}

cudaError_t td_unfold_run(const td_unfold *u, int batch, cudaStream_t stream)
{
    const int64_t tiles = ((u->lines + SIDE - 1) / SIDE) * ((u->k + SIDE - 1) / SIDE);
    if (u->lines > TD_UNFOLD_MOST || u->k > TD_UNFOLD_MOST || tiles > 0x7fffffff)
        return cudaErrorInvalidValue;
    if (tiles == 0) return cudaSuccess;
    const dim3 grid((unsigned)tiles, (unsigned)u->parts, (unsigned)batch);
    return TD_LAUNCH(unfold_kernel, grid, SIDE * ROWS, 0, stream, *u);
}

/* ---- a triangle's zeros beside infinities ---- */

enum { THREADS = 256 };

/* The sum of line i of the triangle times a line of the other factor, in ascending order of the
 * terms in the triangle. */
TD_DEVICE double sum_of(const td_triangle_specials &s, const double *own, const double *other,
                        int64_t i, int64_t j)
{
    const int64_t diagonal = i >> s.line_shift << s.term_shift, first = s.is_lower ? 0 : diagonal,
                  end = s.is_lower ? diagonal + (1 << s.term_shift) : s.triangle.k;
    double sum = 0.0;
    for (int64_t l = first; l < end; l++)
        sum = td_fma64(td_view_load(s.triangle, own, (int)i, l),
                       td_view_load(s.other, other, (int)j, l), sum);
    return sum;
}

/* Grid: blocks over lines of the other factor, 1, batch member. */
static __global__ void specials_kernel(TD_PARAMETER td_triangle_specials s)
{
    const int64_t member = s.batch_first + blockIdx.z;
    const double alpha = td_scalar_value(s.alpha);
    const double *const own = td_member<double>(s.triangle.matrix, member), *const other =
                                                                                td_member<double>(
                                                                                    s.other.matrix,
                                                                                    member);
    double *const c = td_member<double>(s.c, member);
    if (alpha == 0.0 || td_is_made(s.verdict)) return;
    for (int64_t j = blockIdx.x; j < s.other.lines; j += gridDim.x) {
        int is_special = 0;
        for (int64_t l = threadIdx.x; l < s.other.k; l += blockDim.x)
            is_special |= !td_is_finite64(td_bits64(td_view_load(s.other, other, (int)j, l)));
        if (!__syncthreads_or(is_special)) continue;
        for (int64_t i = threadIdx.x; i < s.triangle.lines; i += blockDim.x) {
            const int64_t at = s.is_left ? i + j * s.c.ld : j + i * s.c.ld;
            c[at] = td_mul64(alpha, sum_of(s, own, other, i, j));
        }
    }
}

cudaError_t td_triangle_specials_run(const td_triangle_specials *s, int batch, cudaStream_t stream)
{
    const dim3 grid((unsigned)min((int)s->other.lines, 8192), 1, (unsigned)batch);
    return TD_LAUNCH(specials_kernel, grid, THREADS, 0, stream, *s);
}

cudaError_t td_unfold_prepare(void) { return td_load(cudaSuccess, unfold_kernel, specials_kernel); }
