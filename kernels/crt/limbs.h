/* limbs.h - steps of the Chinese remainder theorem in whole numbers; for kernels. */
#ifndef TD_LIMBS_H
#define TD_LIMBS_H

#include "../arithmetic/wide.h"
#include "pairs.h"
#include "../residue/tables.h"

/* Makes y of a group of moduli for four elements. A word has the four elements' residues modulo
 * one of the `count` moduli. */
template <int count, int limbs>
TD_DEVICE void td_add_group(const td_group<limbs> &group, const uint32_t (&residues)[TD_GROUP],
                            uint32_t (&y)[TD_SUBTILE])
{
    const uint32_t low = __byte_perm(residues[0], residues[1], 0x5140);
    const uint32_t high = __byte_perm(residues[0], residues[1], 0x7362);
    y[0] = td_add_pair<0>(group.weights, low, group.start);
    y[1] = td_add_pair<1>(group.weights, low, group.start);
    y[2] = td_add_pair<0>(group.weights, high, group.start);
    y[3] = td_add_pair<1>(group.weights, high, group.start);
    if (count < TD_GROUP) return;
    y[0] = td_add_pair<0>(group.weight_2, residues[2], y[0]);
    y[1] = td_add_pair<0>(group.weight_2 << 16, residues[2], y[1]);
    y[2] = td_add_pair<1>(group.weight_2, residues[2], y[2]);
    y[3] = td_add_pair<1>(group.weight_2 << 16, residues[2], y[3]);
}

/* The sum of columns less the multiple of P that is nearest to it. `fraction` is that of the sum
 * over P, in 2^-54: at most 7 2^27 units too small, and X is no nearer to P / 2 than P 2^-17. */
template <int limbs>
TD_DEVICE td_wide<limbs> td_less_multiple(const uint32_t *less_product, int64_t *column,
                                          uint64_t fraction)
{
    const uint32_t multiple = (uint32_t)((fraction + (1ull << 53)) >> 54);
    TD_UNROLL
    for (int c = 0; c < limbs; c++) column[c] += (int64_t)((uint64_t)multiple * less_product[c]);
    return td_wide_carry<limbs>(column);
}

#endif
