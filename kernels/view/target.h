/* target.h - the part of C that a launch makes: where it is stored, which of its elements the
 * routine has, and which of them the engine leaves to the repair kernels. For host C and for
 * kernels. */
#ifndef TD_TARGET_H
#define TD_TARGET_H

#include "region.h"
#include "types.h"
#include "view.h"

/* What is known of all pairs of lines: nothing; or binary64 may have to scale the elements of some
 * for their sums (../measure/room.h); or it has room for all sums of elements as they are; or all
 * of C is there already, and nothing is to be done; or sums are of elements as they are since
 * nobody has measured a line, which a choice alone says. */
typedef enum { TD_ROOM_UNKNOWN, TD_ROOM_IF_SCALED, TD_ROOM, TD_MADE, TD_ROOM_UNMEASURED } td_room;

/* What a look at a few lines decides before anything else is done (../select/probe.h): residues are
 * worth their time; or cuBLAS makes C, or has made it, before other kernels begin; or sums in
 * binary64 are to make it. TD_RESIDUES is 0. */
typedef enum { TD_RESIDUES, TD_C_IS_MADE, TD_BINARY64_IS_BETTER } td_verdict;

/* A tile is TD_TILE x TD_TILE elements of C, and has TD_SUBTILES subtiles of TD_SUBTILE x
 * TD_SUBTILE. A strip is TD_TILE lines. */
enum { TD_TILE = 64, TD_SUBTILE = 4, TD_SUBTILES = TD_TILE / TD_SUBTILE * (TD_TILE / TD_SUBTILE) };

/* Elements of a tile that are worth exact sums of their own, instead of binary64, if their lines
 * are narrow (../measure/room.h): part of the modes' definition. Instead of a second exact product
 * (../crt/second_product.h) they change no bit. */
enum { TD_FEW = 8 };

/* What the list of a batch member's open tiles holds. Kernels count; all are 0 before the first. */
typedef struct {
    int32_t few;   /* tiles of few open elements: open_tile has them from its first entry on */
    int32_t dense; /* tiles of many open elements: open_tile has them from its last entry back */
    int32_t taken; /* dense tiles that blocks have taken up */
    int32_t sums;  /* elements of dense tiles that count as exact sums (td_list_tile) */

    /* A td_room. If it is not TD_ROOM_UNKNOWN, binary64 makes every element; it tells the room
     * that there is, and there are neither masks nor a list. */
    int32_t room;
} td_open_counts;

typedef struct {
    td_matrix c;
    int64_t c_offset;    /* of the part's first element, in elements */
    int m, n;            /* size of the part */
    int64_t batch_first; /* batch member of blockIdx.z == 0 */
    td_scalar alpha, beta;

    /* Kernels neither read nor write other elements of C, and pass over tiles without any. */
    td_region region;

    /* Elements of C that the engine left to the repair kernels: bit 4 j + i for element (i, j) of a
     * subtile. [batch][tile, by columns][TD_SUBTILES, by columns]. The engine writes every subtile
     * of a tile that the region meets; if open tiles are listed, those of listed tiles are
     * enough. */
    uint16_t *masks;

    td_open_counts *open_count; /* [batch]; NULL: nothing is listed, and any tile may be open */
    int32_t *open_tile;         /* [batch][tile]: numbers of open tiles, in any order */
    uint8_t *is_dense;          /* [batch][tile]; NULL: not recorded */
} td_target;

#endif
