/* wgmma_scheduler.h - what the blocks of int8_wgmma_sm90a.cu work on, and when: the sizes of
 * tiles and rings, and the warp that finds the next work tiles ahead of their copies and leaves
 * them in a ring in shared memory. It reads which planes, members and tiles are wanted and which
 * stages of k have numbers; it copies and multiplies nothing. */
#ifndef TD_WGMMA_SCHEDULER_H
#define TD_WGMMA_SCHEDULER_H

#include "plane_gemm.h"
#include "skip.h"
#include "warpgroups.h"
#include "work_tiles.h"

#if TD_HAS_CUDA_DEVICE

namespace
{

enum {
    HALVES = 2, /* of a tile's columns: 64 are what one instruction takes */
    COLUMNS = 64 * HALVES,
    TEAMS = 2,
    QUEUE = 8 /* units that teams may be apart */
};

/* ahead: steps left of copies when the next unit is wanted: late, for the L2's sake, but the second
 * block of a pair hears of it later. A team of two warpgroups has half of the columns each. It
 * needs no more registers than all threads may have: one of one warpgroup takes some of those of
 * the threads that copy. */
template <int tile_rows, int warpgroups, int stage_count, int cluster_blocks> struct schedule {
    enum {
        cluster = cluster_blocks,
        rows = tile_rows,
        columns = COLUMNS,
        groups = warpgroups, /* of a team */
        halves = HALVES / groups,
        stages = stage_count,
        team_threads = GROUP_THREADS * groups,
        threads = TEAMS * team_threads + GROUP_THREADS,
        row_bytes = rows * K_STEP,
        stage_bytes = (rows + columns) * K_STEP,
        shared_bytes = stages * stage_bytes + 1024, /* to align */
        moves_registers = groups == 1,
        registers = 224,
        registers_of_copies = 56,
        ahead = cluster > 1 ? 8 : 4
    };
};

/* Large tiles need least of shared memory's and the L2's bandwidth, and still less of the L2's two
 * beside each other, whose rows are the same; small ones fill the device. */
using large = schedule<TD_WGMMA_LARGE_ROWS, 1, 5, 1>;
using small = schedule<TD_WGMMA_SMALL_ROWS, 2, 6, 1>;
using large_pair = schedule<TD_WGMMA_LARGE_ROWS, 1, 5, 2>;
using small_pair = schedule<TD_WGMMA_SMALL_ROWS, 2, 6, 2>;
static_assert((int)COLUMNS == (int)TD_WGMMA_COLUMNS, "those that routes count with");

/* A work tile of a cluster is one tile of C for each of its blocks. */
template <class s> using units_of_clusters = td_units<s::rows, s::cluster * s::columns>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

/* What warpgroups are told of a unit: its steps, NONE_LEFT if there is no unit, 0 of one that is
 * passed over. */
enum { NONE_LEFT = -1 };
struct queued {
    int steps;
    td_unit tile;
};

/* Units whose copies come next are found ahead, by one lane of a warp, or, where units are short,
 * by a few at a time, each another one: what a lane loads takes longer than such a unit. The places
 * of what was found are a ring, and share the memory for stages. */
enum {
    LANES = 4,
    PLACES = 2 * LANES,
    SHORT_STAGES = 4, /* of a unit that is short where units are many; otherwise twice as many */
    FEW_UNITS = 16,   /* of a cluster */
    LONG_K = 2048     /* of units of a triangle that are asked for */
};
struct found_ring {
    uint64_t full[PLACES], wanted[PLACES];
    queued unit[PLACES];
    td_stages list[2 * TD_MOST_RUNS];
};

/* What the first block of a cluster tells the other ones of their next unit. They are fewer units
 * apart than there are places: no block copies to a stage before all have multiplied what was
 * there, so that they are as many units apart as there are stages, and two more, at most; and
 * before each of these a triangle has less than a group's rows of units that are passed over. */
struct told_ring {
    enum { TOLD = 128 };
    uint64_t told[TOLD];
    int index[TOLD];
};

template <class s> struct barriers {
    told_ring told;
    ring<s::stages> stage;
    ring<QUEUE> unit;
    queued of[QUEUE];
    found_ring found;
};

/* The cluster's number, and how many there are. */
template <class s> TD_DEVICE int own_cluster() { return (int)blockIdx.x / s::cluster; }
template <class s> TD_DEVICE int clusters() { return (int)gridDim.x / s::cluster; }

/* Lanes that find units: that what is found in one step of theirs stays in order, these are dealt
 * out in turn. */
template <class s> TD_DEVICE int lanes_of(const td_panels &p, const units_of_clusters<s> &units)
{
    const int stages = (int)((p.k / p.slices + TD_SLICE_K - 1) / TD_SLICE_K),
              most = units.count > FEW_UNITS * clusters<s>() ? SHORT_STAGES : 2 * SHORT_STAGES;
    return td_leaves_tiles(&p) || stages > most ? 1 : LANES;
}

/* The place of the unit with that turn, whether it is its place's first, third, ..., and its
 * stages. */
struct found_place {
    int place;
    uint32_t parity;
};
TD_DEVICE found_place place_of_turn(int turn, int lanes)
{
    return {turn & (2 * lanes - 1), (uint32_t)(turn / (2 * lanes)) & 1u};
}
TD_DEVICE td_stages *stages_of(found_ring &found, int place, int lanes)
{
    return found.list + place * (TD_MOST_RUNS / lanes);
}

/* ---- units ---- */

/* Takes the next unit that no cluster has. Its first block does, and tells the others: all call
 * this as often. */
template <class s> TD_DEVICE int take_unit(const td_panels &p, int turn, int count, told_ring &told)
{
    const int place = turn % told_ring::TOLD;
    if (s::cluster > 1 && td_block_of_cluster<s::cluster>() > 0) {
        td_barrier_wait_for_block(&told.told[place], (uint32_t)(turn / told_ring::TOLD) & 1u);
        return told.index[place];
    }
    const int index = (int)atomicInc(p.next_unit, (unsigned)count - 1u) + clusters<s>();
    TD_UNROLL
    for (int block = 1; block < s::cluster; block++)
        td_tell_block(&told.index[place], &told.told[place], block, index);
    return index;
}

/* The unit after `index`. Clusters take it when most copies of that one are under way, the first
 * ones by their own numbers: so those that run at a time have neighbouring tiles, which the L2
 * holds, however long they have run. Every unit has been followed by one when the last of them
 * leaves 0. Where only listed tiles are wanted, or units are short, they are dealt out in turn: to
 * ask for each takes longer. Of a triangle few are passed over, and clusters that drifted apart
 * would each read their own part of the operands from memory. */
template <class s>
TD_DEVICE int following_unit(const td_panels &p, int index, int turn, int lanes, int count,
                             told_ring &told)
{
    const bool is_short = td_leaves_tiles(&p) && p.k < LONG_K;
    return p.batch > 1 || p.wanted.of || is_short || lanes > 1 ? index + lanes * clusters<s>()
                                                               : take_unit<s>(p, turn, count, told);
}

template <class s>
TD_DEVICE queued find_unit(const td_panels &p, const units_of_clusters<s> &units, int index,
                           td_stages *list)
{
    td_unit tile = td_unit_of(p, units, index);
    const int count = td_list_stages<s::rows, s::cluster * s::columns>(
                          p, tile.member, tile.row, tile.column, td_first_of_slice(&p, tile.slice),
                          td_first_of_slice(&p, tile.slice + 1), list)
                          .count;
    tile.column += td_block_of_cluster<s::cluster>() * s::columns;
    return {count, tile};
}

struct candidate {
    int index;
    bool exists, is_wanted;
};

template <class s>
TD_DEVICE candidate candidate_of(const td_panels &p, const units_of_clusters<s> &units, int index)
{
    const bool exists = index < units.count;
    return {index, exists, exists && td_is_wanted(p, units, index)};
}

/* Waits until a turn's place is free: until the unit that is as many turns before as there are
 * places, less one, is nearly copied. */
TD_DEVICE void wait_for_place(found_ring &found, int turn, int lanes)
{
    const int before = turn - (2 * lanes - 1);
    if (before < 0) return;
    const found_place last = place_of_turn(before, lanes);
    td_barrier_wait(&found.wanted[last.place], last.parity);
}

/* Moves all lanes on to units that follow theirs, until one of them is to be made, or there are no
 * more for any lane. */
template <class s>
TD_DEVICE void find_wanted(const td_panels &p, const units_of_clusters<s> &units, int lanes,
                           candidate &own, int &asked, told_ring &told)
{
    const unsigned all = (1u << lanes) - 1;
    while (!__any_sync(all, own.is_wanted) && __any_sync(all, own.exists)) {
        const int next = following_unit<s>(p, own.index, asked++, lanes, units.count, told);
        own = candidate_of<s>(p, units, next);
    }
}

/* Leaves a lane's unit in its turn's place: one without steps if it is not to be made, but another
 * lane's is. */
template <class s>
TD_DEVICE void leave_unit(const td_panels &p, const units_of_clusters<s> &units,
                          const candidate &own, int turn, int lanes, found_ring &found)
{
    const int place = place_of_turn(turn, lanes).place;
    found.unit[place] = own.is_wanted
                            ? find_unit<s>(p, units, own.index, stages_of(found, place, lanes))
                            : queued{own.exists ? 0 : NONE_LEFT, {}};
    td_barrier_arrive(&found.full[place]);
}

/* Finds all units that are to be made, by the first `lanes` lanes of a warp. Each lane has every
 * `lanes`-th turn; the turns of all lanes together are one round, with at least one unit unless it
 * is the last. */
template <class s>
TD_DEVICE void find_units(const td_panels &p, const units_of_clusters<s> &units, int lanes,
                          barriers<s> &barrier)
{
    const int lane = (int)threadIdx.x % 32;
    const unsigned all = (1u << lanes) - 1;
    int asked = 0;
    if (lane >= lanes) return;
    candidate own = candidate_of<s>(p, units, own_cluster<s>() + lane * clusters<s>());
    for (int turn = lane;; turn += lanes) {
        wait_for_place(barrier.found, turn, lanes);
        find_wanted<s>(p, units, lanes, own, asked, barrier.told);
        leave_unit<s>(p, units, own, turn, lanes, barrier.found);
        if (!__any_sync(all, own.exists)) return;
        own.is_wanted = false;
    }
}

#endif

} // namespace

#endif

#endif
