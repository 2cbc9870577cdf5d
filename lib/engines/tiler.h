/* tiler.h - products in parts: what engines share that cut a product (../routine/parts.h) until it
 * fits their workspace, and enqueue the same kernels for every part. */
#ifndef TD_TILER_H
#define TD_TILER_H

#include "../../kernels/repair/repair.h"
#include "../cuda/workspace.h"
#include "engine.h"
#include "../routine/parts.h"

/* Offset of `bytes` more of a workspace that ends at *end, 256-byte aligned. */
static inline size_t td_reserve(size_t *end, int64_t bytes)
{
    const size_t at = *end;
    *end = at + (size_t)td_round_up(bytes, 256);
    return at;
}

/* Lines first .. first + lines - 1 of operand 0 (rows of op(A)) or 1 (columns of op(B)). */
td_view td_view_of(const td_real_product *p, int which, int64_t first, int lines);

/* Members z .. of a batch of matrices. */
td_matrix td_members_from(const td_matrix *x, int64_t z, int64_t element_bytes);

/* The elements of C of one part; masks as in td_target. */
td_target td_target_of(const td_real_product *p, const td_part *part, uint16_t *masks);

/* The call that makes this part of C, of a product without a batch. */
td_problem td_call_of_part(const td_real_product *p, const td_part *part);

/* What an engine enqueues for a product in parts, each with the first error as result. */
typedef struct {
    const void *product; /* the engine's own, for both functions */

    /* For all parts of the same members together, before the first of them. NULL: nothing. */
    cudaError_t (*members)(const void *product, const td_part *before_parts);

    /* For one part. Sets *touched once a kernel that writes C is enqueued, if others follow it that
     * may fail. */
    cudaError_t (*part)(const void *product, const td_part *part, bool *touched);
} td_part_steps;

/* Enqueues all parts that are made (td_next_made_part). After an error TD_RUN_FAILED, if no kernel
 * that writes C was enqueued, else TD_RUN_BROKEN. */
td_run_status td_run_parts(const td_real_product *p, const td_part_sizes *sizes,
                           const td_part_steps *steps);

/* C <- beta C, for products of binary64 matrices of which td_real_only_scales. */
td_run_status td_scale_parts(const td_real_product *p);

#endif
