/* tables_complex.h - the constants of complex products for every number of moduli N, as tables.h
 * has those of real ones.
 *
 * j is a square root of -1 modulo p. With z+ = a + jb and z- = a - jb modulo p of both operands'
 * elements a + ib, Z+ = sum of z+ z+' and Z- = sum of z- z-' are Re + j Im and Re - j Im of the
 * complex sum: Re = (Z+ + Z-) / 2 and Im = (Z+ - Z-) / (2j). op(A)'s residues have the half
 * multiplied in, and the inverse of P / p: what is left is Re = Z+ + Z- and Im = -j (Z+ - Z-). */
#ifndef TD_TABLES_COMPLEX_H
#define TD_TABLES_COMPLEX_H

#include "tables.h"

/* Up to so many moduli numbers are below 2^61, and have TD_SHORT_PIECES. */
enum { TD_COMPLEX_SHORT_MODULI = 16 };

/* What the pieces of a and b are multiplied by for z+; b's products count negative for z-. The sum
 * of z+ starts as td_byte_weights has it, that of z- so much higher that it stays above 2^23: the
 * bytes of b make at most 4 TD_LONG_PIECES 255 (p - 1) < 2^20. */
struct td_complex_weights {
    uint32_t a[TD_LONG_PIECES], b[TD_LONG_PIECES];
    uint32_t start[2][2]; /* of TD_SHORT_PIECES, TD_LONG_PIECES; of z+, z- */
    uint32_t minus_p;
    float inverse; /* of p */
};

struct td_complex_residue_weights {
    /* of op(B), and of op(A) by N */
    td_complex_weights b[TD_MOST_COMPLEX_MODULI];
    td_complex_weights a[TD_MOST_COMPLEX_MODULI + 1][TD_MOST_COMPLEX_MODULI];
};

static constexpr uint32_t td_complex_moduli[TD_MOST_COMPLEX_MODULI] = {TD_COMPLEX_MODULI};

/* The smallest number whose square is -1 modulo p. */
static constexpr uint32_t td_root_of_minus_1(uint32_t p)
{
    uint32_t j = 1;
    while (j * j % p != p - 1) j++;
    return j;
}

/* `root` is j, or -j where an element's second part is that of the conjugate. */
static constexpr td_complex_weights td_make_complex_weights(uint32_t factor, uint32_t root,
                                                            uint32_t p)
{
    const td_byte_weights a = td_make_weights(factor, p), b = td_make_weights(factor * root % p, p);
    const uint32_t least = ((1u << 20) + p - 1) / p * p;
    td_complex_weights w = {};
    w.minus_p = a.minus_p;
    w.inverse = a.inverse;
    uint32_t less[2] = {0, 0}; /* what the 2^31 of the pieces make, of a and of b */
    for (int i = 0; i < TD_LONG_PIECES; i++) {
        w.a[i] = a.piece[i];
        w.b[i] = b.piece[i];
        less[0] = (less[0] + td_power_mod(factor, TD_PIECE_BITS * i + 31, p)) % p;
        less[1] = (less[1] + td_power_mod(factor * root, TD_PIECE_BITS * i + 31, p)) % p;
        if (i + 1 < TD_SHORT_PIECES) continue;
        uint32_t(&start)[2] = w.start[i + 1 - TD_SHORT_PIECES];
        start[0] = td_start_of_sum((less[0] + less[1]) % p, p);
        start[1] = td_start_of_sum((less[0] + p - less[1]) % p, p) + least;
    }
    return w;
}

static constexpr td_complex_residue_weights td_make_complex_residue_weights()
{
    td_complex_residue_weights weights = {};
    for (int t = 0; t < TD_MOST_COMPLEX_MODULI; t++) {
        const uint32_t p = td_complex_moduli[t];
        weights.b[t] = td_make_complex_weights(1, td_root_of_minus_1(p), p);
    }
    for (int moduli = TD_MIN_MODULI; moduli <= TD_MOST_COMPLEX_MODULI; moduli++)
        for (int t = 0; t < moduli; t++) {
            const uint32_t p = td_complex_moduli[t], half = (p + 1) / 2,
                           factor = td_inverse(td_complex_moduli, moduli, t) * half % p;
            weights.a[moduli][t] = td_make_complex_weights(factor, p - td_root_of_minus_1(p), p);
        }
    return weights;
}

/* A set of moduli: the first ones, or the first of those of complex products. */
template <int count_, bool is_complex_ = false> struct td_first_moduli {
    static constexpr int count = count_;
    static constexpr bool is_complex = is_complex_, is_any = false;
};

/* As many of these as is known at run time, `most_` at most. */
template <int most_, bool is_complex_> struct td_any_moduli {
    static constexpr int count = most_;
    static constexpr bool is_complex = is_complex_, is_any = true;
};

#endif
