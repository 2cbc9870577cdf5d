/* proven.h - how good each mode is (docs/numerics.md): the bounds that the rows of the registry
 * name, and all that follows from them: what TANDEM_VERIFY holds products against, what mode auto
 * chooses by, and the text. Pure: no CUDA calls. */
#ifndef TD_PROVEN_H
#define TD_PROVEN_H

#include "../routine/cholesky_steps.h"
#include "../routine/lu_steps.h"
#include "../routine/solve_steps.h"
#include "engine.h"

/* Of modes; binary64 is that of mode fp64, and certified that of modes whose data choose how many
 * slices or residues there are. */
extern const td_bound td_bound_native, td_bound_df, td_bound_ts, td_bound_dd, td_bound_ds,
    td_bound_certified, td_bound_binary64, td_bound_faithful;

/* What is proven of every element of a product of k terms; `relative` is infinite if nothing is. */
td_sample_bound td_proven(const td_engine *engine, td_parameter parameter, int64_t k);

/* b, if mode auto may count on errors of at most 2^-b (|alpha||A||B| + |beta||C|): 0 if on none,
 * negative of an engine without a bound. That of binary64 is what TANDEM_ACCURACY=fp64 asks for;
 * it is typical of binary64 sums, and what the modes that certify their elements keep for any
 * operands. */
double td_bits(const td_engine *engine, td_parameter parameter, int64_t k);
double td_bits_of_binary64(int64_t k);

/* The error of a mode, as people read it: one line, which may be in `text`. */
enum { TD_ERROR_TEXT = 128 };
const char *td_error_print(const td_engine *engine, char text[TD_ERROR_TEXT]);

/* Of the residual of every element of a triangular solve, which is cut into blocks of so many rows
 * and whose products the engine makes, relative to |op(A)||X| + |alpha||B|. */
td_sample_bound td_proven_solve(const td_engine *engine, td_parameter parameter,
                                const td_problem *p, int64_t block_rows);

/* Of every element of P A - L U, relative to |L||U| + |P A|, where a matrix is cut so, and the
 * engine, td_engines[0] being cuBLAS's own, makes products of by.least_terms terms and more, and
 * cuBLAS all others. Of factors without pivots nothing is: a 0 may have become one. Each part is
 * analysed as by Higham, Accuracy and Stability of Numerical Algorithms, 2002, theorem 9.3. */
td_sample_bound td_proven_lu(const td_engine *engine, td_parameter parameter, const td_problem *p,
                             const td_lu_cut *cut, td_solve_cut by);

/* Of every element of A - L L^H in the triangle, relative to |L||L^H| + |A|, where all minors are
 * positive, after theorem 10.3 there. */
td_sample_bound td_proven_cholesky(const td_engine *engine, td_parameter parameter,
                                   const td_problem *p, td_cholesky_cut cut);

#endif
