/* second_product.h - dense tiles of a part of C that is to be exact and rounded once: a second
 * product of more moduli, in the memory of the first one (../../../kernels/crt/second_product.h).
 * It changes no bit, but the time. */
#ifndef TD_OZAKI_SECOND_PRODUCT_H
#define TD_OZAKI_SECOND_PRODUCT_H

#include "../../../kernels/crt/second_product.h"
#include "scheme.h"

/* How a part of that size is cut for it, into as few as `bytes` of workspace allow; m is 0 if there
 * is not enough, or if sums of single elements take no longer than the launches. */
td_part_sizes td_second_sizes(const td_part_sizes *part, int64_t k, size_t bytes);

/* Workspace of pieces of these lines and passes, with `batch` members each. */
size_t td_second_bytes(const td_part_sizes *sizes, int64_t k, int64_t batch);

/* Bytes for a part in one piece if that is a small one, of which more launches would take a share
 * of the time; else 0. */
size_t td_second_small_bytes(const td_part_sizes *part, int64_t k);

/* Bytes that finish.target.is_dense has: behind the tiles of m x n elements there is more for this
 * alone. */
size_t td_second_scratch_bytes(int64_t m, int64_t n, int64_t batch);

typedef struct {
    td_device *device;
    td_route_terms terms;
    td_fixed fixed;      /* of the part, as for the first product */
    td_finish finish;    /* of the part, as for the first product */
    td_part_sizes sizes; /* of what it is cut into */
    char *workspace;     /* of td_second_bytes(), 256-byte aligned */
    uint32_t *next_unit; /* of td_panels */
    unsigned long long *repaired;
    cudaStream_t stream;
} td_second_part;
cudaError_t td_second_part_run(const td_second_part *part);

/* Loads the kernels on the current device: once, before the first product. */
cudaError_t td_second_part_prepare(void);

#endif
