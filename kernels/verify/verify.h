/* verify.h - what the proof of eigenvalues (docs/verify.md) needs of a device besides products:
 * norms of columns, the products' C before them, and a look at the input. For host C and for
 * kernels. Every function enqueues on `stream`, waits for nothing, and returns the launch's status.
 * Matrices are column-major; ld counts elements. */
#ifndef TD_VERIFY_KERNELS_H
#define TD_VERIFY_KERNELS_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The Euclidean norm of one column is sqrt(squares) 2^exponent, up to the roundings of `squares`,
 * which is 0 for a column of zeros and NaN for one with a NaN or an infinity. Otherwise the
 * exponent is that of the largest element, so that 1 <= squares < 4 rows, and
 *   exact sum of squares <= squares (1 + (rows + 4) 2^-52):
 * each of the terms is rounded once (and once more where an element is scaled below 2^-1022), and
 * takes part in fewer than `rows` additions of numbers that are not 0. The order of the additions
 * is a function of `rows` alone. */
typedef struct {
    double squares;
    int64_t exponent;
} td_norm;

/* norm[j] <- of column j. */
cudaError_t td_norms_run(const double *m, int64_t ld, int rows, int cols, td_norm *norm,
                         cudaStream_t stream);

/* The first faults of a matrix, as row + column * n; TD_NO_FAULT if there is none. A pair of
 * unequal elements is counted once, by the place below the diagonal. */
#define TD_NO_FAULT (~0ull)
typedef struct {
    unsigned long long not_finite, not_symmetric;
} td_faults;

/* *faults, of which every byte is 0xff before, <- of the n x n matrix. */
cudaError_t td_faults_run(const double *a, int64_t lda, int n, td_faults *faults,
                          cudaStream_t stream);

/* W <- P D, each element rounded once; D = diag(d), d of n elements in device memory. All n x n; W
 * has leading dimension n. */
cudaError_t td_columns_scale_run(const double *p, int64_t ldp, const double *d, int n, double *w,
                                 cudaStream_t stream);

/* C <- I, n x n, leading dimension n. */
cudaError_t td_identity_run(int n, double *c, cudaStream_t stream);

/* Loads the kernels on the current device; a td_loader. */
cudaError_t td_verify_prepare(int which);

#ifdef __cplusplus
}
#endif

#endif
