/* client_level3.h - one call of a level 3 routine, as client_level3.c makes it, by a function of
 * cublas_v2.h or of cublas.h, which no source can include together. */
#ifndef TD_CLIENT_LEVEL3_H
#define TD_CLIENT_LEVEL3_H

/* side, uplo, op and diag are cuBLAS's numbers. */
typedef struct {
    int side, uplo, op, diag, m, n, k, lda, ldb, ldc;
    /* Complex numbers, aligned as cuDoubleComplex is, or real ones and what real routines do not
     * read. */
    _Alignas(16) double alpha[2], beta[2];
} call;

/* Makes the call by the function of cublas.h of that name behind "cublas", on matrices in device
 * memory; a triangular product or solution is in place, in c. Returns what cublasGetError says. */
int run_legacy(const char *name, const call *x, const void *a, const void *b, void *c);

#endif
