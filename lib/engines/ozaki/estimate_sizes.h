/* estimate_sizes.h - whether residues, and an estimate of abs(A)abs(B), are worth their time, by
 * the sizes of a product alone: part of the definition of ozaki2 (docs/numerics.md, How many
 * moduli). Pure: no CUDA calls. */
#ifndef TD_ESTIMATE_SIZES_H
#define TD_ESTIMATE_SIZES_H

#include <stdbool.h>
#include <stdint.h>

/* False if a member of m x n elements and k terms, all in real lines, is to be left to binary64
 * whatever its data. is_complex: real lines stand for complex numbers. */
bool td_is_worth_residues(int64_t m, int64_t n, int64_t k, bool is_complex);

/* False if such a member is to be left to binary64 where its lines do not certify all elements with
 * the fewest moduli, or whatever its data. */
bool td_is_worth_estimating(int64_t m, int64_t n, int64_t k, bool is_complex);

#endif
