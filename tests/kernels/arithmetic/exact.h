/* exact.h - exact sums and products with MPFR. Every operation is checked to be exact. */
#ifndef EXACT_H
#define EXACT_H

#include <mpfr.h>

#include "numbers.h"

/* Bits that hold any sum of the products of the tests' numbers, those of all formats. */
enum { EXACT_BITS = 1200 };

void exact_init(mpfr_t x);
void exact_set(mpfr_t x, double value);
void exact_set_parts(mpfr_t x, const double parts[MAX_PARTS]); /* their sum */
void exact_add(mpfr_t x, mpfr_t y);
void exact_multiply(mpfr_t x, mpfr_t y);
void exact_shift(mpfr_t x, int e); /* x 2^e */

/* |x - y| / |scale|; 0 if x == y, else infinite for scale 0. */
double exact_distance(mpfr_t x, mpfr_t y, mpfr_t scale);

#endif
