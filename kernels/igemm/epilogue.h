/* epilogue.h - turns sums of products of residues into residues, on their way from a thread's
 * registers to memory. */
#ifndef TD_IGEMM_EPILOGUE_H
#define TD_IGEMM_EPILOGUE_H

#include "../view/access.h"
#include "../residue/tables_complex.h"
#include "plane_gemm.h"

/* How a sum c becomes a residue modulo p. Short ones: c in binary32 over p, rounded to a whole
 * number q. The quotient is off by less than 2^-24 |c| / p where |c| <= 2^24, elsewhere by less
 * than twice that, so that |c - q p| < p / 2 + 2^-24 |c| (2^-23 |c|), which is to be less than 128,
 * and less than 5 p / 8, as sums of three (../residue/tables.h) want it. Others: bytes of c + 2^31
 * times 256^i mod p, added up, and then as in ../residue/split.cu. */
struct td_sum_modulus {
    uint32_t p, weights, start;
    float inverse;
    uint32_t short_k; /* elements of k of the longest short sum */
};

static constexpr td_sum_modulus td_make_sum_modulus(uint32_t p)
{
    const uint32_t factor = p / 2,                /* the largest */
        room = 256 - p < p / 4 ? 256 - p : p / 4; /* twice what |c - q p| may be above p / 2 */
    const uint32_t exact = (room < 2 ? room : 2u) << 23, rounded = room << 22;
    const uint32_t most =
        (exact > rounded ? exact : rounded) - 256; /* less a residue that is added */
    td_sum_modulus m = {};
    m.p = p;
    m.inverse = 1.0f / (float)p;
    m.short_k = p == 256 ? (uint32_t)TD_RESIDUE_K : most / (factor * factor);
    for (int byte = 0; byte < 4; byte++) m.weights |= td_power_mod(1, 8 * byte, p) << (8 * byte);
    m.start = 0x4b000000u - (1u << 23) + ((1u << 23) + p - 1) / p * p + p - td_power_mod(1, 31, p);
    return m;
}

struct td_sum_moduli {
    td_sum_modulus of[TD_SECOND_MODULI], of_complex[TD_MOST_COMPLEX_MODULI];
};

static constexpr td_sum_moduli td_make_sum_moduli()
{
    td_sum_moduli moduli = {};
    for (int t = 0; t < TD_SECOND_MODULI; t++) moduli.of[t] = td_make_sum_modulus(td_moduli[t]);
    for (int t = 0; t < TD_MOST_COMPLEX_MODULI; t++)
        moduli.of_complex[t] = td_make_sum_modulus(td_complex_moduli[t]);
    return moduli;
}

TD_CONSTANT(td_sum_moduli, td_moduli_of_sums, td_make_sum_moduli());

/* The modulus of a plane of panels. */
TD_DEVICE const td_sum_modulus &td_modulus_of_plane(const td_panels &p, int plane)
{
    return p.is_complex ? td_moduli_of_sums.of_complex[plane / 2] : td_moduli_of_sums.of[plane];
}

/* What becomes of a sum: TD_PANEL_RESIDUE's by the short or the long way, or modulo 256, or
 * TD_PANEL_LOGARITHM's. */
enum td_reduction { TD_SHORT_SUM, TD_LONG_SUM, TD_BYTE_OF_SUM, TD_LOGARITHM_OF_SUM };

/* TD_PANEL_LOGARITHM's byte of a sum, from its four leading bits. */
TD_DEVICE uint32_t td_logarithm_of(int32_t sum)
{
    const int zeros = __clz(sum | 1), exponent = 31 - zeros;
    const uint32_t leading = (uint32_t)sum << zeros >> 28;
    return sum == 0 ? 0u : (uint32_t)(8 * exponent) + leading - 7;
}

/* In the lowest byte. */
template <td_reduction how>
TD_DEVICE uint32_t td_residue_of(int32_t sum, const td_sum_modulus &modulus)
{
    if (how == TD_LOGARITHM_OF_SUM) return td_logarithm_of(sum);
    uint32_t c = (uint32_t)sum;
    if (how == TD_BYTE_OF_SUM) return c;
    float x = (float)sum;
    if (how == TD_LONG_SUM) {
        c = __dp4a(c ^ 0x80000000u, modulus.weights, modulus.start);
        x = td_from_bits32(c);
    }
    return c - td_bits32(td_fma(x, modulus.inverse, 0x1.8p23f)) * modulus.p;
}

/* Returns the register of a lane's sum for a line of its group. These lines are neighbours in C;
 * their sums are pairs, `apart` registers from each other. */
enum { TD_LANE_LINES = 16 };
template <int apart> TD_BOTH int td_place_of_sum(int line) { return line / 2 * apart + line % 2; }

/* Of four neighbours. */
template <td_reduction how, int apart = 2>
TD_DEVICE uint32_t td_residues_of(const int32_t *sums, const td_sum_modulus &modulus)
{
    uint32_t r[4];
    TD_UNROLL
    for (int i = 0; i < 4; i++) r[i] = td_residue_of<how>(sums[td_place_of_sum<apart>(i)], modulus);
    return __byte_perm(__byte_perm(r[0], r[1], 0x0040), __byte_perm(r[2], r[3], 0x0040), 0x5410);
}

template <td_reduction how, int apart>
TD_DEVICE td_quad<uint32_t> td_residues_of_lane(const int32_t *sums, const td_sum_modulus &modulus)
{
    td_quad<uint32_t> residues;
    TD_UNROLL
    for (int i = 0; i < 4; i++)
        residues.of[i] = td_residues_of<how, apart>(&sums[td_place_of_sum<apart>(4 * i)], modulus);
    return residues;
}

/* Adds the residues that memory holds; the sums keep within a residue's range. */
template <int apart> TD_DEVICE void td_add_residues(int32_t *sums, const int8_t *from)
{
    const td_quad<uint32_t> old = *reinterpret_cast<const td_quad<uint32_t> *>(from);
    TD_UNROLL
    for (int i = 0; i < TD_LANE_LINES; i++)
        sums[td_place_of_sum<apart>(i)] += (int8_t)(old.of[i / 4] >> (i % 4 * 8));
}

#endif
