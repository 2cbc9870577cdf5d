/* sample.h - elements of a product measured against the exact result, after it, on its stream
 * (TANDEM_VERIFY). What goes in are the product's operands, its C, and, where beta is not 0, the
 * elements of C as they were before; what comes out are counts, and the first element that is
 * off by more than its mode promises. Changes nothing of the product. Not ../verify, which
 * proves eigenvalues. */
#ifndef TD_SAMPLE_H
#define TD_SAMPLE_H

#include <cuda_runtime_api.h>

#include "../view/region.h"
#include "../view/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was measured of a report line's calls. An element's error is |C - exact|; its size is
 * |alpha||A||B| + |beta||C|, where |A||B| is the sum of the magnitudes of its products. */
typedef struct {
    /* Elements that were compared; of these, NaN or infinite, as they have to be or may be: they
     * have no error; and off by more than the bound, NaN or infinite where they must not be, or
     * not where they must. */
    unsigned long long elements, special, outside;

    /* Of errors relative to sizes; and in units of the last place of C, or of the error, where
     * that is larger. */
    double worst, sum, worst_ulps, sum_ulps;
} td_sample_counts;

/* What an error may be at most: relative sizes and units in the last place of C together. An
 * infinite one promises nothing. */
typedef struct {
    double relative, ulps;
} td_sample_bound;

/* The first element of a context that was outside of its bound. */
typedef struct {
    unsigned is_ready; /* not 0 once all the rest is there */
    unsigned slot;     /* of the call's counts */
    int64_t row, col, member;
    double alpha, beta;
    double before, after;     /* the element before (0 if beta is 0) and after the product */
    double error, error_ulps; /* as counted; NaN if the element or what it must be is not finite */
    td_sample_bound bound;
    int64_t k, kept; /* terms, and the first of them that are in td_sample's `lines` */
} td_sample_failure;

/* Terms of a row of op(A) and a column of op(B) that are kept of a failure. */
enum { TD_SAMPLE_LINE = 1 << 20 };

/* A product, and which of its elements are measured. */
typedef struct {
    td_view operand[2]; /* all lines, from offset 0 */
    td_matrix c;
    td_region region; /* the elements of C that the product makes: of all of C, or of a triangle */
    td_scalar alpha, beta;
    int64_t m, n, batch;
    /* elements to measure; if not fewer than m n batch: all that are in the region */
    int64_t count;
    uint64_t seed;  /* of their places, if there are */
    double *before; /* room for `count` elements of C before the product; NULL: beta is 0 */
    void *shares;   /* td_sample_share_bytes of room; NULL: there are none, or none is needed */
    td_sample_bound bound;
    unsigned slot;
    td_sample_counts *counts;   /* in device memory */
    td_sample_failure *failure; /* in host memory, as kernels see it */

    /* The same: TD_SAMPLE_LINE elements of the failure's row, then of its column; NULL: not
     * kept. */
    double *lines;
} td_sample;

/* The most terms of a product that can be measured: words of an exact sum have room for the
 * carries of so many. */
enum { TD_SAMPLE_MOST_K = 0x7fffffff };

/* So many blocks share the terms of each element: a long chain would keep one for long. */
enum { TD_SAMPLE_SHARES = 16, TD_SAMPLE_SHARED_TERMS = 8192, TD_SAMPLE_SHARED_MOST = 256 };
static inline int td_sample_shares(int64_t k, int64_t count)
{
    const int64_t most = TD_SAMPLE_SHARES,
                  shares = count <= TD_SAMPLE_SHARED_MOST ? k / TD_SAMPLE_SHARED_TERMS : 1;
    return (int)(shares < 1 ? 1 : shares < most ? shares : most);
}

/* Device memory that the blocks of shared elements add up in; 0 where no element is shared. */
size_t td_sample_share_bytes(int64_t k, int64_t count);

/* Before the product: keeps the elements of C, if `before` is not NULL. */
cudaError_t td_sample_save_run(const td_sample *sample, cudaStream_t stream);

/* After it: measures, and adds to the counts. */
cudaError_t td_sample_check_run(const td_sample *sample, cudaStream_t stream);

enum { TD_SAMPLE_SLOTS = 4096 };

/* The current device's own counts, TD_SAMPLE_SLOTS of them, zeros at first. */
cudaError_t td_sample_find(td_sample_counts **counts);

/* Adds `from`, in device memory, to `to`, in host memory mapped into the device; leaves zeros in
 * `from`. */
cudaError_t td_sample_move_run(td_sample_counts *from, td_sample_counts *to, cudaStream_t stream);

/* Loads the kernels on the current device: once, before the first launch. The argument is not
 * looked at. */
cudaError_t td_sample_prepare(int which);

#ifdef __cplusplus
}
#endif

#endif
