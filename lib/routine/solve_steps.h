/* solve_steps.h - a triangular solve as blocks and products: which systems with a diagonal block
 * are solved in turn, and which product updates B after each of them. Pure: no CUDA calls.
 *
 * Blocks are counted from 0 in the order in which their elements become known: from the first row
 * of op(A) on where X on its left, or op(A) on its right, is lower triangular, else from the last.
 * Once b blocks are known, with 2^i the largest power of two that divides b, the last 2^i of them
 * are taken away from the 2^i blocks that come next, or from as many as there are. So most of the
 * operations are in products whose m, n and k are large. */
#ifndef TD_SOLVE_STEPS_H
#define TD_SOLVE_STEPS_H

#include "../../kernels/solve/solve.h"
#include "product.h"

/* How a solve is cut: its blocks have so many rows, and products of fewer terms than least_terms
 * are mode fp64's. */
typedef struct {
    int64_t block_rows, least_terms;
} td_solve_cut;

/* Rows of A, and vectors of X: its columns, or, where A is on the right, its rows. */
int64_t td_solve_order(const td_problem *p);
int64_t td_solve_vectors(const td_problem *p);

/* The most rows of a block, which a mode by name takes. Any power of two from TD_SOLVE_LEAST_ROWS
 * on is possible; it is part of what the bits follow from. */
enum { TD_SOLVE_LEAST_ROWS = 64 };
int64_t td_solve_most_rows(td_type type);

/* Blocks of so many rows; the last in the order of the solve may have fewer. */
int64_t td_solve_blocks(const td_problem *p, int64_t block_rows);

/* The system with a block; its alpha is the call's. */
td_solve_block td_solve_block_of(const td_problem *p, int64_t block_rows, int64_t block);

/* The system with so many blocks, or as many as there are, from `block` on, which becomes solvable
 * once those before are known and td_solve_update has taken them away. Its alpha is 1 unless it
 * begins with block 0. If `blocks` is a power of two that divides `block`, its own steps are those
 * of p. */
td_problem td_solve_part(const td_problem *p, int64_t block_rows, int64_t block, int64_t blocks);

/* The product that is due once so many blocks are known, 1 or more, and fewer than all. It writes
 * elements that no step has written before, and multiplies them by alpha, if what it takes away
 * begins with block 0. */
td_product td_solve_update(const td_problem *p, int64_t block_rows, int64_t known);

#endif
