/* valid_problem.h - a problem of any kind that is valid, for tests to make another of. */
#ifndef TEST_VALID_PROBLEM_H
#define TEST_VALID_PROBLEM_H

#include "lib/routine/problem.h"

/* Nothing reads it. */
static double memory[1];
static const td_matrix there = {.data = memory, .ld = 8};

/* Of 8 rows at most everywhere. */
static inline td_problem valid(td_kind kind)
{
    return (td_problem){.kind = kind,
                        .m = 5,
                        .n = 8,
                        .k = 3,
                        .alpha.value.binary64 = 1.0,
                        .a = there,
                        .b = there,
                        .c = there,
                        .batch = 2};
}

#endif
