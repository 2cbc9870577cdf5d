/* tables.h - the constants of the residue modes for every number of moduli N, computed by the
 * compiler.
 *
 * P is the product of the first N moduli p_t. op(A)'s residues are multiplied by the inverse of P /
 * p_t modulo p_t, so that the Chinese remainder theorem needs no more than X = sum_t r_t P / p_t -
 * Q P, r_t being any residue of the product modulo p_t. Three moduli at a time are put together
 * before they meet P's many limbs. */
#ifndef TD_TABLES_H
#define TD_TABLES_H

#include "moduli.h"
#include "../select/choice.h"
#include "../device/portable.h"

enum { TD_GROUP = 3, TD_GROUPS = (TD_MAX_MODULI + TD_GROUP - 1) / TD_GROUP, TD_P_LIMBS = 5 };

/* Numbers are cut into pieces v_i of 32 bits, sum of (v_i - 2^31) 2^(TD_PIECE_BITS i): so many for
 * up to TD_SHORT_MODULI moduli, and for more. */
enum { TD_PIECE_BITS = 30, TD_SHORT_PIECES = 2, TD_LONG_PIECES = 3, TD_SHORT_MODULI = 15 };

/* Residues of numbers times a factor modulo p: the pieces' bytes times what these stand for mod p,
 * added up. The sum starts at such a multiple of p, less what the 2^31 make, that its bits are
 * those of a binary32 between 2^23 and 2^24. */
struct alignas(16) td_byte_weights {
    uint32_t piece[TD_LONG_PIECES]; /* of four bytes */
    uint32_t minus_p;
    /* of TD_SHORT_PIECES, TD_LONG_PIECES; twice: the tensor cores take it so */
    uint32_t start[2][2];
    float inverse; /* of p */
};

/* Up to three moduli. y = 2 G + sum of r_t weight_t, a number between 0 and 4 G + 256, is a residue
 * modulo their product G; X gets y P / G. */
template <int limbs> struct td_group {
    uint32_t weights, weight_2; /* of the first two, 16 bits each, and of the third */
    uint32_t start;             /* 2 G */
    uint32_t raise, fraction;   /* (y << raise) fraction is y / G in units of 2^-54, rounded down */
    uint32_t limb[limbs];       /* P / G */
};

struct td_residue_weights {
    td_byte_weights zeros, b[TD_MAX_MODULI], a[TD_MAX_MODULI + 1][TD_MAX_MODULI]; /* a by N */
};

/* Of up to `most` moduli. */
template <int most> struct td_residue_tables {
    enum { groups = (most + TD_GROUP - 1) / TD_GROUP };
    td_group<TD_P_LIMBS> group[most + 1][groups]; /* by N */
    uint32_t less_product[most + 1][TD_P_LIMBS];  /* -P modulo 2^(32 TD_P_LIMBS) by N */
};

static constexpr uint32_t td_moduli[TD_SECOND_MODULI] = {TD_MODULI, TD_MORE_MODULI};

/* factor 2^exponent mod p */
static constexpr uint32_t td_power_mod(uint32_t factor, int exponent, uint32_t p)
{
    uint32_t r = factor % p;
    for (int i = 0; i < exponent; i++) r = r * 2 % p;
    return r;
}

/* Where a sum of bytes starts that is to be less by so much than a multiple of p, less < p. */
static constexpr uint32_t td_start_of_sum(uint32_t less, uint32_t p)
{
    const uint32_t multiple = ((1u << 23) + p - 1) / p * p;
    return 0x4b000000u - (1u << 23) + multiple + p - less;
}

static constexpr td_byte_weights td_make_weights(uint32_t factor, uint32_t p)
{
    td_byte_weights w = {};
    uint32_t less = 0; /* what the 2^31 make */
    w.minus_p = 0u - p;
    w.inverse = 1.0f / (float)p;
    for (int i = 0; i < TD_LONG_PIECES; i++) {
        const int exponent = TD_PIECE_BITS * i;
        for (int byte = 0; byte < 4; byte++)
            w.piece[i] |= td_power_mod(factor, exponent + 8 * byte, p) << (8 * byte);
        less = (less + td_power_mod(factor, exponent + 31, p)) % p;
        for (int e = 0; e < 2 && i + 1 >= TD_SHORT_PIECES; e++)
            w.start[i + 1 - TD_SHORT_PIECES][e] = td_start_of_sum(less, p);
    }
    return w;
}

/* The inverse modulo p_t of the product of the other moduli among the first N of a set. */
static constexpr uint32_t td_inverse(const uint32_t *set, int moduli, int t)
{
    const uint32_t p = set[t];
    uint32_t others = 1, inverse = 1;
    for (int i = 0; i < moduli; i++)
        if (i != t) others = others * set[i] % p;
    while (others * inverse % p != 1) inverse++;
    return inverse;
}

template <int limbs>
static constexpr void td_multiply_limbs(uint32_t (&limb)[limbs], uint32_t factor)
{
    uint64_t carry = 0;
    for (int i = 0; i < limbs; i++) {
        carry += (uint64_t)limb[i] * factor;
        limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

template <int limbs> static constexpr void td_negate_limbs(uint32_t (&limb)[limbs])
{
    uint64_t carry = 1;
    for (int i = 0; i < limbs; i++) {
        carry += ~limb[i];
        limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

template <int limbs>
static constexpr td_group<limbs> td_make_group(const uint32_t *set, int moduli, int g)
{
    td_group<limbs> group = {};
    uint32_t product = 1;
    int count = 0;
    group.limb[0] = 1;
    for (int t = 0; t < moduli; t++) {
        if (t / TD_GROUP == g) {
            product *= set[t];
            count++;
        } else {
            td_multiply_limbs(group.limb, set[t]);
        }
    }
    uint32_t weight[TD_GROUP] = {};
    for (int i = 0; i < count; i++) weight[i] = product / set[g * TD_GROUP + i];
    group.weights = weight[0] | weight[1] << 16;
    group.weight_2 = weight[2];
    group.start = 2 * product;
    group.raise = (uint32_t)(8 * (TD_GROUP - count));
    while (product << group.raise <= 1u << 22) group.raise++; /* the fraction is less than 2^32 */
    group.fraction = (uint32_t)((1ull << 54) / ((uint64_t)product << group.raise));
    return group;
}

static constexpr td_residue_weights td_make_residue_weights()
{
    td_residue_weights weights = {};
    for (int t = 0; t < TD_MAX_MODULI; t++) weights.b[t] = td_make_weights(1, td_moduli[t]);
    for (int moduli = TD_MIN_MODULI; moduli <= TD_MAX_MODULI; moduli++)
        for (int t = 0; t < moduli; t++)
            weights.a[moduli][t] = td_make_weights(td_inverse(td_moduli, moduli, t), td_moduli[t]);
    return weights;
}

template <int most>
static constexpr td_residue_tables<most> td_make_residue_tables(const uint32_t *set)
{
    td_residue_tables<most> tables = {};
    for (int moduli = TD_MIN_MODULI; moduli <= most; moduli++) {
        uint32_t(&limb)[TD_P_LIMBS] = tables.less_product[moduli];
        limb[0] = 1;
        for (int t = 0; t < moduli; t++) td_multiply_limbs(limb, set[t]);
        td_negate_limbs(limb);
        for (int g = 0; TD_GROUP * g < moduli; g++)
            tables.group[moduli][g] = td_make_group<TD_P_LIMBS>(set, moduli, g);
    }
    return tables;
}

TD_CONSTANT(td_residue_tables<TD_MAX_MODULI>, td_tables,
            td_make_residue_tables<TD_MAX_MODULI>(td_moduli));

#endif
