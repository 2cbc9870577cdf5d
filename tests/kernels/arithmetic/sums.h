/* sums.h - sums of products in the order that the modes define (kernels/arithmetic/order.h), and in
 * the papers' order, for all formats; and their errors. */
#ifndef SUMS_H
#define SUMS_H

#include "cases.h"
#include "exact.h"

enum { MAX_TERMS = 16384 };

typedef struct {
    double part[MAX_PARTS];
} number;

/* A format's operations, the terms of its blocks, and the unit of its errors: u^2, or v^3 for
 * triple-single. */
typedef struct {
    const char *name;
    format_id format;
    operation split, add, start, accumulate, flush, renormalise, finish;
    int block;
    double unit;
} arithmetic;

enum { ARITHMETIC_DF, ARITHMETIC_DD, ARITHMETIC_TS, ARITHMETICS };
extern const arithmetic arithmetics[ARITHMETICS];

/* The factors of the terms, and room for the exact sum. */
typedef struct {
    const arithmetic *f;
    number a[MAX_TERMS], b[MAX_TERMS];
    mpfr_t sum, size, term, factor;
} terms;

void terms_start(terms *t, const arithmetic *f);
void terms_stop(terms *t);

/* The operation on numbers of which each may be NULL. */
number number_apply(operation which, const number *a, const number *b, const number *c);

number number_split(const arithmetic *f, double x);

/* x in all bits of the format, those that binary64 lacks at random. */
number number_lengthen(const arithmetic *f, double x, test_random *r);

number sum_block(const terms *t, int first, int count);
number sum_superblock(const terms *t, int first, int count); /* whole blocks */
number sum_all(const terms *t, int count);                   /* whole blocks */

/* One fused multiply-add after the other: `which` is paper_df_fma, paper_ts_fma or the like. */
number sum_in_turn(const terms *t, int count, operation which);

/* The distance of r from the exact sum, in sum |a b|. */
double sum_error(terms *t, int count, number r);

#endif
