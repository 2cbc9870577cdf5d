/* slices.cu - operands into planes of balanced digits, and sums of digit products into C. */
#include "../../include/tandem.h"
#include "../crt/finish.h"
#include "../select/fixed_tile.h"
#include "sums.h"

/* A tile is so many elements of k; a thread makes digits of QUAD neighbouring elements at a
 * time. */
enum { THREADS = 256, TILE_K = TD_K_PAD, QUAD = TD_SUBTILE };

/* Blocks of a grid over columns, and over rows. */
enum { MAX_COLUMNS = 8192, MAX_ROW_BLOCKS = 64 };

namespace
{

/* The whole number value 2^shift. */
struct whole {
    int64_t value;
    int shift;
};

/* RN(+-m 2^e); m < 2^53. */
TD_DEVICE whole round_to_whole(bool is_negative, uint64_t m, int e)
{
    const uint64_t magnitude = e < 0 ? td_shift_rounding(m, -e) : m;
    whole w;
    w.value = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    w.shift = max(e, 0);
    return w;
}

/* floor(w 2^-at) modulo 2^32. */
TD_DEVICE int bits_from(whole w, int at)
{
    const int down = at - w.shift;
    if (down < 0) return (int)((uint64_t)w.value << min(-down, 63));
    return (int)(w.value >> min(down, 63));
}

/* A source of elements: components, each a binary floating-point number, whose sum is the
 * element. */
struct from_binary64 {
    using element = double;
    enum { components = 1 };

    TD_DEVICE void round(const element &x, int exponent, whole *w)
    {
        int q;
        const uint64_t bits = td_bits64(x), m = td_significand64(bits, &q);
        w[0] = round_to_whole(bits >> 63 != 0, m, q + exponent);
    }
};

struct from_ts {
    using element = tandem_ts;
    enum { components = 3 };

    TD_DEVICE whole round_part(float x, int exponent)
    {
        const uint32_t bits = td_bits32(x), field = bits >> 23 & 0xff;
        const uint32_t m = (bits & 0x7fffff) | (field ? 0x800000u : 0u);
        return round_to_whole(bits >> 31 != 0, m, (int)(field ? field : 1) - 150 + exponent);
    }

    TD_DEVICE void round(const element &x, int exponent, whole *w)
    {
        w[0] = round_part(x.x, exponent);
        w[1] = round_part(x.y, exponent);
        w[2] = round_part(x.z, exponent);
    }
};

TD_DEVICE void store(int8_t *to, const int *digit)
{
    uint32_t packed = 0;
    TD_UNROLL
    for (int i = 0; i < QUAD; i++) packed |= (uint32_t)(digit[i] & 255) << (8 * i);
    *reinterpret_cast<uint32_t *>(to) = packed;
}

template <class floating> TD_DEVICE void store(floating *to, const int *digit)
{
    td_quad<floating> packed;
    TD_UNROLL
    for (int i = 0; i < QUAD; i++) packed.of[i] = (floating)digit[i];
    *reinterpret_cast<td_quad<floating> *>(to) = packed;
}

/* The digits of QUAD elements, the least significant first. */
template <int components, class digit>
TD_DEVICE void store_digits(const whole (*w)[components], int slices, int bits, digit *to,
                            int64_t step)
{
    const int half = 1 << (bits - 1), mask = (1 << bits) - 1;
    int carry[QUAD] = {};
    TD_UNROLL_N(1)
    for (int p = slices - 1, at = 0; p >= 0; p--, at += bits) {
        int low[QUAD];
        TD_UNROLL
        for (int i = 0; i < QUAD; i++) {
            int sum = carry[i];
            TD_UNROLL
            for (int s = 0; s < components; s++) sum += bits_from(w[i][s], at) & (p ? mask : ~0);
            low[i] = p ? ((sum + half) & mask) - half : sum;
            carry[i] = (sum - low[i]) >> bits;
        }
        store(to + p * step, low);
    }
}

/* Digits of QUAD elements of a line, loaded from memory or from the tile. */
template <class source, class digit>
TD_DEVICE void slice_quad(const td_slices &p, const td_fixed_place &at, td_fixed_quad own,
                          const typename source::element *data,
                          const typename source::element (*tile)[TD_FIXED_LINES + 1])
{
    const td_view &o = p.fixed.operand[at.which];
    const int line = at.line0 + own.line;
    const int64_t l0 = at.in_pass + own.l;
    int scale = 0;
    bool exists = data && line < o.lines;
    if (exists) {
        const td_line *record =
            p.fixed.line[at.which] + at.batch * p.fixed.lines_of_member[at.which] + line;
        scale = record->scale;
        exists = record->low != TD_SPECIAL;
    }
    whole w[QUAD][source::components];
    TD_UNROLL
    for (int i = 0; i < QUAD; i++) {
        const bool inside = exists && l0 + i < at.count;
        typename source::element x = {};
        int shift = 0;
        if (inside) {
            const int64_t l = at.first + l0 + i;
            x = at.along ? td_view_load(o, data, line, l) : tile[own.l + i][own.line];
            if (!p.is_ts && p.fixed.shifted[at.batch]) shift = p.fixed.shift[at.batch * o.k + l];
        }
        source::round(x, scale + (at.which ? -shift : shift), w[i]);
    }
    digit *to = static_cast<digit *>(p.plane[at.which]) + at.batch * p.member_step[at.which] +
                line * p.line_step + l0;
    int slices = p.slices, bits = p.bits;
    if (p.by_data) {
        slices = p.fixed.choice[at.batch].parameter;
        bits = p.fixed.choice[at.batch].bits;
    }
    store_digits<source::components>(w, slices, bits, to, p.slice_step[at.which]);
}

} // namespace

/* Grid: see td_fixed_grid. */
template <class source, class digit>
static __global__ void __launch_bounds__(TD_FIXED_THREADS) slices_kernel(const td_slices p)
{
    TD_SHARED(typename source::element, tile, [TILE_K][TD_FIXED_LINES + 1]);
    const td_fixed_place at = td_fixed_place_of_block(p.fixed, TILE_K);
    const td_view &o = p.fixed.operand[at.which];
    if (at.line0 >= at.padded_lines) return;
    const typename source::element *data = NULL;
    if (td_scalar_value(p.fixed.alpha) != 0.0)
        data = td_member<const typename source::element>(o.matrix, p.fixed.batch_first + at.batch);
    if (data && !at.along) td_load_fixed_tile(o, at, data, tile);
    __syncthreads();
    for (int step = 0; step < td_fixed_steps(TILE_K); step++) {
        const td_fixed_quad own = td_fixed_quad_of_thread<TILE_K>(step, at.along);
        if (at.line0 + own.line < at.padded_lines)
            slice_quad<source, digit>(p, at, own, data, tile);
    }
}

template <class source, class digit>
static cudaError_t slices_launch(const td_slices *p, cudaStream_t stream)
{
    return TD_LAUNCH((slices_kernel<source, digit>), td_fixed_grid(p->fixed, TILE_K),
                     TD_FIXED_THREADS, 0, stream, *p);
}

cudaError_t td_slices_run(const td_slices *p, cudaStream_t stream)
{
    if (p->type == TD_DIGIT_INT8) return slices_launch<from_binary64, int8_t>(p, stream);
    if (p->type == TD_DIGIT_DOUBLE) return slices_launch<from_binary64, double>(p, stream);
    return p->is_ts ? slices_launch<from_ts, float>(p, stream)
                    : slices_launch<from_binary64, float>(p, stream);
}

/* Grid: columns, rows, batch member. */
static dim3 sums_grid(const td_slice_sums *p)
{
    const int64_t row_blocks = (p->ld + THREADS - 1) / THREADS;
    return dim3((unsigned)min(p->n, (int)MAX_COLUMNS),
                (unsigned)min(row_blocks, (int64_t)MAX_ROW_BLOCKS), (unsigned)p->batch);
}

/* Calls work(row, column) for the thread's elements of the planes. */
template <class function> TD_DEVICE void each_sum(const td_slice_sums &p, function work)
{
    for (int64_t j = blockIdx.x; j < p.n; j += gridDim.x)
        for (int64_t i = blockIdx.y * THREADS + threadIdx.x; i < p.ld; i += gridDim.y * THREADS)
            work(i, j);
}

static __global__ void __launch_bounds__(THREADS) carry_kernel(const td_slice_sums p)
{
    int32_t *const sum = td_sums_of_block(p);
    const int half = 1 << (p.bits - 1), mask = (1 << p.bits) - 1;
    each_sum(p, [&](int64_t i, int64_t j) {
        int32_t *const at = sum + i + j * p.ld;
        int64_t carry = 0;
        for (int plane = p.planes - 1; plane > 0; plane--) {
            const int64_t total = at[plane * p.plane_step] + carry;
            const int digit = (int)((total + half) & mask) - half;
            at[plane * p.plane_step] = digit;
            carry = (total - digit) >> p.bits;
        }
        at[0] += (int32_t)carry;
    });
}

cudaError_t td_slices_carry(const td_slice_sums *sums, cudaStream_t stream)
{
    return TD_LAUNCH(carry_kernel, sums_grid(sums), THREADS, 0, stream, *sums);
}

static __global__ void __launch_bounds__(THREADS) clear_kernel(const td_slice_sums p)
{
    int32_t *const sum = td_sums_of_block(p);
    each_sum(p, [&](int64_t i, int64_t j) {
        for (int plane = 0; plane < p.carries; plane++)
            sum[plane * p.plane_step + i + j * p.ld] = 0;
    });
}

cudaError_t td_slices_clear_carries(const td_slice_sums *sums, cudaStream_t stream)
{
    return TD_LAUNCH(clear_kernel, sums_grid(sums), THREADS, 0, stream, *sums);
}

static __global__ void __launch_bounds__(THREADS) add_kernel(const td_slice_products p)
{
    const td_slice_sums &s = p.sums;
    int32_t *const sum = td_sums_of_block(s) + s.carries * s.plane_step;
    const float *const product = p.product + blockIdx.z * p.member_step;
    const int end = p.p_first + p.p_count;
    int reached = 2 * p.slices; /* by products that were added before */
    if (p.is_first) reached = p.p_first > 0 ? p.p_first + p.slices - 1 : 0;
    each_sum(s, [&](int64_t i, int64_t j) {
        for (int weight = p.p_first; weight < end + p.slices - 1; weight++) {
            int32_t *const at = sum + weight * s.plane_step + i + j * s.ld;
            int32_t total = weight < reached ? *at : 0;
            for (int d = max(p.p_first, weight - p.slices + 1); d < min(end, weight + 1); d++)
                total += (int32_t)
                    product[(d - p.p_first) * p.p_step + (weight - d) * p.q_step + i + j * p.ld];
            *at = total;
        }
    });
}

cudaError_t td_slices_add(const td_slice_products *products, cudaStream_t stream)
{
    return TD_LAUNCH(add_kernel, sums_grid(&products->sums), THREADS, 0, stream, *products);
}

/* Grid: tile, 1, batch member. */
template <int limbs>
static __global__ void __launch_bounds__(TD_FINISH_THREADS)
    finish_kernel(const td_slice_sums sums, const td_finish finish)
{
    td_slice_source<limbs> source;
    source.sums = &sums;
    td_finish_tiles<TD_FINISH_ROUND>(finish, source);
}

cudaError_t td_slices_finish(const td_slice_sums *sums, const td_finish *finish,
                             cudaStream_t stream)
{
    const dim3 grid = td_grid_of_tiles(finish->target, 1, sums->batch);
    return td_sums_are_short(sums) ? TD_LAUNCH(finish_kernel<TD_FEW_LIMBS>, grid, TD_FINISH_THREADS,
                                               0, stream, *sums, *finish)
                                   : TD_LAUNCH(finish_kernel<TD_LIMBS>, grid, TD_FINISH_THREADS, 0,
                                               stream, *sums, *finish);
}

cudaError_t td_slices_prepare(td_digit_type type)
{
    cudaError_t error = cudaSuccess;
    if (type == TD_DIGIT_DOUBLE) return td_load(error, slices_kernel<from_binary64, double>);
    error = type == TD_DIGIT_INT8 ? td_load(error, slices_kernel<from_binary64, int8_t>)
                                  : td_load(error, slices_kernel<from_binary64, float>, add_kernel);
    return td_load(error, carry_kernel, clear_kernel, finish_kernel<TD_FEW_LIMBS>,
                   finish_kernel<TD_LIMBS>);
}

cudaError_t td_slices_of_ts_prepare(void)
{
    return td_load(cudaSuccess, slices_kernel<from_ts, float>, carry_kernel, clear_kernel,
                   add_kernel);
}
