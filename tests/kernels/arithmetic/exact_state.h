/* exact_state.h - a sum of products, or a whole number, with scalars and c, and its exact value by
 * MPFR: what the tests of exact sums and of their certificate share. */
#ifndef EXACT_STATE_H
#define EXACT_STATE_H

#include <mpfr.h>

#include "kernels/arithmetic/exact.h"
#include "tests/support/random.h"

/* alpha times a sum spans 2^-3222 .. 2^3140, beta c less. */
enum { BITS = 6500, STRIDE = 3, MAX_TERMS = 70000 };

typedef struct {
    test_random random;
    double a[MAX_TERMS], b[MAX_TERMS];
    int terms;
    double alpha, beta, c;
    int64_t word[TD_EXACT_WORDS * STRIDE];
    mpfr_t sum, term, error, end, room, unit;
    long zero, subnormal, infinite, halfway, cancelled;
} state;

state *state_start(void);
void state_stop(state *s);

/* Any finite number, with an exponent from low to high; about one in eight has few bits. Below
 * -1022 it is subnormal. */
double any_number(test_random *r, int low, int high);

/* x + y and x + u v, into x. */
void add_exactly(mpfr_t x, mpfr_t y);
void add_product_exactly(state *s, mpfr_t x, double u, double v);

/* x <- alpha x + beta c. */
void combine_exactly(state *s, mpfr_t x);

/* x rounded once; +0 for 0. */
double rounded(mpfr_t x);

/* Counts what kinds of results there were: s->sum is exact. */
void count_result(state *s, double result);

double random_scalar(test_random *r);

/* Sets c to about -alpha sum / beta, or that times a power of two, or anything. */
void random_c(state *s);

#endif
