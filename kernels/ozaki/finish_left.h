/* finish_left.h - C where the kernel that multiplied has left it (left.h): octets of which it was not sure how they are rounded, and tiles whose
 * lines are not usual. For crt.cu. */
#ifndef TD_FINISH_LEFT_H
#define TD_FINISH_LEFT_H

#include "finish_double.h"
#include "left.h"
#include "resident.h"

/* An octet, all of it certified: a warp's lanes have one each, wherever they are, so its residues and scales are loaded at once. */
template <int moduli>
TD_DEVICE_CALL void finish_octet_left(const td_residue_product &product, const td_finish &finish,
                                      int row, int column)
{
    enum { QUADS = OCTET / TD_SUBTILE };
    const int last = finish.target.m - 1;
    const td_line *const a = finish.line[0] + blockIdx.z * finish.lines_of_member[0];
    const uint32_t scale_b =
        (uint32_t)finish.line[1][blockIdx.z * finish.lines_of_member[1] + column].scale << 20;
    const int8_t *const from =
        product.residue + blockIdx.z * product.batch_step + (int64_t)column * product.ld + row;
    column_residues<moduli> residues[QUADS];
    uint32_t scale_a[QUADS][TD_SUBTILE];
    TD_UNROLL
    for (int t = 0; t < moduli; t++) {
        const uint2 own = *reinterpret_cast<const uint2 *>(from + t * product.plane_step);
        residues[0].of[t] = own.x;
        residues[1].of[t] = own.y;
    }
    TD_UNROLL
    for (int i = 0; i < OCTET; i++)
        scale_a[i / TD_SUBTILE][i % TD_SUBTILE] = (uint32_t)a[min(row + i, last)].scale << 20;
    TD_UNROLL
    for (int q = 0; q < QUADS; q++) {
        const subtile own = subtile_at(finish, row + q * TD_SUBTILE, column);
        double c0[TD_SUBTILE] = {};
        if (own.rows <= 0) continue;
        if (own.beta != 0.0) td_column::load({own.c, own.rows}, c0);
        const unsigned open =
            finish_column_double<moduli>(own, residues[q], scale_a[q], scale_b, c0, 0, own.c) &
            ((1u << own.rows) - 1);
        if (open) finish_elements_whole<moduli>(product, finish, own.row, column, open);
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
                                  int rows, int tiles)
{
    static_assert(LEFT_WORDS == 2 * 32, "of a warp");
    const int lane = (int)threadIdx.x % 32, warps = (int)(gridDim.x * blockDim.x) / 32;
    const uint64_t *const word = reinterpret_cast<const uint64_t *>(product.left.word) +
                                 blockIdx.z * (int64_t)tiles * (LEFT_WORDS / 2);
    TD_UNROLL_N(1)
    for (int tile = (int)(blockIdx.x * blockDim.x + threadIdx.x) / 32; tile < tiles;
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
                finish_octet_left<moduli>(product, finish, tile % rows * LEFT_SIDE + at.row,
                                          tile / rows * LEFT_SIDE + at.column);
            __syncwarp();
        }
    }
}

/* Tiles of which all is left, certificates included, by whole numbers. */
TD_DEVICE void finish_tiles_left(const td_residue_product &product, const td_finish &finish,
                                 int moduli, int left_rows, int left_tiles)
{
    enum { PER_SIDE = LEFT_SIDE / TD_TILE };
    const td_target &target = finish.target;
    const residue_source<5, 5, 0> source = {product, moduli};
    const uint8_t *const left = product.left.tile + blockIdx.z * (int64_t)left_tiles;
    const auto is_left = [&](int tile) {
        const int rows = td_tiles(target.m), row = tile % rows, column = tile / rows;
        return left[column / PER_SIDE * left_rows + row / PER_SIDE] != 0;
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
    const int rows = left_tiles_along(finish.target.m),
              tiles = rows * left_tiles_along(finish.target.n);
    if (moduli == TD_COMMON_MODULI)
        finish_octets_left<TD_COMMON_MODULI>(product, finish, rows, tiles);
    else if (moduli == TD_COMMON_MODULI + 1)
        finish_octets_left<TD_COMMON_MODULI + 1>(product, finish, rows, tiles);
    else
        finish_octets_left<TD_MOST_RESIDENT>(product, finish, rows, tiles);
    finish_tiles_left(product, finish, moduli, rows, tiles);
}

#endif
