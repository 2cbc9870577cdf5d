/* tiler.h - products in parts: what engines share that cut a product until it fits their
 * workspace. */
#ifndef TD_TILER_H
#define TD_TILER_H

#include "../../kernels/repair/repair.h"
#include "../cuda/device.h"
#include "../cuda/workspace.h"
#include "engine.h"
#include "sizes.h"

/* Most rows or columns, and members, of a part: keeps the tile numbers of a launch in 31 bits, and
 * its grid in CUDA's limits. */
enum { TD_MAX_PART_LINES = 1 << 20, TD_MAX_PART_MEMBERS = 32767 };

/* Makes *size about half, a multiple of `unit`; false if it is no more than one unit. */
static inline bool td_halve(int64_t *size, int64_t unit)
{
    if (*size <= unit) return false;
    *size = td_round_up(*size / 2, unit);
    return true;
}

/* Offset of `bytes` more of a workspace that ends at *end, 256-byte aligned. */
static inline size_t td_reserve(size_t *end, int64_t bytes)
{
    const size_t at = *end;
    *end = at + (size_t)td_round_up(bytes, 256);
    return at;
}

/* Lines first .. first + lines - 1 of operand 0 (rows of op(A)) or 1 (columns of op(B)). */
td_view td_view_of(const td_problem *p, int which, int64_t first, int lines);

/* Rows i .., columns j .. of C, batch members z ..; masks as in td_target. */
td_target td_target_of(const td_problem *p, int64_t i, int64_t j, int64_t z, int m, int n,
                       uint16_t *masks);

/* True if C has elements of the part of m x n elements that begins at (i, j): those of other parts
 * are neither read nor written. */
bool td_part_exists(const td_problem *p, int64_t i, int64_t j, int64_t m, int64_t n);

/* C <- beta C, for products of binary64 matrices of which td_problem_only_scales. */
td_run_status td_scale_parts(const td_problem *p);

#endif
