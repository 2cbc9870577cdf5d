/* routines.h - THE table of the FP64 routines of cuBLAS, cublasLt and cublasXt: all that has an
 * argument of type D or Z, or takes CUDA_R_64F or CUDA_C_64F. For `tandem doctor --entries` and
 * docs/entries.md; a test compares it with the toolkit's headers. Whether a function is
 * intercepted stands in entries.h alone: a row there is enough. */
#ifndef TD_ROUTINES_H
#define TD_ROUTINES_H

#include <stdbool.h>

/* X(cause, text): why a function stays native. */
#define TD_CAUSES(X)                                                                               \
    X(all, "every form is intercepted")                                                            \
    X(factors, "QR factors and least squares of small matrices: Tandem has kernels for LU alone")  \
    X(packed, "a packed triangle, which no kernel of Tandem reads")                                \
    X(matrix_vector, "a matrix and vectors: limited by memory, so that no arithmetic is faster")   \
    X(vector, "vectors: limited by memory, so that no arithmetic is faster")                       \
    X(elements, "moves, adds or scales elements: no product")

/* X(forms, suffixes): the functions that a routine has. */
#define TD_FORMS(X)                                                                                \
    X(blas, "", "_v2", "_v2_64")                                                                   \
    X(v2, "_v2", "_v2_64")                                                                         \
    X(scalars, "", "_v2")                                                                          \
    X(sized, "", "_64")                                                                            \
    X(alone, "")

/* X(routine, forms, cause): the cause is that of the functions that are not intercepted. */
#define TD_ROUTINES(X)                                                                             \
    X(cublasDgemm, blas, all)                                                                      \
    X(cublasDgemmBatched, sized, all)                                                              \
    X(cublasDgemmStridedBatched, sized, all)                                                       \
    X(cublasGemmEx, sized, all)                                                                    \
    X(cublasZgemm, blas, all)                                                                      \
    X(cublasZgemm3m, sized, all)                                                                   \
    X(cublasZgemmBatched, sized, all)                                                              \
    X(cublasZgemmStridedBatched, sized, all)                                                       \
    X(cublasDgemmGroupedBatched, sized, all)                                                       \
    X(cublasGemmGroupedBatchedEx, sized, all)                                                      \
    X(cublasGemmBatchedEx, sized, all)                                                             \
    X(cublasGemmStridedBatchedEx, sized, all)                                                      \
    X(cublasDsymm, blas, all)                                                                      \
    X(cublasDsyr2k, blas, all)                                                                     \
    X(cublasDsyrk, blas, all)                                                                      \
    X(cublasDsyrkx, sized, all)                                                                    \
    X(cublasDtrmm, blas, all)                                                                      \
    X(cublasDtrsm, blas, all)                                                                      \
    X(cublasZhemm, blas, all)                                                                      \
    X(cublasZher2k, blas, all)                                                                     \
    X(cublasZherk, blas, all)                                                                      \
    X(cublasZherkx, sized, all)                                                                    \
    X(cublasZsymm, blas, all)                                                                      \
    X(cublasZsyr2k, blas, all)                                                                     \
    X(cublasZsyrk, blas, all)                                                                      \
    X(cublasZsyrkx, sized, all)                                                                    \
    X(cublasZtrmm, blas, all)                                                                      \
    X(cublasZtrsm, blas, all)                                                                      \
    X(cublasDgetrfBatched, alone, all)                                                             \
    X(cublasDgetriBatched, alone, all)                                                             \
    X(cublasDgetrsBatched, alone, all)                                                             \
    X(cublasDmatinvBatched, alone, all)                                                            \
    X(cublasDtrsmBatched, sized, all)                                                              \
    X(cublasZgetrfBatched, alone, all)                                                             \
    X(cublasZgetriBatched, alone, all)                                                             \
    X(cublasZgetrsBatched, alone, all)                                                             \
    X(cublasZmatinvBatched, alone, all)                                                            \
    X(cublasZtrsmBatched, sized, all)                                                              \
    X(cublasDgelsBatched, alone, factors)                                                          \
    X(cublasDgeqrfBatched, alone, factors)                                                         \
    X(cublasZgelsBatched, alone, factors)                                                          \
    X(cublasZgeqrfBatched, alone, factors)                                                         \
    X(cublasLtMatmul, alone, all)                                                                  \
    X(cublasXtDgemm, alone, all)                                                                   \
    X(cublasXtDspmm, alone, packed)                                                                \
    X(cublasXtDsymm, alone, all)                                                                   \
    X(cublasXtDsyr2k, alone, all)                                                                  \
    X(cublasXtDsyrk, alone, all)                                                                   \
    X(cublasXtDsyrkx, alone, all)                                                                  \
    X(cublasXtDtrmm, alone, all)                                                                   \
    X(cublasXtDtrsm, alone, all)                                                                   \
    X(cublasXtZgemm, alone, all)                                                                   \
    X(cublasXtZhemm, alone, all)                                                                   \
    X(cublasXtZher2k, alone, all)                                                                  \
    X(cublasXtZherk, alone, all)                                                                   \
    X(cublasXtZherkx, alone, all)                                                                  \
    X(cublasXtZspmm, alone, packed)                                                                \
    X(cublasXtZsymm, alone, all)                                                                   \
    X(cublasXtZsyr2k, alone, all)                                                                  \
    X(cublasXtZsyrk, alone, all)                                                                   \
    X(cublasXtZsyrkx, alone, all)                                                                  \
    X(cublasXtZtrmm, alone, all)                                                                   \
    X(cublasXtZtrsm, alone, all)                                                                   \
    X(cublasDgbmv, blas, matrix_vector)                                                            \
    X(cublasDgemv, blas, matrix_vector)                                                            \
    X(cublasDgemvBatched, sized, matrix_vector)                                                    \
    X(cublasDgemvStridedBatched, sized, matrix_vector)                                             \
    X(cublasDger, blas, matrix_vector)                                                             \
    X(cublasDsbmv, blas, matrix_vector)                                                            \
    X(cublasDspmv, blas, matrix_vector)                                                            \
    X(cublasDspr, blas, matrix_vector)                                                             \
    X(cublasDspr2, blas, matrix_vector)                                                            \
    X(cublasDsymv, blas, matrix_vector)                                                            \
    X(cublasDsyr, blas, matrix_vector)                                                             \
    X(cublasDsyr2, blas, matrix_vector)                                                            \
    X(cublasDtbmv, blas, matrix_vector)                                                            \
    X(cublasDtbsv, blas, matrix_vector)                                                            \
    X(cublasDtpmv, blas, matrix_vector)                                                            \
    X(cublasDtpsv, blas, matrix_vector)                                                            \
    X(cublasDtrmv, blas, matrix_vector)                                                            \
    X(cublasDtrsv, blas, matrix_vector)                                                            \
    X(cublasZgbmv, blas, matrix_vector)                                                            \
    X(cublasZgemv, blas, matrix_vector)                                                            \
    X(cublasZgemvBatched, sized, matrix_vector)                                                    \
    X(cublasZgemvStridedBatched, sized, matrix_vector)                                             \
    X(cublasZgerc, blas, matrix_vector)                                                            \
    X(cublasZgeru, blas, matrix_vector)                                                            \
    X(cublasZhbmv, blas, matrix_vector)                                                            \
    X(cublasZhemv, blas, matrix_vector)                                                            \
    X(cublasZher, blas, matrix_vector)                                                             \
    X(cublasZher2, blas, matrix_vector)                                                            \
    X(cublasZhpmv, blas, matrix_vector)                                                            \
    X(cublasZhpr, blas, matrix_vector)                                                             \
    X(cublasZhpr2, blas, matrix_vector)                                                            \
    X(cublasZsymv, v2, matrix_vector)                                                              \
    X(cublasZsyr, v2, matrix_vector)                                                               \
    X(cublasZsyr2, v2, matrix_vector)                                                              \
    X(cublasZtbmv, blas, matrix_vector)                                                            \
    X(cublasZtbsv, blas, matrix_vector)                                                            \
    X(cublasZtpmv, blas, matrix_vector)                                                            \
    X(cublasZtpsv, blas, matrix_vector)                                                            \
    X(cublasZtrmv, blas, matrix_vector)                                                            \
    X(cublasZtrsv, blas, matrix_vector)                                                            \
    X(cublasDasum, blas, vector)                                                                   \
    X(cublasDaxpy, blas, vector)                                                                   \
    X(cublasDcopy, blas, vector)                                                                   \
    X(cublasDdot, blas, vector)                                                                    \
    X(cublasDnrm2, blas, vector)                                                                   \
    X(cublasDrot, blas, vector)                                                                    \
    X(cublasDrotg, scalars, vector)                                                                \
    X(cublasDrotm, blas, vector)                                                                   \
    X(cublasDrotmg, scalars, vector)                                                               \
    X(cublasDscal, blas, vector)                                                                   \
    X(cublasDswap, blas, vector)                                                                   \
    X(cublasDzasum, blas, vector)                                                                  \
    X(cublasDznrm2, blas, vector)                                                                  \
    X(cublasIdamax, blas, vector)                                                                  \
    X(cublasIdamin, blas, vector)                                                                  \
    X(cublasIzamax, blas, vector)                                                                  \
    X(cublasIzamin, blas, vector)                                                                  \
    X(cublasZaxpy, blas, vector)                                                                   \
    X(cublasZcopy, blas, vector)                                                                   \
    X(cublasZdotc, blas, vector)                                                                   \
    X(cublasZdotu, blas, vector)                                                                   \
    X(cublasZdrot, blas, vector)                                                                   \
    X(cublasZdscal, blas, vector)                                                                  \
    X(cublasZrot, blas, vector)                                                                    \
    X(cublasZrotg, scalars, vector)                                                                \
    X(cublasZscal, blas, vector)                                                                   \
    X(cublasZswap, blas, vector)                                                                   \
    X(cublasAsumEx, sized, vector)                                                                 \
    X(cublasAxpyEx, sized, vector)                                                                 \
    X(cublasDotEx, sized, vector)                                                                  \
    X(cublasDotcEx, sized, vector)                                                                 \
    X(cublasIamaxEx, sized, vector)                                                                \
    X(cublasIaminEx, sized, vector)                                                                \
    X(cublasNrm2Ex, sized, vector)                                                                 \
    X(cublasRotEx, sized, vector)                                                                  \
    X(cublasRotgEx, alone, vector)                                                                 \
    X(cublasRotmEx, sized, vector)                                                                 \
    X(cublasRotmgEx, alone, vector)                                                                \
    X(cublasDdgmm, sized, elements)                                                                \
    X(cublasDgeam, sized, elements)                                                                \
    X(cublasDtpttr, alone, elements)                                                               \
    X(cublasDtrttp, alone, elements)                                                               \
    X(cublasZdgmm, sized, elements)                                                                \
    X(cublasZgeam, sized, elements)                                                                \
    X(cublasZtpttr, alone, elements)                                                               \
    X(cublasZtrttp, alone, elements)                                                               \
    X(cublasLtMatrixTransform, alone, elements)

#define TD_CAUSE_ENUM(cause, text) TD_CAUSE_##cause,
typedef enum { TD_CAUSES(TD_CAUSE_ENUM) TD_CAUSE_COUNT } td_cause;
#undef TD_CAUSE_ENUM

extern const char *const td_causes[TD_CAUSE_COUNT];

typedef struct {
    const char *name;
    const char *const *suffixes; /* of its functions; ends with NULL */
    td_cause cause;
} td_routine;

extern const td_routine td_routines[];
extern const int td_routine_count;

#endif
