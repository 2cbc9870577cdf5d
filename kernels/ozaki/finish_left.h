/* finish_left.h - C where the kernel that multiplied has left it (left.h): octets of which it was not sure how they are rounded, and tiles whose
 * lines are not usual. For crt.cu. */
#ifndef TD_FINISH_LEFT_H
#define TD_FINISH_LEFT_H

#include "finish_double.h"
#include "left.h"
#include "resident.h"

/* An octet, all of it certified: a warp's lanes have one each, wherever they are, so all that is needed is loaded at once. */
template <int moduli>
TD_DEVICE_CALL void finish_octet_left(const td_residue_product &product, const td_finish &finish,
                                      int row, int column)
{
    enum {
        LIMBS = moduli <= SHORT_MODULI ? 4 : 5,
        COLUMNS = moduli <= SHORT_MODULI ? 3 : 5,
        QUADS = OCTET / TD_SUBTILE
    };
    const td_line *const a = finish.line[0] + blockIdx.z * finish.lines_of_member[0] + row,
                         *const b =
                             finish.line[1] + blockIdx.z * finish.lines_of_member[1] + column;
    const int rows = min((int)OCTET, finish.target.m - row);
    const int8_t *const residue =
        product.residue + blockIdx.z * product.batch_step + (int64_t)column * product.ld + row;
    const double alpha = td_scalar_value(finish.target.alpha),
                 beta = td_scalar_value(finish.target.beta);
    double *const c = td_target_c<double>(finish.target) + row + column * finish.target.c.ld;
    uint32_t words[QUADS][TD_GROUPS * TD_GROUP] = {}, scale[QUADS][TD_SUBTILE];
    double x[OCTET];
    unsigned unsure = 0;
    TD_UNROLL
    for (int t = 0; t < moduli; t++) {
        const uint2 own = *reinterpret_cast<const uint2 *>(residue + t * product.plane_step);
        words[0][t] = own.x;
        words[1][t] = own.y;
    }
    TD_UNROLL
    for (int i = 0; i < OCTET; i++)
        scale[i / TD_SUBTILE][i % TD_SUBTILE] = (uint32_t)(a[min(i, rows - 1)].scale + b->scale)
                                                << 20;
    TD_UNROLL
    for (int q = 0; q < QUADS; q++) {
        double own[TD_SUBTILE];
        unsure |= td_round_residues<moduli>(words[q], scale[q], own) << (TD_SUBTILE * q);
        TD_UNROLL
        for (int i = 0; i < TD_SUBTILE; i++) x[TD_SUBTILE * q + i] = own[i];
    }
    TD_UNROLL
    for (int i = 0; i < OCTET; i++)
        if (i < rows && !(unsure >> i & 1)) c[i] = td_axpby(alpha, x[i], beta, c + i);
    TD_ROLLED
    for (unsure &= (1u << rows) - 1; unsure; unsure &= unsure - 1) {
        const int i = __ffs((int)unsure) - 1;
        uint32_t own[TD_GROUPS * TD_GROUP];
        TD_UNROLL
        for (int t = 0; t < TD_GROUPS * TD_GROUP; t++) own[t] = words[i / TD_SUBTILE][t];
        const double z = td_wide_round64(whole_element<LIMBS, COLUMNS, moduli>(own, i % TD_SUBTILE),
                                         -(a[i].scale + b->scale));
        c[i] = td_axpby(alpha, z, beta, c + i);
    }
}

/* Of the octets whose bits are set in the lanes' words, the one with that number: its lane, and its bit. By all lanes; `before` counts those of
 * lower lanes. */
TD_DEVICE void find_octet(uint64_t word, int before, int number, int *lane, int *bit)
{
    int first = 0; /* the last lane with no more than that before it */
    TD_UNROLL
    for (int step = 16; step > 0; step /= 2)
        if (__shfl_sync(~0u, before, first + step) <= number) first += step;
    const int rest = number - __shfl_sync(~0u, before, first);
    uint64_t left = __shfl_sync(~0u, word, first);
    for (int i = 0; i < rest; i++) left &= left - 1;
    *lane = first;
    *bit = __ffsll((long long)left) - 1;
}

/* Counts of lower lanes, and of all. */
TD_DEVICE int count_before(int count, int *all)
{
    const int lane = (int)threadIdx.x % 32;
    int sum = count;
    TD_UNROLL
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(~0u, sum, d);
        if (lane >= d) sum += other;
    }
    *all = __shfl_sync(~0u, sum, 31);
    return sum - count;
}

/* A warp looks at a tile's words, two a lane, and then each lane takes one of their octets. */
template <int moduli>
TD_DEVICE void finish_octets_left(const td_residue_product &product, const td_finish &finish,
                                  const left_tiles &tiles)
{
    static_assert(LEFT_WORDS == 2 * 32, "of a warp");
    const int lane = (int)threadIdx.x % 32, warps = (int)(gridDim.x * blockDim.x) / 32;
    const uint64_t *const word = reinterpret_cast<const uint64_t *>(product.left.word) +
                                 (blockIdx.z * (int64_t)tiles.of_member) * (LEFT_WORDS / 2);
    TD_UNROLL_N(1)
    for (int tile = (int)(blockIdx.x * blockDim.x + threadIdx.x) / 32; tile < tiles.of_member;
         tile += warps) {
        const uint64_t own = word[(int64_t)tile * (LEFT_WORDS / 2) + lane];
        int all;
        const int before = count_before(__popcll((long long)own), &all);
        TD_UNROLL_N(1)
        for (int number = lane; number - lane < all; number += 32) {
            int from, bit;
            find_octet(own, before, min(number, all - 1), &from, &bit);
            const int in_tile = 2 * from + bit / 32;
            const octet_place at =
                octet_of(in_tile / LEFT_WORDS_OF_WARP, in_tile % LEFT_WORDS_OF_WARP, bit % 32);
            if (number < all)
                finish_octet_left<moduli>(product, finish, tile % tiles.rows * LEFT_SIDE + at.row,
                                          tile / tiles.rows * LEFT_SIDE + at.column);
            __syncwarp();
        }
    }
}

/* Tiles of which all is left, certificates included, by whole numbers. */
TD_DEVICE void finish_tiles_left(const td_residue_product &product, const td_finish &finish,
                                 int moduli, const left_tiles &tiles)
{
    enum { PER_SIDE = LEFT_SIDE / TD_TILE };
    const td_target &target = finish.target;
    const residue_source<5, 5, 0> source = {product, moduli};
    const uint8_t *const left = product.left.tile + blockIdx.z * (int64_t)tiles.of_member;
    const auto is_left = [&](int tile) {
        const int rows = td_tiles(target.m), row = tile % rows, column = tile / rows;
        return left[column / PER_SIDE * tiles.rows + row / PER_SIDE] != 0;
    };
    const int all = td_tiles(target.m) * td_tiles(target.n), step = (int)gridDim.x;
    TD_UNROLL_N(1)
    for (int first = (int)blockIdx.x; first < all; first += step * TD_FINISH_THREADS) {
        const int own = first + (int)threadIdx.x * step;
        if (!__syncthreads_or(own < all && is_left(own))) continue;
        const int end = min(all, first + step * TD_FINISH_THREADS);
        TD_UNROLL_N(1)
        for (int tile = first; tile < end; tile += step)
            if (is_left(tile)) td_finish_tile<TD_FINISH_ROUND>(finish, source, tile);
    }
}

/* Grid: blocks, 1, batch member; TD_FINISH_THREADS threads. */
TD_DEVICE_CALL void finish_left(const td_residue_product &product, const td_finish &finish,
                                int moduli)
{
    static_assert(TD_MOST_RESIDENT == TD_COMMON_MODULI + 2, "of three");
    const left_tiles tiles(finish.target.m, finish.target.n);
    if (moduli == TD_COMMON_MODULI)
        finish_octets_left<TD_COMMON_MODULI>(product, finish, tiles);
    else if (moduli == TD_COMMON_MODULI + 1)
        finish_octets_left<TD_COMMON_MODULI + 1>(product, finish, tiles);
    else
        finish_octets_left<TD_MOST_RESIDENT>(product, finish, tiles);
    finish_tiles_left(product, finish, moduli, tiles);
}

#endif
