/* numbers.h - complex numbers of a test on the host, whose imaginary parts are 0 if they are real,
 * and the same in device memory, where real ones have no imaginary parts. */
#ifndef SUPPORT_NUMBERS_H
#define SUPPORT_NUMBERS_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/support/random.h"

typedef double _Complex number;

/* 1, 0, -1, 0.7, or such a number with an imaginary part of these. */
number numbers_random_scalar(test_random *r, bool is_complex);

/* In new device memory, of a byte at least. */
void *numbers_upload(const number *at, size_t count, bool is_complex);
void numbers_download(number *at, size_t count, bool is_complex, const void *device);

#endif
