/* modes.h - the emulated modes that the library has, and what tests know of each. */
#ifndef CHECK_MODES_H
#define CHECK_MODES_H

#include <stdbool.h>

#include "../ref/ref.h"

typedef struct {
    const ref_format *format;
    /* True if C is a sum rounded to binary64, and the bounds are those of the sum: half a unit in the last place of C
     * comes on top. */
    bool rounds_sum;
    /* Errors relative to |alpha||A||B| + |beta||C|, docs/numerics.md: to k = 16384 for all data that are not built
     * against the mode, and the same of products in the mode's type; */
    double bound, typed_bound;
    double (*proven)(int64_t k); /* for any data; */
    double (*repaired)(
        int64_t k); /* of elements that are repaired, if that is more than the bound. */
} mode;

/* The mode after *m in the library's registry, the first for NULL; NULL after the last. Ends the program if nothing is
 * known of it. */
const mode *mode_after(const mode *m);

/* The error of `value` as element (i, j) that the bounds are meant for. */
double mode_error(const mode *m, const ref_gemm *p, int64_t i, int64_t j, double value);

#endif
