/* entries.h - THE table of intercepted cuBLAS functions, and their families (the values of
 * TANDEM_ENTRY). The wrappers, the lookup of the originals, the list of exported symbols, the
 * option's parser and `tandem doctor` all come from it: a new function is a row here and a wrapper
 * in interpose/. */
#ifndef TD_ENTRIES_H
#define TD_ENTRIES_H

#include <stdint.h>

/* X(family, summary) */
#define TD_FAMILIES(X)                                                                             \
    X(gemm, "cublasDgemm, cublasZgemm and cublasZgemm3m, also those of cublas.h")                  \
    X(gemm_strided, "cublasDgemmStridedBatched, cublasZgemmStridedBatched")                        \
    X(gemm_batched, "cublasDgemmBatched, cublasZgemmBatched")                                      \
    X(gemm_ex, "cublasGemmEx, cublasGemmStridedBatchedEx and cublasGemmBatchedEx with real or "    \
               "complex binary64 operands and CUBLAS_COMPUTE_64F")                                 \
    X(gemm_grouped,                                                                                \
      "cublasDgemmGroupedBatched, and cublasGemmGroupedBatchedEx with real binary64 "              \
      "operands and CUBLAS_COMPUTE_64F")                                                           \
    X(lt, "cublasLtMatmul with real or complex binary64 matrices and CUBLAS_COMPUTE_64F")          \
    X(xt, "cublasXt{D,Z}gemm, symm, syrk, syrkx, syr2k, trmm, trsm, Zhemm, Zherk, Zherkx, "        \
          "Zher2k: matrices on the host or any device")                                            \
    X(symm, "cublasDsymm, Zsymm and Zhemm, also those of cublas.h")                                \
    X(syrk, "cublas{D,Z}syrk and Zherk, also those of cublas.h, {D,Z}syrkx and Zherkx")            \
    X(syr2k, "cublasDsyr2k, Zsyr2k and Zher2k, also those of cublas.h")                            \
    X(trmm, "cublasDtrmm and Ztrmm, also those of cublas.h")                                       \
    X(trsm, "cublasDtrsm and Ztrsm, also those of cublas.h")                                       \
    X(lu, "cublas?getrfBatched, getriBatched, getrsBatched, matinvBatched, trsmBatched: "          \
          "docs/lu.md")

/* X(function, family) */
#define TD_ENTRIES(X)                                                                              \
    X(cublasDgemm_v2, gemm)                                                                        \
    X(cublasDgemm_v2_64, gemm)                                                                     \
    X(cublasDgemm, gemm)                                                                           \
    X(cublasZgemm_v2, gemm)                                                                        \
    X(cublasZgemm_v2_64, gemm)                                                                     \
    X(cublasZgemm, gemm)                                                                           \
    X(cublasZgemm3m, gemm)                                                                         \
    X(cublasZgemm3m_64, gemm)                                                                      \
    X(cublasDgemmStridedBatched, gemm_strided)                                                     \
    X(cublasDgemmStridedBatched_64, gemm_strided)                                                  \
    X(cublasZgemmStridedBatched, gemm_strided)                                                     \
    X(cublasZgemmStridedBatched_64, gemm_strided)                                                  \
    X(cublasDgemmBatched, gemm_batched)                                                            \
    X(cublasDgemmBatched_64, gemm_batched)                                                         \
    X(cublasZgemmBatched, gemm_batched)                                                            \
    X(cublasZgemmBatched_64, gemm_batched)                                                         \
    X(cublasGemmEx, gemm_ex)                                                                       \
    X(cublasGemmEx_64, gemm_ex)                                                                    \
    X(cublasGemmStridedBatchedEx, gemm_ex)                                                         \
    X(cublasGemmStridedBatchedEx_64, gemm_ex)                                                      \
    X(cublasGemmBatchedEx, gemm_ex)                                                                \
    X(cublasGemmBatchedEx_64, gemm_ex)                                                             \
    X(cublasDgemmGroupedBatched, gemm_grouped)                                                     \
    X(cublasDgemmGroupedBatched_64, gemm_grouped)                                                  \
    X(cublasGemmGroupedBatchedEx, gemm_grouped)                                                    \
    X(cublasGemmGroupedBatchedEx_64, gemm_grouped)                                                 \
    X(cublasLtMatmul, lt)                                                                          \
    X(cublasXtDgemm, xt)                                                                           \
    X(cublasXtZgemm, xt)                                                                           \
    X(cublasXtDsymm, xt)                                                                           \
    X(cublasXtZsymm, xt)                                                                           \
    X(cublasXtZhemm, xt)                                                                           \
    X(cublasXtDsyrk, xt)                                                                           \
    X(cublasXtZsyrk, xt)                                                                           \
    X(cublasXtZherk, xt)                                                                           \
    X(cublasXtDsyrkx, xt)                                                                          \
    X(cublasXtZsyrkx, xt)                                                                          \
    X(cublasXtZherkx, xt)                                                                          \
    X(cublasXtDsyr2k, xt)                                                                          \
    X(cublasXtZsyr2k, xt)                                                                          \
    X(cublasXtZher2k, xt)                                                                          \
    X(cublasXtDtrmm, xt)                                                                           \
    X(cublasXtZtrmm, xt)                                                                           \
    X(cublasXtDtrsm, xt)                                                                           \
    X(cublasXtZtrsm, xt)                                                                           \
    X(cublasDsymm_v2, symm)                                                                        \
    X(cublasDsymm_v2_64, symm)                                                                     \
    X(cublasDsymm, symm)                                                                           \
    X(cublasZsymm_v2, symm)                                                                        \
    X(cublasZsymm_v2_64, symm)                                                                     \
    X(cublasZsymm, symm)                                                                           \
    X(cublasZhemm_v2, symm)                                                                        \
    X(cublasZhemm_v2_64, symm)                                                                     \
    X(cublasZhemm, symm)                                                                           \
    X(cublasDsyrk_v2, syrk)                                                                        \
    X(cublasDsyrk_v2_64, syrk)                                                                     \
    X(cublasDsyrk, syrk)                                                                           \
    X(cublasZsyrk_v2, syrk)                                                                        \
    X(cublasZsyrk_v2_64, syrk)                                                                     \
    X(cublasZsyrk, syrk)                                                                           \
    X(cublasZherk_v2, syrk)                                                                        \
    X(cublasZherk_v2_64, syrk)                                                                     \
    X(cublasZherk, syrk)                                                                           \
    X(cublasDsyrkx, syrk)                                                                          \
    X(cublasDsyrkx_64, syrk)                                                                       \
    X(cublasZsyrkx, syrk)                                                                          \
    X(cublasZsyrkx_64, syrk)                                                                       \
    X(cublasZherkx, syrk)                                                                          \
    X(cublasZherkx_64, syrk)                                                                       \
    X(cublasDsyr2k_v2, syr2k)                                                                      \
    X(cublasDsyr2k_v2_64, syr2k)                                                                   \
    X(cublasDsyr2k, syr2k)                                                                         \
    X(cublasZsyr2k_v2, syr2k)                                                                      \
    X(cublasZsyr2k_v2_64, syr2k)                                                                   \
    X(cublasZsyr2k, syr2k)                                                                         \
    X(cublasZher2k_v2, syr2k)                                                                      \
    X(cublasZher2k_v2_64, syr2k)                                                                   \
    X(cublasZher2k, syr2k)                                                                         \
    X(cublasDtrmm_v2, trmm)                                                                        \
    X(cublasDtrmm_v2_64, trmm)                                                                     \
    X(cublasDtrmm, trmm)                                                                           \
    X(cublasZtrmm_v2, trmm)                                                                        \
    X(cublasZtrmm_v2_64, trmm)                                                                     \
    X(cublasZtrmm, trmm)                                                                           \
    X(cublasDtrsm_v2, trsm)                                                                        \
    X(cublasDtrsm_v2_64, trsm)                                                                     \
    X(cublasDtrsm, trsm)                                                                           \
    X(cublasZtrsm_v2, trsm)                                                                        \
    X(cublasZtrsm_v2_64, trsm)                                                                     \
    X(cublasZtrsm, trsm)                                                                           \
    X(cublasSgetrfBatched, lu)                                                                     \
    X(cublasDgetrfBatched, lu)                                                                     \
    X(cublasCgetrfBatched, lu)                                                                     \
    X(cublasZgetrfBatched, lu)                                                                     \
    X(cublasSgetriBatched, lu)                                                                     \
    X(cublasDgetriBatched, lu)                                                                     \
    X(cublasCgetriBatched, lu)                                                                     \
    X(cublasZgetriBatched, lu)                                                                     \
    X(cublasSgetrsBatched, lu)                                                                     \
    X(cublasDgetrsBatched, lu)                                                                     \
    X(cublasCgetrsBatched, lu)                                                                     \
    X(cublasZgetrsBatched, lu)                                                                     \
    X(cublasSmatinvBatched, lu)                                                                    \
    X(cublasDmatinvBatched, lu)                                                                    \
    X(cublasCmatinvBatched, lu)                                                                    \
    X(cublasZmatinvBatched, lu)                                                                    \
    X(cublasStrsmBatched, lu)                                                                      \
    X(cublasDtrsmBatched, lu)                                                                      \
    X(cublasCtrsmBatched, lu)                                                                      \
    X(cublasZtrsmBatched, lu)                                                                      \
    X(cublasStrsmBatched_64, lu)                                                                   \
    X(cublasDtrsmBatched_64, lu)                                                                   \
    X(cublasCtrsmBatched_64, lu)                                                                   \
    X(cublasZtrsmBatched_64, lu)

#define TD_FAMILY_ENUM(family, summary) TD_FAMILY_##family,
typedef enum { TD_FAMILIES(TD_FAMILY_ENUM) TD_FAMILY_COUNT } td_family;
#undef TD_FAMILY_ENUM

#define TD_ENTRY_ENUM(function, family) TD_ENTRY_##function,
typedef enum { TD_ENTRIES(TD_ENTRY_ENUM) TD_ENTRY_COUNT } td_entry;
#undef TD_ENTRY_ENUM

typedef struct {
    const char *name;
    const char *summary;
} td_family_info;

typedef struct {
    const char *name; /* the cuBLAS function */
    td_family family;
} td_entry_info;

extern const td_family_info td_families[TD_FAMILY_COUNT];
extern const td_entry_info td_entries[TD_ENTRY_COUNT];

#endif
