/* complex_parts.h - residues of the real and imaginary parts of a complex product, which are
 * neighbouring rows of C, from those of Z+ and Z-. For kernels. */
#ifndef TD_COMPLEX_PARTS_H
#define TD_COMPLEX_PARTS_H

#include "../igemm/epilogue.h"
#include "../residue/tables_complex.h"

TD_CONSTANT(td_residue_tables<TD_MOST_COMPLEX_MODULI>, td_complex_tables,
            td_make_residue_tables<TD_MOST_COMPLEX_MODULI>(td_complex_moduli));

/* -j modulo each modulus, nearest to 0. */
struct td_complex_roots {
    int32_t minus_j[TD_MOST_COMPLEX_MODULI];
};

static constexpr td_complex_roots td_make_complex_roots()
{
    td_complex_roots roots = {};
    for (int t = 0; t < TD_MOST_COMPLEX_MODULI; t++) {
        const int32_t p = (int32_t)td_complex_moduli[t],
                      j = (int32_t)td_root_of_minus_1(td_complex_moduli[t]);
        roots.minus_j[t] = 2 * j > p ? p - j : -j;
    }
    return roots;
}

TD_CONSTANT(td_complex_roots, td_roots, td_make_complex_roots());

/* Residues of Re, Im, Re, Im of two neighbouring complex elements modulo the t-th modulus as a
 * word, from the elements' residues of Z+ and of Z- (tables_complex.h). */
TD_DEVICE uint32_t td_join_parts(const int8_t *plus, const int8_t *minus, int t)
{
    const td_sum_modulus &modulus = td_moduli_of_sums.of_complex[t];
    const uint32_t us = *reinterpret_cast<const uint16_t *>(plus),
                   vs = *reinterpret_cast<const uint16_t *>(minus);
    uint32_t r[TD_SUBTILE];
    TD_UNROLL
    for (int i = 0; i < 2; i++) {
        const int32_t u = (int8_t)(us >> (8 * i)), v = (int8_t)(vs >> (8 * i));
        r[2 * i] = td_residue_of<TD_SHORT_SUM>(u + v, modulus);
        r[2 * i + 1] = td_residue_of<TD_SHORT_SUM>((u - v) * td_roots.minus_j[t], modulus);
    }
    return __byte_perm(__byte_perm(r[0], r[1], 0x0040), __byte_perm(r[2], r[3], 0x0040), 0x5410);
}

#endif
