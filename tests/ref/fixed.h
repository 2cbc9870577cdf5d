/* fixed.h - whole multiples of 2^-3328, wide enough for every sum of products of three binary64
 * numbers: exact. */
#ifndef FIXED_H
#define FIXED_H

#include <stdint.h>

enum { FIXED_LEAST = -3328, FIXED_WORDS = 104 };

/* The sums of the positive and of the negative terms apart, so that carries stay short. All words
 * but number FIXED_WORDS - reach to end - 1 are 0; 0 is all zeros. */
typedef struct {
    uint64_t words[2][FIXED_WORDS];
    int reach, end;
} fixed;

/* x += a b, for finite a and b. */
void fixed_add_product(fixed *x, double a, double b);

/* x += a b 2^e, which must be a whole multiple of 2^-3328 too. */
void fixed_add_scaled_product(fixed *x, double a, double b, int e);

/* x += factor y, for finite factor. */
void fixed_add_multiple(fixed *x, const fixed *y, double factor);

/* x to 64 bits: truncated, and then the last bit set if that lost any. So a conversion to binary64
 * rounds x once. */
long double fixed_value(const fixed *x);

#endif
