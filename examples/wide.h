/* wide.h - a number type of at least 113 significant bits, for references on the host. */
#ifndef EXAMPLES_WIDE_H
#define EXAMPLES_WIDE_H

#ifdef __SIZEOF_FLOAT128__
typedef __float128 wide;
#else
typedef long double wide; /* binary128 where the compiler has no __float128 */
#endif

static inline wide wide_magnitude(wide x) { return x < 0 ? -x : x; }

#endif
