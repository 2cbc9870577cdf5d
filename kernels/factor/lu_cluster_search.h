/* lu_cluster_search.h - which element of a column is the pivot: the largest, by its bits, of
 * complex ones that with the largest sum of its parts; of several the one in the lowest place. */
#ifndef TD_LU_CLUSTER_SEARCH_H
#define TD_LU_CLUSTER_SEARCH_H

#include <limits.h>

#include "../batched_lu/number.h"

#if TD_HAS_CUDA_DEVICE

/* A candidate: its size as two halves, the place that its row has by the exchanges so
 * far, INT_MAX if there is none, and the row itself. */
struct alignas(16) candidate {
    unsigned high, low;
    int place, row;
};

TD_DEVICE candidate no_candidate() { return {0, 0, INT_MAX, 0}; }

/* Element x of a row, which is a candidate if it may be the pivot. NaN counts as 0. Here and in
 * is_better no operator stops half-way: each would be a branch on which a warp's lanes part. */
TD_DEVICE candidate candidate_of(double x, bool may_be, int place, int row)
{
    const unsigned high = (unsigned)__double2hiint(x) & 0x7fffffffu,
                   low = (unsigned)__double2loint(x), infinite = 0x7ff00000u;
    const bool is_nan = (high > infinite) | ((high == infinite) & (low != 0)),
               counts = may_be & !is_nan;
    return {counts ? high : 0, counts ? low : 0, may_be ? place : INT_MAX, row};
}
TD_DEVICE candidate candidate_of(td_complex<double> x, bool may_be, int place, int row)
{
    return candidate_of(td_sum_of_parts(x), may_be, place, row);
}

TD_DEVICE bool is_better(const candidate &x, const candidate &y)
{
    const bool is_as_high = x.high == y.high, is_as_low = x.low == y.low;
    return (x.high > y.high) | (is_as_high & ((x.low > y.low) | (is_as_low & (x.place < y.place))));
}

/* By selections, for the same reason. */
TD_DEVICE void take_if(bool is_due, candidate &to, const candidate &from)
{
    to.high = is_due ? from.high : to.high;
    to.low = is_due ? from.low : to.low;
    to.place = is_due ? from.place : to.place;
    to.row = is_due ? from.row : to.row;
}

#if __CUDA_ARCH__ >= 800
/* The lane of a warp that has the best one. Mostly the upper halves tell. */
TD_DEVICE int best_lane(const candidate &own)
{
    const unsigned high = __reduce_max_sync(~0u, own.high);
    unsigned lanes = __ballot_sync(~0u, own.high == high);
    if (lanes & (lanes - 1)) {
        const unsigned low = __reduce_max_sync(~0u, own.high == high ? own.low : 0u);
        const bool is_one = own.high == high && own.low == low;
        const int place = __reduce_min_sync(~0u, is_one ? own.place : INT_MAX);
        lanes = __ballot_sync(~0u, is_one && own.place == place);
    }
    return __ffs((int)lanes) - 1;
}
#endif

#endif

#endif
