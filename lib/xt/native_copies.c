#include "native_copies.h"

#include "../routine/sizes.h"

/* A solve copies its triangle for each block of vectors, and each block of X to solve, back, and
 * for each block below it. */
static td_native_copies of_solve(const td_problem *solve, int64_t block)
{
    const bool is_left = solve->side == TD_LEFT;
    const int64_t order = td_ceil_div(is_left ? solve->m : solve->n, block),
                  vectors = td_ceil_div(is_left ? solve->n : solve->m, block);
    return (td_native_copies){.read = {(double)vectors},
                              .written = 2.0 + (double)(order - 1) / 2.0};
}

/* Tiles of C that read a block of rows of op(A), or of columns of op(B), in the mean. A tile on a
 * triangle's diagonal reads a matrix that is both factors once. */
static double tiles_of_lines(const td_product *p, int which, bool is_first, int64_t block)
{
    const int64_t blocks = td_ceil_div(which == 0 ? p->n : p->m, block);
    if (p->region == TD_REGION_ALL) return (double)blocks;
    return (double)(is_first ? blocks + 1 : blocks - 1) / 2.0;
}

/* Where one factor is stored in a triangle nothing is known but that each matrix is copied. */
static td_native_copies of_product(const td_tile *whole, int64_t block)
{
    const td_product *p = &whole->product;
    const td_tile_memory memory = td_tile_memory_of(whole);
    const bool is_known =
        p->form_a.storage == TD_STORED_FULL && p->form_b.storage == TD_STORED_FULL;
    td_native_copies copies = {.written = memory.is_updated ? 2.0 : 1.0};
    for (int i = 0; i < TD_TILE_FACTORS; i++) {
        const int first = td_tile_first_copy(&memory, i);
        if (memory.read[i].extent.rows == 0) continue;
        if (is_known)
            copies.read[first] += tiles_of_lines(p, i % 2, first == i, block);
        else if (first == i)
            copies.read[i] = 1.0;
    }
    return copies;
}

td_native_copies td_native_copies_of(const td_tile *whole, int64_t block)
{
    return whole->is_solve ? of_solve(&whole->solve, block) : of_product(whole, block);
}
