/* lu_work.h - batches of random matrices, and every batched LU routine on them, Tandem's and
 * cuBLAS's. */
#ifndef BENCH_LU_WORK_H
#define BENCH_LU_WORK_H

#include <cublas_v2.h>

#include "../kernels/batched_lu/batched_lu.h"

typedef enum { LU_GETRF, LU_GETRI, LU_GETRS, LU_TRSM, LU_MATINV, LU_ROUTINES } lu_routine;
extern const char *const lu_routine_names[LU_ROUTINES];

/* n x n matrices: as they came, their factors by cuBLAS, what a routine writes, and right-hand
 * sides that it overwrites. */
typedef struct {
    td_lu_type type;
    int n, batch;
    size_t bytes; /* of each batch */
    cublasHandle_t handle;
    char *random;
    size_t random_bytes;
    char *source, *factors, *out;
    void **source_at, **factors_at, **out_at;
    int *pivots, *info, *other_pivots, *other_info;
} lu_work;

/* Room for the largest problem. */
bool lu_work_open(lu_work *w, size_t bytes, int most_batch, int most_n);
void lu_work_close(lu_work *w);

/* Fills source and factors for a problem. */
bool lu_work_prepare(lu_work *w, td_lu_type type, int n, int batch);

/* The time of one call in seconds, from events: the median of runs after one that warms up, its
 * inputs restored before each. shape: as td_lu_factors has it, or for other routines the vectors of
 * a block and LU_LANES times the lanes that share one; LU_CUBLAS: cuBLAS's own. */
enum { LU_CUBLAS = -2, LU_LANES = 1000 };
bool lu_work_time(lu_work *w, lu_routine routine, int shape, int runs, double *seconds);

/* Matrices whose pivots or info are not cuBLAS's. */
bool lu_work_differences(lu_work *w, int *pivots, int *info);

#endif
