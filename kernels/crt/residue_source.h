/* residue_source.h - X from its residues in whole numbers. For kernels. */
#ifndef TD_RESIDUE_SOURCE_H
#define TD_RESIDUE_SOURCE_H

#include "limbs.h"
#include "crt.h"
#include "finish.h"

/* X of four elements of a column from their residues modulo `moduli` moduli, whose constants are
 * `tables`: a word has the four elements' residues modulo one of them. limbs: of X; columns: limbs
 * of P / G; fixed: the number of moduli, 0: known at run time. */
template <int limbs, int columns, int fixed, int most>
TD_DEVICE void
td_join_residues(const td_residue_tables<most> &tables, int moduli,
                 const uint32_t (&residues)[td_residue_tables<most>::groups][TD_GROUP],
                 td_wide<limbs> *x)
{
    uint64_t fraction[TD_SUBTILE] = {};
    int64_t column[TD_SUBTILE][limbs] = {};
    TD_UNROLL
    for (int g = 0; g < td_residue_tables<most>::groups; g++) {
        if (TD_GROUP * g >= moduli) continue;
        const td_group<TD_P_LIMBS> &group = tables.group[moduli][g];
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
                column[e][c] = (int64_t)((uint64_t)column[e][c] + (uint64_t)y[e] * group.limb[c]);
        }
    }
    TD_UNROLL
    for (int e = 0; e < TD_SUBTILE; e++)
        x[e] = td_less_multiple<limbs>(tables.less_product[moduli], column[e], fraction[e]);
}

/* The arguments are those of td_join_residues. */
template <int limbs_, int columns, int fixed> struct residue_source {
    enum { limbs = limbs_ };
    td_residue_product product;
    int moduli_;

    TD_DEVICE void load(const residue_source &s, int row, int col, td_wide<limbs> *x)
    {
        const int moduli = fixed ? fixed : s.moduli_;
        const int8_t *at = s.product.residue + blockIdx.z * s.product.batch_step +
                           (int64_t)col * s.product.ld + row;
        uint32_t residues[TD_GROUPS][TD_GROUP] = {};
        TD_UNROLL
        for (int t = 0; t < (fixed ? fixed : (int)TD_MAX_MODULI); t++)
            if (t < moduli)
                residues[t / TD_GROUP][t % TD_GROUP] =
                    *reinterpret_cast<const uint32_t *>(at + t * s.product.plane_step);
        td_join_residues<limbs, columns, fixed>(td_tables, moduli, residues, x);
    }
};

/* P / G of up to 15 moduli has three limbs, P four; of 20, both have five. */
enum { SHORT_MODULI = 15 };

#endif
