/* sample.h - elements of a product measured against the exact result, after it, on its stream
 * (TANDEM_VERIFY); and residuals of a triangular solve or of LU factors. What goes in are the
 * operands, the result, and, where they would be lost, elements as they were before; what comes out
 * are counts, and the first element that is off by more than its mode promises. Changes nothing of
 * the call. Not ../verify, which proves eigenvalues.
 *
 * A complex element is two: its real and its imaginary part, each a sum of real products. */
#ifndef TD_SAMPLE_H
#define TD_SAMPLE_H

#include <cuda_runtime_api.h>

#include "../unfold/unfold.h"
#include "../view/region.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was measured of a report line's calls. An element's error is |C - exact|; its size is
 * |alpha||A||B| + |beta||C|, the sum of the magnitudes of all real products that it consists of. Of
 * a solve op(A) X = alpha B the error is the residual |op(A) X - alpha B|, and the size
 * |op(A)||X| + |alpha||B|, of complex numbers of all products for both parts. LU factors are such a
 * solve of L U = P A, where U stands for X and P A for B. */
typedef struct {
    /* Elements that were compared; of these, NaN or infinite, as they have to be or may be: they
     * have no error; and off by more than the bound, NaN or infinite where they must not be, or
     * not where they must. Unjudged: others, of which nobody can say what they must be. */
    unsigned long long elements, special, outside, unjudged;

    /* Of errors relative to sizes; and in units of the last place of C, or of the error, where
     * that is larger. Residuals have no such units: these are 0. */
    double worst, sum, worst_ulps, sum_ulps;
} td_sample_counts;

/* What may be lost besides where numbers are below 2^-1022, in halves of 2^-1074: of each real
 * product, of their sum, and of C, or of a solve's element. */
typedef struct {
    double products, sum, element;
} td_sample_loss;

/* What an error may be at most: relative sizes, units in the last place of C and losses together.
 * An infinite one promises nothing. */
typedef struct {
    double relative, ulps;
    td_sample_loss loss;
} td_sample_bound;

/* What an element is called: a number, or a part of a complex one. */
typedef enum { TD_SAMPLE_REAL, TD_SAMPLE_RE, TD_SAMPLE_IM } td_sample_part;

/* The first element of a context that was outside of its bound. */
typedef struct {
    unsigned is_ready; /* not 0 once all the rest is there */
    unsigned slot;     /* of the call's counts */
    bool is_solve;
    td_sample_part part;
    int64_t row, col, member;
    td_complex_binary64 alpha, beta;
    td_complex_binary64 before; /* the element before (0 if beta is 0), of which im is 0 if real */
    double after;               /* the part after the call */
    double error, error_ulps; /* as counted; NaN if the element or what it must be is not finite */
    td_sample_bound bound;
    int64_t k, kept; /* terms, and the first of them that are in td_sample's `lines` */
    int width;       /* real numbers of a term there */
} td_sample_failure;

/* Room for the terms of a failure, in real numbers. */
enum { TD_SAMPLE_LINES = 1 << 21 };

/* A call, and which of its elements are measured. Of a solve the factors are op(A) and X, in the
 * order of the product that they make, and c is X, B before; of LU factors they are L and U, and c
 * is where these are, A before. */
typedef struct {
    td_folded factor[2][2]; /* op(A) and op(B): `joined` matrices each, of k / joined terms */
    int joined;
    bool is_complex, is_solve;

    /* Also is_solve: LU factors, whose product has A's rows exchanged, row l and row pivots[l] - 1
     * for every l below `exchanges`, in this order. pivots, in device memory after the call, are
     * int or int64_t; NULL: none is. */
    bool is_factored, has_wide_pivots;
    const void *pivots;
    int64_t exchanges;
    int64_t *rows; /* room for `count` of them: where the factors have each place's row of A */

    /* In device memory: the elements are left out (`unjudged`) if this is not 0 after the call.
     * NULL: it does not matter. */
    const int *info;

    /* As ../unfold/scalars.h has them. */
    bool alpha_is_real, beta_is_real, adds_mirror, has_real_diagonal;
    td_scalar alpha, beta;

    td_matrix c, old; /* the result, and what beta multiplies, or a solve's B: mostly c itself */
    bool c_in_rows, old_in_rows; /* each is the transpose of a matrix in columns */
    td_region region; /* the elements that the call makes: of all of C, or of a triangle */
    int64_t m, n, k, batch;

    /* places to measure, of one element or two; if not fewer than m n batch: all that are in the
     * region */
    int64_t count;
    uint64_t seed; /* of the places, if they are fewer */

    double *before; /* room for the elements of `old` before the call; NULL: beta is 0 */
    int kept;       /* the factor that the call writes over; -1: none */
    double *lines;  /* room for td_sample_kept_lines of this factor's lines, of k elements each */
    void *shares;   /* td_sample_share_bytes of room; NULL: there are none, or none is needed */

    /* What the mode promises, and what complex scalars, if there are, add to `relative`. Where
     * is_native, a complex element is made with all parts of the scalars, whatever they are, and
     * what is not finite is counted and not judged, but for real matrices stored in full. */
    td_sample_bound bound;
    double of_scalars;
    bool is_native;

    unsigned slot;
    td_sample_counts *counts;   /* in device memory */
    td_sample_failure *failure; /* in host memory, as kernels see it */

    /* In host memory, as kernels see it: the failure's terms, `width` numbers each. Those of the
     * row of op(A) and of the column of op(B), each of them re and im if complex, and where
     * adds_mirror those of the element's mirror image. NULL: not kept. */
    double *failed_lines;
} td_sample;

/* The most terms of a product that can be measured: words of an exact sum have room for the
 * carries of so many real products, of which a complex term has two, and its mirror image two. */
enum { TD_SAMPLE_MOST_K = 0x7fffffff / 4 };

/* Real numbers that each place has. */
static inline int td_sample_parts(const td_sample *s) { return s->is_complex ? 2 : 1; }

/* Lines of the kept factor: all it has, or one for each place. */
static inline int64_t td_sample_kept_lines(const td_sample *s)
{
    const int64_t lines = (s->kept == 0 ? s->m : s->n) * s->batch;
    return s->count >= s->m * s->n * s->batch ? lines : s->count;
}

/* So many blocks share the terms of each element: a long chain would keep one for long. */
enum { TD_SAMPLE_SHARES = 16, TD_SAMPLE_SHARED_TERMS = 8192, TD_SAMPLE_SHARED_MOST = 256 };
static inline int td_sample_shares(int64_t k, int64_t count)
{
    const int64_t most = TD_SAMPLE_SHARES,
                  shares = count <= TD_SAMPLE_SHARED_MOST ? k / TD_SAMPLE_SHARED_TERMS : 1;
    return (int)(shares < 1 ? 1 : shares < most ? shares : most);
}

/* Device memory that the blocks of shared elements add up in; 0 where no element is shared. */
size_t td_sample_share_bytes(const td_sample *sample);

/* Before the call: keeps the elements that `before` has room for, and the lines. */
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
