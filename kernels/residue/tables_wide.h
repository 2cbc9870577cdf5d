/* tables_wide.h - the constants of TD_SECOND_MODULI moduli, as tables.h has those of fewer. */
#ifndef TD_TABLES_WIDE_H
#define TD_TABLES_WIDE_H

#include "tables.h"

enum {
    TD_SECOND_GROUPS = TD_SECOND_MODULI / TD_GROUP,
    TD_SECOND_LIMBS = 10,  /* of P, and of X */
    TD_SECOND_WORDS = 5,   /* of a number of A' or B', ... */
    TD_SECOND_OFFSET = 153 /* ... to which this power of two is added */
};

struct td_modulus {
    uint32_t minus_p;
    float inverse; /* of p */
};

/* Residues of numbers of 20 bytes times a factor modulo p: their bytes times what these stand for
 * mod p, added up from `start` on, so that the sum's bits are those of a binary32 between 2^23 and
 * 2^24. */
struct td_second_weights {
    uint32_t word[TD_SECOND_WORDS], start;
};

struct td_second_tables {
    td_modulus modulus[TD_SECOND_MODULI];
    td_second_weights a[TD_SECOND_MODULI], b[TD_SECOND_MODULI];
    td_group<TD_SECOND_LIMBS> group[TD_SECOND_GROUPS];
    uint32_t less_product[TD_SECOND_LIMBS]; /* -P */
};

static constexpr td_second_weights td_make_second_weights(uint32_t factor, uint32_t p)
{
    td_second_weights w = {};
    for (int byte = 0; byte < 4 * TD_SECOND_WORDS; byte++)
        w.word[byte / 4] |= td_power_mod(factor, 8 * byte, p) << (8 * (byte % 4));
    w.start = td_start_of_sum(td_power_mod(factor, TD_SECOND_OFFSET, p), p);
    return w;
}

static constexpr td_second_tables td_make_second_tables()
{
    td_second_tables tables = {};
    tables.less_product[0] = 1;
    for (int t = 0; t < TD_SECOND_MODULI; t++) {
        const uint32_t p = td_moduli[t];
        tables.modulus[t].minus_p = 0u - p;
        tables.modulus[t].inverse = 1.0f / (float)p;
        tables.b[t] = td_make_second_weights(1, p);
        tables.a[t] = td_make_second_weights(td_inverse(td_moduli, TD_SECOND_MODULI, t), p);
        td_multiply_limbs(tables.less_product, p);
    }
    td_negate_limbs(tables.less_product);
    for (int g = 0; g < TD_SECOND_GROUPS; g++)
        tables.group[g] = td_make_group<TD_SECOND_LIMBS>(td_moduli, TD_SECOND_MODULI, g);
    return tables;
}

TD_CONSTANT(td_second_tables, td_second_table, td_make_second_tables());

static_assert(TD_SECOND_GROUPS * TD_GROUP == TD_SECOND_MODULI, "all groups are of three");

#endif
