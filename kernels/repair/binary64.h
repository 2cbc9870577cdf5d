/* binary64.h - sums of products in binary64, in an order that is the same on every device: k is cut into blocks of td_binary64_block
 * elements, each of which is one chain of FMAs in order, and the blocks' sums are added in order: with b elements in a block, b + k / b
 * roundings, which are fewer than 4 sqrt(k). For kernels.
 *
 * Where lines were measured, elements count in units that make the largest of each line 2^TD_BINARY64_TOP: products then
 * neither overflow nor, if td_fits_binary64, have bits that binary64 has no room for. */
#ifndef TD_BINARY64_H
#define TD_BINARY64_H

#include "../view/access.h"
#include "../measure/line.h"

/* The power of two nearest to sqrt(k), at least 8. */
TD_HOST_DEVICE int td_binary64_block(int64_t k)
{
    int block = 8;
    while (2 * (int64_t)block * block <= k) block *= 2;
    return block;
}

enum { TD_BINARY64_TOP = 490, TD_BINARY64_LEAST = -1074 };

/* Neither zeros nor special. */
TD_DEVICE bool td_is_counted(const td_line &line)
{
    return line.low != TD_SPECIAL && line.low != TD_NO_LOW;
}

/* What is added to a line's exponents. */
TD_DEVICE int td_binary64_scale(const td_line &line)
{
    return td_is_counted(line) ? TD_BINARY64_TOP - (line.peak >> 8) : 0;
}

/* The same of sums of k products of lines as they are, or of many: exponents of both largest and both lowest bits, added up. */
TD_DEVICE bool td_has_room(int peaks, int lows, int64_t k)
{
    return peaks + 2 + 64 - td_clz64((uint64_t)k) <= 1023 && lows >= TD_BINARY64_LEAST;
}

/* The lowest bits that are set in two lines, or in many, are these in units that binary64 counts in: their products have room. */
TD_DEVICE bool td_has_room_scaled(int low_a, int low_b)
{
    return min(min(low_a, low_b), low_a + low_b) >= TD_BINARY64_LEAST;
}

/* True if all products of two lines' elements have room. Lines of zeros have, and special ones do not ask. */
TD_DEVICE bool td_fits_binary64(const td_line &a, const td_line &b)
{
    return !td_is_counted(a) || !td_is_counted(b) ||
           td_has_room_scaled(a.low + td_binary64_scale(a), b.low + td_binary64_scale(b));
}

#endif
