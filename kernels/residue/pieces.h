/* pieces.h - elements of A' and B' in the pieces that residues are made from (tables.h): RN(x
 * 2^exponent), ties to even; and the residues of sums of bytes. */
#ifndef TD_PIECES_H
#define TD_PIECES_H

#include "tables.h"

static constexpr uint32_t td_piece_mask = (1u << TD_PIECE_BITS) - 1, td_piece_zero = 1u << 31;

/* Returns the bits that any of the pieces has. The pieces of a number that is 0 have no bits but
 * those of td_piece_zero. */
template <int pieces> TD_DEVICE uint32_t td_bits_of_pieces(const uint32_t (&piece)[pieces])
{
    uint32_t bits = 0;
    TD_UNROLL
    for (int i = 0; i < pieces; i++) bits |= piece[i];
    return bits;
}

/* By whole numbers: the first words of a number of 80 bits are its significand, shifted up or
 * rounded. */
TD_DEVICE void td_cut_number(uint64_t bits, int exponent, uint32_t (&piece)[TD_LONG_PIECES])
{
    int q;
    const uint64_t m = td_significand64(bits, &q);
    const int h = q + exponent; /* |x| 2^exponent = m 2^h */
    const int up = min(max(h, 0), 31);
    const uint64_t low = h < 0 ? td_shift_rounding(m, -h) : m << up;
    const uint64_t sign = bits >> 63 ? ~0ull : 0ull, number = (low ^ sign) - sign;
    const uint32_t above = h > 0 ? (uint32_t)(m >> (64 - up)) : 0u;
    const uint32_t borrow = sign && low ? ~0u : 0u; /* of -low from the high word */
    const uint32_t high = (sign ? 0u - above : above) + borrow;
    piece[0] = ((uint32_t)number & td_piece_mask) | td_piece_zero;
    piece[1] = ((uint32_t)(number >> TD_PIECE_BITS) & td_piece_mask) | td_piece_zero;
    piece[2] = ((uint32_t)(number >> 2 * TD_PIECE_BITS) | high << (64 - 2 * TD_PIECE_BITS)) +
               td_piece_zero;
}

/* Numbers are below 2^61, and their leading bit is put at 2^61: after the longest shift less than
 * half is left. */
TD_DEVICE void td_cut_number(uint64_t bits, int exponent, uint32_t (&piece)[TD_SHORT_PIECES])
{
    const int field = (int)(bits >> 52 & 0x7ff);
    uint64_t m = (bits << 9 & ((1ull << 61) - 1)) | 1ull << 61;
    int down = 1084 - exponent - field; /* |x| 2^exponent = m 2^-down */
    if (field == 0) {                   /* zero or subnormal */
        int q;
        m = td_significand64(bits, &q) << 9;
        down = 9 - q - exponent;
    }
    down = (int)min((uint32_t)down, 63u); /* nobody asks for numbers too large for m */
    const uint64_t kept = m >> down, rest = m << 1 << (63 - down);
    const uint32_t rest_high = (uint32_t)(rest >> 32), below = (uint32_t)rest | (rest_high & 1u);
    const uint32_t half_units = (rest_high >> 1 | (below ? 1u : 0u)) + ((uint32_t)kept & 1u);
    const uint64_t sign = bits >> 63 ? ~0ull : 0ull;
    const uint64_t number = ((kept + (half_units > 0x40000000u)) ^ sign) - sign;
    piece[0] = ((uint32_t)number & td_piece_mask) | td_piece_zero;
    piece[1] = (uint32_t)(number >> TD_PIECE_BITS) + td_piece_zero;
}

/* By binary64 arithmetic: `unit` is 2^(exponent - TD_PIECE_BITS (pieces - 1)). 1.5 2^52 + 2^31
 * rounds to whole numbers; the bits below are what is left of a product, which is exact. */
template <int pieces> TD_DEVICE void td_cut_double(double x, double unit, uint32_t (&piece)[pieces])
{
    const double start = 0x1.8p52 + 0x1p31;
    TD_UNROLL
    for (int i = pieces - 1; i >= 0; i--) {
        const double whole = td_fma64(x, unit, start);
        piece[i] = (uint32_t)td_bits64(whole);
        x = td_fma64(x, unit, td_sub64(start, whole));
        unit = (double)(1 << TD_PIECE_BITS);
    }
}

/* 2^e, a normal number; of no use where it is not. */
TD_DEVICE double td_near_power(int e)
{
    return td_from_bits64((uint64_t)((uint32_t)(e + 1023) << 20) << 32);
}

/* Exponents whose unit is a normal number. Products too small to be normal are far below what is
 * rounded away. */
TD_DEVICE bool td_is_near(int exponent)
{
    return exponent >= TD_PIECE_BITS * (TD_LONG_PIECES - 1) - 1022 && exponent <= 1023;
}

/* The residue in the lowest byte. The sum's bits are those of a binary32 x < 2^23 + 2^21, whose
 * quotient by p rounds to a whole number if 1.5 2^23 is added: wrong by less than 5 / 8 p before it
 * rounds, and no residue of an odd p is nearer than 1 / 2 to p / 2. So one that is may become that
 * of the other sign: modulo 255, -128 for 127. The constants have no influence on that byte. */
TD_DEVICE uint32_t td_residue_of(uint32_t sum, float inverse, uint32_t minus_p)
{
    return sum + td_bits32(td_fma(td_from_bits32(sum), inverse, 0x1.8p23f)) * minus_p;
}

/* Returns the residues in the lowest bytes of four words as one word. */
TD_DEVICE uint32_t td_lowest_bytes(const uint32_t (&word)[4])
{
    return __byte_perm(__byte_perm(word[0], word[1], 0x0040), __byte_perm(word[2], word[3], 0x0040),
                       0x5410);
}

#endif
