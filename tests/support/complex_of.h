/* complex_of.h - complex numbers from their parts, NaN and infinities among them, for compilers
 * whose <complex.h> has no CMPLX. */
#ifndef TEST_COMPLEX_OF_H
#define TEST_COMPLEX_OF_H

#include <complex.h>
#include <string.h>

static inline double _Complex complex_of(double re, double im)
{
    const double parts[] = {re, im};
    double _Complex z;
    memcpy(&z, parts, sizeof z);
    return z;
}

static inline long double _Complex long_complex_of(long double re, long double im)
{
    const long double parts[] = {re, im};
    long double _Complex z;
    memcpy(&z, parts, sizeof z);
    return z;
}

#endif
