/* deferred.h - which elements of C the fused kernel defers to the next kernel: whole tiles, and
 * octets, each of which is 8 neighbouring rows of a column. For kernels. */
#ifndef TD_DEFERRED_H
#define TD_DEFERRED_H

#include "crt.h"

/* A tile of TD_FUSED_SIDE x TD_FUSED_SIDE elements has OCTET_WORDS words of 32 bits, and a bit for
 * each of its octets. Bit `lane` of a word belongs to an octet of that lane: a warp's word covers
 * every second octet of a group of 64 rows, in eight columns. The OCTET_WORDS_OF_WARP words of a
 * warp are neighbours. fused.cu writes the words; they are valid until finish_deferred.h has read
 * them. */
enum {
    OCTET = 8,
    OCTET_WORDS = TD_FUSED_SIDE * TD_FUSED_SIDE / (32 * OCTET),
    OCTET_WORDS_OF_WARP = 8
};

TD_HOST_DEVICE int fused_tiles_along(int64_t lines)
{
    return (int)((lines + TD_FUSED_SIDE - 1) / TD_FUSED_SIDE);
}

/* First row and column, within its tile, of the octet that belongs to a lane's bit of the warp's
 * word number `word`. */
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
