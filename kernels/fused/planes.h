/* planes.h - the products of a tile's planes, one after the other, and their residues. For
 * fused.cu. */
#ifndef TD_FUSED_PLANES_H
#define TD_FUSED_PLANES_H

#include "tile.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

namespace
{

/* A warpgroup's way through its planes. */
template <class s> struct plane_walk {
    const unit_operands operands;
    const int steps;        /* stages of a plane */
    position<s::stages> at; /* the stage that comes next, ... */
    bool is_full;           /* ... which is known to be there */
};

template <class s>
TD_DEVICE plane_walk<s> begin_walk(const block_task &task, ring<s::stages> &barrier)
{
    return {
        operands_of<s>(task.shared, barrier), ((int)task.p.k + K_STEP - 1) / K_STEP, {0, 0}, false};
}

/* Makes the products of a tile's next plane. Whether the first stage after it is there is asked
 * before these are made residues: the answer takes a while. */
template <class s> TD_DEVICE void multiply_plane(unit_sums<s> &sums, plane_walk<s> &walk)
{
    end_unit<s>(walk.operands,
                multiply_unit<s>(sums, walk.steps, walk.at, walk.operands, walk.is_full));
    walk.is_full = is_stage_full<s>(walk.at, walk.operands);
}

/* ---- residues ---- */

/* Planes are gone through in this order: those whose residues are kept, then those whose residues
 * are held. */
template <class s> TD_DEVICE int plane_of_turn(int turn)
{
    return turn < s::kept ? HELD + turn : turn - s::kept;
}

/* Calls work(c, residues) for each chunk of a lane's sums: 16 neighbours of C, of a group of lines
 * and of every eighth column. */
template <td_reduction how, class s, class function>
TD_DEVICE void each_chunk(unit_sums<s> &sums, const td_sum_modulus &modulus, function work)
{
    TD_UNROLL
    for (int c = 0; c < CHUNKS; c++)
        work(c, td_residues_of_lane<how, 4>(&sums[0][c / 2 * (TD_LINE_GROUP / 2) + c % 2 * 2],
                                            modulus));
}

/* plane: known to the compiler. */
template <class s>
TD_DEVICE void hold_residues(const block_task &task, int plane, unit_sums<s> &sums,
                             held_residues &held)
{
    const td_sum_modulus &modulus = td_moduli_of_sums.of[plane];
    const auto hold = [&](int c, const quad &own) { held[plane][c] = own; };
    if (modulus.p == 256)
        each_chunk<TD_BYTE_OF_SUM, s>(sums, modulus, hold);
    else if (modulus.short_k >= TD_FUSED_MOST_K || task.p.k <= modulus.short_k)
        each_chunk<TD_SHORT_SUM, s>(sums, modulus, hold);
    else
        each_chunk<TD_LONG_SUM, s>(sums, modulus, hold);
}

static_assert(td_make_sum_modulus(td_moduli[HELD]).short_k >= TD_FUSED_MOST_K,
              "sums modulo what is kept, and all later ones, are short");

/* ---- tiles ---- */

/* Planes that are kept go by the same few instructions. Those that are held have registers, which
 * have no numbers that change, and code, each of their own; the code of all planes would be more
 * than multiprocessors hold. */
template <class s>
TD_DEVICE void multiply_tile(const block_task &task, plane_walk<s> &walk, held_residues &held)
{
    TD_UNROLL_N(1)
    for (int plane = HELD; plane < s::moduli; plane++) {
        unit_sums<s> sums;
        const td_sum_modulus modulus = td_moduli_of_sums.of[plane];
        multiply_plane<s>(sums, walk);
        each_chunk<TD_SHORT_SUM, s>(sums, modulus, [&](int c, const quad &own) {
            *kept_residues<s>(task, plane, c) = own;
        });
    }
    TD_UNROLL
    for (int plane = 0; plane < HELD; plane++) {
        unit_sums<s> sums;
        multiply_plane<s>(sums, walk);
        hold_residues<s>(task, plane, sums, held);
    }
}

} // namespace

#endif

#endif
