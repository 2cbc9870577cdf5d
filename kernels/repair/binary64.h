/* binary64.h - sums of products in binary64, in an order that is the same on every device: k is cut
 * into blocks of td_binary64_block elements, each of which is one chain of FMAs in order, and the
 * blocks' sums are added in order: with b elements in a block, b + k / b roundings, which are fewer
 * than 4 sqrt(k). For kernels.
 *
 * Where lines were measured, elements may count in units that make the largest of each line
 * 2^TD_BINARY64_TOP: products then do not overflow nor, if td_fits_binary64, lose bits that
 * count. */
#ifndef TD_BINARY64_H
#define TD_BINARY64_H

#include "../view/access.h"
#include "../measure/room.h"

/* The power of two nearest to sqrt(k), at least 8. */
TD_HOST_DEVICE constexpr int td_binary64_block(int64_t k)
{
    int block = 8;
    while (2 * (int64_t)block * block <= k) block *= 2;
    return block;
}

#endif
