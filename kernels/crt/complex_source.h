/* complex_source.h - X from the residues of a complex product, whose parts are neighbouring rows of
 * C, in whole numbers. For kernels. */
#ifndef TD_COMPLEX_SOURCE_H
#define TD_COMPLEX_SOURCE_H

#include "../igemm/epilogue.h"
#include "../residue/tables_complex.h"
#include "residue_source.h"

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

/* Residues of Re, Im, Re, Im of two neighbouring complex elements as a word, from the elements'
 * residues of Z+ and of Z-, in the lower halves of `plus` and `minus` (tables_complex.h). */
TD_DEVICE uint32_t td_join_parts(uint32_t plus, uint32_t minus, const td_sum_modulus &modulus,
                                 int32_t minus_j)
{
    uint32_t r[TD_SUBTILE];
    TD_UNROLL
    for (int i = 0; i < 2; i++) {
        const int32_t u = (int8_t)(plus >> (8 * i)), v = (int8_t)(minus >> (8 * i));
        r[2 * i] = td_residue_of<TD_SHORT_SUM>(u + v, modulus);
        r[2 * i + 1] = td_residue_of<TD_SHORT_SUM>((u - v) * minus_j, modulus);
    }
    return __byte_perm(__byte_perm(r[0], r[1], 0x0040), __byte_perm(r[2], r[3], 0x0040), 0x5410);
}

/* residue_source of products that are complex: rows of C are twice those of the residues, and a
 * modulus has two planes. */
template <int limbs_, int columns, int fixed> struct complex_source {
    enum { limbs = limbs_, most = TD_MOST_COMPLEX_MODULI };
    td_residue_product product;
    int moduli_;

    TD_DEVICE void load(const complex_source &s, int row, int col, td_wide<limbs> *x)
    {
        const int moduli = fixed ? fixed : s.moduli_;
        const int8_t *at = s.product.residue + blockIdx.z * s.product.batch_step +
                           (int64_t)col * s.product.ld + row / 2;
        uint32_t residues[td_residue_tables<most>::groups][TD_GROUP] = {};
        TD_UNROLL
        for (int t = 0; t < (fixed ? fixed : (int)most); t++) {
            if (t >= moduli) continue;
            const int8_t *const plane = at + 2 * t * s.product.plane_step;
            residues[t / TD_GROUP][t % TD_GROUP] =
                td_join_parts(*reinterpret_cast<const uint16_t *>(plane),
                              *reinterpret_cast<const uint16_t *>(plane + s.product.plane_step),
                              td_moduli_of_sums.of_complex[t], td_roots.minus_j[t]);
        }
        td_join_residues<limbs, columns, fixed>(td_complex_tables, moduli, residues, x);
    }
};

#endif
