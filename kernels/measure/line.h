/* line.h - what is measured of a line of an operand: a row of op(A), or a column of op(B). For host
 * C and for kernels. */
#ifndef TD_LINE_H
#define TD_LINE_H

#include <stdalign.h>
#include <stdint.h>

/* Logarithms are to base 2 and in units of 1/256: whole numbers, the same on every device. */
enum { TD_LOG = 256 };

/* What is known of a line, shifts included. Lines that hold a NaN or an infinity are special and
 * count as zeros. */
typedef struct {
    alignas(8) int32_t norm; /* logarithm of the Euclidean norm, at least; loads of eight bytes */
    int32_t sum;             /* logarithm of the sum of the magnitudes, at least */
    int32_t mean; /* mean of the logarithms of the magnitudes, at most; TD_NO_MEAN if any is zero */
    int32_t peak; /* of the largest magnitude 2^e (1 + f): TD_LOG e + floor(TD_LOG f) */
    union {
        int32_t typical; /* sum, less the logarithm of the number of elements that are not zero */
        int32_t rounded; /* if td_choose asks for it: see below */
    };
    int16_t low;   /* exponent of the lowest bit set in any element; TD_NO_LOW, TD_SPECIAL */
    int16_t scale; /* set when all lines are measured */
} td_line;
/* rounded: logarithm of how many elements the scale rounds, at least; TD_NONE_ROUNDED if it rounds
 * none. All of TD_CHUNK may count if one is rounded.
 *
 * A line of zeros has TD_NO_LOW, a special line TD_SPECIAL; norm, sum, peak, typical and scale of
 * both are 0. */
enum {
    TD_NO_MEAN = -(1 << 28),
    TD_NO_LOW = 0x7fff,
    TD_SPECIAL = -0x8000,
    TD_NONE_ROUNDED = -(1 << 28)
};

#endif
