/* cases.h - arguments for the functions of operations.h: every combination of corner values, then
 * random and adversarial ones. All of a function's cases, those outside its stated domain included:
 * for bits, host against device. The tests against MPFR leave out what is outside. */
#ifndef CASES_H
#define CASES_H

#include "numbers.h"
#include "operations.h"

typedef void (*case_visitor)(const operation_in *in, void *context);

/* Visits the corner cases and then so many random ones. */
void cases_visit(operation which, uint64_t seed, int random_count, case_visitor visit,
                 void *context);

extern const char *const operation_names[OPERATION_COUNT];
extern const format_id operation_formats[OPERATION_COUNT]; /* of the arguments */

#endif
