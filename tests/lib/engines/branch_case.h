/* branch_case.h - what the tests of branches share: products in device memory that the mode runs by
 * prices, with cuBLAS's own call as the other body of a condition, and what they must be. */
#ifndef BRANCH_CASE_H
#define BRANCH_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/cuda/device.h"
#include "tests/kernels/support/checked.h"

/* A product whose matrices are in device memory. */
typedef struct {
    problem p;
    double *a, *b, *c;
    td_product call;
} placed;

/* True if memory that was given back is had again, mostly, as a graph needs that is launched again.
 * Under AddressSanitizer the host device's is not. */
bool memory_comes_back(void);

placed place_problem(const product *of);
void free_placed(placed *x);

/* True if the engine is told which call of cuBLAS would make C: the probe may leave C to it. And if
 * that call takes so short a time that the mode may stand in the other body of the condition. */
extern bool names_call, is_short;

/* True if the program allows that a captured product has a condition. */
extern bool branches_in_graph;

/* A call that the device waits for is described when it is made again, and then launched again. */
enum { TIMES_MADE = 4 };

/* What the program says that its own call depends on, which then makes C; 0: it has none. */
extern uint64_t algorithm;

/* cuBLAS refuses the program's own call. */
extern bool is_call_refused;

/* Runs a product by ozaki2 at these prices, in so many bytes of workspace; 0: all. */
td_run_status run_priced(const td_product *call, td_prices prices, size_t limit,
                         td_counters *counters);

void copy_to_device(double *to, const test_matrix *from);

/* C becomes what it was; the device has nothing to do then. */
void restore(const placed *x);

/* The result of run_priced(), of the last of TIMES_MADE calls if it is_short. */
test_matrix run_whole(const placed *x, td_prices prices, size_t limit);

/* The bits of `got` are those of `want`, which is freed. */
void expect_equal(const product *of, const test_matrix *got, test_matrix want, const char *what);

/* Every element is a sum in binary64, in any order; of the host device's cuBLAS the one that it
 * has. */
void expect_sums(const product *of, const test_matrix *got);
void expect_native(const product *of, const test_matrix *got);

/* A product with zeros, whose lines do not tell what residues will do. */
product with_zeros(int which);

#endif
