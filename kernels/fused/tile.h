/* tile.h - what fused.cu works on: a tile of C, what is told of it, and where its residues are. For
 * fused.cu. */
#ifndef TD_FUSED_TILE_H
#define TD_FUSED_TILE_H

#include "../igemm/epilogue.h"
#include "../igemm/warpgroups.h"
#include "../crt/finish.h"
#include "order.h"

#if TD_HAS_CUDA_DEVICE

namespace
{

/* Residues modulo the first HELD moduli stay in registers, of the others in shared memory. A thread
 * has CHUNKS of 16 neighbours of C. So many of either have code of their own. */
enum {
    SIDE = TD_FUSED_SIDE, /* of a tile */
    GROUPS = 2,           /* warpgroups that multiply */
    TEAM = GROUPS * GROUP_THREADS,
    THREADS = TEAM + GROUP_THREADS,
    COPYING = 64, /* of these that do something else */
    HELD = 8,
    CHUNKS = SIDE * SIDE / (TEAM * TD_LANE_LINES),
    CHUNKS_OF_GROUP = 2,         /* of TD_LINE_GROUP rows */
    MOST_SHARED = 224 << 10,     /* bytes */
    SHARED = MOST_SHARED + 1024, /* to align */
    REGISTERS = 232,
    REGISTERS_OF_COPIES = 40
};

/* Of tiles modulo so many moduli. */
template <int moduli_> struct schedule {
    enum {
        moduli = moduli_,
        kept = moduli - HELD, /* moduli whose residues are in shared memory, the last ones */
        rows = SIDE,
        columns = SIDE,
        groups = GROUPS,
        halves = 1,
        cluster = 1,
        row_bytes = SIDE * K_STEP,
        stage_bytes = 2 * SIDE * K_STEP,
        kept_bytes = kept * SIDE * SIDE,
        stages = (MOST_SHARED - kept_bytes) / stage_bytes
    };
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

typedef td_quad<uint32_t> quad;

struct tile_place {
    int number, member, row, column; /* number: among those of all members */
};

/* How C is stored: a tile that is whole, of which pairs of rows stand right; the same, and alpha is
 * 1, beta 0. */
enum told_way { TOLD_ELEMENTS, TOLD_WIDE, TOLD_PLAIN };

/* What is told of a tile to the warps that multiply, which have no registers for it. */
struct told_tile {
    alignas(16) uint32_t scale[2][SIDE]; /* of its lines, in the place of an exponent in a word */
    tile_place at;
    double *c; /* its first element */
    told_way way;
    bool is_usual; /* all of its results are */
    bool is_last;  /* of the block's */
};

/* What a kernel is given, and the block's shared memory: stages, residues that are kept. */
struct block_task {
    const CUtensorMap &a, &b;
    const td_panels &p;
    const tile_order &order;
    const td_residue_product &product;
    const td_finish &finish;
    int8_t *shared;
    told_tile &tile;
    unsigned kinds; /* of members */

    TD_INSIDE bool are_alike() const { return (kinds & (kinds - 1)) == 0; }
};

/* A thread's residues modulo the first moduli, in registers. */
typedef quad held_residues[HELD][CHUNKS];

/* A thread's residues modulo the other moduli, in shared memory: [modulus][chunk][thread]. */
template <class s> TD_DEVICE quad *kept_residues(const block_task &task, int t, int chunk)
{
    return reinterpret_cast<quad *>(task.shared + s::stages * s::stage_bytes) +
           ((t - HELD) * CHUNKS + chunk) * TEAM + threadIdx.x;
}

#endif

} // namespace

#endif

#endif
