/* prices.h - what the ways to make a tile of C cost beside each other, by which the data choose on
 * the device. For host C and for kernels. */
#ifndef TD_SELECT_PRICES_H
#define TD_SELECT_PRICES_H

#include <stdint.h>

/* Prices of a tile of TD_TILE x TD_TILE elements of C, all in one unit. Those of moduli are for
 * data of which no block of zeros is passed over, and stand for all that residues take. */
typedef struct {
    int32_t binary64; /* the tile's sums in binary64 */

    /* What a tile is of cuBLAS's own product, which makes C if all of it is left to binary64; 0:
     * binary64 tiles do. */
    int32_t native;

    /* What is left to do of a tile if all of C is left to binary64 once lines are measured: by
     * whoever makes C then, of data that are no better for cuBLAS than others. */
    int32_t late;

    int32_t sums; /* TD_FEW exact sums, of one element each */
    int32_t few;  /* residues modulo TD_COMMON_MODULI numbers */
    int32_t more; /* each further modulus */
    int32_t wide; /* what numbers of wide_from moduli or more cost besides, as they are longer */
    int32_t wide_from;
    int32_t apart;    /* what kernels apart cost besides, where one could make products alone */
    int32_t estimate; /* the estimate of abs(A)abs(B) */
    int32_t measure;  /* measuring all lines */

    /* Not 0: native products take so long that cuBLAS may also make C where all of it is left to
     * binary64 late, after the estimate. */
    int32_t has_late_branch;

    /* Not 0: cuBLAS's product takes less time than sums in binary64 do, so that it may make C late
     * in the body of a condition, too (../../lib/engines/ozaki/probe.c). */
    int32_t has_inner_branch;

    /* Not 0: if all of C is left to binary64, sums are of the elements as they are, like native
     * ones, which may over- or underflow. 0: elements are scaled where that could happen. */
    int32_t is_unscaled;

    /* Not 0: a probe, which counts blocks of zeros, has said that residues pay. So an estimate is
     * made, even where it would not pay without such blocks. */
    int32_t is_probed;
} td_prices;

#endif
