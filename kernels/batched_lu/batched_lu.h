/* batched_lu.h - batches of small LU factorisations, inverses and triangular solutions: what host
 * C asks for, and kernels do.
 *
 * All matrices are column-major, one pointer each in an array in device memory, leading dimensions
 * in elements. Types are binary32, binary64 and the complex numbers of each. Every element is one
 * chain of fused multiply-adds in an order that the sizes alone decide (docs/batched_lu.md), so
 * that the bits are the same for every kernel shape, batch and leading dimension, and on the host
 * device.
 * The functions enqueue and never wait. */
#ifndef TD_BATCHED_LU_H
#define TD_BATCHED_LU_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { TD_LU_S, TD_LU_D, TD_LU_C, TD_LU_Z, TD_LU_TYPES } td_lu_type;

/* Most rows of a matrix that is factored, and of one that is solved with: a thread each, and what
 * one byte can number. */
enum { TD_LU_MOST_FACTORED = 512, TD_LU_MOST = 256 };

/* P A = L U in place of A. pivots: n for each matrix, from 1, as LAPACK's; NULL: no interchanges.
 * info: one for each matrix, 0, or the number of the first pivot that is 0. */
typedef struct {
    td_lu_type type;
    int n;
    void *const *a;
    int lda;
    int *pivots, *info;
    int batch;
    int shape; /* -1: as the table says; else td_lu_shape, for tests and benches */
} td_lu_factors;
cudaError_t td_lu_factor(const td_lu_factors *p, cudaStream_t stream);

/* How the threads of a factorisation are arranged. */
typedef enum {
    TD_LU_LANES_8, /* as many lanes for each matrix, which fits them */
    TD_LU_LANES_16,
    TD_LU_LANES_24, /* a warp for so many columns, */
    TD_LU_LANES_32,
    TD_LU_LANES_36, /* two rows a lane; real numbers only */
    TD_LU_LANES_48, /* binary32 only */
    TD_LU_WARP,     /* 64 rows, two a thread, L in shared memory */
    TD_LU_SHARED,   /* a thread for each row, L in shared memory */
    /* the same but for the first panels, so that one more block fits a multiprocessor; ... */
    TD_LU_SHARED_1,
    TD_LU_SHARED_2, /* ... two more; ... */
    TD_LU_SHARED_3,
    /* a thread for two rows, or for one from the panel on from which there are enough; the rest
     * alike */
    TD_LU_PAIRS,
    TD_LU_PAIRS_1,
    TD_LU_PAIRS_2,
    TD_LU_PAIRS_3,
    /* as pairs, for more rows: their numbers have two bytes */
    TD_LU_LARGE,
    TD_LU_LARGE_1,
    TD_LU_LARGE_2,
    TD_LU_LARGE_3,
    TD_LU_SHAPES
} td_lu_shape;

/* True if the current device can run this shape for n rows. */
bool td_lu_shape_fits(td_lu_type type, int n, int shape);

/* The fastest shape of those, from bench/lu; a shape of -1 stands for it. */
int td_lu_shape_of(td_lu_type type, int n);

/* X op(A) = alpha B or op(A) X = alpha B in place of B, for triangular A; or, with pivots, op(A)
 * X = B for the factors of A; or, with `c`, the inverse from the factors. */
typedef enum { TD_LU_N, TD_LU_T, TD_LU_C_OP } td_lu_operation;

typedef struct {
    td_lu_type type;
    td_lu_operation op;
    int n;       /* rows of A */
    int vectors; /* columns of B, rows where A is on the right */
    const void *const *a;
    int lda;
    void *const *b;
    int ldb;
    int batch;

    enum { TD_VECTORS_INVERSE, TD_VECTORS_SOLUTION, TD_VECTORS_TRIANGLE } what;
    const int *pivots; /* for the first two; NULL: no interchanges */
    int *info; /* for inverses: 0, or the number of the first 0 on U's diagonal; may be NULL */

    /* For a triangle. */
    bool is_upper, is_unit, is_right;
    double alpha_re, alpha_im; /* of the matrices' type */
    const void *device_alpha;  /* in device memory, in place of these; or NULL */

    /* Of a block: vectors that it has, and the lanes that share one, 1 or as many as
     * td_lu_most_lanes says; or TD_LU_STRIPS lanes, a warp for each strip of rows, if the type has
     * strips. 0: as the table says. */
    int together, lanes;
} td_lu_vectors;
enum { TD_LU_STRIPS = 32 };
cudaError_t td_lu_solve(const td_lu_vectors *p, cudaStream_t stream);
int td_lu_most_lanes(td_lu_type type);

/* True if the current device has strips of that type. */
bool td_lu_has_strips(td_lu_type type);

/* C = A^-1 with one kernel, for n to TD_LU_MOST_INVERTED; info as td_lu_factor's. A stays as it
 * is. */
enum { TD_LU_MOST_INVERTED = 32 };
typedef struct {
    td_lu_type type;
    int n;
    const void *const *a;
    int lda;
    void *const *c;
    int ldc;
    int *info;
    int batch;
} td_lu_inverses;
cudaError_t td_lu_invert(const td_lu_inverses *p, cudaStream_t stream);

/* Loads these kernels on the current device: once, before the first launch. */
cudaError_t td_lu_prepare(void);

#ifdef __cplusplus
}
#endif

#endif
