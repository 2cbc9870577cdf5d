/* checked.h - one product on the device, checked in every way that does not depend on what it is
 * for. */
#ifndef CHECKED_H
#define CHECKED_H

#include "lib/routine/mode.h"
#include "modes.h"
#include "problem.h"

/* The call of a product whose matrices are in device memory, as device_upload has them. */
td_problem checked_call(const problem *p, double *a, double *b, double *c);

/* The product that it is. */
td_product checked_lowered(const problem *p, double *a, double *b, double *c);

/* Enqueues it in the mode within so much workspace, as td_engine_run does; counters are in device
 * memory, or NULL. */
td_run_status checked_run(const mode *m, const td_product *p, size_t limit, td_counters *counters);

/* The same in all workspace, or in the least power of two bytes that is enough, in which C is cut
 * into parts. */
td_run_status checked_run_in(const mode *m, const td_product *p, bool in_little);

/* C that a product has left at `from` in device memory; nothing beside it was written. */
test_matrix checked_result(const problem *p, const double *from);

/* Fails the test if one of some elements errs by more than that of |alpha||A||B| + |beta||C|. */
void checked_errors(const problem *p, const test_matrix *got, double bound);

/* C as tandem_dgemm computes it; the borders are checked. */
test_matrix checked_compute(const mode *m, const problem *p);

/* C as the mode's engine makes it in so much workspace; counters are in device memory, or NULL. */
test_matrix checked_compute_within(const mode *m, const problem *p, size_t limit,
                                   td_counters *counters);

/* What the library counts of it. */
td_counters checked_counters(const mode *m, const problem *p);

/* How many elements of it are repaired, by the library's own count. */
int64_t checked_repairs(const mode *m, const problem *p);

/* Fails the test at the first element whose bits are not those of the definition. */
void checked_compare(const mode *m, const problem *p, const test_matrix *got,
                     const test_matrix *want);

/* What was seen of some products. */
typedef struct {
    double error;              /* the largest of any element */
    int64_t elements, nearest; /* that were measured; and are the exact one rounded */
    int64_t repaired;          /* -1: the definition does not say */
    int parameter;             /* of the last product, that the mode chose */
} checked;

/* Bits, and the errors of all elements, or of some of a large product; adds to *seen. */
void checked_problem(const mode *m, const problem *p, checked *seen);

/* Checks the product that a description makes, as checked_problem does: the largest error. */
double checked_product(const mode *m, const product *of);

#endif
