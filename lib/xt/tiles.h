/* tiles.h - a routine whose matrices are not in device memory, in tiles that a device has room for.
 * What is cut is the product that the routine is (../routine/lower.h), or a triangular solve, or a
 * stage of one. A tile is such a product or solve of its own: rows and columns of the result, each
 * with all of k. Pure: no CUDA calls. */
#ifndef TD_TILES_H
#define TD_TILES_H

#include "../routine/product.h"

/* A product or, if is_solve, a triangular solve. If sees_whole, tiles of the product are its parts
 * (td_product.whole): all of its factors are where a tile is made. What they are cut from stays
 * where it is as long as they do. */
typedef struct {
    bool is_solve, sees_whole;
    union {
        td_problem solve;
        td_product product;
    };
} td_tile;

/* Sets *whole to what p is cut as; false if p's kind of routine has no tiles. */
bool td_tile_whole(const td_problem *p, td_tile *whole);

/* What cannot be cut small enough is done in stages, one after another. On level 0 there is one
 * stage, the whole; the stages of each further level are smaller. A triangular solve becomes
 * systems with parts of A's diagonal and products between them, which together have the steps of
 * the solve (../routine/solve_steps.h), and so its bits. The update of rank 2k with a Hermitian
 * result becomes the two products that it adds up. All else has level 0 alone. */
int td_tile_levels(const td_tile *whole);
int64_t td_tile_stages(const td_tile *whole, int level);
td_tile td_tile_stage(const td_tile *whole, int level, int64_t i);

/* Rows and columns of the result that a tile has, but for the last ones of a row or column of
 * tiles. */
typedef struct {
    int64_t m, n;
} td_tile_size;

/* Elements of a matrix that a tile reads or writes: those of the extent that are in the region,
 * whose diagonal begins at the extent's first element. */
typedef struct {
    td_extent extent;
    td_region_kind region;
} td_tile_part;

/* Factors are read, those of the whole product if the tile sees it; the result is written;
 * is_updated: the result is read, too. No rows: nothing is read. */
enum { TD_TILE_FACTORS = 4 };
typedef struct {
    td_tile_part read[TD_TILE_FACTORS], written;
    bool is_updated;
    int64_t element_bytes;
} td_tile_memory;
td_tile_memory td_tile_memory_of(const td_tile *tile);

/* True if two parts are the same elements of the same matrix. */
bool td_tile_is_same(const td_tile_part *a, const td_tile_part *b);

/* The first factor that is the same part as factor i: i if there is none before. */
int td_tile_first_copy(const td_tile_memory *memory, int i);

/* The matrix of a tile that `written` is of. */
td_matrix *td_tile_result(td_tile *tile);

/* Has a tile's matrices be copies elsewhere: read[i] at read_at[i], the result at written_at.
 * *whole becomes what the tile is then a part of, as long as the tile is used. */
void td_tile_place(td_tile *tile, const td_tile_memory *memory,
                   const td_matrix read_at[TD_TILE_FACTORS], td_matrix written_at,
                   td_product *whole);

/* Bytes of all that, packed: columns of an extent follow each other, and each extent begins at a
 * multiple of TD_TILE_ALIGNMENT bytes. */
enum { TD_TILE_ALIGNMENT = 256 };
double td_tile_bytes(const td_tile *tile);

/* The largest tiles that take at most so many bytes: all of the result, or else its longer side
 * halved as often as is needed, to multiples of `block` elements. Tiles of a triangle are squares.
 * Where A is stored in one triangle, every tile has all of it: then the result's vectors are cut
 * alone, its columns where A is on the left, else its rows. The update of rank 2k with a Hermitian
 * result has one tile, as each element needs its mirror image. m is 0 if there are no tiles so
 * small. */
td_tile_size td_tile_fitting(const td_tile *whole, int64_t block, double bytes);

/* Smaller ones, by which so many devices have work: at least so many tiles, if there are as many of
 * a multiple of `block` elements. Tiles of a product that see the whole have all factors in any
 * case: they are as many strips of it. Those of a solve then stay as they are, as its vectors
 * decide what becomes of one another. */
td_tile_size td_tile_spread(const td_tile *whole, td_tile_size size, int64_t block, int64_t tiles);

/* Tiles that have elements of the result, and number i of them, columns of tiles behind one
 * another. */
int64_t td_tile_count(const td_tile *whole, td_tile_size size);
td_tile td_tile_at(const td_tile *whole, td_tile_size size, int64_t i);

#endif
