/* paper_multiply.h - products with the operation sequences of the papers (paper.h), in the
 * structure of Tandem's own kernels: the baseline of bench/multifloat. */
#ifndef PAPER_MULTIPLY_H
#define PAPER_MULTIPLY_H

#include "../include/tandem.h"
#include "../lib/routine/mode.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C <- A B, all n x n, column-major, leading dimension n, of type "df", "ts", "dd" or "d+s", in the
 * memory of `device`, with at most `workspace` bytes more of it; on the default stream. */
tandem_status paper_gemm(const char *type, int n, const void *a, const void *b, void *c,
                         td_device *device, size_t workspace);

#ifdef __cplusplus
}
#endif

#endif
