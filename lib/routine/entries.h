/* entries.h - the intercepted functions of cuBLAS and cuSOLVER, which are the forms of the routines
 * that Tandem makes (routines.def), and their families (the values of TANDEM_ENTRY). The lookup of
 * the originals, the list of exported symbols, the option's parser and `tandem doctor` come from
 * it. */
#ifndef TD_ENTRIES_H
#define TD_ENTRIES_H

#include "routines.h"

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
          "docs/batched_lu.md")                                                                    \
    X(factor, "cusolverDn{D,Z}{getrf,getrs,potrf,potrs,potri,geqrf}, Dorgqr, Dormqr, Zungqr, "     \
              "Zunmqr, cusolverDnX{getrf,getrs,potrf,potrs,geqrf} of real or complex binary64 "    \
              "matrices, Dsyevd and Xsyevd of real ones")

/* X(function, family, name) of every function that is a form of a routine (routines.def): those
 * with the suffix _64 have sizes of 64 bits, those of `blas` without a suffix are of cublas.h,
 * those of `dense` are cuSOLVER's. */
#define TD_FORMS_blas(X, name, family)                                                             \
    X(cublas##name##_v2, family, name)                                                             \
    X(cublas##name##_v2_64, family, name)                                                          \
    X(cublas##name, family, name)
#define TD_FORMS_sized(X, name, family)                                                            \
    X(cublas##name, family, name)                                                                  \
    X(cublas##name##_64, family, name)
#define TD_FORMS_alone(X, name, family) X(cublas##name, family, name)
#define TD_FORMS_dense(X, name, family) X(cusolverDn##name, family, name)

#define TD_FAMILY_ENUM(family, summary) TD_FAMILY_##family,
typedef enum { TD_FAMILIES(TD_FAMILY_ENUM) TD_FAMILY_COUNT } td_family;
#undef TD_FAMILY_ENUM

#define TD_ENTRY_ENUM(function, family, name) TD_ENTRY_##function,
#define ROUTINE(name, forms, shape, kind, types, family)                                           \
    TD_FORMS_##forms(TD_ENTRY_ENUM, name, family)
typedef enum {
#include "routines.def"
    TD_ENTRY_COUNT
} td_entry;
#undef TD_ENTRY_ENUM

typedef struct {
    const char *name;
    const char *summary;
} td_family_info;

typedef struct {
    const char *name; /* the function */
    td_family family;
    td_routine_id routine;
} td_entry_info;

/* Whose function an entry stands before. A library's calls of its own functions are its own affair;
 * what cuSOLVER calls of cuBLAS is a program's call. */
typedef enum { TD_CUBLAS, TD_CUSOLVER, TD_MAKERS } td_maker;

extern const td_family_info td_families[TD_FAMILY_COUNT];
extern const td_entry_info td_entries[TD_ENTRY_COUNT];

/* The entry of a function's name; TD_ENTRY_COUNT: there is none. */
td_entry td_entry_find(const char *function);

static inline td_maker td_entry_maker(td_entry entry)
{
    return td_entries[entry].family == TD_FAMILY_factor ? TD_CUSOLVER : TD_CUBLAS;
}

#endif
