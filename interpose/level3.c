/* level3.c - wrappers of level 3 routines with a handle that are products (lib/routine/lower.c), or
 * solutions of blocks and products (lib/engines/solve), for real and complex matrices. Each one
 * describes its arguments as a td_problem. */
#include "wrap.h"

#define HANDLE cublasHandle_t
#define WRAP   TD_WRAP
#include "by_handle.h"

DEFINE_BOTH(SYMM, TD_SYMMETRIC_PRODUCT, cublasDsymm_v2, REAL)
DEFINE_BOTH(SYMM, TD_SYMMETRIC_PRODUCT, cublasZsymm_v2, COMPLEX)
DEFINE_BOTH(SYMM, TD_SYMMETRIC_PRODUCT, cublasZhemm_v2, HERMITIAN)

DEFINE_BOTH(SYRK, TD_RANK_K, cublasDsyrk_v2, REAL)
DEFINE_BOTH(SYRK, TD_RANK_K, cublasZsyrk_v2, COMPLEX)
DEFINE_BOTH(SYRK, TD_RANK_K, cublasZherk_v2, HERMITIAN_K)

DEFINE_BOTH(SYR2K, TD_RANK_KX, cublasDsyrkx, REAL)
DEFINE_BOTH(SYR2K, TD_RANK_KX, cublasZsyrkx, COMPLEX)
DEFINE_BOTH(SYR2K, TD_RANK_KX, cublasZherkx, HERMITIAN_2K)

DEFINE_BOTH(SYR2K, TD_RANK_2K, cublasDsyr2k_v2, REAL)
DEFINE_BOTH(SYR2K, TD_RANK_2K, cublasZsyr2k_v2, COMPLEX)
DEFINE_BOTH(SYR2K, TD_RANK_2K, cublasZher2k_v2, HERMITIAN_2K)

DEFINE_BOTH(TRMM, TD_TRIANGULAR_PRODUCT, cublasDtrmm_v2, REAL)
DEFINE_BOTH(TRMM, TD_TRIANGULAR_PRODUCT, cublasZtrmm_v2, COMPLEX)

DEFINE_BOTH(TRSM, TD_TRIANGULAR_SOLVE, cublasDtrsm_v2, REAL)
DEFINE_BOTH(TRSM, TD_TRIANGULAR_SOLVE, cublasZtrsm_v2, COMPLEX)
