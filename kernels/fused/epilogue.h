/* epilogue.h - C from a tile's residues, by the threads that have made them (../crt/pairs.h); and
 * the residues of what is deferred. For fused.cu. */
#ifndef TD_FUSED_EPILOGUE_H
#define TD_FUSED_EPILOGUE_H

#include "../crt/pairs.h"
#include "tile.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

namespace
{

TD_DEVICE int warp_of_team() { return (int)threadIdx.x / 32; }
TD_DEVICE int lane_of_warp() { return (int)threadIdx.x % 32; }

/* Stores the residues of the lane's octet. */
template <int moduli>
TD_DEVICE void defer_octet(const block_task &task, int row, int column,
                           const uint32_t (&words)[2][moduli])
{
    const td_residue_product &product = task.product;
    int8_t *to = product.residue + task.tile.at.member * product.batch_step +
                 (int64_t)column * product.ld + row;
    TD_UNROLL
    for (int t = 0; t < moduli; t++, to += product.plane_step)
        *reinterpret_cast<uint2 *>(to) = make_uint2(words[0][t], words[1][t]);
}

/* Octets of a warp on their way to memory, by way of shared memory: [pair of rows][lane]. Of four
 * neighbouring lanes, which have the same column, each one stores the same pair of all four, APART
 * rows apart. Lanes are swapped so that none of the four meet in a bank. */
enum { PAIRS = OCTET / 2, TOGETHER = 4, APART = 2 * OCTET, PAIRS_APART = CHUNKS * TEAM };
static_assert((int)PAIRS <= (int)schedule<TD_COMMON_MODULI>::kept, "in the place of what was read");

struct shared_pairs {
    double2 pair[TOGETHER];
    unsigned deferred; /* bits of those that are not stored */
};

TD_DEVICE void share_octets(const double (&x)[OCTET], quad *kept, shared_pairs &pairs)
{
    const int own = lane_of_warp() % TOGETHER;
    double2 *const staged = reinterpret_cast<double2 *>(kept);
    const double2 *const mine = staged + own * PAIRS_APART;
    __syncwarp(); /* what was there has been read */
    TD_UNROLL
    for (int i = 0; i < PAIRS; i++)
        staged[i * PAIRS_APART + ((own ^ i) - own)] = make_double2(x[2 * i], x[2 * i + 1]);
    __syncwarp();
    TD_UNROLL
    for (int i = 0; i < TOGETHER; i++) pairs.pair[i] = mine[(own ^ i) - own];
}

/* The lane's pairs of C from c on. */
TD_DEVICE void store_pairs(double *c, const shared_pairs &pairs)
{
    TD_UNROLL
    for (int i = 0; i < TOGETHER; i++)
        if (!(pairs.deferred >> i & 1)) *reinterpret_cast<double2 *>(c + APART * i) = pairs.pair[i];
}

/* What was there, if it counts. */
TD_DEVICE void load_pairs(const td_target &target, const double *c, double2 (&c0)[TOGETHER])
{
    const double beta = td_scalar_value(target.beta);
    TD_UNROLL
    for (int i = 0; i < TOGETHER; i++)
        if (beta != 0.0) c0[i] = *reinterpret_cast<const double2 *>(c + APART * i);
}

TD_DEVICE void scale_pairs(const td_target &target, const double2 (&c0)[TOGETHER],
                           shared_pairs &pairs)
{
    const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
    TD_UNROLL
    for (int i = 0; i < TOGETHER; i++)
        pairs.pair[i] = {td_axpby(alpha, pairs.pair[i].x, beta, &c0[i].x),
                         td_axpby(alpha, pairs.pair[i].y, beta, &c0[i].y)};
}

/* Of a tile that is not whole, or that does not stand right: those rows of one of C's columns that
 * the region has. c is in row `row`. */
TD_DEVICE void store_elements(const td_target &target, int row, int column, double *c,
                              const shared_pairs &pairs)
{
    const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
    const td_row_range rows = td_region_rows(&target.region, target.m, column);
    const int first = (int)rows.first - row, end = (int)rows.end - row;
    TD_UNROLL
    for (int i = 0; i < TOGETHER; i++) {
        const int own = APART * i;
        double *const at = c + own;
        if (pairs.deferred >> i & 1) continue;
        if (first <= own && own < end) *at = td_axpby(alpha, pairs.pair[i].x, beta, at);
        if (first <= own + 1 && own + 1 < end)
            at[1] = td_axpby(alpha, pairs.pair[i].y, beta, at + 1);
    }
}

/* What a lane knows all the time of its tile, and of the group of rows that comes next. */
struct lane_tile {
    double *c;                /* where the lane stores of the group's first octet */
    const uint32_t *scale[2]; /* of that octet's rows, and of its column */
    quad *kept;               /* its residues in shared memory */
    int before;               /* octets that each lane has before it */
    bool is_whole, is_usual;
    uint32_t deferred; /* lanes whose octet with this lane's number is deferred */
};

/* The first row of the pairs that the lane stores, its own octet being there. */
TD_DEVICE int row_of_pairs(const octet_place &at)
{
    return at.row - lane_of_warp() % TOGETHER * (APART - 2);
}

template <class s> TD_DEVICE lane_tile first_of_tile(const block_task &task)
{
    const told_tile &tile = task.tile;
    const octet_place at = octet_of(warp_of_team(), 0, lane_of_warp());
    return {tile.c + row_of_pairs(at) + (int64_t)at.column * task.finish.target.c.ld,
            {&tile.scale[0][at.row], &tile.scale[1][at.column]},
            kept_residues<s>(task, HELD, 0),
            0,
            tile.way != TOLD_ELEMENTS,
            tile.is_usual,
            0};
}

TD_DEVICE void go_to_next_group(lane_tile &own)
{
    own.c += TD_LINE_GROUP;
    own.scale[0] += TD_LINE_GROUP;
    own.kept += CHUNKS_OF_GROUP * TEAM;
    own.before += CHUNKS_OF_GROUP * TD_LANE_LINES / OCTET;
}

/* The octet with that number of the group's, from the lane's octet of a tile on. */
TD_DEVICE octet_place place_in_tile(const lane_tile &own, int number)
{
    return octet_of(warp_of_team(), own.before + number, lane_of_warp());
}

/* Where the lane stores of the octet with that number of the group's. */
TD_DEVICE double *place_of_pairs(const td_target &target, const lane_tile &own, int number)
{
    const octet_place beside = octet_of(0, number, 0);
    return td_global(own.c + beside.row + beside.column * target.c.ld);
}

/* Stores the lane's pair of the octet with that number of the group's, in a tile that C may not
 * have all of. */
TD_DEVICE void store_part(const block_task &task, const lane_tile &own, int number,
                          const shared_pairs &pairs)
{
    const td_target &target = task.finish.target;
    const octet_place at = place_in_tile(own, number);
    const int row = task.tile.at.row + row_of_pairs(at), column = task.tile.at.column + at.column;
    if (column < target.n)
        store_elements(target, row, column, place_of_pairs(target, own, number), pairs);
}

/* Which lanes' octets are deferred, whose residues are stored. */
template <int moduli>
TD_DEVICE unsigned defer_octets(const block_task &task, const lane_tile &own, int number,
                                bool are_sure, const uint32_t (&words)[2][moduli])
{
    const unsigned unsure = __ballot_sync(0xffffffffu, !are_sure);
    if (!unsure) return 0;
    const octet_place at = place_in_tile(own, number);
    const int row = task.tile.at.row + at.row, column = task.tile.at.column + at.column;
    const bool is_deferred =
        !are_sure && row < task.finish.target.m && column < task.finish.target.n;
    if (is_deferred) defer_octet(task, row, column, words);
    return __ballot_sync(0xffffffffu, is_deferred);
}

/* C of one octet of every lane of a warp, half of a chunk of the group, or its residues. What was
 * there is loaded as soon as there are registers for it. */
template <int half, bool is_scaled, int moduli>
TD_DEVICE void finish_octets(const block_task &task, const quad (&residues)[moduli], int chunk,
                             lane_tile &own)
{
    const td_target &target = task.finish.target;
    const int number = 2 * chunk + half;
    const octet_place beside = octet_of(0, number, 0);
    const uint32_t scale_b = own.scale[1][beside.column];
    uint32_t words[2][moduli];
    unsigned unsure = 0;
    double x[OCTET];
    TD_UNROLL
    for (int i = 0; i < 2; i++) {
        const quad scales =
            *reinterpret_cast<const quad *>(own.scale[0] + beside.row + TD_SUBTILE * i);
        TD_UNROLL
        for (int t = 0; t < moduli; t++) words[i][t] = residues[t].of[2 * half + i];
        bool is_sure[TD_SUBTILE];
        td_round_quad<td_first_moduli<moduli>>(words[i], scales.of, scale_b, x + TD_SUBTILE * i,
                                               is_sure);
        unsigned of_quad = 0;
        TD_UNROLL
        for (int e = 0; e < TD_SUBTILE; e++) of_quad |= is_sure[e] ? 0u : 1u << e;
        if (of_quad)
            of_quad =
                td_without_zeros<td_first_moduli<moduli>>(words[i], of_quad, x + TD_SUBTILE * i);
        unsure |= of_quad;
    }
    const bool are_sure = own.is_usual && unsure == 0;
    const unsigned deferred = defer_octets(task, own, number, are_sure, words);
    if (lane_of_warp() == own.before + number) own.deferred = deferred;
    shared_pairs pairs = {{}, deferred >> (lane_of_warp() & ~(TOGETHER - 1))};
    double *const c = place_of_pairs(target, own, number);
    double2 c0[TOGETHER] = {};
    if (is_scaled) load_pairs(target, c, c0);
    share_octets(x, own.kept + chunk * TEAM, pairs);
    if (is_scaled) scale_pairs(target, c0, pairs);
    if (is_scaled || own.is_whole)
        store_pairs(c, pairs);
    else
        store_part(task, own, number, pairs);
}

/* Groups by the same few instructions, which work on the first one's residues. is_scaled: of a tile
 * told to be TOLD_WIDE. */
template <class s, bool is_scaled>
TD_DEVICE void finish_groups(const block_task &task, held_residues &held)
{
    lane_tile own = first_of_tile<s>(task);
    TD_UNROLL_N(1)
    for (int group = 0; group < CHUNKS / CHUNKS_OF_GROUP; group++, go_to_next_group(own)) {
        TD_UNROLL
        for (int c = 0; c < CHUNKS_OF_GROUP; c++) {
            quad all[s::moduli];
            TD_UNROLL
            for (int t = 0; t < s::kept; t++) all[HELD + t] = own.kept[(t * CHUNKS + c) * TEAM];
            TD_UNROLL
            for (int t = 0; t < HELD; t++) all[t] = held[t][c];
            finish_octets<0, is_scaled>(task, all, c, own);
            finish_octets<1, is_scaled>(task, all, c, own);
        }
        TD_UNROLL
        for (int t = 0; t < HELD; t++) {
            TD_UNROLL
            for (int c = 0; c + CHUNKS_OF_GROUP < CHUNKS; c++)
                held[t][c] = held[t][c + CHUNKS_OF_GROUP];
        }
    }
    if (lane_of_warp() < OCTET_WORDS_OF_WARP)
        task.product.deferred.word[(int64_t)task.tile.at.number * OCTET_WORDS +
                                   warp_of_team() * OCTET_WORDS_OF_WARP + lane_of_warp()] =
            own.is_usual ? own.deferred : 0;
}

template <class s> TD_DEVICE void finish_tile(const block_task &task, held_residues &held)
{
    if (task.tile.way == TOLD_WIDE)
        finish_groups<s, true>(task, held);
    else
        finish_groups<s, false>(task, held);
}

} // namespace

#endif

#endif
