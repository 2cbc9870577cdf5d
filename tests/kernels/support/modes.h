/* modes.h - the emulated modes that the library has, and what tests know of each. */
#ifndef MODES_H
#define MODES_H

#include <stdbool.h>

#include "kernels/select/prices.h"
#include "tests/ref/ref.h"
#include "tests/ref/ref_ozaki.h"
#include "tests/support/random.h"
#include "tests/support/test.h"

typedef struct {
    const char *name;         /* as in TANDEM_MODE */
    td_prices prices;         /* those that mode auto hands to the engine; 0: the mode's own */
    const ref_format *format; /* NULL: of the Ozaki family, or exact */
    ref_ozaki ozaki;
    bool is_exact;   /* mode faithful: the exact product, rounded once */
    bool is_variant; /* one more parameter: some tests do with less */

    /* Modes that add up in binary64 and take no device memory: the reference, and the documented
     * error of a sum, relative to abs(A)abs(B). */
    bool is_binary64;
    void (*product)(const ref_gemm *p);
    long double (*sum_error)(int64_t k);

    /* Of multi-float modes. True if C is a sum rounded to binary64, and the bounds are those of the
     * sum: half a unit in the last place of C comes on top. */
    bool rounds_sum;
    /* Errors relative to |alpha||A||B| + |beta||C|, docs/numerics.md: to k = 16384 for all data
     * that are not built against the mode, and the same of products in the mode's type; */
    double bound, typed_bound;
    double (*proven)(int64_t k); /* for any data */
} mode;

/* Prices of binary64 for nothing, and of binary64 at any price. */
#define FREE_BINARY64 .binary64 = 1, .sums = 1, .few = 14 * 64, .more = 64, .estimate = 64
#define DEAR_BINARY64 .binary64 = 1 << 20, .sums = 1 << 20, .few = 14, .more = 1, .estimate = 1

/* Seconds that let cuBLAS make C where data leave it to binary64: native products for nothing. */
extern const td_prices free_native;

/* Native products at any price. */
extern const td_prices dear_native;

/* A probe that leaves all to sums in binary64, which cost nothing, of elements as they are. */
extern const td_prices probed_binary64;

/* Drawn prices, with a probe or without, of sums of elements as they are; no native products. */
td_prices any_prices(test_random *r);

/* The mode after *m of those that all tests run for, the first for NULL; NULL after the last. Ends
 * the program if the library's registry has a mode of which nothing is known. Where sanitizers make
 * everything slow there are fewer. */
const mode *mode_after(const mode *m);

/* Runs the program's tests on a device once for each of these modes, which *tested is meanwhile.
 * Returns how many failed. */
int mode_run_tests(const mode **tested, test_group with);

/* One of each family, and of the Ozaki family one that keeps a cuBLAS handle too: for what all of
 * these have from the same place. */
bool mode_stands_for_others(const mode *m);

/* True if case `i` runs with this mode, of those that modes share: each mode of mode_after() has
 * every step-th, and the next mode those that follow, so that `step` modes have all. All run where
 * test_takes() has all. */
bool mode_has_turn(const mode *m, int i, int step);

/* The mode of the Ozaki family, or of the exact ones, that is called so. The name is kept. */
mode mode_of_family(const char *name);

/* False if the library has no such mode. */
bool mode_exists(const char *name);

/* True if elements are repaired though their operands are finite, for some data. */
bool mode_repairs(const mode *m);

/* The definition, bit for bit; ref_account_free() frees what it returns. Of multi-float modes only
 * the number of repaired elements is known, of exact ones nothing. */
ref_account mode_product(const mode *m, const ref_gemm *p);

/* What is wrong with a value of an element, and what may be, both relative to |alpha||A||B| +
 * |beta||C|. */
typedef struct {
    double error, bound;
    bool is_nearest; /* it is the exact element rounded */
} verdict;

/* Of element (i, j) of a product whose C holds what it was before. is_hostile: data are built
 * against the mode. */
verdict mode_judge(const mode *m, const ref_gemm *p, const ref_account *account, bool is_hostile,
                   int64_t i, int64_t j, double value);

#endif
