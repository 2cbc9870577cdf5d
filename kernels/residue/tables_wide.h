/* tables_wide.h - the constants of TD_DENSE_MODULI moduli, as tables.h has those of fewer. */
#ifndef TD_TABLES_WIDE_H
#define TD_TABLES_WIDE_H

#include "tables.h"

enum {
    TD_DENSE_GROUPS = TD_DENSE_MODULI / TD_GROUP,
    TD_DENSE_LIMBS = 10,  /* of P, and of X */
    TD_DENSE_WORDS = 5,   /* of a number of A' or B', ... */
    TD_DENSE_OFFSET = 153 /* ... to which this power of two is added */
};

struct td_modulus {
    uint32_t minus_p;
    float inverse; /* of p */
};

/* Residues of numbers of 20 bytes times a factor modulo p: their bytes times what these stand for
 * mod p, added up from `start` on, so that the sum's bits are those of a binary32 between 2^23 and
 * 2^24. */
struct td_dense_weights {
    uint32_t word[TD_DENSE_WORDS], start;
};

struct td_dense_tables {
    td_modulus modulus[TD_DENSE_MODULI];
    td_dense_weights a[TD_DENSE_MODULI], b[TD_DENSE_MODULI];
    td_group<TD_DENSE_LIMBS> group[TD_DENSE_GROUPS];
    uint32_t less_product[TD_DENSE_LIMBS]; /* -P */
};

static constexpr td_dense_weights td_make_dense_weights(uint32_t factor, uint32_t p)
{
    td_dense_weights w = {};
    for (int byte = 0; byte < 4 * TD_DENSE_WORDS; byte++)
        w.word[byte / 4] |= td_power_mod(factor, 8 * byte, p) << (8 * (byte % 4));
    w.start = td_start_of_sum(td_power_mod(factor, TD_DENSE_OFFSET, p), p);
    return w;
}

static constexpr td_dense_tables td_make_dense_tables()
{
    td_dense_tables tables = {};
    tables.less_product[0] = 1;
    for (int t = 0; t < TD_DENSE_MODULI; t++) {
        const uint32_t p = td_moduli[t];
        tables.modulus[t].minus_p = 0u - p;
        tables.modulus[t].inverse = 1.0f / (float)p;
        tables.b[t] = td_make_dense_weights(1, p);
        tables.a[t] = td_make_dense_weights(td_inverse(td_moduli, TD_DENSE_MODULI, t), p);
        td_multiply_limbs(tables.less_product, p);
    }
    td_negate_limbs(tables.less_product);
    for (int g = 0; g < TD_DENSE_GROUPS; g++)
        tables.group[g] = td_make_group<TD_DENSE_LIMBS>(td_moduli, TD_DENSE_MODULI, g);
    return tables;
}

TD_CONSTANT(td_dense_tables, td_dense_table, td_make_dense_tables());

static_assert(TD_DENSE_GROUPS * TD_GROUP == TD_DENSE_MODULI, "all groups are of three");

#endif
