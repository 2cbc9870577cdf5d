/* tandem.h - the public interface of Tandem: matrix products in emulated binary64, and in double-float.
 *
 * A program needs none of this to have its cuBLAS calls emulated: see the README. The functions below are for
 * programs that call an arithmetic by name, or that keep matrices in double-float.
 *
 * Conventions of all functions
 *   - Matrices are column-major in device memory; leading dimensions count elements.
 *   - Everything is enqueued on `stream` (NULL: the default stream of the current device); nothing waits.
 *     Operands must stay unchanged, and C untouched, until the stream has run the call.
 *   - The device is the current one of the calling thread. Any number of threads may call at once.
 *   - Device memory for intermediate results comes from a stream-ordered pool, at most TANDEM_WORKSPACE bytes.
 *   - A failure is returned, never printed and never fatal. C is untouched if the status is not TANDEM_OK,
 *     but for TANDEM_LAUNCH_FAILED, after which C is undefined.
 */
#ifndef TANDEM_H
#define TANDEM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TANDEM_VERSION_MAJOR 0
#define TANDEM_VERSION_MINOR 1
#define TANDEM_VERSION_PATCH 0

#if defined(__GNUC__)
#define TANDEM_API __attribute__((visibility("default")))
#else
#define TANDEM_API
#endif

/* The same type as cudaStream_t. */
typedef struct CUstream_st *tandem_stream;

typedef enum tandem_status {
    TANDEM_OK = 0,
    TANDEM_INVALID_VALUE = 1, /* an argument is out of its range: see tandem_last_message() */
    TANDEM_NO_MEMORY = 2,     /* not enough device memory for the least workspace */
    TANDEM_UNSUPPORTED = 3,   /* the device or its driver lacks something */
    TANDEM_LAUNCH_FAILED = 4  /* the device refused a kernel */
} tandem_status;

typedef enum tandem_op { TANDEM_OP_N = 0, TANDEM_OP_T = 1 } tandem_op;

/* Double-float: the unevaluated sum hi + lo of two binary32 numbers, |lo| at most half a unit in the last place of hi.
 * 49 significant bits (48 and the sign of lo), the exponent range of binary32: all bits are kept for
 * 2^-100 <= |hi| < 2^128. If hi is infinite or NaN, the value is hi, and lo means nothing.
 * 8 bytes, aligned to 8, hi first. */
typedef struct tandem_df {
#if defined(__cplusplus)
    alignas(8) float hi;
#else
    _Alignas(8) float hi;
#endif
    float lo;
} tandem_df;

/* "major.minor.patch" of the library that runs. */
TANDEM_API const char *tandem_version(void);

/* A short English name for a status. */
TANDEM_API const char *tandem_status_text(tandem_status status);

/* One line about the calling thread's last failure: which argument, what it was, what is allowed.
 * Empty if there was none. Valid until the thread's next call into Tandem. */
TANDEM_API const char *tandem_last_message(void);

/* S <- A, each element rounded to double-float.
 *   a  rows x cols binary64, lda >= max(1, rows), read only
 *   s  rows x cols double-float, lds >= max(1, rows)
 * Error: |s - a| <= 2^-49 |a| for 2^-100 <= |a| < 2^128 (1 - 2^-25); 2^-149 absolute below; above, s is
 * infinite with the sign of a. NaN and infinities are kept. */
TANDEM_API tandem_status tandem_df_split(int64_t rows, int64_t cols, const double *a, int64_t lda,
                                         tandem_df *s, int64_t lds, tandem_stream stream);

/* A <- S, each element rounded to nearest binary64; the arguments as for tandem_df_split. */
TANDEM_API tandem_status tandem_df_join(int64_t rows, int64_t cols, const tandem_df *s, int64_t lds,
                                        double *a, int64_t lda, tandem_stream stream);

/* C <- alpha op(A) op(B) + beta C, everything in double-float ("DF(DF)": operands and result stay pairs).
 *   op(A)  m x k: A is m x k (TANDEM_OP_N, lda >= max(1, m)) or k x m (TANDEM_OP_T, lda >= max(1, k))
 *   op(B)  k x n: likewise
 *   C      m x n, ldc >= max(1, m); not read if beta is 0; must not overlap A or B
 * A and B are not read if alpha is 0. Aligned to 8 bytes.
 * Error: |C - exact| <= 2^-43 (|alpha||A||B| + |beta||C|), componentwise, in every test with k <= 16384 (2^-38
 * proven: docs/numerics.md), as long as the products and sums stay within 2^-100 .. 2^127 (there is no scaling
 * here: tandem_dgemm scales). A NaN, an infinity or an overflow makes the elements of C that depend on it NaN
 * or infinite. The bits of C depend on the operands and on (m, n, k) alone. */
TANDEM_API tandem_status tandem_dfgemm(tandem_op op_a, tandem_op op_b, int64_t m, int64_t n,
                                       int64_t k, tandem_df alpha, const tandem_df *a, int64_t lda,
                                       const tandem_df *b, int64_t ldb, tandem_df beta,
                                       tandem_df *c, int64_t ldc, tandem_stream stream);

/* C <- alpha op(A) op(B) + beta C for binary64 matrices in the arithmetic that `mode` names, as in TANDEM_MODE
 * ("df"; `tandem modes` lists them with their error bounds; "native" is cuBLAS's and refused here).
 * Shapes, aliasing and the rules for alpha = 0 and beta = 0 as for tandem_dfgemm. The whole exponent range of
 * binary64 works. NaN and infinities in the operands make the elements of C NaN or infinite that binary64 arithmetic
 * makes so; sums do not overflow half way. */
TANDEM_API tandem_status tandem_dgemm(const char *mode, tandem_op op_a, tandem_op op_b, int64_t m,
                                      int64_t n, int64_t k, double alpha, const double *a,
                                      int64_t lda, const double *b, int64_t ldb, double beta,
                                      double *c, int64_t ldc, tandem_stream stream);

#ifdef __cplusplus
}
#endif

#endif
