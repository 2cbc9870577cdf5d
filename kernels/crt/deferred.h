/* deferred.h - notes of what a kernel leaves of C to the next one: whole tiles, and octets, 8 neighbouring rows of a column. For kernels. */
#ifndef TD_DEFERRED_H
#define TD_DEFERRED_H

#include "crt.h"

/* A tile has LEFT_WORDS words, of which each has an octet of every lane of a warp: every second one of a group of 64 rows, of every column of
 * eight. A warp's LEFT_WORDS_OF_WARP are neighbours. */
enum {
    LEFT_SIDE = TD_FUSED_SIDE,
    OCTET = 8,
    LEFT_WORDS = LEFT_SIDE * LEFT_SIDE / (32 * OCTET),
    LEFT_WORDS_OF_WARP = 8
};

TD_HOST_DEVICE int left_tiles_along(int64_t lines)
{
    return (int)((lines + LEFT_SIDE - 1) / LEFT_SIDE);
}

/* Where the octet of a lane is in its tile; `word` is the warp's. */
struct octet_place {
    int row, column;
};
TD_DEVICE octet_place octet_of(int warp, int word, int lane)
{
    const int group = word / 4, eighth = word / 2 % 2, half = word % 2;
    return {TD_TILE * group + 2 * OCTET * (lane % 4) + OCTET * half,
            16 * warp + 8 * eighth + lane / 4};
}

#endif
