/* tiles.h - a product of matrices that are not in device memory, in parts that a device has room
 * for: tiles of C, each with all of k. Pure: no CUDA calls. */
#ifndef TD_TILES_H
#define TD_TILES_H

#include "problem.h"

/* Rows and columns of C that a tile has, but for the last ones of a row or column of tiles. */
typedef struct {
    int64_t m, n;
} td_tile_size;

/* Bytes of what a product reads and writes, packed: its columns follow each other, and each matrix
 * begins at a multiple of TD_TILE_ALIGNMENT bytes. */
enum { TD_TILE_ALIGNMENT = 256 };
double td_tile_bytes(const td_problem *p);

/* The largest tiles that take at most so many bytes: all of C, or else its longer side halved as
 * often as is needed, to multiples of `block` elements. m is 0 if tiles of one block take more. */
td_tile_size td_tile_fitting(const td_problem *p, int64_t block, double bytes);

/* Tiles of C, and number i of them, columns of tiles behind one another. */
int64_t td_tile_count(const td_problem *p, td_tile_size size);
td_problem td_tile_at(const td_problem *p, td_tile_size size, int64_t i);

#endif
