/* kinds.h - numbers of matrices that are factored, element by element: those that the tests of LU,
 * QR and Cholesky factors share. */
#ifndef TESTS_KINDS_H
#define TESTS_KINDS_H

#include <stdbool.h>
#include <stdint.h>

/* An element; the imaginary part of a real one is 0. */
typedef struct {
    double re, im;
} number;

/* Where the numbers of an m x n matrix come from. */
typedef struct {
    uint64_t state;
    uint64_t seed; /* what `state` was at first */
    int m, n;
} source;

/* The next element, which is in that row and column. */
typedef double kind(source *s, int i, int j);

typedef struct {
    const char *name;
    kind *make;
    bool is_regular; /* residuals are judged */
} factor_kind;

/* The one of that name, which the table has. */
const factor_kind *find_kind(const factor_kind *table, const char *name);

/* Uniform in [-1, 1), and of whole numbers all from `least` to `most`. */
double uniform(source *s);
int whole(source *s, int least, int most);

/* x, or one time in `rarity` + 1 a NaN, an infinity or a zero. */
double special_or(source *s, int rarity, double x);

kind random_numbers, tiny, huge, hilbert, zeros;
kind small_integers; /* pivots are chosen among equals, columns end early, and zeros have signs */
kind graded_columns; /* over 1900 powers of two, and below 2^930: factors may grow */
kind dominant;       /* the diagonal, over random numbers */

#endif
