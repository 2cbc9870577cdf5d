/* wgmma_mainloop.h - the copies and the products of int8_wgmma_sm90a.cu: one thread has
 * panels copied to a ring of stages of shared memory, for the work tiles that wgmma_scheduler.h has
 * found, and two teams of warpgroups multiply them in turns. A team's sums go to
 * wgmma_epilogue.h. */
#ifndef TD_WGMMA_MAINLOOP_H
#define TD_WGMMA_MAINLOOP_H

#include "wgmma_epilogue.h"
#include "wgmma_scheduler.h"

#if TD_HAS_CUDA_DEVICE

namespace
{

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/* ---- copies ---- */

template <class s>
TD_DEVICE void enqueue(const queued &unit, position<QUEUE> &to, barriers<s> &barrier)
{
    td_barrier_wait(&barrier.unit.empty[to.place], to.parity);
    barrier.of[to.place] = unit;
    td_barrier_arrive(&barrier.unit.full[to.place]);
    next(to);
}

/* Each block of a cluster copies some of the rows, to all of its blocks. */
template <class s>
TD_DEVICE void copy_rows(int8_t *stage, const CUtensorMap *a, uint64_t *full, int k,
                         const td_unit &tile)
{
    const int first = td_block_of_cluster<s::cluster>() * (s::rows / s::cluster);
    if constexpr (s::cluster > 1)
        td_copy_box_to_all<s::cluster>(stage + first * K_STEP, a, full, k, tile.row + first,
                                       tile.member, tile.plane);
    else
        td_copy_box(stage, a, full, k, tile.row, tile.member, tile.plane);
}

/* The copies of a unit; says when the next one is wanted. */
template <class s>
TD_DEVICE void copy_unit(const CUtensorMap *a, const CUtensorMap *b, const queued &unit,
                         const td_stages *run, uint64_t *wanted, int8_t *shared,
                         position<s::stages> &at, barriers<s> &barrier)
{
    const td_unit tile = unit.tile;
    const int steps = unit.steps;
    int k = run->passed * K_STEP, left = run->count;
    TD_UNROLL_N(1)
    for (int step = 0; step < steps; step++, left--, k += K_STEP) {
        if (left == 0) run++, k += run->passed * K_STEP, left = run->count;
        if (step == max(steps - s::ahead, 0)) td_barrier_arrive(wanted);
        int8_t *const stage = shared + at.place * s::stage_bytes;
        uint64_t *const full = &barrier.stage.full[at.place];
        td_barrier_wait(&barrier.stage.empty[at.place], at.parity);
        td_barrier_expect(full, s::stage_bytes);
        copy_rows<s>(stage, a, full, k, tile);
        td_copy_box(stage + s::row_bytes, b, full, k, tile.column, tile.member, tile.plane);
        next(at);
    }
}

/* Another thread has all copies made. */
template <class s>
TD_DEVICE void copy_units(const CUtensorMap *a, const CUtensorMap *b, int lanes, int8_t *shared,
                          barriers<s> &barrier)
{
    position<s::stages> at = {0, 1};
    position<QUEUE> to = {0, 1};
    for (int turn = 0;; turn++) {
        const found_place from = place_of_turn(turn, lanes);
        td_barrier_wait(&barrier.found.full[from.place], from.parity);
        const queued &unit = barrier.found.unit[from.place];
        uint64_t *const wanted = &barrier.found.wanted[from.place];
        if (unit.steps == 0) {
            td_barrier_arrive(wanted);
            continue;
        }
        enqueue<s>(unit, to, barrier);
        if (unit.steps == NONE_LEFT) return;
        copy_unit<s>(a, b, unit, stages_of(barrier.found, from.place, lanes), wanted, shared, at,
                     barrier);
    }
}

/* ---- products ---- */

/* What one lane of each warp reads of a place in the queue, for all of them: the lane that tells
 * that it was read. */
TD_DEVICE int read_once(const int &queued)
{
    return td_uniform(threadIdx.x % 32 == 0 ? queued : 0);
}
TD_DEVICE td_unit read_once(const td_unit &queued)
{
    return {read_once(queued.plane), read_once(queued.member), read_once(queued.slice),
            read_once(queued.row), read_once(queued.column)};
}

/* Every warp tells that it knows what is in a place of the queue. */
template <class s> TD_DEVICE void leave(const position<QUEUE> &from, barriers<s> &barrier)
{
    if (threadIdx.x % 32 == 0) td_barrier_arrive(&barrier.unit.empty[from.place]);
}

/* Multiplies the team's work tiles, which are every other one, and passes over the steps of
 * those between. */
template <class s>
TD_DEVICE void multiply_units(const td_panels &p, int team, const int8_t *shared,
                              barriers<s> &barrier)
{
    position<s::stages> at = {0, 0};
    position<QUEUE> from = {0, 0};
    const unit_operands operands = operands_of<s>(shared, barrier.stage);
    if (team == TEAMS - 1) td_turn_pass<TEAMS * s::team_threads>(1);
    for (int turn = 0;; turn = 1 - turn, next(from)) {
        td_barrier_wait(&barrier.unit.full[from.place], from.parity);
        const int steps = read_once(barrier.of[from.place].steps);
        if (steps == NONE_LEFT) return;
        if (turn == team) {
            unit_sums<s> sums;
            td_turn_wait<TEAMS * s::team_threads>(1 + team);
            const int last = multiply_unit<s>(sums, steps, at, operands);
            td_turn_pass<TEAMS * s::team_threads>(TEAMS - team);
            const td_unit unit = read_once(barrier.of[from.place].tile);
            leave<s>(from, barrier);
            end_unit<s>(operands, last);
            reduce_unit<s>(p, unit, sums);
        } else {
            leave<s>(from, barrier);
            advance(at, steps);
        }
    }
}

#endif

} // namespace

#endif

#endif
