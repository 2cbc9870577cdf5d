#include "residues.h"

#include "../int8/panels.h"
#include "fixed_tile.h"
#include "residue_tables.h"

/* A tile is so many elements of k; a thread makes residues of OCTET neighbouring elements at a time, four of a line in a row. */
enum { TILE_K = 128, OCTET = 8, IN_A_ROW = 4 };
enum { STEPS = TD_FIXED_LINES * TILE_K / OCTET / TD_FIXED_THREADS };

/* RN(x 2^exponent) + 2^offset in words of 32 bits. */
TD_DEVICE void to_words(uint64_t bits, int exponent, uint32_t (&word)[3])
{
    int q;
    const uint64_t m = td_significand64(bits, &q);
    const int h = q + exponent; /* |x| 2^exponent = m 2^h */
    const int up = min(max(h, 0), 31);
    const uint64_t low = h < 0 ? td_shift_rounding(m, -h) : m << up;
    const uint64_t sign = bits >> 63 ? ~0ull : 0ull, number = (low ^ sign) - sign;
    const uint32_t high = h > 0 ? (uint32_t)(m >> (64 - up)) : 0u;
    const uint32_t borrow = sign && low ? ~0u : 0u; /* of -low from the high word */
    word[2] = (sign ? 0u - high : high) + borrow + (1u << (TD_OFFSET_LONG - 64));
    word[1] = (uint32_t)(number >> 32);
    word[0] = (uint32_t)number;
}

/* Numbers are below 2^62, and their leading bit is put at 2^61: after the longest shift less than half is left. */
TD_DEVICE void to_words(uint64_t bits, int exponent, uint32_t (&word)[2])
{
    const int field = (int)(bits >> 52 & 0x7ff);
    uint64_t m = (bits << 9 & ((1ull << 61) - 1)) | 1ull << 61;
    int down = 1084 - exponent - field; /* |x| 2^exponent = m 2^-down */
    if (field == 0) { /* zero or subnormal */
        int q;
        m = td_significand64(bits, &q) << 9;
        down = 9 - q - exponent;
    }
    down = min(down, 63);
    const uint64_t kept = m >> down, rest = m << 1 << (63 - down);
    const uint32_t rest_high = (uint32_t)(rest >> 32), below = (uint32_t)rest | (rest_high & 1u);
    const uint32_t half_units = (rest_high >> 1 | (below ? 1u : 0u)) + ((uint32_t)kept & 1u);
    const uint64_t sign = bits >> 63 ? ~0ull : 0ull;
    const uint64_t number = ((kept + (half_units > 0x40000000u)) ^ sign) - sign + (1ull << TD_OFFSET_SHORT);
    word[0] = (uint32_t)number;
    word[1] = (uint32_t)(number >> 32);
}

/* The centred residues of four numbers as bytes. The sum of bytes is the significand of a binary32 x < 2^24, whose quotient
 * by p rounds to a whole number if 1.5 2^23 is added: wrong by less than 1 / 4 p before it rounds, and no residue of an odd p
 * is nearer than 1 / 2 to p / 2. The constants have no influence on the lowest byte. */
template <int words>
TD_DEVICE uint32_t residues_of(const uint32_t (*word)[words], const td_byte_weights &weights,
                               const td_modulus &modulus)
{
    uint32_t r[4];
    TD_UNROLL
    for (int i = 0; i < 4; i++) {
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
    uint32_t word[OCTET][words];
    TD_UNROLL
    for (int i = 0; i < OCTET; i++) to_words(bits[i], exponent[i], word[i]);
    TD_UNROLL
    for (int t = 0; t < count; t++) {
        const td_byte_weights &weights = which ? td_tables.b[t] : td_tables.a[count][t];
        const uint2 residues = make_uint2(residues_of<words>(word, weights, td_tables.modulus[t]),
                                          residues_of<words>(word + 4, weights, td_tables.modulus[t]));
        *reinterpret_cast<uint2 *>(at) = residues;
        at += step;
    }
}

template <int which>
TD_DEVICE void store_residues_of(const uint64_t *bits, const int *exponent, int moduli, int8_t *at,
                                 int64_t step)
{
    if (moduli == TD_COMMON_MODULI)
        store_residues<2, TD_COMMON_MODULI, which>(bits, exponent, moduli, at, step);
    else if (moduli <= TD_SHORT_MODULI)
        store_residues<2, 0, which>(bits, exponent, moduli, at, step);
    else
        store_residues<3, 0, which>(bits, exponent, moduli, at, step);
}

/* Zeros past the end, and in special lines. */
template <class source> TD_DEVICE void load_octet(int count, source from, uint64_t *bits)
{
    TD_UNROLL
    for (int i = 0; i < OCTET; i++) bits[i] = i < count ? td_bits64(from(i)) : 0;
}

/* Residues of OCTET elements of a line, loaded from memory or from the tile. */
TD_DEVICE void store_octet(const td_residues &p, const td_fixed_place &at, td_fixed_quad own,
                           const double *data, const double (*tile)[TD_FIXED_LINES + 1])
{
    const td_operand &o = p.fixed.operand[at.which];
    const int line = at.line0 + own.line, place = at.which ? line : td_place_of_line(line);
    const int64_t in_pass = at.in_pass + own.l, l = at.first + in_pass;
    const int64_t k_padded = (at.count + TD_K_PAD - 1) / TD_K_PAD * TD_K_PAD;
    if (line >= at.padded_lines || in_pass >= k_padded) return;
    td_line record = {0, 0, 0, 0, TD_SPECIAL, 0};
    if (line < o.lines)
        record = p.fixed.line[at.which][at.batch * p.fixed.lines_of_member[at.which] + line];
    const int count = record.low == TD_SPECIAL ? 0 : (int)max((int64_t)0, min((int64_t)OCTET, at.count - in_pass));
    uint64_t bits[OCTET];
    int exponent[OCTET];
    if (at.along)
        load_octet(count, [&](int i) { return data[td_operand_at(o, line, l) + i]; }, bits);
    else
        load_octet(count, [&](int i) { return tile[own.l + i][own.line]; }, bits);
    TD_UNROLL
    for (int i = 0; i < OCTET; i++) exponent[i] = record.scale;
    if (p.fixed.shifted[at.batch]) {
        const int16_t *shift = p.fixed.shift + at.batch * o.k + l;
        TD_UNROLL
        for (int i = 0; i < OCTET; i++)
            if (i < count) exponent[i] += at.which ? -shift[i] : shift[i];
    }
    const int moduli = p.fixed.choice[at.batch].parameter;
    int8_t *to =
        p.plane[at.which] + ((int64_t)at.batch * at.padded_lines + place) * k_padded + in_pass;
    if (at.which)
        store_residues_of<1>(bits, exponent, moduli, to, p.plane_step[1]);
    else
        store_residues_of<0>(bits, exponent, moduli, to, p.plane_step[0]);
}

/* What a thread works on in one step: neighbouring threads along a line if k is contiguous in memory, else four of them. */
TD_DEVICE td_fixed_quad octet_of_thread(int step, bool along)
{
    const int tid = (int)threadIdx.x + step * TD_FIXED_THREADS, octets = TILE_K / OCTET;
    td_fixed_quad own;
    own.line = along ? tid / octets : tid / IN_A_ROW % TD_FIXED_LINES;
    own.l = OCTET * (along ? tid % octets : tid % IN_A_ROW + tid / (IN_A_ROW * TD_FIXED_LINES) * IN_A_ROW);
    return own;
}

/* Grid: see td_fixed_grid. */
static __global__ void __launch_bounds__(TD_FIXED_THREADS) residues_kernel(const td_residues p)
{
    TD_SHARED(double, tile, [TILE_K][TD_FIXED_LINES + 1]);
    td_fixed_place at = td_fixed_place_of_block(p.fixed, TILE_K);
    const td_operand &o = p.fixed.operand[at.which];
    if (at.which == 0) at.padded_lines = (o.lines + TD_LINE_GROUP - 1) / TD_LINE_GROUP * TD_LINE_GROUP;
    if (at.line0 >= at.padded_lines || td_scalar_value(p.fixed.alpha) == 0.0) return;
    const double *data = td_member<const double>(o.matrix, p.fixed.batch_first + at.batch);
    if (!at.along) td_load_fixed_tile(o, at, data, tile);
    __syncthreads();
    TD_UNROLL_N(1)
    for (int step = 0; step < STEPS; step++)
        store_octet(p, at, octet_of_thread(step, at.along), data, tile);
}

cudaError_t td_residues_run(const td_residues *p, cudaStream_t stream)
{
    td_fixed padded = p->fixed;
    padded.operand[0].lines = (padded.operand[0].lines + TD_LINE_GROUP - 1) / TD_LINE_GROUP * TD_LINE_GROUP;
    return TD_LAUNCH(residues_kernel, td_fixed_grid(padded, TILE_K), TD_FIXED_THREADS, 0, stream, *p);
}

cudaError_t td_residues_prepare(void) { return td_load(cudaSuccess, residues_kernel); }
