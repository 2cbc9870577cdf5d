/* pair_sums.h - y of a pair of moduli p, p' from the residues r, r' of four elements, y = 2^s (r p'
 * + r' p), as a word that becomes the upper half of a binary64 number. For pairs.h and
 * exact_pairs.h.
 *
 * 2^s is the largest power of two that leaves |y| < 2^16, for any bytes r and r', or, of complex
 * products, for residues of Re and Im that are nearest to 0. Of a pair that is one modulus p' is 1,
 * and r' 0.
 *
 * Of complex products the residues of Re = Z+ + Z- and Im = -j (Z+ - Z-) (../residue/
 * tables_complex.h) need not be made one by one. With those of Z+ and Z-, u and v modulo p, u' and
 * v' modulo p':
 *   y of Re is 2^s ((u + v) p' + (u' + v') p), with a 2^s for sums of two residues of products
 *   (crt.h);
 *   y of Im is 2^s (-j (u - v) p' - j' (u' - v') p), less the multiple of 2^s p p' that leaves the
 *   rest nearest to 0. */
#ifndef TD_PAIR_SUMS_H
#define TD_PAIR_SUMS_H

#include "../residue/tables_complex.h"
#include "../view/target.h"

/* Multiples of two; the last pair of an odd number of moduli is one. */
enum {
    TD_LEAST_PAIRED = 14,
    TD_MOST_PAIRED = TD_MOST_COMPLEX_MODULI,
    TD_PAIRS = TD_MOST_PAIRED / 2
};

/* A word is the upper half of y + BIAS, of exponent 17, and counts 2^-TD_PAIR_PLACES. */
enum { TD_PAIR_START = 0x41080000, TD_PAIR_BIAS = 3 << 16, TD_PAIR_PLACES = 3 };

/* The moduli of a pair of the first `moduli`. */
struct td_moduli_of_pair {
    uint32_t p, other; /* p', or 1 */
    bool is_one;
};

static constexpr td_moduli_of_pair td_moduli_of(bool is_complex, int moduli, int pair)
{
    const uint32_t *const set = is_complex ? td_complex_moduli : td_moduli;
    const bool is_one = 2 * pair + 1 == moduli;
    return {set[2 * pair], is_one ? 1 : set[2 * pair + 1], is_one};
}

/* What y is made of: bytes of real products; residues of Re or Im that are nearest to 0; sums of
 * two residues of complex products, which are within 5 p / 8 of 0. */
enum td_pair_kind { TD_PAIR_OF_BYTES, TD_PAIR_OF_PARTS, TD_PAIR_OF_SUMS };

/* The largest magnitude of what stands for a residue modulo p. */
static constexpr uint32_t td_most_of_residue(td_pair_kind kind, uint32_t p)
{
    const uint32_t of_byte = 128, of_product = 5 * p / 8 + 1;
    if (kind == TD_PAIR_OF_BYTES) return of_byte;
    if (kind == TD_PAIR_OF_PARTS) return (p + 1) / 2;
    return 2 * (of_product < of_byte ? of_product : of_byte);
}

/* 2^(TD_PAIR_PLACES + s) p' and the same of p, 16 bits each, and s. */
struct td_pair_weights {
    uint32_t both;
    int up;
};

static constexpr td_pair_weights td_weights_of(td_pair_kind kind, int moduli, int pair)
{
    const td_moduli_of_pair of = td_moduli_of(kind != TD_PAIR_OF_BYTES, moduli, pair);
    const uint32_t of_other = of.is_one ? 0 : td_most_of_residue(kind, of.other),
                   most = td_most_of_residue(kind, of.p) * of.other + of_other * of.p;
    int up = -1; /* |y| is below 2^17 without 2^s */
    while (most << (up + 1) < 1u << 16) up++;
    const int places = TD_PAIR_PLACES + up;
    return {of.other << places | (of.is_one ? 0 : of.p << places << 16), up};
}

/* sum + the products of both halves of `weights` with bytes 2 half and 2 half + 1 of residues,
 * which have signs. */
template <int half>
TD_DEVICE uint32_t td_add_pair(uint32_t weights, uint32_t residues, uint32_t sum)
{
#if TD_HAS_CUDA_DEVICE
    uint32_t result;
    if constexpr (half == 0)
        asm("dp2a.lo.u32.s32 %0, %1, %2, %3;"
            : "=r"(result)
            : "r"(weights), "r"(residues), "r"(sum));
    else
        asm("dp2a.hi.u32.s32 %0, %1, %2, %3;"
            : "=r"(result)
            : "r"(weights), "r"(residues), "r"(sum));
    return result;
#else
    const uint32_t low = (uint32_t)(int8_t)(residues >> (16 * half));
    const uint32_t high = (uint32_t)(int8_t)(residues >> (16 * half + 8));
    return sum + (weights & 0xffffu) * low + (weights >> 16) * high;
#endif
}

/* The words of four elements. `residues` and `other` have their residues modulo p and p'. */
TD_DEVICE void td_words_of_pair(uint32_t weights, uint32_t residues, uint32_t other,
                                uint32_t (&y)[TD_SUBTILE])
{
    const uint32_t low = __byte_perm(residues, other, 0x5140);
    const uint32_t high = __byte_perm(residues, other, 0x7362);
    y[0] = td_add_pair<0>(weights, low, TD_PAIR_START);
    y[1] = td_add_pair<1>(weights, low, TD_PAIR_START);
    y[2] = td_add_pair<0>(weights, high, TD_PAIR_START);
    y[3] = td_add_pair<1>(weights, high, TD_PAIR_START);
}

/* ---- complex products ---- */

/* Added to a float and taken away: rounds it to a whole number, whose bits are MAGIC_BITS and that
 * number. */
enum : uint32_t { TD_MAGIC_BITS = 0x4b400000u };

/* What y of Im is made with. Before the multiple of p p' is taken away it is below 2^26; a multiple
 * that follows from that as a float leaves at most 2^-12 p p' more than half of p p'. */
struct td_imaginary_pair {
    uint32_t plus, minus; /* what u and u', v and v' are multiplied by modulo p p', 16 bits each */
    float inverse;        /* of p p' */
    uint32_t product;     /* p p' */
    uint32_t start;       /* TD_PAIR_START, and what MAGIC_BITS of multiples take away */
    int places;           /* TD_PAIR_PLACES + s */
};

static constexpr td_imaginary_pair td_make_imaginary_pair(int moduli, int pair)
{
    const td_moduli_of_pair of = td_moduli_of(true, moduli, pair);
    const uint32_t j = td_root_of_minus_1(of.p),
                   j_other = of.is_one ? 0 : td_root_of_minus_1(of.other),
                   product = of.p * of.other;
    const int places = TD_PAIR_PLACES + td_weights_of(TD_PAIR_OF_SUMS, moduli, pair).up;
    return {(of.p - j) * of.other | (of.is_one ? 0 : (of.other - j_other) * of.p << 16),
            j * of.other | j_other * of.p << 16,
            1.0f / (float)product,
            product,
            TD_PAIR_START + (TD_MAGIC_BITS * product << places),
            places};
}

struct td_imaginary_pairs {
    td_imaginary_pair of[TD_MOST_COMPLEX_MODULI - TD_LEAST_PAIRED + 1][TD_PAIRS];
};

static constexpr td_imaginary_pairs td_make_imaginary_pairs()
{
    td_imaginary_pairs pairs = {};
    for (int n = TD_LEAST_PAIRED; n <= TD_MOST_COMPLEX_MODULI; n++)
        for (int i = 0; 2 * i < n; i++)
            pairs.of[n - TD_LEAST_PAIRED][i] = td_make_imaginary_pair(n, i);
    return pairs;
}

TD_CONSTANT(td_imaginary_pairs, td_imaginary_table, td_make_imaginary_pairs());

/* The word of Im, of two neighbouring elements the first or the second; plus has u, u' of both, and
 * minus v, v'. */
template <int half>
TD_DEVICE uint32_t td_word_of_imaginary(const td_imaginary_pair &pair, uint32_t plus,
                                        uint32_t minus)
{
    const uint32_t x = td_add_pair<half>(pair.plus, plus, td_add_pair<half>(pair.minus, minus, 0));
    const float multiple = td_fma((float)(int32_t)x, pair.inverse, 0x1.8p23f);
    return ((x - td_bits32(multiple) * pair.product) << pair.places) + pair.start;
}

/* The words of Re, Im, Re, Im of two neighbouring elements. weights: those of sums of two
 * residues. */
TD_DEVICE void td_words_of_complex_pair(uint32_t weights, const td_imaginary_pair &pair,
                                        uint32_t plus, uint32_t minus, uint32_t (&y)[TD_SUBTILE])
{
    y[0] = td_add_pair<0>(weights, plus, td_add_pair<0>(weights, minus, TD_PAIR_START));
    y[1] = td_word_of_imaginary<0>(pair, plus, minus);
    y[2] = td_add_pair<1>(weights, plus, td_add_pair<1>(weights, minus, TD_PAIR_START));
    y[3] = td_word_of_imaginary<1>(pair, plus, minus);
}

#endif
