/* residue_source.h - residues of the products, and X from them in whole numbers. For kernels. */
#ifndef TD_RESIDUE_SOURCE_H
#define TD_RESIDUE_SOURCE_H

#include "complex_parts.h"
#include "crt.h"
#include "finish.h"
#include "limbs.h"

/* Residues of four elements of a column, from (row, col) of the block's member on, as a word for
 * each modulus. Of complex products the elements are the parts of two numbers. */
template <bool is_complex> struct td_residue_quads {
    const int8_t *at;
    int64_t step;

    TD_INSIDE td_residue_quads(const td_residue_product &p, int row, int col)
        : at(p.residue + blockIdx.z * p.batch_step + (int64_t)col * p.ld +
             (is_complex ? row / 2 : row)),
          step(p.plane_step)
    {
    }
    TD_INSIDE uint32_t of(int t) const
    {
        if constexpr (is_complex)
            return td_join_parts(at + 2 * t * step, at + (2 * t + 1) * step, t);
        else
            return *reinterpret_cast<const uint32_t *>(at + t * step);
    }
};

/* The constants of either set of moduli, the most that it has, and how many groups they make. */
template <bool is_complex> struct td_set_of_moduli {
    enum { most = TD_MAX_MODULI, groups = TD_GROUPS };
    TD_DEVICE const td_residue_tables<most> &tables() { return td_tables; }
};
template <> struct td_set_of_moduli<true> {
    enum {
        most = TD_MOST_COMPLEX_MODULI,
        groups = td_residue_tables<TD_MOST_COMPLEX_MODULI>::groups
    };
    TD_DEVICE const td_residue_tables<most> &tables() { return td_complex_tables; }
};

/* is_complex: the moduli are those of complex products; limbs_: of X; columns: limbs of P / G;
 * fixed: the number of moduli, 0: known at run time. */
template <bool is_complex, int limbs_, int columns, int fixed> struct residue_source {
    typedef td_set_of_moduli<is_complex> set;
    enum { limbs = limbs_ };
    td_residue_product product;
    int moduli_;

    TD_DEVICE void load(const residue_source &s, int row, int col, td_wide<limbs> *x)
    {
        const int moduli = fixed ? fixed : s.moduli_;
        const td_residue_quads<is_complex> quads(s.product, row, col);
        uint32_t residues[set::groups][TD_GROUP] = {};
        TD_UNROLL
        for (int t = 0; t < (fixed ? fixed : (int)set::most); t++)
            if (t < moduli) residues[t / TD_GROUP][t % TD_GROUP] = quads.of(t);
        uint64_t fraction[TD_SUBTILE] = {};
        int64_t column[TD_SUBTILE][limbs] = {};
        TD_UNROLL
        for (int g = 0; g < set::groups; g++) {
            if (TD_GROUP * g >= moduli) continue;
            const td_group<TD_P_LIMBS> &group = set::tables().group[moduli][g];
            uint32_t y[TD_SUBTILE];
            if (fixed == 0 || TD_GROUP * g + 2 < fixed)
                td_add_group<TD_GROUP>(group, residues[g], y);
            else
                td_add_group<2>(group, residues[g], y);
            TD_UNROLL
            for (int e = 0; e < TD_SUBTILE; e++) {
                fraction[e] += (uint64_t)(y[e] << group.raise) * group.fraction;
                TD_UNROLL
                for (int c = 0; c < columns; c++)
                    column[e][c] =
                        (int64_t)((uint64_t)column[e][c] + (uint64_t)y[e] * group.limb[c]);
            }
        }
        TD_UNROLL
        for (int e = 0; e < TD_SUBTILE; e++)
            x[e] =
                td_less_multiple<limbs>(set::tables().less_product[moduli], column[e], fraction[e]);
    }
};

/* P / G of up to 15 moduli has three limbs, P four; of more, both have five. */
enum { SHORT_MODULI = 15 };

#endif
