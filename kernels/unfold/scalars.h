/* scalars.h - what a complex product needs beside the real one that stands for it (unfold.h): alpha
 * and beta with imaginary parts, a second term that is the first one's mirror image, and a diagonal
 * that is real. For host C. */
#ifndef TD_SCALARS_H
#define TD_SCALARS_H

#include <cuda_runtime_api.h>

#include "../view/region.h"
#include "../view/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C <- alpha T + beta C, or, if adds_mirror, alpha T + conj(alpha) T' + beta C, where T' is T's
 * conjugate transpose; where the region is. All matrices are m x n of complex numbers.
 *
 * Scalars without imaginary parts are the real product's own: it makes C, and nothing is left to
 * do. Else it makes T, with alpha = 1 and beta = 0, in C's place, of which a copy is kept before.
 * Where T has a place of its own it is made in any case, and C has not been touched. */
typedef struct {
    td_scalar alpha, beta;
    bool alpha_is_real, beta_is_real; /* they are stored as real numbers */
    bool adds_mirror;                 /* T has a place of its own then */
    bool has_real_diagonal;           /* imaginary parts of C's diagonal become 0 */
    int64_t m, n;
    td_region region; /* of complex elements */
    td_matrix c, t;   /* data of t NULL: T has no place of its own */

    /* C before the product, [batch][n][ld]. data NULL: C itself, which has not been touched, or is
     * not read as beta is 0. */
    td_matrix before;
    int64_t batch_first;
    double *real; /* in device memory: alpha and beta of the real product; NULL: nobody asks */
    const int32_t *verdict; /* a td_verdict: nothing is done if C is made; or NULL */
} td_complex_scalars;

/* True if the host knows that alpha and beta have no imaginary parts: then the real product takes
 * their real parts, and only a diagonal is left to do. */
bool td_scalars_are_real(const td_complex_scalars *s);

/* Before the real product: writes `real`, and copies C to `before` where that is needed. */
cudaError_t td_scalars_begin_run(const td_complex_scalars *s, int batch, cudaStream_t stream);

/* After it. */
cudaError_t td_scalars_end_run(const td_complex_scalars *s, int batch, cudaStream_t stream);

/* Loads the kernels on the current device. */
cudaError_t td_scalars_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
