/* block_tile.h - how the threads of a block that measures share a tile of lines in shared memory: a
 * warp has some lines, and each of its lanes a part of a line's chunk. */
#ifndef TD_BLOCK_TILE_H
#define TD_BLOCK_TILE_H

#include "../view/line_tile.h"
#include "measure.h"

enum { THREADS = 256, PARTS = THREADS / TD_TILE, PER_THREAD = TD_CHUNK / PARTS };

/* As it is in shared memory. */
typedef td_line_tile<TD_TILE, TD_CHUNK, THREADS> tile_shape;

/* A warp has so many lines, a part of a chunk of each a lane. */
enum { WARP_LINES = 32 / PARTS, WARPS = THREADS / 32 };
static_assert((int)WARP_LINES * WARPS == (int)TD_TILE, "warps have all lines of a tile");

TD_DEVICE uint64_t magnitude(uint64_t bits) { return bits & ~(1ull << 63); }
TD_DEVICE uint32_t upper_half(uint64_t bits) { return (uint32_t)(bits >> 32) & 0x7fffffffu; }

#endif
