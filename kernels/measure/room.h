/* room.h - what is known of lines by their records: whether binary64 has room for the bits of their
 * products, and for sums of these. For kernels. */
#ifndef TD_ROOM_H
#define TD_ROOM_H

#include "../device/portable.h"
#include "../arithmetic/float32.h"
#include "line.h"

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

/* Returns whether sums of k products have room without scales, for two lines or many: the
 * arguments are the sums of the exponents of both largest and of both lowest bits. */
TD_DEVICE bool td_has_room(int peaks, int lows, int64_t k)
{
    return peaks + 2 + 64 - td_clz64((uint64_t)k) <= 1023 && lows >= TD_BINARY64_LEAST;
}

/* The lowest bits that are set in two lines, or in many, are these in units that binary64 counts
 * in: their products have room. */
TD_DEVICE bool td_has_room_scaled(int low_a, int low_b)
{
    return min(min(low_a, low_b), low_a + low_b) >= TD_BINARY64_LEAST;
}

/* True if all products of two lines' elements have room. Lines of zeros have, and special ones do
 * not ask. */
TD_DEVICE bool td_fits_binary64(const td_line &a, const td_line &b)
{
    return !td_is_counted(a) || !td_is_counted(b) ||
           td_has_room_scaled(a.low + td_binary64_scale(a), b.low + td_binary64_scale(b));
}

#endif
