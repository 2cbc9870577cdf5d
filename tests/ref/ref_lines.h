/* ref_lines.h - lines (rows of op(A), columns of op(B)) of the Ozaki family's reference: what is
 * measured of them. */
#ifndef REF_LINES_H
#define REF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Logarithms are in units of 1 / REF_LOG. */
enum { REF_LOG = 256, REF_MAX_MODULI = 20 };

/* One line of an operand, shifts included. */
typedef struct {
    bool is_special, is_zero, has_mean;
    int64_t norm, total, mean, peak, typical, low; /* kernels/measure/line.h; total is its sum */
    int64_t scale;
    double sum; /* of the fixed-point elements' magnitudes, at least */
} ref_line;

/* op(A), or op(B). */
typedef struct {
    const double *data;
    int64_t lines, k, line_step, k_step;
    int64_t *shift; /* [k], the same for both operands ... */
    int sign;       /* ... with this sign */
    ref_line *line;
    double *fixed; /* [line][k]: A', exactly */
} ref_side;

/* Sets the shifts of both operands, if there may be any, unless these do not make norms smaller,
 * and the records of their lines but for scale and sum. has_parts: elements 2l and 2l + 1 have one
 * shift. */
void ref_set_lines(ref_side *side, bool has_parts, bool may_shift);

/* Element l of line i. */
double ref_at(const ref_side *s, int64_t i, int64_t l);

/* Neither zeros nor special. */
bool ref_is_counted(const ref_line *r);

/* Not special, and its numbers span at most 112 bits from the highest to the lowest one. */
bool ref_is_narrow(const ref_line *r);

/* a / b rounded down, b > 0. */
int64_t ref_floor_div(int64_t a, int64_t b);

/* Zeros, at least one; ends the program if there is no memory. */
void *ref_allocate(int64_t count, size_t bytes);

/* Logarithms to base 2: at most and at least; x > 0. */
int64_t ref_log_below(uint64_t x);
int64_t ref_log_above(uint64_t x);

/* Logarithm of the largest norm that lines may have before they are rounded to whole numbers;
 * is_complex: with the moduli of complex products. */
int64_t ref_level(bool is_complex, int moduli, int64_t k);

#endif
