/* native.h - cuBLAS's own functions, for programs that link Tandem in front of cuBLAS: dlsym gives
 * these wrappers. */
#ifndef BENCH_NATIVE_H
#define BENCH_NATIVE_H

#include <cublas_v2.h>

typedef cublasStatus_t dgemm(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                             const double *, const double *, int, const double *, int,
                             const double *, double *, int);

/* cublasDgemm_v2 of the cuBLAS that is loaded; NULL, with a message, if there is none, or none
 * behind a wrapper. */
dgemm *native_dgemm(void);

#endif
