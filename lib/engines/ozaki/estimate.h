/* estimate.h - what is decided from an int8 product of magnitudes, part by part of a product
 * (../../../kernels/select/estimate.h). */
#ifndef TD_OZAKI_ESTIMATE_H
#define TD_OZAKI_ESTIMATE_H

#include "../../../kernels/select/estimate.h"
#include "panels.h"
#include "../../model/route.h"

/* A part. The sums, and what is made of them, are in estimate.min_moduli.of,
 * td_estimate_sum_bytes() of it. */
typedef struct {
    td_device *device;
    td_route_terms terms;
    td_fixed fixed;
    td_estimate estimate; /* sum_step, sums, nonzero, and min_moduli but for `of`, are set here */
    char *workspace;      /* 256-byte aligned */
    size_t bytes;         /* of it; at least td_estimate_least_bytes() */
    uint32_t *next_unit;  /* of td_panels */
    uint32_t *nonzero;    /* of td_estimate_map_words(), zeros before */
    cudaStream_t stream;
} td_estimate_part;

size_t td_estimate_sum_bytes(int64_t m, int64_t n, int64_t k, int64_t batch);
size_t td_estimate_least_bytes(int64_t m, int64_t n, int64_t k, int64_t batch);

/* Words of a map of what of both operands has numbers other than 0; 0: sums of so long a k have
 * none. */
int64_t td_estimate_map_words(int64_t m, int64_t n, int64_t k, int64_t batch);

/* How the numbers of candidates of a part's elements are laid out. */
td_min_moduli td_min_moduli_of(uint8_t *of, int64_t m, int64_t n);

/* Enqueues it; members whose choice is not estimated are passed over on the device. */
cudaError_t td_estimate_part_run(const td_estimate_part *part);

#endif
