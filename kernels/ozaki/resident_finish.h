/* resident_finish.h - C from a tile's residues, by the threads that have made them (crt_double.h); and the residues of what is left. For resident.cu. */
#ifndef TD_RESIDENT_FINISH_H
#define TD_RESIDENT_FINISH_H

#include "crt_double.h"
#include "resident_tile.h"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

namespace
{

/* Stores the residues of the lane's octet. */
template <int moduli>
TD_DEVICE void leave_octet(const block_task &task, int row, int column,
                           const uint32_t (&words)[2][moduli])
{
    const td_residue_product &product = task.product;
    int8_t *to = product.residue + task.tile.at.member * product.batch_step +
                 (int64_t)column * product.ld + row;
    TD_UNROLL
    for (int t = 0; t < moduli; t++, to += product.plane_step)
        *reinterpret_cast<uint2 *>(to) = make_uint2(words[0][t], words[1][t]);
}

/* Octets of a warp on their way to memory, by way of shared memory: [pair of rows][lane]. Of four neighbouring lanes, which have the same column,
 * each one stores the same pair of all four, APART rows apart. Lanes are swapped so that none of the four meet in a bank. */
enum { PAIRS = OCTET / 2, TOGETHER = 4, APART = 2 * OCTET, PAIRS_APART = CHUNKS * TEAM };
static_assert((int)PAIRS <= (int)schedule<TD_COMMON_MODULI>::kept, "in the place of what was read");

struct shared_pairs {
    double2 pair[TOGETHER];
    unsigned left;   /* bits of those that are not stored */
    int row, column; /* of the first one, in the tile */
};

TD_DEVICE void share_octets(const double (&x)[OCTET], quad *shared, int lane, shared_pairs &pairs)
{
    double2 *const staged = reinterpret_cast<double2 *>(shared) - lane;
    const int own = lane % TOGETHER;
    __syncwarp(); /* what was there has been read */
    TD_UNROLL
    for (int i = 0; i < PAIRS; i++)
        staged[i * PAIRS_APART + (lane ^ i)] = make_double2(x[2 * i], x[2 * i + 1]);
    __syncwarp();
    TD_UNROLL
    for (int i = 0; i < TOGETHER; i++)
        pairs.pair[i] = staged[own * PAIRS_APART + lane - own + (i ^ own)];
}

TD_DEVICE void store_pairs(double *c, const shared_pairs &pairs)
{
    TD_UNROLL
    for (int i = 0; i < TOGETHER; i++)
        if (!(pairs.left >> i & 1)) *reinterpret_cast<double2 *>(c + APART * i) = pairs.pair[i];
}

TD_DEVICE void store_scaled_pairs(const td_target &target, double *c, const shared_pairs &pairs)
{
    const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
    double2 c0[TOGETHER] = {};
    TD_UNROLL
    for (int i = 0; i < TOGETHER; i++)
        if (beta != 0.0) c0[i] = *reinterpret_cast<const double2 *>(c + APART * i);
    TD_UNROLL
    for (int i = 0; i < TOGETHER; i++) {
        const double2 x = {td_axpby(alpha, pairs.pair[i].x, beta, &c0[i].x),
                           td_axpby(alpha, pairs.pair[i].y, beta, &c0[i].y)};
        if (!(pairs.left >> i & 1)) *reinterpret_cast<double2 *>(c + APART * i) = x;
    }
}

/* Of a tile that is not whole, or that does not stand right; it has so many rows and columns. */
TD_DEVICE void store_elements(const td_target &target, int rows, int columns, double *c,
                              const shared_pairs &pairs)
{
    const double alpha = td_scalar_value(target.alpha), beta = td_scalar_value(target.beta);
    TD_UNROLL
    for (int i = 0; i < TOGETHER; i++) {
        const int left = rows - pairs.row - APART * i;
        double *const at = c + APART * i;
        if ((pairs.left >> i & 1) || pairs.column >= columns) continue;
        if (left > 0) *at = td_axpby(alpha, pairs.pair[i].x, beta, at);
        if (left > 1) at[1] = td_axpby(alpha, pairs.pair[i].y, beta, at + 1);
    }
}

TD_DEVICE void store(const block_task &task, const shared_pairs &pairs)
{
    const td_target &target = task.finish.target;
    const told_tile &tile = task.tile;
    double *const c = tile.c + pairs.row + (int64_t)pairs.column * target.c.ld;
    if (tile.is_plain)
        store_pairs(c, pairs);
    else if (tile.is_wide)
        store_scaled_pairs(target, c, pairs);
    else
        store_elements(target, target.m - tile.at.row, target.n - tile.at.column, c, pairs);
}

/* C of one octet of every lane of a warp, or its residues. Rows past the end are zeros, of which it is never sure. */
template <int half, int moduli>
TD_DEVICE void finish_octets(const block_task &task, const quad (&residues)[moduli], int chunk,
                             quad *shared)
{
    const told_tile &tile = task.tile;
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const octet_place at = octet_of(warp, 2 * chunk + half, lane);
    const uint32_t scale_b = tile.scale[1][at.column];
    uint32_t words[2][moduli];
    bool are_sure = tile.is_usual;
    double x[OCTET];
    TD_UNROLL
    for (int i = 0; i < 2; i++) {
        const quad scales = *reinterpret_cast<const quad *>(&tile.scale[0][at.row + 4 * i]);
        TD_UNROLL
        for (int t = 0; t < moduli; t++) words[i][t] = residues[t].of[2 * half + i];
        bool is_sure[TD_SUBTILE];
        td_round_quad<moduli>(words[i], scales.of, scale_b, x + TD_SUBTILE * i, is_sure);
        TD_UNROLL
        for (int e = 0; e < TD_SUBTILE; e++) are_sure &= is_sure[e];
    }
    const int row = tile.at.row + at.row, column = tile.at.column + at.column;
    const bool is_left = !are_sure && row < task.finish.target.m && column < task.finish.target.n;
    const unsigned left = __ballot_sync(0xffffffffu, is_left);
    if (is_left) leave_octet(task, row, column, words);
    shared_pairs pairs = {
        {}, left >> (lane & ~(TOGETHER - 1)), at.row - lane % TOGETHER * (APART - 2), at.column};
    share_octets(x, shared, lane, pairs);
    store(task, pairs);
    if (lane == 0)
        task.product.left.word[(int64_t)tile.at.number * LEFT_WORDS + warp * LEFT_WORDS_OF_WARP +
                               2 * chunk + half] = tile.is_usual ? left : 0;
}

/* Chunks by the same few instructions, too, which work on the first ones. */
template <class s> TD_DEVICE void finish_tile(const block_task &task, held_residues &held)
{
    TD_UNROLL_N(1)
    for (int first = 0; first < CHUNKS; first += CHUNKS_AT_ONCE) {
        TD_UNROLL
        for (int i = 0; i < CHUNKS_AT_ONCE; i++) {
            const int c = first + i;
            quad all[s::moduli];
            TD_UNROLL
            for (int t = 0; t < s::kept; t++) all[t] = *kept_residues<s>(task, t, c);
            TD_UNROLL
            for (int t = 0; t < HELD; t++) all[s::kept + t] = held[t][i];
            finish_octets<0>(task, all, c, kept_residues<s>(task, 0, c));
            finish_octets<1>(task, all, c, kept_residues<s>(task, 0, c));
        }
        TD_UNROLL
        for (int t = 0; t < HELD; t++) {
            TD_UNROLL
            for (int i = 0; i + CHUNKS_AT_ONCE < CHUNKS; i++)
                held[t][i] = held[t][i + CHUNKS_AT_ONCE];
        }
    }
}

} // namespace

#endif

#endif
