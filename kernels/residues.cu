#include "residues.h"

#include "access.h"
#include "residue_tables.h"

/* A tile is so many lines and elements of k; a thread makes residues of QUAD neighbouring elements at a time. */
enum { THREADS = 256, LINES = 32, TILE_K = 128, QUAD = 4, QUADS = TILE_K / QUAD };
enum { STEPS = LINES * QUADS / THREADS };

/* What is most common has code of its own. */
enum { COMMON_MODULI = 14 };

/* What a thread works on in one step: neighbouring threads along a line if k is contiguous in memory, else such that shared
 * memory likes it. */
struct item {
    int line, quad;
};

TD_DEVICE item item_of(int step, bool along)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    item at;
    at.line = along ? warp + 8 * step : (warp / 4 + 2 * step) * 4 + lane / 8;
    at.quad = along ? lane : warp % 4 * 8 + lane % 8;
    return at;
}

/* RN(x 2^exponent) + 2^offset in words of 32 bits. */
template <int words> TD_DEVICE void to_words(uint64_t bits, int exponent, uint32_t *word)
{
    uint64_t m = (bits & 0xfffffffffffffull) | 1ull << 52;
    int q = (int)(bits >> 52 & 0x7ff) - 1075;
    if (q == -1075) m = td_significand64(bits, &q); /* zero or subnormal */
    const int h = q + exponent;                     /* |x| 2^exponent = m 2^h */
    const int up = min(max(h, 0), 31);
    const uint64_t low = h < 0 ? td_shift_rounding(m, -h) : m << up;
    const uint64_t sign = bits >> 63 ? ~0ull : 0ull;
    uint64_t number = (low ^ sign) - sign;
    if (words == 2) {
        number += 1ull << TD_OFFSET_SHORT;
    } else {
        const uint32_t high = h > 0 ? (uint32_t)(m >> (64 - up)) : 0u;
        const uint32_t borrow = sign && low ? ~0u : 0u; /* of -low from the high word */
        word[2] = (sign ? 0u - high : high) + borrow + (1u << (TD_OFFSET_LONG - 64));
    }
    word[0] = (uint32_t)number;
    word[1] = (uint32_t)(number >> 32);
}

/* The centred residues of QUAD numbers as bytes. The sum of bytes is the significand of a binary32 x < 2^24, whose quotient
 * by p rounds to a whole number if 1.5 2^23 is added: wrong by less than 1 / 4 p before it rounds, and no residue of an odd p
 * is nearer than 1 / 2 to p / 2. The constants have no influence on the lowest byte. */
template <int words>
TD_DEVICE uint32_t residues_of(const uint32_t (*word)[words], const td_byte_weights &weights,
                               const td_modulus &modulus)
{
    uint32_t r[QUAD];
    TD_UNROLL
    for (int i = 0; i < QUAD; i++) {
        uint32_t sum = weights.start[words - 2];
        TD_UNROLL
        for (int w = 0; w < words; w++) sum = __dp4a(word[i][w], weights.word[w], sum);
        const float quotient = td_fma(td_from_bits32(sum), modulus.inverse, 0x1.8p23f);
        r[i] = sum - td_bits32(quotient) * modulus.p;
    }
    return __byte_perm(__byte_perm(r[0], r[1], 0x0040), __byte_perm(r[2], r[3], 0x0040), 0x5410);
}

/* `fixed` moduli, or if it is 0 so many: unrolled, what the tables hold becomes part of the instructions. */
template <int words, int fixed, int which>
TD_DEVICE void store_residues(const uint64_t *bits, const int *exponent, int moduli, int8_t *at,
                              int64_t step)
{
    const int count = fixed ? fixed : moduli;
    uint32_t word[QUAD][words];
    TD_UNROLL
    for (int i = 0; i < QUAD; i++) to_words<words>(bits[i], exponent[i], word[i]);
    TD_UNROLL
    for (int t = 0; t < count; t++) {
        const td_byte_weights &weights = which ? td_tables.b[t] : td_tables.a[count][t];
        *reinterpret_cast<uint32_t *>(at) = residues_of<words>(word, weights, td_tables.modulus[t]);
        at += step;
    }
}

template <int which>
TD_DEVICE void store_residues_of(const uint64_t *bits, const int *exponent, int moduli, int8_t *at,
                                 int64_t step)
{
    if (moduli == COMMON_MODULI)
        store_residues<2, COMMON_MODULI, which>(bits, exponent, moduli, at, step);
    else if (moduli <= TD_SHORT_MODULI)
        store_residues<2, 0, which>(bits, exponent, moduli, at, step);
    else
        store_residues<3, 0, which>(bits, exponent, moduli, at, step);
}

/* A tile of an operand whose lines are contiguous in memory. */
TD_DEVICE void load_tile(const td_operand &o, const double *data, int line0, int64_t l0,
                         int64_t l_end, uint64_t (*tile)[LINES + 1])
{
    const int line = (int)threadIdx.x % LINES;
    TD_UNROLL
    for (int i = (int)threadIdx.x / LINES; i < TILE_K; i += THREADS / LINES) {
        const bool inside = line0 + line < o.lines && l0 + i < l_end;
        tile[i][line] = inside ? td_bits64(data[td_operand_at(o, line0 + line, l0 + i)]) : 0;
    }
}

/* Grid: tile of k, strip of LINES lines, batch member * 2 + operand. */
static __global__ void __launch_bounds__(THREADS) residues_kernel(const td_residues p)
{
    TD_SHARED(uint64_t, tile, [TILE_K][LINES + 1]);
    const int which = (int)blockIdx.z % 2, batch = (int)blockIdx.z / 2;
    const td_operand &o = p.fixed.operand[which];
    const int line0 = (int)blockIdx.y * LINES;
    const int padded_lines = (o.lines + TD_LINE_PAD - 1) / TD_LINE_PAD * TD_LINE_PAD;
    const int64_t k_padded = (p.fixed.k_count + TD_K_PAD - 1) / TD_K_PAD * TD_K_PAD;
    const int64_t first = p.fixed.k_first, end = first + p.fixed.k_count;
    const int64_t in_pass = (int64_t)blockIdx.x * TILE_K, l0 = first + in_pass;
    if (line0 >= padded_lines || td_scalar_value(p.fixed.alpha) == 0.0) return;
    const double *data = td_member<const double>(o.matrix, p.fixed.batch_first + batch);
    const bool along = o.k_step == 1;
    if (!along) load_tile(o, data, line0, l0, end, tile);
    __syncthreads();

    const td_line *lines = p.fixed.line[which] + batch * p.fixed.lines_of_member[which];
    const int16_t *shifts = p.fixed.shifted[batch] ? p.fixed.shift + batch * o.k : NULL;
    const int moduli = p.fixed.choice[batch].parameter;
    TD_UNROLL_N(1)
    for (int step = 0; step < STEPS; step++) {
        const item at = item_of(step, along);
        const int line = line0 + at.line;
        if (line >= padded_lines || in_pass + QUAD * at.quad >= k_padded) continue;
        const td_line record =
            line < o.lines ? lines[line] : td_line{0, 0, 0, 0, TD_SPECIAL, 0, {}};
        const int64_t in_tile = QUAD * at.quad, l = l0 + in_tile;
        const double *x = data + (along ? td_operand_at(o, line < o.lines ? line : 0, l) : 0);
        uint64_t bits[QUAD];
        int exponent[QUAD];
        TD_UNROLL
        for (int i = 0; i < QUAD; i++) {
            const bool inside = record.low != TD_SPECIAL && l + i < end;
            const int shift = inside && shifts ? shifts[l + i] : 0;
            exponent[i] = record.scale + (which ? -shift : shift);
            bits[i] = 0;
            if (inside) bits[i] = along ? td_bits64(x[i]) : tile[in_tile + i][at.line];
        }
        int8_t *to =
            p.plane[which] + ((int64_t)batch * padded_lines + line) * k_padded + in_pass + in_tile;
        if (which)
            store_residues_of<1>(bits, exponent, moduli, to, p.plane_step[1]);
        else
            store_residues_of<0>(bits, exponent, moduli, to, p.plane_step[0]);
    }
}

cudaError_t td_residues_run(const td_residues *p, cudaStream_t stream)
{
    const int lines = max(p->fixed.operand[0].lines, p->fixed.operand[1].lines);
    const dim3 grid((unsigned)((p->fixed.k_count + TILE_K - 1) / TILE_K),
                    (unsigned)((lines + LINES - 1) / LINES), 2 * (unsigned)p->fixed.batch);
    return TD_LAUNCH(residues_kernel, grid, THREADS, 0, stream, *p);
}

cudaError_t td_residues_prepare(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, residues_kernel);
}
