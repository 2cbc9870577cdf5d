/* part.h - products in parts: what engines share that cut a product until it fits their workspace. */
#ifndef TD_PART_H
#define TD_PART_H

#include "../kernels/product.h"
#include "problem.h"

static inline int64_t td_smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t td_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t td_round_up(int64_t a, int64_t b) { return td_ceil_div(a, b) * b; }

/* Offset of `bytes` more of a workspace that ends at *end, 256-byte aligned. */
static inline size_t td_reserve(size_t *end, int64_t bytes)
{
    const size_t at = *end;
    *end = at + (size_t)td_round_up(bytes, 256);
    return at;
}

/* Lines first .. first + lines - 1 of operand 0 (rows of op(A)) or 1 (columns of op(B)). */
td_operand td_operand_of(const td_gemm *p, int which, int64_t first, int lines);

/* Rows i .., columns j .. of C, batch members z ..; masks as in td_target. */
td_target td_target_of(const td_gemm *p, int64_t i, int64_t j, int64_t z, int m, int n,
                       uint16_t *masks);

#endif
