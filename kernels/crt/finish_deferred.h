/* finish_deferred.h - makes the elements of C that the fused kernel deferred (deferred.h):
 * octets whose rounding it could not decide, and tiles whose lines are not usual. For crt.cu. */
#ifndef TD_FINISH_DEFERRED_H
#define TD_FINISH_DEFERRED_H

#include "finish_pairs.h"
#include "deferred.h"

/* Makes a certified element. The whole-number way is skipped if one test decides the rounding. */
template <class set>
TD_DEVICE_CALL void finish_deferred_element(const td_residue_product &product,
                                            const td_finish &finish, int row, int column)
{
    const int part = row % TD_SUBTILE;
    const subtile own = subtile_at(finish, row - part, column);
    const uint32_t scale = (uint32_t)(own.line[0][row].scale + own.line[1][column].scale) << 20;
    double z;
    const int8_t *const residue =
        product.residue + blockIdx.z * product.batch_step + (int64_t)column * product.ld + row;
    const bool is_sure =
        td_round_by_parts<set>([&](int t) { return (int)residue[t * product.plane_step]; }, &z);
    if (!is_sure || !store_rounded(own, z, scale, own.c + part))
        finish_elements_whole<TD_FINISH_ROUND, set>(product, finish, own.row, column, 1u << part);
}

/* Finds octet number `number` among those whose bits are set in the lanes' words. All lanes take
 * part; `before` counts the bits in the words of lower lanes. */
TD_DEVICE octet_place find_octet(uint64_t word, int before, int number)
{
    int first = 0; /* the last lane with no more than that before it */
    TD_UNROLL
    for (int step = 16; step > 0; step /= 2)
        if (__shfl_sync(~0u, before, first + step) <= number) first += step;
    const int rest = number - __shfl_sync(~0u, before, first);
    uint64_t bits = __shfl_sync(~0u, word, first);
    for (int i = 0; i < rest; i++) bits &= bits - 1;
    const int bit = __ffsll((long long)bits) - 1, in_tile = 2 * first + bit / 32;
    return octet_of(in_tile / OCTET_WORDS_OF_WARP, in_tile % OCTET_WORDS_OF_WARP, bit % 32);
}

/* Sums a count over the lower lanes, and over all lanes. */
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

/* A warp reads the words of one or two tiles, two words of a tile a lane. Then each lane makes
 * one element of the deferred octets at a time. */
template <class set>
TD_DEVICE void finish_deferred_octets(const td_residue_product &product, const td_finish &finish,
                                      int rows, int tiles)
{
    static_assert(OCTET_WORDS == 2 * 32, "of a warp");
    const int lane = (int)threadIdx.x % 32, warps = (int)(gridDim.x * blockDim.x) / 32,
              together = tiles > warps ? 2 : 1;
    const uint64_t *const word = reinterpret_cast<const uint64_t *>(product.deferred.word) +
                                 blockIdx.z * (int64_t)tiles * (OCTET_WORDS / 2) + lane;
    const auto is_fused = [&](int tile) {
        return tile < tiles &&
               td_region_meets(&finish.target.region, tile % rows * TD_FUSED_SIDE,
                               tile / rows * TD_FUSED_SIDE, TD_FUSED_SIDE, TD_FUSED_SIDE);
    };
    TD_UNROLL_N(1)
    for (int first = together * ((int)(blockIdx.x * blockDim.x + threadIdx.x) / 32); first < tiles;
         first += together * warps) {
        const auto word_of = [&](int tile) -> uint64_t {
            return is_fused(tile) ? word[(int64_t)tile * (OCTET_WORDS / 2)] : 0;
        };
        const uint64_t own[2] = {word_of(first), together > 1 ? word_of(first + 1) : 0};
        int all[2];
        const int before[2] = {count_before(__popcll((long long)own[0]), &all[0]),
                               count_before(__popcll((long long)own[1]), &all[1])};
        const int elements = OCTET * (all[0] + all[1]);
        TD_UNROLL_N(1)
        for (int number = lane; number - lane < elements; number += 32) {
            const int octet = number / OCTET, second = octet >= all[0];
            octet_place at[2];
            TD_UNROLL
            for (int i = 0; i < 2; i++)
                at[i] = find_octet(own[i], before[i], max(0, min(octet - i * all[0], all[i] - 1)));
            const int tile = first + second,
                      row = tile % rows * TD_FUSED_SIDE + at[second].row + number % OCTET,
                      column = tile / rows * TD_FUSED_SIDE + at[second].column;
            if (number < elements && row < finish.target.m &&
                td_region_has(&finish.target.region, row, column))
                finish_deferred_element<set>(product, finish, row, column);
            __syncwarp();
        }
    }
}

/* Makes deferred tiles by whole numbers, certificates included. */
TD_DEVICE void finish_deferred_tiles(const td_residue_product &product, const td_finish &finish,
                                     int moduli, int fused_rows, int fused_tiles)
{
    enum { PER_SIDE = TD_FUSED_SIDE / TD_TILE };
    const td_target &target = finish.target;
    const residue_source<false, 5, 5, 0> source = {product, moduli};
    const uint8_t *const is_tile_deferred =
        product.deferred.tile + blockIdx.z * (int64_t)fused_tiles;
    const auto is_deferred = [&](int tile) {
        const int rows = td_tiles(target.m), row = tile % rows, column = tile / rows;
        return td_region_meets(&target.region, row * TD_TILE, column * TD_TILE, TD_TILE, TD_TILE) &&
               is_tile_deferred[column / PER_SIDE * fused_rows + row / PER_SIDE] != 0;
    };
    const int all = td_tiles(target.m) * td_tiles(target.n), step = (int)gridDim.x;
    TD_UNROLL_N(1)
    for (int first = (int)blockIdx.x; first < all; first += step * TD_FINISH_THREADS) {
        const int own = first + (int)threadIdx.x * step;
        if (!__syncthreads_or(own < all && is_deferred(own))) continue;
        const int end = min(all, first + step * TD_FINISH_THREADS);
        TD_UNROLL_N(1)
        for (int tile = first; tile < end; tile += step)
            if (is_deferred(tile)) td_finish_tile<TD_FINISH_ROUND>(finish, source, tile);
    }
}

/* Grid: blocks, 1, batch member; TD_FINISH_THREADS threads. */
TD_DEVICE_CALL void finish_deferred(const td_residue_product &product, const td_finish &finish,
                                    int moduli)
{
    static_assert(TD_MOST_FUSED == TD_COMMON_MODULI + 2, "of three");
    const int rows = fused_tiles_along(finish.target.m),
              tiles = rows * fused_tiles_along(finish.target.n);
    if (moduli == TD_COMMON_MODULI)
        finish_deferred_octets<td_first_moduli<TD_COMMON_MODULI>>(product, finish, rows, tiles);
    else if (moduli == TD_COMMON_MODULI + 1)
        finish_deferred_octets<td_first_moduli<TD_COMMON_MODULI + 1>>(product, finish, rows, tiles);
    else
        finish_deferred_octets<td_first_moduli<TD_MOST_FUSED>>(product, finish, rows, tiles);
    finish_deferred_tiles(product, finish, moduli, rows, tiles);
}

#endif
