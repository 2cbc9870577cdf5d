/* split_wide.cu - operands into residues modulo TD_SECOND_MODULI moduli, for dense tiles; split.cu
 * makes those of fewer, faster. */
#include "../device/async_copy.h"
#include "split.h"
#include "tables_wide.h"
#include "../select/fixed_tile.h"
#include "pieces.h"

/* A tile is so many elements of k; a thread makes residues of RUN neighbouring elements, RUNS
 * threads those of a line: their stores fill lines of the caches. */
enum { TILE_K = 128, LINES = 16, RUN = 8, RUNS = TILE_K / RUN, THREADS = LINES * RUNS };

struct alignas(RUN) run_of_residues {
    uint32_t of[RUN / 4];
};

/* RN(x 2^exponent) + 2^TD_SECOND_OFFSET. */
TD_DEVICE void to_words(uint64_t bits, int exponent, uint32_t (&word)[TD_SECOND_WORDS])
{
    int q;
    const uint64_t x = td_significand64(bits, &q);
    const int h = q + exponent; /* less than 32 TD_SECOND_WORDS - 53 */
    const uint64_t m = h < 0 ? td_shift_rounding(x, -h) : x;
    const int64_t sign = -(int64_t)(bits >> 63);
    int64_t carry = 0;
    TD_UNROLL
    for (int i = 0; i < TD_SECOND_WORDS; i++) {
        const int up = max(h, 0) - 32 * i; /* m 2^up: its last word */
        const uint64_t part = up >= 0 ? m << min(up, 63) : m >> min(-up, 63);
        const uint32_t own = up < 32 ? (uint32_t)part : 0u;
        carry += ((int64_t)own ^ sign) - sign;
        if (i == TD_SECOND_OFFSET / 32) carry += 1ll << (TD_SECOND_OFFSET % 32);
        word[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* The residues of four numbers as bytes. */
TD_DEVICE uint32_t residues_of(const uint32_t (*word)[TD_SECOND_WORDS],
                               const td_second_weights &weights, const td_modulus &modulus)
{
    uint32_t r[4];
    TD_UNROLL
    for (int i = 0; i < 4; i++) {
        uint32_t sum = weights.start;
        TD_UNROLL
        for (int w = 0; w < TD_SECOND_WORDS; w++) sum = __dp4a(word[i][w], weights.word[w], sum);
        r[i] = td_residue_of(sum, modulus.inverse, modulus.minus_p);
    }
    return td_lowest_bytes(r);
}

/* Makes the residues of RUN elements modulo all moduli. */
template <int which>
TD_DEVICE void store_residues(const uint64_t *bits, const int *exponent, int8_t *at, int64_t step)
{
    uint32_t word[RUN][TD_SECOND_WORDS];
    TD_UNROLL
    for (int i = 0; i < RUN; i++) to_words(bits[i], exponent[i], word[i]);
    TD_UNROLL_N(1)
    for (int t = 0; t < TD_SECOND_MODULI; t++, at += step) {
        const td_second_weights &weights = which ? td_second_table.b[t] : td_second_table.a[t];
        run_of_residues residues;
        TD_UNROLL
        for (int i = 0; i < RUN / 4; i++)
            residues.of[i] = residues_of(word + 4 * i, weights, td_second_table.modulus[t]);
        *reinterpret_cast<run_of_residues *>(at) = residues;
    }
}

/* Where element l of a line of the tile is in shared memory: neighbouring lines have the same l in
 * different banks, and so have all runs of a line. */
TD_DEVICE int place_in_tile(int line, int l)
{
    const int banks = 16; /* of 8 bytes */
    static_assert(2 * RUN == 16, "two runs fill them");
    return line * TILE_K + (l ^ (((l / banks) ^ line) % RUN + (line & RUN)));
}

/* False if a member has no moduli. */
TD_DEVICE bool has_residues(const td_residues &p, int batch)
{
    return p.fixed.choice[batch].parameter != 0;
}

/* Starts the copies of a tile; zeros past the ends. Neighbouring threads read neighbouring
 * memory. */
TD_DEVICE void copy_tile(const td_residues &p, const td_fixed_place &at, double *tile)
{
    const td_view &o = p.fixed.operand[at.which];
    const double *data = td_member<const double>(o.matrix, p.fixed.batch_first + at.batch);
    const int tid = (int)threadIdx.x, inner_size = at.along ? (int)TILE_K : (int)LINES;
    const int inner = tid % inner_size, outer = tid / inner_size, apart = THREADS / inner_size;
    const int64_t step = apart * (at.along ? o.line_step : o.k_step);
    const int lines = o.lines - at.line0;
    const int64_t elements = at.count - at.in_pass;
    const double *from = data + td_view_at(o, at.line0 + (at.along ? outer : inner),
                                           at.first + at.in_pass + (at.along ? inner : outer));
    TD_UNROLL
    for (int i = 0; i < RUN; i++) {
        const int line = at.along ? outer + i * apart : inner,
                  l = at.along ? inner : outer + i * apart;
        const bool inside = line < lines && l < elements;
        td_async_copy_inside<8>(&tile[place_in_tile(line, l)], inside ? from + i * step : data,
                                inside);
    }
}

/* Makes and stores the residues of RUN elements of a line. */
TD_DEVICE void store_run(const td_residues &p, const td_fixed_place &at, const double *tile)
{
    const td_view &o = p.fixed.operand[at.which];
    const int own_line = (int)threadIdx.x / RUNS, own_l = (int)threadIdx.x % RUNS * RUN;
    const int line = at.line0 + own_line, place = at.which ? line : td_place_of_line(line);
    const int64_t in_pass = at.in_pass + own_l, l = at.first + in_pass;
    const int64_t k_padded = (at.count + TD_K_PAD - 1) / TD_K_PAD * TD_K_PAD;
    if (line >= at.padded_lines || in_pass >= k_padded) return;
    td_line record = {0, 0, 0, 0, 0, TD_SPECIAL, 0};
    if (line < o.lines)
        record = p.fixed.line[at.which][at.batch * p.fixed.lines_of_member[at.which] + line];
    const int16_t *shifts = p.fixed.shifted[at.batch] ? p.fixed.shift + at.batch * o.k + l : NULL;
    uint64_t bits[RUN];
    int exponent[RUN];
    TD_UNROLL
    for (int i = 0; i < RUN; i++) {
        const int shift = shifts && in_pass + i < at.count ? shifts[i] : 0;
        exponent[i] = record.scale + (at.which ? -shift : shift);
        bits[i] =
            record.low == TD_SPECIAL ? 0 : td_bits64(tile[place_in_tile(own_line, own_l + i)]);
    }
    int8_t *to =
        p.plane[at.which] + ((int64_t)at.batch * at.padded_lines + place) * k_padded + in_pass;
    if (at.which)
        store_residues<1>(bits, exponent, to, p.plane_step[1]);
    else
        store_residues<0>(bits, exponent, to, p.plane_step[0]);
}

/* Tiles of both operands of all members: along k first. */
namespace
{
struct tiles {
    int along_k, strips, count;
};
} // namespace

TD_HOST_DEVICE int padded_lines(const td_fixed &fixed, int which)
{
    return td_padded_lines(fixed.operand[which].lines, which);
}

TD_HOST_DEVICE tiles tiles_of(const td_fixed &fixed)
{
    tiles t;
    t.along_k = (int)((fixed.k_count + TILE_K - 1) / TILE_K);
    t.strips = (max(padded_lines(fixed, 0), padded_lines(fixed, 1)) + LINES - 1) / LINES;
    t.count = t.along_k * t.strips * 2 * fixed.batch;
    return t;
}

/* Finds the tile with a number. */
TD_DEVICE td_fixed_place place_of(const td_fixed &fixed, const tiles &t, int number)
{
    td_fixed_place at;
    const int rest = number / t.along_k, matrix = rest / t.strips;
    at.which = matrix % 2;
    at.batch = matrix / 2;
    at.line0 = rest % t.strips * LINES;
    at.padded_lines = padded_lines(fixed, at.which);
    at.first = fixed.k_first;
    at.count = fixed.k_count;
    at.in_pass = (int64_t)(number % t.along_k) * TILE_K;
    at.along = fixed.operand[at.which].k_step == 1;
    return at;
}

enum { TILE_BYTES = LINES * TILE_K * 8, BLOCKS = 4 };

/* With two stages a tile is copied while the one before is worked on. Grid: as many blocks as there
 * are places. */
template <int stages>
static __global__ void __launch_bounds__(THREADS, BLOCKS)
    second_residues_kernel(const td_residues p)
{
    TD_DYNAMIC_SHARED(double, shared);
    td_begin_kernel();
    const tiles all = tiles_of(p.fixed);
    if (td_scalar_value(p.fixed.alpha) == 0.0) return;
    if (p.fixed.batch == 1 && !has_residues(p, 0)) return;
    int next = (int)blockIdx.x, own = next;
    td_async_pipeline<stages>(
        td_tiles_of_block(all.count),
        [&](int stage) {
            const td_fixed_place at = place_of(p.fixed, all, next);
            if (has_residues(p, at.batch)) copy_tile(p, at, shared + stage * (TILE_BYTES / 8));
            next += (int)gridDim.x;
        },
        [&](int stage) {
            const td_fixed_place at = place_of(p.fixed, all, own);
            if (has_residues(p, at.batch)) store_run(p, at, shared + stage * (TILE_BYTES / 8));
            own += (int)gridDim.x;
        });
}

cudaError_t td_second_residues_run(const td_residues *p, cudaStream_t stream)
{
    int multiprocessors = 0, stages = 1;
    cudaError_t error = td_multiprocessors(&multiprocessors);
    if (error == cudaSuccess) error = td_stages_of_blocks(BLOCKS, TILE_BYTES, 2, &stages);
    if (error != cudaSuccess) return error;
    const unsigned blocks = (unsigned)min(BLOCKS * multiprocessors, tiles_of(p->fixed).count);
    return TD_LAUNCH_NEXT(stages == 2 ? second_residues_kernel<2> : second_residues_kernel<1>,
                          blocks, THREADS, stages * TILE_BYTES, stream, *p);
}

cudaError_t td_second_residues_prepare(void)
{
    const cudaError_t error =
        td_load(cudaSuccess, second_residues_kernel<1>, second_residues_kernel<2>);
    return td_allow_shared(error, second_residues_kernel<2>, 2 * TILE_BYTES);
}
