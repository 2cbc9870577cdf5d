/* lapack.h - OpenBLAS's LAPACK for one of the four types, by a table of functions: sizes by value,
 * elements without a type. All return LAPACK's info. Matrices are column-major; sizes of workspaces
 * are in elements. */
#ifndef HOSTGPU_LAPACK_H
#define HOSTGPU_LAPACK_H

#include <stdbool.h>
#include <stddef.h>

#include <library_types.h>

typedef struct {
    cudaDataType type, real_type; /* of elements, and of their real parts */
    size_t bytes, real_bytes;
    bool is_complex;
    int (*getrf)(int m, int n, void *a, int lda, int *pivots);
    /* Without interchanges; a pivot that is 0 ends it, as in cuBLAS, and its number is info. */
    int (*getrf_plain)(int m, int n, void *a, int lda);
    int (*getri)(int n, void *a, int lda, const int *pivots, void *work, int size);
    int (*getrs)(char op, int n, int columns, const void *a, int lda, const int *pivots, void *b,
                 int ldb);
    int (*potrf)(char uplo, int n, void *a, int lda);
    int (*potrs)(char uplo, int n, int columns, const void *a, int lda, void *b, int ldb);
    int (*potri)(char uplo, int n, void *a, int lda);
    int (*geqrf)(int m, int n, void *a, int lda, void *tau, void *work, int size);
    /* The next three are ormqr, orgqr and syevd of real types. */
    int (*unmqr)(char side, char op, int m, int n, int k, const void *a, int lda, const void *tau,
                 void *c, int ldc, void *work, int size);
    int (*ungqr)(int m, int n, int k, void *a, int lda, const void *tau, void *work, int size);
    int (*heevd)(char job, char uplo, int n, void *a, int lda, void *values, void *work, int size,
                 void *real_work, int real_size, int *int_work, int int_size);
    /* real_work: 5 min(m, n) real numbers; read for complex types alone. */
    int (*gesvd)(char job_u, char job_vt, int m, int n, void *a, int lda, void *values, void *u,
                 int ldu, void *vt, int ldvt, void *work, int size, void *real_work);
} lapack_type;

/* By the letters of their functions' names. */
extern const lapack_type hostgpu_lapack_S, hostgpu_lapack_D, hostgpu_lapack_C, hostgpu_lapack_Z;

/* 1, 2, ... n, to stand for pivots that are not given, for free(); NULL without memory. */
int *hostgpu_identity_pivots(int n);

#endif
