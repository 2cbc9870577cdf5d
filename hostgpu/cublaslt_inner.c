/* cublaslt_inner.c - stubs of functions that the headers of the build may not declare: what cuBLAS
 * itself asks of cublasLt, from 13.0 to 13.10, so that a real cuBLAS that a program opens finds all
 * it needs where this cublasLt has the place of its own; and what later headers declare. */
#include <cublasLt.h>

#include "stub.h"

/* Types of a product, as letters of scalars and matrices. */
#define TYPES(X) X(ACC) X(BII) X(BSS) X(CCC) X(DDD) X(HHH) X(HSH) X(HSS) X(SSS) X(TSS) X(TST) X(ZZZ)

#define STUB(name)                                                                                 \
    HOSTGPU_STUB_STATUS(cublasStatus_t, name, CUBLAS_STATUS_NOT_SUPPORTED, HOSTGPU_NOT_KEPT)
#define STUBS_OF_TYPE(type)                                                                        \
    STUB(cublasLt##type##Matmul)                                                                   \
    STUB(cublasLt##type##MatmulAlgoGetHeuristic)                                                   \
    STUB(cublasLt##type##MatmulAlgoGetHeuristicForStream)                                          \
    STUB(cublasLt##type##MatmulAlgoInit)                                                           \
    STUB(cublasLtLegacyGemm##type)                                                                 \
    STUB(cublasLt_for_cublas_##type)

TYPES(STUBS_OF_TYPE)
STUB(cublasLtCtxInit)
STUB(cublasLtShutdownCtx)
STUB(cublasLtGetEnvironmentMode)
STUB(cublasLtSetEnvironmentMode)
STUB(cublasLtHeuristicsCacheCreate)
STUB(cublasLtHeuristicsCacheDestroy)
STUB(cublasLtHeuristicsCacheGet)
STUB(cublasLtHeuristicsCachePut)

/* What headers declare since 13.10, for programs that are newer than the headers of the build. */
STUB(cublasLtGroupedMatrixLayoutCreate)
STUB(cublasLtGroupedMatrixLayoutInit_internal)
STUB(cublasLtMatmulAlgoCheckForStream)
STUB(cublasLtMatmulAlgoGetHeuristicForStream)
