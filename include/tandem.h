/* tandem.h - the public interface of Tandem: matrix products in emulated binary64, and in
 * multi-float types.
 *
 * A program needs none of this to have its cuBLAS calls emulated: see the README. The functions
 * below are for programs that call an arithmetic by name, or that keep matrices in a type longer
 * than binary32 or binary64.
 *
 * Conventions of all functions
 *   - Matrices are column-major in device memory; leading dimensions count elements.
 *   - Everything is enqueued on `stream` (NULL: the default stream of the current device); nothing
 *     waits, but for tandem_verify_symmetric.
 *     Operands must stay unchanged, and C untouched, until the stream has run the call.
 *   - The device is the current one of the calling thread. Any number of threads may call at once.
 *   - Device memory for intermediate results comes from a stream-ordered pool, at most
 *     TANDEM_WORKSPACE bytes.
 *   - A failure is returned, never printed and never fatal. C is untouched if the status is not
 *     TANDEM_OK, but for TANDEM_LAUNCH_FAILED, after which C is undefined.
 */
#ifndef TANDEM_H
#define TANDEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TANDEM_VERSION_MAJOR 0
#define TANDEM_VERSION_MINOR 2
#define TANDEM_VERSION_PATCH 0

#if defined(__GNUC__)
#define TANDEM_API __attribute__((visibility("default")))
#else
#define TANDEM_API
#endif

/* cudaStream_t, the type of CUDA streams. */
typedef struct CUstream_st *tandem_stream;

typedef enum tandem_status {
    TANDEM_OK = 0,
    TANDEM_INVALID_VALUE = 1, /* an argument is out of its range: see tandem_last_message() */
    TANDEM_NO_MEMORY = 2,     /* not enough device memory for the least workspace */
    /* the device or its driver lacks something, there is no cuBLAS, or sizes are too large */
    TANDEM_UNSUPPORTED = 3,
    TANDEM_LAUNCH_FAILED = 4, /* the device refused a kernel */
    TANDEM_NOT_PROVEN =
        5 /* tandem_verify_symmetric: there is no bound; see tandem_last_message() */
} tandem_status;

/* As it is, transposed, and conjugated and transposed: the last for complex matrices alone. */
typedef enum tandem_op { TANDEM_OP_N = 0, TANDEM_OP_T = 1, TANDEM_OP_C = 2 } tandem_op;

/* A complex number, as cuDoubleComplex, double _Complex and std::complex<double> have it. 16 bytes,
 * aligned to 8, re first. */
typedef struct tandem_complex {
    double re, im;
} tandem_complex;

#if defined(__cplusplus)
#define TANDEM_ALIGNED(bytes) alignas(bytes)
#else
#define TANDEM_ALIGNED(bytes) _Alignas(bytes)
#endif

/* The types: unevaluated sums of binary32 or binary64 numbers, the largest first. A number is
 * normalised if each component is at most half a unit in the last place of the one before. Zero is
 * all zeros. If the first component is infinite or NaN, it is the value, and the others mean
 * nothing. Matrices are arrays of these structures. */

/* Double-float, hi + lo. 49 significant bits (48 and the sign of lo), the exponent range of
 * binary32: all bits are kept for 2^-100 <= |hi| < 2^128. 8 bytes, aligned to 8, hi first. */
typedef struct tandem_df {
    TANDEM_ALIGNED(8) float hi;
    float lo;
} tandem_df;

/* Triple-single, x + y + z. 72 significant bits and two signs, the exponent range of binary32: all
 * bits are kept for 2^-77 <= |x| < 2^128, and those of a binary64 number for 2^-97 <= |x|. 12
 * bytes, aligned to 4, x first. */
typedef struct tandem_ts {
    float x, y, z;
} tandem_ts;

/* Double-double, hi + lo. 106 significant bits and a sign, the exponent range of binary64: all bits
 * are kept for 2^-968 <= |hi| < 2^1024. 16 bytes, aligned to 16, hi first. */
typedef struct tandem_dd {
    TANDEM_ALIGNED(16) double hi;
    double lo;
} tandem_dd;

/* Double+single, hi + lo: binary64 and binary32. 77 significant bits and a sign. lo has binary32's
 * exponent range: all bits are kept for 2^-73 <= |hi| < 2^181; below, lo ends at 2^-149; above, it
 * is at most the largest finite binary32 number. 12 bytes, aligned to 4, hi first, no padding. */
#pragma pack(push, 4)
typedef struct tandem_ds {
    double hi;
    float lo;
} tandem_ds;
#pragma pack(pop)

/* "major.minor.patch" of the library that runs. */
TANDEM_API const char *tandem_version(void);

/* A short English name for a status. */
TANDEM_API const char *tandem_status_text(tandem_status status);

/* One line about the calling thread's last failure: which argument, what it was, what is allowed.
 * Empty if there was none. Valid until the thread's next call into Tandem. */
TANDEM_API const char *tandem_last_message(void);

/* ---- regions: what counts for the cuBLAS calls of a running process ----
 *
 * For programs with Tandem in front of cuBLAS (preloaded, or by tandem_attach). At first the
 * environment's options count (`tandem options`); those of mode, accuracy, strategy, workspace,
 * verify and graph_branch may be set later, for the process or for a region of one thread.
 * `settings` is a text of words with spaces between, each NAME=VALUE as in the environment without
 * TANDEM_ and in small letters, or for the mode VALUE alone:
 *     "ts"     "ozaki2:14 verify=sample"     "mode=auto accuracy=40"     ""
 * What no word names stays as it is. A product has the mode that counts where it is called: one
 * that is captured into a CUDA graph keeps it in every launch. Lines of TANDEM_RULES go before all
 * of this. If a function fails, nothing is changed, and tandem_last_message() has the reason.
 *   TANDEM_INVALID_VALUE  a word is malformed, or the options contradict each other
 *   TANDEM_NO_MEMORY      no host memory, or the process has set 1024 different settings
 *   TANDEM_UNSUPPORTED    another copy of Tandem was loaded first: its functions are to be called
 * No device is touched. A push, and a pop, of settings that the thread had before takes less than
 * 20 ns (docs/regions.md). */

/* For all threads of the process, now and later, where they are in no region. */
TANDEM_API tandem_status tandem_set(const char *settings);

/* tandem_set of the mode alone, as in TANDEM_MODE. */
TANDEM_API tandem_status tandem_set_mode(const char *mode);

/* A region of the calling thread: the settings, on top of what counts for it now, until tandem_pop;
 * meanwhile what is set for the process does not count for this thread. Regions lie inside one
 * another, at most 64 deep. Other threads, those that a library starts for this one's work among
 * them, are not in it. */
TANDEM_API tandem_status tandem_push(const char *settings);

/* Ends the calling thread's innermost region. TANDEM_INVALID_VALUE if it is in none. */
TANDEM_API tandem_status tandem_pop(void);

/* The value that counts for the calling thread, as text; option: any name that `tandem options`
 * lists, without TANDEM_ and in small letters. value has room for `bytes` characters, of which a
 * mode takes at most 64 and a file name at most 4112; TANDEM_INVALID_VALUE if that is too few. */
TANDEM_API tandem_status tandem_get(const char *option, char *value, size_t bytes);

/* Has intercepted calls counted from now on, if TANDEM_REPORT or verify does not have them already.
 * TANDEM_UNSUPPORTED as from tandem_attach. */
TANDEM_API tandem_status tandem_count_calls(void);

/* What was counted so far, as JSON: docs/report.md describes it.
 *   text    has room for `bytes` characters; left alone if that is less than *needed
 *   needed  set to the characters that the report takes, with a zero at its end
 * The report may be longer at the next call: ask with a little more room. TANDEM_NO_MEMORY if there
 * is no host memory, or nothing is counted. */
TANDEM_API tandem_status tandem_report(char *text, size_t bytes, size_t *needed);

/* ---- attach: Tandem in a process that was not started with it ----
 *
 * tandem_attach makes the libraries that are loaded call Tandem where they import a function of
 * cuBLAS, cublasLt or cublasXt: the addresses in their tables of imports are replaced, while their
 * threads may run. Libraries that are loaded later are reached when they are opened by a path, or
 * when something is looked up by dlsym. Out of reach are functions that were looked up by dlsym
 * before, or with RTLD_DEFAULT or RTLD_NEXT: tandem_reach names the libraries that may have done
 * so. What counts for a call is as for a preloaded Tandem: the environment's options and
 * tandem_set. In a preloaded process there is nothing to replace.
 *
 * tandem_detach puts all back. Calls through addresses that the program has kept then pass through
 * Tandem unseen, until the next tandem_attach.
 *
 * Both may be called again, and from any thread, but not while a library's constructor runs. The
 * library that they are in must stay loaded.
 *   TANDEM_NO_MEMORY    attach: some imports stay cuBLAS's, for want of memory or because the
 *                       system lets no page be written; call again, or detach
 *   TANDEM_UNSUPPORTED  another copy of Tandem was loaded first: its functions are to be called */
TANDEM_API tandem_status tandem_attach(void);
TANDEM_API tandem_status tandem_detach(void);

/* The loaded libraries that call cuBLAS, as JSON: {"is_attached": B, "libraries": [{"path": P,
 * "imports": N, "redirected": M, "may_have_looked_up": B}, ...]}. imports: places with addresses of
 * functions that Tandem has a wrapper for; redirected: those of the last attach.
 * may_have_looked_up: the library imports none and uses dlsym, and its constants name cuBLAS. text,
 * bytes and needed as for tandem_report. */
TANDEM_API tandem_status tandem_reach(char *text, size_t bytes, size_t *needed);

/* S <- A, each element of A in a longer or shorter type.
 *   a  rows x cols binary64, lda >= max(1, rows), read only, aligned to 8 bytes
 *   s  rows x cols of the type, lds >= max(1, rows), aligned as the type; must not overlap A
 * df: |s - a| <= 2^-49 |a| for 2^-100 <= |a| < 2^128 (1 - 2^-25); 2^-149 absolute below; above, s
 *     is infinite with the sign of a.
 * ts: exact for 2^-97 <= |a| < 2^128 (1 - 2^-25); 2^-149 absolute below; infinite above.
 * dd, ds: exact.
 * NaN and infinities are kept. */
TANDEM_API tandem_status tandem_df_split(int64_t rows, int64_t cols, const double *a, int64_t lda,
                                         tandem_df *s, int64_t lds, tandem_stream stream);
TANDEM_API tandem_status tandem_ts_split(int64_t rows, int64_t cols, const double *a, int64_t lda,
                                         tandem_ts *s, int64_t lds, tandem_stream stream);
TANDEM_API tandem_status tandem_dd_split(int64_t rows, int64_t cols, const double *a, int64_t lda,
                                         tandem_dd *s, int64_t lds, tandem_stream stream);
TANDEM_API tandem_status tandem_ds_split(int64_t rows, int64_t cols, const double *a, int64_t lda,
                                         tandem_ds *s, int64_t lds, tandem_stream stream);

/* A <- S, each element rounded to nearest binary64; the arguments as for the splits. */
TANDEM_API tandem_status tandem_df_join(int64_t rows, int64_t cols, const tandem_df *s, int64_t lds,
                                        double *a, int64_t lda, tandem_stream stream);
TANDEM_API tandem_status tandem_ts_join(int64_t rows, int64_t cols, const tandem_ts *s, int64_t lds,
                                        double *a, int64_t lda, tandem_stream stream);
TANDEM_API tandem_status tandem_dd_join(int64_t rows, int64_t cols, const tandem_dd *s, int64_t lds,
                                        double *a, int64_t lda, tandem_stream stream);
TANDEM_API tandem_status tandem_ds_join(int64_t rows, int64_t cols, const tandem_ds *s, int64_t lds,
                                        double *a, int64_t lda, tandem_stream stream);

/* C <- alpha op(A) op(B) + beta C, everything in one type ("DF(DF)" and so on: operands and result
 * stay in it).
 *   op(A)  m x k: A is m x k (TANDEM_OP_N, lda >= max(1, m)) or k x m (TANDEM_OP_T,
 *          lda >= max(1, k))
 *   op(B)  k x n: likewise
 *   C      m x n, ldc >= max(1, m); not read if beta is 0; must not overlap A or B
 * A and B are not read if alpha is 0. Pointers are aligned as the type. Elements and scalars are
 * normalised. There is no scaling here (tandem_dgemm scales): the errors below hold as long as
 * products and sums stay where the type keeps all bits. A NaN, an infinity or an overflow makes the
 * elements of C that depend on it NaN or infinite. The bits of C depend on the operands and on (m,
 * n, k) alone.
 * Error: |C - exact| <= bound (|alpha||A||B| + |beta||C|), componentwise; measured, in every test
 * with k <= 16384, and proven for any operands (docs/numerics.md, which has the papers):
 *   df  2^-42.9 measured, 2^-38 proven    ts  2^-66 measured, 2^-59 proven
 *   dd  2^-101 measured, 2^-96 proven     ds  2^-77: that of dd, and the rounding of C to 77
 *       bits */
TANDEM_API tandem_status tandem_dfgemm(tandem_op op_a, tandem_op op_b, int64_t m, int64_t n,
                                       int64_t k, tandem_df alpha, const tandem_df *a, int64_t lda,
                                       const tandem_df *b, int64_t ldb, tandem_df beta,
                                       tandem_df *c, int64_t ldc, tandem_stream stream);
TANDEM_API tandem_status tandem_tsgemm(tandem_op op_a, tandem_op op_b, int64_t m, int64_t n,
                                       int64_t k, tandem_ts alpha, const tandem_ts *a, int64_t lda,
                                       const tandem_ts *b, int64_t ldb, tandem_ts beta,
                                       tandem_ts *c, int64_t ldc, tandem_stream stream);
TANDEM_API tandem_status tandem_ddgemm(tandem_op op_a, tandem_op op_b, int64_t m, int64_t n,
                                       int64_t k, tandem_dd alpha, const tandem_dd *a, int64_t lda,
                                       const tandem_dd *b, int64_t ldb, tandem_dd beta,
                                       tandem_dd *c, int64_t ldc, tandem_stream stream);
TANDEM_API tandem_status tandem_dsgemm(tandem_op op_a, tandem_op op_b, int64_t m, int64_t n,
                                       int64_t k, tandem_ds alpha, const tandem_ds *a, int64_t lda,
                                       const tandem_ds *b, int64_t ldb, tandem_ds beta,
                                       tandem_ds *c, int64_t ldc, tandem_stream stream);

/* tandem_tsgemm by the slices of mode ozaki-sgemm: exact products of short digits by cuBLAS's
 * SGEMM. Arguments as there, and
 *   slices  2 .. 12, or 0: as many as keep 76 bits below the largest number of each row of op(A)
 *           and column of op(B)
 * Numbers are rounded to slices * bits - 1 bits below the power of two above that largest number,
 * bits being 1 + floor((24 - ceil(log2 max(2, min(k, 4096)))) / 2): 12 for k <= 4 down to 7 for
 * k > 1024. The components of a number are rounded one by one. Nothing else is lost before each sum
 * is rounded to tandem_ts; alpha and beta enter as in tandem_tsgemm. So the error follows the
 * largest numbers of the row and of the column: nothing is certified or repaired. Elements of C
 * that depend on a NaN or an infinity are NaN. Workspace: 20 slices + 4 bytes an element, of as
 * many of C at a time as fit TANDEM_WORKSPACE. Needs a cuBLAS, that of the process or one that the
 * loader finds: without, TANDEM_UNSUPPORTED, and C is untouched. */
TANDEM_API tandem_status tandem_tsgemm_sliced(int slices, tandem_op op_a, tandem_op op_b, int64_t m,
                                              int64_t n, int64_t k, tandem_ts alpha,
                                              const tandem_ts *a, int64_t lda, const tandem_ts *b,
                                              int64_t ldb, tandem_ts beta, tandem_ts *c,
                                              int64_t ldc, tandem_stream stream);

/* C <- alpha op(A) op(B) + beta C for binary64 matrices in the arithmetic that `mode` names, as in
 * TANDEM_MODE ("df", "ozaki2", "ozaki2:14", "faithful", ...; `tandem modes` lists them with their
 * error bounds; "native" is cuBLAS's and refused here). Shapes, aliasing and the rules for
 * alpha = 0 and beta = 0 as for tandem_dfgemm. The whole exponent range of binary64 works. NaN and
 * infinities in the operands make the elements of C NaN or infinite that binary64 arithmetic makes
 * so; sums do not overflow half way. With "faithful", elements that only finite numbers make are
 * the binary64 numbers nearest to the exact ones, ties to even. ozaki-sgemm and ozaki1 need a
 * cuBLAS, as tandem_tsgemm_sliced does. No handle of cuBLAS takes part: math modes that the program
 * has set do not count here. */
TANDEM_API tandem_status tandem_dgemm(const char *mode, tandem_op op_a, tandem_op op_b, int64_t m,
                                      int64_t n, int64_t k, double alpha, const double *a,
                                      int64_t lda, const double *b, int64_t ldb, double beta,
                                      double *c, int64_t ldc, tandem_stream stream);

/* C <- alpha op(A) op(B) + beta C for complex binary64 matrices, as tandem_dgemm for real ones;
 * op(X) may also be the conjugate transpose (TANDEM_OP_C). Pointers are aligned to 8 bytes.
 * Each part of a sum over k is one of 2k real products: it has the bits that tandem_dgemm gives for
 * the real matrices whose blocks are (re, -im; im, re) for each element of op(A), and (re; im) for
 * each of op(B); but for "ozaki2", which has residues of complex numbers, and other bits within the
 * same bound. So the mode's error bound holds for each part of alpha op(A) op(B) + beta C with 2k
 * terms, and with |X| standing for |re| + |im|, if alpha and beta are real (im = 0). Otherwise the
 * sums are rounded to binary64, and the scalars enter afterwards in binary64, with four roundings
 * more of each part. Workspace: 32 bytes for each element of op(A), 16 for each of op(B) unless
 * op_b is TANDEM_OP_N, 16 for each of C if a scalar is not real and beta is not 0, and what
 * tandem_dgemm takes, of which as many members or tiles at a time as fit TANDEM_WORKSPACE. */
TANDEM_API tandem_status tandem_zgemm(const char *mode, tandem_op op_a, tandem_op op_b, int64_t m,
                                      int64_t n, int64_t k, tandem_complex alpha,
                                      const tandem_complex *a, int64_t lda, const tandem_complex *b,
                                      int64_t ldb, tandem_complex beta, tandem_complex *c,
                                      int64_t ldc, tandem_stream stream);

/* Intervals that are proven to hold all eigenvalues of A x = lambda x, A symmetric, or of A x =
 * lambda B x with B symmetric and positive definite, from the approximate eigenvectors and
 * eigenvalues of any solver.
 *   mode   "faithful" or "faithful:fp64"; or "native", for comparison: cuBLAS's products, of which
 *          it is assumed, not known, that they are sums of binary64 products in some order
 *   a      n x n, lda >= max(1, n): both triangles
 *   b      likewise; NULL for the identity (ldb is not looked at then)
 *   x      n x n, ldx >= max(1, n): approximate eigenvectors, one a column, with X'X (X'B X) near I
 *   d      n approximate eigenvalues in any order, that of column j at d[j]
 *   lower, upper, cluster
 *          n numbers each, in host memory. The i-th smallest eigenvalue, i from 0, counted with
 *          multiplicity, lies in [lower[i], upper[i]]. Eigenvalues that are not told apart are one
 *          cluster: one interval, and one number in cluster[]. Clusters are numbered from 0 upward,
 *          and their intervals share no number.
 * a, b, x and d are in device memory, and read only. Nothing is assumed of x and d: the better they
 * are, the smaller the intervals.
 * Theorem: let D = diag(d), R = A X - B X D, G = X'B X - I, and |.| the Frobenius norm. If |G| < 1,
 * X is invertible, B is positive definite (X^-1 is its factor), and for any set J of m columns
 * there are m eigenvalues within c |R_J| / sqrt(1 - |G|) of the d[j], j in J, without B, and within
 * c |X'R_J| / (1 - |G|) with B; c = 1 for m = 1, else sqrt(2). So intervals that are disjoint hold
 * exactly m each (Kahan; Rump; Miyajima, Ogita, Rump and Oishi 2010). R, X'R and G are products
 * that are rounded once, every rounding is bounded, and bounds are rounded up: docs/verify.md.
 * Status: TANDEM_INVALID_VALUE if A or B is not symmetric, or A, B, X or d has an element that is
 * not finite; TANDEM_NOT_PROVEN if |G| is not shown to be below 1 (X is far from orthonormal, or B
 * is not positive definite), or something overflows. Nothing is written then.
 * Cost: 2 products of mode `faithful`, 4 with B, and each matrix is read two or three times. Device
 * memory: that of one product and 1 matrix of n x n, 3 with B, within TANDEM_WORKSPACE.
 * Unlike the functions above it waits for the stream, which must not be captured. */
TANDEM_API tandem_status tandem_verify_symmetric(const char *mode, int64_t n, const double *a,
                                                 int64_t lda, const double *b, int64_t ldb,
                                                 const double *x, int64_t ldx, const double *d,
                                                 double *lower, double *upper, int64_t *cluster,
                                                 tandem_stream stream);

#ifdef __cplusplus
}
#endif

#endif
