/* room.h - what is known of lines by their records: whether binary64 has room for the bits of their
 * products, and for sums of these; and whether exact sums are cheap. For kernels. */
#ifndef TD_ROOM_H
#define TD_ROOM_H

#include "../device/portable.h"
#include "../arithmetic/float32.h"
#include "line.h"

enum { TD_BINARY64_TOP = 490, TD_BINARY64_LEAST = -1074 };

/* Where the exponents of the largest elements of two lines add up to no more than this, bits of
 * scaled products below 2^TD_BINARY64_LEAST are not missed: at most k 2^-1145 of the sum is lost,
 * which is little beside the error of a sum of 2^-1076, and less is rounded to 0
 * (docs/numerics.md, Sums in binary64). */
enum { TD_BINARY64_LOW_PEAKS = 910 };

/* The bits from the highest to the lowest one of any number of a line that exact sums of digits
 * have room for (../repair/exact_narrow.cu). */
enum { TD_NARROW_DIGITS = 4, TD_NARROW_DIGIT_BITS = 28 };
enum { TD_NARROW_BITS = TD_NARROW_DIGITS * TD_NARROW_DIGIT_BITS };

/* Neither zeros nor special. */
TD_DEVICE bool td_is_counted(const td_line &line)
{
    return line.low != TD_SPECIAL && line.low != TD_NO_LOW;
}

/* True if exact sums of products of the line are sums of digits: the line is not special, and its
 * numbers span few bits. */
TD_DEVICE bool td_is_narrow(const td_line &line)
{
    return line.low != TD_SPECIAL &&
           (line.low == TD_NO_LOW || (line.peak >> 8) - line.low < TD_NARROW_BITS);
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

/* Returns whether scaled sums lose nothing that counts, for two lines or many: low_a and low_b are
 * the lowest bits that are set in the scaled lines, peaks is the sum of the exponents of both
 * largest elements as they are. */
TD_DEVICE bool td_has_room_scaled(int low_a, int low_b, int peaks)
{
    return min(low_a, low_b) >= TD_BINARY64_LEAST &&
           (low_a + low_b >= TD_BINARY64_LEAST || peaks <= TD_BINARY64_LOW_PEAKS);
}

/* True if scaled sums of two lines' products lose nothing that counts. Lines of zeros do not, and
 * special ones do not ask. */
TD_DEVICE bool td_fits_binary64(const td_line &a, const td_line &b)
{
    return !td_is_counted(a) || !td_is_counted(b) ||
           td_has_room_scaled(a.low + td_binary64_scale(a), b.low + td_binary64_scale(b),
                              (a.peak >> 8) + (b.peak >> 8));
}

#endif
