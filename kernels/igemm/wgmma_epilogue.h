/* wgmma_epilogue.h - the sums of a team of warpgroups on their way from registers to C:
 * residues, or an estimate's logarithms, a byte each, of the elements of a work tile that C has. */
#ifndef TD_WGMMA_EPILOGUE_H
#define TD_WGMMA_EPILOGUE_H

#include "epilogue.h"
#include "warpgroups.h"
#include "work_tiles.h"

#if TD_HAS_CUDA_DEVICE

namespace
{

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/* Calls work(sums, place in C, is it in C) for each of this lane's groups of TD_LANE_LINES. */
template <class s, class function>
TD_DEVICE void each_group(const td_panels &p, const td_unit &unit, unit_sums<s> &sums,
                          function work)
{
    const int warp = (int)threadIdx.x % s::team_threads / 32, lane = (int)threadIdx.x % 32;
    const int row = unit.row + lane % 4 * TD_LANE_LINES,
              column = unit.column + 16 * warp + lane / 4;
    int8_t *const c = static_cast<int8_t *>(p.c) + unit.plane * p.layout.plane_c +
                      unit.member * p.layout.member_c + unit.slice * p.slice_c +
                      column * p.layout.ld_c + row;
    TD_UNROLL
    for (int i = 0; i < s::halves; i++) {
        TD_UNROLL
        for (int g = 0; g < s::rows / TD_LINE_GROUP; g++) {
            TD_UNROLL
            for (int h = 0; h < 2; h++)
                work(&sums[i][g * TD_LINE_GROUP / 2 + 2 * h],
                     c + (64 * i + 8 * h) * p.layout.ld_c + g * TD_LINE_GROUP,
                     column + 64 * i + 8 * h < p.n && row + g * TD_LINE_GROUP < p.m);
        }
    }
}

template <td_reduction how, class s>
TD_DEVICE void store_unit(const td_panels &p, const td_unit &unit, unit_sums<s> &sums,
                          const td_sum_modulus &modulus)
{
    if (p.accumulate)
        each_group<s>(p, unit, sums, [](int32_t *own, const int8_t *at, bool inside) {
            if (inside) td_add_residues<4>(own, at);
        });
    each_group<s>(p, unit, sums, [&](const int32_t *own, int8_t *at, bool inside) {
        const td_quad<uint32_t> residues = td_residues_of_lane<how, 4>(own, modulus);
        if (inside) *reinterpret_cast<td_quad<uint32_t> *>(at) = residues;
    });
}

template <class s>
TD_DEVICE void reduce_unit(const td_panels &p, const td_unit &unit, unit_sums<s> &sums)
{
    if (p.type == TD_PANEL_LOGARITHM) {
        store_unit<TD_LOGARITHM_OF_SUM, s>(p, unit, sums, {});
        return;
    }
    const td_sum_modulus modulus = td_modulus_of_plane(p, unit.plane);
    if (p.k <= modulus.short_k)
        store_unit<TD_SHORT_SUM, s>(p, unit, sums, modulus);
    else
        store_unit<TD_LONG_SUM, s>(p, unit, sums, modulus);
}

#endif

} // namespace

#endif

#endif
